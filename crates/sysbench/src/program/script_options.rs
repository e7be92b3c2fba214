//! From the script's body to the values of all options: a script declares options of its own.

use std::sync::Arc;

use crate::command::CommandShared;
use crate::exit_code::{FAILED, GOOD, ProgramExit};
use crate::lua::{LoadedSources, LuaScript, Role};
use crate::options::{self, FirstPass, OutputStream, SysbenchOptions};
use crate::output::{MessageLevel, lines};
use crate::sql::Drivers;

use super::dispatch::execute;
use super::environment::SysbenchEnv;
use super::main_state::{MainState, say_fatal};
use super::script_command::{ScriptCommand, writes_at_once};
use super::script_lookup::find_script;
use super::streams::{make_log, refuse, write_to};

/// LuaJIT's last numbered version: programs look for it in the first line. The built-in one is
/// later, of the same branch.
const LUAJIT_VERSION: &str = "2.1.0-beta3";

/// The script is loaded in the state of the main thread; its options are not known.
pub(super) struct LoadedScript<'a> {
    env: &'a SysbenchEnv<'a>,
    pass: FirstPass,
    script: Arc<LuaScript>,
    shared: CommandShared,
    drivers: Arc<Drivers>,
    main: MainState,
}

impl<'a> LoadedScript<'a> {
    pub(super) fn begin(pass: FirstPass, env: &'a SysbenchEnv<'a>) -> Result<Self, ProgramExit> {
        let Some(settings) = pass.settings.clone() else { return Err(FAILED) };
        let log = make_log(&settings, &env.interrupt);
        log.text(MessageLevel::Notice, &lines::version(pass.compat.version(), LUAJIT_VERSION));
        let script =
            find_script(&pass, &settings, env).map_err(|problem| say_fatal(&log, &problem))?;
        let script = Arc::new(script);
        let preliminary = pass.preliminary().map_err(|refusal| refuse(&refusal))?;
        let drivers = Arc::new(Drivers::new(preliminary, env.environment));
        let shared = CommandShared::new(log, env.interrupt.clone(), settings.rand.seed);
        let warning = writes_at_once(&script).then_some(env.server_warning);
        let run = shared.run_of_main_thread(settings, warning);
        let main = MainState::new(&run, &script, &drivers, Role::Main, 0)?;
        Ok(Self { env, pass, script, shared, drivers, main })
    }

    /// Runs the script's body, and then its command.
    pub(super) fn run(mut self) -> Result<u8, ProgramExit> {
        self.main.load()?;
        let declared = self.main.declared_options()?;
        let has_options = declared.is_some();
        for spec in declared.into_iter().flatten() {
            self.pass.declare(spec);
        }
        let Some(command) = self.script.command.clone() else { return Ok(GOOD) };
        let options = self.read_options(&command, has_options)?;
        self.main.set_options(&options)?;
        self.main.show_options()?;
        self.renew_drivers(&options);
        let (given, sources) = (options.given_to_script(), Arc::clone(&self.script.sources));
        let Self { env, script, shared, drivers, main, .. } = self;
        let is_cpu = script.is_cpu();
        let mut running =
            ScriptCommand { env, script, shared, drivers, main, options: Arc::new(options) };
        let status = execute(&mut running, &command);
        // The built-in test is no text that was loaded, and reads its option.
        if !is_cpu {
            tell_unread(&sources, &given);
        }
        status
    }

    /// Reads all values, and checks that the command exists.
    fn read_options(
        &self,
        command: &[u8],
        has_options: bool,
    ) -> Result<SysbenchOptions, ProgramExit> {
        self.pass.check_names(has_options).map_err(|refusal| refuse(&refusal))?;
        self.check_command(command, has_options)?;
        let options = self.pass.clone().finish(has_options).map_err(|refusal| refuse(&refusal))?;
        for notice in &options.notices {
            write_to(notice.stream, &notice.text);
        }
        Ok(options)
    }

    /// Checks that the command exists; answers `help` if the script does not.
    fn check_command(&self, command: &[u8], has_options: bool) -> Result<(), ProgramExit> {
        let name = String::from_utf8_lossy(command).into_owned();
        if self.main.cmdline_says("command_defined", &name)? || name == "run" {
            return Ok(());
        }
        let base_name = self.script.base_name();
        if !["prepare", "cleanup", "help"].contains(&&*name) {
            write_to(OutputStream::Stderr, format!("Unknown command: {name}\n").as_bytes());
            return Err(FAILED);
        }
        if self.main.has(&name) {
            return Ok(());
        }
        if name == "help" && has_options {
            write_to(
                OutputStream::Stdout,
                &options::test_help(&self.pass.registry, base_name.as_bytes()),
            );
            return Err(GOOD);
        }
        let text = format!("'{base_name}' test does not implement the '{name}' command.\n");
        write_to(OutputStream::Stderr, text.as_bytes());
        Err(FAILED)
    }

    /// The script may have taken a truetps name, or given a driver's option another default. A
    /// driver that its body has already used stays unchanged.
    fn renew_drivers(&mut self, options: &SysbenchOptions) {
        if !self.drivers.are_used() {
            self.drivers = Arc::new(Drivers::new(options.clone(), self.env.environment));
            self.main.set_drivers(&self.drivers);
        }
    }
}

fn as_typed(option: &str) -> String {
    option.replace('_', "-")
}

/// Reports options that the script does not read: sysbench accepts them silently.
fn tell_unread(sources: &LoadedSources, given: &[(String, u32)]) {
    for unread in sources.unread(given) {
        let mut text = format!("truetps: the script never reads --{}", as_typed(&unread.name));
        if let Some(near) = &unread.near {
            text.extend(["; did you mean --", &as_typed(near), "?"]);
        }
        text.push('\n');
        write_to(OutputStream::Stderr, text.as_bytes());
    }
}
