//! DumpedSettings as people have them without a server at hand: what clients print of its variables, what a server or a cloud
//! keeps in JSON, and what `--print-defaults` says.

mod arguments;
mod boxes;
mod json;
mod separated;
mod tables;

use std::collections::BTreeMap;
use std::path::Path;

use truetps_files::OptionStyle;
use truetps_knowledge::{
    SettingsSide, SideValue, find_setting, is_loose, option_family, server_setting,
};
use truetps_record::{Family, Flavour, ServerFacts, is_secret};

use crate::error::InspectError;

/// A row of a result: the cells by the names of their columns in lower case.
type DumpRow = Vec<(String, String)>;

/// A server has several hundred variables; fewer rows are a selection.
const COMPLETE_FROM: usize = 200;
/// The names of columns that mean the same, wherever they come from.
const NAMES: [&str; 7] =
    ["variable_name", "parametername", "name", "variable", "parameter", "option", "setting"];
const VALUES: [&str; 7] = [
    "variable_value",
    "global_value",
    "parametervalue",
    "value",
    "setting",
    "current_setting",
    "currentvalue",
];
/// Columns of a PostgreSQL with the value.
const POSTGRES_VALUES: [&str; 2] = ["setting", "current_setting"];
const DEFAULTS: [&str; 3] = ["boot_val", "default_value", "defaultvalue"];
const ORIGINS: [&str; 3] = ["source", "global_value_origin", "variable_source"];
/// Names of PostgreSQL that begin as the counters of SHOW STATUS do.
const CAPITAL_NAMES: [&str; 3] = ["DateStyle", "IntervalStyle", "TimeZone"];
/// States of the session that has printed them, which no server is set to.
const STATES: [&str; 14] = [
    "application_name",
    "error_count",
    "external_user",
    "identity",
    "in_transaction",
    "insert_id",
    "last_gtid",
    "last_insert_id",
    "proxy_user",
    "pseudo_thread_id",
    "rand_seed1",
    "rand_seed2",
    "timestamp",
    "warning_count",
];

/// What a text is, if it is no option file.
pub(crate) fn read(
    path: &Path,
    text: &str,
    flavour: Option<Flavour>,
) -> Option<Result<SettingsSide, InspectError>> {
    if text.starts_with("version https://git-lfs.") {
        let what = "is a pointer of Git LFS, which stands for the file";
        return Some(Err(InspectError::NoSource {
            path: path.to_owned(),
            what,
            hint: "fetch it with `git lfs pull`",
        }));
    }
    if let Some(settings) = arguments::settings(text, flavour) {
        return Some(Ok(side_of(path, "arguments of --print-defaults", settings)));
    }
    let no_source =
        |what, hint| Some(Err(InspectError::NoSource { path: path.to_owned(), what, hint }));
    let Some((kind, records)) = tables::records(text) else {
        if separated::lacks_header(text) {
            let hint = "print it with its header: psql without -t, COPY … WITH CSV HEADER";
            return no_source("is the result of a query without the names of its columns", hint);
        }
        let (kind, records) = json::records(text)?;
        let is_empty = !records.iter().filter_map(setting).any(|(name, _)| is_known(&name));
        return (!is_empty).then(|| Ok(side_of(path, kind, settings_of(path, &records)?)));
    };
    let settings = match settings_of(path, &records) {
        Ok(settings) => settings,
        Err(error) => return Some(Err(error)),
    };
    let has_known = settings.keys().any(|name| is_known(name));
    // In capitals, as the information schema has them, the names of counters look like others.
    if settings.contains_key("uptime") || !has_known && records.iter().any(is_counter) {
        return no_source(
            "is SHOW STATUS: counters, and not settings",
            "dump SHOW GLOBAL VARIABLES",
        );
    }
    if !has_known {
        let what = "is the result of a query, and none of its rows is a known setting";
        return no_source(what, "dump SHOW GLOBAL VARIABLES or pg_settings");
    }
    Some(Ok(side_of(path, kind, settings)))
}

/// The settings of all results. Of several servers, or before and after a change, there is no telling which one is meant.
fn settings_of(path: &Path, records: &[DumpRow]) -> Result<DumpedSettings, InspectError> {
    let mut settings = DumpedSettings::new();
    for (name, found) in records.iter().filter_map(setting) {
        let value = found.value.clone();
        if let Some(SideValue { value: other, .. }) =
            settings.insert(name.clone(), found).filter(|other| other.value != value)
        {
            return Err(InspectError::Twice {
                path: path.to_owned(),
                name,
                values: [other, value],
            });
        }
    }
    Ok(settings)
}

fn side_of(path: &Path, kind: &str, mut settings: DumpedSettings) -> SettingsSide {
    let formulas: Vec<_> = settings.extract_if(.., |_, found| is_formula(&found.value)).collect();
    let mut side = side(path, kind, settings);
    let note = |(name, found): (String, SideValue)| {
        format!("{name} is left out: it is a formula of the cloud ({})", found.value)
    };
    side.notes.extend(formulas.into_iter().map(note));
    side
}

fn is_known(name: &str) -> bool {
    ["version", "server_version"].contains(&name) || find_setting(name).is_some()
}

/// `{DBInstanceClassMemory*3/4}`, also as a part of `GREATEST({…},5242880)`.
fn is_formula(value: &str) -> bool {
    value.contains("{DB") || value.contains("{Allocated")
}

type DumpedSettings = BTreeMap<String, SideValue>;

fn side(path: &Path, kind: &str, settings: DumpedSettings) -> SettingsSide {
    let mut side = SettingsSide {
        name: path.display().to_string(),
        kind: kind.to_owned(),
        ..SettingsSide::default()
    };
    let of = |name: &str| settings.get(name).map(|found| found.value.as_str());
    let version = match (of("version"), of("server_version")) {
        (Some(version), _) => {
            Some(format!("{version} {}", of("version_comment").unwrap_or_default()))
        }
        (None, version) => version.map(|version| format!("PostgreSQL {version}")),
    };
    let server = version.map(|text| ServerFacts::from_version_text(&text));
    side.is_complete = server.is_some() && settings.len() >= COMPLETE_FROM;
    side.flavour = server.as_ref().map(|server| server.flavour);
    side.version = server.map(|server| server.version);
    let names: Vec<_> = settings.keys().map(String::as_str).collect();
    side.family =
        Some(side.flavour.map_or_else(|| option_family(OptionStyle::Plain, &names), Family::from));
    if !side.is_complete {
        side.notes.push(format!("{} settings of a server that has more", settings.len()));
    }
    side.settings = settings;
    side
}

fn cell(record: &DumpRow, columns: &[&str]) -> Option<String> {
    let of = |column: &&str| {
        record.iter().find(|(name, _)| name == column).map(|(_, cell)| cell.clone())
    };
    columns.iter().find_map(of)
}

/// A row of SHOW STATUS, whose names begin with a capital letter: `Com_select`.
fn is_counter(record: &DumpRow) -> bool {
    let name = cell(record, &NAMES).unwrap_or_default();
    let mut letters = name.chars();
    let is_capital = letters.next().is_some_and(char::is_uppercase)
        && letters.next().is_some_and(char::is_lowercase);
    is_capital && !CAPITAL_NAMES.contains(&name.as_str())
}

/// `None`: a row of something else, a secret, a state, or a line of a file that another one replaces.
fn setting(record: &DumpRow) -> Option<(String, SideValue)> {
    let cell = |columns: &[&str]| cell(record, columns);
    let is_replaced = cell(&["applied"]).as_deref() == Some("f")
        && cell(&["error"]).is_none_or(|error| error.is_empty());
    if is_counter(record) || is_replaced {
        return None;
    }
    let name = cell(&NAMES)?.to_lowercase().replace('-', "_");
    let value = cell(&VALUES)?.trim_end().to_owned();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    if name.is_empty()
        || !name.chars().all(is_name)
        || is_secret(&name, &value)
        || STATES.contains(&name.as_str())
    {
        return None;
    }
    // Of a PostgreSQL they are states of the transaction; its defaults are `default_transaction_…`.
    if name.starts_with("transaction_") && cell(&POSTGRES_VALUES).is_some() {
        return None;
    }
    let some = |columns: &[&str]| cell(columns).filter(|text| !text.is_empty());
    let (default, unit, origin) =
        (some(&DEFAULTS), some(&["unit"]), some(&ORIGINS).map(|text| text.to_lowercase()));
    Some((name, SideValue { value, origin, default, unit, ..SideValue::default() }))
}
