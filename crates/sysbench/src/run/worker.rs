//! The threads of a run: each makes its state, prepares its clients, and runs their events.

use std::io;
use std::num::NonZero;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use truetps_record::Part;

use super::LuaThread;
use crate::command::CommandRun;
use crate::lua::{LuaScript, LuaState, ProcedureFailure, Role, lua_error_text};
use crate::options::SysbenchOptions;
use crate::output::{MessageLevel, lines};
use crate::sql::{Drivers, Store, files_advice};

/// The procedure of `client.lua` that runs events.
pub(crate) const RUN: &str = "run";

/// Data that all threads receive.
#[derive(Clone)]
pub(crate) struct WorkerContext {
    pub(crate) run: Arc<CommandRun>,
    pub(crate) script: Arc<LuaScript>,
    pub(crate) options: Arc<SysbenchOptions>,
    pub(crate) drivers: Arc<Drivers>,
    pub(crate) threads: u32,
    /// The cores of this host.
    pub(crate) cores: u32,
    /// [`RUN`], or `parallel_command`.
    pub(crate) procedure: &'static str,
}

impl WorkerContext {
    /// The number of a state that only reports: above the numbers of all clients.
    pub(crate) fn reporter_tid(&self) -> u32 {
        self.options.settings.threads.next_multiple_of(self.run.settings.ours.part.of)
    }
}

/// An event that a worker reports to its starter.
#[derive(Debug)]
pub(crate) enum WorkerEvent {
    /// All its clients are ready for events.
    Ready,
    /// A client failed; `None`: the thread failed before it had any client.
    Failed(Option<u32>, ProcedureFailure),
    /// The thread has ended.
    Ended,
}

/// The clients of one thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ThreadClients {
    pub(crate) number: usize,
    pub(crate) tids: Vec<u32>,
}

/// How the clients of a part are spread over threads: in turn. Their numbers are those among the
/// clients of all parts.
pub(crate) fn groups(part: Part, clients: u32, threads: u32) -> Vec<ThreadClients> {
    let mut groups = Vec::new();
    for number in 0..threads {
        let own = (0..clients).filter(|client| client % threads == number);
        let tids = own.map(|client| part.worker(client as usize) as u32).collect();
        groups.push(ThreadClients { number: number as usize, tids });
    }
    groups
}

/// Address space of a thread; only used pages take memory. Scripts may recurse through Lua's C
/// functions such as gsub, and should reach Lua's own limit before the end of the stack; with very
/// many threads, and where the address space is limited (`ulimit -v`), each gets less.
fn stack_bytes(threads: u32) -> usize {
    const FEW: u32 = 64;
    /// Enough for all recursion that Lua allows.
    const LARGE_BYTES: usize = 96 << 20;
    let is_limited = rustix::process::getrlimit(rustix::process::Resource::As).current.is_some();
    if threads <= FEW && !is_limited { LARGE_BYTES } else { 8 << 20 }
}

/// Starts one of so many threads. The system refuses one for a moment where the address space is
/// limited and another thread, which has just begun, reserves a large part of it.
pub(crate) fn start_thread<T>(
    name: &str,
    threads: u32,
    mut start: impl FnMut(Builder) -> io::Result<T>,
) -> io::Result<T> {
    const TRIES: u32 = 20;
    const PAUSE: Duration = Duration::from_millis(10);
    let mut tries = 0;
    loop {
        tries += 1;
        match start(Builder::new().name(name.to_owned()).stack_size(stack_bytes(threads))) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && tries < TRIES => {
                std::thread::sleep(PAUSE);
            }
            started => return started,
        }
    }
}

/// Starts a thread. `go` says whether events may begin; if it is closed, they may not.
///
/// # Errors
///
/// The message for the user.
pub(crate) fn start(
    context: &WorkerContext,
    group: ThreadClients,
    news: &Sender<WorkerEvent>,
    go: Receiver<bool>,
) -> Result<(), String> {
    // A thread that does not start leaves them to the next try.
    let own = Arc::new(Mutex::new(Some((context.clone(), group, news.clone(), go))));
    let started = start_thread("worker", context.threads, |builder| {
        let own = Arc::clone(&own);
        builder.spawn(move || {
            let taken = own.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some((context, group, news, go)) = taken {
                work(&context, &group, &news, &go);
            }
        })
    });
    started.map(drop).map_err(|error| format!("a worker thread could not be started: {error}"))
}

/// The life of a thread.
fn work(
    context: &WorkerContext,
    group: &ThreadClients,
    news: &Sender<WorkerEvent>,
    go: &Receiver<bool>,
) {
    let _last_words = LastWords(news);
    // The receiver is gone only if the run is over.
    let tell = |what| drop(news.send(what));
    context.run.usage.enter(group.number);
    if context.run.control.has_pace() {
        // Otherwise each start is late by the 50 us that the kernel may add to a wait, and they
        // count in its latency.
        let _ = rustix::thread::set_current_timer_slack(NonZero::new(1));
    }
    match prepare(context, group) {
        Ok(mut lua_thread) => live(context, &mut lua_thread, &tell, go),
        Err(problem) => tell(WorkerEvent::Failed(None, ProcedureFailure::new("", problem))),
    }
    context.run.usage.leave();
}

/// Reports the end of the thread, on any path: the main thread waits for it.
struct LastWords<'a>(&'a Sender<WorkerEvent>);

impl Drop for LastWords<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let failure =
                ProcedureFailure::new("", "a worker thread panicked: this is a bug in truetps");
            let _ = self.0.send(WorkerEvent::Failed(None, failure));
        }
        let _ = self.0.send(WorkerEvent::Ended);
    }
}

fn prepare(context: &WorkerContext, group: &ThreadClients) -> Result<LuaThread, String> {
    let is_shared = group.tids.len() > 1;
    let store =
        Store::new(Arc::clone(&context.run), Arc::clone(&context.drivers), group.number, is_shared)
            .map_err(|error| {
                format!(
                    "connections cannot be watched: {error}; {}",
                    files_advice(context.run.settings.threads)
                )
            })?;
    let role = if is_shared { Role::Shared } else { Role::Single };
    prepare_clients(context, group, store, role).map_err(|error| lua_error_text(&error))
}

fn prepare_clients(
    context: &WorkerContext,
    group: &ThreadClients,
    store: Store,
    role: Role,
) -> mlua::Result<LuaThread> {
    let state = LuaState::new(&context.script, store, &context.run.log, role)?;
    state.set_options(&context.options)?;
    let facts = state.facts(&context.script)?;
    let mut lua_thread = LuaThread::new(Arc::clone(&context.run), state, group.number);
    for tid in &group.tids {
        let client = lua_thread.state.client(*tid, &facts)?;
        if context.procedure == "parallel_command" {
            client.set(
                "called",
                lua_thread
                    .state
                    .lua
                    .create_string(context.script.command.as_deref().unwrap_or_default())?,
            )?;
        }
        if context.procedure == RUN {
            context.run.log.text(MessageLevel::Debug, &lines::thread(*tid, lines::STARTED));
        }
        lua_thread.start(*tid, client, context.procedure, role == Role::Shared)?;
    }
    Ok(lua_thread)
}

fn live(
    context: &WorkerContext,
    lua_thread: &mut LuaThread,
    tell: &dyn Fn(WorkerEvent),
    go: &Receiver<bool>,
) {
    let control = &context.run.control;
    let (mut is_ready, mut knows_the_end) = (false, false);
    while !lua_thread.all_ended() && !control.is_abandoned() {
        lua_thread.turn();
        if control.has_ended() && !knows_the_end {
            knows_the_end = true;
            lua_thread.end_waits();
        }
        context.run.usage.add_if_asked();
        for (tid, failure) in lua_thread.take_failures() {
            control.end();
            tell(WorkerEvent::Failed(Some(tid), failure));
        }
        if !is_ready && lua_thread.all_at_barrier() && !lua_thread.all_ended() {
            is_ready = true;
            lua_thread.state.end_of_preparation();
            tell(WorkerEvent::Ready);
            let goes = go.recv().unwrap_or(false);
            if goes {
                control.start_together(context.threads);
            }
            lua_thread.open_barrier(goes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_is_refused_for_a_moment_is_started() {
        let mut asked = 0;
        let started = start_thread("x", 1, |_| {
            asked += 1;
            if asked < 3 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(asked) }
        });
        assert_eq!(started.unwrap(), 3);
        let refused = start_thread("x", 1, |_| -> io::Result<()> {
            Err(io::ErrorKind::PermissionDenied.into())
        });
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        let always =
            start_thread("x", 1, |_| -> io::Result<()> { Err(io::ErrorKind::WouldBlock.into()) });
        assert!(always.is_err(), "the wait is bounded");
    }

    #[test]
    fn clients_are_spread_evenly() {
        let spread: Vec<Vec<u32>> =
            groups(Part::WHOLE, 5, 2).into_iter().map(|group| group.tids).collect();
        assert_eq!(spread, [vec![0, 2, 4], vec![1, 3]]);
        assert_eq!(groups(Part::WHOLE, 1, 1)[0].tids, [0]);
        assert_eq!(groups(Part { index: 1, of: 3 }, 2, 1)[0].tids, [1, 4]);
    }
}
