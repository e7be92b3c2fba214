//! What only a script's run has, of all parts together.

use std::collections::HashMap;

use serde_json::json;
use truetps_record::{
    AnswersReady, ScriptFairness, ScriptRecord, ScriptRun, SentShape, SentStatements, Trial,
};

use crate::error::FolderError;
use crate::folder::ExperimentFolder;
use crate::trial_writer::TrialWriter;

/// Writes the script, with the statements of all parts, and the options, which are alike in all
/// parts. `parts`: at least one.
pub(crate) fn merge_script_files(
    parts: &[&ExperimentFolder],
    trial: &str,
    writer: &TrialWriter,
) -> Result<(), FolderError> {
    let records = parts
        .iter()
        .filter_map(|part| part.script(trial).transpose())
        .collect::<Result<Vec<_>, _>>()?;
    let statements =
        records.iter().map(|record| record.statements.as_ref()).collect::<Option<Vec<_>>>();
    let statements = statements.map(|all| statements_of(&all));
    if let Some(first) = records.into_iter().next() {
        writer.write_script(&ScriptRecord { statements, ..first })?;
    }
    if let Some(options) = parts[0].script_options(trial)? {
        writer.write_sysbench(&format!("{:#}\n", json!({ "options": options })))?;
    }
    Ok(())
}

/// Most frequent first.
fn statements_of(parts: &[&SentStatements]) -> SentStatements {
    let mut shapes: HashMap<&str, SentShape> = HashMap::new();
    for shape in parts.iter().flat_map(|part| &part.shapes) {
        let sum = shapes
            .entry(&shape.sql)
            .or_insert_with(|| SentShape { sql: shape.sql.clone(), ..SentShape::default() });
        add(sum, shape);
    }
    let mut shapes: Vec<_> = shapes.into_values().collect();
    shapes.sort_by(|one, other| other.count.cmp(&one.count).then_with(|| one.sql.cmp(&other.sql)));
    let left_out = parts.iter().filter_map(|part| part.left_out.as_ref()).fold(
        None,
        |sum: Option<SentShape>, shape| {
            let mut sum = sum.unwrap_or_default();
            add(&mut sum, shape);
            Some(sum)
        },
    );
    SentStatements { shapes, left_out }
}

fn add(sum: &mut SentShape, shape: &SentShape) {
    sum.count += shape.count;
    sum.reads += shape.reads;
    sum.writes += shape.writes;
    sum.other += shape.other;
    sum.errors += shape.errors;
    sum.time_ms += shape.time_ms;
    sum.time_ms_max = sum.time_ms_max.max(shape.time_ms_max);
}

/// `None` if a part has no figures.
pub(crate) fn script_run_of(trials: &[&Trial]) -> Option<ScriptRun> {
    let runs: Vec<_> = trials.iter().map(|trial| trial.script.as_ref()).collect::<Option<_>>()?;
    let clients =
        trials.iter().map(|trial| trial.engine.as_ref().map_or(0, |engine| engine.clients));
    Some(ScriptRun {
        sha256: runs.first()?.sha256.clone(),
        reads: runs.iter().map(|run| run.reads).sum(),
        writes: runs.iter().map(|run| run.writes).sum(),
        other: runs.iter().map(|run| run.other).sum(),
        fairness: fairness_of(&runs, clients),
        answers_ready: answers_ready_of(trials),
    })
}

fn fairness_of(runs: &[&ScriptRun], clients: impl Iterator<Item = u32>) -> Option<ScriptFairness> {
    let parts: Vec<_> = runs
        .iter()
        .zip(clients)
        .map(|(run, clients)| Some((run.fairness?, clients)))
        .collect::<Option<_>>()?;
    let (events_mean, events_deviation) = pooled(
        parts.iter().map(|(part, clients)| ((part.events_mean, part.events_deviation), *clients)),
    );
    let (time_s_mean, time_s_deviation) = pooled(
        parts.iter().map(|(part, clients)| ((part.time_s_mean, part.time_s_deviation), *clients)),
    );
    Some(ScriptFairness { events_mean, events_deviation, time_s_mean, time_s_deviation })
}

/// The means of all events. `None` if a part has none.
fn answers_ready_of(trials: &[&Trial]) -> Option<AnswersReady> {
    let (mut all, mut least, mut most) = (0.0, 0.0, 0.0);
    for trial in trials {
        let events = trial.measured.as_ref()?.counts.ok as f64;
        let AnswersReady { us_least, us_most } = trial.script.as_ref()?.answers_ready?;
        all += events;
        least += us_least * events;
        most += us_most * events;
    }
    (all > 0.0).then(|| AnswersReady { us_least: least / all, us_most: most / all })
}

/// Mean and standard deviation over the clients of all parts, from mean, deviation and number of
/// each part.
fn pooled(parts: impl Iterator<Item = ((f64, f64), u32)> + Clone) -> (f64, f64) {
    let clients: f64 = parts.clone().map(|(_, clients)| f64::from(clients)).sum();
    if clients == 0.0 {
        return (0.0, 0.0);
    }
    let mean =
        parts.clone().map(|((mean, _), clients)| mean * f64::from(clients)).sum::<f64>() / clients;
    let squares = parts.map(|((of_part, deviation), clients)| {
        f64::from(clients) * (deviation * deviation + (of_part - mean) * (of_part - mean))
    });
    (mean, (squares.sum::<f64>() / clients).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_and_deviations_are_of_all_clients() {
        // 1, 3 and 5, 5, 8.
        let parts = [((2.0, 1.0), 2), ((6.0, 2.0_f64.sqrt()), 3)];
        let (mean, deviation) = pooled(parts.into_iter());
        let all: [f64; 5] = [1.0, 3.0, 5.0, 5.0, 8.0];
        let expected = (all.iter().map(|one| (one - 4.4).powi(2)).sum::<f64>() / 5.0).sqrt();
        assert!(
            (mean - 4.4).abs() < 1e-9 && (deviation - expected).abs() < 1e-9,
            "{mean} {deviation}"
        );
        assert_eq!(pooled(std::iter::empty()), (0.0, 0.0));
    }

    #[test]
    fn statements_of_one_shape_add_up() {
        let shape = |sql: &str, count, time_ms_max| SentShape {
            sql: sql.to_owned(),
            count,
            writes: count,
            time_ms: 2.0,
            time_ms_max,
            ..SentShape::default()
        };
        let one =
            SentStatements { shapes: vec![shape("a", 5, 1.0), shape("b", 1, 1.0)], left_out: None };
        let other =
            SentStatements { shapes: vec![shape("b", 7, 9.0)], left_out: Some(shape("", 2, 3.0)) };
        let sum = statements_of(&[&one, &other]);
        let found: Vec<_> = sum
            .shapes
            .iter()
            .map(|shape| (&*shape.sql, shape.count, shape.time_ms, shape.time_ms_max))
            .collect();
        assert_eq!(found, [("b", 8, 4.0, 9.0), ("a", 5, 2.0, 1.0)]);
        assert_eq!(sum.left_out.map(|shape| shape.writes), Some(2));
    }
}
