//! A disk with a real file system: the served file, a loop device over it, and an ext4 on that.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use fuser::BackgroundSession;
use rustix::fs::{Gid, Uid, chown};
use rustix::mount::{MountFlags, mount};
use serde::{Deserialize, Serialize};

use crate::device::{DiskCrash, EmulatedDevice};
use crate::error::DiskError;
use crate::flush_times::{FlushTimes, flush_times};
use crate::machine::{PROGRAM_FOLDERS, missing_for_disks};
use crate::mounts::{detach_loop, lock_folder, remove_mounts, unmount_when_free};
use crate::profile::DiskProfile;
use crate::served_file::{FILE, SharedDevice, locked, serve};

/// More is no property of the host, but of other work on it.
const HOST_US_MAX: f64 = 150.0;
/// Room on the host's disk that stays free.
const FREE_BYTES_MIN: u64 = 512 << 20;

/// An emulated disk that is to be made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiskOptions {
    /// An empty folder for everything of the disk.
    pub folder: PathBuf,
    pub profile: DiskProfile,
    pub bytes: u64,
    /// Of the jitter.
    pub seed: u64,
    /// User and group that own the new file system.
    pub owner: (u32, u32),
}

/// Where the file system of the disk in this folder is.
pub fn files_in(folder: &Path) -> PathBuf {
    folder.join("files")
}

impl DiskOptions {
    /// Where the file system is.
    pub fn files(&self) -> PathBuf {
        files_in(&self.folder)
    }

    fn device_folder(&self) -> PathBuf {
        self.folder.join("device")
    }

    fn image(&self) -> PathBuf {
        self.folder.join("image")
    }
}

/// A mounted disk. Dropping it unmounts and removes it.
pub(crate) struct BlockLab {
    options: DiskOptions,
    device: SharedDevice,
    session: Option<BackgroundSession>,
    /// `/dev/loop0`
    loop_device: PathBuf,
    /// Held until the disk is gone: a cleaning waits for it.
    _lock: File,
}

impl BlockLab {
    pub(crate) fn create(options: DiskOptions) -> Result<Self, DiskError> {
        if let Some(missing) = missing_for_disks().into_iter().next() {
            return Err(missing);
        }
        check_free(&options)?;
        let lock = lock_folder(&options.folder)?;
        let device = EmulatedDevice::create(&options.image(), options.bytes, &options.profile, options.seed)?;
        let device = Arc::new(Mutex::new(device));
        for folder in [options.device_folder(), options.files()] {
            fs::create_dir(&folder).map_err(DiskError::io("create", &folder))?;
        }
        let served = serve(Arc::clone(&device), &options.device_folder());
        let missing = |error: std::io::Error| DiskError::Missing { what: "/dev/fuse", problem: error.to_string() };
        let session = Some(served.map_err(missing)?);
        let mut lab = Self { options, device, session, loop_device: PathBuf::new(), _lock: lock };
        lab.attach()?;
        lab.make_file_system()?;
        lab.mount()?;
        let (files, (uid, gid)) = (lab.options.files(), lab.options.owner);
        let owner = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
        chown(&files, owner.0, owner.1).map_err(|errno| DiskError::io("give away", &files)(errno.into()))?;
        lab.measure_host()?;
        Ok(lab)
    }

    /// Measures what the host adds to a request, while the disk itself takes no time: a write and a flush each.
    fn measure_host(&self) -> Result<(), DiskError> {
        let each_us = self.flush_times()?.overwrite_us_p50 / 2.0;
        locked(&self.device).set_host_ns((each_us.min(HOST_US_MAX) * 1e3) as u64);
        Ok(())
    }

    fn attach(&mut self) -> Result<(), DiskError> {
        let file = self.options.device_folder().join(FILE);
        let words = ["--find", "--show", "--direct-io=on"].map(OsStr::new);
        let shown = output_of("losetup", &[&words[..], &[file.as_os_str()]].concat())?;
        self.loop_device = PathBuf::from(shown.trim());
        Ok(())
    }

    /// All of it is written now: what ext4 would write in the background later would disturb a measurement.
    fn make_file_system(&self) -> Result<(), DiskError> {
        let words = ["-q", "-F", "-m", "0", "-i", "65536", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"];
        let mut words: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
        words.push(self.loop_device.as_os_str());
        output_of("mkfs.ext4", &words).map(|_| ())
    }

    fn mount(&self) -> Result<(), DiskError> {
        let files = self.options.files();
        let mounted = mount(&self.loop_device, &files, "ext4", MountFlags::empty(), None);
        mounted.map_err(|errno| DiskError::io("mount a disk at", &files)(errno.into()))
    }

    pub(crate) fn set_timed(&self, is_timed: bool) {
        locked(&self.device).set_timed(is_timed);
    }

    pub(crate) fn flush_times(&self) -> Result<FlushTimes, DiskError> {
        let flushes = || locked(&self.device).flushes;
        flush_times(&self.options.files(), &flushes)
    }

    /// The host crashes, and starts again: what was not on the disk is gone. Nothing may run on it. Returns the blocks
    /// that the cache lost.
    pub(crate) fn crash(&mut self, crash: DiskCrash) -> Result<u64, DiskError> {
        let image = self.options.image();
        let lost = locked(&self.device).cut(crash).map_err(DiskError::io("write", &image))?;
        // The file system in memory and the one on the disk differ now, so that the former has to go first.
        unmount_when_free(&self.options.files())?;
        detach_loop(&self.loop_device)?;
        locked(&self.device).restore_power();
        self.attach()?;
        self.mount()?;
        Ok(lost)
    }

    /// Unmounts and removes everything.
    pub(crate) fn remove(mut self) -> Result<(), DiskError> {
        self.tear_down()
    }

    fn tear_down(&mut self) -> Result<(), DiskError> {
        let Some(session) = self.session.take() else { return Ok(()) };
        self.set_timed(false);
        let files = self.options.files();
        if !self.loop_device.as_os_str().is_empty() {
            // A file system that was never mounted is none to unmount.
            let _ = unmount_when_free(&files);
            detach_loop(&self.loop_device)?;
        }
        // A mount that is still in use is left to the removal of all mounts.
        let _ = session.umount_and_join();
        remove_mounts(&self.options.folder)?;
        let image = self.options.image();
        fs::remove_file(&image).map_err(DiskError::io("remove", &image))?;
        for folder in [self.options.device_folder(), files] {
            fs::remove_dir(&folder).map_err(DiskError::io("remove", &folder))?;
        }
        Ok(())
    }
}

impl Drop for BlockLab {
    fn drop(&mut self) {
        // What is left is found by the next cleaning.
        let _ = self.tear_down();
    }
}

/// The image is sparse, and may become as large as the disk.
fn check_free(options: &DiskOptions) -> Result<(), DiskError> {
    let path = &options.folder;
    let stat = rustix::fs::statvfs(path).map_err(|errno| DiskError::io("examine", path)(errno.into()))?;
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    if free < options.bytes.saturating_add(FREE_BYTES_MIN) {
        let (needed_mb, free_mb) = ((options.bytes + FREE_BYTES_MIN) >> 20, free >> 20);
        return Err(DiskError::NoSpace { path: path.clone(), needed_mb, free_mb });
    }
    Ok(())
}

/// Runs a program of the system to its end, and returns what it printed.
pub(crate) fn output_of(program: &'static str, words: &[&OsStr]) -> Result<String, DiskError> {
    #[expect(clippy::disallowed_methods, reason = "programs of the system that make and mount disks")]
    let output = Command::new(program).args(words).env("PATH", PROGRAM_FOLDERS.join(":")).output();
    let output = output.map_err(|error| DiskError::Missing { what: program, problem: error.to_string() })?;
    if !output.status.success() {
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        let command = format!("{program} {}", words.join(" "));
        let problem = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(DiskError::Command { command, problem });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
#[path = "block_lab_tests.rs"]
mod tests;
