//! The schedule of an open loop: when each transaction is to start.
//!
//! Start number `i` of a stream is where the expected number of starts `Λ(t) = ∫ λ(s) ds` reaches
//! `n_i`, with `n_i` equally spaced or with exponential gaps of mean 1 (the time change theorem:
//! Daley and Vere-Jones, *An Introduction to the Theory of Point Processes*, section 7.4). So a
//! ramp needs no separate mechanism.

use truetps_random::RandomStream;
use truetps_record::Spacing;

/// λ(t), in starts a second: `from` until `ramp_start_s`, then linearly to `to` at `ramp_end_s`,
/// then `to`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    pub from: f64,
    pub to: f64,
    pub ramp_start_s: f64,
    pub ramp_end_s: f64,
}

impl Rate {
    pub fn constant(rate: f64) -> Self {
        Self { from: rate, to: rate, ramp_start_s: 0.0, ramp_end_s: 0.0 }
    }

    /// The time at which `n` starts are expected, in seconds.
    fn moment_of(&self, n: f64) -> f64 {
        let before = self.from * self.ramp_start_s;
        if n <= before {
            return n / self.from;
        }
        let length = self.ramp_end_s - self.ramp_start_s;
        let in_ramp = f64::midpoint(self.from, self.to) * length;
        let n = n - before;
        if n >= in_ramp {
            return self.ramp_end_s + (n - in_ramp) / self.to;
        }
        // The root of from·x + slope·x²/2 = n, in the form that does not cancel.
        let slope = (self.to - self.from) / length;
        let root = (self.from * self.from + 2.0 * slope * n).max(0.0).sqrt();
        self.ramp_start_s + 2.0 * n / (self.from + root)
    }
}

/// Which starts of a common stream belong to one worker: the starts of its clients, if start number
/// `i` belonged to client `i mod clients`. So each worker has its fair share, and the whole
/// schedule does not depend on the number of workers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StartShare {
    pub clients: u64,
    pub workers: u64,
    pub worker: u64,
}

impl StartShare {
    fn has(&self, start: u64) -> bool {
        (start % self.clients) % self.workers == self.worker
    }
}

/// A stream of scheduled starts, endless and in order of time.
#[derive(Debug, Clone)]
pub(crate) struct ArrivalStream {
    rate: Rate,
    spacing: Spacing,
    random: RandomStream,
    share: Option<StartShare>,
    /// Number of the start that `next_ns` belongs to, in the stream of all workers.
    number: u64,
    /// `n` of that start.
    expected: f64,
    next_ns: u64,
}

impl ArrivalStream {
    /// `phase` is `n` of the first start, 0 to 1, so that clients of the same rate do not all start
    /// at once. Poisson streams need no phase.
    pub(crate) fn new(
        rate: Rate,
        spacing: Spacing,
        random: RandomStream,
        share: Option<StartShare>,
        phase: f64,
    ) -> Self {
        let mut arrivals =
            Self { rate, spacing, random, share, number: 0, expected: phase, next_ns: 0 };
        if spacing == Spacing::Poisson {
            arrivals.expected = arrivals.gap();
        }
        if share.is_some_and(|share| !share.has(0)) {
            arrivals.advance();
        } else {
            arrivals.next_ns = arrivals.moment_ns();
        }
        arrivals
    }

    /// The next start, in nanoseconds from the first moment of the run.
    pub(crate) fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Advances to the next start.
    pub(crate) fn advance(&mut self) {
        loop {
            self.expected += self.gap();
            self.number += 1;
            if self.share.is_none_or(|share| share.has(self.number)) {
                break;
            }
        }
        self.next_ns = self.moment_ns();
    }

    fn gap(&mut self) -> f64 {
        match self.spacing {
            Spacing::Constant => 1.0,
            Spacing::Poisson => -self.random.open_unit().ln(),
        }
    }

    fn moment_ns(&self) -> u64 {
        (self.rate.moment_of(self.expected) * 1e9) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(arrivals: &mut ArrivalStream, until_ns: u64) -> Vec<u64> {
        let mut list = Vec::new();
        while arrivals.next_ns() < until_ns {
            list.push(arrivals.next_ns());
            arrivals.advance();
        }
        list
    }

    fn stream(rate: Rate, spacing: Spacing, share: Option<StartShare>) -> ArrivalStream {
        ArrivalStream::new(rate, spacing, RandomStream::new(5, 5), share, 0.0)
    }

    #[test]
    fn a_constant_rate_is_evenly_spaced() {
        let list =
            starts(&mut stream(Rate::constant(1000.0), Spacing::Constant, None), 1_000_000_000);
        assert_eq!(list.len(), 1000);
        assert!(list.windows(2).all(|pair| (999_999..=1_000_001).contains(&(pair[1] - pair[0]))));
    }

    #[test]
    fn a_ramp_has_the_area_under_its_line() {
        let rate = Rate { from: 100.0, to: 300.0, ramp_start_s: 1.0, ramp_end_s: 3.0 };
        let list = starts(&mut stream(rate, Spacing::Constant, None), 4_000_000_000);
        let within =
            |from: u64, to: u64| list.iter().filter(|t| (from..to).contains(*t)).count() as i64;
        for (from_s, to_s, expect) in [(0, 1, 100), (1, 2, 150), (2, 3, 250), (3, 4, 300)] {
            let found = within(from_s * 1_000_000_000, to_s * 1_000_000_000);
            assert!((found - expect).abs() <= 1, "{from_s} s: {found}, not {expect}");
        }
        let down = Rate { from: 300.0, to: 100.0, ramp_start_s: 0.0, ramp_end_s: 2.0 };
        assert_eq!(starts(&mut stream(down, Spacing::Constant, None), 2_000_000_000).len(), 400);
    }

    /// Gaps of a Poisson stream: mean 1/λ, standard deviation the same, and e^-1 of them longer
    /// than the mean.
    #[test]
    fn poisson_gaps_are_exponential() {
        let list =
            starts(&mut stream(Rate::constant(1000.0), Spacing::Poisson, None), 100_000_000_000);
        // 100,000 expected, with a standard deviation of 316.
        assert!((98_500..101_500).contains(&list.len()), "{}", list.len());
        let gaps: Vec<f64> = list.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e6).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.02, "{}", variance.sqrt() / mean);
        let longer = gaps.iter().filter(|gap| **gap > mean).count() as f64 / gaps.len() as f64;
        assert!((longer - (-1.0_f64).exp()).abs() < 0.01, "{longer}");
    }

    #[test]
    fn workers_share_one_schedule() {
        for spacing in [Spacing::Constant, Spacing::Poisson] {
            let whole = starts(&mut stream(Rate::constant(500.0), spacing, None), 3_000_000_000);
            let mut parts = Vec::new();
            for worker in 0..3 {
                let share = StartShare { clients: 7, workers: 3, worker };
                let part =
                    starts(&mut stream(Rate::constant(500.0), spacing, Some(share)), 3_000_000_000);
                // Three clients of seven, two, and two.
                let fair = whole.len() as f64 * if worker == 0 { 3.0 } else { 2.0 } / 7.0;
                assert!(
                    (part.len() as f64 - fair).abs() < 4.0,
                    "{} of {}",
                    part.len(),
                    whole.len()
                );
                parts.extend(part);
            }
            parts.sort_unstable();
            assert_eq!(parts, whole);
        }
    }
}
