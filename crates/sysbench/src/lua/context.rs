//! The client that is running on this thread: C functions called by scripts cannot receive it as an
//! argument.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use crate::command::{CommandRun, EventStart, NextEvent, StopReason, UNCLAIMED};
use crate::output::{MessageLevel, lines};
use crate::rand::{RandomDistributions, Xoroshiro};
use crate::sql::Store;

/// One client, as seen by C functions.
pub(crate) struct Context {
    pub(crate) run: Arc<CommandRun>,
    pub(crate) tid: u32,
    /// Index of the shard of counters that its thread writes to.
    pub(crate) share: usize,
    pub(crate) random: RefCell<Xoroshiro>,
    /// Shared by all clients of a thread.
    pub(crate) distribution: Rc<RandomDistributions>,
    /// The start that it has claimed; see `Control::next`.
    pub(crate) claimed_ns: Cell<u64>,
    /// Scheduled time of the start that C code requested; 0: none was requested.
    pub(crate) start_ns: Cell<u64>,
    /// When its last event ended.
    pub(crate) free_since_ns: Cell<u64>,
    /// The connections of a client that has its thread to itself: no other client waits while it
    /// waits for one. `None`: other clients wait for the thread.
    pub(crate) own_store: Option<Rc<RefCell<Store>>>,
    /// Whether it was resumed and has started no event since.
    pub(crate) has_turn: Cell<bool>,
}

thread_local! {
    static CURRENT: RefCell<Option<Rc<Context>>> = const { RefCell::new(None) };
}

/// The client that runs from now on; `None`: no client. Returns the client that ran before.
pub(crate) fn enter(context: Option<Rc<Context>>) -> Option<Rc<Context>> {
    CURRENT.replace(context)
}

/// Calls `f` with the running client; `None` if there is none, as in a thread that a script's
/// library started.
pub(crate) fn with<R>(f: impl FnOnce(&Context) -> R) -> Option<R> {
    CURRENT.with_borrow(|current| current.as_deref().map(f))
}

/// The answer to a client that requests its next event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventTurn {
    Stop,
    /// The event has begun.
    Go,
    /// Try again at this time.
    Wait {
        due_ns: u64,
    },
    /// Try again after the other clients of its thread have had their turn.
    Pass,
}

impl Context {
    pub(crate) fn new(
        run: Arc<CommandRun>,
        tid: u32,
        share: usize,
        distribution: Rc<RandomDistributions>,
        own_store: Option<Rc<RefCell<Store>>>,
    ) -> Self {
        let random = RefCell::new(Xoroshiro::from_seed(run.seed, tid.into()));
        Self {
            run,
            tid,
            share,
            random,
            distribution,
            claimed_ns: Cell::new(UNCLAIMED),
            start_ns: Cell::new(0),
            free_since_ns: Cell::new(0),
            own_store,
            has_turn: Cell::new(true),
        }
    }

    /// Requests the next event, which begins if it is due.
    pub(crate) fn next_event(&self) -> EventTurn {
        // A script that waits for nothing must not keep its neighbours from running.
        if self.own_store.is_none() && !self.has_turn.replace(false) {
            return EventTurn::Pass;
        }
        match self.next() {
            NextEvent::Go(event) => {
                self.begin_event(event);
                EventTurn::Go
            }
            NextEvent::Wait { due_ns } => {
                self.has_turn.set(true);
                EventTurn::Wait { due_ns }
            }
            NextEvent::Stop(_) => EventTurn::Stop,
        }
    }

    pub(crate) fn next(&self) -> NextEvent {
        self.run.usage.add_if_asked();
        let mut claimed_ns = self.claimed_ns.get();
        let next = self.run.control.next(&mut claimed_ns);
        self.claimed_ns.set(claimed_ns);
        match next {
            NextEvent::Stop(StopReason::Time) => {
                self.run.log.text(MessageLevel::Info, lines::TIME_LIMIT);
            }
            NextEvent::Stop(StopReason::Events) => {
                self.run.log.text(MessageLevel::Info, lines::EVENT_LIMIT);
            }
            _ => {}
        }
        next
    }

    pub(crate) fn begin_event(&self, event: EventStart) {
        self.run.counters.begin_event(self.share, self.tid, event, self.free_since_ns.get());
    }

    pub(crate) fn end_event(&self) {
        let now_ns = self.run.control.now_ns();
        self.run.counters.end_event(self.share, self.tid, now_ns);
        self.free_since_ns.set(now_ns);
    }
}
