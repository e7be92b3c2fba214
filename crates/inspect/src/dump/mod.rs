//! DumpedSettings as people have them without a server at hand: what clients print of its variables, what a server or a cloud
//! keeps in JSON, and what `--print-defaults` says.

mod arguments;
mod json;
mod tables;

use std::collections::BTreeMap;
use std::path::Path;

use truetps_files::OptionStyle;
use truetps_knowledge::{SettingsSide, SideValue, find_setting, is_loose, option_family, server_setting};
use truetps_record::{Family, Flavour, ServerFacts, is_secret};

use crate::error::InspectError;

/// A row of a result: the cells by the names of their columns in lower case.
type DumpRow = Vec<(String, String)>;

/// A server has several hundred variables; fewer rows are a selection.
const COMPLETE_FROM: usize = 200;
/// The names of columns that mean the same, wherever they come from.
const NAMES: [&str; 3] = ["variable_name", "parametername", "name"];
const VALUES: [&str; 6] = ["variable_value", "global_value", "parametervalue", "value", "setting", "currentvalue"];
const DEFAULTS: [&str; 3] = ["boot_val", "default_value", "defaultvalue"];
const ORIGINS: [&str; 3] = ["source", "global_value_origin", "variable_source"];
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
pub(crate) fn read(path: &Path, text: &str, flavour: Option<Flavour>) -> Option<Result<SettingsSide, InspectError>> {
    if text.starts_with("version https://git-lfs.") {
        let what = "is a pointer of Git LFS, which stands for the file";
        return Some(Err(InspectError::NoSource { path: path.to_owned(), what, hint: "fetch it with `git lfs pull`" }));
    }
    let settings_of = |records: &[DumpRow]| -> DumpedSettings { records.iter().filter_map(setting).collect() };
    let (kind, mut settings) = if let Some(settings) = arguments::settings(text, flavour) {
        ("arguments of --print-defaults", settings)
    } else if let Some((kind, records)) = tables::records(text) {
        let settings = settings_of(&records);
        if !settings.keys().any(|name| is_known(name)) {
            let what = "is the result of a query, and none of its rows is a known setting";
            let hint = "dump SHOW GLOBAL VARIABLES or pg_settings";
            return Some(Err(InspectError::NoSource { path: path.to_owned(), what, hint }));
        }
        (kind, settings)
    } else {
        let (kind, records) = json::records(text)?;
        Some((kind, settings_of(&records))).filter(|(_, settings)| settings.keys().any(|name| is_known(name)))?
    };
    let formulas: Vec<_> = settings.extract_if(.., |_, found| is_formula(&found.value)).collect();
    let mut side = side(path, kind, settings);
    let note = |(name, found): (String, SideValue)| {
        format!("{name} is left out: it is a formula of the cloud ({})", found.value)
    };
    side.notes.extend(formulas.into_iter().map(note));
    Some(Ok(side))
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
    let mut side = SettingsSide { name: path.display().to_string(), kind: kind.to_owned(), ..SettingsSide::default() };
    let of = |name: &str| settings.get(name).map(|found| found.value.as_str());
    let version = match (of("version"), of("server_version")) {
        (Some(version), _) => Some(format!("{version} {}", of("version_comment").unwrap_or_default())),
        (None, version) => version.map(|version| format!("PostgreSQL {version}")),
    };
    let server = version.map(|text| ServerFacts::from_version_text(&text));
    side.is_complete = server.is_some() && settings.len() >= COMPLETE_FROM;
    side.flavour = server.as_ref().map(|server| server.flavour);
    side.version = server.map(|server| server.version);
    let names: Vec<_> = settings.keys().map(String::as_str).collect();
    side.family = Some(side.flavour.map_or_else(|| option_family(OptionStyle::Plain, &names), Family::from));
    if !side.is_complete {
        side.notes.push(format!("{} settings of a server that has more", settings.len()));
    }
    side.settings = settings;
    side
}

/// `None`: a row of something else, a secret, or a state.
fn setting(record: &DumpRow) -> Option<(String, SideValue)> {
    let cell = |columns: &[&str]| {
        let of = |column: &&str| record.iter().find(|(name, _)| name == column).map(|(_, cell)| cell.clone());
        columns.iter().find_map(of)
    };
    let name = cell(&NAMES)?.to_lowercase().replace('-', "_");
    let value = cell(&VALUES)?.trim_end().to_owned();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    if name.is_empty() || !name.chars().all(is_name) || is_secret(&name, &value) || STATES.contains(&name.as_str()) {
        return None;
    }
    // Of a PostgreSQL they are states of the transaction; its defaults are `default_transaction_…`.
    if name.starts_with("transaction_") && cell(&["setting"]).is_some() {
        return None;
    }
    let some = |columns: &[&str]| cell(columns).filter(|text| !text.is_empty());
    let (default, unit, origin) = (some(&DEFAULTS), some(&["unit"]), some(&ORIGINS).map(|text| text.to_lowercase()));
    Some((name, SideValue { value, origin, default, unit, is_loose: false }))
}
