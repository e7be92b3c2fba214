//! A command of a loaded script, with all options.

use std::sync::Arc;

use crate::command::CommandShared;
use crate::lua::LuaScript;
use crate::options::{RunSettings, SysbenchOptions};
use crate::run::WorkerContext;
use crate::sql::Drivers;

use super::environment::SysbenchEnv;
use super::main_state::MainState;

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

/// Whether the first connection of the command is followed by its writes: true for `prepare` and a
/// script's own commands. The clients of `run` connect first, and `cleanup` and `help` add nothing
/// to the server.
pub(super) fn writes_at_once(script: &LuaScript) -> bool {
    let command = script.command.as_deref();
    command.is_some_and(|command| ![&b"run"[..], b"cleanup", b"help"].contains(&command))
}
