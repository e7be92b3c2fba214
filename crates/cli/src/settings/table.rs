//! The settings: what a file or a variable may have.

use std::ffi::OsStr;

use truetps_driver::Target;
use truetps_sandbox::check_server_name;

pub(crate) const BASEDIR: &str = "basedir";
pub(crate) const COLOR: &str = "color";
pub(crate) const DSN: &str = "dsn";
pub(crate) const SERVER: &str = "server";

/// UserSettings that each name the server to measure: a file has one of them at most.
pub(super) const SERVERS: [&str; 3] = [SERVER, DSN, BASEDIR];

/// When to use colours.
pub(crate) const COLORS: [&str; 3] = ["auto", "always", "never"];

/// A default that a user may set.
#[derive(Debug)]
pub(crate) struct UserSetting {
    /// Its key in files.
    pub(crate) name: &'static str,
    pub(crate) kind: SettingKind,
    /// Arguments that it is the default of: a command, or "" for all, and the argument's long name.
    pub(super) fills: &'static [(&'static str, &'static str)],
    /// The value where nothing sets it.
    pub(crate) default: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SettingKind {
    /// In a file, relative to the file's folder.
    Path,
    Word,
    /// A whole number.
    Count,
    /// A number of seconds, or a time with its unit.
    Time,
}

impl UserSetting {
    pub(crate) fn variable(&self) -> String {
        format!("TRUETPS_{}", self.name.to_uppercase())
    }

    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.name == name)
    }

    /// A value as a file has it.
    pub(crate) fn toml(&self, value: &str) -> String {
        let is_number = self.kind != SettingKind::Path
            && self.kind != SettingKind::Word
            && value.parse::<f64>().is_ok();
        if is_number { value.to_owned() } else { toml::Value::String(value.to_owned()).to_string() }
    }

    /// The problem of a value that no argument reads.
    pub(super) fn problem(&self, value: &OsStr) -> Option<String> {
        let text = value.to_string_lossy();
        match self.name {
            COLOR if !COLORS.contains(&&*text) => Some(format!("is none of {}", COLORS.join(", "))),
            DSN => Target::parse(&text).err().map(|error| error.to_string()),
            SERVER => check_server_name(&text).err().map(|error| error.to_string()),
            _ => None,
        }
    }
}

pub(crate) const SETTINGS: [UserSetting; 12] = [
    UserSetting {
        name: "runs",
        kind: SettingKind::Path,
        fills: &[("", "runs")],
        default: "runs; of sysbench, slap and mtls the user's state folder",
    },
    UserSetting {
        name: "sandbox_dir",
        kind: SettingKind::Path,
        fills: &[("", "sandbox-dir")],
        default: "/var/cache/truetps for root, else truetps in the user's cache folder",
    },
    UserSetting {
        name: SERVER,
        kind: SettingKind::Word,
        fills: &[],
        default: "the server in PATH or in the usual places",
    },
    UserSetting { name: DSN, kind: SettingKind::Word, fills: &[], default: "a private server" },
    UserSetting {
        name: BASEDIR,
        kind: SettingKind::Path,
        fills: &[],
        default: "the server in PATH or in the usual places",
    },
    UserSetting {
        name: "format",
        kind: SettingKind::Word,
        fills: &[("", "format")],
        default: "text",
    },
    UserSetting { name: COLOR, kind: SettingKind::Word, fills: &[], default: "auto" },
    UserSetting {
        name: "workers",
        kind: SettingKind::Count,
        fills: &[("", "workers")],
        default: "half of the cores, at least one",
    },
    UserSetting {
        name: "pin",
        kind: SettingKind::Word,
        fills: &[("", "pin")],
        default: "not bound to cores",
    },
    UserSetting {
        name: "probe_interval",
        kind: SettingKind::Time,
        fills: &[("run", "probe-interval"), ("probe", "interval")],
        default: "1s",
    },
    UserSetting {
        name: "warm_up",
        kind: SettingKind::Time,
        fills: &[("run", "warm-up")],
        default: "1",
    },
    UserSetting {
        name: "measure",
        kind: SettingKind::Time,
        fills: &[("run", "measure")],
        default: "10",
    },
];
