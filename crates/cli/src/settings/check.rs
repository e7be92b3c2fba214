//! Whether the arguments that a setting is for accept its value.

use std::ffi::OsStr;

use clap::{Arg, ArgAction, Command};

use super::table::UserSetting;
use crate::other_programs_words::number_form;

/// Checks a value with the arguments that it is for: one of them must accept it.
pub(super) fn check_value(
    command: &Command,
    setting: &UserSetting,
    value: &OsStr,
) -> Result<(), String> {
    if let Some(problem) = setting.problem(value) {
        return Err(problem);
    }
    let mut args = Vec::new();
    collect(command, "", setting, &mut args);
    let problems: Vec<_> = args.iter().map(|arg| accepts(arg, value)).collect();
    if problems.is_empty() || problems.iter().any(Result::is_ok) {
        return Ok(());
    }
    let words: Vec<_> =
        args.iter().map(Arg::get_possible_values).max_by_key(Vec::len).unwrap_or_default();
    if words.is_empty() {
        return problems.into_iter().next().unwrap_or(Ok(()));
    }
    let names: Vec<_> = words.iter().map(|word| word.get_name().to_owned()).collect();
    Err(format!("is none of {}", names.join(", ")))
}

fn collect(command: &Command, name: &str, setting: &UserSetting, args: &mut Vec<Arg>) {
    args.extend(command.get_arguments().filter(|arg| setting.fills_arg(name, arg)).cloned());
    for inner in command.get_subcommands() {
        collect(inner, if name.is_empty() { inner.get_name() } else { name }, setting, args);
    }
}

impl UserSetting {
    /// Whether this argument of a command takes it as its default.
    pub(super) fn fills_arg(&self, command: &str, arg: &Arg) -> bool {
        self.fills
            .iter()
            .any(|(of, long)| (of.is_empty() || *of == command) && arg.get_long() == Some(long))
    }
}

/// Reads a value as this argument does, without the argument's relations to others.
pub(super) fn accepts(arg: &Arg, value: &OsStr) -> Result<(), String> {
    use std::error::Error as _;
    let alone =
        Arg::new("value").action(ArgAction::Set).value_parser(arg.get_value_parser().clone());
    let read = Command::new("setting").no_binary_name(true).arg(alone.allow_hyphen_values(true));
    read.try_get_matches_from([value]).map(|_| ()).map_err(|error| {
        let problem = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        number_form(&problem).map_or(problem, str::to_owned)
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::super::table::SETTINGS;
    use super::*;
    use crate::args::Cli;

    /// A renamed flag would no longer be filled.
    #[test]
    fn each_setting_fills_a_flag_that_there_is() {
        for setting in &SETTINGS {
            for fills in setting.fills {
                let alone = UserSetting {
                    name: "x",
                    kind: setting.kind,
                    fills: std::slice::from_ref(fills),
                    default: "",
                };
                let mut args = Vec::new();
                collect(&Cli::command(), "", &alone, &mut args);
                assert!(!args.is_empty(), "{fills:?}");
            }
        }
    }
}
