//! UserSettings become the defaults of arguments.

use std::ffi::OsStr;

use clap::builder::Resettable;
use clap::{Arg, ArgAction, Command};

use super::UserSettings;
use super::table::{SETTINGS, UserSetting};
use crate::other_programs_words::number_form;

/// The command line with the user's defaults. A default is weaker than what is typed, and in
/// conflict with nothing.
pub(crate) fn filled(command: Command, settings: &UserSettings) -> Command {
    let name = String::new();
    fill(command, &name, settings)
}

/// The command line as clap reads it. A variable that is empty is as one that is not set.
pub(crate) fn unfilled(command: Command) -> Command {
    let is_empty =
        |arg: &Arg| arg.get_env().and_then(std::env::var_os).is_some_and(|value| value.is_empty());
    let command =
        command.mut_args(|arg| if is_empty(&arg) { arg.env(Resettable::Reset) } else { arg });
    command.mut_subcommands(unfilled)
}

/// `name`: the first word behind `truetps`; empty for truetps itself.
fn fill(command: Command, name: &str, settings: &UserSettings) -> Command {
    let command = command.mut_args(|arg| match default_of(name, &arg, settings) {
        Some(value) => arg.default_value(value.to_owned()),
        None => arg,
    });
    command.mut_subcommands(|inner| {
        let first = if name.is_empty() { inner.get_name().to_owned() } else { name.to_owned() };
        fill(inner, &first, settings)
    })
}

/// What a setting has for an argument, if this argument takes it: `csv` is not a format of every
/// command.
fn default_of<'a>(command: &str, arg: &Arg, settings: &'a UserSettings) -> Option<&'a OsStr> {
    let setting = SETTINGS.iter().find(|setting| setting.fills_arg(command, arg))?;
    let given = settings.given(setting.name)?;
    accepts(arg, &given.value).is_ok().then_some(&*given.value)
}

impl UserSetting {
    fn fills_arg(&self, command: &str, arg: &Arg) -> bool {
        let is_of = |(of, long): &(&str, &str)| {
            (of.is_empty() || *of == command) && arg.get_long() == Some(long)
        };
        self.fills.iter().any(is_of)
    }
}

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

/// Reads a value as this argument does, without the argument's relations to others.
fn accepts(arg: &Arg, value: &OsStr) -> Result<(), String> {
    use std::error::Error as _;
    let alone =
        Arg::new("value").action(ArgAction::Set).value_parser(arg.get_value_parser().clone());
    let read = Command::new("setting").no_binary_name(true).arg(alone.allow_hyphen_values(true));
    let problem = |error: clap::Error| {
        let problem = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        number_form(&problem).map_or(problem, str::to_owned)
    };
    read.try_get_matches_from([value]).map(|_| ()).map_err(problem)
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, FromArgMatches};

    use super::*;
    use crate::args::{Cli, TruetpsCommand};
    use crate::settings::places::ConfigPlaces;

    fn parsed(variables: &[(&str, &str)], line: &str) -> TruetpsCommand {
        let variable = |name: &str| {
            variables.iter().find(|(other, _)| *other == name).map(|(_, value)| value.into())
        };
        let settings =
            UserSettings::read(&Cli::command(), &ConfigPlaces::default(), &variable).unwrap();
        let command = filled(Cli::command(), &settings);
        let matches =
            command.try_get_matches_from(line.split(' ')).unwrap_or_else(|error| panic!("{error}"));
        Cli::from_arg_matches(&matches).unwrap().command
    }

    #[test]
    fn what_is_typed_wins_and_conflicts_with_no_setting() {
        let set =
            [("TRUETPS_WORKERS", "3"), ("TRUETPS_PROBE_INTERVAL", "2s"), ("TRUETPS_MEASURE", "5")];
        let TruetpsCommand::Run(run) = parsed(&set, "truetps run insert") else { panic!() };
        assert_eq!(run.engine.generator.workers, Some(3));
        let TruetpsCommand::Run(run) = parsed(&set, "truetps run insert --workers 1 --no-probe")
        else {
            panic!()
        };
        assert_eq!(run.engine.generator.workers, Some(1));
        let TruetpsCommand::Sweep(sweep) = parsed(&set, "truetps sweep --resume") else { panic!() };
        assert_eq!(sweep.engine.generator.workers, Some(3));
    }

    #[test]
    fn a_format_is_for_the_commands_that_have_it() {
        let set = [("TRUETPS_FORMAT", "jsonl")];
        let TruetpsCommand::Report(report) = parsed(&set, "truetps report") else { panic!() };
        assert_eq!(report.answer.format.name, "jsonl");
        let TruetpsCommand::Stalls(stalls) = parsed(&set, "truetps stalls") else { panic!() };
        assert_eq!(stalls.answer.format.name, "text");
    }

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
