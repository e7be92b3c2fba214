//! The sides of a comparison.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use truetps_driver::Target;
use truetps_files::{TextError, read_bytes};
use truetps_folder::ExperimentFolder;
use truetps_knowledge::{SettingsSide, SideValue, Version};
use truetps_record::{Capture, CaptureError, CapturedVariable, Flavour, is_secret};

use crate::capture::{CaptureOptions, capture};
use crate::error::InspectError;
use crate::{dump, options};

/// A capture of a server with many schemas is a few hundred kilobytes.
const FILE_BYTES_MAX: u64 = 32 << 20;

/// A running server, as it is now.
pub fn side_of_server(target: &Target) -> Result<SettingsSide, InspectError> {
    let options = CaptureOptions { variables_only: true, ..CaptureOptions::default() };
    Ok(SettingsSide {
        kind: "server".to_owned(),
        ..side_of_capture(&target.to_string(), &capture(target, &options)?)
    })
}

pub fn side_of_capture(name: &str, capture: &Capture) -> SettingsSide {
    // A capture of an older truetps may have variables that this one leaves out.
    let shown =
        capture.variables.iter().filter(|(name, variable)| !is_secret(name, &variable.value));
    // As in dumps, run folders and option files: PostgreSQL writes `TimeZone`, and takes any case.
    let variables = shown.map(|(name, variable)| (name.to_ascii_lowercase(), value_of(variable)));
    let status = capture.status.iter().map(|(name, value)| {
        (name.clone(), SideValue { value: value.clone(), ..SideValue::default() })
    });
    SettingsSide {
        name: name.to_owned(),
        kind: "capture".to_owned(),
        flavour: Some(capture.server.flavour),
        version: Some(capture.server.version.clone()),
        family: None,
        is_complete: true,
        settings: variables.chain(status).collect(),
        notes: capture.notes.clone(),
    }
}

fn value_of(variable: &CapturedVariable) -> SideValue {
    let origin =
        variable.path.clone().or_else(|| variable.origin.as_deref().map(str::to_lowercase));
    // A client that prints columns prints no blanks at their ends.
    let value = variable.value.trim_end().to_owned();
    let (default, unit) = (variable.default.clone(), variable.unit.clone());
    SideValue { value, origin, default, unit, ..SideValue::default() }
}

/// A capture, a dump of settings, an option file or a run folder, whichever the path is. An option
/// file is read with the rules of the server version of `like`.
pub fn side_of_path(
    path: &Path,
    like: Option<&SettingsSide>,
) -> Result<SettingsSide, InspectError> {
    let facts = fs::metadata(path).map_err(|error| read_error(path, error.into()))?;
    if facts.is_dir() {
        return side_of_folder(path);
    }
    let bytes = read_bytes(path, FILE_BYTES_MAX).map_err(|error| read_error(path, error))?;
    // Comments of an option file may be of any encoding.
    let lossy = String::from_utf8_lossy(&bytes);
    // The byte order mark that some editors write.
    let text = lossy.strip_prefix('\u{feff}').unwrap_or(&lossy);
    if text.trim_start().starts_with(['{', '[']) && !looks_like_groups(text) {
        if matches!(lossy, Cow::Owned(_)) {
            return Err(read_error(path, TextError::NotText));
        }
        let capture = match Capture::from_json(text) {
            Err(CaptureError::Other(_) | CaptureError::Broken(_))
                if let Some(side) = dump::read(path, text, None) =>
            {
                return side;
            }
            read => {
                read.map_err(|source| InspectError::Capture { path: path.to_owned(), source })?
            }
        };
        return Ok(side_of_capture(&path.display().to_string(), &capture));
    }
    let flavour = like.and_then(|side| side.flavour);
    if let Some(side) = dump::read(path, text, flavour) {
        return side;
    }
    let version = like.and_then(|side| side.version.as_deref()).and_then(Version::parse);
    options::read(path, &bytes, flavour, version.as_ref())
}

/// The settings of an option file and of what it includes, as a server of this family and version
/// reads them.
pub fn server_options(
    path: &Path,
    flavour: Flavour,
    version: &str,
) -> Result<SettingsSide, InspectError> {
    let bytes = read_bytes(path, FILE_BYTES_MAX).map_err(|error| read_error(path, error))?;
    match dump::read(path, &String::from_utf8_lossy(&bytes), Some(flavour)).transpose()? {
        Some(side) if side.is_complete => {
            let what = "has all variables of a server, and not those that its option file sets";
            let hint = "give it to `truetps explain` or `truetps diff`, or name the option file";
            return Err(InspectError::NoSource { path: path.to_owned(), what, hint });
        }
        Some(side) => return Ok(side),
        None => {}
    }
    options::read(path, &bytes, Some(flavour), Version::parse(version).as_ref())
}

fn read_error(path: &Path, source: TextError) -> InspectError {
    InspectError::Read { path: path.to_owned(), source }
}

/// `[mysqld]` and a JSON list begin with the same character.
fn looks_like_groups(text: &str) -> bool {
    let first = text.trim_start().lines().next().unwrap_or_default();
    first.starts_with('[') && first[1..].trim_start().starts_with(|c: char| c.is_ascii_alphabetic())
}

/// An experiment, or one trial of it.
fn side_of_folder(path: &Path) -> Result<SettingsSide, InspectError> {
    let (folder, trial) = ExperimentFolder::find(path)?;
    let names = match trial {
        Some(name) => vec![name],
        None => folder.experiment()?.schedule.into_iter().map(|trial| trial.name).collect(),
    };
    side_of_trials(path, &folder, &names)
}

/// The first trial that has recorded variables stands for all, with the server that it ran on: the
/// trials of a plan may have several.
fn side_of_trials(
    path: &Path,
    folder: &ExperimentFolder,
    names: &[String],
) -> Result<SettingsSide, InspectError> {
    let first = names.iter().find_map(|name| Some((name, folder.variables(name).transpose()?)));
    let (name, variables) =
        first.ok_or_else(|| InspectError::NoVariables { path: path.to_owned() })?;
    let variables = variables?;
    let trial = folder.trial(name)?;
    let mut notes = Vec::new();
    if names.len() > 1 {
        let factors =
            trial.as_ref().map(|trial| trial.configuration.to_string()).unwrap_or_default();
        notes.push(format!(
            "variables of {name} ({factors}); name another trial's folder for other levels"
        ));
    }
    let server = match trial.and_then(|trial| trial.server) {
        Some(server) => Some(server),
        // Folders of older versions do not have it.
        None => folder.experiment()?.server,
    };
    let name = path.display().to_string();
    Ok(SettingsSide { notes, ..SettingsSide::recorded(name, server.as_ref(), &variables) })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use truetps_record::Flavour;

    use super::*;

    fn server(flavour: &str, version: &str) -> Value {
        json!({"flavour": flavour, "version": version, "version_text": version, "chosen_settings": []})
    }

    /// The server is a factor: trials have one each, in random order.
    fn experiment_with_two_servers(dir: &Path) {
        let levels = |name: &str| json!({"server": name, "connections": 1});
        let scheduled = |name: &str, server: &str| json!({"name": name, "block": 0, "position": 0, "role": "cell", "configuration": levels(server)});
        let experiment = json!({
            "schema_version": 1, "tool_version": "0", "name": "two", "created_at": "2026", "quick": false, "seed": 1,
            "host": {"hostname": "h", "kernel": "k", "cpu_model": "c", "cores": 1, "memory_bytes": 1},
            "server": server("mysql", "8.0.36"), "sandbox_dir": "/x", "command": [],
            "schedule": [scheduled("trial-0001", "first"), scheduled("trial-0002", "pg"), scheduled("trial-0003", "my")],
        });
        fs::write(dir.join("experiment.json"), experiment.to_string()).unwrap();
        for (name, level, server) in [
            ("trial-0002", "pg", server("postgresql", "15.8")),
            ("trial-0003", "my", server("mysql", "8.0.36")),
        ] {
            fs::create_dir_all(dir.join(name).join("server")).unwrap();
            let trial = json!({
                "schema_version": 1, "tool_version": "0", "name": name, "block": 0, "position": 0, "role": "cell",
                "configuration": levels(level), "workload": "insert", "seed": 1, "server": server,
                "started_at": "2026", "ended_at": null, "validity": {"state": "valid"}, "engine": null, "measured": null, "notes": [],
            });
            fs::write(dir.join(name).join("run.json"), trial.to_string()).unwrap();
            fs::write(dir.join(name).join("server/variables.json"), "{\"fsync\": \"on\"}").unwrap();
        }
    }

    #[test]
    fn a_trial_is_judged_as_its_own_server() {
        let dir = tempfile::tempdir().unwrap();
        experiment_with_two_servers(dir.path());
        let side = |name: &str| side_of_path(&dir.path().join(name), None).unwrap();
        let (pg, my, whole) = (side("trial-0002"), side("trial-0003"), side(""));
        assert_eq!((pg.flavour, pg.version.as_deref()), (Some(Flavour::Postgresql), Some("15.8")));
        assert_eq!((my.flavour, my.version.as_deref()), (Some(Flavour::Mysql), Some("8.0.36")));
        // The first trial has no variables: the second stands for all, with what it was.
        assert_eq!(whole.flavour, Some(Flavour::Postgresql));
        assert!(
            whole.notes[0].starts_with("variables of trial-0002 (connections=1 server=pg)"),
            "{:?}",
            whole.notes
        );
    }

    #[test]
    fn what_has_no_end_is_refused() {
        let error = side_of_path(Path::new("/dev/zero"), None).unwrap_err().to_string();
        assert_eq!(error, format!("/dev/zero: is larger than {FILE_BYTES_MAX} bytes"));
    }
}
