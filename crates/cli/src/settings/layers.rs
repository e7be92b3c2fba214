//! Which value counts: of the environment, of the project's file, of the user's.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use super::check::check_value;
use super::places::ConfigPlaces;
use super::table::{SERVERS, SETTINGS};
use super::{UserSetting, file};
use crate::failure::CommandFailure;

/// A value, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Given {
    pub(crate) value: OsString,
    pub(crate) origin: ValueOrigin,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ValueOrigin {
    Variable(String),
    Line { path: PathBuf, line: usize },
}

impl fmt::Display for ValueOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => f.write_str(name),
            Self::Line { path, line } => write!(f, "{}:{line}", path.display()),
        }
    }
}

/// The settings that are not left to their defaults.
#[derive(Debug, Default)]
pub(crate) struct UserSettings {
    given: BTreeMap<&'static str, Given>,
}

impl UserSettings {
    /// Reads environment and files, and checks each value: a wrong one is an error also where
    /// another one hides it.
    pub(crate) fn read(
        command: &clap::Command,
        places: &ConfigPlaces,
        variable: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Self, CommandFailure> {
        let mut settings = Self::default();
        settings.add_layer(of_environment(variable));
        for path in &places.found {
            let lines = file::read(path)?;
            for line in &lines {
                check_value(command, line.setting, &line.value).map_err(|wrong| {
                    file::problem(path, line.line, format!("`{}`: {wrong}", line.setting.name))
                })?;
            }
            settings.add_layer(lines.into_iter().map(|line| {
                let origin = ValueOrigin::Line { path: path.clone(), line: line.line };
                (line.setting, Given { value: line.value, origin })
            }));
        }
        settings.check_variables(command)?;
        Ok(settings)
    }

    pub(crate) fn given(&self, name: &str) -> Option<&Given> {
        self.given.get(name)
    }

    /// What a layer has and those above it have not. A server that is named above hides the other
    /// ways to name one.
    fn add_layer(&mut self, layer: impl IntoIterator<Item = (&'static UserSetting, Given)>) {
        let has_server = SERVERS.iter().any(|name| self.given.contains_key(name));
        for (setting, given) in layer {
            if !(has_server && SERVERS.contains(&setting.name)) {
                self.given.entry(setting.name).or_insert(given);
            }
        }
    }

    fn check_variables(&self, command: &clap::Command) -> Result<(), CommandFailure> {
        for (name, given) in &self.given {
            let (ValueOrigin::Variable(variable), Some(setting)) =
                (&given.origin, UserSetting::named(name))
            else {
                continue;
            };
            check_value(command, setting, &given.value).map_err(|wrong| {
                CommandFailure::usage(format!(
                    "{variable}={}: {wrong}",
                    given.value.to_string_lossy()
                ))
                .hint("`truetps help reference/config` has the settings and their values")
            })?;
        }
        Ok(())
    }
}

/// One that is empty is as one that is not set.
fn of_environment(
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> impl Iterator<Item = (&'static UserSetting, Given)> {
    SETTINGS.iter().filter_map(|setting| {
        let name = setting.variable();
        let value = variable(&name).filter(|value| !value.is_empty())?;
        Some((setting, Given { value, origin: ValueOrigin::Variable(name) }))
    })
}

impl Given {
    pub(crate) fn path(&self) -> &Path {
        Path::new(&self.value)
    }

    pub(crate) fn text(&self) -> String {
        self.value.to_string_lossy().into_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use clap::CommandFactory;

    use super::*;
    use crate::args::Cli;

    /// Reads these files, the nearest first, with these variables.
    fn settings(files: &[&str], variables: &[(&str, &str)]) -> Result<UserSettings, String> {
        let dir = tempfile::tempdir().unwrap();
        let found = files.iter().enumerate().map(|(number, text)| {
            let path = dir.path().join(format!("{number}.toml"));
            fs::write(&path, text).unwrap();
            path
        });
        let places = ConfigPlaces { found: found.collect(), of_user: None };
        let variable = |name: &str| {
            variables.iter().find(|(other, _)| *other == name).map(|(_, value)| value.into())
        };
        UserSettings::read(&Cli::command(), &places, &variable).map_err(|failure| {
            failure.to_string().replace(&dir.path().display().to_string(), "DIR")
        })
    }

    #[test]
    fn the_nearest_layer_decides() {
        let files = ["workers = 2\nformat = 'json'", "workers = 3\npin = 'auto'\ncolor = 'never'"];
        let found = settings(&files, &[("TRUETPS_FORMAT", "md"), ("TRUETPS_PIN", "")]).unwrap();
        let shown = |name| {
            let Given { value, origin } = found.given(name).unwrap();
            let origin = match origin {
                ValueOrigin::Variable(name) => name.clone(),
                ValueOrigin::Line { path, line } => {
                    format!("{}:{line}", path.file_name().unwrap().to_string_lossy())
                }
            };
            format!("{} {origin}", value.to_string_lossy())
        };
        assert_eq!(shown("format"), "md TRUETPS_FORMAT");
        assert_eq!(shown("workers"), "2 0.toml:1");
        assert_eq!(shown("pin"), "auto 1.toml:2");
        assert_eq!(shown("color"), "never 1.toml:3");
        assert_eq!(found.given("runs"), None);
    }

    #[test]
    fn a_server_named_above_hides_the_other_ways_to_name_one() {
        let found = settings(&["basedir = '/opt/m'"], &[("TRUETPS_DSN", "mysql://h")]).unwrap();
        assert!(found.given("dsn").is_some() && found.given("basedir").is_none());
        let found = settings(&["server = 'old'", "dsn = 'mysql://h'"], &[]).unwrap();
        assert!(found.given("server").is_some() && found.given("dsn").is_none());
    }

    #[test]
    fn a_wrong_value_is_named_with_its_place() {
        let check = |files: &[&str], variables: &[(&str, &str)], words: &str| {
            let problem = settings(files, variables).unwrap_err();
            assert!(problem.starts_with(&format!("error: {words}")), "{problem}");
        };
        check(&["workers = 0"], &[], "DIR/0.toml:1: `workers`: 0 is not in 1..=1024");
        check(
            &["", "format = 'xml'"],
            &[],
            "DIR/1.toml:1: `format`: is none of text, json, csv, md, jsonl, sysbench",
        );
        check(&["color = 'blue'"], &[], "DIR/0.toml:1: `color`: is none of auto, always, never");
        check(&["dsn = 'db1'"], &[], "DIR/0.toml:1: `dsn`: ");
        check(&["server = 'A B'"], &[], "DIR/0.toml:1: `server`: ");
        check(
            &["probe_interval = 'soon'"],
            &[],
            "DIR/0.toml:1: `probe_interval`: is neither a number of seconds",
        );
        check(&[], &[("TRUETPS_WORKERS", "x")], "TRUETPS_WORKERS=x: not a whole number, such as 8");
        check(&["workers = 0"], &[("TRUETPS_WORKERS", "1")], "DIR/0.toml:1: `workers`");
    }
}
