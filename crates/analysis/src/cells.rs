//! One configuration over its valid trials.

use truetps_record::{Configuration, ErrorCount, ErrorTally, Estimate, Measured};

use crate::detail::cell_detail;
use crate::evidence::{Evidence, tps_sample};
use crate::order_stats::{largest, mean};
use crate::{Cell, InvalidTrial, limited, open_loop};

pub(crate) fn summarise(configuration: &Configuration, evidence: &[Evidence<'_>], invalid: &[InvalidTrial]) -> Cell {
    let mean_of = |figure: fn(&Measured) -> Option<f64>| mean(figures(evidence, figure));
    let largest_of = |figure: fn(&Measured) -> Option<f64>| largest(figures(evidence, figure));
    // A folder of an older version may have more than all of the time.
    let share_of = |figure: fn(&Measured) -> Option<f64>| largest_of(figure).map(|share| share.min(1.0));
    let sum_of = |count: fn(&Evidence<'_>) -> u64| evidence.iter().map(count).sum();
    Cell {
        configuration: configuration.clone(),
        trials: evidence.iter().map(|one| one.trial.name.clone()).collect(),
        invalid_trials: invalid.iter().filter(|trial| trial.configuration == *configuration).count(),
        tps: throughput(evidence),
        response_us_p50: mean_of(|measured| measured.response.response_us_p50),
        response_us_p95: mean_of(|measured| measured.response.response_us_p95),
        response_us_p99: mean_of(|measured| measured.response.response_us_p99),
        response_us_p999: mean_of(|measured| measured.response.response_us_p999),
        response_us_max: largest_of(|measured| measured.response.response_us_max),
        failed: sum_of(|one| one.measured.counts.failed),
        ignored: sum_of(|one| one.measured.counts.ignored),
        retried: sum_of(|one| one.measured.counts.retried),
        reconnects: sum_of(|one| one.trial.engine.as_ref().map_or(0, |engine| engine.reconnects)),
        errors: merge_errors(evidence),
        client_cpu_us_per_tx: mean_of(|measured| measured.resources.client_cpu_us_per_tx),
        server_cpu_us_per_tx: mean_of(Measured::server_cpu_us_per_tx),
        worker_busy_max: share_of(|measured| measured.resources.worker_busy_max),
        worker_wait_max: share_of(|measured| measured.resources.worker_wait_max),
        steal_max: share_of(|measured| measured.resources.steal),
        open_loop: open_loop::summarise(evidence),
        generator_limited: limited::of_cell(evidence),
        detail: cell_detail(&evidence.iter().map(|one| one.loaded).collect::<Vec<_>>()),
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

fn figures(evidence: &[Evidence<'_>], figure: fn(&Measured) -> Option<f64>) -> impl Iterator<Item = f64> {
    evidence.iter().filter_map(move |one| figure(one.measured))
}

/// Errors by number and class with the first message of the earliest trial, most frequent first.
fn merge_errors(evidence: &[Evidence<'_>]) -> Vec<ErrorCount> {
    let mut tally = ErrorTally::default();
    tally.append(evidence.iter().flat_map(|one| &one.measured.errors));
    tally.into_sorted()
}
