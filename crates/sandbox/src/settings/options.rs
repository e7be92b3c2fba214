//! Settings as command-line arguments of the server, and as an equivalent option file.

use std::ffi::OsString;
use std::fmt::Write as _;

use truetps_record::SettingValue;

use crate::settings::names::{canonical_name, switch_of};

/// Name of the binlog files. Without one, servers use the host's name.
pub(crate) const BINLOG_NAME: &str = "binlog";

/// `--name` or `--name=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandOption {
    /// With dashes, as on a command line.
    name: String,
    value: Option<OsString>,
}

impl CommandOption {
    pub(crate) fn flag(name: &str) -> Self {
        Self { name: dashed(name), value: None }
    }

    pub(crate) fn new(name: &str, value: impl Into<OsString>) -> Self {
        Self { name: dashed(name), value: Some(value.into()) }
    }

    /// A setting of a plan. `log_bin` is a file name and not a switch, so other forms turn it on
    /// and off.
    pub(crate) fn of_setting(name: &str, value: &SettingValue) -> Self {
        if canonical_name(name) != "log_bin" {
            return Self::new(name, value.option_text());
        }
        match switch_of(value) {
            Some(true) => Self::new("log-bin", BINLOG_NAME),
            Some(false) => Self::flag("skip-log-bin"),
            None => Self::new("log-bin", value.option_text()),
        }
    }

    pub(crate) fn argument(&self) -> OsString {
        let mut text = OsString::from(format!("--{}", self.name));
        if let Some(value) = &self.value {
            text.push("=");
            text.push(value);
        }
        text
    }

    /// The name, and the value as text; `on` for an option without one.
    pub(crate) fn parts(&self) -> (&str, String) {
        let value = self.value.as_ref().map(|value| value.to_string_lossy().into_owned());
        (&self.name, value.unwrap_or_else(|| "on".to_owned()))
    }

    fn file_line(&self) -> String {
        let value = self.value.as_ref().map(|value| quoted(&value.to_string_lossy()));
        value.map_or_else(|| self.name.clone(), |value| format!("{} = {value}", self.name))
    }
}

/// A line of an option file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSetting {
    pub name: String,
    pub value: String,
    /// A server that does not know it ignores it: the prefix `loose-`.
    pub is_loose: bool,
    /// The line has no value.
    pub is_bare: bool,
}

fn dashed(name: &str) -> String {
    name.trim().replace('_', "-")
}

/// Text of an option file with these lines.
pub(crate) fn option_file(comment: &str, lines: &[CommandOption]) -> String {
    let mut text = commented(comment) + "[mysqld]\n";
    for line in lines {
        let _ = writeln!(text, "{}", line.file_line());
    }
    text
}

/// Each line as a comment of an option file.
pub(crate) fn commented(lines: &str) -> String {
    lines.lines().flat_map(|line| ["# ", line, "\n"]).collect()
}

/// `#` starts a comment anywhere in a line, and a backslash is an escape, unless quoted and
/// doubled.
fn quoted(value: &str) -> String {
    let mut chars = value.chars();
    if !value.is_empty() && chars.all(|c| c.is_ascii_alphanumeric() || "_-./,+%".contains(c)) {
        return value.to_owned();
    }
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argument(name: &str, value: &SettingValue) -> String {
        CommandOption::of_setting(name, value).argument().into_string().unwrap()
    }

    fn text(value: &str) -> SettingValue {
        SettingValue::Text(value.to_owned())
    }

    #[test]
    fn arguments() {
        assert_eq!(argument("innodb_log_file_size", &text("512M")), "--innodb-log-file-size=512M");
        assert_eq!(
            argument("innodb-doublewrite", &SettingValue::Bool(false)),
            "--innodb-doublewrite=OFF"
        );
        assert_eq!(
            argument("innodb_max_dirty_pages_pct", &SettingValue::Float(0.5)),
            "--innodb-max-dirty-pages-pct=0.5"
        );
    }

    #[test]
    fn the_binlog_is_a_name_or_nothing() {
        for off in [SettingValue::Bool(false), SettingValue::Int(0), text("OFF"), text("false")] {
            assert_eq!(argument("log_bin", &off), "--skip-log-bin");
        }
        for on in [SettingValue::Bool(true), SettingValue::Int(1), text("on")] {
            assert_eq!(argument("log-bin", &on), "--log-bin=binlog");
        }
        assert_eq!(argument("log_bin", &text("mine")), "--log-bin=mine");
    }

    #[test]
    fn an_option_file_quotes_what_it_must() {
        let lines = [
            CommandOption::flag("skip-networking"),
            CommandOption::new("datadir", "/a b/#1/data"),
            CommandOption::new("secure_file_priv", ""),
            CommandOption::new("x", "a\"b\\c"),
        ];
        let expect = "# one\n# two\n[mysqld]\nskip-networking\ndatadir = \"/a \
                      b/#1/data\"\nsecure-file-priv = \"\"\n\
                      x = \"a\\\"b\\\\c\"\n";
        assert_eq!(option_file("one\ntwo", &lines), expect);
    }
}
