//! What `truetps crash` writes: a folder with the facts of the experiment, and a line for each
//! crash.
//!
//! ```text
//! runs/<name>-<time>/           crash.json  crashes.jsonl
//! ```

use std::collections::HashSet;
use std::fs;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use truetps_record::{CrashRecord, CrashRun};

use crate::error::FolderError;
use crate::run_file::create_unused;
use crate::run_file::{LINES_MAX, json_line, read_if_there, read_json, write_json};

const ABOUT: &str = "crash.json";
const CRASHES: &str = "crashes.jsonl";

/// The folder of one `truetps crash`.
#[derive(Debug, Clone)]
pub struct CrashFolder {
    path: PathBuf,
}

impl CrashFolder {
    /// Makes `runs/<name>`, or `runs/<name>-2`, … where that exists.
    pub fn create(runs: &Path, name: &str, run: &CrashRun) -> Result<Self, FolderError> {
        fs::create_dir_all(runs).map_err(FolderError::io(runs))?;
        let folder = Self { path: create_unused(runs, name)? };
        folder.write(run)?;
        Ok(folder)
    }

    /// Opens an existing folder; `None` if it is none of crashes.
    pub fn open(path: &Path) -> Option<Self> {
        path.join(ABOUT).is_file().then(|| Self { path: path.to_owned() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn run(&self) -> Result<CrashRun, FolderError> {
        read_json(&self.path, &self.path.join(ABOUT))
    }

    pub fn write(&self, run: &CrashRun) -> Result<(), FolderError> {
        write_json(&self.path.join(ABOUT), run)
    }

    /// Saved before it is judged.
    pub fn append(&self, record: &CrashRecord) -> Result<(), FolderError> {
        let path = self.path.join(CRASHES);
        let line = json_line(&path, record)?;
        let file = File::options().append(true).create(true).open(&path);
        file.and_then(|mut file| file.write_all(&line)).map_err(FolderError::io(&path))
    }

    /// All crashes. A last line that was cut off is ignored.
    pub fn crashes(&self) -> Result<Vec<CrashRecord>, FolderError> {
        let path = self.path.join(CRASHES);
        let Some(bytes) = read_if_there(&self.path, &path, LINES_MAX)? else {
            return Ok(Vec::new());
        };
        let text = String::from_utf8_lossy(&bytes);
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let mut numbers = HashSet::new();
        let lines = (1..).zip(whole.lines()).map(|(number, line)| {
            crash_of_line(line, &mut numbers)
                .map_err(|problem| FolderError::content(&path, format!("line {number}: {problem}")))
        });
        lines.collect()
    }
}

/// A crash that can be, and that no other line has.
fn crash_of_line(line: &str, numbers: &mut HashSet<u32>) -> Result<CrashRecord, String> {
    let crash: CrashRecord = serde_json::from_str(line).map_err(|error| error.to_string())?;
    crash.check()?;
    if !numbers.insert(crash.number) {
        return Err(format!("number is {}, as of a line before", crash.number));
    }
    Ok(crash)
}
