//! One configuration over its valid trials.

use std::collections::HashMap;

use truetps_record::{Configuration, ErrorCount, ErrorTally, Estimate};

use crate::detail::cell_detail;
use crate::evidence::{Evidence, tps_sample};
use crate::figure::{Figure, FigureValues};
use crate::{Cell, InvalidTrial, limited, open_loop, steady};

/// `by_cell`: the evidence for each configuration.
pub(crate) fn summarise_all(
    configurations: &[Configuration],
    by_cell: &[Vec<Evidence<'_>>],
    invalid: &[InvalidTrial],
) -> Vec<Cell> {
    let mut invalid_trials: HashMap<String, usize> = HashMap::new();
    for trial in invalid {
        *invalid_trials.entry(trial.configuration.key()).or_default() += 1;
    }
    let cells = configurations.iter().zip(by_cell);
    cells
        .map(|(configuration, evidence)| {
            let invalid_trials = invalid_trials.get(&configuration.key()).copied();
            summarise(configuration, evidence, invalid_trials.unwrap_or(0))
        })
        .collect()
}

fn summarise(
    configuration: &Configuration,
    evidence: &[Evidence<'_>],
    invalid_trials: usize,
) -> Cell {
    Cell {
        configuration: configuration.clone(),
        trials: evidence.iter().map(|one| one.trial.name.clone()).collect(),
        invalid_trials,
        tps: throughput(evidence),
        figures: FigureValues::new(Figure::is_of_cell, |figure| {
            figure.of_trials(evidence.iter().map(|one| one.loaded))
        }),
        errors: merge_errors(evidence),
        open_loop: open_loop::summarise(evidence),
        generator_limited: limited::of_cell(evidence),
        unsteady: steady::of_cell(evidence),
        detail: cell_detail(&evidence.iter().map(|one| one.loaded).collect::<Vec<_>>()),
    }
}

/// Geometric mean over trials with the t interval of the logarithms. Where no trial finished a
/// single transaction the value is 0 without an interval.
fn throughput(evidence: &[Evidence<'_>]) -> Option<Estimate> {
    if !evidence.is_empty() && evidence.iter().all(Evidence::is_zero) {
        return Some(Estimate { value: 0.0, low: None, high: None, n: evidence.len() });
    }
    Some(tps_sample(evidence)?.estimate())
}

/// Errors by number and class with the first message of the earliest trial, most frequent first.
fn merge_errors(evidence: &[Evidence<'_>]) -> Vec<ErrorCount> {
    let mut tally = ErrorTally::default();
    tally.append(evidence.iter().flat_map(|one| &one.measured.errors));
    tally.into_sorted()
}
