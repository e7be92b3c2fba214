//! The clients' counters, which all threads can read at any time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use truetps_record::{ErrorTally, Histogram, new_histogram};

use super::sent::{KnownShapes, SentCounts, ShapeNumber};
use super::statements::StatementTimes;

/// The outcome of a statement, with the numbers of `sb_counter_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Counter {
    Other = 0,
    Read = 1,
    Write = 2,
    Event = 3,
    Error = 4,
    Reconnect = 5,
}

const COUNTERS: usize = 6;

/// Counters of one client. Only the client's own thread writes; all may read.
#[derive(Debug, Default)]
pub(crate) struct ClientCounters {
    counters: [AtomicU64; COUNTERS],
    /// Time inside of events, in nanoseconds.
    busy_ns: AtomicU64,
    /// Shortest and longest event, in nanoseconds; 0: there was none.
    min_ns: AtomicU64,
    max_ns: AtomicU64,
    /// Actual or scheduled start of the running event; 0: none runs.
    event_start_ns: AtomicU64,
    /// Events that ended with the failure of their client.
    failed: AtomicU64,
    /// Events that ended without failure, and are not counted as events.
    given_up: AtomicU64,
}

impl ClientCounters {
    pub(crate) fn count(&self, counter: Counter, n: u64) {
        bump(&self.counters[counter as usize], n);
    }

    /// Adds to a counter by its number in C; unknown numbers are ignored.
    pub(crate) fn count_number(&self, number: i32, n: u64) {
        if let Some(counter) = usize::try_from(number).ok().and_then(|number| self.counters.get(number)) {
            bump(counter, n);
        }
    }

    pub(crate) fn value(&self, number: i32) -> u64 {
        let counter = usize::try_from(number).ok().and_then(|number| self.counters.get(number));
        counter.map_or(0, |counter| counter.load(Ordering::Relaxed))
    }

    pub(crate) fn begin_event(&self, start_ns: u64) {
        self.event_start_ns.store(start_ns.max(1), Ordering::Relaxed);
    }

    /// Ends the running event; returns its length in nanoseconds. `None` if none runs.
    pub(crate) fn end_event(&self, now_ns: u64) -> Option<u64> {
        let start_ns = self.event_start_ns.load(Ordering::Relaxed);
        if start_ns == 0 {
            return None;
        }
        self.event_start_ns.store(0, Ordering::Relaxed);
        let length_ns = now_ns.saturating_sub(start_ns);
        bump(&self.busy_ns, length_ns);
        let min_ns = self.min_ns.load(Ordering::Relaxed);
        if length_ns < min_ns || min_ns == 0 {
            self.min_ns.store(length_ns, Ordering::Relaxed);
        }
        if length_ns > self.max_ns.load(Ordering::Relaxed) {
            self.max_ns.store(length_ns, Ordering::Relaxed);
        }
        bump(&self.counters[Counter::Event as usize], 1);
        Some(length_ns)
    }

    /// The running event, if any, is not counted.
    pub(crate) fn abandon_event(&self) {
        self.end_uncounted(&self.given_up);
    }

    /// The running event, if any, ends the client.
    pub(crate) fn fail_event(&self) {
        self.end_uncounted(&self.failed);
    }

    fn end_uncounted(&self, counter: &AtomicU64) {
        if self.is_in_event() {
            self.event_start_ns.store(0, Ordering::Relaxed);
            bump(counter, 1);
        }
    }

    pub(crate) fn is_in_event(&self) -> bool {
        self.event_start_ns.load(Ordering::Relaxed) != 0
    }

    /// Shortest and longest event since [`Counters::forget_ranges`], in nanoseconds.
    pub(crate) fn range_ns(&self) -> (u64, u64) {
        (self.min_ns.load(Ordering::Relaxed), self.max_ns.load(Ordering::Relaxed))
    }

    pub(crate) fn read(&self) -> SlotCounts {
        let load = |counter: Counter| self.counters[counter as usize].load(Ordering::Relaxed);
        SlotCounts {
            other: load(Counter::Other),
            reads: load(Counter::Read),
            writes: load(Counter::Write),
            events: load(Counter::Event),
            errors: load(Counter::Error),
            reconnects: load(Counter::Reconnect),
            busy_ns: self.busy_ns.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            given_up: self.given_up.load(Ordering::Relaxed),
        }
    }
}

/// One writer: a load and a store are enough, and cheaper than a locked addition.
fn bump(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
}

/// Counters of one client, or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SlotCounts {
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    pub(crate) other: u64,
    pub(crate) events: u64,
    pub(crate) errors: u64,
    pub(crate) reconnects: u64,
    pub(crate) busy_ns: u64,
    pub(crate) failed: u64,
    pub(crate) given_up: u64,
}

impl SlotCounts {
    fn zip(self, then: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            reads: f(self.reads, then.reads),
            writes: f(self.writes, then.writes),
            other: f(self.other, then.other),
            events: f(self.events, then.events),
            errors: f(self.errors, then.errors),
            reconnects: f(self.reconnects, then.reconnects),
            busy_ns: f(self.busy_ns, then.busy_ns),
            failed: f(self.failed, then.failed),
            given_up: f(self.given_up, then.given_up),
        }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }

    /// The counts since `then`.
    pub(crate) fn since(self, then: Self) -> Self {
        self.zip(then, u64::saturating_sub)
    }
}

/// Latencies and errors of the clients of one thread, or of several, since they were last drained.
#[derive(Debug)]
pub(crate) struct LatencyShard {
    /// Lengths of events, in nanoseconds.
    pub(crate) events: Histogram,
    pub(crate) sum_ns: u64,
    pub(crate) min_ns: u64,
    pub(crate) max_ns: u64,
    pub(crate) errors: ErrorTally,
}

impl LatencyShard {
    pub(crate) fn new() -> Self {
        Self { events: new_histogram(), sum_ns: 0, min_ns: u64::MAX, max_ns: 0, errors: ErrorTally::default() }
    }

    pub(crate) fn record(&mut self, length_ns: u64) {
        self.events.saturating_record(length_ns);
        self.sum_ns += length_ns;
        self.min_ns = self.min_ns.min(length_ns);
        self.max_ns = self.max_ns.max(length_ns);
    }

    /// Adds the contents of `other`.
    pub(crate) fn add(&mut self, other: &Self) {
        self.events.add(&other.events).expect("all histograms have the same bounds");
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.errors.merge(&other.errors);
    }

    /// Moves the contents of `other` here.
    pub(crate) fn take(&mut self, other: &mut Self) {
        if other.max_ns == 0 && other.events.is_empty() && other.errors.is_empty() {
            return;
        }
        self.add(other);
        other.clear();
    }

    pub(crate) fn clear(&mut self) {
        self.events.reset();
        (self.sum_ns, self.min_ns, self.max_ns) = (0, u64::MAX, 0);
        self.errors = ErrorTally::default();
    }
}

/// The counters of all clients, and their latencies in one shard for each writing thread.
#[derive(Debug)]
pub(crate) struct Counters {
    /// One for each client, and an extra one for states that only report: it is not counted.
    slots: Box<[ClientCounters]>,
    shares: Box<[Mutex<LatencyShard>]>,
    /// Separate from the shards: each is large, and only one period needs them.
    statements: Box<[Mutex<Statements>]>,
    pub(crate) shapes: KnownShapes,
}

/// A thread's statements.
#[derive(Debug, Default)]
struct Statements {
    times: StatementTimes,
    sent: SentCounts,
}

/// A statement that was answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answered {
    /// Place in the list of statement kinds.
    pub(crate) kind: usize,
    pub(crate) shape: ShapeNumber,
    pub(crate) outcome: Counter,
    pub(crate) length_ns: u64,
}

impl Counters {
    pub(crate) fn new(clients: u32, shares: usize) -> Self {
        Self {
            slots: (0..=clients).map(|_| ClientCounters::default()).collect(),
            shares: (0..shares.max(1)).map(|_| Mutex::new(LatencyShard::new())).collect(),
            statements: (0..shares.max(1)).map(|_| Mutex::default()).collect(),
            shapes: KnownShapes::default(),
        }
    }

    /// The slot of a client; the extra slot for others.
    pub(crate) fn slot(&self, tid: u32) -> &ClientCounters {
        self.slots.get(tid as usize).unwrap_or(&self.slots[self.slots.len() - 1])
    }

    pub(crate) fn clients(&self) -> &[ClientCounters] {
        &self.slots[..self.slots.len() - 1]
    }

    /// Uses the shard of this number; several threads may share one.
    pub(crate) fn with_share<R>(&self, number: usize, f: impl FnOnce(&mut LatencyShard) -> R) -> R {
        f(&mut lock(&self.shares[number % self.shares.len()]))
    }

    /// `share`: as in [`Self::with_share`].
    pub(crate) fn record_statement(&self, share: usize, answered: &Answered) {
        let mut statements = lock(&self.statements[share % self.statements.len()]);
        statements.times.record(answered.kind, answered.length_ns);
        statements.sent.record(answered.shape, answered.outcome, answered.length_ns);
    }

    /// A statement that was not sent because of a dry run.
    pub(crate) fn record_unsent(&self, share: usize, shape: ShapeNumber) {
        lock(&self.statements[share % self.statements.len()]).sent.record(shape, Counter::Other, 0);
    }

    /// Moves the contents of all shards to the totals.
    pub(crate) fn drain(&self, into: &mut LatencyShard, times: &mut StatementTimes, sent: &mut SentCounts) {
        self.shares.iter().for_each(|share| into.take(&mut lock(share)));
        for statements in &self.statements {
            let mut statements = lock(statements);
            times.take(&mut statements.times);
            sent.take(&mut statements.sent);
        }
    }

    /// Counts statements by shape from now on, without earlier ones.
    pub(crate) fn forget_sent(&self) {
        self.statements.iter().for_each(|statements| lock(statements).sent.clear());
    }

    /// Resets the range of each client's events.
    pub(crate) fn forget_ranges(&self) {
        for slot in self.clients() {
            slot.min_ns.store(0, Ordering::Relaxed);
            slot.max_ns.store(0, Ordering::Relaxed);
        }
    }

    pub(crate) fn totals(&self) -> SlotCounts {
        self.clients().iter().fold(SlotCounts::default(), |sum, slot| sum.plus(slot.read()))
    }

    pub(crate) fn events_running(&self) -> u64 {
        self.clients().iter().filter(|slot| slot.is_in_event()).count() as u64
    }
}

fn lock<T>(share: &Mutex<T>) -> MutexGuard<'_, T> {
    share.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_counted_once() {
        let board = Counters::new(2, 1);
        let slot = board.slot(1);
        slot.begin_event(100);
        assert_eq!(board.events_running(), 1);
        assert_eq!(slot.end_event(150), Some(50));
        assert_eq!(slot.end_event(160), None);
        slot.begin_event(200);
        slot.abandon_event();
        slot.count(Counter::Write, 1);
        slot.count_number(77, 1);
        let counts = board.totals();
        assert_eq!((counts.events, counts.writes, counts.busy_ns), (1, 1, 50));
        slot.abandon_event();
        slot.fail_event();
        slot.begin_event(300);
        slot.fail_event();
        let counts = board.totals();
        assert_eq!((counts.given_up, counts.failed), (1, 1), "of events that ran");
        // A state that is no client has a slot that is not added up.
        board.slot(2).count(Counter::Read, 5);
        board.slot(99).count(Counter::Read, 5);
        assert_eq!(board.totals().reads, 0);
    }

    #[test]
    fn what_is_taken_away_is_gone() {
        let board = Counters::new(1, 2);
        board.with_share(0, |share| share.record(1_000_000));
        let answered = Answered { kind: 0, shape: ShapeNumber::default(), outcome: Counter::Read, length_ns: 5_000 };
        board.record_statement(3, &answered);
        let (mut total, mut statements, mut sent) =
            (LatencyShard::new(), StatementTimes::default(), SentCounts::default());
        board.drain(&mut total, &mut statements, &mut sent);
        board.drain(&mut total, &mut statements, &mut sent);
        assert_eq!(sent.record_of(&board.shapes).left_out.map(|left_out| left_out.reads), Some(1));
        assert_eq!((total.events.len(), total.sum_ns), (1, 1_000_000));
        assert_eq!(statements.iter().map(|(name, h)| (name, h.len())).collect::<Vec<_>>(), [("select", 1)]);
    }
}
