//! Completion of command lines in a shell.
//!
//! The script of `truetps completions SHELL` has no words of its own: at each TAB it asks the
//! program, which knows the plans, servers and runs that there are at that moment. A completion
//! never prints an error, and creates nothing.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::CommandFactory;
use clap::builder::StyledStr;
use clap_complete::CompletionCandidate;
use clap_complete::engine::{PathCompleter, ValueCompleter};
use clap_complete::env::{Bash, CompleteEnv, EnvCompleter, Fish, Shells, Zsh};
use truetps_disk::DiskProfile;
use truetps_folder::LATEST;
use truetps_plan::Plan;
use truetps_sandbox::server_names_in;

use crate::args::{Cli, Shell, Words};
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::terminal::print_made;
use crate::{manual, plans, settings};

/// Set by the scripts: the shell that asks.
const ASKED_BY: &str = "TRUETPS_COMPLETE";
const PROGRAM: &str = "truetps";
const SHELLS: Shells<'_> = Shells(&[&Bash, &Zsh, &Fish]);

/// As a file `_truetps` in a folder of `fpath`, the script is read at the first completion, which
/// it then has to answer.
const ZSH_AUTOLOAD: &str = "if [[ \"${funcstack[1]}\" == _truetps ]]; then\n    \
                            _clap_dynamic_completer_truetps \"$@\"\nfi\n";

/// Prints the script that a shell reads at its start.
pub(crate) fn script(shell: Shell) -> Exit {
    let completer: &dyn EnvCompleter = match shell {
        Shell::Bash => &Bash,
        Shell::Zsh => &Zsh,
        Shell::Fish => &Fish,
    };
    let mut script = Vec::new();
    completer
        .write_registration(ASKED_BY, PROGRAM, PROGRAM, PROGRAM, &mut script)
        .expect("a Vec takes every byte");
    let own = if shell == Shell::Zsh { ZSH_AUTOLOAD } else { "" };
    print_made(&(String::from_utf8_lossy(&script).into_owned() + own))
}

/// Answers a shell that asks for words, instead of running a command; `None`: none does.
pub(crate) fn answer() -> Option<Exit> {
    std::env::var_os(ASKED_BY)?;
    let here = std::env::current_dir().ok();
    let engine = CompleteEnv::with_factory(Cli::command).var(ASKED_BY).bin(PROGRAM).shells(SHELLS);
    match engine.try_complete(std::env::args_os(), here.as_deref()) {
        Ok(is_answered) => is_answered.then_some(Exit::Good),
        // A variable that was set by hand: a command that does nothing must not look as if it had
        // succeeded.
        Err(error) => {
            let problem = error.to_string();
            let problem = problem.trim_start_matches("error: ");
            Some(
                CommandFailure::usage(format!("{ASKED_BY}: {problem}"))
                    .hint("it is for the scripts only: unset it")
                    .print(),
            )
        }
    }
}

impl ValueCompleter for Words {
    fn complete(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        let found = match self {
            Self::Plans => joined([shipped_plans(), toml_files(current)]),
            Self::Workloads => {
                truetps_workload::NAMES.iter().map(CompletionCandidate::new).collect()
            }
            Self::Servers => servers(),
            Self::Disks => joined([disks(), toml_files(current)]),
            Self::Runs => joined([runs(), PathCompleter::dir().complete(current)]),
            Self::SettingsSources => {
                joined([servers(), runs(), PathCompleter::any().complete(current)])
            }
            Self::HelpTopics => help_topics(),
        };
        let mut seen = BTreeSet::new();
        found
            .into_iter()
            .filter(|one| is_offered(one.get_value(), current))
            .filter(|one| seen.insert(one.get_value().to_owned()))
            .collect()
    }
}

/// Whether a word goes on from what was typed. The folder itself is not offered.
fn is_offered(word: &OsStr, typed: &OsStr) -> bool {
    word != "." && word.as_encoded_bytes().starts_with(typed.as_encoded_bytes())
}

fn joined<const N: usize>(lists: [Vec<CompletionCandidate>; N]) -> Vec<CompletionCandidate> {
    lists.into_iter().flatten().collect()
}

fn described(name: impl Into<OsString>, about: &str) -> CompletionCandidate {
    CompletionCandidate::new(name).help(Some(StyledStr::from(about.to_owned())))
}

fn toml_files(typed: &OsStr) -> Vec<CompletionCandidate> {
    let completer = PathCompleter::any().filter(|path| {
        path.is_dir() || path.extension().is_some_and(|extension| extension == "toml")
    });
    completer.complete(typed)
}

fn shipped_plans() -> Vec<CompletionCandidate> {
    let plans = plans::SHIPPED.iter().map(|(name, text)| {
        let about = Plan::parse(text).map(|plan| plan.about).unwrap_or_default();
        described(*name, &about)
    });
    plans.collect()
}

fn disks() -> Vec<CompletionCandidate> {
    let disks = DiskProfile::names().map(|name| {
        let about = DiskProfile::find(name).map(|profile| profile.about).unwrap_or_default();
        described(name, &about)
    });
    disks.collect()
}

fn servers() -> Vec<CompletionCandidate> {
    let folder = flag_or_setting("--sandbox-dir", "sandbox_dir");
    server_names_in(folder.as_deref()).into_iter().map(CompletionCandidate::new).collect()
}

/// Newest first.
fn runs() -> Vec<CompletionCandidate> {
    let folder = flag_or_setting("--runs", "runs").unwrap_or_else(|| PathBuf::from("runs"));
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let mut found: Vec<_> = entries.map(|entry| entry.path()).filter(|path| is_run(path)).collect();
    found.sort_by_key(|path| {
        std::cmp::Reverse(path.metadata().and_then(|metadata| metadata.modified()).ok())
    });
    let (latest, others): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|path| path.file_name() == Some(OsStr::new(LATEST)));
    latest.into_iter().chain(others).map(CompletionCandidate::new).collect()
}

fn is_run(path: &Path) -> bool {
    const FILES: [&str; 4] = ["experiment.json", "run.json", "probe.json", "crash.json"];
    FILES.iter().any(|file| path.join(file).exists())
}

fn help_topics() -> Vec<CompletionCandidate> {
    let cli = Cli::command();
    let commands = cli.get_subcommands().filter(|command| !command.is_hide_set());
    let commands = commands.map(|command| {
        CompletionCandidate::new(command.get_name()).help(command.get_about().cloned())
    });
    let pages = manual::pages().map(|page| described(page.shortest_name(), page.title()));
    commands.chain(pages).collect()
}

/// The folder that a flag of the line names, else the one of the settings. Files with errors count
/// as absent.
fn flag_or_setting(flag: &str, setting: &str) -> Option<PathBuf> {
    let words: Vec<_> = std::env::args_os().collect();
    let typed = words.windows(2).find_map(|pair| {
        let joined = pair[1].to_str().and_then(|word| word.strip_prefix(flag)?.strip_prefix('='));
        if pair[0] == flag { Some(PathBuf::from(&pair[1])) } else { joined.map(PathBuf::from) }
    });
    typed.or_else(|| Some(settings::read_own().ok()?.given(setting)?.path().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(words: Words, current: &str) -> Vec<String> {
        let found = words.complete(OsStr::new(current));
        found.iter().map(|one| one.get_value().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn words_begin_as_typed() {
        assert_eq!(completed(Words::Plans, "durability-"), ["durability-hdd"]);
        assert_eq!(completed(Words::Workloads, "hot"), ["hot-row"]);
        assert_eq!(completed(Words::Disks, "hdd7"), ["hdd7200"]);
        assert_eq!(completed(Words::HelpTopics, "exit"), ["exit-codes"]);
        assert_eq!(completed(Words::HelpTopics, "dis"), ["disk", "disturbances", "disks"]);
    }
}
