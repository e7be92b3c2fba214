//! One configuration over its valid trials.

use std::collections::BTreeMap;

use truetps_record::{Configuration, ErrorCount, Estimate, Measured};

use crate::evidence::{Evidence, tps_sample};
use crate::{Cell, InvalidTrial};

pub(crate) fn summarise(configuration: &Configuration, evidence: &[Evidence<'_>], invalid: &[InvalidTrial]) -> Cell {
    let median_of = |figure: fn(&Measured) -> Option<f64>| median(figures(evidence, figure));
    let largest_of = |figure: fn(&Measured) -> Option<f64>| figures(evidence, figure).into_iter().reduce(f64::max);
    Cell {
        configuration: configuration.clone(),
        trials: evidence.iter().map(|one| one.trial.name.clone()).collect(),
        invalid_trials: invalid.iter().filter(|trial| trial.configuration == *configuration).count(),
        tps: throughput(evidence),
        response_us_p50: median_of(|measured| measured.response.response_us_p50),
        response_us_p95: median_of(|measured| measured.response.response_us_p95),
        response_us_p99: median_of(|measured| measured.response.response_us_p99),
        response_us_max: largest_of(|measured| measured.response.response_us_max),
        failed: evidence.iter().map(|one| one.measured.counts.failed).sum(),
        errors: merge_errors(evidence),
        client_cpu_us_per_tx: median_of(|measured| measured.resources.client_cpu_us_per_tx),
        server_cpu_us_per_tx: median_of(|measured| measured.resources.server_cpu_us_per_tx),
        worker_busy_max: largest_of(|measured| measured.resources.worker_busy_max),
    }
}

/// Geometric mean over trials with the t interval of the logarithms. Where no trial finished a single transaction the
/// value is a plain 0 without an interval: nothing was seen that could have one.
fn throughput(evidence: &[Evidence<'_>]) -> Option<Estimate> {
    if !evidence.is_empty() && evidence.iter().all(Evidence::is_zero) {
        return Some(Estimate { value: 0.0, low: None, high: None, n: evidence.len() });
    }
    Some(tps_sample(evidence)?.estimate())
}

fn figures(evidence: &[Evidence<'_>], figure: fn(&Measured) -> Option<f64>) -> Vec<f64> {
    evidence.iter().filter_map(|one| figure(one.measured)).filter(|value| value.is_finite()).collect()
}

/// The middle value, or the mean of the two in the middle. Each trial has one vote, whatever its number of
/// transactions: percentiles of trials of different length are never averaged by weight.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        n if n % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

/// Errors by number and class with the first message of the earliest trial, most frequent first.
fn merge_errors(evidence: &[Evidence<'_>]) -> Vec<ErrorCount> {
    let mut by_key: BTreeMap<(u16, &str), ErrorCount> = BTreeMap::new();
    for error in evidence.iter().flat_map(|one| &one.measured.errors) {
        by_key
            .entry((error.code, &error.class))
            .and_modify(|found| {
                found.count += error.count;
                found.retried += error.retried;
            })
            .or_insert_with(|| error.clone());
    }
    let mut list: Vec<_> = by_key.into_values().collect();
    list.sort_by(|a, b| b.count.cmp(&a.count).then(a.code.cmp(&b.code)));
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        let check = |values: &[f64], expect| assert_eq!(median(values.to_vec()), expect, "{values:?}");
        check(&[], None);
        check(&[3.0], Some(3.0));
        check(&[4.0, 1.0], Some(2.5));
        check(&[9.0, 1.0, 4.0], Some(4.0));
        check(&[9.0, 1.0, 4.0, 5.0], Some(4.5));
    }
}
