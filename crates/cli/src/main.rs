//! The `truetps` command: parse, resolve, do, exit.
//!
//! - `args`: what was typed, a file for each command. `commands`: what each command does, a file
//!   each. `exit`: the exit codes. `failure`: an error as it is shown. `terminal`: what is printed,
//!   and what `--quiet` leaves out. `answer`: from an experiment's folder to its printed answer and
//!   `report.html`.
//! - `settings`: the user's defaults: a table of settings, whose values come from the environment,
//!   `truetps.toml` and the user's file (`layers`), and which become the defaults of all arguments
//!   with that flag (`fill`), so that no command knows where a default comes from. `login`: the
//!   user and password for a DSN.
//! - `short_plan`: the plan of a command line, from a workload or another plan. `plans` finds a
//!   plan. `option_file`: a user's own my.cnf. `explain_sides` reads the two sides of `explain`,
//!   and `explain_scale` scales their buffer pools to this machine.
//! - Progress: as a line (`progress`; `block_progress` without a terminal) or as a live view (`ui`:
//!   `model` holds the state from events, `picture` draws it, `screen` sets up and restores the
//!   terminal). `running_trial` is common to both; `live_view` opens the view for all programs;
//!   `ui::held_output` holds the output of `sysbench`, `slap` and `mtls` back meanwhile;
//!   `probe_picture` makes the intervals of a server without a load.
//! - `exporter` shows the last readings of `truetps probe` over HTTP; it sends no query.
//! - `compat`: `sysbench`, `slap` and `mtls`, whose arguments are passed on as typed.
//! - `completions` answers shells, `man_pages` writes the pages of `man`, and `manual` shows the
//!   pages of `docs/`, which the program contains.
//!
//! *Invariants:* the run's thread never waits for the terminal. Only `main` exits, apart from the
//! second signal (`signals`). Only this crate prints, except for `sysbench`, which prints its own
//! lines because scripts print between them, and the prompts of `compat`.

mod allocator;
mod answer;
mod args;
mod asked;
mod block_progress;
mod commands;
mod compat;
mod completions;
mod exit;
mod explain_scale;
mod explain_sides;
mod exporter;
mod failure;
mod last_signal;
mod live_view;
mod login;
mod man_pages;
mod manual;
mod measuring;
mod named_run;
mod option_file;
mod other_programs_words;
mod owner;
mod pin;
mod plans;
mod private_home;
mod probe_picture;
mod probe_text;
mod progress;
mod progress_line;
mod running_trial;
mod screen;
mod set_words;
mod settings;
mod short_plan;
mod signals;
mod site;
mod terminal;
mod times;
mod ui;
mod version;
mod watcher;

#[global_allocator]
static ALLOCATOR: allocator::EndingAllocator = allocator::EndingAllocator;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use truetps_record::{Personality, without_logins};

use crate::args::{Cli, ConfigCommand, PlanCommand, TruetpsCommand};
use crate::failure::CommandFailure;

fn main() -> ExitCode {
    signals::outlive_file_limits();
    if let Some(exit) = completions::answer() {
        return exit.into();
    }
    if let Some((tool, arguments)) = compat::called(compat::arguments()) {
        return match settings::read_own() {
            Ok(own) => {
                settings::keep(own);
                compat::run(tool, arguments)
            }
            Err(failure) => failure.print().into(),
        };
    }
    let cli = match command_line() {
        Ok(cli) => cli,
        Err(WrongLine::Shown(error)) => return print_wrong_line(&error),
        Err(WrongLine::Failed(failure)) => return failure.print().into(),
    };
    terminal::set_quiet(cli.quiet);
    let result = match cli.command {
        TruetpsCommand::Sweep(args) => commands::sweep::run(&args),
        TruetpsCommand::Run(args) => commands::run::run(&args),
        TruetpsCommand::Plan { command: PlanCommand::List { full } } => {
            Ok(commands::plan::list(full))
        }
        TruetpsCommand::Plan { command: PlanCommand::Show { plan } } => commands::plan::show(&plan),
        TruetpsCommand::Plan { command: PlanCommand::Check(args) } => commands::plan::check(&args),
        TruetpsCommand::Probe(args) => commands::probe::run(&args),
        TruetpsCommand::Report(args) => commands::report::run(&args),
        TruetpsCommand::Compare(args) => commands::compare::run(&args),
        TruetpsCommand::Merge(args) => commands::merge::run(&args),
        TruetpsCommand::Explain(args) => commands::explain::run(&args),
        TruetpsCommand::Pool(args) => commands::pool::run(&args),
        TruetpsCommand::Stalls(args) => commands::stalls::run(&args),
        TruetpsCommand::Server { command } => commands::server::run(&command),
        TruetpsCommand::Crash(args) => commands::crash::run(&args),
        TruetpsCommand::Verify(args) => commands::verify::run(&args),
        TruetpsCommand::Gateway(args) => commands::gateway::run(&args),
        TruetpsCommand::Prealloc { command } => commands::prealloc::run(&command),
        TruetpsCommand::Disk { command } => commands::disk::run(&command),
        TruetpsCommand::Doctor(place) => commands::doctor::run(&place),
        TruetpsCommand::DiskHelper { .. } => commands::disk::help(),
        TruetpsCommand::Config { command: ConfigCommand::Show { origin } } => {
            Ok(commands::config::show(origin))
        }
        TruetpsCommand::Help { words } => manual::help(&words),
        TruetpsCommand::Completions { shell } => Ok(completions::script(shell)),
        TruetpsCommand::ManPages { folder } => man_pages::write(&folder),
        TruetpsCommand::Diff(args) => commands::diff::run(&args),
        // Everything behind these words is theirs: it was taken before.
        TruetpsCommand::Sysbench { arguments } => {
            return compat::run(Personality::Sysbench, arguments);
        }
        TruetpsCommand::Slap { arguments } => return compat::run(Personality::Slap, arguments),
        TruetpsCommand::Mtls { arguments } => return compat::run(Personality::Mtls, arguments),
    };
    result.unwrap_or_else(CommandFailure::print).into()
}

/// Why there is no command line to obey.
enum WrongLine {
    /// Clap's own text, which may be the help that was asked for.
    Shown(clap::Error),
    Failed(CommandFailure),
}

impl WrongLine {
    /// `command`: the word that was typed first.
    fn of(error: clap::Error, command: Option<&str>) -> Self {
        other_programs_words::explain(error, command).map_or_else(Self::Failed, Self::Shown)
    }
}

/// Prints clap's text, in which an address that was typed in a wrong place has no password.
fn print_wrong_line(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    let shown = without_logins(&text);
    if error.use_stderr() && shown != text {
        terminal::say_raw(&shown);
    } else {
        // A closed reader is not a failure.
        let _ = error.print();
    }
    u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// What was typed, with the user's settings as defaults. A line that is wrong without them is
/// reported first.
fn command_line() -> Result<Cli, WrongLine> {
    let typed = std::env::args_os().nth(1).map(|word| word.to_string_lossy().into_owned());
    let typed = typed.as_deref();
    let typed_alone = settings::unfilled(Cli::command());
    let cli = typed_alone
        .clone()
        .try_get_matches()
        .and_then(|matches| Cli::from_arg_matches(&matches))
        .map_err(|error| WrongLine::of(error, typed))?;
    if !cli.command.has_settings() {
        return Ok(cli);
    }
    let own = settings::read_own().map_err(WrongLine::Failed)?;
    let command = settings::filled(typed_alone, &own);
    settings::keep(own);
    command
        .try_get_matches()
        .and_then(|matches| Cli::from_arg_matches(&matches))
        .map_err(|error| WrongLine::of(error, typed))
}
