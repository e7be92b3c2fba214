//! A comparison as one JSON document: `docs/reference/comparison.schema.json` describes it.

use serde::Serialize;
use truetps_analysis::{Comparison, ThresholdState};
use truetps_knowledge::DurabilityPair;
use truetps_record::{Configuration, ServerFacts};

use super::inputs::InputsDiffer;
use super::own_sql::SqlDiffers;
use super::run_comparison::{ComparedSide, DifferingCondition, RunComparison};
use super::scripts::ScriptsDiffer;
use super::{conditions, profile, verdict};
use crate::json::{DOCUMENT_VERSION, json_text};

#[derive(Serialize)]
struct ComparisonDocument<'a> {
    schema_version: u32,
    comparisons: Vec<ComparisonPart<'a>>,
}

#[derive(Serialize)]
struct ComparisonPart<'a> {
    a: SidePart<'a>,
    b: SidePart<'a>,
    /// Sentences for people: the same as in every other format.
    verdict: String,
    thresholds: Vec<ThresholdPart>,
    /// The durability of each side, and of B compared with A.
    durability: &'a DurabilityPair,
    comparison: &'a Comparison,
    /// Differences besides the settings.
    conditions: Vec<DifferingCondition>,
    workload: Vec<String>,
    /// `null` if a side is not a script's run.
    scripts: Option<ScriptsDiffer>,
    /// SQL of the plans, by its key.
    sql: Vec<SqlDiffers>,
    /// Settings that differ, most likely to matter first; `null` where a side has not recorded
    /// them.
    settings: Option<Vec<SettingPart<'a>>>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct SidePart<'a> {
    name: &'a str,
    experiment: &'a str,
    configuration: &'a Configuration,
    server: Option<&'a ServerFacts>,
}

#[derive(Serialize)]
struct ThresholdPart {
    threshold: String,
    state: ThresholdState,
}

#[derive(Serialize)]
struct SettingPart<'a> {
    name: &'a str,
    a: Option<&'a str>,
    b: Option<&'a str>,
}

/// All comparisons as an indented JSON document that ends with a line feed.
pub(crate) fn comparison_json(inputs: &[RunComparison<'_>]) -> String {
    let comparisons = inputs.iter().map(part).collect();
    json_text(&ComparisonDocument { schema_version: DOCUMENT_VERSION, comparisons })
}

fn part<'a>(input: &'a RunComparison<'a>) -> ComparisonPart<'a> {
    let inputs = InputsDiffer::of(input);
    let verdict = verdict::facts(input, &inputs).into_iter().find(|(word, _)| *word == "Verdict");
    ComparisonPart {
        a: side(&input.a),
        b: side(&input.b),
        verdict: verdict.map(|(_, text)| text).unwrap_or_default(),
        thresholds: input
            .thresholds
            .iter()
            .map(|(threshold, state)| ThresholdPart {
                threshold: threshold.to_string(),
                state: *state,
            })
            .collect(),
        durability: &input.durability,
        comparison: &input.comparison,
        conditions: conditions::differing(input, &inputs),
        workload: profile::sentences(input),
        settings: input.settings.as_ref().map(|diff| {
            let differing = diff.shown().filter(|one| one.same_but_for.is_none());
            let parts = differing.map(|one| SettingPart {
                name: &one.name,
                a: one.a.value.as_deref(),
                b: one.b.value.as_deref(),
            });
            parts.collect()
        }),
        notes: verdict::notes(input, &inputs),
        scripts: inputs.scripts,
        sql: inputs.sql,
    }
}

fn side<'a>(side: &ComparedSide<'a>) -> SidePart<'a> {
    SidePart {
        name: side.name,
        experiment: &side.run.experiment.name,
        configuration: side.configuration,
        server: side.server(),
    }
}
