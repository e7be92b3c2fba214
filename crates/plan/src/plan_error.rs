//! What is wrong with a plan.

use thiserror::Error;
use truetps_record::{did_you_mean_or, near_matches};

use crate::PlanKey;
use crate::plan_key::text_by_flags;

#[derive(Debug, Error)]
pub enum PlanError {
    /// The TOML parser's own message: it names line and column.
    #[error("{0}")]
    Syntax(String),
    /// A key or a workload, with those that there are.
    #[error("{text}")]
    Unknown { key: PlanKey, text: String },
    #[error("`{key}` means nothing to `{workload}`: it is for `{}`", used_by.join("`, `"))]
    UnusedKey { key: PlanKey, workload: String, used_by: Vec<String> },
    #[error("`{key}`: {problem}")]
    Value { key: PlanKey, problem: String },
    #[error("line {line}: {error}")]
    AtLine { line: usize, error: Box<PlanError> },
    #[error("{} problems:\n  {}", .0.len(), listed(.0))]
    Several(Vec<PlanError>),
}

/// More would scroll the first ones away.
const LISTED_MAX: usize = 10;

fn listed(errors: &[PlanError]) -> String {
    let mut lines: Vec<_> = errors.iter().take(LISTED_MAX).map(ToString::to_string).collect();
    if errors.len() > LISTED_MAX {
        lines.push(format!("and {} more", errors.len() - LISTED_MAX));
    }
    lines.join("\n  ")
}

impl PlanError {
    #[expect(clippy::needless_pass_by_value, reason = "for map_err")]
    pub(crate) fn syntax(error: toml::de::Error) -> Self {
        Self::Syntax(error.to_string())
    }

    /// The key that is wrong.
    pub(crate) fn path(&self) -> Option<&str> {
        match self {
            Self::Unknown { key, .. } | Self::UnusedKey { key, .. } | Self::Value { key, .. } => {
                Some(key.path())
            }
            Self::AtLine { error, .. } => error.path(),
            Self::Syntax(_) | Self::Several(_) => None,
        }
    }

    /// Each single error.
    pub(crate) fn into_single(self) -> Vec<Self> {
        if let Self::Several(errors) = self { errors } else { vec![self] }
    }

    /// This error in terms of the flags of `truetps run`.
    #[must_use]
    pub fn by_flag(self) -> Self {
        match self {
            Self::Value { key, problem } => {
                Self::Value { key: key.by_flag(), problem: text_by_flags(&problem) }
            }
            Self::UnusedKey { key, workload, used_by } => {
                Self::UnusedKey { key: key.by_flag(), workload, used_by }
            }
            Self::Several(errors) => Self::Several(errors.into_iter().map(Self::by_flag).collect()),
            Self::AtLine { line, error } => Self::AtLine { line, error: Box::new(error.by_flag()) },
            other => other,
        }
    }

    /// Whether this may only be a consequence of another error, whose key was left out.
    pub(crate) fn follows(&self, known: &Self) -> bool {
        let (Some(own), Some(known_path)) = (self.path(), known.path()) else { return false };
        let is_below = own == known_path
            || own.strip_prefix(known_path).is_some_and(|rest| rest.starts_with(['.', '[']));
        let factor = known_path.strip_prefix("factors").is_some();
        let needs_factor =
            own == "factors" && (known_path == "factors" || last_part(known_path) == "connections");
        let names_factor = factor
            && (last_part(own) == last_part(known_path)
                || ["design.baseline", "design.leave_out"].iter().any(|of| own.starts_with(of)));
        let of_workload = is_of_workload(known)
            && (is_of_workload(self) || matches!(self, Self::UnusedKey { .. }));
        is_below || needs_factor || names_factor || of_workload
    }

    /// All errors of these results; a single one unwrapped.
    pub(crate) fn all(results: impl IntoIterator<Item = Result<(), Self>>) -> Result<(), Self> {
        let mut problems = Vec::new();
        for error in results.into_iter().filter_map(Result::err) {
            match error {
                Self::Several(more) => problems.extend(more),
                one => problems.push(one),
            }
        }
        match problems.len() {
            0 => Ok(()),
            1 => Err(problems.remove(0)),
            _ => Err(Self::Several(problems)),
        }
    }
}

pub(crate) fn is_of_workload(error: &PlanError) -> bool {
    error.path().is_some_and(|path| path == "workload" || path.starts_with("workload."))
}

fn last_part(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or_default()
}

pub(crate) fn wrong_value(key: impl Into<PlanKey>, problem: impl Into<String>) -> PlanError {
    PlanError::Value { key: key.into(), problem: problem.into() }
}

/// A word that is none of `known`, which are a `what` each.
pub(crate) fn unknown_word(what: &str, word: &str, known: &[&str]) -> String {
    format!("unknown {what} `{word}`{}", did_you_mean_one(word, known))
}

pub(crate) fn did_you_mean_one(word: &str, known: &[&str]) -> String {
    did_you_mean_or(&near_matches(word, known.iter().copied()), "known", known)
}
