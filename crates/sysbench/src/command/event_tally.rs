//! What one thread counts of its clients' events.

use truetps_measure::Tally;
use truetps_record::{ErrorTally, Histogram};

/// Events of the clients of one thread, or of all, since they were last drained.
#[derive(Debug)]
pub(crate) struct EventTally {
    pub(crate) tally: Tally,
    /// Exact lengths of events, in nanoseconds: sysbench's reports show them.
    pub(crate) sum_ns: u64,
    pub(crate) min_ns: u64,
    pub(crate) max_ns: u64,
}

/// When an event was to start, and when it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventStart {
    pub(crate) scheduled_ns: u64,
    pub(crate) started_ns: u64,
}

impl EventStart {
    /// Without the delay that the load generator caused itself: its client was free since
    /// `free_since_ns`, and started late all the same, because a timer or the turns of other
    /// clients did. A wait for a free client stays.
    pub(crate) fn without_lateness(self, free_since_ns: u64) -> Self {
        let late_ns = self.started_ns.saturating_sub(self.scheduled_ns.max(free_since_ns));
        Self { scheduled_ns: self.scheduled_ns + late_ns, ..self }
    }
}

impl EventTally {
    pub(crate) fn new(has_rate: bool) -> Self {
        Self { tally: Tally::new(0, has_rate), sum_ns: 0, min_ns: u64::MAX, max_ns: 0 }
    }

    /// Lengths of events, in nanoseconds.
    pub(crate) fn lengths(&self) -> &Histogram {
        &self.tally.sums.response
    }

    /// Errors of statements.
    pub(crate) fn errors(&self) -> &ErrorTally {
        &self.tally.sums.errors
    }

    /// An event ended well at `now_ns`.
    #[inline]
    pub(crate) fn ok(&mut self, event: EventStart, now_ns: u64) {
        self.tally.ok(event.scheduled_ns, event.started_ns, now_ns, 0);
        let length_ns = now_ns.saturating_sub(event.scheduled_ns);
        self.sum_ns += length_ns;
        self.min_ns = self.min_ns.min(length_ns);
        self.max_ns = self.max_ns.max(length_ns);
    }

    /// Adds another thread's tally of the same time.
    pub(crate) fn merge_thread(&mut self, other: &Self) {
        self.tally.merge_worker(&other.tally);
        self.add_range(other);
    }

    /// Appends what all threads counted later. Only the sums are kept: the time may be longer than
    /// an interval.
    pub(crate) fn append(&mut self, later: &Self) {
        self.tally.sums.append(&later.tally.sums);
        self.add_range(later);
    }

    fn add_range(&mut self, other: &Self) {
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Drops what was counted. What follows belongs to the interval that began at `start_ns`.
    pub(crate) fn restart(&mut self, start_ns: u64) {
        self.tally.restart(start_ns);
        (self.sum_ns, self.min_ns, self.max_ns) = (0, u64::MAX, 0);
    }

    /// Drops the events that still run, too.
    pub(crate) fn clear(&mut self, start_ns: u64) {
        self.restart(start_ns);
        (self.tally.sums.counts.carried_in, self.tally.sums.counts.in_flight) = (0, 0);
    }
}
