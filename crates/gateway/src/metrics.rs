//! Figures for Prometheus, in its text format 0.0.4.

use truetps_batch::{BatchCounts, CommitFigures, CommitState, FigureHistogram};
use truetps_record::MetricFamily;
use truetps_record::MetricKind::{self, Counter, Gauge, Histogram};

use crate::http::ConnectionCounts;
use crate::served_table::ServedTable;

pub(crate) fn metrics_text(tables: &[ServedTable], connections: ConnectionCounts) -> String {
    let mut text = String::new();
    put_rows(tables, &mut text);
    put_queues(tables, &mut text);
    put_commits(tables, &mut text);
    put_connections(connections, &mut text);
    text
}

fn put_connections(counts: ConnectionCounts, text: &mut String) {
    let ConnectionCounts { open, most, refused, replaced } = counts;
    let refused_help =
        "HTTP connections that were closed at once, because there were as many as there may be.";
    let replaced_help = "HTTP connections that waited and were closed to make place for others.";
    for (name, kind, help, value) in [
        ("truetps_gateway_connections", Gauge, "Open HTTP connections.", open as u64),
        (
            "truetps_gateway_connections_limit",
            Gauge,
            "HTTP connections that may be open.",
            most as u64,
        ),
        ("truetps_gateway_refused_connections_total", Counter, refused_help, refused),
        ("truetps_gateway_replaced_connections_total", Counter, replaced_help, replaced),
    ] {
        put_family((name, kind, help), text, |family| family.sample("", &[], value as f64));
    }
}

/// Appends one metric; `add` adds its samples.
fn put_family(
    (name, kind, help): (&str, MetricKind, &str),
    text: &mut String,
    add: impl FnOnce(&mut MetricFamily),
) {
    let mut family = MetricFamily::new(name, kind, help);
    add(&mut family);
    text.push_str(family.lines());
}

fn add_histogram(family: &mut MetricFamily, table: &str, histogram: &FigureHistogram) {
    let mut below = 0;
    for (n, count) in histogram.counts.iter().enumerate() {
        below += count;
        let bound = histogram.bounds.get(n).map_or_else(|| "+Inf".to_owned(), f64::to_string);
        family.sample("_bucket", &[("table", table), ("le", &bound)], below as f64);
    }
    family.sample("_sum", &[("table", table)], histogram.sum);
    family.sample("_count", &[("table", table)], below as f64);
}

fn put_rows(tables: &[ServedTable], text: &mut String) {
    let metric = ("truetps_gateway_rows_total", Counter, "Rows by their answer.");
    put_family(metric, text, |family| {
        for table in tables {
            for (result, count) in table.rows.each() {
                family.sample("", &[("table", &table.name), ("result", result)], count as f64);
            }
        }
    });
    let help = "From the whole request to its answer.";
    put_family(("truetps_gateway_answer_seconds", Histogram, help), text, |family| {
        for table in tables {
            add_histogram(family, &table.name, &table.answer_seconds());
        }
    });
}

/// Name and help of a gauge, and its value.
type QueueGauge = (&'static str, &'static str, fn(&CommitState) -> f64);

const QUEUE_GAUGES: [QueueGauge; 5] = [
    ("truetps_gateway_queue_rows", "Rows that wait for a commit.", |state| state.rows as f64),
    ("truetps_gateway_queue_bytes", "Their bytes.", |state| state.bytes as f64),
    ("truetps_gateway_queue_rows_limit", "Rows that may wait.", |state| state.limits.rows as f64),
    (
        "truetps_gateway_expected_wait_seconds",
        "How long the next row is expected to wait for its commit.",
        |state| state.expected_wait.as_secs_f64(),
    ),
    ("truetps_gateway_down", "1: the database takes no rows at the moment.", |state| {
        f64::from(u8::from(state.is_down))
    }),
];

fn put_queues(tables: &[ServedTable], text: &mut String) {
    let states: Vec<_> = tables.iter().map(|table| (table, table.queue.state())).collect();
    for (name, help, value) in QUEUE_GAUGES {
        put_family((name, Gauge, help), text, |family| {
            for (table, state) in &states {
                family.sample("", &[("table", &table.name)], value(state));
            }
        });
    }
    let help = "1 with the word of the header X-Durability.";
    put_family(("truetps_gateway_durability", Gauge, help), text, |family| {
        for table in tables {
            let labels = [("table", table.name.as_str()), ("durability", table.durability_word())];
            family.sample("", &labels, 1.0);
        }
    });
}

type CommitHistogram = (&'static str, &'static str, fn(&CommitFigures) -> &FigureHistogram);

const COMMIT_HISTOGRAMS: [CommitHistogram; 3] = [
    (
        "truetps_gateway_batch_seconds",
        "From the first statement of a batch to the answer of its last row.",
        |figures| &figures.batch_seconds,
    ),
    ("truetps_gateway_batch_rows", "Rows of a batch.", |figures| &figures.batch_rows),
    ("truetps_gateway_queue_seconds", "From the queue to the first statement.", |figures| {
        &figures.queue_seconds
    }),
];

type CommitTotal = (&'static str, &'static str, fn(&CommitFigures) -> u64);

const COMMIT_TOTALS: [CommitTotal; 9] = [
    ("truetps_gateway_statements_total", "INSERT statements.", |figures| figures.counts.statements),
    (
        "truetps_gateway_unknown_outcomes_total",
        "Statements whose outcome was unknown.",
        |figures| figures.counts.unknown_outcomes,
    ),
    ("truetps_gateway_replays_total", "Statements sent again after one.", |figures| {
        figures.counts.replays
    }),
    (
        "truetps_gateway_found_rows_total",
        "Rows that replays found stored: their commit succeeded, and its reply was lost.",
        |figures| figures.counts.found_rows,
    ),
    (
        "truetps_gateway_retries_total",
        "Statements sent again after an error that passes.",
        |figures| figures.counts.retries,
    ),
    ("truetps_gateway_divisions_total", "Batches divided because of a wrong row.", |figures| {
        figures.counts.divisions
    }),
    ("truetps_gateway_logins_total", "Logins of commit connections.", |figures| {
        figures.counts.logins
    }),
    (
        "truetps_gateway_expired_rows_total",
        "Rows whose time was over before they were sent.",
        |figures| figures.expired,
    ),
    (
        "truetps_gateway_abandoned_rows_total",
        "Rows not sent because their clients had gone.",
        |figures| figures.abandoned,
    ),
];

fn put_commits(tables: &[ServedTable], text: &mut String) {
    let figures: Vec<_> =
        tables.iter().map(|table| (table.name.as_str(), table.queue.figures())).collect();
    for (name, help, histogram) in COMMIT_HISTOGRAMS {
        put_family((name, Histogram, help), text, |family| {
            for (table, figures) in &figures {
                add_histogram(family, table, histogram(figures));
            }
        });
    }
    for (name, help, count) in COMMIT_TOTALS {
        put_family((name, Counter, help), text, |family| {
            for (table, figures) in &figures {
                family.sample("", &[("table", table)], count(figures) as f64);
            }
        });
    }
    let help = "Batches that ended with an error that was no row's fault.";
    put_family(("truetps_gateway_faults_total", Counter, help), text, |family| {
        for (table, figures) in &figures {
            for (class, count) in figures.faults {
                let class = format!("{class:?}").to_lowercase();
                family.sample("", &[("table", table), ("class", &class)], count as f64);
            }
        }
    });
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
