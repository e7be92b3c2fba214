//! Settings become the defaults of arguments.

use std::ffi::OsStr;

use clap::builder::Resettable;
use clap::{Arg, Command};

use super::UserSettings;
use super::check::accepts;
use super::table::SETTINGS;

/// The command line with the user's defaults. A default is weaker than what is typed, and in
/// conflict with nothing.
pub(crate) fn filled(command: Command, settings: &UserSettings) -> Command {
    let name = String::new();
    fill(command, &name, settings)
}

/// The command line as clap reads it. A variable that is empty is as one that is not set.
pub(crate) fn unfilled(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        let value = arg.get_env().and_then(std::env::var_os);
        if value.is_some_and(|value| value.is_empty()) { arg.env(Resettable::Reset) } else { arg }
    });
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
}
