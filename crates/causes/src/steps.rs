//! The order of steps, from the two corners to the answer.

use truetps_adaptive::{AdaptiveQuestion, Source, Stopped};

use crate::confirming::Confirmed;
use crate::findings::{Findings, Outcome};
use crate::investigation::Investigation;
use crate::mixture::Mixture;
use crate::question::{CauseQuestion, Stage};

/// With so few factors all mixtures are measured, and nothing is screened.
const ALL_MIXTURES_MAX: usize = 4;
/// Times that the design of the screening is run.
pub(crate) const SCREENINGS_MAX: usize = 3;
const SUSPECTS_MAX: usize = 3;
/// Blocks in which the suspects are measured.
const SUSPECT_BLOCKS: usize = 2;
/// Blocks of both corners where no factor was found.
const CHECK_BLOCKS: usize = 4;

impl AdaptiveQuestion for CauseQuestion {
    type Point = Mixture;
    /// The logarithm of throughput.
    type Reading = f64;
    type Stage = Stage;
    type Findings = Findings;

    fn investigate(&self, source: &mut dyn Source<Self>) -> Findings {
        let mut investigation = Investigation::new(self, source);
        // Stopped or not: the findings are up to date.
        let _ = investigation.run();
        investigation.note_others();
        investigation.findings
    }
}

impl Investigation<'_> {
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
                let is_all = confirmed.is_closed && !self.has_suspected(&found);
                if is_all || is_last {
                    return self.conclude(&confirmed);
                }
            } else if is_last {
                return self.nothing_found();
            }
        }
    }

    fn conclude(&mut self, confirmed: &Confirmed) -> Result<(), Stopped> {
        self.measure_small_causes()?;
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
            self.findings.suspects = suspects
                .into_iter()
                .filter_map(|one| {
                    Some((one, means.step(Mixture::A, Mixture::only(one), noise)?.interval()))
                })
                .collect();
        }
        Ok(())
    }
}
