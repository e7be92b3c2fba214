//! Values of a plan that are wrong, found before anything starts.

use std::collections::BTreeSet;

use indexmap::IndexMap;

use crate::load::{check_rate, check_seconds};
use crate::plan::has_levels;
use crate::plan_error::wrong_value;
use crate::ranges::{check_range, check_whole};
use crate::sections::unknown_key;
use crate::table_spec::TABLE_ROWS_MAX;
use crate::whole_number::WHOLE_MAX;
use crate::workload_check::{check_script, check_workload, unused_key};
use crate::workload_factor::WorkloadFactor;
use crate::{Plan, PlanError, WorkloadKind};
use truetps_record::{
    CONNECTIONS, DISK, PREALLOC, RATE, SERVER, SettingValue, near_matches, prealloc_mode,
};

/// Trials of a plan: the product of its factors' levels, times its blocks.
pub const TRIALS_MAX: usize = 20_000;
/// Configurations have all factors: with the levels' product, this bounds their memory.
const FACTORS_MAX: usize = 100;
/// Each is searched in each configuration.
const LEFT_OUT_MAX: usize = 1000;
/// A level, or a value of `server.settings`: more than the longest values of servers
/// (`optimizer_switch`) have.
const LEVEL_BYTES_MAX: usize = 4096;
/// Names and levels of all trials together. Each trial in the schedule has all of its own, and
/// readers of an `experiment.json` end at 64 MiB.
const SCHEDULE_BYTES_MAX: usize = 32 << 20;
/// MariaDB and MySQL accept at most this many connections.
const CONNECTIONS_MAX: i64 = 100_000;
const BLOCKS_MAX: u32 = 1000;

/// Similarity above which a name counts as a misspelling of a known one.
const MISSPELT_MIN: f64 = 0.9;

/// The levels of a factor that another section names.
fn levels_of<'a>(
    plan: &'a Plan,
    section: &str,
    name: &str,
) -> Result<&'a [SettingValue], PlanError> {
    plan.factors.get(name).map(Vec::as_slice).ok_or_else(|| {
        let known: Vec<_> = plan.factors.keys().map(String::as_str).collect();
        unknown_key(section, name, &known)
    })
}

pub(crate) fn check_values(plan: &Plan) -> Result<(), PlanError> {
    PlanError::all([
        check_name(&plan.name),
        check_workload(&plan.workload),
        check_factors("factors", &plan.factors),
        check_factors("quick.factors", &plan.quick.factors),
        check_connections(plan),
        check_numbers(plan),
        plan.probe.check().map_err(|problem| wrong_value("probe.interval_s", problem)),
        check_quick(plan),
        check_overlap(plan),
    ])?;
    check_size(plan)?;
    let factors = WorkloadFactor::ALL.into_iter().map(|factor| check_workload_factor(factor, plan));
    PlanError::all(factors.chain([check_baseline(plan)]))?;
    check_left_out(plan)
}

fn check_workload_factor(factor: WorkloadFactor, plan: &Plan) -> Result<(), PlanError> {
    if !plan.factors.contains_key(factor.name()) {
        return Ok(());
    }
    let levels = [&plan.factors, &plan.quick.factors].into_iter();
    factor.check(&plan.workload, levels.filter_map(|factors| factors.get(factor.name())).flatten())
}

fn check_connections(plan: &Plan) -> Result<(), PlanError> {
    if plan.factors.contains_key(CONNECTIONS) {
        return Ok(());
    }
    let missing = format!("`{CONNECTIONS}` is missing: name at least one number of connections");
    let near = near_matches(CONNECTIONS, plan.factors.keys().map(String::as_str));
    let near = near.iter().find(|near| strsim::jaro_winkler(near, CONNECTIONS) >= MISSPELT_MIN);
    Err(wrong_value(
        "factors",
        missing + &near.map(|near| format!(" (is it `{near}`?)")).unwrap_or_default(),
    ))
}

/// A record of a run cannot be refused: only what readers rely on is checked.
pub(crate) fn check_recorded(plan: &Plan) -> Result<(), PlanError> {
    if let WorkloadKind::Sysbench(spec) = &plan.workload.kind {
        check_script(spec)?;
    }
    if let Some((name, _)) = plan.factors.iter().find(|(_, levels)| levels.is_empty()) {
        return Err(wrong_value(format!("factors.{name}"), "has no level"));
    }
    check_connections(plan)?;
    if let Some(level) =
        plan.factors[CONNECTIONS].iter().find(|level| level.as_connections().is_none())
    {
        return Err(wrong_value(
            format!("factors.{CONNECTIONS}"),
            format!("`{level}` is not between 1 and {}", u32::MAX),
        ));
    }
    check_size(plan)
}

/// The name becomes a folder's name.
fn check_name(name: &str) -> Result<(), PlanError> {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if name.is_empty() || name.len() > 64 || !is_plain {
        return Err(wrong_value(
            "name",
            format!("`{name}` must be 1 to 64 letters, digits, `-` or `_`"),
        ));
    }
    Ok(())
}

fn check_numbers(plan: &Plan) -> Result<(), PlanError> {
    let levels = plan.factors.get(CONNECTIONS).into_iter().flatten();
    let connections_max = levels.filter_map(SettingValue::as_connections).max().unwrap_or(0);
    PlanError::all([
        plan.load.check(connections_max, plan.factors.contains_key(RATE)),
        check_range("design.blocks", plan.design.blocks, 1..=BLOCKS_MAX),
        check_range("design.seed", plan.design.seed, 0..=WHOLE_MAX),
        check_range(
            "design.smallest_effect_percent",
            plan.design.smallest_effect_percent,
            0.1..=100.0,
        ),
    ])
}

fn check_factors(
    section: &str,
    factors: &IndexMap<String, Vec<SettingValue>>,
) -> Result<(), PlanError> {
    PlanError::all(
        factors
            .iter()
            .map(|(name, levels)| check_factor(&format!("{section}.{name}"), name, levels)),
    )
}

fn check_factor(key: &str, name: &str, levels: &[SettingValue]) -> Result<(), PlanError> {
    if !is_setting_name(name) {
        return Err(wrong_value(
            key,
            "a setting's name has lower-case letters, digits and `_` only",
        ));
    }
    if levels.is_empty() {
        return Err(wrong_value(key, "has no level"));
    }
    levels.iter().try_for_each(|level| check_length(key, level))?;
    let distinct: BTreeSet<_> = levels.iter().map(ToString::to_string).collect();
    if distinct.len() < levels.len() {
        return Err(wrong_value(key, "names a level twice"));
    }
    if name == CONNECTIONS {
        check_whole(key, levels, CONNECTIONS_MAX)?;
    }
    if name == PREALLOC {
        for level in levels {
            prealloc_mode(level).map_err(|problem| wrong_value(key, problem))?;
        }
    }
    if let Some(factor) = WorkloadFactor::named(name) {
        factor.check_levels(key, levels)?;
    }
    if name == RATE {
        check_rates(key, levels)?;
    }
    if name == SERVER && !levels.iter().all(|level| matches!(level, SettingValue::Text(_))) {
        return Err(wrong_value(key, "names servers (`truetps server list`), in quotes"));
    }
    if name == DISK && !levels.iter().all(|level| matches!(level, SettingValue::Text(_))) {
        return Err(wrong_value(key, "names profiles of disks (`truetps disk list`), in quotes"));
    }
    Ok(())
}

fn check_length(key: &str, level: &SettingValue) -> Result<(), PlanError> {
    match level {
        SettingValue::Text(text) if text.len() > LEVEL_BYTES_MAX => Err(wrong_value(
            key,
            format!("a text of {} bytes is longer than {LEVEL_BYTES_MAX}", text.len()),
        )),
        _ => Ok(()),
    }
}

fn is_setting_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

fn check_rates(key: &str, levels: &[SettingValue]) -> Result<(), PlanError> {
    for level in levels {
        let rate = match level {
            SettingValue::Int(number) => *number as f64,
            SettingValue::Float(number) => *number,
            SettingValue::Bool(_) | SettingValue::Text(_) => {
                return Err(wrong_value(key, format!("`{level}` is not a number")));
            }
        };
        check_rate(key, Some(rate))?;
    }
    Ok(())
}

/// Runs after the checks that the product of levels needs: some configuration must be left, and one
/// of them must be the baseline.
fn check_left_out(plan: &Plan) -> Result<(), PlanError> {
    for levels in &plan.design.leave_out {
        for (name, level) in levels {
            let key = format!("design.leave_out.{name}");
            let levels = levels_of(plan, "design.leave_out", name)?;
            let in_quick =
                plan.quick.factors.get(name).is_some_and(|levels| levels.contains(level));
            if !levels.contains(level) && !in_quick {
                return Err(wrong_value(
                    key,
                    format!("`{level}` is not one of the factor's levels"),
                ));
            }
        }
    }
    for (form, plan) in [("", plan), (" with `--quick`", &plan.clone().into_quick())] {
        let baseline = plan.baseline();
        if !plan.configurations().iter().any(|one| has_levels(one, &baseline)) {
            let problem = format!("leaves no configuration of the baseline{form}");
            return Err(wrong_value("design.leave_out", problem));
        }
    }
    Ok(())
}

fn check_quick(plan: &Plan) -> Result<(), PlanError> {
    let quick = &plan.quick;
    // That the plan lacks this factor is an error of its own.
    let named = quick
        .factors
        .keys()
        .filter(|name| *name != CONNECTIONS || plan.factors.contains_key(CONNECTIONS));
    let factors = named.map(|name| levels_of(plan, "quick.factors", name).map(drop));
    let uses_rows = quick.table_rows.is_none() || plan.workload.kind.uses("table_rows");
    PlanError::all(factors.chain([
        check_seconds("quick.measure_s", quick.measure_s.unwrap_or(0.1), 0.1),
        check_seconds("quick.warm_up_s", quick.warm_up_s.unwrap_or(0.0), 0.0),
        check_range("quick.table_rows", quick.table_rows.unwrap_or(1), 1..=TABLE_ROWS_MAX),
        check_range("quick.blocks", quick.blocks.unwrap_or(1), 1..=BLOCKS_MAX),
        if uses_rows {
            Ok(())
        } else {
            Err(unused_key("quick.table_rows", "table_rows", plan.workload.kind.name()))
        },
    ]))
}

fn check_baseline(plan: &Plan) -> Result<(), PlanError> {
    for (name, level) in &plan.design.baseline {
        let key = format!("design.baseline.{name}");
        let levels = levels_of(plan, "design.baseline", name)?;
        let in_quick = plan.quick.factors.get(name).is_none_or(|levels| levels.contains(level));
        if !levels.contains(level) || !in_quick {
            return Err(wrong_value(key, format!("`{level}` is not one of the factor's levels")));
        }
    }
    Ok(())
}

/// A setting is fixed or a factor, not both.
fn check_overlap(plan: &Plan) -> Result<(), PlanError> {
    let rate_is_fixed = plan.load.rate.is_some() || plan.load.rate_per_client.is_some();
    let both = [
        (plan.server.name.is_some() && plan.factors.contains_key(SERVER), "server.name", SERVER),
        (plan.disk.is_some() && plan.factors.contains_key(DISK), "disk", DISK),
        (rate_is_fixed && plan.factors.contains_key(RATE), "load.rate", RATE),
    ];
    let named = both.into_iter().map(|(is_both, key, name)| {
        if is_both {
            Err(wrong_value(key, format!("`{name}` is a factor too: remove one of the two")))
        } else {
            Ok(())
        }
    });
    let settings = plan.server.settings.iter().map(|(name, level)| {
        let key = format!("server.settings.{name}");
        check_length(&key, level)?;
        if !is_setting_name(name) {
            return Err(wrong_value(
                key,
                "a setting's name has lower-case letters, digits and `_` only",
            ));
        }
        if plan.factors.contains_key(name) {
            Err(wrong_value(key, "is a factor too: remove one of the two"))
        } else {
            Ok(())
        }
    });
    PlanError::all(named.chain(settings))
}

/// Runs before the product of the levels is made, which may be larger than any memory.
pub(crate) fn check_size(plan: &Plan) -> Result<(), PlanError> {
    if plan.factors.len() > FACTORS_MAX {
        return Err(wrong_value(
            "factors",
            format!("{} factors are more than {FACTORS_MAX}", plan.factors.len()),
        ));
    }
    if plan.design.leave_out.len() > LEFT_OUT_MAX {
        let problem =
            format!("{} combinations are more than {LEFT_OUT_MAX}", plan.design.leave_out.len());
        return Err(wrong_value("design.leave_out", problem));
    }
    let quick_blocks = plan.quick.blocks.unwrap_or(plan.design.blocks);
    let quick_levels = plan
        .factors
        .iter()
        .map(|(name, levels)| plan.quick.factors.get(name).unwrap_or(levels).len());
    let forms = [
        ("factors", product(plan.factors.values().map(Vec::len)), plan.design.blocks),
        ("quick.factors", product(quick_levels), quick_blocks),
    ];
    for (key, cells, blocks) in forms {
        // A record has as many repetitions as its program was asked for.
        let blocks = if plan.recorded_from.is_some() { 1 } else { blocks as usize };
        let trials = cells.and_then(|cells| cells.checked_mul(blocks));
        if trials.is_none_or(|trials| trials > TRIALS_MAX) {
            return Err(wrong_value(
                key,
                format!("their product times `blocks` is more than {TRIALS_MAX} trials"),
            ));
        }
        let bytes: usize =
            plan.factors.iter().map(|(name, levels)| longest(plan, key, name, levels)).sum();
        let bytes = trials.unwrap_or_default().saturating_mul(bytes);
        if bytes > SCHEDULE_BYTES_MAX {
            let [mib, mib_max] = [bytes, SCHEDULE_BYTES_MAX].map(|bytes| bytes.div_ceil(1 << 20));
            return Err(wrong_value(
                key,
                format!(
                    "names and levels of all trials have {mib} MiB, more than {mib_max}: write \
                     fewer or shorter ones"
                ),
            ));
        }
    }
    Ok(())
}

/// Bytes of a factor's name and of its longest level in this form of the plan.
fn longest(plan: &Plan, key: &str, name: &str, levels: &[SettingValue]) -> usize {
    let quick = plan.quick.factors.get(name).filter(|_| key == "quick.factors");
    let levels = quick.map_or(levels, Vec::as_slice);
    name.len() + levels.iter().map(|level| level.to_string().len()).max().unwrap_or(0)
}

fn product(mut levels: impl Iterator<Item = usize>) -> Option<usize> {
    levels.try_fold(1, usize::checked_mul)
}
