//! The clients' counters, which all threads can read at any time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use truetps_record::ErrorClass;

use super::event_tally::{EventStart, EventTally};
use super::sent::{KnownShapes, SentCounts, ShapeNumber};
use super::statements::{Counter, StatementTimes};

/// Counters of one client. Only the client's own thread writes; all may read.
#[derive(Debug, Default)]
pub(crate) struct ClientCounters {
    counters: [AtomicU64; Counter::COUNT],
    /// Time inside of events, in nanoseconds.
    busy_ns: AtomicU64,
    /// Shortest and longest event, in nanoseconds; 0: there was none.
    min_ns: AtomicU64,
    max_ns: AtomicU64,
    /// Actual or scheduled start of the running event; 0: none runs.
    event_start_ns: AtomicU64,
    /// Its actual start.
    started_ns: AtomicU64,
}

impl ClientCounters {
    pub(crate) fn count(&self, counter: Counter, n: u64) {
        bump(&self.counters[counter as usize], n);
    }

    /// Adds to a counter by its number in C; unknown numbers are ignored.
    pub(crate) fn count_number(&self, number: i32, n: u64) {
        if let Some(counter) =
            usize::try_from(number).ok().and_then(|number| self.counters.get(number))
        {
            bump(counter, n);
        }
    }

    pub(crate) fn value(&self, number: i32) -> u64 {
        let counter = usize::try_from(number).ok().and_then(|number| self.counters.get(number));
        counter.map_or(0, |counter| counter.load(Ordering::Relaxed))
    }

    /// An event begins; returns whether none was running.
    fn begin_event(&self, event: EventStart) -> bool {
        let is_first = !self.is_in_event();
        self.event_start_ns.store(event.scheduled_ns.max(1), Ordering::Relaxed);
        self.started_ns.store(event.started_ns, Ordering::Relaxed);
        is_first
    }

    /// Takes the running event, which ends without being counted as one. `None` if none runs.
    fn take_event(&self) -> Option<EventStart> {
        let scheduled_ns = self.event_start_ns.load(Ordering::Relaxed);
        if scheduled_ns == 0 {
            return None;
        }
        self.event_start_ns.store(0, Ordering::Relaxed);
        Some(EventStart { scheduled_ns, started_ns: self.started_ns.load(Ordering::Relaxed) })
    }

    /// Ends the running event well. `None` if none runs.
    fn end_event(&self, now_ns: u64) -> Option<EventStart> {
        let event = self.take_event()?;
        let length_ns = now_ns.saturating_sub(event.scheduled_ns);
        bump(&self.busy_ns, length_ns);
        let min_ns = self.min_ns.load(Ordering::Relaxed);
        if length_ns < min_ns || min_ns == 0 {
            self.min_ns.store(length_ns, Ordering::Relaxed);
        }
        if length_ns > self.max_ns.load(Ordering::Relaxed) {
            self.max_ns.store(length_ns, Ordering::Relaxed);
        }
        bump(&self.counters[Counter::Event as usize], 1);
        Some(event)
    }

    pub(crate) fn is_in_event(&self) -> bool {
        self.event_start_ns.load(Ordering::Relaxed) != 0
    }

    /// Shortest and longest event since [`Counters::forget_ranges`], in nanoseconds.
    pub(crate) fn range_ns(&self) -> (u64, u64) {
        (self.min_ns.load(Ordering::Relaxed), self.max_ns.load(Ordering::Relaxed))
    }

    pub(crate) fn read(&self) -> SlotCounts {
        SlotCounts {
            other: self.load(Counter::Other),
            reads: self.load(Counter::Read),
            writes: self.load(Counter::Write),
            events: self.load(Counter::Event),
            errors: self.load(Counter::Error),
            reconnects: self.load(Counter::Reconnect),
            busy_ns: self.busy_ns.load(Ordering::Relaxed),
        }
    }

    fn load(&self, counter: Counter) -> u64 {
        self.counters[counter as usize].load(Ordering::Relaxed)
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

/// The counters of all clients, and a tally of events for each writing thread.
#[derive(Debug)]
pub(crate) struct Counters {
    /// One for each client, and an extra one for states that only report: it is not counted.
    slots: Box<[ClientCounters]>,
    /// Clients of all parts are numbered in turn.
    parts: u32,
    threads: usize,
    has_rate: bool,
    tallies: Box<[Mutex<EventTally>]>,
    /// Separate from the tallies: each is large, and only one period needs them.
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
    /// Clients are spread over `threads` in turn; more than `tallies_max` threads share tallies.
    pub(crate) fn new(clients: u32, threads: u32, tallies_max: u32, has_rate: bool) -> Self {
        let tallies = threads.clamp(1, tallies_max);
        Self {
            slots: (0..=clients).map(|_| ClientCounters::default()).collect(),
            parts: 1,
            threads: threads.max(1) as usize,
            has_rate,
            tallies: (0..tallies).map(|_| Mutex::new(EventTally::new(has_rate))).collect(),
            statements: (0..tallies).map(|_| Mutex::default()).collect(),
            shapes: KnownShapes::default(),
        }
    }

    /// The clients are one of so many parts of all clients.
    #[must_use]
    pub(crate) fn of_parts(self, parts: u32) -> Self {
        Self { parts, ..self }
    }

    /// The slot of a client; the extra slot for others.
    pub(crate) fn slot(&self, tid: u32) -> &ClientCounters {
        self.slots.get((tid / self.parts) as usize).unwrap_or(&self.slots[self.slots.len() - 1])
    }

    pub(crate) fn clients(&self) -> &[ClientCounters] {
        &self.slots[..self.slots.len() - 1]
    }

    /// The clients that a tally counts.
    fn clients_of(&self, tally: usize) -> impl Iterator<Item = &ClientCounters> {
        self.clients()
            .iter()
            .enumerate()
            .filter(move |(tid, _)| tid % self.threads % self.tallies.len() == tally)
            .map(|(_, slot)| slot)
    }

    /// An event of a client of this thread begins. The client was free since `free_since_ns`. Its
    /// start is counted with its end, or when the tally is drained: without a rate, no lock is
    /// taken here.
    pub(crate) fn begin_event(
        &self,
        thread: usize,
        tid: u32,
        event: EventStart,
        free_since_ns: u64,
    ) {
        let counted = if self.has_rate { event.without_lateness(free_since_ns) } else { event };
        if self.slot(tid).begin_event(counted) && self.has_rate {
            self.tally_of(thread).tally.record_delay(
                event.scheduled_ns,
                free_since_ns,
                event.started_ns,
            );
        }
    }

    /// The running event of the client, if any, ends well.
    pub(crate) fn end_event(&self, thread: usize, tid: u32, now_ns: u64) {
        // Both within the lock: see [`Self::drain_each`].
        let mut tally = self.tally_of(thread);
        if let Some(event) = self.slot(tid).end_event(now_ns) {
            tally.tally.count_start();
            tally.ok(event, now_ns);
        }
    }

    /// The running event of the client, if any, ends: with the failure of the client, or uncounted.
    pub(crate) fn drop_event(&self, thread: usize, tid: u32, has_failed: bool) {
        let tally = &mut self.tally_of(thread).tally;
        if self.slot(tid).take_event().is_some() {
            tally.count_start();
            tally.not_ok(!has_failed);
        }
    }

    /// An error of a statement.
    pub(crate) fn record_error(&self, thread: usize, class: ErrorClass, code: u16, message: &str) {
        self.tally_of(thread).tally.sums.errors.add(class, code, message);
    }

    fn tally_of(&self, thread: usize) -> MutexGuard<'_, EventTally> {
        lock(&self.tallies[thread % self.tallies.len()])
    }

    pub(crate) fn record_statement(&self, thread: usize, answered: &Answered) {
        let mut statements = lock(&self.statements[thread % self.statements.len()]);
        statements.times.record(answered.kind, answered.length_ns);
        statements.sent.record(answered.shape, answered.outcome, answered.length_ns);
    }

    /// A statement that was not sent because of a dry run.
    pub(crate) fn record_unsent(&self, thread: usize, shape: ShapeNumber) {
        lock(&self.statements[thread % self.statements.len()]).sent.record(
            shape,
            Counter::Other,
            0,
        );
    }

    /// Moves the events of all threads to the totals. What follows belongs to the interval that
    /// began at `start_ns`.
    pub(crate) fn drain_events(&self, start_ns: u64, into: &mut EventTally) {
        self.drain_each(start_ns, into, |_| {});
    }

    /// Moves them in the same way; returns the counters with exactly the events that were moved.
    pub(crate) fn drain_events_and_read(&self, start_ns: u64, into: &mut EventTally) -> SlotCounts {
        let mut counts = SlotCounts::default();
        self.drain_each(start_ns, into, |number| {
            counts = self.clients_of(number).fold(counts, |sum, slot| sum.plus(slot.read()));
        });
        counts
    }

    /// `then` is called for each tally while no event of its clients can end.
    fn drain_each(&self, start_ns: u64, into: &mut EventTally, mut then: impl FnMut(usize)) {
        for (number, tally) in self.tallies.iter().enumerate() {
            let mut tally = lock(tally);
            let running = self.clients_of(number).filter(|slot| slot.is_in_event()).count();
            tally.tally.count_running(running as u64);
            into.merge_thread(&tally);
            tally.restart(start_ns);
            then(number);
        }
    }

    /// Moves the statements of all threads to the totals.
    pub(crate) fn drain_statements(&self, times: &mut StatementTimes, sent: &mut SentCounts) {
        for statements in &self.statements {
            let mut statements = lock(statements);
            times.drain_from(&mut statements.times);
            sent.drain_from(&mut statements.sent);
        }
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

    fn event(start_ns: u64) -> EventStart {
        EventStart { scheduled_ns: start_ns, started_ns: start_ns }
    }

    fn drained(counters: &Counters) -> EventTally {
        let mut all = EventTally::new(false);
        counters.drain_events(0, &mut all);
        all
    }

    #[test]
    fn events_are_counted_once() {
        let counters = Counters::new(2, 1, 1, false);
        counters.begin_event(0, 1, event(100), 0);
        assert_eq!(counters.events_running(), 1);
        counters.end_event(0, 1, 150);
        counters.end_event(0, 1, 160);
        counters.begin_event(0, 1, event(200), 0);
        counters.begin_event(0, 1, event(210), 0);
        counters.drop_event(0, 1, false);
        counters.slot(1).count(Counter::Write, 1);
        counters.slot(1).count_number(77, 1);
        let counts = counters.totals();
        assert_eq!((counts.events, counts.writes, counts.busy_ns), (1, 1, 50));
        counters.drop_event(0, 1, false);
        counters.drop_event(0, 1, true);
        counters.begin_event(0, 1, event(300), 0);
        counters.drop_event(0, 1, true);
        let counts = drained(&counters).tally.sums.counts;
        assert_eq!(
            (counts.started, counts.ok, counts.failed, counts.ignored),
            (3, 1, 2, 1),
            "of events that ran"
        );
        counts.assert_consistent();
        // A state that is no client has a slot that is not added up.
        counters.slot(2).count(Counter::Read, 5);
        counters.slot(99).count(Counter::Read, 5);
        assert_eq!(counters.totals().reads, 0);
    }

    #[test]
    fn what_is_taken_away_is_gone() {
        let counters = Counters::new(1, 2, 2, false);
        counters.begin_event(0, 0, event(1), 0);
        counters.end_event(0, 0, 1_000_001);
        counters.begin_event(0, 0, event(2_000_000), 0);
        let answered = Answered {
            kind: 0,
            shape: ShapeNumber::default(),
            outcome: Counter::Read,
            length_ns: 5_000,
        };
        counters.record_statement(3, &answered);
        let (mut total, mut statements, mut sent) =
            (EventTally::new(false), StatementTimes::default(), SentCounts::default());
        counters.drain_events(0, &mut total);
        counters.drain_statements(&mut statements, &mut sent);
        counters.drain_statements(&mut statements, &mut sent);
        assert_eq!(
            sent.record_of(&counters.shapes).left_out.map(|left_out| left_out.reads),
            Some(1)
        );
        assert_eq!(
            (total.lengths().len(), total.sum_ns, total.tally.in_flight()),
            (1, 1_000_000, 1)
        );
        assert_eq!(
            statements.iter().map(|(name, h)| (name, h.len())).collect::<Vec<_>>(),
            [("select", 1)]
        );
        assert_eq!(drained(&counters).tally.sums.counts.carried_in, 1);
    }

    /// A free client starts 900 ns late, another one is busy until 400 ns after the start and then
    /// 100 ns late.
    #[test]
    fn lateness_of_the_generator_is_no_latency() {
        let counters = Counters::new(2, 1, 1, true);
        counters.begin_event(0, 0, EventStart { scheduled_ns: 1_000, started_ns: 1_900 }, 500);
        counters.end_event(0, 0, 2_000);
        counters.begin_event(0, 1, EventStart { scheduled_ns: 1_000, started_ns: 1_500 }, 1_400);
        counters.end_event(0, 1, 2_000);
        let mut all = EventTally::new(true);
        counters.drain_events(0, &mut all);
        assert_eq!((all.min_ns, all.max_ns), (100, 900), "400 ns of waiting and 500 of service");
    }

    #[test]
    fn each_client_is_read_once() {
        for (threads, tallies_max) in [(1, 1), (7, 64), (7, 3), (10, 4)] {
            let counters = Counters::new(10, threads, tallies_max, false);
            (0..10).for_each(|tid| counters.slot(tid).count(Counter::Read, 1 << tid));
            let counts = counters.drain_events_and_read(0, &mut EventTally::new(false));
            assert_eq!(counts, counters.totals(), "{threads} threads");
        }
    }
}
