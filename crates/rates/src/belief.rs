//! What the trials say about the chance that a rate holds.
//!
//! A trial at rate r holds with the chance γ + (1 − γ − λ) / (1 + exp(−(ln c − ln r) / s)): a
//! logistic of log rate, as psychometric functions are. c is the capacity, which half of the
//! undisturbed trials hold, s how much it scatters from trial to trial, λ the share of trials that
//! something else disturbs, and γ the share that holds by luck. The belief is a weight for each c,
//! s and λ of a grid. By Bayes' rule it depends on all results, and not on why a rate was tried.

use crate::series;

/// Capacities between two rates of the series.
const FINE: i32 = 4;
/// ln of the ratio of neighbours on the grid of capacities.
const FINE_LN: f64 = std::f64::consts::LN_10 / (series::OF_DECADE * FINE) as f64;
/// Scales of the logistic, each with its weight before any trial: standard deviations of 0.7 to
/// 23 % between trials.
const SCALES: [(f64, f64); 6] =
    [(0.004, 1.0), (0.008, 1.0), (0.016, 1.0), (0.032, 1.0), (0.064, 1.0), (0.128, 0.5)];
/// Shares of disturbed trials, with their weights.
const DISTURBED: [(f64, f64); 5] =
    [(0.005, 4.0), (0.05, 3.0), (0.12, 2.0), (0.25, 1.0), (0.5, 0.3)];
const CELLS: usize = SCALES.len() * DISTURBED.len();
const LUCKY: f64 = 0.01;
/// The range of capacities: from so much below what a closed loop reached to so much above.
const DECADES_DOWN: i32 = 3;
const DECADES_UP: i32 = 1;
/// The lowest rate: one in 1,000 seconds.
const LOWEST: i32 = -3 * series::OF_DECADE;
/// Where the capacity is expected, as a share of what a closed loop reached, and how far from
/// there: a double exponential distribution of the logarithm.
const EXPECTED: f64 = 0.75;
const SPREAD: f64 = 0.6;
/// Further away from all plausible capacities a trial tells nothing.
const BESIDE: i32 = 20;
/// The part of the weight that is left out on either side.
const TAIL: f64 = 1e-5;

#[derive(Debug, Clone)]
pub(crate) struct Belief {
    /// The lowest rate that may be tried.
    first: i32,
    capacities: usize,
    /// By capacity, scale and share of disturbed trials, the last one the fastest.
    weights: Vec<f64>,
    /// The logistic by scale and by difference of capacity and rate in fine steps.
    logistic: Vec<Vec<f64>>,
    /// ln of the chance of all results so far.
    evidence: f64,
}

/// What is believed of one rate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RateBelief {
    pub(crate) step: i32,
    /// The chance that an undisturbed trial holds.
    pub(crate) holds: f64,
    /// The chance that the capacity is below it.
    pub(crate) below: f64,
    /// How much a trial is expected to tell about the capacity, in nats.
    pub(crate) information: f64,
}

impl Belief {
    /// Before any rate was tried.
    pub(crate) fn new(closed_loop_tps: f64) -> Self {
        let middle = series::nearest(closed_loop_tps);
        let first = (middle - series::OF_DECADE * DECADES_DOWN).max(LOWEST);
        let last = (middle + series::OF_DECADE * DECADES_UP).max(first + series::OF_DECADE);
        let capacities = ((last - first) * FINE + 1) as usize;
        let expected = f64::from((middle - first) * FINE) * FINE_LN + EXPECTED.ln();
        let mut weights = Vec::with_capacity(capacities * CELLS);
        for capacity in 0..capacities {
            let from = (capacity as f64 * FINE_LN - expected).abs();
            let of_capacity = (-from / SPREAD).exp();
            for (_, of_scale) in SCALES {
                weights.extend(DISTURBED.map(|(_, of_share)| of_capacity * of_scale * of_share));
            }
        }
        let logistic = SCALES.map(|(scale, _)| logistic_of(scale, capacities));
        let mut belief =
            Self { first, capacities, weights, logistic: logistic.into(), evidence: 0.0 };
        belief.normalise();
        belief.evidence = 0.0;
        belief
    }

    /// Whether a rate is one of those that may be tried.
    pub(crate) fn has(&self, step: i32) -> bool {
        self.steps().contains(&step)
    }

    fn steps(&self) -> std::ops::RangeInclusive<i32> {
        self.first..=self.first + (self.capacities as i32 - 1) / FINE
    }

    fn capacity_of(&self, step: i32) -> usize {
        ((step - self.first) * FINE) as usize
    }

    /// The chance that an undisturbed trial of this step holds.
    fn logistic(&self, scale: usize, capacity: usize, step: i32) -> f64 {
        self.logistic[scale][capacity + self.capacities - self.capacity_of(step)]
    }

    pub(crate) fn hear(&mut self, step: i32, held: bool) {
        let mut at = 0;
        for capacity in 0..self.capacities {
            for scale in 0..SCALES.len() {
                let logistic = self.logistic(scale, capacity, step);
                for (disturbed, _) in DISTURBED {
                    let chance = chance(logistic, disturbed);
                    self.weights[at] *= if held { chance } else { 1.0 - chance };
                    at += 1;
                }
            }
        }
        self.normalise();
    }

    /// The sum is the chance of the last result.
    fn normalise(&mut self) {
        let sum: f64 = self.weights.iter().sum();
        self.weights.iter_mut().for_each(|weight| *weight /= sum);
        self.evidence += sum.ln();
    }

    /// ln of the chance of all results so far under this model.
    pub(crate) fn evidence(&self) -> f64 {
        self.evidence
    }

    fn of_capacities(&self) -> Vec<f64> {
        self.weights.chunks(CELLS).map(|chunk| chunk.iter().sum()).collect()
    }

    /// ln of the ratio of the ends of the interval that has the capacity with 95 %.
    pub(crate) fn width(&self) -> f64 {
        let capacities = self.of_capacities();
        let [low, high] = [0.025, 0.975].map(|part| quantile(&capacities, part) as f64);
        (high - low) * FINE_LN
    }

    /// The rates near to all plausible capacities, rising.
    pub(crate) fn rates(&self) -> Vec<RateBelief> {
        let capacities = self.of_capacities();
        let plausible = quantile(&capacities, TAIL)..=quantile(&capacities, 1.0 - TAIL);
        let margin = (BESIDE * FINE) as usize;
        let near = plausible.start().saturating_sub(margin)..=*plausible.end() + FINE as usize;
        let near = self.steps().filter(|step| near.contains(&self.capacity_of(*step)));
        near.map(|step| self.rate(step, &capacities, plausible.clone())).collect()
    }

    fn rate(
        &self,
        step: i32,
        capacities: &[f64],
        plausible: std::ops::RangeInclusive<usize>,
    ) -> RateBelief {
        let (mut holds, mut any, mut left) = (0.0, 0.0, 0.0);
        for capacity in plausible {
            let mut of_capacity = 0.0;
            for scale in 0..SCALES.len() {
                let logistic = self.logistic(scale, capacity, step);
                let at = capacity * CELLS + scale * DISTURBED.len();
                let weights = &self.weights[at..at + DISTURBED.len()];
                for (weight, (disturbed, _)) in weights.iter().zip(DISTURBED) {
                    holds += weight * logistic;
                    of_capacity += weight * chance(logistic, disturbed);
                }
            }
            any += of_capacity;
            if capacities[capacity] > 0.0 {
                left += capacities[capacity] * entropy(of_capacity / capacities[capacity]);
            }
        }
        let below = capacities[..self.capacity_of(step).min(capacities.len())].iter().sum();
        RateBelief { step, holds, below, information: entropy(any) - left }
    }
}

fn logistic_of(scale: f64, capacities: usize) -> Vec<f64> {
    let above = (0..2 * capacities).map(|at| (at as f64 - capacities as f64) * FINE_LN);
    above.map(|above| 1.0 / (1.0 + (-above / scale).exp())).collect()
}

/// The chance that any trial holds.
fn chance(logistic: f64, disturbed: f64) -> f64 {
    LUCKY + (1.0 - LUCKY - disturbed) * logistic
}

fn entropy(chance: f64) -> f64 {
    -[chance, 1.0 - chance].map(|p| if p > 0.0 { p * p.ln() } else { 0.0 }).iter().sum::<f64>()
}

fn quantile(weights: &[f64], part: f64) -> usize {
    let mut sum = 0.0;
    let found = weights.iter().position(|weight| {
        sum += weight;
        sum >= part
    });
    found.unwrap_or(weights.len().saturating_sub(1))
}
