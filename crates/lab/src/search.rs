//! The search for the highest rate that a server sustains: which rate to try next, and when the
//! search is over.
//!
//! From a guess upwards by steps until a rate fails, then by bisecting the ratio between the
//! highest rate that held and the lowest that failed. One good trial of a rate may be luck: the
//! rate must hold in further trials before it is the answer.

use truetps_adaptive::{AdaptiveQuestion, Batch, Source, Stopped};

/// A closed loop measures the server's maximum; an open loop at that rate has a queue that never
/// empties.
const FIRST_SHARE: f64 = 0.8;
/// Two rates closer than this are equal: the search is no more precise.
const RESOLUTION: f64 = 1.05;
const STEP_UP: f64 = 1.25;
const STEP_DOWN: f64 = 0.5;
/// Trials, of the same rate, that must all be good.
const TRIALS_NEEDED: u32 = 3;
/// A server that gives contradictory results, or often none, is not tried for ever.
const TRIALS_MAX: usize = 30;

/// Which is the highest rate that holds? All that decides is in the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RateQuestion;

/// What a trial says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RateReading {
    /// Transactions a second.
    pub(crate) tps: f64,
    pub(crate) holds: bool,
}

/// What a rate is tried for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateStage {
    /// What a closed loop reaches.
    ClosedLoop,
    /// Higher rates until one fails, or lower ones until one holds.
    Bracketing,
    /// Between a rate that held and one that failed.
    Bisecting,
    /// The answer, again.
    Confirming,
}

/// How a search stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RateOutcome {
    Unfinished,
    /// A rate was found, or no rate holds.
    Answered,
    /// The results contradict each other, or too many trials gave none.
    Undecided,
}

/// What is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateFindings {
    pub(crate) outcome: RateOutcome,
    /// What a closed loop reached, in transactions a second.
    pub most: Option<f64>,
    /// The highest rate that has held so far, and the lowest that has failed.
    pub held: Option<f64>,
    pub broken: Option<f64>,
}

impl AdaptiveQuestion for RateQuestion {
    /// A rate; `None`: a closed loop.
    type Point = Option<f64>;
    type Reading = RateReading;
    type Stage = RateStage;
    type Findings = RateFindings;

    fn investigate(&self, source: &mut dyn Source<Self>) -> RateFindings {
        let outcome = RateOutcome::Unfinished;
        let findings = RateFindings { outcome, most: None, held: None, broken: None };
        let mut steps = RateSteps { source, findings };
        // Stopped or not: the findings are up to date.
        let _ = steps.run();
        steps.findings
    }
}

struct RateSteps<'a> {
    source: &'a mut dyn Source<RateQuestion>,
    findings: RateFindings,
}

impl RateSteps<'_> {
    fn run(&mut self) -> Result<(), Stopped> {
        let most = loop {
            if let Some(reading) = self.ask(RateStage::ClosedLoop, None)? {
                break reading.tps;
            }
        };
        self.findings.most = Some(most);
        let mut search = Search::new(most * FIRST_SHARE);
        loop {
            match search.next() {
                SearchStep::Try(rate) => {
                    match self.ask(search.stage(), Some(rate))? {
                        Some(reading) => search.heard(rate, reading.holds),
                        None => search.without_result += 1,
                    }
                    (self.findings.held, self.findings.broken) = (search.best(), search.broken());
                }
                SearchStep::Found(_) => {
                    self.findings.outcome = RateOutcome::Answered;
                    return Ok(());
                }
                SearchStep::GivenUp => {
                    self.findings.outcome = RateOutcome::Undecided;
                    return Ok(());
                }
            }
        }
    }

    /// `None`: the trial says nothing about its rate.
    fn ask(&mut self, stage: RateStage, rate: Option<f64>) -> Result<Option<RateReading>, Stopped> {
        let batch = Batch { stage, points: vec![rate], planned: 1 };
        let readings = self.source.run(&batch, &self.findings).ok_or(Stopped)?;
        Ok(readings.first().copied().flatten())
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum SearchStep {
    Try(f64),
    /// The highest rate that held, and the lowest that failed. `None`: not even the lowest tried
    /// rate held.
    Found(Option<f64>),
    /// The allowed number of trials was not enough.
    GivenUp,
}

/// Tried rates and their results.
#[derive(Debug)]
struct Search {
    guess: f64,
    heard: Vec<(f64, bool)>,
    /// Trials that said nothing about their rate.
    without_result: usize,
}

impl Search {
    /// `guess`: where to begin, in transactions a second.
    fn new(guess: f64) -> Self {
        Self { guess: round(guess), heard: Vec::new(), without_result: 0 }
    }

    fn heard(&mut self, rate: f64, held: bool) {
        self.heard.push((rate, held));
    }

    fn next(&self) -> SearchStep {
        let (best, broken, is_close) = (self.best(), self.broken(), self.is_close());
        let confirmed = best.is_some_and(|best| self.trials_of(best) >= TRIALS_NEEDED);
        if is_close && confirmed {
            return SearchStep::Found(best);
        }
        if self.heard.len() + self.without_result >= TRIALS_MAX {
            return SearchStep::GivenUp;
        }
        match (best, broken) {
            (Some(best), Some(_)) if is_close => SearchStep::Try(best),
            (Some(best), Some(broken)) => SearchStep::Try(between(best, broken)),
            (Some(best), None) => SearchStep::Try(round(best * STEP_UP)),
            (None, Some(broken)) if broken * STEP_DOWN < 0.001 => SearchStep::Found(None),
            (None, Some(broken)) => SearchStep::Try(round(broken * STEP_DOWN)),
            (None, None) => SearchStep::Try(self.guess),
        }
    }

    /// The highest rate below all that failed: a rate that failed once does not hold.
    fn best(&self) -> Option<f64> {
        let broken = self.broken().unwrap_or(f64::INFINITY);
        self.heard
            .iter()
            .filter(|(rate, held)| *held && *rate < broken)
            .map(|(rate, _)| *rate)
            .reduce(f64::max)
    }

    /// The lowest rate that failed.
    fn broken(&self) -> Option<f64> {
        self.heard.iter().filter(|(_, held)| !held).map(|(rate, _)| *rate).reduce(f64::min)
    }

    /// Whether the two are as close as the search is precise.
    fn is_close(&self) -> bool {
        self.best().zip(self.broken()).is_some_and(|(best, broken)| broken / best <= RESOLUTION)
    }

    /// What the next rate is tried for.
    fn stage(&self) -> RateStage {
        match (self.best(), self.broken()) {
            (Some(_), Some(_)) if self.is_close() => RateStage::Confirming,
            (Some(_), Some(_)) => RateStage::Bisecting,
            _ => RateStage::Bracketing,
        }
    }

    fn trials_of(&self, rate: f64) -> u32 {
        self.heard.iter().filter(|(other, _)| same(*other, rate)).count() as u32
    }
}

/// The geometric mean; `None` if it rounds to a known rate, which means that the rates are close.
fn between(best: f64, broken: f64) -> f64 {
    let middle = round((best * broken).sqrt());
    if same(middle, best) || same(middle, broken) { best } else { middle }
}

fn same(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-9
}

/// Three digits: the rate is known to 5 % only.
fn round(rate: f64) -> f64 {
    let unit = 10_f64.powf(rate.log10().floor() - 2.0);
    let rounded = (rate / unit).round() * unit;
    // Without the digits that binary fractions add.
    format!("{rounded:.6}").parse().unwrap_or(rounded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(guess: f64, mut holds: impl FnMut(f64, usize) -> bool) -> (SearchStep, usize) {
        let mut search = Search::new(guess);
        for n in 0.. {
            match search.next() {
                SearchStep::Try(rate) => {
                    let held = holds(rate, n);
                    search.heard(rate, held);
                }
                end => return (end, n),
            }
        }
        unreachable!("the search ends")
    }

    #[test]
    fn a_clear_capacity_is_found_to_five_percent() {
        for capacity in [0.9, 37.0, 1_000.0, 48_211.0, 900_000.0] {
            for guess in [0.3, 0.8, 1.0, 1.4, 8.0] {
                let (end, trials) = find(capacity * guess, |rate, _| rate <= capacity);
                let SearchStep::Found(Some(rate)) = end else {
                    panic!("{capacity} from {guess}: {end:?}")
                };
                assert!(
                    rate <= capacity && rate * RESOLUTION * 1.01 >= capacity,
                    "{rate} for {capacity} from {guess}"
                );
                assert!(trials <= 22, "{trials} trials for {capacity} from {guess}");
            }
        }
    }

    /// 2,000 holds in the first trial of three only: the answer is below it.
    #[test]
    fn a_lucky_trial_is_not_the_answer() {
        let mut lucky = true;
        let (end, _) = find(1_900.0, |rate, _| {
            rate <= 1_500.0 || (rate <= 2_000.0 && std::mem::take(&mut lucky))
        });
        let SearchStep::Found(Some(rate)) = end else { panic!("{end:?}") };
        assert!((1_425.0..=1_500.0).contains(&rate), "{rate}");
    }

    #[test]
    fn a_server_that_holds_nothing_or_anything_ends_the_search() {
        assert_eq!(find(10.0, |_, _| false).0, SearchStep::Found(None));
        assert_eq!(find(10.0, |_, _| true).0, SearchStep::GivenUp);
        // Contradictions: good and bad in turn.
        let (end, trials) = find(1_000.0, |_, n| n % 2 == 0);
        assert!(trials <= TRIALS_MAX, "{end:?}");
    }

    /// Equal results lead to equal rates; those that end early, to the rate after them.
    #[test]
    fn a_record_is_replayed() {
        struct Server(Vec<(Option<f64>, Option<RateReading>)>, usize);
        impl Source<RateQuestion> for Server {
            fn run(
                &mut self,
                batch: &Batch<RateQuestion>,
                _: &RateFindings,
            ) -> Option<Vec<Option<RateReading>>> {
                let rate = batch.points[0];
                // The second trial says nothing.
                let reading =
                    RateReading { tps: 1_000.0, holds: rate.is_none_or(|rate| rate < 900.0) };
                self.0.push((rate, (self.0.len() != 1).then_some(reading)));
                (self.0.len() <= self.1).then(|| vec![self.0.last().unwrap().1])
            }
        }
        let mut server = Server(Vec::new(), 100);
        let findings = RateQuestion.investigate(&mut server);
        assert_eq!((findings.outcome, findings.most), (RateOutcome::Answered, Some(1_000.0)));
        assert_eq!((server.0[1].0, server.0[2].0), (Some(800.0), Some(800.0)), "asked again");
        let all = server.0;
        let replayed = RateQuestion.replay(all.clone());
        assert!(replayed.findings == findings && !replayed.is_foreign);
        for known in 0..all.len() {
            let part = RateQuestion.replay(all[..known].to_vec());
            assert_eq!(part.findings.outcome, RateOutcome::Unfinished);
            let mut again = Server(Vec::new(), known);
            RateQuestion.investigate(&mut again);
            assert_eq!(again.0, all[..=known], "the next rate after {known}");
        }
    }

    /// Trials that say nothing are of the allowed number, too.
    #[test]
    fn a_server_that_often_fails_ends_the_search() {
        struct Failing(usize);
        impl Source<RateQuestion> for Failing {
            fn run(
                &mut self,
                batch: &Batch<RateQuestion>,
                _: &RateFindings,
            ) -> Option<Vec<Option<RateReading>>> {
                self.0 += 1;
                let holds = batch.points[0].is_none_or(|rate| rate < 900.0);
                let is_known = self.0 == 1 || self.0.is_multiple_of(6);
                Some(vec![is_known.then_some(RateReading { tps: 1_000.0, holds })])
            }
        }
        let mut server = Failing(0);
        let findings = RateQuestion.investigate(&mut server);
        assert_eq!((findings.outcome, server.0), (RateOutcome::Undecided, 1 + TRIALS_MAX));
    }

    #[test]
    fn rates_have_three_digits() {
        for (rate, expect) in
            [(48_211.0, 48_200.0), (0.123_456, 0.123), (999.9, 1_000.0), (37.04, 37.0)]
        {
            assert!(same(round(rate), expect), "{rate}: {}", round(rate));
        }
    }
}
