//! One thread with one Lua state: it runs its clients' coroutines and waits for their servers.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use mlua::{LuaString, Table, Thread};
use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};

use super::long_turns::{HOLDS_MS_MAX, LongTurns};
use super::turn_waits::Arrivals;
use crate::command::{CommandRun, answer_was_ready};
use crate::lua::{
    self, Context, EventTurn, GO, LATER, LuaState, ProcedureFailure, STOP, ScriptRequest,
    lua_error_text,
};
use crate::output::{MessageLevel, lines};
use crate::rand::RandomDistributions;
use crate::sql::{Answer, LOOK, RequestProgress, Store};

const EVENTS_MAX: usize = 256;

/// What a client waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waiting {
    /// Its turn, or an answer that has arrived.
    Nothing,
    Connection(u32),
    /// The next event.
    Event,
    /// The other clients.
    Barrier,
    Ended,
}

struct LuaClient {
    /// `None`: the state stores it, as one of many.
    table: Option<Table>,
    thread: Thread,
    context: Rc<Context>,
    waiting: Waiting,
    turn_ended_ns: u64,
    failure: Option<ProcedureFailure>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Client(usize),
    Connection(u32),
}

pub(crate) struct LuaThread {
    clients: Vec<LuaClient>,
    ready: VecDeque<(usize, Answer)>,
    timers: BinaryHeap<Reverse<(u64, Timer)>>,
    /// Which client waits for a connection.
    waiters: Vec<usize>,
    events: Vec<epoll::Event>,
    at_barrier: usize,
    ended: usize,
    failures: Vec<(u32, ProcedureFailure)>,
    share: usize,
    long_turns: LongTurns,
    arrivals: Arrivals,
    /// The run is over: remaining work is done even if interrupted.
    pub(crate) is_at_the_end: bool,
    kept_context: RefCell<Option<Rc<Context>>>,
    distribution: Rc<RandomDistributions>,
    pub(crate) run: Arc<CommandRun>,
    store: Rc<RefCell<Store>>,
    pub(crate) state: LuaState,
}

impl LuaThread {
    pub(crate) fn new(run: Arc<CommandRun>, state: LuaState, share: usize) -> Self {
        Self {
            clients: Vec::new(),
            ready: VecDeque::new(),
            timers: BinaryHeap::new(),
            waiters: Vec::new(),
            events: Vec::with_capacity(EVENTS_MAX),
            at_barrier: 0,
            ended: 0,
            failures: Vec::new(),
            share,
            long_turns: LongTurns::default(),
            arrivals: Arrivals::default(),
            is_at_the_end: false,
            kept_context: RefCell::new(None),
            distribution: Rc::new(run.distribution()),
            run,
            store: Rc::clone(&state.store),
            state,
        }
    }

    /// Starts a procedure of `client.lua` in a client, from the next turn on.
    pub(crate) fn start(
        &mut self,
        tid: u32,
        table: Table,
        procedure: &str,
        has_neighbours: bool,
    ) -> mlua::Result<usize> {
        let thread = self.state.start(&table, procedure)?;
        let table = if has_neighbours {
            self.state.keep_client(&table)?;
            None
        } else {
            Some(table)
        };
        let context = self.context(tid, has_neighbours);
        let slot = self.clients.len();
        self.clients.push(LuaClient {
            table,
            thread,
            context,
            waiting: Waiting::Nothing,
            turn_ended_ns: 0,
            failure: None,
        });
        self.ready.push_back((slot, Answer::of(GO)));
        Ok(slot)
    }

    /// Runs a procedure of this client to its end, without other clients.
    pub(crate) fn run_to_end(
        &mut self,
        tid: u32,
        table: &Table,
        procedure: &str,
    ) -> Result<(), ProcedureFailure> {
        let started = self.start(tid, table.clone(), procedure, false);
        let slot = started.map_err(|error| ProcedureFailure::new("", lua_error_text(&error)))?;
        while self.clients[slot].waiting != Waiting::Ended {
            if !self.is_at_the_end && self.run.interrupt.hear() {
                self.end(slot, Some(ProcedureFailure::interruption()));
                break;
            }
            self.turn();
        }
        let client = self.clients.remove(slot);
        self.ended -= 1;
        self.failures.clear();
        client.failure.map_or(Ok(()), Err)
    }

    /// The context of a client. A client that is alone in its state keeps it between procedures,
    /// including its random numbers.
    fn context(&self, tid: u32, has_neighbours: bool) -> Rc<Context> {
        let mut kept = self.kept_context.borrow_mut();
        if let Some(context) = kept.as_ref().filter(|context| !has_neighbours && context.tid == tid)
        {
            return Rc::clone(context);
        }
        let context = self.new_context(tid, has_neighbours);
        *kept = Some(Rc::clone(&context));
        context
    }

    fn new_context(&self, tid: u32, has_neighbours: bool) -> Rc<Context> {
        let (run, distribution) = (Arc::clone(&self.run), Rc::clone(&self.distribution));
        let store = (!has_neighbours).then(|| Rc::clone(&self.store));
        Rc::new(Context::new(run, tid, self.share, distribution, store))
    }

    /// Calls `f` in the context of a client.
    pub(crate) fn in_the_name_of<R>(&self, tid: u32, f: impl FnOnce() -> R) -> R {
        let before = lua::enter(Some(self.new_context(tid, false)));
        let result = f();
        lua::enter(before);
        self.store.borrow_mut().release_forgotten();
        result
    }

    /// Whether all clients wait at the barrier.
    pub(crate) fn all_at_barrier(&self) -> bool {
        self.at_barrier + self.ended == self.clients.len()
    }

    pub(crate) fn all_ended(&self) -> bool {
        self.ended == self.clients.len()
    }

    /// Failures since the last call.
    pub(crate) fn take_failures(&mut self) -> Vec<(u32, ProcedureFailure)> {
        std::mem::take(&mut self.failures)
    }

    /// Lets the clients at the barrier continue, or ends them.
    pub(crate) fn open_barrier(&mut self, goes: bool) {
        let answer = Answer::of(if goes { GO } else { STOP });
        self.at_barrier = 0;
        for (slot, client) in self.clients.iter_mut().enumerate() {
            if client.waiting == Waiting::Barrier {
                client.waiting = Waiting::Nothing;
                self.ready.push_back((slot, answer));
            }
        }
    }

    /// Runs the clients that are ready, and waits if there are none.
    pub(crate) fn turn(&mut self) {
        for _ in 0..self.ready.len() {
            if let Some((slot, answer)) = self.ready.pop_front() {
                self.resume(slot, answer);
            }
        }
        self.store.borrow_mut().release_forgotten();
        if self.all_ended() {
            return;
        }
        if let [LuaClient { waiting: Waiting::Connection(handle), .. }] = self.clients[..] {
            let step = self.store.borrow_mut().wait_a_while(handle);
            self.advance(0, handle, step);
            return;
        }
        self.wait();
        self.fire_timers();
    }

    fn wait(&mut self) {
        let until_ns = self.timers.peek().map_or(u64::MAX, |Reverse((at, _))| *at);
        let began_ns = self.run.control.now_ns();
        let left = Duration::from_nanos(until_ns.saturating_sub(began_ns));
        let longest = if self.ready.is_empty() { left.min(LOOK) } else { Duration::ZERO };
        self.events.clear();
        let store = self.store.borrow();
        let Some(watched) = &store.epoll else {
            std::thread::sleep(longest);
            return;
        };
        // An interrupted wait is a wait without news.
        let timeout = if longest.is_zero() || longest == LOOK {
            timespec_of(longest)
        } else {
            // epoll's own timeout is rounded to milliseconds, by which starts would be late.
            let _ = poll(&mut [PollFd::new(watched, PollFlags::IN)], Some(&timespec_of(longest)));
            timespec_of(Duration::ZERO)
        };
        let _ = epoll::wait(watched, spare_capacity(&mut self.events), Some(&timeout));
        drop(store);
        self.arrivals.looked(began_ns, self.run.control.now_ns());
        for n in 0..self.events.len() {
            let handle = self.events[n].data.u64() as u32;
            let now_ns = self.run.control.now_ns();
            let step = self.store.borrow_mut().on_ready(handle);
            if let Some(slot) = self.waiters.get(handle as usize).copied() {
                if let (RequestProgress::Done(_), Some(client)) = (&step, self.clients.get(slot)) {
                    answer_was_ready(self.arrivals.ready_ns(client.turn_ended_ns, now_ns));
                }
                self.advance(slot, handle, step);
            }
        }
    }

    fn fire_timers(&mut self) {
        let now_ns = self.run.control.now_ns();
        while let Some(Reverse((at, timer))) = self.timers.peek().copied() {
            if at > now_ns {
                return;
            }
            self.timers.pop();
            match timer {
                Timer::Client(slot) => {
                    if self.clients.get(slot).is_some_and(|client| client.waiting == Waiting::Event)
                    {
                        self.next_event(slot);
                    }
                }
                Timer::Connection(handle) => {
                    let step = self.store.borrow_mut().on_time(handle);
                    if let Some(slot) = self.waiters.get(handle as usize).copied() {
                        self.advance(slot, handle, step);
                    }
                }
            }
        }
    }

    /// Passes a connection's progress to the client that waits for it.
    fn advance(&mut self, slot: usize, handle: u32, step: RequestProgress) {
        let Some(client) = self.clients.get_mut(slot) else { return };
        if client.waiting != Waiting::Connection(handle) {
            return;
        }
        match step {
            RequestProgress::Done(answer) => self.resume(slot, answer),
            // A single client needs no timers.
            RequestProgress::Wait if self.clients.len() > 1 => self.set_timer_of(handle),
            RequestProgress::Wait => {}
        }
    }

    /// The run has ended: wakes the clients that wait for their next event.
    pub(crate) fn end_waits(&mut self) {
        for slot in 0..self.clients.len() {
            if self.clients[slot].waiting == Waiting::Event {
                self.next_event(slot);
            }
        }
    }

    fn set_timer_of(&mut self, handle: u32) {
        let wakes_ns = self.store.borrow().wakes_ns(handle);
        if wakes_ns != u64::MAX {
            self.timers.push(Reverse((wakes_ns, Timer::Connection(handle))));
        }
    }

    /// Runs a client until it waits for something.
    fn resume(&mut self, slot: usize, mut answer: Answer) {
        loop {
            let client = &mut self.clients[slot];
            client.waiting = Waiting::Nothing;
            client.context.has_turn.set(true);
            let before = lua::enter(Some(Rc::clone(&client.context)));
            self.long_turns.begin();
            let began_ns = self.run.control.now_ns();
            let yielded = client.thread.resume::<(Option<i32>, Option<f64>, Option<LuaString>)>((
                answer.code,
                answer.value,
            ));
            client.turn_ended_ns = self.run.control.now_ns();
            let held_ns = client.turn_ended_ns.saturating_sub(began_ns);
            lua::enter(before);
            if self.long_turns.end(held_ns) && self.clients.len() > 1 {
                self.warn_of_long_turn();
            }
            match self.serve(slot, yielded) {
                Some(next) => answer = next,
                None => return,
            }
        }
    }

    fn warn_of_long_turn(&self) {
        self.run.warn_of_sharing(&format!(
            "events hold their thread for more than {HOLDS_MS_MAX} ms without a statement, and the \
             other clients of the thread wait for them (--lua-isolation=client gives each client a \
             thread)"
        ));
    }

    /// Handles a client's request. `None`: it has to wait, or has ended.
    fn serve(
        &mut self,
        slot: usize,
        yielded: mlua::Result<(Option<i32>, Option<f64>, Option<LuaString>)>,
    ) -> Option<Answer> {
        let (what, number, text) = match yielded {
            Ok(yielded) => yielded,
            Err(error) => {
                self.end(slot, Some(ProcedureFailure::new("thread_run", lua_error_text(&error))));
                return None;
            }
        };
        let handle = number.map_or(u32::MAX, |number| number as u32);
        match what.and_then(ScriptRequest::from_number) {
            Some(ScriptRequest::Ended) => {
                let failure = if handle == 1 { None } else { Some(self.failure_of(slot)) };
                self.end(slot, failure);
                None
            }
            Some(ScriptRequest::Ready) => {
                let tid = self.clients[slot].context.tid;
                self.run.log.text(MessageLevel::Debug, &lines::thread(tid, lines::INITIALIZED));
                self.clients[slot].waiting = Waiting::Barrier;
                self.at_barrier += 1;
                None
            }
            Some(ScriptRequest::NextEvent) => self.next_event_of(slot).map(Answer::of),
            Some(request) => self.start_request(slot, request, handle, text.as_ref()),
            None => {
                let problem = "attempt to yield across C-call boundary";
                self.end(slot, Some(ProcedureFailure::new("thread_run", problem)));
                None
            }
        }
    }

    fn start_request(
        &mut self,
        slot: usize,
        request: ScriptRequest,
        handle: u32,
        text: Option<&LuaString>,
    ) -> Option<Answer> {
        let tid = self.clients[slot].context.tid;
        let begun = lua::begin_request(&mut self.store.borrow_mut(), request, handle, text, tid);
        let Some((connection, step)) = begun else { return Some(Answer::MISUSE) };
        match step {
            RequestProgress::Done(answer) => Some(answer),
            RequestProgress::Wait => {
                self.clients[slot].waiting = Waiting::Connection(connection);
                let at = connection as usize;
                if self.waiters.len() <= at {
                    self.waiters.resize(at + 1, usize::MAX);
                }
                self.waiters[at] = slot;
                if self.clients.len() > 1 {
                    self.set_timer_of(connection);
                }
                None
            }
        }
    }

    /// The client requests its next event. `None`: it has to wait.
    fn next_event_of(&mut self, slot: usize) -> Option<i32> {
        let client = &mut self.clients[slot];
        match client.context.next_event() {
            EventTurn::Go => Some(GO),
            EventTurn::Stop => Some(STOP),
            EventTurn::Pass => {
                self.ready.push_back((slot, Answer::of(LATER)));
                None
            }
            EventTurn::Wait { due_ns } => {
                client.waiting = Waiting::Event;
                self.timers.push(Reverse((due_ns, Timer::Client(slot))));
                None
            }
        }
    }

    fn next_event(&mut self, slot: usize) {
        if let Some(code) = self.next_event_of(slot) {
            self.resume(slot, Answer::of(code));
        }
    }

    fn failure_of(&self, slot: usize) -> ProcedureFailure {
        let client = &self.clients[slot];
        let table =
            client.table.clone().or_else(|| self.state.kept_client(client.context.tid).ok());
        let [function, problem] = ["failed_in", "problem"].map(|name| {
            let text = table.as_ref().and_then(|table| table.get::<LuaString>(name).ok());
            text.map(|text| text.to_string_lossy()).unwrap_or_default()
        });
        ProcedureFailure::new(&function, problem)
    }

    fn end(&mut self, slot: usize, failure: Option<ProcedureFailure>) {
        let client = &mut self.clients[slot];
        client.waiting = Waiting::Ended;
        client.failure.clone_from(&failure);
        self.ended += 1;
        self.run.control.client_ended();
        self.run.counters.drop_event(self.share, client.context.tid, failure.is_some());
        if let Some(failure) = failure {
            self.failures.push((client.context.tid, failure));
        }
    }
}

fn timespec_of(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() }
}
