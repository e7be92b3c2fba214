//! The emulated disk of an instance: made at a start, mounted by a process of its own until the
//! server is stopped, and kept as an image after that.
//!
//! The note about it is written once there are data on it: a disk without a note is unfinished. Its
//! process outlives truetps, and is recognised by its command line, which has the disk's folder.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use truetps_disk::{
    DiskOptions, DiskProfile, EmulatedDisk, LabLevel, clean_disk, files_in, has_mounts, missing_for,
};

use crate::error::{NamedError, SandboxError};
use crate::home::sandbox_disk::{disk_helpers, helper_command, signal_disk_helper};
use crate::home::server_paths::DISK;
use crate::home::sizes::image_bytes;
use crate::system::folders::{is_file, is_folder, make_passable, remove_tree};
use crate::system::json_file::{check_schema_version, read_json_file, write_json_file};
use crate::system::processes::wait_until_ended;
use crate::system::server_user::ServerUser;
use crate::system::space::free_bytes;

const SCHEMA_VERSION: u32 = 1;
const NOTE: &str = "disk.json";
/// A fresh datadir, a redo log and some tables.
const BYTES_MIN: u64 = 4 << 30;
/// The metadata of a larger file system would take seconds and gigabytes.
const BYTES_MAX: u64 = 32 << 30;
/// Room that stays free on the host's own disk when a new disk is full.
const SPARE_BYTES: u64 = 1 << 30;
/// Time limit for an unmount, which writes what is cached of the disk.
const UNMOUNT_TIME_LIMIT: Duration = Duration::from_secs(20);
/// Time limit for an unmount before the disk's process is killed.
const FORCED_TIME_LIMIT: Duration = Duration::from_secs(5);

/// `disk.json`
#[derive(Debug, Serialize, Deserialize)]
struct DiskNote {
    schema_version: u32,
    /// All of it: a file of the user may have changed since.
    profile: DiskProfile,
}

#[derive(Debug, Clone)]
pub(crate) struct InstanceDisk {
    folder: PathBuf,
    note: PathBuf,
}

impl InstanceDisk {
    /// `server_folder`: the folder of the server's name.
    pub(crate) fn of(server_folder: &Path) -> Self {
        Self { folder: server_folder.join(DISK), note: server_folder.join(NOTE) }
    }

    /// Whether there is one with data on it.
    pub(crate) fn exists(&self) -> bool {
        is_file(&self.note)
    }

    /// A disk without data on it: its start was interrupted.
    pub(crate) fn unfinished(&self) -> Option<&Path> {
        (is_folder(&self.folder) && !self.exists()).then_some(&self.folder)
    }

    pub(crate) fn datadir(&self) -> PathBuf {
        files_in(&self.folder).join("data")
    }

    pub(crate) fn bytes(&self) -> u64 {
        image_bytes(&self.folder)
    }

    pub(crate) fn profile(&self) -> Result<Option<DiskProfile>, SandboxError> {
        let Some(note) = read_json_file::<DiskNote>(&self.note)? else { return Ok(None) };
        check_schema_version(&self.note, note.schema_version, SCHEMA_VERSION)?;
        Ok(Some(note.profile))
    }

    pub(crate) fn write_profile(&self, profile: &DiskProfile) -> Result<(), SandboxError> {
        write_json_file(
            &self.note,
            &DiskNote { schema_version: SCHEMA_VERSION, profile: profile.clone() },
        )
    }

    /// The process that serves it.
    pub(crate) fn helper_pid(&self) -> Option<u32> {
        disk_helpers(&self.folder).first().map(|(pid, _)| *pid)
    }

    /// Checked before anything changes: whether this machine can mount it, and has room for a new
    /// one.
    pub(crate) fn check(&self) -> Result<(), SandboxError> {
        if let Some(missing) = missing_for(LabLevel::Block).into_iter().next() {
            return Err(missing.into());
        }
        if self.exists() { Ok(()) } else { self.new_bytes().map(drop) }
    }

    /// The size of a new disk: what the free space allows. Its image is sparse.
    fn new_bytes(&self) -> Result<u64, SandboxError> {
        let path = self.folder.parent().unwrap_or(&self.folder);
        let free = free_bytes(path)?;
        let bytes = free.saturating_sub(SPARE_BYTES).min(BYTES_MAX);
        if bytes < BYTES_MIN {
            let needed = BYTES_MIN + SPARE_BYTES;
            return Err(SandboxError::DiskFull {
                what: "the emulated disk",
                path: path.to_owned(),
                needed,
                free,
            });
        }
        Ok(bytes)
    }

    /// Mounts it, and makes it before if it does not exist. Requests take no time yet. The server
    /// must be stopped.
    pub(crate) fn mount(
        &self,
        profile: &DiskProfile,
        program: &Path,
        user: &ServerUser,
    ) -> Result<EmulatedDisk, SandboxError> {
        self.unmount()?;
        if self.unfinished().is_some() {
            remove_tree(&self.folder)?;
        }
        let bytes = if self.exists() { 0 } else { self.new_bytes()? };
        if !is_folder(&self.folder) {
            make_passable(&self.folder, user).map_err(SandboxError::io("make", &self.folder))?;
        }
        let options = DiskOptions {
            // It keeps its image.
            level: LabLevel::Block,
            folder: self.folder.clone(),
            profile: profile.clone(),
            bytes,
            seed: 0,
            keeps_image: true,
        };
        Ok(EmulatedDisk::mount(helper_command(program, &self.folder), options)?)
    }

    /// Unmounts it if it is mounted, also one whose process was killed. The image stays.
    pub(crate) fn unmount(&self) -> Result<(), SandboxError> {
        let mut left = self.ask_to_end(UNMOUNT_TIME_LIMIT)?.into_iter();
        if let Some((pid, _)) = left.next() {
            return Err(NamedError::DiskInUse { path: files_in(&self.folder), pid }.into());
        }
        self.clean()
    }

    /// Unmounts it, too, if its process does not end: that is killed, and what the file system has
    /// not written is lost.
    pub(crate) fn unmount_by_force(&self) -> Result<(), SandboxError> {
        for (pid, ticks) in self.ask_to_end(FORCED_TIME_LIMIT)? {
            self.signal(pid, Signal::KILL)?;
            wait_until_ended(pid, ticks, FORCED_TIME_LIMIT);
        }
        self.clean()
    }

    /// Returns the processes that have not ended.
    fn ask_to_end(&self, time_limit: Duration) -> Result<Vec<(u32, u64)>, SandboxError> {
        let helpers = disk_helpers(&self.folder);
        for (pid, _) in &helpers {
            self.signal(*pid, Signal::TERM)?;
        }
        Ok(helpers
            .into_iter()
            .filter(|(pid, ticks)| !wait_until_ended(*pid, *ticks, time_limit))
            .collect())
    }

    fn signal(&self, pid: u32, signal: Signal) -> Result<(), SandboxError> {
        signal_disk_helper(pid, &self.folder, signal)
            .map_err(SandboxError::io("end the process of", &self.folder))
    }

    fn clean(&self) -> Result<(), SandboxError> {
        if is_folder(&self.folder) { Ok(clean_disk(&self.folder)?) } else { Ok(()) }
    }

    /// Whether its process was killed, and has left its mounts.
    pub(crate) fn is_orphaned(&self) -> bool {
        is_folder(&self.folder) && has_mounts(&self.folder) && disk_helpers(&self.folder).is_empty()
    }

    /// After a start that failed: one with data on it stays.
    pub(crate) fn leave(&self) -> Result<(), SandboxError> {
        self.unmount()?;
        self.unfinished().map_or(Ok(()), remove_tree)
    }
}
