//! `--fail-if`: a change of a figure beyond a threshold, or lower durability.

use std::fmt;
use std::str::FromStr;

use truetps_analysis::{Comparison, Threshold, ThresholdState};
use truetps_knowledge::{DurabilityPair, Survival};

/// One condition of `--fail-if`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FailIf {
    Figure(Threshold),
    /// Commits on B survive less than commits on A.
    Durability,
}

const DURABILITY: &str = "durability";

impl FailIf {
    /// The result for two sides. `of`: the number of figures judged at once ([`Threshold::state`]).
    pub fn state(
        &self,
        comparison: &Comparison,
        durability: &DurabilityPair,
        of: usize,
    ) -> ThresholdState {
        match self {
            Self::Figure(threshold) => threshold.state(comparison, of),
            Self::Durability => match durability.b_survives {
                Survival::Less | Survival::Mixed => ThresholdState::Crossed,
                Survival::Same | Survival::More => ThresholdState::Kept,
                Survival::Unknown => ThresholdState::DurabilityUnknown,
            },
        }
    }

    /// Durability follows from settings, so it takes no share of the chance of a false claim.
    pub fn is_figure(&self) -> bool {
        matches!(self, Self::Figure(_))
    }
}

impl FromStr for FailIf {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == DURABILITY {
            Ok(Self::Durability)
        } else {
            text.parse().map(Self::Figure)
        }
    }
}

impl fmt::Display for FailIf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Figure(threshold) => threshold.fmt(f),
            Self::Durability => f.write_str(DURABILITY),
        }
    }
}
