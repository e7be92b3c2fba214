//! The document of a run for `--report-format=json`.

use serde_json::{Map, Value};
use truetps_probe::clock;
use truetps_record::Validity;

use crate::options;
use crate::output::{self, ClientFigures, ErrorCount, Figures, Style};
use crate::run::{Count, Crew, Ending, Share, log_histogram, percentiles, statement_latencies};

pub(crate) const TOOL_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Percentiles of the document, beside those that were asked for.
const PERCENTILES: [f64; 4] = [50.0, 95.0, 99.0, 99.9];

/// Errors of a stretch, most frequent first.
pub(crate) fn errors(share: &Share) -> Vec<ErrorCount> {
    let of = |error: truetps_record::ErrorCount| ErrorCount {
        class: error.class,
        code: if error.code == 0 { String::new() } else { error.code.to_string() },
        count: error.count,
        first_message: error.first_message,
    };
    share.errors.clone().into_sorted().into_iter().map(of).collect()
}

/// What the ending says of the figures.
pub(crate) fn validity(ending: Ending) -> Validity {
    match ending {
        Ending::Complete => Validity::Valid,
        Ending::Failed => Validity::Invalid("a client failed: the reason was printed".to_owned()),
        Ending::Forced => Validity::Partial("--forced-shutdown ended it before all events had ended".to_owned()),
        Ending::Hanging => Validity::Partial("events had not ended long after --time (--drain-timeout)".to_owned()),
        Ending::Interrupted => Validity::Partial("the user interrupted it".to_owned()),
    }
}

fn options_of(crew: &Crew) -> Map<String, Value> {
    let value = |value: &options::Value| match value {
        options::Value::Bool(value) => Value::from(*value),
        options::Value::Number(value) => Value::from(*value),
        options::Value::Text(text) => Value::from(String::from_utf8_lossy(text)),
        options::Value::List(list) => list.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect(),
        options::Value::Nil => Value::Null,
    };
    crew.options.export().map(|(name, of)| (String::from_utf8_lossy(name).into_owned(), value(&of))).collect()
}

/// The whole run as one JSON document.
pub(crate) fn document(
    crew: &Crew,
    count: &Count,
    totals: &Figures,
    clients: &[ClientFigures],
    style: Style,
    ending: Ending,
) -> String {
    let share = &count.total.share;
    let mut wanted: Vec<f64> =
        PERCENTILES.into_iter().chain(crew.run.settings.ours.percentiles.iter().copied()).collect();
    wanted.sort_by(f64::total_cmp);
    wanted.dedup();
    output::json(&output::Run {
        tool_version: TOOL_VERSION,
        script: &String::from_utf8_lossy(&crew.script.name),
        started_at: &clock::now_rfc3339(),
        validity: &validity(ending),
        notes: &crew.run.notes(),
        options: &options_of(crew),
        seed: Some(crew.run.seed),
        style,
        intervals: &count.intervals,
        checkpoints: &count.checkpoints,
        totals,
        percentiles: &percentiles(share, &wanted),
        histogram: &log_histogram(share),
        errors: &errors(share),
        statements: &statement_latencies(share, &wanted),
        clients,
    })
}
