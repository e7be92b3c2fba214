//! The sections of a plan, each with its keys.

use truetps_record::CONNECTIONS;

use crate::PlanError;
use crate::plan_error::did_you_mean_one;
use crate::table_spec::GENERATED_TABLE_KEYS;
use crate::workload_spec::{WORKLOADS, all_workload_keys};

/// Sections, each with its keys.
pub(crate) const SECTIONS: [(&str, &[&str]); 8] = [
    (
        "",
        &[
            "name",
            "about",
            "recorded_from",
            "server",
            "disk",
            "workload",
            "load",
            "factors",
            "design",
            "probe",
            "quick",
        ],
    ),
    ("server", &["name", "flavour", "settings"]),
    // `custom` has a list of tables here instead; each generator names its own keys.
    ("workload.table", &GENERATED_TABLE_KEYS),
    (
        "load",
        &[
            "warm_up_s",
            "measure_s",
            "measure_transactions",
            "rate",
            "rate_per_client",
            "ramp_to",
            "arrivals",
            "latency_limit_ms",
            "mode",
            "errors",
        ],
    ),
    ("load.errors", &["retry", "ignore", "fatal", "retries_max", "reconnect_s"]),
    (
        "design",
        &[
            "blocks",
            "seed",
            "baseline",
            "leave_out",
            "aa_pair",
            "datadir",
            "smallest_effect_percent",
        ],
    ),
    ("probe", &["enabled", "interval_s", "waits"]),
    ("quick", &["blocks", "warm_up_s", "measure_s", "table_rows", "factors"]),
];

/// Tables of a plan besides `SECTIONS`.
pub(crate) const OTHER_TABLES: [&str; 6] =
    ["workload", "workload.mix", "factors", "quick.factors", "server.settings", "design.baseline"];
pub(crate) const LISTS_OF_TABLES: [&str; 2] = ["workload.statements", "workload.table"];

pub(crate) fn unknown_key(section: &str, key: &str, known: &[&str]) -> PlanError {
    let help =
        key_hint(key).map_or_else(|| did_you_mean_one(key, known), |hint| format!(": {hint}"));
    let text = format!("unknown key `{key}` in `{section}`{help}");
    let path = if section == "plan" { key.to_owned() } else { format!("{section}.{key}") };
    PlanError::Unknown { key: path.into(), text }
}

/// Where a word belongs that is not a key of its section.
fn key_hint(key: &str) -> Option<String> {
    let of_section = SECTIONS
        .iter()
        .find(|(section, keys)| !section.is_empty() && keys.contains(&key))
        .map(|(section, _)| *section);
    let section = if key == CONNECTIONS {
        Some("factors")
    } else {
        of_section.or_else(|| {
            all_workload_keys().any(|(_, keys)| keys.contains(&key)).then_some("workload")
        })
    };
    if let Some(section) = section {
        return Some(format!("it is a key of `[{section}]`"));
    }
    WORKLOADS
        .contains(&key)
        .then(|| format!("it is a workload: write `name = \"{key}\"` below `[workload]`"))
}
