//! Differences between two sides besides their servers' settings: the load, the server and the
//! host.

use std::collections::BTreeMap;

use serde_json::{Value, to_value};
use truetps_record::{HostFacts, is_workload_factor};

use super::inputs::InputsDiffer;
use super::line_diff::cut_around_difference;
use super::run_comparison::{ComparedSide, DifferingCondition, RunComparison};
use super::scripts::ScriptsDiffer;
use super::{own_sql, scripts};
use crate::document::{DocumentSection, DocumentTable};
use crate::{format, names};

/// Characters of a value that are shown.
const LEVEL_MAX: usize = 60;

/// The server that a side was measured on: `mariadb 10.11.6`.
pub(crate) fn server(side: &ComparedSide<'_>) -> Option<String> {
    side.server().map(names::server)
}

/// Everything that differs: scripts first, then levels of factors, then what the plans say by their
/// own keys, then server, program and host.
pub(crate) fn differing(
    input: &RunComparison<'_>,
    inputs: &InputsDiffer,
) -> Vec<DifferingCondition> {
    // Workload factors are shown by the workload's own keys, which a plan without that factor has
    // as well.
    let levels =
        input.differing_levels().into_iter().filter(|name| !is_workload_factor(name)).map(|name| {
            let [a, b] = [&input.a, &input.b].map(|side| {
                let level = side.configuration.levels.get(name).map(ToString::to_string);
                level.unwrap_or_else(|| "no factor".to_owned())
            });
            DifferingCondition { what: name.to_owned(), a, b }
        });
    let scripts = inputs
        .scripts
        .as_ref()
        .map(|differ| scripts::conditions(input, differ))
        .unwrap_or_default();
    scripts
        .into_iter()
        .chain(levels)
        .chain(differing_plan_keys(input))
        .chain(surroundings(input))
        .collect()
}

pub(super) fn section(input: &RunComparison<'_>, inputs: &InputsDiffer) -> Option<DocumentSection> {
    let mut blocks = own_sql::blocks(&inputs.sql);
    blocks.extend(inputs.scripts.iter().flat_map(|differ| scripts::blocks(input, differ)));
    let rows = differing(input, inputs).into_iter().map(|one| [one.what, one.a, one.b]);
    let table = DocumentTable::new(["", "A", "B"], rows).block();
    DocumentSection::of("What was different", blocks.into_iter().map(Some).chain([table]))
}

/// Whether the two workloads differ: then throughput also compares the workloads.
pub(crate) fn is_other_work(input: &RunComparison<'_>, inputs: &InputsDiffer) -> bool {
    let scripts_differ = inputs.scripts.as_ref().is_some_and(|differ| {
        let ScriptsDiffer { texts, statements, transaction } = differ;
        !(texts.is_empty() && statements.is_empty() && transaction.is_empty())
    });
    scripts_differ || input.a.workload() != input.b.workload()
}

/// Keys of the plans with other values: `workload.key`, `load.measure_s`. The effect of a new
/// key on a figure is not known in advance, so all keys are compared.
fn differing_plan_keys(input: &RunComparison<'_>) -> Vec<DifferingCondition> {
    let [a, b] = [&input.a, &input.b].map(|side| plan_keys(side, input.settings.is_some()));
    let names = a.keys().chain(b.keys().filter(|name| !a.contains_key(*name)));
    let differing = names.filter(|name| a.get(*name) != b.get(*name)).map(|name| {
        let [a, b] =
            [&a, &b].map(|keys| keys.get(name).cloned().unwrap_or_else(|| "not set".to_owned()));
        let (a, b) = cut_around_difference(a, b, LEVEL_MAX);
        DifferingCondition { what: name.clone(), a, b }
    });
    differing.collect()
}

/// Every key of a plan that affects a trial of this side, including the levels of the workload's
/// factors. Settings of the server have their own section, unless a side has not recorded them.
fn plan_keys(side: &ComparedSide<'_>, are_settings_known: bool) -> BTreeMap<String, String> {
    let plan = &side.run.plan;
    let mut keys = BTreeMap::new();
    let mut parts = vec![
        ("disk", to_value(plan.disk_of(side.configuration))),
        ("workload", to_value(side.workload())),
        ("load", to_value(&plan.load)),
        ("probe", to_value(&plan.probe)),
        ("design.datadir", to_value(plan.design.datadir)),
        ("recorded_from", to_value(plan.recorded_from)),
    ];
    if !are_settings_known {
        parts.push(("server.settings", to_value(&plan.server.settings)));
    }
    for (name, value) in parts {
        add_leaves(name, &value.expect("every part of a plan has a JSON form"), &mut keys);
    }
    keys
}

fn add_leaves(name: &str, value: &Value, keys: &mut BTreeMap<String, String>) {
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            fields
                .iter()
                .for_each(|(field, value)| add_leaves(&format!("{name}.{field}"), value, keys));
        }
        Value::String(text) => drop(keys.insert(name.to_owned(), text.clone())),
        other => drop(keys.insert(name.to_owned(), other.to_string())),
    }
}

/// Server, program and machine.
fn surroundings(input: &RunComparison<'_>) -> Vec<DifferingCondition> {
    let flush = flush(&input.a.run.experiment.host, &input.b.run.experiment.host);
    let both = surroundings_of(&input.a).into_iter().zip(surroundings_of(&input.b));
    let differing = both.filter(|((_, a), (_, b))| a != b).map(|((what, a), (_, b))| {
        let [a, b] = [a, b].map(|text| if text.is_empty() { "not known".to_owned() } else { text });
        DifferingCondition { what: what.to_owned(), a, b }
    });
    differing.chain(flush).collect()
}

/// What a flush of this disk took before the trials, where one was twice as slow: a busy disk is no
/// property of a setting.
fn flush(a: &HostFacts, b: &HostFacts) -> Option<DifferingCondition> {
    let (a, b) = (a.flush?.us_p50, b.flush?.us_p50);
    let differs = a.max(b) > 2.0 * a.min(b);
    let [a, b] = [a, b].map(|us| format!("{} (p50)", format::duration_us(us)));
    differs.then(|| DifferingCondition { what: "one flush beforehand".to_owned(), a, b })
}

/// Server, program and machine of a side: the same words in the same order for each.
fn surroundings_of(side: &ComparedSide<'_>) -> Vec<(&'static str, String)> {
    let engine = side.trial().and_then(|trial| trial.engine.as_ref());
    let mut list = vec![
        ("server", server(side).unwrap_or_default()),
        (
            "driven by",
            engine
                .map(|engine| format::plural(engine.workers.into(), "worker"))
                .unwrap_or_default(),
        ),
        ("truetps", side.run.experiment.tool_version.clone()),
    ];
    list.push(("emulated disk", disk_level(side)));
    list.extend(host(&side.run.experiment.host));
    list
}

/// Disks of one profile are others where another part of them is emulated.
fn disk_level(side: &ComparedSide<'_>) -> String {
    let name = side.run.plan.disk_of(side.configuration);
    let disk = side.run.experiment.disks.iter().find(|disk| Some(disk.profile.as_str()) == name);
    disk.map_or_else(|| "none".to_owned(), |disk| format!("level {}", disk.level.name()))
}

fn host(host: &HostFacts) -> Vec<(&'static str, String)> {
    vec![
        ("host", host.hostname.clone()),
        ("kernel", host.kernel.clone()),
        ("CPU", format!("{} of {}", format::plural(host.cores.into(), "core"), host.cpu_model)),
        ("memory", format::bytes(host.memory_bytes)),
        ("file system", host.file_system.clone().unwrap_or_default()),
        ("device", host.device.clone().unwrap_or_default()),
    ]
}

#[cfg(test)]
mod tests {
    use truetps_record::FlushProbe;

    use super::*;

    #[test]
    fn a_disk_that_was_twice_as_slow_is_reported() {
        let host = |us_p50| {
            let mut host = crate::fixture::Fixture::durability().run.experiment.host;
            host.flush = Some(FlushProbe { writes: 400, us_p50, us_p99: 1e3, us_max: 1e3 });
            host
        };
        let texts = flush(&host(127.0), &host(3370.0)).unwrap();
        assert_eq!((texts.a.as_str(), texts.b.as_str()), ("127 µs (p50)", "3.37 ms (p50)"));
        assert!(flush(&host(127.0), &host(140.0)).is_none());
    }
}
