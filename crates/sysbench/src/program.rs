//! The life of a command: read the command line, load the script, do what the command line requests.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use mlua::Table;
use truetps_probe::RunPresence;
use truetps_probe::clock;
use truetps_record::printable_text;
use truetps_recording::LiveView;

use crate::interrupt::Interrupt;
use crate::lua::{self, LoadedSources, LuaScript, LuaState, Role, ScriptSource, lua_error_text};
use crate::options::{
    self, FirstPass, FirstRequest, LuaIsolation, OptionRefusal, OutputStream, RunSettings, Surroundings,
    SysbenchFormat, SysbenchOptions, SysbenchRelease,
};
use crate::output::{Banner, MessageLevel, MessageLog, MessagesTo, banner, lines};
use crate::rand::{Unique, Xoroshiro};
use crate::run::{
    CommandRun, Control, Counters, LARGE_STACK_BYTES, LoadRun, LuaThread, ProcedureFailure, RUN, RatePace,
    ServerWarning, Usage, WorkerContext, WorkerEvent, call_function, groups, stack_bytes, work,
};
use crate::sql::{Drivers, Store};

const GOOD: u8 = 0;
const FAILED: u8 = 1;
const INTERRUPTED: u8 = 130;

/// Interval at which the user's request to end is checked.
const LOOK: Duration = Duration::from_millis(100);

/// Up to this number of clients have a thread each: see `docs/decisions/0006-drive-mode.md`.
const CLIENTS_WITH_THREADS_MAX: u32 = 2;

/// The number of coroutines that the host can hold in one state.
const CLIENTS_OF_A_STATE_MAX: u32 = 6_000;

/// Threads with their own latency records; more than this share them to save memory.
const SHARES_MAX: u32 = 64;

/// The environment variable for the password of `--dsn`.
const PASSWORD_VARIABLE: &str = "TRUETPS_PASSWORD";

/// The process list shows a typed password until it is masked.
const TYPED_PASSWORD: &str = "truetps: warning: a password on the command line can be read by other users of this host: put \
                              it in the file of --config-file, or use --dsn with TRUETPS_PASSWORD\n";

/// Tests that sysbench has built in.
const CPU: &str = include_str!("lua/prelude/cpu.lua");
const NOT_DATABASES: [&str; 4] = ["fileio", "memory", "threads", "mutex"];

/// The environment of the program.
pub struct SysbenchEnv<'a> {
    pub environment: &'a (dyn Fn(&str) -> Option<OsString> + Sync),
    /// Cores that clients may be spread over.
    pub cores: u32,
    pub interrupt: Interrupt,
    /// A one-line warning about a server before it is written to.
    pub server_warning: ServerWarning,
    /// Opens the view of `--ui` for a run with this title, or says why it cannot be opened.
    pub live_view: &'a (dyn Fn(&str) -> Result<LiveView, String> + Sync),
}

/// The program ends with this exit status; the reason was printed.
type ProgramExit = u8;

/// Runs a command line of sysbench; the first argument is the program's name. Returns the exit status.
pub fn run(argv: Vec<OsString>, world: &SysbenchEnv<'_>) -> u8 {
    // The main state gets a stack as large as the workers'.
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("sysbench".to_owned()).stack_size(LARGE_STACK_BYTES);
        match builder.spawn_scoped(scope, || run_here(argv, world)) {
            Ok(thread) => thread.join().unwrap_or(FAILED),
            Err(error) => {
                write_to(OutputStream::Stderr, format!("truetps: no thread can be started: {error}\n").as_bytes());
                FAILED
            }
        }
    })
}

fn run_here(argv: Vec<OsString>, world: &SysbenchEnv<'_>) -> u8 {
    let read_file = |path: &std::path::Path| std::fs::read(path);
    let surroundings = Surroundings { environment: world.environment, read_file: &read_file };
    let has_typed_password = options::has_typed_password(&argv);
    let pass = match options::first_pass(argv, &surroundings) {
        Ok(pass) => pass,
        Err(refusal) => return refuse(&refusal),
    };
    for notice in pass.notices() {
        write_to(notice.stream, &notice.text);
    }
    match pass.wish() {
        FirstRequest::Help => {
            let tests = [options::BuiltInTest { name: "cpu", title: "a few prime numbers: for trying options" }];
            write_to(OutputStream::Stdout, &options::help_page(pass.registry(), "sysbench", &tests));
            GOOD
        }
        FirstRequest::Version => {
            write_to(OutputStream::Stdout, options::version_line(pass.compat()).as_bytes());
            GOOD
        }
        FirstRequest::Script => {
            if has_typed_password {
                write_to(OutputStream::Stderr, TYPED_PASSWORD.as_bytes());
            }
            LoadedScript::begin(pass, world).and_then(LoadedScript::go_on).unwrap_or_else(|status| status)
        }
    }
}

/// Messages and lists of options, which may contain text of scripts, files and servers.
fn write_to(stream: OutputStream, bytes: &[u8]) {
    let text = printable_text(&String::from_utf8_lossy(bytes));
    let bytes = text.as_bytes();
    // A closed reader is not an error of truetps.
    let _ = match stream {
        OutputStream::Stdout => std::io::stdout().write_all(bytes).and_then(|()| std::io::stdout().flush()),
        OutputStream::Stderr => std::io::stderr().write_all(bytes),
    };
}

fn refuse(refusal: &OptionRefusal) -> u8 {
    for notice in &refusal.notices {
        write_to(notice.stream, &notice.text);
    }
    write_to(refusal.stream, &refusal.text);
    refusal.exit
}

/// The script is loaded in the state of the main thread.
struct LoadedScript<'a> {
    world: &'a SysbenchEnv<'a>,
    pass: FirstPass,
    script: Arc<LuaScript>,
    log: Arc<MessageLog>,
    drivers: Arc<Drivers>,
    unique: Arc<Unique>,
    seed: u64,
    host: LuaThread,
    client: Table,
}

/// Unbuffered: lines keep their order with output of scripts.
struct Unbuffered<F>(F);

impl<F: AsFd> Write for Unbuffered<F> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Ok(rustix::io::write(&self.0, bytes)?)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn make_log(settings: &RunSettings) -> Arc<MessageLog> {
    let level = MessageLevel::from_number(settings.verbosity.into()).unwrap_or(MessageLevel::Debug);
    let aside = Box::new(Unbuffered(rustix::stdio::stderr()));
    let document = if settings.ours.format == SysbenchFormat::Json { stdout_of_our_own() } else { None };
    Arc::new(match document {
        Some(document) => MessageLog::new(level, MessagesTo::Aside, Box::new(Unbuffered(document)), aside),
        None => MessageLog::new(level, MessagesTo::Results, Box::new(Unbuffered(rustix::stdio::stdout())), aside),
    })
}

/// Reserves the standard output for one document. All other output, including output of scripts and their C functions,
/// goes to the standard error from here on. `None`: the system has no file descriptor left.
fn stdout_of_our_own() -> Option<OwnedFd> {
    const FIRST_FREE: i32 = 3;
    let own = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), FIRST_FREE).ok()?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr()).ok()?;
    Some(own)
}

/// A seed from the system's own random numbers, below 2^63.
fn any_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish() >> 1
}

impl<'a> LoadedScript<'a> {
    fn begin(pass: FirstPass, world: &'a SysbenchEnv<'a>) -> Result<Self, ProgramExit> {
        let Some(settings) = pass.settings().cloned() else { return Err(FAILED) };
        let log = make_log(&settings);
        log.text(MessageLevel::Notice, &lines::version(pass.compat().version(), LUAJIT_VERSION));
        let script = Arc::new(find_script(&pass, &settings, world, &log)?);
        let preliminary = pass.preliminary().map_err(|refusal| refuse(&refusal))?;
        let drivers = Arc::new(Drivers::new(preliminary, (world.environment)(PASSWORD_VARIABLE)));
        let seed = settings.rand.seed.map_or_else(any_seed, |seed| seed.cast_unsigned().into());
        // Unique numbers continue from run to run: they do not depend on the seed, or keys of the last run would be
        // repeated.
        let mut chance = Xoroshiro::from_seed(any_seed(), 0);
        let unique = Arc::new(Unique::new(chance.next_u64() as u32, chance.next_u64() as u32));
        let run = Arc::new(CommandRun {
            control: Control::new(0, false),
            board: Counters::new(0, 1),
            log: Arc::clone(&log),
            unique: Arc::clone(&unique),
            notes: Mutex::default(),
            usage: Usage::new(0),
            server: OnceLock::new(),
            server_warning: writes_at_once(&script).then_some(world.server_warning),
            started_at: clock::now_rfc3339(),
            interrupt: world.interrupt.clone(),
            seed,
            settings,
        });
        let say = |problem: &str| {
            log.text(MessageLevel::Fatal, problem);
            FAILED
        };
        let role = Role::Main;
        let (host, client) = make_host(&run, &script, &drivers, role, 0).map_err(|problem| say(&problem))?;
        Ok(Self { world, pass, script, log, drivers, unique, seed, host, client })
    }

    /// Runs the script's body, and then its command.
    fn go_on(mut self) -> Result<u8, ProgramExit> {
        self.host.state.begin_inspection(&self.client).map_err(|error| self.fatal(&lua_error_text(&error)))?;
        let loaded = self.host.run_to_end(0, &self.client, "load");
        loaded.map_err(|failure| self.fatal(&failure.line()))?;
        let has_options = self.declare_options()?;
        let Some(command) = self.script.command.clone() else { return Ok(GOOD) };
        let options = self.read_options(&command, has_options)?;
        self.host.state.set_options(&options).map_err(|error| self.fatal(&lua_error_text(&error)))?;
        self.host.state.show_options(&self.client).map_err(|error| self.fatal(&lua_error_text(&error)))?;
        self.renew_drivers(&options);
        let given = options.given_to_script();
        let status = self.execute(&command, options);
        self.tell_unread(&given);
        status
    }

    /// Reports options that the script does not read: sysbench accepts them silently.
    fn tell_unread(&self, given: &[(String, u32)]) {
        for unread in self.script.sources.unread(given) {
            let option = |name: &str| format!("--{}", name.replace('_', "-"));
            let near = unread.near.as_ref().map(|near| format!("; did you mean {}?", option(near)));
            let text =
                format!("truetps: the script never reads {}{}\n", option(&unread.name), near.unwrap_or_default());
            write_to(OutputStream::Stderr, text.as_bytes());
        }
    }

    fn execute(&mut self, command: &[u8], options: SysbenchOptions) -> Result<u8, ProgramExit> {
        let name = String::from_utf8_lossy(command).into_owned();
        if self.cmdline_says("command_defined", &name)? {
            let is_parallel = self.cmdline_says("command_parallel", &name)? && options.settings().threads > 1;
            return if is_parallel { Ok(self.run_parallel(options)) } else { self.run_command(&name) };
        }
        if name == "run" { self.run_load(options) } else { self.call(&name) }
    }

    fn fatal(&self, problem: &str) -> u8 {
        self.log.text(MessageLevel::Fatal, problem);
        FAILED
    }

    /// The options that the script declares. `false`: it declares none, not even an empty table.
    fn declare_options(&mut self) -> Result<bool, ProgramExit> {
        let cmdline = self.cmdline()?;
        let has_options = !self.lua(cmdline.get::<mlua::Value>("options"))?.is_nil();
        let read: mlua::Function = self.lua(cmdline.get("read_cmdline_options"))?;
        read.call::<bool>(()).map_err(|error| {
            let problem = lua_error_text(&error);
            self.fatal(
                &ProcedureFailure { function: "sysbench.cmdline.read_cmdline_options".to_owned(), problem }.line(),
            )
        })?;
        for spec in self.host.state.declared.take() {
            self.pass.declare(spec);
        }
        Ok(has_options)
    }

    /// Reads all values, and checks that the command exists.
    fn read_options(&self, command: &[u8], has_options: bool) -> Result<SysbenchOptions, ProgramExit> {
        self.pass.check_names(has_options).map_err(|refusal| refuse(&refusal))?;
        self.check_command(command, has_options)?;
        let options = self.pass.clone().finish(has_options).map_err(|refusal| refuse(&refusal))?;
        for notice in options.notices() {
            write_to(notice.stream, &notice.text);
        }
        Ok(options)
    }

    /// The script may have taken a truetps name, or given a driver's option another default. A driver that its body has
    /// already used stays unchanged.
    fn renew_drivers(&mut self, options: &SysbenchOptions) {
        if !self.drivers.are_used() {
            let password = (self.world.environment)(PASSWORD_VARIABLE);
            self.drivers = Arc::new(Drivers::new(options.clone(), password));
            self.host.state.store.borrow_mut().set_drivers(Arc::clone(&self.drivers));
        }
    }

    fn cmdline(&self) -> Result<Table, ProgramExit> {
        let environment: Table = self.lua(self.client.get("environment"))?;
        let sysbench: Table = self.lua(environment.get("sysbench"))?;
        self.lua(sysbench.get("cmdline"))
    }

    fn lua<T>(&self, result: mlua::Result<T>) -> Result<T, ProgramExit> {
        result.map_err(|error| self.fatal(&lua_error_text(&error)))
    }

    fn cmdline_says(&self, function: &str, name: &str) -> Result<bool, ProgramExit> {
        let cmdline = self.cmdline()?;
        let function: mlua::Function = self.lua(cmdline.get(function))?;
        self.lua(function.call(name))
    }

    /// Checks that the command exists; answers `help` if the script does not.
    fn check_command(&self, command: &[u8], has_options: bool) -> Result<(), ProgramExit> {
        let name = String::from_utf8_lossy(command).into_owned();
        if self.cmdline_says("command_defined", &name)? || name == "run" {
            return Ok(());
        }
        let base_name = self.script.base_name();
        if !["prepare", "cleanup", "help"].contains(&&*name) {
            write_to(OutputStream::Stderr, format!("Unknown command: {name}\n").as_bytes());
            return Err(FAILED);
        }
        if self.host.state.has(&self.client, &name) {
            return Ok(());
        }
        if name == "help" && has_options {
            write_to(OutputStream::Stdout, &options::test_help(self.pass.registry(), base_name.as_bytes()));
            return Err(GOOD);
        }
        let text = format!("'{base_name}' test does not implement the '{name}' command.\n");
        write_to(OutputStream::Stderr, text.as_bytes());
        Err(FAILED)
    }

    /// `prepare`, `cleanup`, `help`: a global function.
    fn call(&mut self, name: &str) -> Result<u8, ProgramExit> {
        match call_function(&mut self.host, 0, &self.client, name) {
            Ok(()) => Ok(GOOD),
            // In sysbench, too, a failing help is not an error.
            Err(failure) => {
                Err(if name == "help" { self.fatal(&failure.line()) - FAILED } else { self.fatal(&failure.line()) })
            }
        }
    }

    fn run_command(&mut self, name: &str) -> Result<u8, ProgramExit> {
        self.lua(self.client.set("called", name))?;
        let ran = self.host.run_to_end(0, &self.client, "command");
        ran.map_err(|failure| self.fatal(&failure.line()))?;
        let is_good =
            self.client.get::<mlua::Value>("result").is_ok_and(|result| result != mlua::Value::Boolean(false));
        Ok(if is_good { GOOD } else { FAILED })
    }

    fn new_run(&self, options: &SysbenchOptions, threads: u32) -> Arc<CommandRun> {
        let settings = options.settings().clone();
        let has_warm_up = !settings.warmup.is_zero();
        let control = Control::new(settings.events.unwrap_or(0), has_warm_up);
        let pace = settings
            .rate
            .map(|rate| RatePace::new(rate.into(), Xoroshiro::from_seed(self.seed, u64::MAX), control.now_ns()));
        Arc::new(CommandRun {
            control: control.with_pace(pace),
            board: Counters::new(settings.threads, threads.min(SHARES_MAX) as usize),
            log: Arc::clone(&self.log),
            unique: Arc::clone(&self.unique),
            notes: Mutex::default(),
            usage: Usage::new(threads),
            server: OnceLock::new(),
            server_warning: None,
            started_at: clock::now_rfc3339(),
            interrupt: self.world.interrupt.clone(),
            seed: self.seed,
            settings,
        })
    }

    fn crew(&self, options: SysbenchOptions, threads: u32, procedure: &'static str) -> WorkerContext {
        WorkerContext {
            run: self.new_run(&options, threads),
            script: Arc::clone(&self.script),
            options: Arc::new(options),
            drivers: Arc::clone(&self.drivers),
            threads,
            procedure,
        }
    }

    /// Number of threads for the clients.
    fn threads(&self, options: &SysbenchOptions) -> Result<(u32, Option<String>), ProgramExit> {
        let settings = options.settings();
        let clients = settings.threads;
        let found = self.lua(self.host.state.finding(&self.client))?;
        let enough = clients.div_ceil(CLIENTS_OF_A_STATE_MAX);
        let shared = settings.ours.workers.unwrap_or_else(|| (self.world.cores / 2).max(1)).max(enough).min(clients);
        let has_few = clients <= CLIENTS_WITH_THREADS_MAX;
        Ok(match settings.ours.lua_isolation {
            LuaIsolation::Auto if found.is_some() => (clients, found),
            LuaIsolation::Client => (clients, None),
            LuaIsolation::Auto if has_few && settings.ours.workers.is_none() => (clients, found),
            LuaIsolation::Worker | LuaIsolation::Auto => (shared, None),
        })
    }

    /// A command that each client runs separately.
    fn run_parallel(&mut self, options: SysbenchOptions) -> u8 {
        let threads = options.settings().threads;
        self.log.text(MessageLevel::Notice, lines::INITIALIZING_THREADS);
        let crew = self.crew(options, threads, "parallel_command");
        let (news_out, news) = std::sync::mpsc::channel();
        let mut started = 0;
        for group in groups(threads, threads) {
            let (crew, news_out) = (crew.clone(), news_out.clone());
            let (_go, go) = std::sync::mpsc::channel();
            let body = move || work(&crew, &group, &news_out, &go);
            if let Err(error) =
                std::thread::Builder::new().name("worker".to_owned()).stack_size(stack_bytes(threads)).spawn(body)
            {
                return self.fatal(&format!("a worker thread could not be started: {error}"));
            }
            started += 1;
        }
        let mut is_interrupted = false;
        // Not before the clients have had time to connect: the session limit may equal their number.
        let mut warning = writes_at_once(&self.script).then_some(self.world.server_warning);
        while started > 0 {
            match news.recv_timeout(LOOK) {
                Ok(WorkerEvent::Failed(_, failure)) => {
                    self.fatal(&failure.line());
                }
                Ok(WorkerEvent::Ended) => started -= 1,
                Err(RecvTimeoutError::Timeout) if crew.run.server.get().is_some() => {
                    warning.take().into_iter().for_each(|warning| crew.run.warn_of_server(warning));
                }
                Ok(WorkerEvent::Ready) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if !is_interrupted && self.world.interrupt.hear() {
                is_interrupted = true;
                crew.run.control.abandon();
            }
        }
        if is_interrupted { INTERRUPTED } else { GOOD }
    }

    fn run_load(&mut self, options: SysbenchOptions) -> Result<u8, ProgramExit> {
        let view = self.open_view(&options)?;
        if self.host.state.has(&self.client, "init") {
            let called = call_function(&mut self.host, 0, &self.client, "init");
            called.map_err(|failure| self.fatal(&failure.line()))?;
        }
        if !self.host.state.has(&self.client, "event") {
            return Err(self.fatal(&format!("cannot find the event() function in {}", self.script.base_name())));
        }
        let (threads, found) = self.threads(&options)?;
        let crew = self.crew(options, threads, RUN);
        if let Some(found) = found.filter(|_| crew.run.settings.threads > CLIENTS_WITH_THREADS_MAX) {
            let text = format!("each client has a Lua state and a thread of its own: the script {found}");
            if rustix::termios::isatty(rustix::stdio::stderr()) {
                write_to(OutputStream::Stderr, format!("truetps: {text}\n").as_bytes());
            }
            crew.run.note(text);
        }
        self.log.text(MessageLevel::Notice, &banner(&banner_of(&crew.run.settings)));
        let reporter = self.reporter(&crew)?;
        let load = LoadRun {
            crew,
            threads,
            main: &mut self.host,
            main_client: self.client.clone(),
            reporter,
            view,
            recording: None,
            presence: RunPresence::announce("sysbench"),
            server_warning: self.world.server_warning,
            beside: Vec::new(),
        };
        Ok(load.run())
    }

    fn open_view(&self, options: &SysbenchOptions) -> Result<Option<LiveView>, ProgramExit> {
        if !options.settings().ours.ui {
            return Ok(None);
        }
        let opened = (self.world.live_view)(&self.script.base_name());
        opened.map(Some).map_err(|problem| self.fatal(&problem))
    }

    /// The state for intermediate reports, if there are any.
    fn reporter(&self, crew: &WorkerContext) -> Result<Option<(LuaThread, Table)>, ProgramExit> {
        let settings = &crew.run.settings;
        if settings.report_interval.is_none() && settings.checkpoints.is_empty() {
            return Ok(None);
        }
        let tid = settings.threads;
        let made = make_host(&crew.run, &self.script, &self.drivers, Role::Single, tid);
        let (mut host, client) = made.map_err(|problem| self.fatal(&problem))?;
        self.lua(host.state.set_options(&crew.options))?;
        let loaded = host.run_to_end(tid, &client, "load_with_options");
        loaded.map_err(|failure| self.fatal(&failure.line()))?;
        Ok(Some((host, client)))
    }
}

/// Whether the first connection of the command is followed by its writes: true for `prepare` and a script's own
/// commands. The clients of `run` connect first, and `cleanup` and `help` add nothing to the server.
fn writes_at_once(script: &LuaScript) -> bool {
    let command = script.command.as_deref();
    command.is_some_and(|command| ![&b"run"[..], b"cleanup", b"help"].contains(&command))
}

fn make_host(
    run: &Arc<CommandRun>,
    script: &Arc<LuaScript>,
    drivers: &Arc<Drivers>,
    role: Role,
    tid: u32,
) -> Result<(LuaThread, Table), String> {
    let store = Store::new(Arc::clone(run), Arc::clone(drivers), 0, false).map_err(|error| error.to_string())?;
    let made = || -> mlua::Result<(LuaThread, Table)> {
        let state = LuaState::new(script, store, &run.log, role)?;
        let facts = state.facts(script)?;
        let client = state.client(tid, &facts)?;
        Ok((LuaThread::new(Arc::clone(run), state, 0), client))
    };
    made().map_err(|error| lua_error_text(&error))
}

/// LuaJIT's last numbered version: programs look for it in the first line. The built-in one is later, of the same
/// branch.
const LUAJIT_VERSION: &str = "2.1.0-beta3";

fn find_script(
    pass: &FirstPass,
    settings: &RunSettings,
    world: &SysbenchEnv<'_>,
    log: &MessageLog,
) -> Result<LuaScript, ProgramExit> {
    let line = pass.command_line();
    let package_path = lua::package_path(world.environment);
    let bytes = |text: &OsString| text.as_bytes().to_vec();
    let name = line.test.as_ref().map(bytes).filter(|name| name != b"-");
    let mut command = line.command.as_ref().map(bytes);
    let text_of = |name: &Vec<u8>| String::from_utf8_lossy(name).into_owned();
    let source = match &name {
        None => {
            command = None;
            let mut text = Vec::new();
            // Input that cannot be read is ignored.
            let _ = std::io::stdin().read_to_end(&mut text);
            ScriptSource::Text { name: "=stdin", text }
        }
        Some(name) if name == b"cpu" => ScriptSource::Text { name: "=cpu", text: CPU.as_bytes().to_vec() },
        Some(name) if NOT_DATABASES.contains(&&*text_of(name)) => {
            let text = format!(
                "the built-in test '{}' is not part of truetps, which measures databases; use sysbench for it",
                text_of(name)
            );
            log.text(MessageLevel::Fatal, &text);
            return Err(FAILED);
        }
        Some(name) => lua::find(name, &package_path).ok_or_else(|| {
            let text = format!("Cannot find benchmark '{}': no such built-in test, file or module", text_of(name));
            log.text(MessageLevel::Fatal, &text);
            FAILED
        })?,
    };
    let sources = LoadedSources::default();
    if let ScriptSource::Text { name, text } = &source {
        sources.add_script(name.trim_start_matches('='), text);
    }
    Ok(LuaScript {
        source,
        name: name.unwrap_or_default(),
        command,
        argv: line.argv.iter().cloned().map(OsStringExt::into_vec).collect(),
        version: pass.compat().version(),
        has_legacy: pass.compat() == SysbenchRelease::V1_0,
        package_path,
        package_cpath: lua::package_cpath(world.environment),
        memory_limit_bytes: Some(settings.ours.lua_memory_limit.map_or_else(memory_limit, |bytes| bytes as usize)),
        luajit_command: settings.luajit_cmd.clone(),
        sources: Arc::new(sources),
    })
}

/// Default memory limit of a state: half of the system's memory, so that a script that exceeds it gets a Lua error.
/// Without a limit the whole process would be killed.
fn memory_limit() -> usize {
    const LIMIT_MIN: u64 = 256 << 20;
    let may_have = rustix::process::getrlimit(rustix::process::Resource::As).current.unwrap_or(u64::MAX);
    let pages = rustix::system::sysinfo();
    let memory = u64::from(pages.mem_unit) * pages.totalram as u64;
    (memory.min(may_have) / 2).max(LIMIT_MIN) as usize
}

fn banner_of(settings: &RunSettings) -> Banner<'_> {
    Banner {
        threads: settings.threads,
        warmup_s: settings.warmup.as_secs() as u32,
        rate: settings.rate.unwrap_or(0),
        report_interval_s: settings.report_interval.map_or(0.0, |time| time.as_secs_f64()),
        checkpoints_s: &settings.checkpoints,
        debug: settings.debug,
        validate: settings.validate,
        seed: settings.rand.seed,
        forced_shutdown_s: settings.forced_shutdown.map(|time| time.as_secs() as u32),
    }
}
