//! Figures for Prometheus, in its text format 0.0.4.

use std::fmt::Write;

use truetps_batch::{BatchCounts, CommitFigures, FigureHistogram};

use crate::http::ConnectionCounts;
use crate::served_table::ServedTable;

/// Lines of one metric: its head, then a sample for each table.
struct MetricLines<'a> {
    text: &'a mut String,
    name: &'static str,
}

impl<'a> MetricLines<'a> {
    fn begin(text: &'a mut String, name: &'static str, kind: &str, help: &str) -> Self {
        // Writing to a string does not fail.
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        Self { text, name }
    }

    fn sample(&mut self, suffix: &str, labels: &[(&str, &str)], value: f64) {
        let pairs: Vec<_> =
            labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
        let _ = writeln!(self.text, "{}{suffix}{{{}}} {value}", self.name, pairs.join(","));
    }

    fn histogram(&mut self, table: &str, histogram: &FigureHistogram) {
        let mut below = 0;
        for (n, count) in histogram.counts.iter().enumerate() {
            below += count;
            let bound = histogram.bounds.get(n).map_or_else(|| "+Inf".to_owned(), f64::to_string);
            self.sample("_bucket", &[("table", table), ("le", &bound)], below as f64);
        }
        self.sample("_sum", &[("table", table)], histogram.sum);
        self.sample("_count", &[("table", table)], below as f64);
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

pub(crate) fn metrics_text(tables: &[ServedTable], connections: ConnectionCounts) -> String {
    let mut text = String::new();
    put_rows(tables, &mut text);
    put_queues(tables, &mut text);
    put_commits(tables, &mut text);
    put_connections(connections, &mut text);
    text
}

fn put_connections(
    ConnectionCounts { open, most, refused, replaced }: ConnectionCounts,
    text: &mut String,
) {
    let refused_help =
        "HTTP connections that were closed at once, because there were as many as there may be.";
    let replaced_help = "HTTP connections that waited and were closed to make place for others.";
    for (name, kind, help, value) in [
        ("truetps_gateway_connections", "gauge", "Open HTTP connections.", open as u64),
        (
            "truetps_gateway_connections_limit",
            "gauge",
            "HTTP connections that may be open.",
            most as u64,
        ),
        ("truetps_gateway_refused_connections_total", "counter", refused_help, refused),
        ("truetps_gateway_replaced_connections_total", "counter", replaced_help, replaced),
    ] {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
    }
}

fn put_rows(tables: &[ServedTable], text: &mut String) {
    let mut lines =
        MetricLines::begin(text, "truetps_gateway_rows_total", "counter", "Rows by their answer.");
    for table in tables {
        for (result, count) in table.rows.each() {
            lines.sample("", &[("table", &table.name), ("result", result)], count as f64);
        }
    }
    let help = "From the whole request to its answer.";
    let mut lines = MetricLines::begin(text, "truetps_gateway_answer_seconds", "histogram", help);
    for table in tables {
        lines.histogram(&table.name, &table.answer_seconds());
    }
}

fn put_queues(tables: &[ServedTable], text: &mut String) {
    let states: Vec<_> = tables.iter().map(|table| (table, table.queue.state())).collect();
    let mut gauge = |name, help, value: &dyn Fn(&truetps_batch::CommitState) -> f64| {
        let mut lines = MetricLines::begin(text, name, "gauge", help);
        for (table, state) in &states {
            lines.sample("", &[("table", &table.name)], value(state));
        }
    };
    gauge("truetps_gateway_queue_rows", "Rows that wait for a commit.", &|state| state.rows as f64);
    gauge("truetps_gateway_queue_bytes", "Their bytes.", &|state| state.bytes as f64);
    gauge("truetps_gateway_queue_rows_limit", "Rows that may wait.", &|state| {
        state.limits.rows as f64
    });
    let help = "How long the next row is expected to wait for its commit.";
    gauge("truetps_gateway_expected_wait_seconds", help, &|state| {
        state.expected_wait.as_secs_f64()
    });
    gauge("truetps_gateway_down", "1: the database takes no rows at the moment.", &|state| {
        f64::from(u8::from(state.is_down))
    });
    let help = "1 with the word of the header X-Durability.";
    let mut lines = MetricLines::begin(text, "truetps_gateway_durability", "gauge", help);
    for table in tables {
        lines.sample("", &[("table", &table.name), ("durability", table.durability_word())], 1.0);
    }
}

fn put_commits(tables: &[ServedTable], text: &mut String) {
    let figures: Vec<_> =
        tables.iter().map(|table| (table.name.as_str(), table.queue.figures())).collect();
    let mut histogram = |name, help, of: fn(&CommitFigures) -> &FigureHistogram| {
        let mut lines = MetricLines::begin(text, name, "histogram", help);
        for (table, figures) in &figures {
            lines.histogram(table, of(figures));
        }
    };
    let help = "From the first statement of a batch to the answer of its last row.";
    histogram("truetps_gateway_batch_seconds", help, |figures| &figures.batch_seconds);
    histogram("truetps_gateway_batch_rows", "Rows of a batch.", |figures| &figures.batch_rows);
    histogram(
        "truetps_gateway_queue_seconds",
        "From the queue to the first statement.",
        |figures| &figures.queue_seconds,
    );
    let mut counter = |name, help, of: fn(&CommitFigures) -> u64| {
        let mut lines = MetricLines::begin(text, name, "counter", help);
        for (table, figures) in &figures {
            lines.sample("", &[("table", table)], of(figures) as f64);
        }
    };
    counter("truetps_gateway_statements_total", "INSERT statements.", |figures| {
        figures.counts.statements
    });
    let help = "Statements whose outcome was unknown.";
    counter("truetps_gateway_unknown_outcomes_total", help, |figures| {
        figures.counts.unknown_outcomes
    });
    counter("truetps_gateway_replays_total", "Statements sent again after one.", |figures| {
        figures.counts.replays
    });
    let help = "Rows that replays found stored: their commit succeeded, and its reply was lost.";
    counter("truetps_gateway_found_rows_total", help, |figures| figures.counts.found_rows);
    counter(
        "truetps_gateway_retries_total",
        "Statements sent again after an error that passes.",
        |figures| figures.counts.retries,
    );
    counter(
        "truetps_gateway_divisions_total",
        "Batches divided because of a wrong row.",
        |figures| figures.counts.divisions,
    );
    counter("truetps_gateway_logins_total", "Logins of commit connections.", |figures| {
        figures.counts.logins
    });
    counter(
        "truetps_gateway_expired_rows_total",
        "Rows whose time was over before they were sent.",
        |figures| figures.expired,
    );
    counter(
        "truetps_gateway_abandoned_rows_total",
        "Rows not sent because their clients had gone.",
        |figures| figures.abandoned,
    );
    let help = "Batches that ended with an error that was no row's fault.";
    let mut lines = MetricLines::begin(text, "truetps_gateway_faults_total", "counter", help);
    for (table, figures) in &figures {
        for (class, count) in figures.faults {
            lines.sample(
                "",
                &[("table", table), ("class", &format!("{class:?}").to_lowercase())],
                count as f64,
            );
        }
    }
}

/// Counts of all batches as JSON.
pub(crate) fn counts_json(counts: &BatchCounts) -> serde_json::Value {
    let BatchCounts {
        statements,
        replays,
        found_rows,
        unknown_outcomes,
        retries,
        divisions,
        logins,
    } = counts;
    serde_json::json!({
        "statements": statements, "replays": replays, "found_rows": found_rows, "unknown_outcomes": unknown_outcomes,
        "retries": retries, "divisions": divisions, "logins": logins,
    })
}
