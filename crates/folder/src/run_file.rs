//! Opening, reading and writing the files of a run folder.
//!
//! A run folder may come from another user or another machine. A reader follows no link below it
//! (one could lead to any file of this host), opens regular files only (a pipe would block it for
//! ever) and reads at most a fixed number of bytes. A writer follows no link at the names that it
//! creates.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::FolderError;
use truetps_files::{OpenFolder, write_atomically};
use truetps_record::{SCHEMA_VERSION, check_path_name};

/// JSON files and plans. The schedule of 20,000 trials with ten factors has 15 MB.
pub(crate) const TEXT_MAX: u64 = 64 << 20;
/// Files of one line an interval. A day, the longest trial, has 86,400 intervals of about 2 KB.
pub(crate) const LINES_MAX: u64 = 1 << 30;

/// A name as a path below this folder: names come from files and servers, and an absolute one or
/// `..` leads elsewhere.
pub(crate) fn below(folder: &Path, name: &str) -> Result<PathBuf, FolderError> {
    check_path_name(name).map_err(|problem| FolderError::content(folder, problem))?;
    Ok(folder.join(name))
}

/// Opens a file of a run folder for reading. Links lead to the run folder; below it, none is
/// followed.
pub(crate) fn open_below(run: &Path, path: &Path) -> Result<File, FolderError> {
    let below = path.strip_prefix(run).expect("the path is below the run folder");
    let mut at = run.to_owned();
    let mut folder = OpenFolder::open_named(run).map_err(FolderError::io(path))?;
    for name in below.parent().into_iter().flatten() {
        at.push(name);
        folder = folder.folder(name).map_err(|source| open_error(path, &at, source))?;
    }
    folder
        .file(below.file_name().expect("the path names a file"))
        .map_err(|source| open_error(path, path, source))
}

/// `at`: the folder on the way to the file, or the file itself, that could not be opened.
fn open_error(path: &Path, at: &Path, source: io::Error) -> FolderError {
    if at.is_symlink() {
        return FolderError::content(
            at,
            "is a symbolic link: no file of a run folder is read through one",
        );
    }
    FolderError::io(path)(source)
}

/// The content of a file of at most `bytes_max` bytes.
pub(crate) fn read_bytes(run: &Path, path: &Path, bytes_max: u64) -> Result<Vec<u8>, FolderError> {
    let mut bytes = Vec::new();
    open_below(run, path)?
        .take(bytes_max + 1)
        .read_to_end(&mut bytes)
        .map_err(FolderError::io(path))?;
    check_length(path, bytes.len() as u64, bytes_max)?;
    Ok(bytes)
}

pub(crate) fn check_length(path: &Path, bytes: u64, bytes_max: u64) -> Result<(), FolderError> {
    if bytes > bytes_max {
        return Err(FolderError::content(path, format!("is larger than {bytes_max} bytes")));
    }
    Ok(())
}

/// The content of a file; `None` where there is no such file.
pub(crate) fn read_if_there(
    run: &Path,
    path: &Path,
    bytes_max: u64,
) -> Result<Option<Vec<u8>>, FolderError> {
    if_there(read_bytes(run, path, bytes_max))
}

/// `None` where there was no such file.
pub(crate) fn if_there<T>(read: Result<T, FolderError>) -> Result<Option<T>, FolderError> {
    match read {
        Err(FolderError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

pub(crate) fn read_json<T: DeserializeOwned>(run: &Path, path: &Path) -> Result<T, FolderError> {
    #[derive(Deserialize)]
    struct SchemaVersion {
        schema_version: u64,
        tool_version: Option<String>,
    }
    let text = read_bytes(run, path, TEXT_MAX)?;
    let version = serde_json::from_slice::<SchemaVersion>(&text).ok();
    if let Some(newer) = version.filter(|it| it.schema_version > u64::from(SCHEMA_VERSION)) {
        let (path, found, writer) = (path.to_owned(), newer.schema_version, newer.tool_version);
        return Err(FolderError::Newer { path, found, writer });
    }
    serde_json::from_slice(&text).map_err(|error| FolderError::content(path, error))
}

/// What a JSON file has; `None` where there is no such file.
pub(crate) fn read_json_if_there<T: DeserializeOwned>(
    run: &Path,
    path: &Path,
) -> Result<Option<T>, FolderError> {
    if_there(read_json(run, path))
}

/// One line of a file of lines.
pub(crate) fn json_line(path: &Path, value: &impl Serialize) -> Result<Vec<u8>, FolderError> {
    let mut line = serde_json::to_vec(value).map_err(|error| FolderError::content(path, error))?;
    line.push(b'\n');
    Ok(line)
}

pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), FolderError> {
    let mut text =
        serde_json::to_vec_pretty(value).map_err(|error| FolderError::content(path, error))?;
    text.push(b'\n');
    write_file(path, &text)
}

pub(crate) fn write_file(path: &Path, content: &[u8]) -> Result<(), FolderError> {
    write_atomically(path, content).map_err(FolderError::io(path))
}

/// A new file that lines are appended to. An existing file is removed first, so that nothing is
/// written through a link.
pub(crate) fn create_line_file(path: &Path) -> Result<File, FolderError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => File::create_new(path),
    }
    .map_err(FolderError::io(path))
}

/// Creates a folder with this name, or with a number appended to it.
pub(crate) fn create_unused(runs: &Path, name: &str) -> Result<PathBuf, FolderError> {
    for n in 1..10_000_u32 {
        let path = below(runs, &if n == 1 { name.to_owned() } else { format!("{name}-{n}") })?;
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(FolderError::Io { path, source }),
        }
    }
    Err(FolderError::content(&runs.join(name), "10,000 runs of this name exist"))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;
    use truetps_record::Experiment;

    #[test]
    fn nothing_is_written_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("precious"), "whole").unwrap();
        for name in ["run.json.tmp", "lines"] {
            symlink(path("precious"), path(name)).unwrap();
        }
        write_atomically(&path("run.json"), b"new").unwrap();
        create_line_file(&path("lines")).unwrap().write_all(b"new").unwrap();
        assert_eq!(fs::read(path("precious")).unwrap(), b"whole");
        assert_eq!(
            (fs::read(path("run.json")).unwrap(), fs::read(path("lines")).unwrap()),
            (b"new".into(), b"new".into())
        );
    }

    #[test]
    fn a_newer_schema_is_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("experiment.json");
        fs::write(&path, r#"{"schema_version": 99, "tool_version": "7.1.0"}"#).unwrap();
        let error = read_json::<Experiment>(dir.path(), &path).unwrap_err();
        assert_eq!(error.hint().unwrap(), "use truetps 7.1.0, or a newer one");
        let error = error.to_string();
        assert!(
            error.contains("experiment.json") && error.contains("schema version 99"),
            "{error}"
        );
    }

    #[test]
    fn links_lead_to_a_run_folder_and_not_from_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir_all(path("run/trial/server")).unwrap();
        fs::write(path("run/trial/server/my.cnf"), "own").unwrap();
        symlink("run", path("latest")).unwrap();
        symlink("trial", path("run/other")).unwrap();
        symlink("server", path("run/trial/link")).unwrap();
        symlink("my.cnf", path("run/trial/server/link")).unwrap();
        let read = |name: &str| {
            read_bytes(&path("latest"), &path("latest").join(name), 10)
                .map_err(|error| error.to_string())
        };
        assert_eq!(read("trial/server/my.cnf").as_deref(), Ok(&b"own"[..]));
        for (name, link) in [
            ("other/server/my.cnf", "latest/other: "),
            ("trial/link/my.cnf", "latest/trial/link: "),
            ("trial/server/link", "latest/trial/server/link: "),
        ] {
            let error = read(name).unwrap_err();
            assert!(error.contains(&format!("{link}is a symbolic link")), "{error}");
        }
        assert!(read("trial/none/my.cnf").unwrap_err().contains("trial/none/my.cnf: No such file"));
    }

    #[test]
    fn only_regular_files_of_a_limited_length_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let folder = dir.path().join("folder");
        fs::create_dir(&folder).unwrap();
        // The device first: opening the pipe for reading blocks for ever.
        for path in [Path::new("/dev/zero"), &folder, &pipe] {
            let error = read_bytes(path.parent().unwrap(), path, 10).unwrap_err().to_string();
            assert!(error.ends_with(": is not a regular file"), "{error}");
        }
        let long = dir.path().join("long");
        fs::write(&long, [0; 11]).unwrap();
        assert!(
            read_bytes(dir.path(), &long, 10)
                .unwrap_err()
                .to_string()
                .ends_with("is larger than 10 bytes")
        );
        assert_eq!(read_bytes(dir.path(), &long, 11).unwrap().len(), 11);
        assert!(read_if_there(dir.path(), &dir.path().join("none"), 1).unwrap().is_none());
    }
}
