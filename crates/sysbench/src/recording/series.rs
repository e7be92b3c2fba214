//! Intervals, from the counts so far.

use truetps_record::{Counts, StartCounts};

use crate::run::{CommandRun, SlotCounts};

/// The counts up to a moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Snapshot {
    pub(super) now_ns: u64,
    pub(super) counts: SlotCounts,
    pub(super) in_flight: u64,
    /// Starts that are due and that no client has taken.
    pub(super) queued: u64,
    /// Whether these starts are dropped now, like a warm-up's.
    pub(super) drops_queue: bool,
}

impl Snapshot {
    pub(super) fn take(run: &CommandRun, now_ns: u64) -> Self {
        let (counts, in_flight) = (run.board.totals(), run.board.events_running());
        Self { now_ns, counts, in_flight, queued: run.control.queued(), drops_queue: false }
    }
}

/// What happened between two snapshots.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SnapshotDelta {
    pub(super) began_ns: u64,
    pub(super) length_ns: u64,
    pub(super) counts: Counts,
    pub(super) starts: StartCounts,
    pub(super) reads: u64,
    pub(super) writes: u64,
    pub(super) other: u64,
    pub(super) reconnects: u64,
}

/// Makes consecutive steps.
#[derive(Debug, Default)]
pub(super) struct Series {
    last: Snapshot,
}

impl Series {
    pub(super) fn begin(&mut self, first: Snapshot) {
        self.last = first;
    }

    /// The step from the last snapshot to this one.
    ///
    /// Clients continue while their counters are read one after the other, so that an event may appear both as ended
    /// and as running, or as neither. The number in flight is corrected immediately, and the next step compensates: the
    /// equations hold for each step, and each ended event is counted once.
    pub(super) fn step(&mut self, mut now: Snapshot) -> SnapshotDelta {
        let (last, seen) = (self.last, now.counts.since(self.last.counts));
        let (ok, failed) = (seen.events, seen.failed + seen.given_up);
        let ended = ok + failed;
        now.in_flight = now.in_flight.max(last.in_flight.saturating_sub(ended));
        let counts = Counts {
            carried_in: last.in_flight,
            started: ended + now.in_flight - last.in_flight,
            ok,
            failed,
            in_flight: now.in_flight,
            statements: seen.reads + seen.writes + seen.other,
            retried: seen.errors,
            ignored: seen.given_up,
            rows_changed: 0,
        };
        counts.assert_consistent();
        now.queued = now.queued.max(last.queued.saturating_sub(counts.started));
        let scheduled = counts.started + now.queued - last.queued;
        let skipped = if now.drops_queue { std::mem::take(&mut now.queued) } else { 0 };
        let starts = StartCounts { queued_in: last.queued, scheduled, skipped, queued: now.queued };
        starts.assert_consistent(counts.started);
        self.last = now;
        let length_ns = now.now_ns.saturating_sub(last.now_ns);
        SnapshotDelta {
            began_ns: last.now_ns,
            length_ns,
            counts,
            starts,
            reads: seen.reads,
            writes: seen.writes,
            other: seen.other,
            reconnects: seen.reconnects,
        }
    }
}

impl SnapshotDelta {
    /// Appends the step that follows this one.
    pub(super) fn append(&mut self, next: &Self) {
        self.length_ns += next.length_ns;
        self.counts.append(&next.counts);
        self.starts.append(&next.starts);
        self.reads += next.reads;
        self.writes += next.writes;
        self.other += next.other;
        self.reconnects += next.reconnects;
    }

    pub(super) fn is_empty(&self) -> bool {
        let Counts { started, ok, failed, statements, retried, .. } = self.counts;
        self.length_ns == 0 && started + ok + failed + statements + retried == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(now_ns: u64, events: u64, in_flight: u64, queued: u64) -> Snapshot {
        let counts = SlotCounts { events, reads: 3 * events, errors: events / 2, ..SlotCounts::default() };
        Snapshot { now_ns, counts, in_flight, queued, drops_queue: false }
    }

    #[test]
    fn the_queue_of_a_warm_up_is_not_carried_on() {
        let mut series = Series::default();
        series.begin(at(0, 0, 0, 0));
        let warm_up = series.step(Snapshot { drops_queue: true, ..at(1, 10, 0, 7) });
        assert_eq!((warm_up.starts.scheduled, warm_up.starts.skipped, warm_up.starts.queued), (17, 7, 0));
        let first = series.step(at(2, 20, 0, 1));
        assert_eq!((first.starts.queued_in, first.starts.scheduled, first.starts.queued), (0, 11, 1));
    }

    #[test]
    fn steps_obey_the_equations() {
        let mut series = Series::default();
        series.begin(at(100, 5, 2, 0));
        let mut first = series.step(at(200, 15, 3, 4));
        assert_eq!((first.began_ns, first.length_ns), (100, 100));
        assert_eq!((first.counts.carried_in, first.counts.started, first.counts.ok), (2, 11, 10));
        assert_eq!((first.counts.statements, first.counts.retried), (30, 5));
        assert_eq!((first.starts.scheduled, first.starts.queued), (15, 4));
        let second = series.step(at(250, 25, 0, 0));
        first.append(&second);
        first.counts.assert_consistent();
        first.starts.assert_consistent(first.counts.started);
        assert_eq!((first.length_ns, first.counts.ok, first.counts.started, first.counts.in_flight), (150, 20, 18, 0));
    }

    #[test]
    fn what_was_seen_at_a_wrong_moment_is_made_up_for() {
        let mut series = Series::default();
        series.begin(at(0, 0, 0, 0));
        // Counted as ended and as running.
        assert_eq!(series.step(at(1, 1, 1, 0)).counts.started, 2);
        let next = series.step(at(2, 1, 0, 0));
        assert_eq!((next.counts.started, next.counts.in_flight), (0, 1));
        let last = series.step(at(3, 2, 0, 0));
        assert_eq!((last.counts.started, last.counts.ok, last.counts.in_flight), (0, 1, 0));
        // A queue that shrinks faster than events start.
        series.begin(at(0, 0, 0, 5));
        assert_eq!(
            series.step(at(1, 2, 0, 0)).starts,
            StartCounts { queued_in: 5, queued: 3, ..StartCounts::default() }
        );
    }

    #[test]
    fn events_that_did_not_count_have_failed() {
        let mut series = Series::default();
        let mut now = at(1, 2, 0, 0);
        (now.counts.failed, now.counts.given_up) = (1, 2);
        let counts = series.step(now).counts;
        assert_eq!((counts.started, counts.failed, counts.ignored), (5, 3, 2));
    }
}
