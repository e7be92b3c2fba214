//! The state page of a server that preloads the library: what it does, and the switch.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use thiserror::Error;
use truetps_binlog::state::{
    CONTROL_AT, PreallocCondition, STATE_BYTES, STATE_ENDING, STATE_VERSION, StatePage, StatePageError, StatusWord,
    WANTED_OFF, WANTED_ON, control_bytes,
};

/// The library writes the page for some microseconds only.
const READS_MAX: u32 = 100;
const PAUSE: Duration = Duration::from_millis(2);

/// Why a state cannot be read or changed.
#[derive(Debug, Error)]
pub enum StateError {
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{}: is no state of a preallocation library", path.display())]
    NotAState { path: PathBuf },
    #[error("{}: is of version {version} of the library, and this program knows {STATE_VERSION}", path.display())]
    OtherVersion { path: PathBuf, version: u64 },
    #[error("{}: no running server uses it", path.display())]
    NoServer { path: PathBuf },
    #[error("{}: the server's library has not obeyed within {:.0} s", path.display(), waited.as_secs_f64())]
    NotObeyed { path: PathBuf, waited: Duration },
}

/// A file `BASENAME.prealloc`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateFile {
    path: PathBuf,
}

impl StateFile {
    /// Beside the binlogs of this basename.
    pub fn of(basename: &Path) -> Self {
        let mut path = OsString::from(basename);
        path.push(STATE_ENDING);
        Self { path: path.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `None`: there is no such file.
    pub fn read(&self) -> Result<Option<StatePage>, StateError> {
        match File::open(&self.path) {
            Ok(file) => self.page(&file).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(self.failed(source)),
        }
    }

    /// Whether a server has the library loaded: it holds a lock on the file.
    pub fn has_server(&self) -> Result<bool, StateError> {
        let file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            other => other.map_err(|source| self.failed(source))?,
        };
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(false),
            Err(error) if error == rustix::io::Errno::WOULDBLOCK => Ok(true),
            Err(error) => Err(self.failed(error.into())),
        }
    }

    /// Turns preallocation on or off in a running server, and waits until that has happened. Its page afterwards.
    pub fn want(&self, is_on: bool, patience: Duration) -> Result<StatePage, StateError> {
        let file = OpenOptions::new().read(true).write(true).open(&self.path).map_err(|source| self.failed(source))?;
        if !self.has_server()? {
            return Err(StateError::NoServer { path: self.path.clone() });
        }
        let before = self.page(&file)?;
        let wanted = if is_on { WANTED_ON } else { WANTED_OFF };
        let request = before.request.wrapping_add(1);
        file.write_all_at(&control_bytes(wanted, request), CONTROL_AT).map_err(|source| self.failed(source))?;
        let end = Instant::now() + patience;
        loop {
            let page = self.page(&file)?;
            let is_obeyed =
                page.word(StatusWord::acted_request) == request && page.word(StatusWord::acted_wanted) == wanted;
            if is_obeyed {
                return Ok(page);
            }
            if Instant::now() >= end {
                return Err(StateError::NotObeyed { path: self.path.clone(), waited: patience });
            }
            thread::sleep(PAUSE);
        }
    }

    fn page(&self, file: &File) -> Result<StatePage, StateError> {
        let mut bytes = [0; STATE_BYTES];
        for _ in 0..READS_MAX {
            file.read_exact_at(&mut bytes, 0).map_err(|source| self.failed(source))?;
            match StatePage::parse(&bytes) {
                Ok(page) => return Ok(page),
                Err(StatePageError::Torn) => thread::sleep(PAUSE),
                Err(StatePageError::NotAStatePage) => break,
                Err(StatePageError::Version(version)) => {
                    return Err(StateError::OtherVersion { path: self.path.clone(), version });
                }
            }
        }
        Err(StateError::NotAState { path: self.path.clone() })
    }

    fn failed(&self, source: io::Error) -> StateError {
        StateError::File { path: self.path.clone(), source }
    }
}

/// Why a server that was started with the library does not preallocate; `None`: it does.
pub fn why_not_live(page: &StatePage) -> Option<String> {
    match (page.condition(), page.reason()) {
        (Some(PreallocCondition::Live), _) => None,
        (_, Some(reason)) => Some(reason.text().to_owned()),
        (Some(PreallocCondition::Paused), None) => Some("it is paused".to_owned()),
        (Some(PreallocCondition::EndedCleanly), None) => Some("the server has ended".to_owned()),
        _ => Some("no binlog was written yet".to_owned()),
    }
}
