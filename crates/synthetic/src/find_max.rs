//! Searches for the highest rate on a server whose capacity is known.

use std::fmt::Write as _;

use truetps_adaptive::{AdaptiveQuestion, Batch, Source};
use truetps_random::RandomStream;
use truetps_rates::{RateEstimate, RateFindings, RateQuestion, RateReading};

use crate::{NoiseKind, TrialNoise};

/// Trials that a rate is tested with after a search.
const NEW_TRIALS: u64 = 100;

/// What is made up: how trials scatter, and how many of them something else disturbs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FindMaxCell {
    pub noise: NoiseKind,
    /// Standard deviation of the logarithm of the capacity between trials.
    pub sd: f64,
    /// Share of the trials that lose 20 to 80 % of their capacity.
    pub disturbed: f64,
}

/// How often searches were right. Shares are of the searches with an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct FindMaxRow {
    pub cell: FindMaxCell,
    pub method: &'static str,
    /// Share of the searches without an answer.
    pub unanswered: f64,
    /// The mean chance that a new undisturbed trial at the lower end holds.
    pub holds: f64,
    /// Share of the intervals that have the capacity.
    pub covered: f64,
    /// Median of lower end over capacity, and of upper end over lower end.
    pub low: f64,
    pub width: f64,
    /// Median and 95th percentile.
    pub trials: (f64, f64),
}

/// One search on one server.
struct Searched {
    low: Option<f64>,
    high: Option<f64>,
    trials: usize,
}

/// A server: each trial has a capacity of its own.
struct SyntheticServer {
    capacity: f64,
    noise: TrialNoise,
    disturbed: f64,
    random: RandomStream,
    trials: usize,
}

impl SyntheticServer {
    fn new(cell: &FindMaxCell, seed: u64) -> Self {
        let mut random = RandomStream::new(seed, 11);
        let capacity = 1000.0 * 10_f64.powf(random.open_unit());
        let noise = TrialNoise::new(cell.noise, cell.sd, random.split());
        Self { capacity, noise, disturbed: cell.disturbed, random: random.split(), trials: 0 }
    }

    /// The rate that a closed loop reaches, well above the highest one that an open loop holds.
    fn closed_loop_tps(&mut self) -> f64 {
        let share = 0.3 + 0.65 * self.random.open_unit();
        self.capacity * self.noise.next_ln().exp() / share
    }

    fn holds(&mut self, rate: f64) -> bool {
        self.trials += 1;
        let is_disturbed = self.random.open_unit() < self.disturbed;
        let lost = 0.2 + 0.6 * self.random.open_unit();
        let left = if is_disturbed { 1.0 - lost } else { 1.0 };
        rate <= self.capacity * self.noise.next_ln().exp() * left
    }

    /// The chance that a new undisturbed trial holds at this rate.
    fn chance(&self, rate: f64) -> f64 {
        let held = (0..NEW_TRIALS).filter(|number| {
            let mut noise = self.noise.going_on(RandomStream::new(*number, 77));
            rate <= self.capacity * noise.next_ln().exp()
        });
        held.count() as f64 / NEW_TRIALS as f64
    }
}

impl Source<RateQuestion> for SyntheticServer {
    fn run(
        &mut self,
        batch: &Batch<RateQuestion>,
        _: &RateFindings,
    ) -> Option<Vec<Option<RateReading>>> {
        let readings = batch.points.iter().map(|point| {
            Some(match point {
                None => RateReading { tps: self.closed_loop_tps(), holds: true },
                Some(rate) => RateReading { tps: *rate, holds: self.holds(*rate) },
            })
        });
        Some(readings.collect())
    }
}

/// A way to search: the first number is the throughput of the closed loop.
type Method = fn(&mut SyntheticServer, f64, u64) -> Searched;

const METHODS: [(&str, Method); 3] =
    [("truetps", by_belief), ("bisection", by_bisection), ("staircase", by_staircase)];

fn by_belief(server: &mut SyntheticServer, _: f64, seed: u64) -> Searched {
    let found = RateQuestion { seed }.investigate(server);
    let RateEstimate { low, high, .. } =
        found.estimate.unwrap_or(RateEstimate { low: None, high: None, is_flat: false });
    Searched {
        low: low.map(|tried| tried.rate),
        high: high.map(|tried| tried.rate),
        trials: server.trials + 1,
    }
}

/// Up or down until one rate held and a higher one failed, then the middle, to 5 %; the answer has
/// held three times, and one failure excludes a rate. This was truetps's rule at first.
fn by_bisection(server: &mut SyntheticServer, closed_loop_tps: f64, _: u64) -> Searched {
    const TRIALS_MAX: usize = 30;
    let (mut held, mut broken): (Vec<f64>, Option<f64>) = (Vec::new(), None);
    let mut next = closed_loop_tps * 0.8;
    while server.trials < TRIALS_MAX {
        if server.holds(next) {
            held.push(next);
        } else {
            broken = Some(broken.map_or(next, |broken: f64| broken.min(next)));
        }
        held.retain(|rate| broken.is_none_or(|broken| *rate < broken));
        let best = held.iter().copied().reduce(f64::max);
        next = match (best, broken) {
            (Some(best), Some(broken)) if broken / best > 1.05 => (best * broken).sqrt(),
            (Some(best), Some(_)) if held.iter().filter(|rate| **rate >= best).count() >= 3 => {
                break;
            }
            (Some(best), Some(_)) => best,
            (Some(best), None) => best * 1.25,
            (None, _) => next * 0.5,
        };
    }
    let low = held.into_iter().reduce(f64::max);
    Searched { low, high: broken, trials: server.trials + 1 }
}

/// Three that hold go up a step, one failure goes down: the rates turn around the one at which
/// three hold half of the time, 79 %. The interval is of the rates at which it turned, without the
/// first two.
fn by_staircase(server: &mut SyntheticServer, closed_loop_tps: f64, _: u64) -> Searched {
    const TRIALS: usize = 20;
    let (mut rate, mut in_a_row, mut went_up) = (closed_loop_tps * 0.8, 0, false);
    let mut turns = Vec::new();
    while server.trials < TRIALS {
        let is_up = if server.holds(rate) {
            in_a_row += 1;
            if in_a_row < 3 {
                continue;
            }
            true
        } else {
            false
        };
        in_a_row = 0;
        if is_up != went_up {
            turns.push(rate);
        }
        went_up = is_up;
        rate *= if is_up { 1.1 } else { 1.0 / 1.1 };
    }
    let used = turns.get(2..).filter(|used| !used.is_empty()).unwrap_or(&turns);
    Searched {
        low: used.iter().copied().reduce(f64::min),
        high: used.iter().copied().reduce(f64::max),
        trials: server.trials + 1,
    }
}

/// What this many searches of each method gave.
pub fn find_max(cell: FindMaxCell, repeats: u64) -> Vec<FindMaxRow> {
    METHODS.iter().map(|(name, method)| row(cell, name, *method, repeats)).collect()
}

fn row(cell: FindMaxCell, name: &'static str, method: Method, repeats: u64) -> FindMaxRow {
    let (mut holds, mut covered) = (0.0, 0);
    let (mut lows, mut widths, mut trials) = (Vec::new(), Vec::new(), Vec::new());
    for seed in 0..repeats {
        let mut server = SyntheticServer::new(&cell, seed);
        // The search of truetps asks for it by itself.
        let closed_loop_tps = if name == METHODS[0].0 { 0.0 } else { server.closed_loop_tps() };
        let searched = method(&mut server, closed_loop_tps, seed);
        trials.push(searched.trials as f64);
        let (Some(low), Some(high)) = (searched.low, searched.high) else { continue };
        holds += server.chance(low);
        covered += usize::from((low..=high).contains(&server.capacity));
        lows.push(low / server.capacity);
        widths.push(high / low);
    }
    let answered = lows.len() as f64;
    FindMaxRow {
        cell,
        method: name,
        unanswered: 1.0 - answered / repeats as f64,
        holds: holds / answered,
        covered: covered as f64 / answered,
        low: quantile(&mut lows, 0.5),
        width: quantile(&mut widths, 0.5),
        trials: (quantile(&mut trials, 0.5), quantile(&mut trials, 0.95)),
    }
}

fn quantile(values: &mut [f64], part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get((part * (values.len() as f64 - 1.0)).round() as usize).copied().unwrap_or(f64::NAN)
}

/// All cells of the table in `docs/method/rates.md`.
fn cells() -> impl Iterator<Item = FindMaxCell> {
    let normal = [0.01, 0.03, 0.06, 0.1, 0.2].map(|sd| (NoiseKind::Normal, sd));
    let others = NoiseKind::ALL.into_iter().filter(|kind| *kind != NoiseKind::Normal);
    let others = others.flat_map(|kind| [(kind, 0.06), (kind, 0.1)]);
    normal
        .into_iter()
        .chain(others)
        .flat_map(|(noise, sd)| [0.0, 0.1].map(|disturbed| FindMaxCell { noise, sd, disturbed }))
}

/// The table in Markdown.
pub fn find_max_table(repeats: u64) -> String {
    let mut text =
        "| noise | sd | disturbed | method | no answer | a new trial holds | interval has \
                    the capacity | low / capacity | high / low | trials (median, 95 %) \
                    |\n|---|---|---|---|---|---|---|---|---|---|\n"
            .to_owned();
    for row in cells().flat_map(|cell| find_max(cell, repeats)) {
        let FindMaxCell { noise, sd, disturbed } = row.cell;
        let _ = writeln!(
            text,
            "| {} | {:.0} % | {:.0} % | {} | {:.1} % | {:.1} % | {:.1} % | {:.2} | {:.2} | {:.0}, \
             {:.0} |",
            noise.name(),
            sd * 100.0,
            disturbed * 100.0,
            row.method,
            row.unanswered * 100.0,
            row.holds * 100.0,
            row.covered * 100.0,
            row.low,
            row.width,
            row.trials.0,
            row.trials.1,
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ranges that `docs/method/rates.md` states, with room for the error of 40 searches.
    #[test]
    fn a_new_trial_at_the_lower_end_holds_and_the_interval_has_the_capacity() {
        for (sd, disturbed) in [(0.03, 0.0), (0.1, 0.1)] {
            let cell = FindMaxCell { noise: NoiseKind::Normal, sd, disturbed };
            let row = row(cell, METHODS[0].0, by_belief, 40);
            assert!(row.holds >= 0.95 && row.covered >= 0.90, "{row:?}");
            assert!(row.trials.1 <= 31.0 && row.unanswered <= 0.15, "{row:?}");
        }
        let flawed = FindMaxCell { noise: NoiseKind::Normal, sd: 0.06, disturbed: 0.0 };
        let before = row(flawed, "bisection", by_bisection, 40);
        assert!(
            before.holds < 0.9 && before.covered < 0.5,
            "the test sees what is wrong: {before:?}"
        );
    }
}
