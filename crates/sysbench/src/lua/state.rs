//! One Lua state: the environment of scripts, and the path of a script's request to the runtime.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use mlua::{
    FromLuaMulti, Function, IntoLuaMulti, Lua, LuaOptions, LuaString, StdLib, Table, Thread, Value,
};

use super::declared::read_declared;
use super::failure::ProcedureFailure;
use super::request::{GO, LATE, NOT_SENT, STOP, ScriptRequest, answer_now};
use super::script::{LuaScript, ScriptSource};
use super::sources::LoadedSources;
use super::symbols;
use crate::command::CommandRun;
use crate::options::{self, LuaIsolation, OptionSpec, SysbenchOptions};
use crate::output::{MessageLevel, MessageLog};
use crate::sql::{Answer, Binds, Store};

const PRELUDE: &str = include_str!("prelude/prelude.lua");
/// The parts of the prelude, with the names that they have in messages.
const PARTS: [(&str, &str, &str); 12] = [
    ("request", "sysbench.lua", include_str!("prelude/request.lua")),
    ("layers", "sysbench.lua", include_str!("prelude/layers.lua")),
    ("chunks", "sysbench.lua", include_str!("prelude/chunks.lua")),
    ("rand", "sysbench.rand.lua", include_str!("prelude/rand.lua")),
    ("histogram", "sysbench.histogram.lua", include_str!("prelude/histogram.lua")),
    ("cmdline", "sysbench.cmdline.lua", include_str!("prelude/cmdline.lua")),
    ("reports", "sysbench.lua", include_str!("prelude/reports.lua")),
    ("sql", "sysbench.sql.lua", include_str!("prelude/sql.lua")),
    ("environment", "sysbench.lua", include_str!("prelude/environment.lua")),
    ("legacy", "sysbench.lua", include_str!("prelude/legacy.lua")),
    ("client", "sysbench.lua", include_str!("prelude/client.lua")),
    ("turns", "sysbench.lua", include_str!("prelude/turns.lua")),
];
const INSPECTION: &str = include_str!("prelude/inspection.lua");
const DECLARATIONS: &str = include_str!("prelude/declarations.h");

/// Heap size at which a collection begins, in percent of the live data. Thousands of clients are
/// prepared with a small value, which takes a little longer and leaves less fragmentation.
const PAUSE_IN_PREPARATION: i32 = 125;
/// Far below LuaJIT's default of 200: most of the heap is thousands of clients, which no collection
/// shrinks.
const PAUSE_IN_EVENTS: i32 = 120;
/// Twice LuaJIT's default: a slow collection lets the heap grow in between.
const STEPS_IN_EVENTS: i32 = 400;

/// The purpose of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The state of the main thread, which inspects the script.
    Main,
    /// It has one client.
    Single,
    /// It has several.
    Shared,
}

/// Why each client gets a state and a thread of its own: what the script does, as a sentence
/// without its subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IsolationReason {
    pub(crate) text: String,
    /// `false`: it may be harmless.
    pub(crate) is_certain: bool,
}

/// Receives the declared options: used only by the main state.
pub(crate) type DeclarationLog = Rc<RefCell<Vec<OptionSpec>>>;

// Fields are dropped in this order: the state before the store, whose structures its finalisers
// read.
pub(crate) struct LuaState {
    api: Table,
    runtime: Table,
    new_client: Function,
    start: Function,
    role: Role,
    pub(crate) lua: Lua,
    pub(crate) declared: DeclarationLog,
    findings: Rc<RefCell<Option<String>>>,
    pub(crate) store: Rc<RefCell<Store>>,
}

impl LuaState {
    /// A state with the complete environment of scripts; the script is not loaded yet.
    #[expect(unsafe_code, reason = "scripts use ffi and debug, which mlua calls unsafe")]
    pub(crate) fn new(
        script: &LuaScript,
        store: Store,
        log: &Arc<MessageLog>,
        role: Role,
    ) -> mlua::Result<Self> {
        symbols::keep();
        // `catch_rust_panics` leaves LuaJIT's pcall unchanged: clients yield through it.
        // SAFETY: scripts are the user's own programs, like any other program that the user runs.
        let lua =
            unsafe { Lua::unsafe_new_with(StdLib::ALL, LuaOptions::new().catch_rust_panics(true)) };
        lua.set_memory_limit(script.memory_limit_bytes)?;
        if !script.luajit_command.is_empty() {
            run_luajit_command(&lua, &script.luajit_command)?;
        }
        if role == Role::Shared {
            lua.gc_set_mode(mlua::state::GcMode::Incremental(
                mlua::state::GcIncParams::default().pause(PAUSE_IN_PREPARATION),
            ));
        }
        let run = Arc::clone(&store.run);
        let store = Rc::new(RefCell::new(store));
        let (declared, findings) = (DeclarationLog::default(), Rc::default());
        let runtime = runtime_table(&lua, script, role)?;
        add_functions(&lua, &runtime, &store)?;
        add_sources(&lua, &runtime, &script.sources)?;
        add_declarations(&lua, &runtime, &declared, log)?;
        add_findings(&lua, &runtime, &findings, (role == Role::Shared).then_some(&run))?;
        let part = lua.create_function(load_part)?;
        let api: Table = lua.load(PRELUDE).set_name("sysbench.lua").call((&runtime, part))?;
        let (new_client, start) = (api.get("new")?, api.get("start")?);
        Ok(Self { api, runtime, new_client, start, role, lua, declared, findings, store })
    }

    /// A client's globals; the script has not run yet.
    pub(crate) fn client(&self, tid: u32, facts: &Table) -> mlua::Result<Table> {
        self.new_client.call((tid, facts))
    }

    /// A coroutine that runs a procedure of `client.lua`.
    pub(crate) fn start(&self, client: &Table, procedure: &str) -> mlua::Result<Thread> {
        self.start.call((client, procedure))
    }

    /// Facts that scripts can read about their environment.
    pub(crate) fn facts(&self, script: &LuaScript) -> mlua::Result<Table> {
        let facts = self.lua.create_table()?;
        facts.set("version", script.version)?;
        facts.set("version_string", format!("sysbench {}", script.version))?;
        facts.set("script_path", self.lua.create_string(&script.name)?)?;
        facts.set(
            "command",
            script.command.as_deref().map(|text| self.lua.create_string(text)).transpose()?,
        )?;
        let argv = self.lua.create_table()?;
        for (n, text) in script.argv.iter().enumerate() {
            argv.raw_set(n, self.lua.create_string(text)?)?;
        }
        facts.set("argv", argv)?;
        facts.set("has_legacy", script.has_legacy)?;
        match &script.source {
            ScriptSource::File(path) => facts.set("path", self.lua.create_string(path)?)?,
            ScriptSource::Module(name) => facts.set("module", self.lua.create_string(name)?)?,
            ScriptSource::Text { name, text } => {
                facts.set("source_name", *name)?;
                facts.set("source", self.lua.create_string(text)?)?;
            }
        }
        Ok(facts)
    }

    /// Values of all options, which clients get as `sysbench.opt` when the script's body has run.
    pub(crate) fn set_options(&self, options: &SysbenchOptions) -> mlua::Result<()> {
        let table = self.lua.create_table()?;
        for (name, value) in options.export() {
            let name = self.lua.create_string(name)?;
            match &*value {
                options::OptionValue::Bool(value) => table.raw_set(name, *value)?,
                options::OptionValue::Number(value) => table.raw_set(name, *value)?,
                options::OptionValue::Text(text) => {
                    table.raw_set(name, self.lua.create_string(text)?)?;
                }
                options::OptionValue::List(list) => {
                    let texts = list
                        .iter()
                        .map(|text| self.lua.create_string(text))
                        .collect::<mlua::Result<Vec<_>>>()?;
                    table.raw_set(name, texts)?;
                }
                options::OptionValue::Nil => {}
            }
        }
        self.runtime.set("options", table)?;
        self.runtime.set("percentile", options.settings.percentile.unwrap_or(0))
    }

    /// Calls a hook of reports with its figures.
    ///
    /// # Errors
    ///
    /// The script's error, as text.
    pub(crate) fn call_hook(&self, hook: &Function, stat: Table) -> mlua::Result<Option<String>> {
        self.api.get::<Function>("call_hook")?.call((hook, stat))
    }

    /// Stores this client in the state: there are too many for one handle each.
    pub(crate) fn keep_client(&self, client: &Table) -> mlua::Result<()> {
        self.api.get::<Function>("keep")?.call(client)
    }

    /// A client stored in the state.
    pub(crate) fn kept_client(&self, tid: u32) -> mlua::Result<Table> {
        self.api.get::<Function>("of")?.call(tid)
    }

    /// Gives one client its options now.
    pub(crate) fn show_options(&self, client: &Table) -> mlua::Result<()> {
        self.api.get::<Function>("set_options")?.call(client)
    }

    /// Whether the script has a global function of this name.
    pub(crate) fn has(&self, client: &Table, name: &str) -> bool {
        self.api.get::<Function>("has").and_then(|has| has.call((client, name))).unwrap_or(false)
    }

    /// A hook of the script's.
    pub(crate) fn hook(&self, client: &Table, name: &str) -> Option<Function> {
        self.api.get::<Function>("hook").and_then(|hook| hook.call((client, name))).ok()
    }

    /// The clients are ready. Garbage of their preparation is collected now, so that no collection
    /// of it falls into the events.
    pub(crate) fn end_of_preparation(&self) {
        // Errors in a script's finalisers are ignored, as in sysbench.
        let _ = self.lua.gc_collect();
        // LuaJIT's defaults suit the heap of one client: it is small, and most of it is collected.
        if self.role == Role::Shared {
            self.lua.gc_set_mode(mlua::state::GcMode::Incremental(
                mlua::state::GcIncParams::default()
                    .pause(PAUSE_IN_EVENTS)
                    .step_multiplier(STEPS_IN_EVENTS),
            ));
        }
    }

    /// Begins to inspect the effects of the script's body on shared tables.
    pub(crate) fn begin_inspection(&self, client: &Table) -> mlua::Result<()> {
        let inspection: Table = self.api.get("inspection")?;
        inspection.get::<Function>("begin")?.call(client.get::<Table>("environment")?)
    }

    /// Why the script's clients need separate states, or may need them.
    pub(crate) fn finding(&self, client: &Table) -> mlua::Result<Option<IsolationReason>> {
        if let Some(found) = self.findings.borrow().clone() {
            return Ok(Some(IsolationReason { text: found, is_certain: true }));
        }
        let inspection: Table = self.api.get("inspection")?;
        let (found, is_certain): (Option<LuaString>, bool) =
            inspection.get::<Function>("finding")?.call(client)?;
        Ok(found.map(|text| IsolationReason { text: text.to_string_lossy(), is_certain }))
    }
}

/// `luajit -jX`: `on`, `off`, and the names of modules of `jit.*` with what they are started with.
fn run_luajit_command(lua: &Lua, command: &[u8]) -> mlua::Result<()> {
    const RUN: &str = "local command = ...
        local name, arguments = command:match('^([^=]*)=?(.*)$')
        if type(jit[name]) == 'function' then return jit[name]() end
        local module = require('jit.' .. name)
        local list = {}
        for word in arguments:gmatch('[^,]+') do list[#list + 1] = word end
        return module.start(unpack(list))";
    lua.load(RUN).set_name("sysbench.lua").call(lua.create_string(command)?)
}

fn load_part(lua: &Lua, (name, arguments): (String, mlua::Variadic<Value>)) -> mlua::Result<Value> {
    if name == "declarations" {
        return Ok(Value::String(lua.create_string(DECLARATIONS)?));
    }
    let found = PARTS.iter().find(|(part, ..)| *part == name);
    let (chunk, text) =
        found.map_or(("sysbench.lua", INSPECTION), |(_, chunk, text)| (*chunk, *text));
    lua.load(text).set_name(chunk).call(arguments)
}

fn runtime_table(lua: &Lua, script: &LuaScript, role: Role) -> mlua::Result<Table> {
    let runtime = lua.create_table()?;
    runtime.set("is_shared", role == Role::Shared)?;
    runtime.set("has_legacy", script.has_legacy)?;
    runtime.set("inspects", role == Role::Main)?;
    runtime.set("package_path", lua.create_string(&script.package_path)?)?;
    runtime.set("package_cpath", lua.create_string(&script.package_cpath)?)?;
    runtime.set("percentile", 95)?;
    runtime.set("first_request", ScriptRequest::FIRST)?;
    runtime.set("last_request", ScriptRequest::LAST)?;
    let requests = ScriptRequest::ALL.map(|(name, request)| (name, request as i32));
    runtime.set("requests", lua.create_table_from(requests)?)?;
    let answers = [
        ("RESULT", Answer::RESULT.code),
        ("NONE", Answer::NONE.code),
        ("FAILED", Answer::FAILED.code),
        ("CLOSED", Answer::CLOSED.code),
        ("NOT_SENT", NOT_SENT),
        ("LATE", LATE),
        ("STOP", STOP),
        ("GO", GO),
    ];
    runtime.set("answers", lua.create_table_from(answers)?)?;
    Ok(runtime)
}

type SharedStore = Rc<RefCell<Store>>;

/// The store, for one call. A finaliser of a script may run while it is in use.
fn free(store: &SharedStore) -> mlua::Result<std::cell::RefMut<'_, Store>> {
    store
        .try_borrow_mut()
        .map_err(|_| mlua::Error::runtime("the database is in use: not inside of a finaliser"))
}

/// Adds a function that uses the store.
fn add<A: FromLuaMulti, R: IntoLuaMulti>(
    (lua, runtime, store): (&Lua, &Table, &SharedStore),
    name: &str,
    call: impl Fn(&Lua, &mut Store, A) -> mlua::Result<R> + 'static,
) -> mlua::Result<()> {
    let store = Rc::clone(store);
    add_plain((lua, runtime), name, move |lua, arguments| call(lua, &mut *free(&store)?, arguments))
}

/// Adds a function; one that needs the store brings it along.
fn add_plain<A: FromLuaMulti, R: IntoLuaMulti>(
    (lua, runtime): (&Lua, &Table),
    name: &str,
    call: impl Fn(&Lua, A) -> mlua::Result<R> + 'static,
) -> mlua::Result<()> {
    runtime.set(name, lua.create_function(call)?)
}

fn add_functions(lua: &Lua, runtime: &Table, store: &SharedStore) -> mlua::Result<()> {
    let to = (lua, runtime, store);
    add(to, "disconnect", |_, store, handle| Ok(store.disconnect(handle)))?;
    add(to, "more_results", |_, store, handle| Ok(store.has_more_results(handle)))?;
    add(to, "free_result", |_, store, handle| Ok(store.free_result(handle)))?;
    add(to, "fetch_row", fetch_row)?;
    add(to, "close_statement", |_, store, number| Ok(store.close_statement(number)))?;
    add(to, "driver", |_, store, name: Option<LuaString>| {
        Ok(store.driver(name.map(|name| name.to_string_lossy()).as_deref()))
    })?;
    add(to, "bind", |_, store, arguments| Ok(i32::from(!bind(store, arguments))))?;
    add(to, "bulk_begin", |_, store, (handle, head): (u32, LuaString)| {
        store.bulk_begin(handle, &head.as_bytes());
        Ok(())
    })?;
    add(to, "bulk_row", |_, store, (handle, row): (u32, LuaString)| {
        Ok(store.bulk_row(handle, &row.as_bytes()))
    })?;
    add(to, "bulk_end", |_, store, handle| Ok(store.bulk_end(handle)))?;
    let store = Rc::clone(store);
    add_plain((lua, runtime), "answer_now", move |_, (what, handle, text): AnswerArguments| {
        let answer = answer_now(&store, what, handle, text.as_ref());
        Ok((answer.code, answer.value))
    })
}

type AnswerArguments = (i32, u32, Option<LuaString>);

type TextAndOption = (LuaString, Option<LuaString>);

/// `read_source(path, name)`: the text of a file, or nil and the error; `note_module(name, path)`.
fn add_sources(lua: &Lua, runtime: &Table, sources: &Arc<LoadedSources>) -> mlua::Result<()> {
    let (read, noted) = (Arc::clone(sources), Arc::clone(sources));
    add_plain((lua, runtime), "read_source", move |lua, (path, name): TextAndOption| {
        let name = name.as_ref().map(LuaString::as_bytes);
        match read.read(&path.as_bytes(), name.as_deref()) {
            Ok(text) => Ok((Some(lua.create_string(&text)?), None)),
            Err(problem) => Ok((None, Some(problem))),
        }
    })?;
    add_plain((lua, runtime), "note_module", move |_, (name, path): TextAndOption| {
        noted.add_module(&name.as_bytes(), path.as_ref().map(LuaString::as_bytes).as_deref());
        Ok(())
    })
}

#[expect(unsafe_code, reason = "the address of an array that sql.lua has made for this call")]
fn bind(store: &mut Store, (number, address, count): (u32, f64, usize)) -> bool {
    // SAFETY: `sql.lua` passes the address of an array of `count` descriptions, and keeps the
    // buffers alive as long as the statement or until it binds it again.
    let binds = unsafe { Binds::read(address as usize, count) };
    store.bind(number, binds)
}

fn fetch_row(lua: &Lua, store: &mut Store, handle: u32) -> mlua::Result<Option<Table>> {
    let row = store.next_row(handle, |columns, values| {
        let row = lua.create_table_with_capacity(columns as usize, 0)?;
        for n in 1..=columns {
            // NULL leaves a hole.
            if let Some(Some(text)) = values.next() {
                row.raw_set(n, lua.create_string(text)?)?;
            }
        }
        Ok(row)
    });
    row.transpose()
}

fn add_declarations(
    lua: &Lua,
    runtime: &Table,
    declared: &DeclarationLog,
    log: &Arc<MessageLog>,
) -> mlua::Result<()> {
    let (declared, printed, complaints) = (Rc::clone(declared), Arc::clone(log), Arc::clone(log));
    add_plain((lua, runtime), "declare", move |_, options: Table| {
        *declared.borrow_mut() = read_declared(&options)?;
        Ok(true)
    })?;
    add_plain((lua, runtime), "print_options", move |_, list: Table| {
        let declared = read_declared(&list)?;
        printed.script(&options::print_test_options(&declared.iter().collect::<Vec<_>>()));
        Ok(())
    })?;
    add_plain((lua, runtime), "complain", move |_, (function, problem): (String, LuaString)| {
        let failure = ProcedureFailure::new(&function, problem.to_string_lossy());
        complaints.text(MessageLevel::Fatal, &failure.line());
        Ok(())
    })
}

/// `shared_by`: the run of a state that clients already share. Findings there come too late, and
/// are only reported.
fn add_findings(
    lua: &Lua,
    runtime: &Table,
    findings: &Rc<RefCell<Option<String>>>,
    shared_by: Option<&Arc<CommandRun>>,
) -> mlua::Result<()> {
    let (found, run) = (Rc::clone(findings), shared_by.cloned());
    add_plain((lua, runtime), "finds", move |_, text: LuaString| {
        let text = text.to_string_lossy();
        match &run {
            Some(run) => tell_late(run, &text),
            None => {
                found.borrow_mut().get_or_insert(text);
            }
        }
        Ok(())
    })?;
    let found = Rc::clone(findings);
    add_plain((lua, runtime), "found", move |_, ()| Ok(found.borrow().clone()))
}

/// Reports that clients share a state although this action in the script's body would have given
/// them separate ones. A user who requested shared states gets no such note.
fn tell_late(run: &CommandRun, found: &str) {
    if run.settings.ours.lua_isolation != LuaIsolation::Auto {
        return;
    }
    let text = format!(
        "clients share Lua states, and code that was loaded after the script's body {found} \
         (--lua-isolation=client gives each client its own)"
    );
    run.warn_of_sharing(&text);
}
