//! A whole run as one JSON document: `--report-format=json`.

use serde_json::{Map, Value, json};
use truetps_record::Validity;

use super::extra::{Percentile, ScriptErrorCount, StatementLatency};
use super::figures::{ClientFigures, Fairness, FigureStyle, Figures};
use super::histogram::LogHistogram;
use crate::options::recorded_value;

/// The version of the document. Fields may be added under the same version.
const SCHEMA_VERSION: u32 = 1;

/// All facts of a finished run.
pub(crate) struct FinishedRun<'a> {
    pub(crate) tool_version: &'a str,
    /// As typed: a file, or a module's name.
    pub(crate) script: &'a str,
    /// RFC 3339, UTC.
    pub(crate) started_at: &'a str,
    pub(crate) validity: &'a Validity,
    /// Peculiarities that do not invalidate the figures.
    pub(crate) notes: &'a [String],
    /// Why a thread of the clients limited the figures. `None`: no thread did.
    pub(crate) generator_limited: Option<String>,
    /// All options with their values, except passwords.
    pub(crate) options: &'a Map<String, Value>,
    /// `None` if it was taken from the clock.
    pub(crate) seed: Option<u64>,
    pub(crate) style: FigureStyle,
    pub(crate) intervals: &'a [Figures],
    pub(crate) checkpoints: &'a [Figures],
    pub(crate) totals: &'a Figures,
    /// Percentiles of the totals, including the report's own percentile.
    pub(crate) percentiles: &'a [Percentile],
    pub(crate) histogram: &'a LogHistogram,
    pub(crate) errors: &'a [ScriptErrorCount],
    pub(crate) statements: &'a [StatementLatency],
    pub(crate) clients: &'a [ClientFigures],
}

/// The document.
///
/// ```text
/// schema_version   1
/// tool             "truetps sysbench"
/// tool_version, script, started_at
/// validity         {state: valid | invalid | partial, reason}
/// notes            [text]
/// generator_limited   text, null = no thread of the clients limited the figures
/// options          {name: value}
/// seed             number, null = from the clock
/// intervals        [span + {clients_running, response_us_pNN, queue_length, concurrency}]
/// checkpoints      [span + {response_us_min, _avg, _max, _sum, _pNN}]
/// totals           span + {response_us_min, _avg, _max, _sum, and _pNN for each percentile}
/// histogram        [{response_us, count}]                 buckets that counted something, ascending
/// errors           [{class, code, count, first_message}]
/// statements_by_kind   [{kind, count, service_us_avg, _max, _pNN}]
/// fairness         {transactions_avg, transactions_stddev, busy_s_avg, busy_s_stddev}
/// clients          [{transactions, busy_s, response_us_min, _avg, _max}]     in the order of their numbers
///
/// span             {end_s, length_s, transactions, tps, statements, qps, reads, writes, other,
///                   errors, errors_per_s, reconnects, reconnects_per_s}
/// ```
///
/// A transaction is what sysbench calls an event, and a client what it calls a thread. `end_s`
/// counts from the start of the measured time. `response_us_pNN` is `response_us_p95` for the 95th
/// percentile and `response_us_p999` for the 99.9th; below the 10th the point is a `_`.
/// `queue_length` and `concurrency` are there with a rate only. A number that cannot be written is
/// `null`.
pub(crate) fn json(run: &FinishedRun) -> Map<String, Value> {
    let intervals: Vec<Value> =
        run.intervals.iter().map(|figures| interval(figures, run.style)).collect();
    let checkpoints: Vec<Value> = run
        .checkpoints
        .iter()
        .map(|figures| report(figures, &own_percentile(figures, run.style)))
        .collect();
    let histogram: Vec<Value> = run
        .histogram
        .rows()
        .map(|(ms, count)| json!({ "response_us": us(ms / 1e3), "count": count }))
        .collect();
    let fields = [
        ("schema_version", json!(SCHEMA_VERSION)),
        ("tool", json!("truetps sysbench")),
        ("tool_version", json!(run.tool_version)),
        ("script", json!(run.script)),
        ("started_at", json!(run.started_at)),
        ("validity", json!(run.validity.words())),
        ("notes", json!(run.notes)),
        ("generator_limited", json!(run.generator_limited)),
        ("options", json!(without_passwords(run.options))),
        ("seed", json!(run.seed)),
        ("intervals", json!(intervals)),
        ("checkpoints", json!(checkpoints)),
        ("totals", json!(report(run.totals, run.percentiles))),
        ("histogram", json!(histogram)),
        ("errors", json!(run.errors.iter().map(error).collect::<Vec<_>>())),
        ("statements_by_kind", json!(run.statements.iter().map(statement).collect::<Vec<_>>())),
        ("fairness", json!(fairness(run.clients))),
        ("clients", json!(run.clients.iter().map(client).collect::<Vec<_>>())),
    ];
    fields.map(|(name, value)| (name.to_owned(), value)).into_iter().collect()
}

/// Counts and rates that intervals, checkpoints and totals have in common.
fn span(figures: &Figures) -> Map<String, Value> {
    let queries = figures.queries();
    let fields = [
        ("end_s", json!(figures.time_total_s)),
        ("length_s", json!(figures.time_interval_s)),
        ("transactions", json!(figures.events)),
        ("tps", json!(figures.per_second(figures.events))),
        ("statements", json!(queries)),
        ("qps", json!(figures.per_second(queries))),
        ("reads", json!(figures.reads)),
        ("writes", json!(figures.writes)),
        ("other", json!(figures.other)),
        ("errors", json!(figures.errors)),
        ("errors_per_s", json!(figures.per_second(figures.errors))),
        ("reconnects", json!(figures.reconnects)),
        ("reconnects_per_s", json!(figures.per_second(figures.reconnects))),
    ];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn interval(figures: &Figures, style: FigureStyle) -> Value {
    let mut fields = span(figures);
    fields.insert("clients_running".to_owned(), json!(figures.threads_running));
    insert_percentiles(&mut fields, "response", &own_percentile(figures, style));
    if style.has_rate {
        fields.insert("queue_length".to_owned(), json!(figures.queue_length));
        fields.insert("concurrency".to_owned(), json!(figures.concurrency));
    }
    Value::Object(fields)
}

fn report(figures: &Figures, percentiles: &[Percentile]) -> Value {
    let mut fields = span(figures);
    fields.insert("response_us_min".to_owned(), us(figures.latency_min_s));
    fields.insert("response_us_avg".to_owned(), us(figures.latency_avg_s));
    fields.insert("response_us_max".to_owned(), us(figures.latency_max_s));
    fields.insert("response_us_sum".to_owned(), us(figures.latency_sum_s));
    insert_percentiles(&mut fields, "response", percentiles);
    Value::Object(fields)
}

/// The percentile in the report's lines; none with `--percentile=0`.
fn own_percentile(figures: &Figures, style: FigureStyle) -> Vec<Percentile> {
    let percentile =
        Percentile { percent: f64::from(style.percentile), latency_s: figures.latency_pct_s };
    if style.percentile == 0 { Vec::new() } else { vec![percentile] }
}

fn insert_percentiles(fields: &mut Map<String, Value>, of: &str, percentiles: &[Percentile]) {
    for percentile in percentiles {
        // 9.5 must not look like 95.
        let point = if percentile.percent < 10.0 { "_" } else { "" };
        let digits = percentile.percent.to_string().replace('.', point);
        fields.insert(format!("{of}_us_p{digits}"), us(percentile.latency_s));
    }
}

fn error(error: &ScriptErrorCount) -> Value {
    let ScriptErrorCount { class, code, count, first_message } = error;
    json!({ "class": class, "code": code, "count": count, "first_message": first_message })
}

fn statement(statement: &StatementLatency) -> Value {
    let mut fields = Map::new();
    fields.insert("kind".to_owned(), json!(statement.kind));
    fields.insert("count".to_owned(), json!(statement.count));
    fields.insert("service_us_avg".to_owned(), us(statement.avg_s));
    fields.insert("service_us_max".to_owned(), us(statement.max_s));
    insert_percentiles(&mut fields, "service", &statement.percentiles);
    Value::Object(fields)
}

fn fairness(clients: &[ClientFigures]) -> Value {
    let Fairness { events_avg, events_stddev, seconds_avg, seconds_stddev } = Fairness::of(clients);
    json!({
        "transactions_avg": events_avg,
        "transactions_stddev": events_stddev,
        "busy_s_avg": seconds_avg,
        "busy_s_stddev": seconds_stddev,
    })
}

fn client(client: &ClientFigures) -> Value {
    json!({
        "transactions": client.events,
        "busy_s": client.busy_s,
        "response_us_min": us(client.latency_min_s),
        "response_us_avg": us(client.latency_avg_s()),
        "response_us_max": us(client.latency_max_s),
    })
}

/// Microseconds, to the nanosecond: more digits have no meaning.
fn us(seconds: f64) -> Value {
    json!((seconds * 1e9).round() / 1e3)
}

fn without_passwords(options: &Map<String, Value>) -> Map<String, Value> {
    options
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), recorded_value(name, value)?)))
        .collect()
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
