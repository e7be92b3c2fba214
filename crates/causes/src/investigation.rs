//! The order of steps, from the two corners to the answer.

use truetps_random::RandomStream;

use crate::cells::{CellMeans, Cells, Noise};
use crate::confirming::Confirmed;
use crate::findings::{Findings, NotStarted, Outcome, Screened};
use crate::interval::LogEstimate;
use crate::mixture::Mixture;
use crate::screening::Screen;

/// Changes of interest are at least this part of the difference between A and B.
const SMALLEST_SHARE: f64 = 0.1;
/// With so few factors all mixtures are measured, and nothing is screened.
const ALL_MIXTURES_MAX: usize = 4;
/// Times that the design of the screening is run.
const SCREENINGS_MAX: usize = 3;
const SUSPECTS_MAX: usize = 3;
/// Blocks in which the suspects are measured.
const SUSPECT_BLOCKS: usize = 2;
/// Blocks of both corners where no factor was found.
const CHECK_BLOCKS: usize = 4;

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct CauseQuestion {
    pub factors: usize,
    /// Factors that are known to matter, the most suspicious first.
    pub suspects: Vec<usize>,
    /// Of all random orders and signs.
    pub seed: u64,
    /// The smallest difference of interest, on logarithms.
    pub smallest: f64,
}

impl CauseQuestion {
    /// With the smallest difference of interest in percent, upward.
    pub fn of(factors: usize, suspects: &[usize], seed: u64, smallest_percent: f64) -> Self {
        Self {
            factors,
            suspects: suspects.to_vec(),
            seed,
            smallest: (smallest_percent / 100.0).ln_1p(),
        }
    }
}

/// What a batch is measured for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    Corners,
    Suspects,
    Screening,
    Confirming,
}

/// Mixtures to measure one after the other, in this order: a block, within which the machine is taken to be the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    pub stage: Stage,
    pub mixtures: Vec<Mixture>,
    /// Trials of this stage that are planned with this batch and after it; later stages may add more.
    pub planned: usize,
}

/// Measures mixtures, or knows their results.
pub trait TrialSource {
    /// The logarithm of throughput for each mixture of the batch, in its order; `None` for a mixture that gave no result.
    /// In place of a list, `None` ends the investigation with what is known.
    fn run(&mut self, batch: &Batch, so_far: &Findings) -> Option<Vec<Option<f64>>>;
}

/// The source has ended the investigation.
pub(crate) struct Stopped;

/// Investigates as far as the source has results. The same question and results make the same batches and findings.
pub fn investigate(question: &CauseQuestion, source: &mut dyn TrialSource) -> Findings {
    let mut investigation = Investigation::new(question, source);
    // Stopped or not: the findings are up to date.
    let _ = investigation.run();
    investigation.findings.others = investigation.others();
    investigation.findings
}

pub(crate) struct Investigation<'a> {
    pub(crate) question: &'a CauseQuestion,
    source: &'a mut dyn TrialSource,
    pub(crate) random: RandomStream,
    pub(crate) cells: Cells,
    pub(crate) screen: Screen,
    /// The factors, or groups of them that do not work apart.
    pub(crate) units: Vec<Mixture>,
    /// Mixtures with results.
    pub(crate) started: Vec<Mixture>,
    /// Of the units that were confirmed last.
    pub(crate) shares: Vec<(Mixture, LogEstimate)>,
    pub(crate) findings: Findings,
}

impl<'a> Investigation<'a> {
    fn new(question: &'a CauseQuestion, source: &'a mut dyn TrialSource) -> Self {
        Self {
            question,
            source,
            random: RandomStream::new(question.seed, 0),
            cells: Cells::default(),
            screen: Screen::default(),
            units: (0..question.factors).map(Mixture::only).collect(),
            started: Vec::new(),
            shares: Vec::new(),
            findings: Findings { smallest: question.smallest, ..Findings::default() },
        }
    }

    fn run(&mut self) -> Result<(), Stopped> {
        if !self.corners()? {
            return Ok(());
        }
        if self.units.len() <= ALL_MIXTURES_MAX {
            let confirmed = self.confirm(&self.units.clone())?;
            return self.conclude(&confirmed);
        }
        self.suspects()?;
        loop {
            self.screen_once()?;
            self.repair();
            let is_last = self.findings.screenings >= SCREENINGS_MAX;
            if !is_last && !self.is_screened() {
                continue;
            }
            let found = self.screened_units();
            if !found.is_empty() {
                let confirmed = self.confirm(&found)?;
                if confirmed.is_closed || is_last {
                    return self.conclude(&confirmed);
                }
            } else if is_last {
                return self.nothing_found();
            }
        }
    }

    fn conclude(&mut self, confirmed: &Confirmed) -> Result<(), Stopped> {
        if self.findings.causes.is_empty() {
            return self.nothing_found();
        }
        self.findings.outcome =
            if confirmed.is_closed { Outcome::Explained } else { Outcome::PartlyExplained };
        Ok(())
    }

    /// The corners are measured again: their difference may have been noise.
    fn nothing_found(&mut self) -> Result<(), Stopped> {
        let (a, b) = (Mixture::A, self.b());
        for block in 0..CHECK_BLOCKS {
            self.run_block(Stage::Corners, vec![a, a, b, b], 4 * (CHECK_BLOCKS - block))?;
        }
        let still_differs = self.corners_differ();
        self.findings.outcome =
            if still_differs { Outcome::NothingFound } else { Outcome::NotReproduced };
        Ok(())
    }

    pub(crate) fn b(&self) -> Mixture {
        Mixture::b(self.question.factors)
    }

    /// Changes below this are of no interest.
    pub(crate) fn smallest(&self) -> f64 {
        self.question.smallest.max(self.gap() * SMALLEST_SHARE)
    }

    /// The size of the difference between A and B.
    pub(crate) fn gap(&self) -> f64 {
        self.findings.gap.map_or(0.0, |gap| gap.value.abs())
    }

    /// Each suspect alone, beside A: what is known soonest.
    fn suspects(&mut self) -> Result<(), Stopped> {
        let suspects: Vec<_> = self.question.suspects.iter().copied().take(SUSPECTS_MAX).collect();
        if suspects.is_empty() {
            return Ok(());
        }
        for block in 0..SUSPECT_BLOCKS {
            let mixtures: Vec<_> = [Mixture::A]
                .into_iter()
                .chain(suspects.iter().map(|one| Mixture::only(*one)))
                .collect();
            let planned = mixtures.len() * (SUSPECT_BLOCKS - block);
            self.run_block(Stage::Suspects, mixtures, planned)?;
        }
        if let Some((means, noise)) = self.means() {
            let alone = |one: &usize| {
                Some((*one, means.step(Mixture::A, Mixture::only(*one), noise)?.interval()))
            };
            self.findings.suspects = suspects.iter().filter_map(alone).collect();
        }
        Ok(())
    }

    /// The means of all mixtures that were measured in blocks, and the noise of all trials.
    pub(crate) fn means(&self) -> Option<(CellMeans, Noise)> {
        let means = self.cells.fit()?;
        let noise = means.noise().and(self.screen.noise(&self.units));
        (noise.freedom >= 1.0).then_some((means, noise))
    }

    /// Measures these in random order, as one block.
    pub(crate) fn run_block(
        &mut self,
        stage: Stage,
        mut mixtures: Vec<Mixture>,
        planned: usize,
    ) -> Result<(), Stopped> {
        self.random.shuffle(&mut mixtures);
        let results = self.ask(stage, &mixtures, planned)?;
        self.cells.add_block(mixtures.into_iter().zip(results));
        self.findings.noise = self.means().map(|(_, noise)| noise.variance().sqrt());
        Ok(())
    }

    /// Measures these in this order.
    pub(crate) fn ask(
        &mut self,
        stage: Stage,
        mixtures: &[Mixture],
        planned: usize,
    ) -> Result<Vec<Option<f64>>, Stopped> {
        let batch = Batch { stage, mixtures: mixtures.to_vec(), planned };
        let Some(results) = self.source.run(&batch, &self.findings) else {
            self.findings.left = Some(planned);
            return Err(Stopped);
        };
        self.findings.trials += results.len();
        for (mixture, result) in mixtures.iter().zip(&results) {
            if result.is_some() {
                self.started.push(*mixture);
            } else {
                self.findings.not_started.push(NotStarted { mixture: *mixture });
            }
        }
        Ok(results)
    }

    /// Factors that are no causes.
    fn others(&self) -> Vec<Screened> {
        let effects = self.effects();
        let is_cause =
            |unit: &Mixture| self.findings.causes.iter().any(|cause| unit.has(cause.factor));
        let of_unit = |(index, unit): (usize, &Mixture)| {
            let of_mixtures = || Some(self.shares.iter().find(|(other, _)| other == unit)?.1);
            let effect = effects.as_ref().map(|effects| effects[index]).or_else(of_mixtures);
            let effect = effect.map(|effect| effect.interval());
            unit.factors().map(move |factor| Screened { factor, effect }).collect::<Vec<_>>()
        };
        self.units
            .iter()
            .enumerate()
            .filter(|(_, unit)| !is_cause(unit))
            .flat_map(of_unit)
            .collect()
    }
}
