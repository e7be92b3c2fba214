//! A report as comma-separated values: one row for each configuration, figures as they are, units in the names.

use std::borrow::Cow;

use truetps_analysis::{Cell, CellDetail, Contrast, Curve, LedgerKey, LedgerLine, OpenLoopCell, Verdict};
use truetps_record::Estimate;

use crate::load::TargetRate;
use crate::{ReportInput, printable_text};

/// Columns after the factors' columns, which have the factors' names.
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

/// Columns behind those: of the generator and of open loops. Empty for a closed loop, but for the first ten.
const MORE_COLUMNS: [&str; 32] = [
    "verdict_generator_limited",
    "generator_limited_trials",
    "generator_limited_reason",
    "worker_wait_max",
    "steal_max",
    "retried",
    "ignored",
    "reconnects",
    "response_us_p999",
    "knee_generator_limited",
    "target_rate",
    "target_rate_to",
    "sustained_trials",
    "judged_trials",
    "sustained",
    "scheduled_per_s",
    "started_per_s",
    "scheduled",
    "skipped",
    "queued",
    "service_us_p50",
    "service_us_p95",
    "service_us_p99",
    "service_us_max",
    "lag_us_p50",
    "lag_us_p99",
    "lag_us_max",
    "late_us_p50",
    "late_us_p99",
    "late_us_max",
    "highest_sustained_rate",
    "first_rate_not_sustained",
];

/// Columns of stalls, behind those; empty where they are not known. The last ones are the lines of the cost ledger.
const STALL_COLUMNS: [&str; 6] = ["stalls", "dips", "stalled_ms", "watched_ms", "longest_stall_ms", "max_gap_ms"];

/// Lines of the cost ledger that have no column further in front.
fn ledger_keys() -> impl Iterator<Item = LedgerKey> {
    LedgerKey::ALL.iter().copied().filter(|key| !COLUMNS.contains(&key.word()))
}

/// One header row, then one row for each configuration in the plan's order (RFC 4180, lines end with CR LF).
pub fn csv(input: &ReportInput<'_>) -> String {
    let mut out = String::new();
    let factors: Vec<_> = input.run.plan.factors.keys().map(String::as_str).collect();
    let names = factors.iter().chain(&COLUMNS).chain(&MORE_COLUMNS).chain(&STALL_COLUMNS);
    let names = names.map(|name| (*name).to_owned());
    push_row(&mut out, names.chain(ledger_keys().map(|key| key.word().to_owned())));
    for (index, cell) in input.analysis.cells.iter().enumerate() {
        let levels = factors.iter().map(|name| {
            let level = cell.configuration.levels.get(*name);
            level.map(ToString::to_string).unwrap_or_default()
        });
        let contrast = input.analysis.contrasts.iter().find(|contrast| contrast.cell == index);
        let is_baseline = input.analysis.contrasts.iter().any(|contrast| contrast.baseline_cell == index);
        let curve = input.analysis.curves.iter().find(|curve| curve.cells.contains(&index));
        let figures = [
            cell_fields(cell),
            contrast_fields(contrast, is_baseline),
            curve_fields(input, curve),
            generator_fields(cell, contrast, curve),
            target_fields(input, cell),
            open_loop_fields(cell.open_loop.as_ref()),
            range_fields(input, curve),
            detail_fields(&cell.detail),
        ];
        let figures = figures.into_iter().flatten();
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

fn curve_fields(input: &ReportInput<'_>, curve: Option<&Curve>) -> Vec<String> {
    let knee = curve.and_then(|curve| curve.knee.as_ref());
    vec![
        knee.map(|knee| knee.connections.to_string()).unwrap_or_default(),
        knee.map(|knee| knee.best_connections.to_string()).unwrap_or_default(),
        input.analysis.rule_connections.map_or_else(String::new, |number| number.to_string()),
        figure(input.analysis.noise.as_ref().map(|noise| noise.sigma)),
    ]
}

fn generator_fields(cell: &Cell, contrast: Option<&Contrast>, curve: Option<&Curve>) -> Vec<String> {
    let limited = cell.generator_limited.as_ref();
    let knee = curve.and_then(|curve| curve.knee.as_ref());
    vec![
        contrast.map(|one| one.generator_limited.to_string()).unwrap_or_default(),
        limited.map_or(0, |limited| limited.trials).to_string(),
        limited.map(|limited| limited.first_reason.clone()).unwrap_or_default(),
        figure(cell.worker_wait_max),
        figure(cell.steal_max),
        cell.retried.to_string(),
        cell.ignored.to_string(),
        cell.reconnects.to_string(),
        figure(cell.response_us_p999),
        knee.map(|knee| knee.generator_limited.to_string()).unwrap_or_default(),
    ]
}

fn target_fields(input: &ReportInput<'_>, cell: &Cell) -> Vec<String> {
    let target = TargetRate::of(&input.run.plan, &cell.configuration);
    vec![figure(target.map(|target| target.from)), figure(target.and_then(|target| target.to))]
}

fn open_loop_fields(open: Option<&OpenLoopCell>) -> Vec<String> {
    let count = |number: fn(&OpenLoopCell) -> usize| open.map(|open| number(open).to_string()).unwrap_or_default();
    let figures: [fn(&OpenLoopCell) -> Option<f64>; 15] = [
        |open| open.scheduled_per_s,
        |open| open.started_per_s,
        |open| open.scheduled,
        |open| open.skipped,
        |open| open.queued,
        |open| open.service_us_p50,
        |open| open.service_us_p95,
        |open| open.service_us_p99,
        |open| open.service_us_max,
        |open| open.lag_us_p50,
        |open| open.lag_us_p99,
        |open| open.lag_us_max,
        |open| open.late_us_p50,
        |open| open.late_us_p99,
        |open| open.late_us_max,
    ];
    let mut fields =
        vec![count(|open| open.sustained.trials), count(|open| open.sustained.of), sustained(open).to_owned()];
    fields.extend(figures.map(|of| figure(open.and_then(of))));
    fields
}

/// `yes`, `no`, `some`; empty where no trial was judged.
fn sustained(open: Option<&OpenLoopCell>) -> &'static str {
    match open.map(|open| open.sustained) {
        Some(share) if share.is_all() => "yes",
        Some(share) if share.is_none() => "no",
        Some(share) if share.of > 0 => "some",
        _ => "",
    }
}

fn range_fields(input: &ReportInput<'_>, curve: Option<&Curve>) -> Vec<String> {
    let range = curve.and_then(|curve| curve.sustained);
    let rate = |index: usize| input.analysis.axis.level(&input.analysis.cells[index].configuration);
    let [highest, first_not] = [range.and_then(|range| range.highest), range.and_then(|range| range.first_not)];
    vec![figure(highest.map(rate)), figure(first_not.map(rate))]
}

fn detail_fields(detail: &CellDetail) -> Vec<String> {
    let stalls = [
        Some(detail.stalls as f64),
        Some(detail.dips as f64),
        Some(detail.stalled_ms),
        Some(detail.watched_ms),
        detail.longest_ms,
        detail.max_gap_ms,
    ];
    let stalls = stalls.map(|value| value.filter(|_| detail.trials_watched > 0));
    let ledger = ledger_keys().map(|key| detail.ledger.line(key).and_then(LedgerLine::per_tx));
    stalls.into_iter().chain(ledger).map(figure).collect()
}

/// Value, low, high; empty where there is none.
fn estimate(estimate: Option<&Estimate>) -> [String; 3] {
    [
        figure(estimate.map(|one| one.value)),
        figure(estimate.and_then(|one| one.low)),
        figure(estimate.and_then(|one| one.high)),
    ]
}

pub(crate) fn figure(value: Option<f64>) -> String {
    // An empty sum is -0.
    value.filter(|value| value.is_finite()).map(|value| (value + 0.0).to_string()).unwrap_or_default()
}

pub(crate) fn push_row(out: &mut String, fields: impl Iterator<Item = String>) {
    let fields: Vec<_> = fields.map(|field| quote(&field)).collect();
    out.push_str(&fields.join(","));
    out.push_str("\r\n");
}

fn quote(field: &str) -> String {
    // Lines stay lines.
    let lines: Vec<_> = field.split("\r\n").map(printable_text).collect();
    let field = without_formula(&lines.join("\r\n")).into_owned();
    if field.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field }
}

/// A spreadsheet evaluates a cell that begins like a formula, also between quotes; an apostrophe in front makes it a text. Texts
/// of servers and of other people's run folders are in these cells. Numbers stay numbers.
fn without_formula(field: &str) -> Cow<'_, str> {
    let is_formula = field.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) && field.parse::<f64>().is_err();
    if is_formula { Cow::Owned(format!("'{field}")) } else { Cow::Borrowed(field) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn one_row_a_configuration() {
        for fixture in [
            Fixture::durability(),
            Fixture::troubled(),
            Fixture::connections_only(),
            Fixture::rates(),
            Fixture::open_run(1000),
        ] {
            let text = csv(&fixture.input());
            let lines: Vec<_> = text.split_terminator("\r\n").collect();
            assert_eq!(lines.len(), 1 + fixture.analysis.cells.len());
            let own = COLUMNS.len() + MORE_COLUMNS.len() + STALL_COLUMNS.len() + ledger_keys().count();
            let width = own + fixture.run.plan.factors.len();
            assert!(lines.iter().all(|line| line.split(',').count() == width), "{text}");
        }
    }

    /// The field of a row, by the name of its column. For texts without commas in fields.
    fn field(text: &str, row: usize, name: &str) -> String {
        let mut lines = text.split_terminator("\r\n").map(|line| line.split(',').collect::<Vec<_>>());
        let names = lines.next().unwrap();
        let column = names.iter().position(|known| *known == name).unwrap();
        lines.nth(row).unwrap()[column].to_owned()
    }

    #[test]
    fn open_loops_and_limits_have_their_columns() {
        let text = csv(&Fixture::rates().input());
        let check = |row: usize, name: &str, expect: &str| assert_eq!(field(&text, row, name), expect, "{row} {name}");
        // Rates 1 000, 2 000, 4 000 of =1, then of =2.
        check(0, "rate", "1000");
        check(0, "target_rate", "1000");
        check(0, "sustained", "yes");
        check(2, "sustained", "no");
        check(2, "queued", "1200");
        check(2, "service_us_p99", "2000");
        check(2, "generator_limited_trials", "3");
        check(2, "generator_limited_reason", "its own starts were late: p99 2.5 ms");
        check(2, "highest_sustained_rate", "2000");
        check(2, "first_rate_not_sustained", "4000");
        check(5, "sustained_trials", "3");
        check(5, "verdict_generator_limited", "true");
        check(5, "generator_limited_trials", "0");
        check(4, "verdict_generator_limited", "false");
        check(5, "knee_connections", "");
        let closed = csv(&Fixture::durability().input());
        assert_eq!((field(&closed, 0, "sustained"), field(&closed, 0, "target_rate")), (String::new(), String::new()));
    }

    #[test]
    fn a_hostile_reason_is_one_field() {
        let fixture = Fixture::open_run(1000).with(|trials| {
            trials[0].measured.as_mut().unwrap().generator_limited = Some("a, \"b\"\r\nc".to_owned());
        });
        assert!(csv(&fixture.input()).contains(",1,\"a, \"\"b\"\"\r\nc\","));
    }

    #[test]
    fn fields_are_under_their_names() {
        let text = csv(&Fixture::durability().input());
        let check = |row: usize, name: &str, expect: &str| {
            let found = field(&text, row, name);
            assert!(found.starts_with(expect), "{name}: {found}");
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

    #[test]
    fn no_cell_is_a_formula() {
        let check = |field: &str, expect: &str| assert_eq!(quote(field), expect);
        for number in ["-5", "-0.25", "+1", "1e-7", "-1e300"] {
            check(number, number);
        }
        check("=1+2", "'=1+2");
        check("@SUM(A1)", "'@SUM(A1)");
        check("-2+3", "'-2+3");
        check("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0");
        check("\t=1", "'\t=1");
        check("\r=1", " =1");
        check("\r\n=1", "\"'\r\n=1\"");
        check("a\u{1b}[2J\u{7}\u{9b}\u{202e}b", "a [2J   b");
        check("=HYPERLINK(\"u\",\"t\")", "\"'=HYPERLINK(\"\"u\"\",\"\"t\"\")\"");
        check("a=1", "a=1");
    }
}
