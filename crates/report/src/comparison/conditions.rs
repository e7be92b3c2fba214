//! What was different about two sides beside the settings of their servers: plan, load, workload, server, host.

use serde::Serialize;
use serde_json::Value;
use truetps_record::{HostFacts, Plan, ProbeSpec};

use super::{ComparedSide, ComparisonInput};
use crate::document::{Block, Entry, Section, Table};
use crate::{format, load, names};

/// One thing, as it was on each side.
pub(super) struct Condition {
    pub(super) what: String,
    pub(super) a: String,
    pub(super) b: String,
}

/// The server that a side was measured on: `mariadb 10.11.6`.
pub(super) fn server(side: &ComparedSide<'_>) -> Option<String> {
    let of_trial = side.trial.and_then(|trial| trial.server.as_ref());
    of_trial.or(side.experiment.server.as_ref()).map(names::server)
}

/// Factors that the two have not the same level of, or one of them not at all.
pub(super) fn differing_levels<'a>(input: &ComparisonInput<'a>) -> Vec<&'a str> {
    let (a, b) = (&input.a.configuration.levels, &input.b.configuration.levels);
    let names = a.keys().chain(b.keys().filter(|name| !a.contains_key(*name)));
    names.filter(|name| a.get(*name) != b.get(*name)).map(String::as_str).collect()
}

/// Everything that differs.
pub(super) fn differing(input: &ComparisonInput<'_>) -> Vec<Condition> {
    let levels = differing_levels(input).into_iter().map(|name| {
        let level = |side: &ComparedSide<'_>| side.configuration.levels.get(name).map(ToString::to_string);
        let text = |side| level(side).unwrap_or_else(|| "no factor".to_owned());
        Condition { what: name.to_owned(), a: text(&input.a), b: text(&input.b) }
    });
    let others = described(&input.a).into_iter().zip(described(&input.b));
    let others = others.filter(|((_, a), (_, b))| a != b).map(|((what, a), (_, b))| Condition {
        what: what.to_owned(),
        a: known(a),
        b: known(b),
    });
    levels.chain(others).collect()
}

fn known(text: String) -> String {
    if text.is_empty() { "not known".to_owned() } else { text }
}

pub(super) fn section(input: &ComparisonInput<'_>) -> Option<Section> {
    let differing = differing(input);
    if differing.is_empty() {
        return None;
    }
    let rows =
        differing.iter().map(|one| vec![one.what.clone().into(), one.a.clone().into(), Entry::from(one.b.clone())]);
    let header = ["", "A", "B"].map(str::to_owned).to_vec();
    let table = Table { caption: None, header, rows: rows.collect(), words_last: true };
    Some(Section { heading: "What was different".to_owned(), blocks: vec![Block::Table(table)] })
}

/// The same list for each side.
fn described(side: &ComparedSide<'_>) -> Vec<(&'static str, String)> {
    let (plan, experiment) = (side.plan, side.experiment);
    let engine = side.trial.and_then(|trial| trial.engine.as_ref());
    let mut list = vec![
        ("server", server(side).unwrap_or_default()),
        ("workload", plan.workload.name.clone()),
        ("tables", load::tables(plan)),
    ];
    list.extend(workload(side));
    list.extend([
        ("protocol", format!("{:?}", plan.workload.protocol).to_lowercase()),
        ("load", load::rates(plan).unwrap_or_else(|| "closed loop".to_owned())),
        ("length", length(plan)),
        ("probe", probe(&plan.probe)),
        ("errors", load::errors(&plan.load.errors).join("; ")),
        ("driven by", engine.map(|engine| format!("{} workers", engine.workers)).unwrap_or_default()),
        ("truetps", experiment.tool_version.clone()),
    ]);
    list.extend(host(&experiment.host));
    list
}

/// What the plan says of the workload beside its name and tables.
fn workload(side: &ComparedSide<'_>) -> Vec<(&'static str, String)> {
    // Levels of factors are told as such.
    let spec = &side.plan.workload;
    let text = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    vec![
        ("keys", text(spec.key.map(as_written))),
        ("distribution", text(spec.distribution.map(as_written))),
        ("hot rows", text(spec.hot_rows.map(|rows| rows.to_string()))),
        ("rows an insert", text(spec.rows_per_insert.map(|rows| rows.to_string()))),
        ("script", text(spec.script.clone())),
    ]
}

/// As a plan writes it: `deleted`, `kind=zipfian theta=0.8`.
fn as_written(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(text)) => text,
        Ok(Value::Object(fields)) => {
            let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let fields: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={}", plain(value))).collect();
            fields.join(" ")
        }
        Ok(other) => other.to_string(),
        Err(_) => String::new(),
    }
}

/// Watching costs a little, and timing waits more.
fn probe(probe: &ProbeSpec) -> String {
    let waits = if probe.waits { ", waits timed" } else { "" };
    if probe.enabled { format!("every {} s{waits}", probe.interval_s) } else { "none".to_owned() }
}

fn length(plan: &Plan) -> String {
    match plan.recorded_from {
        Some(_) => load::recorded_length(plan),
        None => format!("{} s after {} s of warm-up", plan.load.measure_s, plan.load.warm_up_s),
    }
}

fn host(host: &HostFacts) -> Vec<(&'static str, String)> {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    vec![
        ("host", host.hostname.clone()),
        ("kernel", host.kernel.clone()),
        ("CPU", format!("{} of {}", format::plural(host.cores.into(), "core"), host.cpu_model)),
        ("memory", format::bytes(host.memory_bytes)),
        ("file system", text(&host.file_system)),
        ("device", text(&host.device)),
    ]
}
