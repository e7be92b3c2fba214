//! A row of a result, and the setting that it is.

use std::collections::BTreeMap;

use truetps_knowledge::{SideValue, find_setting};
use truetps_record::is_secret;

/// A row of a result: the cells by the names of their columns in lower case.
pub(super) type DumpRow = Vec<(String, String)>;

/// Settings by name.
pub(super) type DumpedSettings = BTreeMap<String, SideValue>;

/// The names of columns that mean the same, wherever they come from.
pub(super) const NAMES: [&str; 7] =
    ["variable_name", "parametername", "name", "variable", "parameter", "option", "setting"];
pub(super) const VALUES: [&str; 7] = [
    "variable_value",
    "global_value",
    "parametervalue",
    "value",
    "setting",
    "current_setting",
    "currentvalue",
];
/// Columns of a PostgreSQL with the value.
pub(super) const POSTGRES_VALUES: [&str; 2] = ["setting", "current_setting"];
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

/// Rows whose columns name a setting and its value; `None`: they have others.
pub(super) fn checked(records: Vec<DumpRow>) -> Option<Vec<DumpRow>> {
    are_columns(records.first()?.iter().map(|(column, _)| column.as_str())).then_some(records)
}

/// Whether one column names a setting, and another one has its value.
pub(super) fn are_columns<'a>(columns: impl Iterator<Item = &'a str> + Clone) -> bool {
    let names = columns.clone().filter(|column| NAMES.contains(column)).count();
    let values = columns.clone().filter(|column| VALUES.contains(column)).count();
    // `setting` may be either.
    let either = columns.filter(|column| NAMES.contains(column) || VALUES.contains(column)).count();
    names > 0 && values > 0 && either > 1
}

pub(super) fn columns_of<'a>(cells: impl Iterator<Item = &'a str>) -> Vec<String> {
    cells.map(|cell| cell.trim().to_lowercase()).collect()
}

pub(super) fn record(columns: &[String], cells: impl Iterator<Item = String>) -> DumpRow {
    columns.iter().cloned().zip(cells).collect()
}

pub(super) fn is_known(name: &str) -> bool {
    ["version", "server_version"].contains(&name) || find_setting(name).is_some()
}

pub(super) fn has_column(record: &DumpRow, columns: &[&str]) -> bool {
    record.iter().any(|(name, _)| columns.contains(&name.as_str()))
}

/// The cell of the first of these columns that the row has.
fn cell<'r>(record: &'r DumpRow, columns: &[&str]) -> Option<&'r str> {
    columns.iter().find_map(|column| {
        record.iter().find(|(name, _)| name == column).map(|(_, cell)| cell.as_str())
    })
}

fn filled_cell(record: &DumpRow, columns: &[&str]) -> Option<String> {
    cell(record, columns).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// A row of SHOW STATUS, whose names begin with a capital letter: `Com_select`.
pub(super) fn is_counter(record: &DumpRow) -> bool {
    let name = cell(record, &NAMES).unwrap_or_default();
    let mut letters = name.chars();
    let is_capital = letters.next().is_some_and(char::is_uppercase)
        && letters.next().is_some_and(char::is_lowercase);
    is_capital && !CAPITAL_NAMES.contains(&name)
}

/// `None`: a row of something else, a secret, a state, or a line of a file that another one
/// replaces.
pub(super) fn setting(record: &DumpRow) -> Option<(String, SideValue)> {
    let is_replaced = cell(record, &["applied"]) == Some("f")
        && cell(record, &["error"]).is_none_or(str::is_empty);
    if is_counter(record) || is_replaced {
        return None;
    }
    let name = cell(record, &NAMES)?.to_lowercase().replace('-', "_");
    let value = cell(record, &VALUES)?.trim_end().to_owned();
    if !is_name(&name) || is_secret(&name, &value) || STATES.contains(&name.as_str()) {
        return None;
    }
    // Of a PostgreSQL they are states of the transaction; its defaults are `default_transaction_…`.
    if name.starts_with("transaction_") && cell(record, &POSTGRES_VALUES).is_some() {
        return None;
    }
    let default = filled_cell(record, &DEFAULTS);
    let unit = filled_cell(record, &["unit"]);
    let origin = filled_cell(record, &ORIGINS).map(|text| text.to_lowercase());
    Some((name, SideValue { value, origin, default, unit, ..SideValue::default() }))
}

pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.')
}
