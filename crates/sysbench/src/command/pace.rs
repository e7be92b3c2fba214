//! The schedule of `--rate`: the start times of events, for all clients together.
//!
//! A free client claims the next start of the schedule, due or not. So no start waits while a
//! client is free, a late start counts its delay as latency, and overload is a growing queue, never
//! an error. Waiting starts are not stored: the same stream of random numbers is drawn twice, for
//! claims and for the count of due starts.

use truetps_random::UnitSource;
use truetps_record::Part;

use crate::rand::Xoroshiro;

/// More starts than this are skipped at once: drawing each would delay the clients.
const DRAWN_MAX: f64 = 1e6;

#[derive(Debug, Clone)]
struct Starts {
    random: Xoroshiro,
    gap_ns_mean: f64,
    /// Starts of all parts from one start of this part to the next.
    stride: u32,
    next_ns: f64,
    /// Starts before `next_ns`.
    passed: u64,
}

impl Starts {
    /// Exponential gaps: the starts are a Poisson process.
    fn advance(&mut self) {
        self.skip(self.stride);
        self.passed += 1;
    }

    fn skip(&mut self, starts: u32) {
        for _ in 0..starts {
            self.next_ns += -(1.0 - self.random.unit()).ln() * self.gap_ns_mean;
        }
    }

    /// Advances to the first start after a moment. For very many starts, their mean number is used.
    fn pass_to(&mut self, now_ns: u64) {
        let now_ns = now_ns as f64;
        let missed = (now_ns - self.next_ns) / (self.gap_ns_mean * f64::from(self.stride));
        if missed > DRAWN_MAX {
            self.passed += missed as u64;
            self.next_ns = now_ns;
        }
        while self.next_ns <= now_ns {
            self.advance();
        }
    }
}

#[derive(Debug)]
pub(crate) struct RatePace {
    claims: Starts,
    due: Starts,
    given_back: u64,
    begins_ns: f64,
}

impl RatePace {
    /// `rate` starts a second of all parts on average, from `from_ns` on. This part makes every so
    /// many-th of them.
    pub(crate) fn new(rate: f64, random: Xoroshiro, from_ns: u64, part: Part) -> Self {
        let begins_ns = from_ns as f64;
        let mut claims = Starts {
            random,
            gap_ns_mean: 1e9 / rate,
            stride: part.of,
            next_ns: begins_ns,
            passed: 0,
        };
        claims.skip(1 + part.index);
        Self { due: claims.clone(), claims, given_back: 0, begins_ns }
    }

    /// The schedule, of which nothing is claimed yet, begins at this moment.
    pub(crate) fn begin(&mut self, at_ns: u64) {
        self.claims.next_ns += at_ns as f64 - self.begins_ns;
        self.begins_ns = at_ns as f64;
        self.due = self.claims.clone();
    }

    /// Claims the next start; returns when it is due, in nanoseconds.
    pub(crate) fn claim(&mut self) -> u64 {
        let due_ns = self.claims.next_ns as u64;
        self.claims.advance();
        due_ns
    }

    /// A claimed start is not made.
    pub(crate) fn give_back(&mut self) {
        self.given_back += 1;
    }

    /// Starts that are due and unclaimed, or were given back.
    pub(crate) fn queued(&mut self, now_ns: u64) -> u64 {
        if self.claims.next_ns > now_ns as f64 {
            self.due = self.claims.clone();
            return self.given_back;
        }
        self.due.pass_to(now_ns);
        self.due.passed.saturating_sub(self.claims.passed) + self.given_back
    }

    /// Drops the unclaimed starts so far: the queue of a warm-up does not belong to the run.
    pub(crate) fn skip_to(&mut self, now_ns: u64) {
        self.claims.pass_to(now_ns);
        self.due = self.claims.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(rate: f64) -> RatePace {
        RatePace::new(rate, Xoroshiro::from_seed(1, 0), 0, Part::WHOLE)
    }

    #[test]
    fn a_rate_that_no_client_can_keep_is_counted_at_once() {
        let mut pace = pace(2e9);
        let queued = pace.queued(3_600_000_000_000);
        assert!((7_199_000_000_000..=7_201_000_000_000).contains(&queued), "{queued}");
        pace.skip_to(3_700_000_000_000);
        assert_eq!(pace.queued(3_700_000_000_000), 0);
    }

    #[test]
    fn starts_come_at_the_rate() {
        let mut pace = pace(1000.0);
        let mut last = 0;
        for _ in 0..100_000 {
            last = pace.claim();
        }
        // 100 s, with a standard deviation of 0.32 s.
        assert!((98.5..101.5).contains(&(last as f64 / 1e9)), "{last}");
    }

    #[test]
    fn each_start_belongs_to_one_part() {
        const BEGINS_NS: u64 = 7_000_000_000;
        let of_part = |part, number| {
            // Made at different moments, and begun at one.
            let mut pace = RatePace::new(1000.0, Xoroshiro::from_seed(1, 0), number, part);
            pace.begin(BEGINS_NS);
            pace.skip_to(BEGINS_NS + 50_000_000);
            (0..number).map(|_| pace.claim()).collect::<Vec<_>>()
        };
        let whole = of_part(Part::WHOLE, 200);
        let mut all: Vec<_> =
            (0..3).flat_map(|index| of_part(Part { index, of: 3 }, 100)).collect();
        all.sort_unstable();
        // Made at moments that differ by some nanoseconds of rounding.
        let differs = all.iter().zip(&whole).position(|(one, other)| one.abs_diff(*other) > 2);
        assert_eq!(differs, None, "{:?}", &all[..5]);
    }

    #[test]
    fn what_is_due_and_unclaimed_is_queued() {
        let mut pace = pace(100.0);
        let second = 1_000_000_000;
        let queued = pace.queued(second);
        assert!((60..140).contains(&queued), "{queued}");
        assert!(pace.claim() < second);
        assert_eq!(pace.queued(second), queued - 1);
        pace.skip_to(second);
        assert_eq!(pace.queued(second), 0);
        assert!(pace.claim() > second);
        // Claimed before it was due: it is not in the queue.
        assert_eq!(pace.queued(second), 0);
    }
}
