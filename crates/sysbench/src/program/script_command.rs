//! Running the command: in the main state, in each client, or as a load.

use std::sync::Arc;

use crate::exit_code::{FAILED, GOOD, ProgramExit};
use crate::lua::LuaScript;
use crate::options::{RunSettings, SysbenchOptions};
use crate::run::{CommandShared, WorkerContext};
use crate::sql::Drivers;

use super::SysbenchEnv;
use super::load::run_load;
use super::main_state::MainState;
use super::parallel::run_parallel;

/// A command of a loaded script with all options.
pub(super) struct ScriptCommand<'a> {
    pub(super) env: &'a SysbenchEnv<'a>,
    pub(super) script: Arc<LuaScript>,
    pub(super) shared: CommandShared,
    pub(super) drivers: Arc<Drivers>,
    pub(super) main: MainState,
    pub(super) options: Arc<SysbenchOptions>,
}

impl ScriptCommand<'_> {
    pub(super) fn execute(&mut self, command: &[u8]) -> Result<u8, ProgramExit> {
        let name = String::from_utf8_lossy(command).into_owned();
        if name != "run" && !self.options.settings.ours.part.is_whole() {
            let problem = format!(
                "--part divides the load of `run`: `{name}` is for all parts, and runs once without it"
            );
            return Err(self.main.fatal(&problem));
        }
        if self.main.cmdline_says("command_defined", &name)? {
            let is_parallel = self.main.cmdline_says("command_parallel", &name)?;
            if is_parallel && self.options.settings.threads > 1 {
                return Ok(run_parallel(self));
            }
            return Ok(if self.main.run_command(&name)? { GOOD } else { FAILED });
        }
        if name == "run" { run_load(self) } else { self.call(&name) }
    }

    /// `prepare`, `cleanup`, `help`: a global function.
    fn call(&mut self, name: &str) -> Result<u8, ProgramExit> {
        match self.main.call(name) {
            // In sysbench, too, a failing help is not an error.
            Err(_) if name == "help" => Ok(GOOD),
            called => called.map(|()| GOOD),
        }
    }

    pub(super) fn workers(
        &self,
        settings: RunSettings,
        threads: u32,
        procedure: &'static str,
    ) -> WorkerContext {
        WorkerContext {
            run: self.shared.run_of_clients(settings, threads),
            script: Arc::clone(&self.script),
            options: Arc::clone(&self.options),
            drivers: Arc::clone(&self.drivers),
            threads,
            cores: self.env.cores,
            procedure,
        }
    }
}

/// Whether the first connection of the command is followed by its writes: true for `prepare` and a script's own
/// commands. The clients of `run` connect first, and `cleanup` and `help` add nothing to the server.
pub(super) fn writes_at_once(script: &LuaScript) -> bool {
    let command = script.command.as_deref();
    command.is_some_and(|command| ![&b"run"[..], b"cleanup", b"help"].contains(&command))
}
