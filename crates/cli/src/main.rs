//! The `truetps` command: parse, resolve, do, exit.

mod answer;
mod args;
mod block_progress;
mod commands;
mod compat;
mod completions;
mod exit;
mod explain_scale;
mod explain_sides;
mod exporter;
mod failure;
mod live_view;
mod login;
mod man_pages;
mod manual;
mod named_run;
mod option_file;
mod other_programs_words;
mod owner;
mod pin;
mod plans;
mod probe_picture;
mod probe_text;
mod progress;
mod progress_line;
mod running_trial;
mod settings;
mod short_plan;
mod signals;
mod site;
mod times;
mod ui;
mod version;
mod watcher;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{CommandFactory, FromArgMatches};

use truetps_record::{Personality, without_logins};
use truetps_report::{printable, printable_lines, printable_text};

use crate::args::{Cli, ConfigCommand, PlanCommand, TruetpsCommand};
use crate::exit::Exit;
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
    QUIET.store(cli.quiet, Ordering::Relaxed);
    let result = match cli.command {
        TruetpsCommand::Sweep(args) => commands::sweep::run(&args),
        TruetpsCommand::Run(args) => commands::run::run(&args),
        TruetpsCommand::Plan { command: PlanCommand::List { full } } => Ok(commands::plan::list(full)),
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
        TruetpsCommand::Config { command: ConfigCommand::Show { origin } } => Ok(commands::config::show(origin)),
        TruetpsCommand::Help { words } => manual::help(&words),
        TruetpsCommand::Completions { shell } => Ok(completions::script(shell)),
        TruetpsCommand::ManPages { folder } => man_pages::write(&folder),
        TruetpsCommand::Diff(args) => commands::diff::run(&args),
        // Everything behind these words is theirs: it was taken before.
        TruetpsCommand::Sysbench { arguments } => return compat::run(Personality::Sysbench, arguments),
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

/// Prints clap's text, in which an address that was typed in a wrong place has no password.
fn print_wrong_line(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    let shown = without_logins(&text);
    if error.use_stderr() && shown != text {
        say_raw(&shown);
    } else {
        // A closed reader is no failure.
        let _ = error.print();
    }
    u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// What was typed, with the user's settings as defaults. A line that is wrong without them is reported first.
fn command_line() -> Result<Cli, WrongLine> {
    let typed = std::env::args_os().nth(1).map(|word| word.to_string_lossy().into_owned());
    let explain = |error| match other_programs_words::explain(error, typed.as_deref()) {
        Ok(error) => WrongLine::Shown(error),
        Err(failure) => WrongLine::Failed(failure),
    };
    let typed_alone = settings::unfilled(Cli::command());
    let cli =
        typed_alone.clone().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches)).map_err(explain)?;
    if !cli.command.has_settings() {
        return Ok(cli);
    }
    let own = settings::read_own().map_err(WrongLine::Failed)?;
    let command = settings::filled(typed_alone, &own);
    settings::keep(own);
    command.try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches)).map_err(explain)
}

/// Tells the user something, on stderr: lines of text, in which names of a plan or words of a server have no way to move a
/// terminal's cursor, and addresses have no passwords.
pub(crate) fn print_message(text: &str) {
    say_raw(&printable_lines(&without_logins(text)));
}

/// The same as one line: a text of a file or a server in it cannot begin another one.
pub(crate) fn print_line(text: &str) {
    say_raw(&(printable(&without_logins(text)) + "\n"));
}

/// The same for what `--quiet` leaves out: progress, and which command may come next.
pub(crate) fn print_progress(text: &str) {
    if !is_quiet() {
        print_message(text);
    }
}

/// Set once, before a command begins.
static QUIET: AtomicBool = AtomicBool::new(false);

pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// The same with terminal escape sequences. A closed stderr is no failure: the results are on disk.
pub(crate) fn say_raw(text: &str) {
    use std::io::Write;
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Prints lines for people to stdout, without what a terminal obeys.
pub(crate) fn print_out(text: &str) -> Exit {
    print_made(&printable_text(text))
}

/// Prints to stdout what its format has made safe: a drawn report with its colours, JSON, CSV. A reader that has closed
/// the pipe (`| head`) is no failure.
pub(crate) fn print_made(text: &str) -> Exit {
    use std::io::Write;
    match std::io::stdout().write_all(text.as_bytes()).and_then(|()| std::io::stdout().flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            print_message(&format!("error: cannot write the answer to stdout: {error}\n"));
            Exit::Failed
        }
        _ => Exit::Good,
    }
}
