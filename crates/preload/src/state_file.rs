//! The state page of a server that preloads the library: what it does, and the switch.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use thiserror::Error;
use truetps_binlog::state::{
    CONTROL_AT, PreallocCondition, STATE_BYTES, STATE_ENDING, STATE_VERSION, STATUS_AT, StatePage,
    StatePageError, StatusWord, WANTED_OFF, WANTED_ON, control_bytes,
};
use truetps_files::OpenFolder;

/// The library writes the page for some microseconds only.
const READS_MAX: u32 = 100;
const PAUSE: Duration = Duration::from_millis(2);

/// Why a state cannot be read or changed.
#[derive(Debug, Error)]
pub enum StateError {
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{}: is not a state of a preallocation library", path.display())]
    NotAState { path: PathBuf },
    #[error("{}: is of version {version} of the library, and this program knows {STATE_VERSION}", path.display())]
    OtherVersion { path: PathBuf, version: u64 },
    #[error("{}: in use by a running server with the library", path.display())]
    HasServer { path: PathBuf },
    #[error("{}: no running server uses it", path.display())]
    NoServer { path: PathBuf },
    #[error("{}: the server's library has not obeyed within {:.0} s", path.display(), waited.as_secs_f64())]
    NotObeyed { path: PathBuf, waited: Duration },
}

/// A file `BASENAME.prealloc`. The server's user may put anything in its place: see [`OpenFolder`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateFile {
    path: PathBuf,
}

/// Held by a server with the library, and while binlogs are trimmed.
#[derive(Debug)]
pub(crate) struct StateLock {
    file: File,
    page: Option<StatePage>,
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
        self.open()?.map(|file| self.page(&file)).transpose()
    }

    /// Whether a server has the library loaded: it holds a lock on the file.
    pub fn has_server(&self) -> Result<bool, StateError> {
        self.open()?
            .map_or(Ok(false), |file| self.is_held(&file, FlockOperation::NonBlockingLockShared))
    }

    fn is_held(&self, file: &File, lock: FlockOperation) -> Result<bool, StateError> {
        match flock(file, lock) {
            Ok(()) => Ok(false),
            Err(error) if error == rustix::io::Errno::WOULDBLOCK => Ok(true),
            Err(error) => Err(self.failed(error.into())),
        }
    }

    /// Takes the lock that a server with the library holds. `None`: there is no file, so that no
    /// library has run here.
    pub(crate) fn lock(
        &self,
        folder: &OpenFolder,
        is_dry: bool,
    ) -> Result<Option<StateLock>, StateError> {
        let open = if is_dry { OpenFolder::file } else { OpenFolder::file_to_change };
        let Some(file) = self.open_in(folder, open)? else { return Ok(None) };
        if self.is_held(&file, FlockOperation::NonBlockingLockExclusive)? {
            return Err(StateError::HasServer { path: self.path.clone() });
        }
        let page = self.page(&file).ok();
        Ok(Some(StateLock { file, page }))
    }

    /// Turns preallocation on or off in a running server, and waits until that has happened. Its
    /// page afterwards.
    pub fn want(&self, is_on: bool, patience: Duration) -> Result<StatePage, StateError> {
        let file = self
            .open_in(&self.folder()?, OpenFolder::file_to_change)?
            .ok_or_else(|| self.failed(io::ErrorKind::NotFound.into()))?;
        if !self.is_held(&file, FlockOperation::NonBlockingLockShared)? {
            return Err(StateError::NoServer { path: self.path.clone() });
        }
        let before = self.page(&file)?;
        let wanted = if is_on { WANTED_ON } else { WANTED_OFF };
        let request = before.request.wrapping_add(1);
        file.write_all_at(&control_bytes(wanted, request), CONTROL_AT)
            .map_err(|source| self.failed(source))?;
        let end = Instant::now() + patience;
        loop {
            let page = self.page(&file)?;
            let is_obeyed = page.word(StatusWord::acted_request) == request
                && page.word(StatusWord::acted_wanted) == wanted;
            if is_obeyed {
                return Ok(page);
            }
            if Instant::now() >= end {
                return Err(StateError::NotObeyed { path: self.path.clone(), waited: patience });
            }
            thread::sleep(PAUSE);
        }
    }

    fn folder(&self) -> Result<OpenFolder, StateError> {
        OpenFolder::open_named(self.path.parent().unwrap_or(Path::new("")))
            .map_err(|source| self.failed(source))
    }

    fn open(&self) -> Result<Option<File>, StateError> {
        let folder = match self.folder() {
            Err(StateError::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return Ok(None);
            }
            other => other?,
        };
        self.open_in(&folder, OpenFolder::file)
    }

    /// `None`: there is no such file.
    fn open_in(
        &self,
        folder: &OpenFolder,
        open: fn(&OpenFolder, &OsStr) -> io::Result<File>,
    ) -> Result<Option<File>, StateError> {
        let name = self.path.file_name().unwrap_or_default();
        match folder.as_owner(|| open(folder, name)).flatten() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            other => other.map(Some).map_err(|source| self.failed(source)),
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

impl StateLock {
    /// The first file that a crash may have left with more than its content.
    pub(crate) fn marker(&self) -> Option<u64> {
        self.page.as_ref().and_then(StatePage::marker)
    }

    /// All files end with their content now, durably. Files of a later server without the library
    /// never have more.
    pub(crate) fn clear_marker(&self) -> io::Result<()> {
        if self.marker().is_none() {
            return Ok(());
        }
        self.file.write_all_at(&0_u64.to_le_bytes(), STATUS_AT + 8 * StatusWord::marker as u64)?;
        self.file.sync_data()
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
