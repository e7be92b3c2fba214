//! What two of can be compared.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use truetps_driver::Target;
use truetps_knowledge::{Side, SideValue, Version};
use truetps_record::{Capture, CapturedVariable, ExperimentFolder, is_secret_name};

use crate::capture::{CaptureOptions, capture};
use crate::error::InspectError;
use crate::options;

/// A capture of a server with many schemas is a few hundred kilobytes.
const FILE_BYTES_MAX: u64 = 32 << 20;

/// A running server, as it is now.
pub fn side_of_server(target: &Target) -> Result<Side, InspectError> {
    let options = CaptureOptions { variables_only: true, ..CaptureOptions::default() };
    Ok(Side { kind: "server".to_owned(), ..side_of_capture(&target.to_string(), &capture(target, &options)?) })
}

pub fn side_of_capture(name: &str, capture: &Capture) -> Side {
    let variables = capture.variables.iter().map(|(name, variable)| (name.clone(), value_of(variable)));
    let plain =
        |(name, value): (&String, &String)| (name.clone(), SideValue { value: value.clone(), ..SideValue::default() });
    Side {
        name: name.to_owned(),
        kind: "capture".to_owned(),
        flavour: Some(capture.server.flavour),
        version: Some(capture.server.version.clone()),
        is_complete: true,
        settings: variables.chain(capture.status.iter().map(plain)).collect(),
        notes: capture.notes.clone(),
    }
}

fn value_of(variable: &CapturedVariable) -> SideValue {
    let origin = variable.path.clone().or_else(|| variable.origin.as_deref().map(str::to_lowercase));
    SideValue { value: variable.value.clone(), origin, default: variable.default.clone(), unit: variable.unit.clone() }
}

/// A capture, an option file or a run folder, by what is there. An option file is read as a server of the version of
/// `like` reads it.
pub fn side_of_path(path: &Path, like: Option<&Side>) -> Result<Side, InspectError> {
    let facts = fs::metadata(path).map_err(|source| InspectError::Read { path: path.to_owned(), source })?;
    if facts.is_dir() {
        return side_of_folder(path);
    }
    let text = read_text(path)?;
    if text.trim_start().starts_with(['{', '[']) && !looks_like_groups(&text) {
        let capture =
            Capture::from_json(&text).map_err(|source| InspectError::Capture { path: path.to_owned(), source })?;
        return Ok(side_of_capture(&path.display().to_string(), &capture));
    }
    let version = like.and_then(|side| side.version.as_deref()).and_then(Version::parse);
    let read = options::read(path, like.and_then(|side| side.flavour), version.as_ref())?;
    Ok(Side {
        name: path.display().to_string(),
        kind: "option file".to_owned(),
        settings: read.settings,
        notes: read.notes,
        ..Side::default()
    })
}

/// `[mysqld]` and a JSON list begin with the same sign.
fn looks_like_groups(text: &str) -> bool {
    let first = text.trim_start().lines().next().unwrap_or_default();
    first.starts_with('[') && first[1..].trim_start().starts_with(|c: char| c.is_ascii_alphabetic())
}

pub(crate) fn read_text(path: &Path) -> Result<String, InspectError> {
    let failed = |source| InspectError::Read { path: path.to_owned(), source };
    if fs::metadata(path).map_err(failed)?.len() > FILE_BYTES_MAX {
        return Err(InspectError::TooLarge { path: path.to_owned(), limit_bytes: FILE_BYTES_MAX });
    }
    let bytes = fs::read(path).map_err(failed)?;
    String::from_utf8(bytes).map_err(|_| InspectError::Binary { path: path.to_owned() })
}

/// An experiment, or one trial of it.
fn side_of_folder(path: &Path) -> Result<Side, InspectError> {
    let none = || InspectError::NoRunFolder { path: path.to_owned() };
    if path.join("experiment.json").is_file() {
        let folder = ExperimentFolder::open(path)?;
        let experiment = folder.experiment()?;
        let names: Vec<_> = experiment.schedule.iter().map(|trial| trial.name.clone()).collect();
        return side_of_trials(path, &folder, &names);
    }
    if !path.join("run.json").is_file() {
        return Err(none());
    }
    let whole = path.canonicalize().map_err(|source| InspectError::Read { path: path.to_owned(), source })?;
    let folder = ExperimentFolder::open(whole.parent().ok_or_else(none)?)?;
    let name = whole.file_name().ok_or_else(none)?.to_string_lossy().into_owned();
    side_of_trials(path, &folder, &[name])
}

/// The first trial that has recorded variables stands for all; what the others have in another way is told.
fn side_of_trials(path: &Path, folder: &ExperimentFolder, names: &[String]) -> Result<Side, InspectError> {
    let mut first: Option<(&String, BTreeMap<String, String>)> = None;
    for name in names {
        if let Some(variables) = folder.variables(name)? {
            first = Some((name, variables));
            break;
        }
    }
    let (trial, variables) = first.ok_or_else(|| InspectError::NoVariables { path: path.to_owned() })?;
    let experiment = folder.experiment()?;
    let mut notes = Vec::new();
    if names.len() > 1 {
        let factors = experiment.schedule.first().map(|trial| trial.configuration.to_string()).unwrap_or_default();
        notes.push(format!("variables of {trial} ({factors}); name another trial's folder for other levels"));
    }
    let known = |(name, value): (String, String)| {
        (!is_secret_name(&name)).then(|| (name, SideValue { value, ..SideValue::default() }))
    };
    Ok(Side {
        name: path.display().to_string(),
        kind: "run folder".to_owned(),
        flavour: experiment.server.as_ref().map(|server| server.flavour),
        version: experiment.server.map(|server| server.version),
        is_complete: true,
        settings: variables.into_iter().filter_map(known).collect(),
        notes,
    })
}
