//! An investigation at any time: what was measured, and how more is.

use truetps_adaptive::{Batch, Source, Stopped};
use truetps_random::RandomStream;

use crate::cells::{CellMeans, Cells, Noise};
use crate::findings::{Findings, NotStarted};
use crate::interval::LogEstimate;
use crate::mixture::Mixture;
use crate::question::{CauseQuestion, Stage};
use crate::screen::Screen;

/// Changes of interest are at least this part of the difference between A and B.
const SMALLEST_SHARE: f64 = 0.1;

pub(crate) struct Investigation<'a> {
    pub(crate) question: &'a CauseQuestion,
    source: &'a mut dyn Source<CauseQuestion>,
    pub(crate) random: RandomStream,
    pub(crate) cells: Cells,
    pub(crate) screen: Screen,
    /// The factors, or groups of them that do not work apart.
    pub(crate) units: Vec<Mixture>,
    /// Mixtures with results.
    pub(crate) started: Vec<Mixture>,
    /// The shares of the units that were confirmed last.
    pub(crate) shares: Vec<(Mixture, LogEstimate)>,
    /// The units that were confirmed last, in order, and in how many blocks.
    pub(crate) confirmed: Option<(Vec<Mixture>, usize)>,
    pub(crate) findings: Findings,
}

impl<'a> Investigation<'a> {
    pub(crate) fn new(
        question: &'a CauseQuestion,
        source: &'a mut dyn Source<CauseQuestion>,
    ) -> Self {
        Self {
            question,
            source,
            random: RandomStream::new(question.seed, 0),
            cells: Cells::default(),
            screen: Screen::default(),
            units: (0..question.factors).map(Mixture::only).collect(),
            started: Vec::new(),
            shares: Vec::new(),
            confirmed: None,
            findings: Findings { smallest: question.smallest, ..Findings::default() },
        }
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
        self.note_noise();
        Ok(())
    }

    pub(crate) fn note_noise(&mut self) {
        self.findings.noise = self.means().map(|(_, noise)| noise.variance().sqrt());
    }

    /// Measures these in this order.
    pub(crate) fn ask(
        &mut self,
        stage: Stage,
        mixtures: &[Mixture],
        planned: usize,
    ) -> Result<Vec<Option<f64>>, Stopped> {
        let batch = Batch { stage, points: mixtures.to_vec(), planned };
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
}
