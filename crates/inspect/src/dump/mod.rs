//! Settings as people have them without a server at hand: what clients print of its variables, what
//! a server or a cloud keeps in JSON, and what `--print-defaults` says.

mod arguments;
mod boxes;
mod json;
mod row;
mod separated;
mod tables;

use std::path::Path;

use truetps_files::OptionStyle;
use truetps_knowledge::{SettingsSide, SideValue, option_family};
use truetps_record::{Family, Flavour, ServerFacts};

use crate::error::InspectError;
use row::{DumpRow, DumpedSettings, is_counter, is_known, setting};

/// A server has several hundred variables; fewer rows are a selection.
const COMPLETE_FROM: usize = 200;
/// What a text is, if it is not an option file.
pub(crate) fn read(
    path: &Path,
    text: &str,
    flavour: Option<Flavour>,
) -> Option<Result<SettingsSide, InspectError>> {
    if text.starts_with("version https://git-lfs.") {
        let what = "is a pointer of Git LFS, which stands for the file";
        return Some(no_source(path, what, "fetch it with `git lfs pull`"));
    }
    if let Some(settings) = arguments::settings(text, flavour) {
        return Some(Ok(side_of(path, "arguments of --print-defaults", settings)));
    }
    let Some((kind, records)) = tables::records(text) else {
        if separated::lacks_header(text) {
            let what = "is the result of a query without the names of its columns";
            let hint = "print it with its header: psql without -t, COPY … WITH CSV HEADER";
            return Some(no_source(path, what, hint));
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
        let what = "is SHOW STATUS: counters, and not settings";
        return Some(no_source(path, what, "dump SHOW GLOBAL VARIABLES"));
    }
    if !has_known {
        let what = "is the result of a query, and none of its rows is a known setting";
        return Some(no_source(path, what, "dump SHOW GLOBAL VARIABLES or pg_settings"));
    }
    Some(Ok(side_of(path, kind, settings)))
}

fn no_source(
    path: &Path,
    what: &'static str,
    hint: &'static str,
) -> Result<SettingsSide, InspectError> {
    Err(InspectError::NoSource { path: path.to_owned(), what, hint })
}

/// The settings of all results. Of several servers, or before and after a change, there is no
/// telling which one is meant.
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
    side.notes.extend(formulas.into_iter().map(|(name, found)| {
        format!("{name} is left out: it is a formula of the cloud ({})", found.value)
    }));
    side
}

/// `{DBInstanceClassMemory*3/4}`, also as a part of `GREATEST({…},5242880)`.
fn is_formula(value: &str) -> bool {
    value.contains("{DB") || value.contains("{Allocated")
}

fn side(path: &Path, kind: &str, settings: DumpedSettings) -> SettingsSide {
    let mut side = SettingsSide {
        name: path.display().to_string(),
        kind: kind.to_owned(),
        ..SettingsSide::default()
    };
    let [version, comment, of_postgres] = ["version", "version_comment", "server_version"]
        .map(|name| settings.get(name).map(|found| found.value.as_str()));
    let version = match version {
        Some(version) => Some(format!("{version} {}", comment.unwrap_or_default())),
        None => of_postgres.map(|version| format!("PostgreSQL {version}")),
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
