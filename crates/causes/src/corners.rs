//! The first question: is B other than A at all?

use truetps_adaptive::Stopped;

use crate::findings::Outcome;
use crate::investigation::Investigation;
use crate::mixture::Mixture;
use crate::question::Stage;

/// Blocks after which the corners are compared. Each block has A twice and B twice: what is between
/// equal ones is noise.
const LOOKS: [usize; 5] = [2, 3, 5, 8, 12];
/// Chance of a false difference at each look: 0.5 % in all at most.
const LOOK_ALPHA: f64 = 0.001;
/// An interval that is wider than a factor of 1.25 in either direction says nothing.
const WIDE: f64 = 0.223;

impl Investigation<'_> {
    /// Whether there is a difference to explain.
    pub(crate) fn corners(&mut self) -> Result<bool, Stopped> {
        let (a, b) = (Mixture::A, self.b());
        let mut blocks = 0;
        for look in LOOKS {
            while blocks < look {
                self.run_block(Stage::Corners, vec![a, a, b, b], 4 * (look - blocks))?;
                blocks += 1;
                if self.has_dead_corner() {
                    self.findings.outcome = Outcome::NoResult;
                    return Ok(false);
                }
            }
            if self.corners_differ() {
                return Ok(true);
            }
            if self.findings.gap.is_some_and(|gap| gap.size_max() < self.question.smallest) {
                break;
            }
        }
        self.findings.outcome = match self.findings.gap {
            Some(gap) if (gap.high - gap.low) / 2.0 < WIDE => Outcome::NotReproduced,
            _ => Outcome::TooNoisy,
        };
        Ok(false)
    }

    /// Whether A or B has given no result at all: there is nothing to compare.
    fn has_dead_corner(&self) -> bool {
        [Mixture::A, self.b()].iter().any(|corner| !self.started.contains(corner))
    }

    /// Compares A and B with all trials that there are.
    pub(crate) fn corners_differ(&mut self) -> bool {
        let step = self.means().and_then(|(means, noise)| means.step(Mixture::A, self.b(), noise));
        let Some(step) = step else { return false };
        self.findings.gap = Some(step.interval());
        self.findings.smallest = self.smallest();
        step.differs(LOOK_ALPHA)
    }
}
