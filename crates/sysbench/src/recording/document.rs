//! The document of a run: printed with `--report-format=json`, and stored in the run folder.

use serde_json::{Map, Value};
use truetps_record::{Counts, NoEvidence, Trial, Validity};

use super::facts::{self, TOOL_VERSION};
use crate::options::OptionValue;
use crate::output::{self, ClientFigures, FigureStyle, Figures, ScriptErrorCount};
use crate::run::{
    Count, EventTally, EventsEnding, RecordedSeries, WorkerContext, log_histogram, percentiles,
    statement_latencies,
};

/// Percentiles of the document, besides the requested ones.
const PERCENTILES: [f64; 4] = [50.0, 95.0, 99.0, 99.9];

/// How a run ended, and the figures of its report.
pub(crate) struct RecordedEnd<'a> {
    pub(crate) ending: EventsEnding,
    pub(crate) count: &'a Count,
    pub(crate) totals: &'a Figures,
    pub(crate) clients: &'a [ClientFigures],
    pub(crate) style: FigureStyle,
}

/// Errors of a period, most frequent first.
pub(crate) fn errors(events: &EventTally) -> Vec<ScriptErrorCount> {
    let errors = events.errors().clone().into_sorted().into_iter();
    errors
        .map(|error| ScriptErrorCount {
            class: error.class,
            code: if error.code == 0 { String::new() } else { error.code.to_string() },
            count: error.count,
            first_message: error.first_message,
        })
        .collect()
}

/// The validity of the figures after this ending, as far as the counts show it.
pub(crate) fn validity(ending: EventsEnding, recorded: &RecordedSeries) -> Validity {
    match ending {
        EventsEnding::Complete => match recorded.measured() {
            None => Validity::invalid(NoEvidence::NotMeasured),
            Some(measured) if nothing_ended(&measured.sums.counts) => {
                Validity::invalid(NoEvidence::NothingEnded)
            }
            Some(_) => Validity::Valid,
        },
        EventsEnding::Failed => Validity::invalid(NoEvidence::ClientFailed { error: None }),
        EventsEnding::Forced => Validity::partial(NoEvidence::ForcedShutdown),
        EventsEnding::Hanging => Validity::partial(NoEvidence::DrainTimeout),
        EventsEnding::Interrupted => Validity::partial(NoEvidence::Interrupted),
    }
}

/// Whether events were running, and none ended.
fn nothing_ended(counts: &Counts) -> bool {
    counts.ok + counts.failed == 0 && counts.in_flight > 0
}

fn options_of(context: &WorkerContext) -> Map<String, Value> {
    context
        .options
        .export()
        .map(|(name, value)| (String::from_utf8_lossy(name).into_owned(), json_of(&value)))
        .collect()
}

fn json_of(value: &OptionValue) -> Value {
    match value {
        OptionValue::Bool(value) => Value::from(*value),
        OptionValue::Number(value) => Value::from(*value),
        OptionValue::Text(text) => Value::from(String::from_utf8_lossy(text)),
        OptionValue::List(list) => {
            list.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect()
        }
        OptionValue::Nil => Value::Null,
    }
}

/// The whole run as one JSON document, on several lines, without a line end.
pub(crate) fn document(
    end: &RecordedEnd<'_>,
    validity: &Validity,
    context: &WorkerContext,
) -> String {
    text(fields(end, validity, context))
}

/// The document of a trial for its run folder, with facts that a reader of the folder cannot see on the command line.
/// Ends with a line end.
pub(super) fn with_circumstances(
    end: &RecordedEnd<'_>,
    context: &WorkerContext,
    trial: &Trial,
) -> String {
    let mut fields = fields(end, &trial.validity, context);
    let isolation =
        if context.threads == context.run.settings.threads { "client" } else { "worker" };
    fields.insert("command".to_owned(), facts::command(context).into());
    fields.insert("lua_isolation".to_owned(), isolation.into());
    fields.insert("workers".to_owned(), context.threads.into());
    fields.insert(
        "server".to_owned(),
        trial.server.as_ref().map_or(Value::Null, |server| serde_json::json!(server)),
    );
    text(fields) + "\n"
}

fn text(fields: Map<String, Value>) -> String {
    format!("{:#}", Value::Object(fields))
}

fn fields(
    end: &RecordedEnd<'_>,
    validity: &Validity,
    context: &WorkerContext,
) -> Map<String, Value> {
    let count = end.count;
    let events = &count.total.events;
    let mut wanted: Vec<f64> = PERCENTILES
        .into_iter()
        .chain(context.run.settings.ours.percentiles.iter().copied())
        .collect();
    wanted.sort_by(f64::total_cmp);
    wanted.dedup();
    output::json(&output::FinishedRun {
        tool_version: TOOL_VERSION,
        script: &String::from_utf8_lossy(&context.script.name),
        started_at: &context.run.started_at,
        validity,
        notes: &context.run.notes(),
        generator_limited: facts::full_worker(context, &count.recorded)
            .map(|limit| limit.to_string()),
        options: &options_of(context),
        seed: Some(context.run.seed),
        style: end.style,
        intervals: &count.intervals,
        checkpoints: &count.checkpoints,
        totals: end.totals,
        percentiles: &percentiles(events, &wanted),
        histogram: &log_histogram(events),
        errors: &errors(events),
        statements: &statement_latencies(&count.statements, &wanted),
        clients: end.clients,
    })
}
