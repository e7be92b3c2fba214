//! Blocks of text that sysbench does not have, in its style. They are printed only on request,
//! after the report or before it, so that programs that parse sysbench's lines are not disturbed.

use std::fmt::Write as _;

use truetps_record::ErrorClass;

/// One of several percentiles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Percentile {
    /// Above 0 to 100; fractions such as 99.9 are fine.
    pub(crate) percent: f64,
    pub(crate) latency_s: f64,
}

impl Percentile {
    /// `p95`, `p99.9`.
    fn label(&self) -> String {
        format!("p{}", self.percent)
    }
}

/// How long statements of one kind took, from sending one to its whole result.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct StatementLatency {
    /// What the statements do: `select`, `insert`, `commit`.
    pub(crate) kind: String,
    pub(crate) count: u64,
    pub(crate) avg_s: f64,
    pub(crate) max_s: f64,
    /// Every kind has them of the same shares, in the same order.
    pub(crate) percentiles: Vec<Percentile>,
}

/// Errors of one class that were ignored or fatal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScriptErrorCount {
    pub(crate) class: ErrorClass,
    /// The server's error number or its SQLSTATE, whichever identifies its errors; empty if the
    /// error is not the server's.
    pub(crate) code: String,
    pub(crate) count: u64,
    pub(crate) first_message: String,
}

/// Several percentiles, in the columns of the report's latencies; an empty line at the end. Nothing
/// without percentiles.
pub(crate) fn percentiles(percentiles: &[Percentile]) -> String {
    if percentiles.is_empty() {
        return String::new();
    }
    let mut text = String::from("Latency percentiles (ms):\n");
    for percentile in percentiles {
        _ = writeln!(text, "{:>12}: {:39.2}", percentile.label(), percentile.latency_s * 1e3);
    }
    text
}

/// A table with a row for each kind of statement; an empty line at the end. Nothing without
/// statements.
pub(crate) fn statement_latency(kinds: &[StatementLatency]) -> String {
    let Some(first) = kinds.iter().max_by_key(|kind| kind.percentiles.len()) else {
        return String::new();
    };
    let width = kinds.iter().map(|kind| kind.kind.chars().count()).max().unwrap_or(0).max(24);
    let mut text = format!(
        "Latency by statement kind (ms):\n    {:width$} {:>11} {:>11}",
        "kind", "count", "avg"
    );
    for percentile in &first.percentiles {
        _ = write!(text, " {:>11}", percentile.label());
    }
    _ = writeln!(text, " {:>11}", "max");
    for kind in kinds {
        let StatementLatency { kind: name, count, avg_s, max_s, percentiles } = kind;
        _ = write!(text, "    {name:width$} {count:>11} {:>11.2}", avg_s * 1e3);
        for percentile in percentiles {
            _ = write!(text, " {:>11.2}", percentile.latency_s * 1e3);
        }
        _ = writeln!(text, " {:>11.2}", max_s * 1e3);
    }
    text
}

/// A row for each class of errors, in the columns of the report's `ignored errors`; an empty line
/// at the end. Empty without errors. Rates are counts divided by `interval_s`.
pub(crate) fn errors_by_class(errors: &[ScriptErrorCount], interval_s: f64) -> String {
    if errors.is_empty() {
        return String::new();
    }
    let mut text = String::from("Errors by class:\n");
    for ScriptErrorCount { class, code, count, .. } in errors {
        let label =
            if code.is_empty() { format!("{class}:") } else { format!("{class} ({code}):") };
        let rate = if interval_s > 0.0 { *count as f64 / interval_s } else { 0.0 };
        _ = writeln!(text, "    {label:<36} {count:<6} ({rate:.2} per sec.)");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_stand_under_the_reports_latencies() {
        let some = [(50.0, 0.001_234), (99.0, 0.0123), (99.9, 1.5)]
            .map(|(percent, latency_s)| Percentile { percent, latency_s });
        let expected = "\
Latency percentiles (ms):
         p50:                                    1.23
         p99:                                   12.30
       p99.9:                                 1500.00
";
        assert_eq!(percentiles(&some), expected);
        assert_eq!(percentiles(&[]), "");
    }

    #[test]
    fn statements_are_a_table() {
        let percentiles = vec![Percentile { percent: 95.0, latency_s: 0.002 }];
        let kind = |kind: &str, count| StatementLatency {
            kind: kind.to_owned(),
            count,
            avg_s: 0.001,
            max_s: 0.0155,
            percentiles: percentiles.clone(),
        };
        let expected = "\
Latency by statement kind (ms):
    kind                           count         avg         p95         max
    select                        214354        1.00        2.00       15.50
    commit                            12        1.00        2.00       15.50
";
        assert_eq!(statement_latency(&[kind("select", 214_354), kind("commit", 12)]), expected);
        assert_eq!(statement_latency(&[]), "");
    }

    #[test]
    fn errors_stand_in_the_columns_of_ignored_errors() {
        let error = |class: &str, code: &str, count| ScriptErrorCount {
            class: class.parse().expect("a class"),
            code: code.to_owned(),
            count,
            first_message: String::new(),
        };
        let expected = "\
Errors by class:
    deadlock (1213):                     12     (6.00 per sec.)
    connection_lost:                     1      (0.50 per sec.)
";
        assert_eq!(
            errors_by_class(&[error("deadlock", "1213", 12), error("connection_lost", "", 1)], 2.0),
            expected
        );
        assert_eq!(errors_by_class(&[], 2.0), "");
    }
}
