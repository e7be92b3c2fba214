//! The interval that tried rates lead to.

use crate::belief::{Belief, RateBelief};
use crate::series;

/// The chance that the capacity lies between the two rates of an interval.
pub const COVERAGE: f64 = 0.95;
/// The chance that a new trial at the lower rate holds, if nothing disturbs it.
pub const SURE: f64 = 0.98;
/// So many times more probable must the results be if the rate does not matter.
const FLAT_RATIO: f64 = 3.0;
/// With fewer trials that is not known.
const FLAT_TRIALS_MIN: usize = 8;

/// One rate with the results of its trials.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateCount {
    /// Transactions a second.
    pub rate: f64,
    pub held: usize,
    pub of: usize,
}

/// Between which rates the highest rate lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateEstimate {
    /// The highest rate at which a new trial holds with [`SURE`]. `None`: no rate that was tried.
    pub low: Option<RateCount>,
    /// The lowest rate that is above the capacity. `None`: no rate that was tried.
    pub high: Option<RateCount>,
    /// Whether the trials look as if the rate did not matter: something else makes them fail.
    pub is_flat: bool,
}

/// Results with what is believed after them.
#[derive(Debug, Clone)]
pub(crate) struct RateResults {
    pub(crate) belief: Belief,
    results: Vec<(i32, bool)>,
}

impl RateResults {
    pub(crate) fn new(closed_loop_tps: f64) -> Self {
        Self { belief: Belief::new(closed_loop_tps), results: Vec::new() }
    }

    pub(crate) fn hear(&mut self, step: i32, held: bool) {
        self.belief.hear(step, held);
        self.results.push((step, held));
    }

    pub(crate) fn trials_of(&self, step: i32) -> usize {
        self.results.iter().filter(|(other, _)| *other == step).count()
    }

    fn tried(&self, step: i32) -> RateCount {
        let held = self.results.iter().filter(|result| **result == (step, true)).count();
        RateCount { rate: series::rate(step), held, of: self.trials_of(step) }
    }

    /// The best bounds, whether they were tried or not.
    pub(crate) fn bounds(&self) -> RateBounds {
        let rates = self.belief.rates();
        RateBounds {
            low: highest(rates.iter().filter(|one| one.is_low())),
            high: lowest(rates.iter().filter(|one| one.is_high())),
            low_tried: highest(
                rates.iter().filter(|one| one.is_low() && self.tried(one.step).held > 0),
            ),
            high_tried: lowest(
                rates.iter().filter(|one| one.is_high() && self.trials_of(one.step) > 0),
            ),
            most_telling: rates
                .iter()
                .max_by(|one, other| one.information.total_cmp(&other.information))
                .map(|one| one.step),
        }
    }

    pub(crate) fn estimate(&self) -> RateEstimate {
        let bounds = self.bounds();
        RateEstimate {
            low: bounds.low_tried.map(|step| self.tried(step)),
            high: bounds.high_tried.map(|step| self.tried(step)),
            is_flat: self.is_flat(),
        }
    }

    /// Compares the model with one in which each trial holds with the same chance, whatever its
    /// rate: a uniform distribution of that chance before any trial.
    fn is_flat(&self) -> bool {
        let all = self.results.len();
        let held = self.results.iter().filter(|(_, held)| *held).count();
        let has_both = held > 0 && held < all;
        // ln of 1 / ((n + 1) · (n over k)).
        let ways: f64 = (1..=held).map(|k| ((all - held + k) as f64 / k as f64).ln()).sum();
        let flat = -((all + 1) as f64).ln() - ways;
        all >= FLAT_TRIALS_MIN && has_both && flat > self.belief.evidence() + FLAT_RATIO.ln()
    }
}

impl RateBelief {
    fn is_low(&self) -> bool {
        self.holds >= SURE && self.below <= 0.5 * (1.0 - COVERAGE)
    }

    fn is_high(&self) -> bool {
        self.below >= 0.5 * (1.0 + COVERAGE)
    }
}

fn highest<'a>(rates: impl Iterator<Item = &'a RateBelief>) -> Option<i32> {
    rates.map(|one| one.step).max()
}

fn lowest<'a>(rates: impl Iterator<Item = &'a RateBelief>) -> Option<i32> {
    rates.map(|one| one.step).min()
}

/// Numbers of rates; `None` where no rate is one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RateBounds {
    pub(crate) low: Option<i32>,
    pub(crate) high: Option<i32>,
    pub(crate) low_tried: Option<i32>,
    pub(crate) high_tried: Option<i32>,
    /// The rate whose trial tells the most.
    pub(crate) most_telling: Option<i32>,
}

/// What these trials say: the throughput of a closed loop, and whether each rate held. `None` if a
/// rate is not one of the series: another rule has chosen it.
pub fn estimate(closed_loop_tps: f64, results: &[(f64, bool)]) -> Option<RateEstimate> {
    let is_usable = closed_loop_tps.is_finite() && closed_loop_tps > 0.0;
    let mut heard = RateResults::new(is_usable.then_some(closed_loop_tps)?);
    for (rate, held) in results {
        let step = series::step_of(*rate).filter(|step| heard.belief.has(*step))?;
        heard.hear(step, *held);
    }
    Some(heard.estimate())
}
