//! Errors of a plan, found before anything starts.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::ops::RangeInclusive;

use indexmap::IndexMap;
use toml::Value;

use crate::load::{check_rate, check_seconds};
use crate::table_spec::GENERATED_TABLE_KEYS;
use crate::whole_number::WHOLE_MAX;
use crate::workload_check::{
    TABLE_ROWS_MAX, check_script, check_section, check_workload, unused_key,
};
use crate::workload_factor::WorkloadFactor;
use crate::workload_spec::{WORKLOADS, all_workload_keys};
use crate::{Plan, PlanError, PlanKey, WorkloadKind};
use truetps_record::{
    CONNECTIONS, Configuration, DISK, ErrorClass, PREALLOC, RATE, SERVER, SettingValue,
    did_you_mean_or, near_matches, prealloc_mode,
};

/// Trials of a plan: the product of its factors' levels, times its blocks.
pub const TRIALS_MAX: usize = 20_000;
/// Configurations have all factors: with the levels' product, this bounds their memory.
const FACTORS_MAX: usize = 100;
/// Each is searched in each configuration.
const LEFT_OUT_MAX: usize = 1000;
/// A level, or a value of `server.settings`: more than the longest values of servers (`optimizer_switch`) have.
const LEVEL_BYTES_MAX: usize = 4096;
/// Names and levels of all trials together. Each trial in the schedule has all of its own, and readers of an `experiment.json` end
/// at 64 MiB.
const SCHEDULE_BYTES_MAX: usize = 32 << 20;
/// MariaDB and MySQL accept at most this many connections.
const CONNECTIONS_MAX: i64 = 100_000;
const BLOCKS_MAX: u32 = 1000;

/// Sections, each with its keys.
pub(crate) const SECTIONS: [(&str, &str); 8] = [
    ("", "name about recorded_from server disk workload load factors design probe quick"),
    ("server", "name flavour settings"),
    // `custom` has a list of tables here instead; each generator names its own keys.
    ("workload.table", GENERATED_TABLE_KEYS),
    (
        "load",
        "warm_up_s measure_s measure_transactions rate rate_per_client ramp_to arrivals latency_limit_ms mode errors",
    ),
    ("load.errors", "retry ignore fatal retries_max reconnect_s"),
    ("design", "blocks seed baseline leave_out aa_pair datadir smallest_effect_percent"),
    ("probe", "enabled interval_s waits"),
    ("quick", "blocks warm_up_s measure_s table_rows factors"),
];

/// Tables of a plan besides `SECTIONS`.
const OTHER_TABLES: [&str; 6] =
    ["workload", "workload.mix", "factors", "quick.factors", "server.settings", "design.baseline"];
const LISTS_OF_TABLES: [&str; 2] = ["workload.statements", "workload.table"];

const ERROR_CLASS_LISTS: [&str; 3] = ["retry", "ignore", "fatal"];

/// Similarity above which a name counts as a misspelling of a known one.
const MISSPELT_MIN: f64 = 0.9;

/// Errors that the TOML shows before it is parsed as a plan: first all unknown keys, then missing keys, then malformed
/// levels.
pub(crate) fn check_keys(table: &toml::Table) -> Result<(), PlanError> {
    let lists = lists_for_tables(table).into_iter().chain(texts_for_tables(table));
    let unknown = SECTIONS.iter().flat_map(|(section, keys)| unknown_keys(table, section, keys));
    let of_workload = table.get("workload").and_then(Value::as_table).map_or(Ok(()), check_section);
    let classes = ERROR_CLASS_LISTS.map(|list| check_error_classes(table, list));
    let missing = REQUIRED.iter().filter(|(key, _)| !table.contains_key(*key));
    let missing = missing.map(|(key, what)| Err(value(*key, format!("is missing: {what}"))));
    let factors = ["factors", "quick.factors"].into_iter();
    let levels =
        factors.filter_map(|section| Some(check_levels(section, at(table, section)?.as_table()?)));
    PlanError::all(
        lists
            .chain(unknown)
            .map(Err)
            .chain([of_workload])
            .chain(classes)
            .chain(missing)
            .chain(levels),
    )
}

/// What a plan has at this path.
fn at<'a>(plan: &'a toml::Table, path: &str) -> Option<&'a Value> {
    let mut names = path.split('.');
    let first = plan.get(names.next()?)?;
    names.try_fold(first, |table, name| table.get(name))
}

/// Lists in place of tables: serde would assign their values to the table's keys, in order.
fn lists_for_tables(plan: &toml::Table) -> Vec<PlanError> {
    let sections = SECTIONS.iter().map(|(section, _)| *section).chain(OTHER_TABLES);
    let lists = sections.filter(|path| {
        !LISTS_OF_TABLES.contains(path) && at(plan, path).is_some_and(Value::is_array)
    });
    let sections = lists.map(|path| {
        value(path, format!("is a list without keys: write the section `[{path}]`, with a line `KEY = VALUE` for each"))
    });
    let entries = LISTS_OF_TABLES.iter().flat_map(|list| {
        let entries = at(plan, list).and_then(Value::as_array).into_iter().flatten().enumerate();
        let problem = format!(
            "is a list without keys: write a `[[{list}]]`, with a line `KEY = VALUE` for each"
        );
        let lists = entries.filter(|(_, entry)| entry.is_array());
        lists.map(move |(n, _)| value(format!("{list}[{n}]"), &problem[..]))
    });
    sections.chain(entries).collect()
}

/// `workload = "insert"`: serde would name its own type of the section. A server may be its name alone.
fn texts_for_tables(plan: &toml::Table) -> Vec<PlanError> {
    let sections = SECTIONS.iter().map(|(section, _)| *section).chain(OTHER_TABLES);
    let found = sections
        .filter(|path| !["", "server"].contains(path))
        .filter_map(|path| Some((path, at(plan, path)?)));
    let texts = found.filter(|(_, found)| !found.is_table() && !found.is_array());
    let problem = |path: &str, found: &Value| match found {
        Value::String(name) if path == "workload" => {
            format!("is a section: write `[workload]`, and below it `name = \"{name}\"`")
        }
        _ => format!("is a section: write `[{path}]`, with a line `KEY = VALUE` for each"),
    };
    texts.map(|(path, found)| value(path, problem(path, found))).collect()
}

/// Keys that every plan has, and what they mean.
const REQUIRED: [(&str, &str); 4] = [
    ("name", "a short name, such as `my-plan`"),
    ("about", "one sentence, the question that the plan answers"),
    ("workload", "the section [workload], such as `name = \"insert\"`"),
    ("factors", "the section [factors], such as `connections = [1, 8]`"),
];

fn unknown_keys(table: &toml::Table, section: &str, keys: &str) -> Vec<PlanError> {
    let known: Vec<_> = keys.split(' ').collect();
    let inside =
        if section.is_empty() { Some(table) } else { at(table, section).and_then(Value::as_table) };
    let unknown =
        inside.into_iter().flat_map(toml::Table::keys).filter(|key| !known.contains(&key.as_str()));
    unknown
        .map(|key| unknown_key(if section.is_empty() { "plan" } else { section }, key, &known))
        .collect()
}

pub(crate) fn unknown_key(section: &str, key: &str, known: &[&str]) -> PlanError {
    let help =
        place_of(key).map_or_else(|| did_you_mean_one(key, known), |place| format!(": {place}"));
    let text = format!("unknown key `{key}` in `{section}`{help}");
    let path = if section == "plan" { key.to_owned() } else { format!("{section}.{key}") };
    PlanError::Unknown { key: path.into(), text }
}

/// Where a word that is no key of its section belongs.
fn place_of(key: &str) -> Option<String> {
    let is_key = |keys: &str| keys.split(' ').any(|known| known == key);
    let of_section = SECTIONS
        .iter()
        .find(|(section, keys)| !section.is_empty() && is_key(keys))
        .map(|(section, _)| *section);
    let of_factors = ["connections"].contains(&key).then_some("factors");
    let of_workload =
        all_workload_keys().any(|(_, keys)| keys.contains(&key)).then_some("workload");
    let section = of_factors
        .or(of_section)
        .or(of_workload)
        .map(|section| format!("it is a key of `[{section}]`"));
    let workload = || {
        WORKLOADS
            .contains(&key)
            .then(|| format!("it is a workload: write `name = \"{key}\"` below `[workload]`"))
    };
    section.or_else(workload)
}

/// A word that is none of `known`, which are a `what` each.
pub(crate) fn unknown(what: &str, word: &str, known: &[&str]) -> String {
    format!("unknown {what} `{word}`{}", did_you_mean_one(word, known))
}

fn did_you_mean_one(word: &str, known: &[&str]) -> String {
    did_you_mean_or(&near_matches(word, known.iter().copied()), "known", known)
}

/// The levels of a factor that another section names.
fn levels_of<'a>(
    plan: &'a Plan,
    section: &str,
    name: &str,
) -> Result<&'a [SettingValue], PlanError> {
    let known = || plan.factors.keys().map(String::as_str).collect::<Vec<_>>();
    plan.factors.get(name).map(Vec::as_slice).ok_or_else(|| unknown_key(section, name, &known()))
}

fn check_error_classes(table: &toml::Table, list: &str) -> Result<(), PlanError> {
    let classes = at(table, &format!("load.errors.{list}")).and_then(Value::as_array);
    let words = classes.into_iter().flatten().filter_map(Value::as_str);
    let unknown = words.filter_map(|word| word.parse::<ErrorClass>().err());
    PlanError::all(
        unknown.map(|error| Err(value(format!("load.errors.{list}"), error.to_string()))),
    )
}

/// Each factor has a list of levels.
fn check_levels(section: &str, factors: &toml::Table) -> Result<(), PlanError> {
    PlanError::all(factors.iter().map(|(name, levels)| {
        let problem = match levels {
            Value::Array(levels) => {
                let is_level =
                    |level: &Value| level.is_integer() || level.is_float() || level.is_str() || level.is_bool();
                match levels.iter().find(|level| !is_level(level)) {
                    None => return Ok(()),
                    Some(level) => format!("`{level}` is no level: write a number, a text in quotes, true or false"),
                }
            }
            other => format!(
                "is not a list of levels: write `{name} = [{other}]`; a setting of all trials is for [server.settings]"
            ),
        };
        Err(value(format!("{section}.{name}"), problem))
    }))
}

pub(crate) fn check_values(plan: &Plan) -> Result<(), PlanError> {
    PlanError::all([
        check_name(&plan.name),
        check_workload(&plan.workload),
        check_factors("factors", &plan.factors),
        check_factors("quick.factors", &plan.quick.factors),
        check_connections(plan),
        check_numbers(plan),
        plan.probe.check().map_err(|problem| value("probe.interval_s", problem)),
        check_quick(plan),
        check_overlap(plan),
    ])?;
    check_size(plan)?;
    PlanError::all(
        WorkloadFactor::ALL
            .into_iter()
            .map(|factor| factor.check(plan))
            .chain([check_baseline(plan)]),
    )?;
    check_left_out(plan)
}

fn check_connections(plan: &Plan) -> Result<(), PlanError> {
    if plan.factors.contains_key(CONNECTIONS) {
        return Ok(());
    }
    let missing = format!("`{CONNECTIONS}` is missing: name at least one number of connections");
    let near = near_matches(CONNECTIONS, plan.factors.keys().map(String::as_str));
    let near = near.iter().find(|near| strsim::jaro_winkler(near, CONNECTIONS) >= MISSPELT_MIN);
    Err(value(
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
        return Err(value(format!("factors.{name}"), "has no level"));
    }
    check_connections(plan)?;
    if let Some(level) =
        plan.factors[CONNECTIONS].iter().find(|level| level.as_connections().is_none())
    {
        return Err(value(
            format!("factors.{CONNECTIONS}"),
            format!("`{level}` is not between 1 and {}", u32::MAX),
        ));
    }
    check_size(plan)
}

pub(crate) fn value(key: impl Into<PlanKey>, problem: impl Into<String>) -> PlanError {
    PlanError::Value { key: key.into(), problem: problem.into() }
}

/// The name becomes a folder's name.
fn check_name(name: &str) -> Result<(), PlanError> {
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > 64 || !name.chars().all(fine) {
        return Err(value("name", format!("`{name}` must be 1 to 64 letters, digits, `-` or `_`")));
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

pub(crate) fn check_range<N: PartialOrd + Display + Copy>(
    key: &str,
    number: N,
    range: RangeInclusive<N>,
) -> Result<(), PlanError> {
    if range.contains(&number) {
        return Ok(());
    }
    Err(value(key, format!("{number} is not between {} and {}", range.start(), range.end())))
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
        return Err(value(key, "a setting's name has lower-case letters, digits and `_` only"));
    }
    if levels.is_empty() {
        return Err(value(key, "has no level"));
    }
    levels.iter().try_for_each(|level| check_length(key, level))?;
    let distinct: BTreeSet<_> = levels.iter().map(ToString::to_string).collect();
    if distinct.len() < levels.len() {
        return Err(value(key, "names a level twice"));
    }
    if name == CONNECTIONS {
        check_whole(key, levels, CONNECTIONS_MAX)?;
    }
    if name == PREALLOC {
        for level in levels {
            prealloc_mode(level).map_err(|problem| value(key, problem))?;
        }
    }
    if let Some(factor) = WorkloadFactor::named(name) {
        factor.check_levels(key, levels)?;
    }
    if name == RATE {
        check_rates(key, levels)?;
    }
    if name == SERVER && !levels.iter().all(|level| matches!(level, SettingValue::Text(_))) {
        return Err(value(key, "names servers (`truetps server list`), in quotes"));
    }
    if name == DISK && !levels.iter().all(|level| matches!(level, SettingValue::Text(_))) {
        return Err(value(key, "names profiles of disks (`truetps disk list`), in quotes"));
    }
    Ok(())
}

fn check_length(key: &str, level: &SettingValue) -> Result<(), PlanError> {
    match level {
        SettingValue::Text(text) if text.len() > LEVEL_BYTES_MAX => Err(value(
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

pub(crate) fn check_whole(key: &str, levels: &[SettingValue], most: i64) -> Result<(), PlanError> {
    for level in levels {
        let SettingValue::Int(number) = level else {
            return Err(value(key, format!("`{level}` is not a whole number")));
        };
        check_range(key, *number, 1..=most)?;
    }
    Ok(())
}

fn check_rates(key: &str, levels: &[SettingValue]) -> Result<(), PlanError> {
    for level in levels {
        let rate = match level {
            SettingValue::Int(number) => *number as f64,
            SettingValue::Float(number) => *number,
            SettingValue::Bool(_) | SettingValue::Text(_) => {
                return Err(value(key, format!("`{level}` is not a number")));
            }
        };
        check_rate(key, Some(rate))?;
    }
    Ok(())
}

/// Runs after the checks that the product of levels needs: some configuration must be left, and one of them must be the
/// baseline.
fn check_left_out(plan: &Plan) -> Result<(), PlanError> {
    for levels in &plan.design.leave_out {
        for (name, level) in levels {
            let key = format!("design.leave_out.{name}");
            let levels = levels_of(plan, "design.leave_out", name)?;
            let in_quick =
                plan.quick.factors.get(name).is_some_and(|levels| levels.contains(level));
            if !levels.contains(level) && !in_quick {
                return Err(value(key, format!("`{level}` is not one of the factor's levels")));
            }
        }
    }
    for (form, plan) in [("", plan), (" with `--quick`", &plan.clone().into_quick())] {
        let baseline = plan.baseline();
        let configurations = plan.configurations();
        let is_baseline = |one: &Configuration| {
            baseline.iter().all(|(name, level)| one.levels.get(name) == Some(level))
        };
        if !configurations.iter().any(is_baseline) {
            let problem = format!("leaves no configuration of the baseline{form}");
            return Err(value("design.leave_out", problem));
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
    let rows = || unused_key("quick.table_rows", "table_rows", plan.workload.kind.name());
    PlanError::all(factors.chain([
        check_seconds("quick.measure_s", quick.measure_s.unwrap_or(0.1), 0.1),
        check_seconds("quick.warm_up_s", quick.warm_up_s.unwrap_or(0.0), 0.0),
        check_range("quick.table_rows", quick.table_rows.unwrap_or(1), 1..=TABLE_ROWS_MAX),
        check_range("quick.blocks", quick.blocks.unwrap_or(1), 1..=BLOCKS_MAX),
        if uses_rows { Ok(()) } else { Err(rows()) },
    ]))
}

fn check_baseline(plan: &Plan) -> Result<(), PlanError> {
    for (name, level) in &plan.design.baseline {
        let key = format!("design.baseline.{name}");
        let levels = levels_of(plan, "design.baseline", name)?;
        let in_quick = plan.quick.factors.get(name).is_none_or(|levels| levels.contains(level));
        if !levels.contains(level) || !in_quick {
            return Err(value(key, format!("`{level}` is not one of the factor's levels")));
        }
    }
    Ok(())
}

/// A setting is fixed or a factor, not both.
fn check_overlap(plan: &Plan) -> Result<(), PlanError> {
    let has = |name| plan.factors.contains_key(name);
    let rate_is_fixed = plan.load.rate.is_some() || plan.load.rate_per_client.is_some();
    let both = [
        (plan.server.name.is_some() && has(SERVER), "server.name", SERVER),
        (plan.disk.is_some() && has(DISK), "disk", DISK),
        (rate_is_fixed && has(RATE), "load.rate", RATE),
    ];
    let named = both.into_iter().map(|(is_both, key, name)| {
        if is_both {
            Err(value(key, format!("`{name}` is a factor too: remove one of the two")))
        } else {
            Ok(())
        }
    });
    let settings = plan.server.settings.iter().map(|(name, level)| {
        let key = format!("server.settings.{name}");
        check_length(&key, level)?;
        if !is_setting_name(name) {
            return Err(value(key, "a setting's name has lower-case letters, digits and `_` only"));
        }
        if has(name) { Err(value(key, "is a factor too: remove one of the two")) } else { Ok(()) }
    });
    PlanError::all(named.chain(settings))
}

/// Runs before the product of the levels is made, which may be larger than any memory.
pub(crate) fn check_size(plan: &Plan) -> Result<(), PlanError> {
    if plan.factors.len() > FACTORS_MAX {
        return Err(value(
            "factors",
            format!("{} factors are more than {FACTORS_MAX}", plan.factors.len()),
        ));
    }
    if plan.design.leave_out.len() > LEFT_OUT_MAX {
        let problem =
            format!("{} combinations are more than {LEFT_OUT_MAX}", plan.design.leave_out.len());
        return Err(value("design.leave_out", problem));
    }
    let quick_blocks = plan.quick.blocks.unwrap_or(plan.design.blocks);
    let quick_levels =
        |name: &str, levels: &Vec<_>| plan.quick.factors.get(name).map_or(levels.len(), Vec::len);
    let quick = product(plan.factors.iter().map(|(name, levels)| quick_levels(name, levels)));
    let forms = [
        ("factors", product(plan.factors.values().map(Vec::len)), plan.design.blocks),
        ("quick.factors", quick, quick_blocks),
    ];
    for (key, cells, blocks) in forms {
        // A record has as many repetitions as its program was asked for.
        let blocks = if plan.recorded_from.is_some() { 1 } else { blocks as usize };
        let trials = cells.and_then(|cells| cells.checked_mul(blocks));
        if trials.is_none_or(|trials| trials > TRIALS_MAX) {
            return Err(value(
                key,
                format!("their product times `blocks` is more than {TRIALS_MAX} trials"),
            ));
        }
        let bytes: usize =
            plan.factors.iter().map(|(name, levels)| longest(plan, key, name, levels)).sum();
        let bytes = trials.unwrap_or_default().saturating_mul(bytes);
        if bytes > SCHEDULE_BYTES_MAX {
            let mib = |bytes: usize| bytes.div_ceil(1 << 20);
            return Err(value(
                key,
                format!(
                    "names and levels of all trials have {} MiB, more than {}: write fewer or shorter ones",
                    mib(bytes),
                    mib(SCHEDULE_BYTES_MAX)
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
