//! The command `run`: what is decided before its threads start.

use truetps_folder::ExperimentFolder;
use truetps_probe::RunPresence;
use truetps_recording::{LiveView, is_remarked, named_runs, try_state_runs};

use crate::exit_code::ProgramExit;
use crate::lua::{IsolationReason, Role};
use crate::options::{LuaIsolation, OptionValue, OutputStream, RunSettings};
use crate::output::{MessageLevel, banner};
use crate::parts::{PlannedPart, RunningPart};
use crate::run::{LoadRun, RUN, WorkerContext};

use super::main_state::MainState;
use super::script_command::ScriptCommand;
use super::streams::write_to;

/// Up to this number of clients have a thread each: see `docs/decisions/0006-drive-mode.md`.
const CLIENTS_WITH_THREADS_MAX: u32 = 2;

/// Where a script may hold its thread, up to this number of clients have a thread each, too.
const CLIENTS_WITH_THREADS_IN_DOUBT_MAX: u32 = 256;

/// The number of coroutines that one Lua state can have.
const CLIENTS_OF_A_STATE_MAX: u32 = 6_000;

/// Returns the exit status.
pub(super) fn run_load(command: &mut ScriptCommand<'_>) -> Result<u8, ProgramExit> {
    let is_recorded = check_runs(command)?;
    let view = open_view(command)?;
    if command.main.has("init") {
        command.main.call("init")?;
    }
    if !command.main.has("event") {
        let script = command.script.base_name();
        return Err(command.main.fatal(&format!("cannot find the event() function in {script}")));
    }
    let found = command.main.finding()?;
    let mut settings = command.options.settings.of_part();
    if !is_recorded {
        settings.ours.runs = None;
    }
    let threads = threads_for_clients(&settings, command.env.cores, found.as_ref());
    let mut context = command.workers(settings, threads, RUN);
    let planned_part = PlannedPart::of(&context);
    let mut part = None;
    if let Some(planned) = &planned_part {
        let met = planned.meet(&mut context, command.env.interrupt.flag(), command.env.meet_parts);
        let RunningPart { of, .. } =
            part.insert(met.map_err(|problem| command.main.fatal(&problem))?);
        let (clients, all) = (context.run.settings.threads, command.options.settings.threads);
        let line = format!(
            "truetps: part {}: {clients} of {all} clients; truetps merge puts the parts together\n",
            of.part
        );
        write_to(OutputStream::Stderr, line.as_bytes());
    }
    if let Some(text) =
        found.and_then(|found| isolation_note(&context.run.settings, threads, &found))
    {
        if rustix::termios::isatty(rustix::stdio::stderr()) {
            write_to(OutputStream::Stderr, format!("truetps: {text}\n").as_bytes());
        }
        context.run.note(text);
    }
    context.run.log.text(MessageLevel::Notice, &banner(&context.run.settings));
    if let Some(OptionValue::Number(limit)) =
        command.options.value("cpu-max-prime").filter(|_| context.script.is_cpu())
    {
        context.run.log.text(MessageLevel::Notice, &format!("Prime numbers limit: {limit}\n"));
    }
    let reporter = reporter(&context)?.map(MainState::into_parts);
    let is_remarked = is_remarked(names_runs(command));
    let (main, main_client) = command.main.parts();
    let load = LoadRun {
        context,
        main,
        main_client,
        reporter,
        view,
        part,
        recording: None,
        presence: RunPresence::announce("sysbench"),
        server_warning: command.env.server_warning,
        is_remarked,
        beside: Vec::new(),
    };
    Ok(load.run())
}

fn names_runs(command: &ScriptCommand<'_>) -> bool {
    command.options.names_runs() || named_runs(command.env.environment).is_some()
}

/// Before anything starts: whether the run is recorded. A folder that the user named must be there.
fn check_runs(command: &mut ScriptCommand<'_>) -> Result<bool, ProgramExit> {
    let Some(runs) = command.options.settings.ours.runs.as_deref() else { return Ok(false) };
    let environment = command.env.environment;
    if !names_runs(command) {
        let tried = try_state_runs(environment);
        if let Err(warning) = &tried {
            write_to(OutputStream::Stderr, format!("truetps: {warning}\n").as_bytes());
        }
        return Ok(tried.is_ok());
    }
    ExperimentFolder::check_writable(runs).map(|()| true).map_err(|error| {
        command.main.fatal(&format!(
            "the run cannot be recorded: {error}; name another folder with --runs=DIR or \
             TRUETPS_RUNS, or use --runs=none"
        ))
    })
}

fn open_view(command: &ScriptCommand<'_>) -> Result<Option<LiveView>, ProgramExit> {
    if !command.options.settings.ours.ui {
        return Ok(None);
    }
    let opened = (command.env.live_view)(&command.script.base_name());
    opened.map(Some).map_err(|problem| command.main.fatal(&problem))
}

/// Number of threads for the clients.
fn threads_for_clients(settings: &RunSettings, cores: u32, found: Option<&IsolationReason>) -> u32 {
    let clients = settings.threads;
    let enough = clients.div_ceil(CLIENTS_OF_A_STATE_MAX);
    let shared = settings.ours.workers.unwrap_or(cores).max(1).max(enough).min(clients);
    let is_open = settings.ours.workers.is_none();
    let in_doubt_max =
        if found.is_some() { CLIENTS_WITH_THREADS_IN_DOUBT_MAX } else { CLIENTS_WITH_THREADS_MAX };
    match settings.ours.lua_isolation {
        LuaIsolation::Auto if found.is_some_and(|found| found.is_certain) => clients,
        LuaIsolation::Auto if is_open && clients <= in_doubt_max => clients,
        LuaIsolation::Client => clients,
        LuaIsolation::Worker | LuaIsolation::Auto => shared,
    }
}

/// Words for the user about the threads of the clients.
fn isolation_note(settings: &RunSettings, threads: u32, found: &IsolationReason) -> Option<String> {
    let text = &found.text;
    if settings.ours.lua_isolation != LuaIsolation::Auto
        || settings.threads <= CLIENTS_WITH_THREADS_MAX
    {
        return None;
    }
    if threads == settings.threads {
        return Some(format!(
            "each client has a Lua state and a thread of its own: the script {text}"
        ));
    }
    Some(format!(
        "clients share threads, and the script {text}, which stops all clients of its thread \
         (--lua-isolation=client gives each its own)"
    ))
}

/// The state for intermediate reports, if there are any.
fn reporter(context: &WorkerContext) -> Result<Option<MainState>, ProgramExit> {
    let settings = &context.run.settings;
    if settings.report_interval.is_none() && settings.checkpoints.is_empty() {
        return Ok(None);
    }
    let mut state = MainState::new(
        &context.run,
        &context.script,
        &context.drivers,
        Role::Single,
        context.reporter_tid(),
    )?;
    state.set_options(&context.options)?;
    state.run_procedure("load_with_options")?;
    Ok(Some(state))
}
