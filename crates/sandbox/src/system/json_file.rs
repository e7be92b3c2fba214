//! Files of truetps with one JSON document each.

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use truetps_files::{open_no_link, write_atomically};

use crate::error::SandboxError;

/// `None`: it does not exist.
pub(crate) fn read_json_file<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, SandboxError> {
    let text = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(SandboxError::io("read", path))?,
    };
    serde_json::from_slice(&text).map(Some).map_err(|error| unusable(path, error.to_string()))
}

/// Refuses a document whose version is newer than the newest one that is known.
pub(crate) fn check_schema_version(
    path: &Path,
    found: u32,
    newest: u32,
) -> Result<(), SandboxError> {
    if found > newest {
        return Err(unusable(path, "was written by a newer version of truetps".to_owned()));
    }
    Ok(())
}

pub(crate) fn write_json_file(path: &Path, value: &impl Serialize) -> Result<(), SandboxError> {
    let text =
        serde_json::to_vec_pretty(value).map_err(|error| unusable(path, error.to_string()))?;
    write_atomically(path, &text).map_err(SandboxError::io("write", path))
}

/// A file of truetps; `None`: it does not exist, or is something else.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let file = open_no_link(File::options().read(true), path).ok()?;
    serde_json::from_reader(BufReader::new(file)).ok()
}

fn unusable(path: &Path, problem: String) -> SandboxError {
    SandboxError::Content { path: path.to_owned(), problem }
}
