//! What an investigation has found, at any time.

use serde::Serialize;

use crate::interval::LogInterval;
use crate::mixture::Mixture;

/// How an investigation ended, or stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was stopped before it had an answer.
    #[default]
    Unfinished,
    /// A or B gave no result, so that there is nothing to compare.
    NoResult,
    /// A and B have the same results, as far as could be measured.
    NotReproduced,
    /// The noise hides any difference that matters.
    TooNoisy,
    /// The causes make A into B, and nothing else does.
    Explained,
    /// Causes were found, and a part of the difference remains.
    PartlyExplained,
    /// The difference is there, and no factor makes it.
    NothingFound,
}

/// What a cause does, in words that the design supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CauseRole {
    /// Alone it makes the whole difference, and nothing else does.
    Sufficient,
    /// Alone it makes a part of the difference.
    Part,
    /// It has an effect with another cause only.
    OnlyTogether,
    /// It has its effect alone, and none where another cause is there.
    EitherAlone,
    /// It makes the difference smaller.
    Opposite,
    /// The intervals do not tell the roles apart.
    NotKnown,
}

/// A factor with a measured effect.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cause {
    pub factor: usize,
    /// Its part of the difference, by Shapley's rule: the mean effect over all orders in which the
    /// causes can be added. The intervals of all causes together have the truth in 95 %.
    pub share: LogInterval,
    /// The share against the difference between A and B: 0.5 is a half of it. With the same chance
    /// for all causes together. `None`: the difference is not known well enough.
    pub part: Option<LogInterval>,
    /// Whether the share is of trials that were made after it was called a cause.
    pub is_of_fresh_trials: bool,
    /// A with it, against A.
    pub alone: Option<LogInterval>,
    /// A with all causes, against A with all causes but it; `None` of a single cause.
    pub last: Option<LogInterval>,
    pub role: CauseRole,
}

/// A factor without a confirmed effect.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Screened {
    pub factor: usize,
    /// Mean effect over mixtures of all other factors.
    pub effect: Option<LogInterval>,
}

/// Whether the causes are all.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Closures {
    /// A with all causes, against B: what remains.
    pub sufficiency: Option<LogInterval>,
    /// B without any cause, against A.
    pub exclusivity: Option<LogInterval>,
    /// The factors that have the level of the other side in both: the causes, and factors that
    /// were found by the screening and not confirmed.
    pub with: Mixture,
}

/// A mixture that gave no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct NotStarted {
    pub mixture: Mixture,
}

/// What is known.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Findings {
    pub outcome: Outcome,
    pub trials: usize,
    /// Where it was stopped: trials that its stage still needed. Later stages may need more.
    pub left: Option<usize>,
    /// Standard deviation of one trial.
    pub noise: Option<f64>,
    /// B against A.
    pub gap: Option<LogInterval>,
    /// Factors that are known to matter, each alone: A with it, against A.
    pub suspects: Vec<(usize, LogInterval)>,
    /// Times that the whole design of the screening was run.
    pub screenings: usize,
    /// Largest share first.
    pub causes: Vec<Cause>,
    /// All other factors.
    pub others: Vec<Screened>,
    /// What holds the mean effects of all others at once, in 95 %. `None`: none was measured.
    pub others_bound: Option<LogInterval>,
    pub closures: Closures,
    /// Factors that do not work apart: each group is one factor.
    pub merged: Vec<Mixture>,
    pub not_started: Vec<NotStarted>,
    /// Changes below this are of no interest.
    pub smallest: f64,
}

impl Findings {
    /// The part of the difference that the causes make together: A with all of them, against A.
    pub fn explained(&self) -> Option<f64> {
        let (gap, rest) = (self.gap?, self.closures.sufficiency?);
        Some(gap.value + rest.value)
    }
}
