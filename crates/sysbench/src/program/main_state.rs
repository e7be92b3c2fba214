//! A Lua state of the main thread, with its client: it loads the script, and calls functions of it
//! that no worker calls.

use std::sync::Arc;

use mlua::Table;

use crate::command::CommandRun;
use crate::exit_code::{FAILED, INTERRUPTED, ProgramExit};
use crate::lua::{IsolationReason, LuaScript, LuaState, ProcedureFailure, Role, lua_error_text};
use crate::options::{OptionSpec, SysbenchOptions};
use crate::output::{MessageLevel, MessageLog};
use crate::run::{LuaThread, call_function};
use crate::sql::{Drivers, Store};

pub(super) struct MainState {
    log: Arc<MessageLog>,
    tid: u32,
    lua_thread: LuaThread,
    client: Table,
}

impl MainState {
    pub(super) fn new(
        run: &Arc<CommandRun>,
        script: &LuaScript,
        drivers: &Arc<Drivers>,
        role: Role,
        tid: u32,
    ) -> Result<Self, ProgramExit> {
        let store = Store::new(Arc::clone(run), Arc::clone(drivers), 0, false)
            .map_err(|error| say_fatal(&run.log, &error.to_string()))?;
        let (lua_thread, client) = make_host(run, script, store, role, tid)
            .map_err(|error| say_fatal(&run.log, &lua_error_text(&error)))?;
        Ok(Self { log: Arc::clone(&run.log), tid, lua_thread, client })
    }

    /// Prints the problem. Returns the exit status.
    pub(super) fn fatal(&self, problem: &str) -> ProgramExit {
        say_fatal(&self.log, problem)
    }

    /// Prints how a function of the script failed. Returns the exit status.
    fn failed(&self, failure: &ProcedureFailure) -> ProgramExit {
        let status = self.fatal(&failure.line());
        if failure.is_interruption { INTERRUPTED } else { status }
    }

    fn lua<T>(&self, result: mlua::Result<T>) -> Result<T, ProgramExit> {
        result.map_err(|error| self.fatal(&lua_error_text(&error)))
    }

    /// Runs a procedure of `client.lua`.
    pub(super) fn run_procedure(&mut self, procedure: &str) -> Result<(), ProgramExit> {
        let ran = self.lua_thread.run_to_end(self.tid, &self.client, procedure);
        ran.map_err(|failure| self.failed(&failure))
    }

    /// Runs the script's body, looking for reasons why each client needs a state of its own.
    pub(super) fn load(&mut self) -> Result<(), ProgramExit> {
        self.lua(self.lua_thread.state.begin_inspection(&self.client))?;
        self.run_procedure("load")
    }

    /// Why each client gets a state of its own; `None`: no reason was found.
    pub(super) fn finding(&self) -> Result<Option<IsolationReason>, ProgramExit> {
        self.lua(self.lua_thread.state.finding(&self.client))
    }

    /// The options that the script declares. `None`: it declares none, not even an empty table.
    pub(super) fn declared_options(&mut self) -> Result<Option<Vec<OptionSpec>>, ProgramExit> {
        let cmdline = self.cmdline()?;
        let has_options = !self.lua(cmdline.get::<mlua::Value>("options"))?.is_nil();
        let read: mlua::Function = self.lua(cmdline.get("read_cmdline_options"))?;
        read.call::<bool>(()).map_err(|error| {
            let function = "sysbench.cmdline.read_cmdline_options";
            self.fatal(&ProcedureFailure::new(function, lua_error_text(&error)).line())
        })?;
        let declared = self.lua_thread.state.declared.take();
        Ok(has_options.then_some(declared))
    }

    pub(super) fn set_options(&self, options: &SysbenchOptions) -> Result<(), ProgramExit> {
        self.lua(self.lua_thread.state.set_options(options))
    }

    /// Shows the options to the loaded script.
    pub(super) fn show_options(&self) -> Result<(), ProgramExit> {
        self.lua(self.lua_thread.state.show_options(&self.client))
    }

    pub(super) fn set_drivers(&self, drivers: &Arc<Drivers>) {
        self.lua_thread.state.store.borrow_mut().drivers = Arc::clone(drivers);
    }

    fn cmdline(&self) -> Result<Table, ProgramExit> {
        let environment: Table = self.lua(self.client.get("environment"))?;
        let sysbench: Table = self.lua(environment.get("sysbench"))?;
        self.lua(sysbench.get("cmdline"))
    }

    /// The answer of a function of `sysbench.cmdline` about a command.
    pub(super) fn cmdline_says(&self, function: &str, command: &str) -> Result<bool, ProgramExit> {
        let function: mlua::Function = self.lua(self.cmdline()?.get(function))?;
        self.lua(function.call(command))
    }

    /// Whether the script has a global function of this name.
    pub(super) fn has(&self, function: &str) -> bool {
        self.lua_thread.state.has(&self.client, function)
    }

    /// Calls a global function.
    pub(super) fn call(&mut self, function: &str) -> Result<(), ProgramExit> {
        let called = call_function(&mut self.lua_thread, self.tid, &self.client, function);
        called.map_err(|failure| self.failed(&failure))
    }

    /// Runs a command of the script's own. Returns `false` if the command did.
    pub(super) fn run_command(&mut self, command: &str) -> Result<bool, ProgramExit> {
        self.lua(self.client.set("called", command))?;
        self.run_procedure("command")?;
        let result = self.client.get::<mlua::Value>("result");
        Ok(result.is_ok_and(|result| result != mlua::Value::Boolean(false)))
    }

    pub(super) fn parts(&mut self) -> (&mut LuaThread, Table) {
        (&mut self.lua_thread, self.client.clone())
    }

    pub(super) fn into_parts(self) -> (LuaThread, Table) {
        (self.lua_thread, self.client)
    }
}

pub(super) fn say_fatal(log: &MessageLog, problem: &str) -> ProgramExit {
    log.text(MessageLevel::Fatal, problem);
    FAILED
}

fn make_host(
    run: &Arc<CommandRun>,
    script: &LuaScript,
    store: Store,
    role: Role,
    tid: u32,
) -> mlua::Result<(LuaThread, Table)> {
    let state = LuaState::new(script, store, &run.log, role)?;
    let facts = state.facts(script)?;
    let client = state.client(tid, &facts)?;
    Ok((LuaThread::new(Arc::clone(run), state, 0), client))
}
