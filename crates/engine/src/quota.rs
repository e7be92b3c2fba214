//! What is left of a number of transactions that ends the measure phase, and who still works for
//! it.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use truetps_measure::Quota;

/// Shared by all workers. Nothing is written for a transaction without a quota.
pub(crate) struct QuotaCount {
    quota: Option<Quota>,
    /// Whether the schedule of an open loop ends with the number.
    counts_starts: bool,
    /// For [`Quota::Together`]: transactions that may still end before the measure phase is over.
    transactions_left: AtomicU64,
    /// In an open loop: starts that may still be scheduled in the measure phase.
    starts_left: AtomicU64,
    /// … and workers that may still have something to start.
    workers_at_work: AtomicU32,
    /// Clients that are neither lost nor finished.
    clients_at_work: AtomicU32,
}

/// The effect of a transaction that has ended, on a number that all clients share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CountedEnd {
    /// More must end.
    MoreLeft,
    /// It was the last one of the number.
    Last,
    /// It came after the last one.
    Beyond,
}

impl QuotaCount {
    pub(crate) fn new(quota: Option<Quota>, is_open: bool, workers: u32) -> Self {
        let together = if let Some(Quota::Together(all)) = quota { all } else { 0 };
        Self {
            quota,
            counts_starts: is_open && matches!(quota, Some(Quota::Together(_))),
            transactions_left: AtomicU64::new(together),
            starts_left: AtomicU64::new(together),
            workers_at_work: AtomicU32::new(workers),
            clients_at_work: AtomicU32::new(0),
        }
    }

    /// So many clients have connected.
    pub(crate) fn set_clients(&self, clients: u32) {
        self.clients_at_work.store(clients, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn is_limited(&self) -> bool {
        self.quota.is_some()
    }

    #[inline]
    pub(crate) fn counts_starts(&self) -> bool {
        self.counts_starts
    }

    /// The share of client number `client` of `clients`; `None`: it has no share of its own.
    pub(crate) fn share(&self, client: u32, clients: u32) -> Option<u64> {
        self.quota?.share(client, clients)
    }

    /// A transaction of a closed loop has ended.
    pub(crate) fn count_end(&self) -> CountedEnd {
        let Some(Quota::Together(all)) = self.quota else { return CountedEnd::MoreLeft };
        match self.transactions_left.fetch_sub(1, Ordering::Relaxed) {
            1 => CountedEnd::Last,
            // Below 0 it wraps to the largest number.
            left if left == 0 || left > all => CountedEnd::Beyond,
            _ => CountedEnd::MoreLeft,
        }
    }

    /// Whether all requested starts have been scheduled.
    pub(crate) fn schedule_is_over(&self) -> bool {
        self.counts_starts && self.starts_left.load(Ordering::Relaxed) == 0
    }

    /// Takes up to this number of starts from the schedule; returns how many there were.
    pub(crate) fn take_starts(&self, starts: u64) -> u64 {
        if self.counts_starts { take_up_to(&self.starts_left, starts) } else { starts }
    }

    /// Starts have ended, or were skipped; returns whether all have now.
    pub(crate) fn settle_starts(&self, starts: u64) -> bool {
        let left = &self.transactions_left;
        self.counts_starts && take_up_to(left, starts) > 0 && left.load(Ordering::Relaxed) == 0
    }

    /// A worker has nothing more to start; returns whether it was the last one.
    pub(crate) fn leave_worker(&self) -> bool {
        self.workers_at_work.fetch_sub(1, Ordering::Relaxed) == 1
    }

    /// A client has no work left; returns whether it was the last one.
    pub(crate) fn leave_client(&self) -> bool {
        self.clients_at_work.fetch_sub(1, Ordering::Relaxed) == 1
    }
}

/// Takes up to `wanted`; returns the number taken.
fn take_up_to(left: &AtomicU64, wanted: u64) -> u64 {
    let before = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
        Some(left.saturating_sub(wanted))
    });
    before.unwrap_or_default().min(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_common_number_ends_once() {
        let count = QuotaCount::new(Some(Quota::Together(2)), false, 1);
        let ends: Vec<_> = (0..4).map(|_| count.count_end()).collect();
        assert_eq!(
            ends,
            [CountedEnd::MoreLeft, CountedEnd::Last, CountedEnd::Beyond, CountedEnd::Beyond]
        );
        assert!(!count.settle_starts(1) && !count.schedule_is_over() && count.take_starts(9) == 9);
        assert_eq!(QuotaCount::new(None, false, 1).count_end(), CountedEnd::MoreLeft);
    }

    #[test]
    fn a_schedule_ends_with_its_starts() {
        let count = QuotaCount::new(Some(Quota::Together(3)), true, 2);
        assert_eq!(
            (count.take_starts(2), count.take_starts(2), count.schedule_is_over()),
            (2, 1, true)
        );
        assert!(!count.settle_starts(0) && !count.settle_starts(2) && count.settle_starts(1));
        assert!(!count.settle_starts(1), "they have ended before");
        assert!(!count.leave_worker() && count.leave_worker());
    }
}
