//! Counts the transactions of one interval: the cost for each of them must be close to zero.

use truetps_record::ErrorClass;

use crate::buckets::Buckets;
use crate::sums::PeriodSums;

/// An error that ended an attempt.
#[derive(Debug)]
pub struct AttemptFailure {
    pub class: ErrorClass,
    pub code: u16,
    pub message: String,
}

/// One interval, of one worker or of all.
#[derive(Debug)]
pub struct Tally {
    pub sums: PeriodSums,
    pub(crate) buckets: Buckets,
}

impl Tally {
    pub fn new(start_ns: u64, is_open: bool) -> Self {
        Self { sums: PeriodSums::new(is_open), buckets: Buckets::new(start_ns) }
    }

    /// Waiting starts.
    #[inline]
    pub fn queued(&self) -> u64 {
        self.sums.open.as_ref().map_or(0, |open| open.starts.queued)
    }

    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.sums.counts.in_flight
    }

    /// Starts were scheduled, and wait for a client.
    pub fn scheduled(&mut self, starts: u64) {
        if let Some(open) = &mut self.sums.open {
            open.starts.scheduled += starts;
            open.starts.queued += starts;
        }
    }

    /// Waiting starts were skipped.
    #[inline]
    pub fn skipped(&mut self, starts: u64) {
        if let Some(open) = &mut self.sums.open {
            open.starts.skipped += starts;
            open.starts.queued -= starts;
        }
    }

    /// A waiting start was taken from the queue.
    #[inline]
    pub fn dequeued(&mut self) {
        if let Some(open) = &mut self.sums.open {
            open.starts.queued -= 1;
        }
    }

    /// A transaction that was scheduled for `scheduled_ns` started at `now_ns`, on a client that
    /// was free since `free_since_ns`.
    #[inline]
    pub fn started(&mut self, scheduled_ns: u64, free_since_ns: u64, now_ns: u64) {
        self.count_start();
        self.record_delay(scheduled_ns, free_since_ns, now_ns);
    }

    /// One start, without its delay: for a caller that records the two at different times.
    #[inline]
    pub fn count_start(&mut self) {
        self.sums.counts.started += 1;
        self.sums.counts.in_flight += 1;
    }

    /// The starts of the transactions that run now: for a caller that counts each other start with
    /// its end.
    pub fn count_running(&mut self, running: u64) {
        let counts = &mut self.sums.counts;
        counts.started = counts.started + running - counts.in_flight;
        counts.in_flight = running;
    }

    /// How late a transaction started, as in [`Self::started`].
    #[inline]
    pub fn record_delay(&mut self, scheduled_ns: u64, free_since_ns: u64, now_ns: u64) {
        if let Some(open) = &mut self.sums.open {
            open.lag.saturating_record(now_ns.saturating_sub(scheduled_ns));
            open.late.saturating_record(now_ns.saturating_sub(scheduled_ns.max(free_since_ns)));
        }
    }

    /// A statement was answered.
    #[inline]
    pub fn answered(&mut self) {
        self.sums.counts.statements += 1;
    }

    /// A transaction succeeded at `now_ns`. It was scheduled for `scheduled_ns` and started at
    /// `started_ns`.
    #[inline]
    pub fn ok(&mut self, scheduled_ns: u64, started_ns: u64, now_ns: u64, rows_changed: u64) {
        self.sums.counts.ok += 1;
        self.sums.counts.rows_changed += rows_changed;
        self.sums.counts.in_flight -= 1;
        self.sums.response.saturating_record(now_ns.saturating_sub(scheduled_ns));
        self.buckets.ok(now_ns);
        if let Some(open) = &mut self.sums.open {
            open.service.saturating_record(now_ns.saturating_sub(started_ns));
        }
    }

    /// A transaction ended without success.
    pub fn not_ok(&mut self, is_ignored: bool) {
        self.sums.counts.failed += 1;
        self.sums.counts.ignored += u64::from(is_ignored);
        self.sums.counts.in_flight -= 1;
    }

    /// A transaction ended with an error.
    pub fn failed(&mut self, failure: &AttemptFailure, is_ignored: bool) {
        self.not_ok(is_ignored);
        self.sums.errors.add(failure.class, failure.code, &failure.message);
    }

    /// An attempt ended with an error and is retried.
    pub fn retried(&mut self, failure: &AttemptFailure) {
        self.sums.counts.retried += 1;
        self.note(failure);
    }

    /// An operation that is not a transaction failed, and is retried.
    pub fn note(&mut self, failure: &AttemptFailure) {
        self.sums.errors.add_retried(failure.class, failure.code, &failure.message);
    }

    /// Takes what was counted so far. What follows belongs to the interval that began at
    /// `start_ns`.
    #[must_use]
    pub fn replace_at(&mut self, start_ns: u64) -> Self {
        let next = Self { sums: self.sums.next(), buckets: Buckets::new(start_ns) };
        std::mem::replace(self, next)
    }

    /// Starts anew in the memory of this one: what was counted so far is dropped.
    pub fn restart(&mut self, start_ns: u64) {
        self.sums.restart();
        self.buckets.restart(start_ns);
    }

    /// Adds what the same workers counted later in the same interval.
    pub fn append(&mut self, later: &Self) {
        self.sums.append(&later.sums);
        self.buckets.merge(&later.buckets);
    }

    /// Adds another worker's tally of the same interval.
    pub fn merge_worker(&mut self, other: &Self) {
        self.sums.merge_worker(&other.sums);
        self.buckets.merge(&other.buckets);
    }
}
