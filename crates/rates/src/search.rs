//! Which rates are tried, and when that is enough.

use truetps_adaptive::{AdaptiveQuestion, Batch, Source, Stopped};
use truetps_random::RandomStream;

use crate::estimate::{RateBounds, RateEstimate, RateResults};
use crate::series;

/// Trials of rates, with and without a result.
pub const TRIALS_MAX: usize = 30;
/// Trials of the rate that is the answer.
const LOW_TRIALS_MIN: usize = 3;
/// ln of the ratio within which the capacity is known when bounds are tried.
const WIDTH_MAX: f64 = 0.25;

/// Which is the highest rate that holds? All that decides is the seed and the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateQuestion {
    pub seed: u64,
}

/// What a trial says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateReading {
    /// Transactions a second.
    pub tps: f64,
    pub holds: bool,
}

/// What rates are tried for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateStage {
    /// What a closed loop reaches.
    ClosedLoop,
    /// Where the capacity lies.
    Searching,
    /// The ends of the interval.
    Bounding,
}

/// How a search stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateOutcome {
    Unfinished,
    /// An interval was found, or no rate holds.
    Answered,
    /// The results contradict each other, or too many trials gave none.
    Undecided,
}

/// What is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateFindings {
    pub outcome: RateOutcome,
    /// What a closed loop reached, in transactions a second.
    pub most: Option<f64>,
    pub estimate: Option<RateEstimate>,
}

impl AdaptiveQuestion for RateQuestion {
    /// A rate; `None`: a closed loop.
    type Point = Option<f64>;
    type Reading = RateReading;
    type Stage = RateStage;
    type Findings = RateFindings;

    fn investigate(&self, source: &mut dyn Source<Self>) -> RateFindings {
        let findings =
            RateFindings { outcome: RateOutcome::Unfinished, most: None, estimate: None };
        let mut steps = RateSteps { source, findings, random: RandomStream::new(self.seed, 0) };
        // Stopped or not: the findings are up to date.
        let _ = steps.run();
        steps.findings
    }
}

struct RateSteps<'a> {
    source: &'a mut dyn Source<RateQuestion>,
    findings: RateFindings,
    random: RandomStream,
}

impl RateSteps<'_> {
    fn run(&mut self) -> Result<(), Stopped> {
        let most = loop {
            let readings = self.ask(RateStage::ClosedLoop, vec![None])?;
            if let Some(reading) = readings.into_iter().flatten().next() {
                break reading.tps;
            }
        };
        self.findings.most = Some(most);
        let mut heard = RateResults::new(most);
        let (mut trials, mut has_held) = (0, false);
        loop {
            let bounds = heard.bounds();
            let (stage, mut steps) = next(&heard, &bounds);
            if steps.is_empty() || trials >= TRIALS_MAX {
                self.findings.outcome = outcome(&bounds, has_held);
                return Ok(());
            }
            self.random.shuffle(&mut steps);
            steps.truncate(TRIALS_MAX - trials);
            let points = steps.iter().map(|step| Some(series::rate(*step))).collect();
            let readings = self.ask(stage, points)?;
            trials += steps.len();
            for (step, reading) in steps.into_iter().zip(readings) {
                let Some(RateReading { holds, .. }) = reading else { continue };
                heard.hear(step, holds);
                has_held |= holds;
            }
            self.findings.estimate = Some(heard.estimate());
        }
    }

    fn ask(
        &mut self,
        stage: RateStage,
        points: Vec<Option<f64>>,
    ) -> Result<Vec<Option<RateReading>>, Stopped> {
        let batch = Batch { stage, planned: points.len(), points };
        self.source.run(&batch, &self.findings).ok_or(Stopped)
    }
}

/// The most telling rate until the capacity is known well enough, then the ends of the interval,
/// until both were tried. Empty: nothing more is needed.
fn next(heard: &RateResults, bounds: &RateBounds) -> (RateStage, Vec<i32>) {
    let Some(most_telling) = bounds.most_telling else {
        return (RateStage::Searching, Vec::new());
    };
    if heard.belief.width() > WIDTH_MAX {
        return (RateStage::Searching, vec![most_telling]);
    }
    let is_low_known = bounds
        .low
        .zip(bounds.low_tried)
        .is_some_and(|(best, tried)| best - tried <= 1 && heard.trials_of(tried) >= LOW_TRIALS_MIN);
    let is_high_known =
        bounds.high.zip(bounds.high_tried).is_some_and(|(best, tried)| tried - best <= 1);
    let low = bounds.low.or(Some(most_telling)).filter(|_| !is_low_known);
    let high = bounds.high.or(Some(most_telling)).filter(|_| !is_high_known);
    (RateStage::Bounding, low.into_iter().chain(high).collect())
}

fn outcome(bounds: &RateBounds, has_held: bool) -> RateOutcome {
    match (bounds.low_tried, bounds.high_tried) {
        (Some(_), Some(_)) => RateOutcome::Answered,
        (None, Some(_)) if !has_held => RateOutcome::Answered,
        _ => RateOutcome::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each rate with its result.
    type Trials = Vec<(Option<f64>, Option<RateReading>)>;

    /// A server for which `holds` says whether the n-th trial of a rate holds.
    struct Server<F> {
        holds: F,
        closed_loop_tps: f64,
        trials: Trials,
        until: usize,
    }

    impl<F: FnMut(f64, usize) -> Option<bool>> Source<RateQuestion> for Server<F> {
        fn run(
            &mut self,
            batch: &Batch<RateQuestion>,
            _: &RateFindings,
        ) -> Option<Vec<Option<RateReading>>> {
            let mut readings = Vec::new();
            for point in &batch.points {
                let n = self.trials.len();
                if n >= self.until {
                    return None;
                }
                let holds = point.map_or(Some(true), |rate| (self.holds)(rate, n));
                let tps = self.closed_loop_tps;
                let reading = holds.map(|holds| RateReading { tps, holds });
                self.trials.push((*point, reading));
                readings.push(reading);
            }
            Some(readings)
        }
    }

    fn search<F: FnMut(f64, usize) -> Option<bool>>(
        closed_loop_tps: f64,
        until: usize,
        holds: F,
    ) -> (RateFindings, Trials) {
        let mut server = Server { holds, closed_loop_tps, trials: Vec::new(), until };
        let findings = RateQuestion { seed: 7 }.investigate(&mut server);
        (findings, server.trials)
    }

    #[test]
    fn a_clear_capacity_is_between_two_rates_that_were_tried() {
        for capacity in [0.9, 37.0, 1_000.0, 48_211.0, 900_000.0] {
            for most in [0.6, 1.0, 1.4, 8.0, 90.0] {
                let (found, trials) =
                    search(capacity * most, usize::MAX, |rate, _| Some(rate <= capacity));
                let estimate = found.estimate.unwrap();
                let (low, high) = (estimate.low.unwrap(), estimate.high.unwrap());
                assert_eq!(found.outcome, RateOutcome::Answered, "{capacity} {most}");
                assert!(
                    low.rate <= capacity && high.rate >= capacity && high.rate / low.rate < 1.55,
                    "{capacity} {most}: {estimate:?}"
                );
                assert!(low.of >= LOW_TRIALS_MIN && low.held == low.of && high.held == 0);
                let most_trials = if (1.0..2.0).contains(&most) { 18 } else { TRIALS_MAX };
                assert!(trials.len() <= most_trials && !estimate.is_flat, "{}", trials.len());
            }
        }
    }

    #[test]
    fn one_failure_excludes_no_rate_and_one_success_is_no_answer() {
        // The first trial of a rate below the capacity fails, as something disturbs it.
        let mut was_disturbed = false;
        let (found, _) = search(1_400.0, usize::MAX, |rate, _| {
            let is_disturbed = rate < 1_000.0 && !std::mem::replace(&mut was_disturbed, true);
            Some(rate <= 1_000.0 && !is_disturbed)
        });
        let estimate = found.estimate.unwrap();
        assert!(estimate.low.unwrap().rate >= 700.0, "{estimate:?}");
        let mut was_lucky = false;
        let (found, _) = search(1_400.0, usize::MAX, |rate, _| {
            Some(rate <= 1_000.0 || (rate < 1_200.0 && !std::mem::replace(&mut was_lucky, true)))
        });
        assert!(found.estimate.unwrap().low.unwrap().rate <= 1_000.0, "{found:?}");
    }

    #[test]
    fn a_server_that_holds_nothing_or_anything_ends_the_search() {
        let (found, trials) = search(10.0, usize::MAX, |_, _| Some(false));
        assert_eq!((found.outcome, found.estimate.unwrap().low), (RateOutcome::Answered, None));
        assert!(trials.len() <= 1 + TRIALS_MAX);
        let (found, trials) = search(10.0, usize::MAX, |_, _| Some(true));
        assert_eq!((found.outcome, trials.len()), (RateOutcome::Undecided, 1 + TRIALS_MAX));
        let (found, trials) = search(10.0, usize::MAX, |_, _| None);
        assert_eq!((found.outcome, trials.len()), (RateOutcome::Undecided, 1 + TRIALS_MAX));
    }

    #[test]
    fn failures_that_do_not_depend_on_the_rate_are_noticed() {
        let (found, trials) = search(1_000.0, usize::MAX, |_, n| Some(n % 2 == 0));
        assert!(trials.len() <= 1 + TRIALS_MAX);
        assert!(found.estimate.unwrap().is_flat, "{found:?} {trials:?}");
    }

    /// Equal results lead to equal rates; those that end early, to the rate after them.
    #[test]
    fn a_record_is_replayed() {
        let holds = |rate: f64, n: usize| (n != 1).then_some(rate < 900.0);
        let (findings, all) = search(1_000.0, usize::MAX, holds);
        let replayed = RateQuestion { seed: 7 }.replay(all.clone());
        assert!(replayed.findings == findings && !replayed.is_foreign);
        for known in 0..all.len() {
            let part = RateQuestion { seed: 7 }.replay(all[..known].to_vec());
            assert_eq!(part.findings.outcome, RateOutcome::Unfinished);
            assert_eq!(search(1_000.0, known, holds).1, all[..known]);
        }
    }
}
