//! The page for browsers, and the figures that it draws.

use serde_json::{Map, Value, json};
use truetps_batch::FigureHistogram;

use crate::metrics::counts_json;
use crate::served_table::ServedTable;

/// One file: it loads nothing from elsewhere.
pub(crate) const PAGE: &str = include_str!("page.html");

/// Totals since the start; the page makes rates of their differences.
pub(crate) fn state_json(tables: &[ServedTable], connections: usize) -> String {
    let tables: Vec<_> = tables.iter().map(table_json).collect();
    json!({ "connections": connections, "tables": tables }).to_string()
}

fn table_json(table: &ServedTable) -> Value {
    let (state, figures, durability) =
        (table.queue.state(), table.queue.figures(), table.durability());
    let rows: Map<String, Value> =
        table.rows.each().map(|(name, count)| (name.to_owned(), count.into())).collect();
    json!({
        "name": table.name,
        "rows": rows,
        "queue": { "rows": state.rows, "rows_limit": state.limits.rows, "bytes": state.bytes },
        "expected_wait_ms": state.expected_wait.as_secs_f64() * 1e3,
        "commit_ms": state.commit_time.as_secs_f64() * 1e3,
        "is_down": state.is_down,
        "answer_seconds": histogram_json(&table.answer_seconds()),
        "batch_rows": histogram_json(&figures.batch_rows),
        "counts": counts_json(&figures.counts),
        "last_fault": figures.last_fault,
        "durability": durability.word,
        "durability_text": durability.sentence,
    })
}

fn histogram_json(histogram: &FigureHistogram) -> Value {
    json!({ "bounds": histogram.bounds, "counts": histogram.counts, "sum": histogram.sum })
}
