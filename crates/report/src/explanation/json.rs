//! An explanation as a JSON document.

use serde::Serialize;
use truetps_causes::{Findings, Mixture};
use truetps_record::{Disturbance, ExplainedFactor, ExplainedSide, Explanation, LeftOut};

/// Version of the JSON document.
const SCHEMA_VERSION: u32 = 1;

#[derive(Serialize)]
pub(super) struct ExplanationDocument<'a> {
    schema_version: u32,
    experiment: &'a str,
    seed: u64,
    smallest_percent: f64,
    a: &'a ExplainedSide,
    b: &'a ExplainedSide,
    factors: &'a [ExplainedFactor],
    suspects: &'a [usize],
    left_out: &'a [LeftOut],
    findings: &'a Findings,
    trials: Vec<ExplainedTrial<'a>>,
}

#[derive(Serialize)]
pub(super) struct ExplainedTrial<'a> {
    pub(super) name: &'a str,
    pub(super) mixture: Mixture,
    /// Factors with B's level.
    pub(super) with: Vec<&'a str>,
    pub(super) tps: Option<f64>,
    /// What disturbed it, the gravest first.
    pub(super) disturbances: Vec<Disturbance>,
    /// What disturbed an earlier attempt, which this one replaces.
    pub(super) repeated_after: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) problem: Option<String>,
}

pub(super) fn explanation_document<'a>(
    experiment: &'a str,
    explanation: &'a Explanation,
    findings: &'a Findings,
    trials: Vec<ExplainedTrial<'a>>,
) -> ExplanationDocument<'a> {
    let Explanation { seed, smallest_percent, a, b, factors, suspects, left_out, .. } = explanation;
    ExplanationDocument {
        schema_version: SCHEMA_VERSION,
        experiment,
        seed: *seed,
        smallest_percent: *smallest_percent,
        a,
        b,
        factors,
        suspects,
        left_out,
        findings,
        trials,
    }
}
