//! A report as comma-separated values: one row for each configuration, figures as they are, units in the names.

use truetps_analysis::{Cell, Contrast, Verdict};
use truetps_record::Estimate;

use crate::ReportInput;

/// Columns after those of the factors, which have the factors' names.
const COLUMNS: [&str; 28] = [
    "trials",
    "invalid_trials",
    "tps",
    "tps_low",
    "tps_high",
    "response_us_p50",
    "response_us_p95",
    "response_us_p99",
    "response_us_max",
    "failed",
    "client_cpu_us_per_tx",
    "server_cpu_us_per_tx",
    "worker_busy_max",
    "is_baseline",
    "pairs",
    "tps_ratio",
    "tps_ratio_low",
    "tps_ratio_high",
    "p99_ratio",
    "p99_ratio_low",
    "p99_ratio_high",
    "smallest_visible_effect",
    "verdict",
    "more_blocks",
    "knee_connections",
    "best_connections",
    "rule_connections",
    "noise_sigma",
];

/// One header row, then one row for each configuration in the plan's order (RFC 4180, lines end with CR LF).
pub fn csv(input: &ReportInput<'_>) -> String {
    let mut out = String::new();
    let factors: Vec<_> = input.plan.factors.keys().map(String::as_str).collect();
    push_row(&mut out, factors.iter().chain(&COLUMNS).map(|name| (*name).to_owned()));
    for (index, cell) in input.analysis.cells.iter().enumerate() {
        let levels = factors.iter().map(|name| {
            let level = cell.configuration.levels.get(*name);
            level.map(ToString::to_string).unwrap_or_default()
        });
        let contrast = input.analysis.contrasts.iter().find(|contrast| contrast.cell == index);
        let is_baseline = input.analysis.contrasts.iter().any(|contrast| contrast.baseline_cell == index);
        let figures = [cell_fields(cell), contrast_fields(contrast, is_baseline), curve_fields(input, index)]
            .into_iter()
            .flatten();
        push_row(&mut out, levels.chain(figures));
    }
    out
}

fn cell_fields(cell: &Cell) -> Vec<String> {
    let mut fields = vec![cell.trials.len().to_string(), cell.invalid_trials.to_string()];
    fields.extend(estimate(cell.tps.as_ref()));
    let times = [cell.response_us_p50, cell.response_us_p95, cell.response_us_p99, cell.response_us_max];
    fields.extend(times.map(figure));
    fields.push(cell.failed.to_string());
    fields.extend([cell.client_cpu_us_per_tx, cell.server_cpu_us_per_tx, cell.worker_busy_max].map(figure));
    fields
}

fn contrast_fields(contrast: Option<&Contrast>, is_baseline: bool) -> Vec<String> {
    let mut fields = vec![is_baseline.to_string(), contrast.map_or(0, |one| one.tps_ratio.n).to_string()];
    fields.extend(estimate(contrast.map(|one| &one.tps_ratio)));
    fields.extend(estimate(contrast.and_then(|one| one.p99_ratio.as_ref())));
    fields.push(figure(contrast.and_then(|one| one.smallest_visible_effect)));
    let (verdict, more_blocks) = match contrast.map(|one| one.verdict) {
        None => ("", None),
        Some(Verdict::Faster) => ("faster", None),
        Some(Verdict::Slower) => ("slower", None),
        Some(Verdict::Equivalent) => ("equivalent", None),
        Some(Verdict::NotEnoughData { more_blocks }) => ("not_enough_data", more_blocks),
    };
    fields.push(verdict.to_owned());
    fields.push(more_blocks.map(|more| more.to_string()).unwrap_or_default());
    fields
}

fn curve_fields(input: &ReportInput<'_>, cell: usize) -> Vec<String> {
    let curve = input.analysis.curves.iter().find(|curve| curve.cells.contains(&cell));
    let knee = curve.and_then(|curve| curve.knee.as_ref());
    vec![
        knee.map(|knee| knee.connections.to_string()).unwrap_or_default(),
        knee.map(|knee| knee.best_connections.to_string()).unwrap_or_default(),
        input.analysis.rule_connections.to_string(),
        figure(input.analysis.noise.as_ref().map(|noise| noise.sigma)),
    ]
}

/// Value, low, high; empty where there is none.
fn estimate(estimate: Option<&Estimate>) -> [String; 3] {
    [
        figure(estimate.map(|one| one.value)),
        figure(estimate.and_then(|one| one.low)),
        figure(estimate.and_then(|one| one.high)),
    ]
}

fn figure(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn push_row(out: &mut String, fields: impl Iterator<Item = String>) {
    let fields: Vec<_> = fields.map(|field| quote(&field)).collect();
    out.push_str(&fields.join(","));
    out.push_str("\r\n");
}

fn quote(field: &str) -> String {
    if field.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn one_row_a_configuration() {
        for fixture in [Fixture::durability(), Fixture::troubled(), Fixture::connections_only()] {
            let text = csv(&fixture.input());
            let lines: Vec<_> = text.split_terminator("\r\n").collect();
            assert_eq!(lines.len(), 1 + fixture.analysis.cells.len());
            let width = COLUMNS.len() + fixture.plan.factors.len();
            assert!(lines.iter().all(|line| line.split(',').count() == width), "{text}");
        }
    }

    #[test]
    fn fields_are_under_their_names() {
        let text = csv(&Fixture::durability().input());
        let mut lines = text.split_terminator("\r\n").map(|line| line.split(',').collect::<Vec<_>>());
        let names = lines.next().unwrap();
        let rows: Vec<_> = lines.collect();
        let check = |row: usize, name: &str, expect: &str| {
            let column = names.iter().position(|known| *known == name).unwrap();
            assert!(rows[row][column].starts_with(expect), "{name}: {}", rows[row][column]);
        };
        check(0, "innodb_flush_log_at_trx_commit", "1");
        check(0, "connections", "1");
        check(0, "tps", "209.9");
        check(0, "tps_low", "199");
        check(0, "is_baseline", "true");
        check(0, "verdict", "");
        check(5, "connections", "50");
        check(5, "tps_ratio", "2.26");
        check(5, "p99_ratio_high", "0.47");
        check(5, "verdict", "faster");
        check(5, "knee_connections", "8");
        check(5, "rule_connections", "5");
    }

    #[test]
    fn quotes() {
        assert_eq!(quote("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(quote("O_DIRECT"), "O_DIRECT");
    }
}
