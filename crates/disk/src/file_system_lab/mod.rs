//! A disk without root: a FUSE file system over a backing folder, whose files have places on the
//! modelled device.
//!
//! Writes into the page cache take no time until a sync; then they go to the device, which is
//! flushed. The journal is a formula (see `journal`). No sync of the host is passed through. A
//! crash takes back what was not synced (`state`); metadata is durable at once, so that loss of
//! names and of truncations is not shown.

mod folders;
mod journal;
mod names;
mod nodes;
mod operations;
mod placement;
mod state;
mod sync;

use std::fs::{self, File, Permissions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use fuser::BackgroundSession;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::device::{DeviceState, DiskCrash};
use crate::error::DiskError;
use crate::lab::{DiskLab, DiskOptions, check_free};
use crate::mounts::{remove_mounts, unmount_when_free, wait_until_unserved};
use operations::serve_file_system;
use state::{FileSystemState, SharedState, locked};

fn backing_folder(options: &DiskOptions) -> PathBuf {
    options.folder.join("backing")
}

/// A mounted disk. Dropping it unmounts and removes it.
pub(crate) struct FileSystemLab {
    options: DiskOptions,
    state: SharedState,
    /// `None`: it is not mounted.
    session: Option<BackgroundSession>,
    is_removed: bool,
    /// Held until the disk is gone: a cleaning waits for it.
    _lock: File,
}

impl FileSystemLab {
    pub(crate) fn create(options: DiskOptions, lock: File) -> Result<Self, DiskError> {
        raise_open_files();
        check_free(&options)?;
        let backing = backing_folder(&options);
        for folder in [&backing, &options.files()] {
            fs::create_dir(folder).map_err(DiskError::io("create", folder))?;
        }
        // As a new ext4 has it, whatever the umask is.
        let opened_to_all = fs::set_permissions(&backing, Permissions::from_mode(0o755));
        opened_to_all.map_err(DiskError::io("open", &backing))?;
        let opened = File::open(&backing).map(OwnedFd::from);
        let state = opened.and_then(|opened| {
            FileSystemState::new(opened, options.bytes, &options.profile, options.seed)
        });
        let state = Arc::new(Mutex::new(state.map_err(DiskError::io("open", &backing))?));
        let mut lab = Self { options, state, session: None, is_removed: false, _lock: lock };
        lab.mount()?;
        Ok(lab)
    }

    fn mount(&mut self) -> Result<(), DiskError> {
        let served = serve_file_system(Arc::clone(&self.state), &self.options.files());
        self.session = Some(served.map_err(|error| DiskError::no_fuse(&error))?);
        Ok(())
    }

    /// The page cache of the mount is gone afterwards.
    fn unmount(&mut self) -> Result<(), DiskError> {
        let Some(session) = self.session.take() else { return Ok(()) };
        let files = self.options.files();
        unmount_when_free(&files)?;
        // Its page cache ends with the last reference to the mount.
        wait_until_unserved(session, &files)
    }

    fn tear_down(&mut self) -> Result<(), DiskError> {
        if std::mem::replace(&mut self.is_removed, true) {
            return Ok(());
        }
        self.set_timed(false);
        // A mount that is still in use is left to the removal of all mounts.
        let _ = self.unmount();
        remove_mounts(&self.options.folder)?;
        let (backing, files) = (backing_folder(&self.options), self.options.files());
        fs::remove_dir_all(&backing).map_err(DiskError::io("remove", &backing))?;
        fs::remove_dir(&files).map_err(DiskError::io("remove", &files))
    }
}

impl DiskLab for FileSystemLab {
    fn options(&self) -> &DiskOptions {
        &self.options
    }

    fn with_device(&self, action: &mut dyn FnMut(&mut DeviceState)) {
        action(&mut locked(&self.state).device);
    }

    fn cut(&mut self, crash: DiskCrash) -> Result<u64, DiskError> {
        locked(&self.state)
            .cut(crash)
            .map_err(DiskError::io("restore", &backing_folder(&self.options)))
    }

    fn start_again(&mut self) -> Result<(), DiskError> {
        self.unmount()?;
        locked(&self.state).restore_power();
        self.mount()
    }

    fn remove(mut self: Box<Self>) -> Result<(), DiskError> {
        self.tear_down()
    }
}

impl Drop for FileSystemLab {
    fn drop(&mut self) {
        // What is left is found by the next cleaning.
        let _ = self.tear_down();
    }
}

/// Each file of the disk is open as long as it exists.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    // If that is refused, the operation that needs more files reports it.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

#[cfg(test)]
#[path = "../file_system_lab_tests.rs"]
mod tests;
