//! Resuming an experiment, on the server that it was begun on.

use std::path::Path;

use truetps_driver::Target;
use truetps_folder::ExperimentFolder;
use truetps_record::Experiment;
use truetps_report::format::shell_word;

use crate::args::FolderArgs;
use crate::failure::CommandFailure;
use crate::settings;
use crate::site::{DSN, usual_dsn};
use crate::terminal::shell_path;

/// Flags for the server, its account and its cores; `true`: with a value. The server of `--dsn` is
/// recorded separately.
const CARRIED: [(&str, bool); 8] = [
    ("--basedir", true),
    ("--sandbox-dir", true),
    ("--my-cnf", true),
    ("--schema", true),
    ("--i-own-this-schema", false),
    ("--defaults-file", true),
    ("--ask-password", false),
    // Its value may be left out, so that it is part of the word where there is one.
    ("--pin", false),
];

/// Address of an external server, without a password.
fn address(experiment: &Experiment) -> Option<&str> {
    experiment.server_address.as_deref().filter(|address| Target::parse(address).is_ok())
}

/// Whether several load generators have made it. Their trials cannot be mixed with trials of one
/// generator.
fn has_parts(experiment: &Experiment) -> bool {
    experiment.part.is_some() || !experiment.parts.is_empty()
}

/// What measures on until comparisons are decided. `blocks`: how many may be enough, together with
/// those that were run.
pub(crate) fn until_decided(folder: &Path, experiment: &Experiment, blocks: u32) -> String {
    if has_parts(experiment) {
        return format!("start all parts again with --blocks {blocks}, as a new experiment");
    }
    format!("{} --until-decided", command(folder, experiment))
}

/// The command that runs the missing trials.
pub(crate) fn command(folder: &Path, experiment: &Experiment) -> String {
    on_its_server(experiment, &["truetps sweep --resume", &shell_path(folder)])
}

/// The command that finds the number of connections, with the load of an experiment.
pub(crate) fn pool(folder: &Path, experiment: &Experiment) -> String {
    let quick = if experiment.quick { " --quick" } else { "" };
    on_its_server(experiment, &[&format!("truetps pool{quick}"), &plan_of(folder)])
}

/// The command that explains the difference of two combinations of settings,
/// `NAME=VALUE,NAME=VALUE`.
pub(crate) fn explain(folder: &Path, experiment: &Experiment, (a, b): (&str, &str)) -> String {
    on_its_server(
        experiment,
        &["truetps explain", &shell_word(a), &shell_word(b), "--plan", &plan_of(folder)],
    )
}

fn plan_of(folder: &Path) -> String {
    shell_path(&folder.join("plan.toml"))
}

/// These words, and those for the server and the account of the experiment.
fn on_its_server(experiment: &Experiment, words: &[&str]) -> String {
    let mut words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
    if let Some(address) = address(experiment) {
        words.extend([DSN.to_owned(), shell_word(address)]);
    }
    words.extend(carried(&experiment.command, experiment.sandbox_dir.as_deref()));
    words.join(" ")
}

/// `sandbox_dir`: the folder that was used, whose name does not depend on where a command is typed.
fn carried(typed: &[String], sandbox_dir: Option<&str>) -> Vec<String> {
    let mut carried = Vec::new();
    let mut words = typed.iter();
    while let Some(word) = words.next() {
        let (name, value) =
            word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        match CARRIED.iter().find(|(flag, _)| *flag == name) {
            Some((flag, true)) => {
                let value = value.or_else(|| words.next().map(String::as_str)).unwrap_or_default();
                let used = sandbox_dir.filter(|_| *flag == "--sandbox-dir");
                let value = used.unwrap_or(value);
                carried.extend([(*flag).to_owned(), shell_word(value)]);
            }
            Some((flag, false)) => {
                let value = value.map(|value| format!("={}", shell_word(value)));
                carried.push(format!("{flag}{}", value.unwrap_or_default()));
            }
            None => {}
        }
    }
    carried
}

/// Refuses to mix trials of a private and an external server in one experiment, or trials of one
/// load generator and of several, before anything is started.
pub(crate) fn refuse_other_place(
    folder: &ExperimentFolder,
    place: &FolderArgs,
) -> Result<(), CommandFailure> {
    let experiment = folder.experiment().map_err(CommandFailure::usage)?;
    if has_parts(&experiment) {
        let message =
            "several load generators have made this experiment (--part): it cannot be resumed";
        return Err(
            CommandFailure::usage(message).hint("start all parts again, as a new experiment")
        );
    }
    match (address(&experiment), usual_dsn(place, false)) {
        (Some(address), None) => {
            Err(CommandFailure::usage(format!("this experiment was begun on the server {address}"))
                .hint(format!("resume it there: {}", command(folder.path(), &experiment))))
        }
        (None, Some(_)) => {
            let usual = settings::given(settings::DSN).filter(|_| place.dsn.is_none());
            let named =
                usual.map_or_else(|| DSN.to_owned(), |given| format!("`dsn` ({})", given.origin));
            Err(CommandFailure::usage("this experiment was begun on a private server")
                .hint(format!("leave {named} out, or start a new experiment")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_where_and_as_whom_is_carried() {
        let typed = "truetps sweep p.toml --dsn mysql://a@h/ --blocks 3 --schema=it's \
                     --i-own-this-schema --runs x";
        let typed: Vec<_> = typed.split(' ').map(str::to_owned).collect();
        assert_eq!(carried(&typed, None).join(" "), "--schema 'it'\\''s' --i-own-this-schema");
        for typed in ["--sandbox-dir=boxes", "--sandbox-dir boxes"] {
            let typed: Vec<_> = typed.split(' ').map(str::to_owned).collect();
            assert_eq!(carried(&typed, Some("/a/boxes")), ["--sandbox-dir", "/a/boxes"]);
        }
    }
}
