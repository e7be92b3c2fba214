//! Throughput in steps of 100 ms, which shows what an interval's total hides.

use truetps_record::{BUCKET_MS, TransactionGap};

const BUCKET_NS: u64 = (BUCKET_MS * 1e6) as u64;

/// Transactions that succeeded in one step, and when the first and the last of them did. A gap
/// between two of them that is at least as long as a bucket crosses a bucket's edge, so that first
/// and last determine its exact length.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Bucket {
    ok: u32,
    first_ns: u64,
    last_ns: u64,
}

/// The buckets of one interval, from its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Buckets {
    start_ns: u64,
    /// End of the last bucket; 0: there is none.
    end_ns: u64,
    list: Vec<Bucket>,
}

impl Buckets {
    pub(crate) fn new(start_ns: u64) -> Self {
        Self { start_ns, end_ns: 0, list: Vec::with_capacity(BUCKETS_USUAL) }
    }

    pub(crate) fn restart(&mut self, start_ns: u64) {
        (self.start_ns, self.end_ns) = (start_ns, 0);
        self.list.clear();
    }

    /// A transaction succeeded.
    #[inline]
    pub(crate) fn ok(&mut self, now_ns: u64) {
        if now_ns >= self.end_ns {
            self.open(now_ns);
        }
        if let Some(bucket) = self.list.last_mut() {
            bucket.ok += 1;
            bucket.last_ns = now_ns;
        }
    }

    #[cold]
    fn open(&mut self, now_ns: u64) {
        let index = now_ns.saturating_sub(self.start_ns) / BUCKET_NS;
        self.list.resize(index as usize + 1, Bucket::default());
        self.end_ns = self.start_ns + (index + 1) * BUCKET_NS;
        self.list[index as usize].first_ns = now_ns;
    }

    /// Adds what another worker has counted in the same interval.
    pub(crate) fn merge(&mut self, other: &Self) {
        if self.list.len() < other.list.len() {
            self.list.resize(other.list.len(), Bucket::default());
            self.end_ns = other.end_ns;
        }
        for (ours, theirs) in
            self.list.iter_mut().zip(&other.list).filter(|(_, theirs)| theirs.ok > 0)
        {
            *ours = match ours.ok {
                0 => *theirs,
                ok => Bucket {
                    ok: ok + theirs.ok,
                    first_ns: ours.first_ns.min(theirs.first_ns),
                    last_ns: ours.last_ns.max(theirs.last_ns),
                },
            };
        }
    }

    /// The counts of an interval of this length. Its last bucket is shortened to fit, and includes
    /// the counts of a worker that saw the end late.
    pub(crate) fn counts(&self, length_ns: u64) -> Vec<u32> {
        let wanted = (length_ns.div_ceil(BUCKET_NS) as usize).max(1);
        let mut counts: Vec<_> = self.list.iter().map(|bucket| bucket.ok).collect();
        let late: u32 = counts.get(wanted..).unwrap_or_default().iter().sum();
        counts.resize(wanted, 0);
        counts[wanted - 1] += late;
        counts
    }
}

/// Follows intervals in order of time and finds gaps in which no transaction succeeded.
#[derive(Debug)]
pub(crate) struct Gaps {
    /// When the last one succeeded, or the first one was started.
    last_ns: u64,
}

impl Gaps {
    pub(crate) fn after(start_ns: u64) -> Self {
        Self { last_ns: start_ns }
    }

    /// The gaps whose end is in these buckets, on a clock that begins at `zero_ns`.
    pub(crate) fn follow(&mut self, buckets: &Buckets, zero_ns: u64) -> Vec<TransactionGap> {
        let mut gaps = Vec::new();
        for bucket in buckets.list.iter().filter(|bucket| bucket.ok > 0) {
            let length_ns = bucket.first_ns.saturating_sub(self.last_ns);
            if length_ns >= BUCKET_NS {
                let start_ms = (self.last_ns - zero_ns) as f64 / 1e6;
                gaps.push(TransactionGap { start_ms, length_ms: length_ns as f64 / 1e6 });
            }
            self.last_ns = self.last_ns.max(bucket.last_ns);
        }
        gaps
    }
}

/// Buckets of a whole interval, plus one for a worker that is late.
const BUCKETS_USUAL: usize = 11;

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn buckets(start_ms: u64, ends_ms: &[u64]) -> Buckets {
        let mut buckets = Buckets::new(start_ms * MS);
        for end_ms in ends_ms {
            buckets.ok(end_ms * MS);
        }
        buckets
    }

    #[test]
    fn each_transaction_is_in_one_bucket() {
        let one = buckets(1000, &[1000, 1099, 1100, 1950, 2003]);
        assert_eq!(one.counts(1000 * MS), [2, 1, 0, 0, 0, 0, 0, 0, 0, 2]);
        assert_eq!(one.counts(250 * MS), [2, 1, 2]);
        assert_eq!(buckets(0, &[]).counts(1000 * MS), [0; 10]);
        assert_eq!(buckets(0, &[5]).counts(0), [1]);
    }

    /// It ended before the interval began, and was counted after that.
    #[test]
    fn a_late_count_is_in_the_first_bucket() {
        let mut late = buckets(1000, &[999, 1050]);
        assert_eq!(late.counts(1000 * MS)[..2], [2, 0]);
        late.restart(2000 * MS);
        late.ok(2150 * MS);
        assert_eq!(late.counts(200 * MS), [0, 1]);
    }

    #[test]
    fn workers_add_up_even_if_one_counted_longer() {
        let mut sum = buckets(0, &[50, 120]);
        sum.merge(&buckets(0, &[20, 130, 330]));
        sum.merge(&buckets(0, &[]));
        assert_eq!(sum.counts(400 * MS), [2, 2, 0, 1]);
        assert_eq!((sum.list[0].first_ns, sum.list[1].last_ns), (20 * MS, 130 * MS));
        sum.ok(350 * MS);
        assert_eq!(sum.counts(400 * MS), [2, 2, 0, 2]);
    }

    #[test]
    fn a_gap_is_what_no_worker_fills() {
        let mut gaps = Gaps::after(0);
        let mut first = buckets(0, &[90, 400]);
        first.merge(&buckets(0, &[250]));
        let expect = [(90.0, 160.0), (250.0, 150.0)];
        let found = |gaps: Vec<TransactionGap>| {
            gaps.iter().map(|gap| (gap.start_ms, gap.length_ms)).collect::<Vec<_>>()
        };
        assert_eq!(found(gaps.follow(&first, 0)), expect);
        assert_eq!(found(gaps.follow(&buckets(1000, &[]), 0)), []);
        assert_eq!(found(gaps.follow(&buckets(2000, &[2450, 2480]), 0)), [(400.0, 2050.0)]);
    }
}
