//! A disk with a real file system: the served file, a loop device over it, and an ext4 on that.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fuser::BackgroundSession;
use serde::{Deserialize, Serialize};

use crate::device::{DiskCrash, EmulatedDevice};
use crate::error::DiskError;
use crate::machine::{PROGRAM_FOLDERS, missing_for_disks};
use crate::mounts::{detach_loop, lock_folder, remove_mounts, unmount_when_free, unmount_within};
use crate::profile::DiskProfile;
use crate::served_file::{FILE, SharedDevice, locked, serve};

/// Room on the host's disk that stays free.
const FREE_BYTES_MIN: u64 = 512 << 20;

/// An emulated disk that is to be made, or one whose image was kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiskOptions {
    /// For everything of the disk, and nothing else. A kept image in it is mounted again, with what is on it.
    pub folder: PathBuf,
    pub profile: DiskProfile,
    /// Of a new image; a kept one stays as large as it is.
    pub bytes: u64,
    /// Of the jitter.
    pub seed: u64,
    /// User and group that own the new file system.
    pub owner: (u32, u32),
    /// Whether the image outlives the disk.
    #[serde(default)]
    pub keeps_image: bool,
}

/// Where the file system of the disk in this folder is.
pub fn files_in(folder: &Path) -> PathBuf {
    folder.join("files")
}

/// What the disk in this folder holds, in a sparse file.
pub fn image_in(folder: &Path) -> PathBuf {
    folder.join("image")
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
        image_in(&self.folder)
    }
}

/// A mounted disk. Dropping it unmounts it, and removes it unless its image is to be kept.
pub(crate) struct BlockLab {
    options: DiskOptions,
    device: SharedDevice,
    session: Option<BackgroundSession>,
    /// `/dev/loop0`
    loop_device: PathBuf,
    /// Held until the disk is gone: a cleaning waits for it.
    lock: File,
}

impl BlockLab {
    pub(crate) fn create(options: DiskOptions) -> Result<Self, DiskError> {
        if let Some(missing) = missing_for_disks().into_iter().next() {
            return Err(missing);
        }
        let lock = lock_folder(&options.folder)?;
        let is_new = !options.image().exists();
        if is_new {
            check_free(&options)?;
        }
        let device = EmulatedDevice::open(&options.image(), options.bytes, &options.profile, options.seed)?;
        let device = Arc::new(Mutex::new(device));
        for folder in [options.device_folder(), options.files()] {
            // A killed process leaves them.
            fs::create_dir_all(&folder).map_err(DiskError::io("create", &folder))?;
        }
        let served = serve(Arc::clone(&device), &options.device_folder());
        let missing = |error: std::io::Error| DiskError::Missing { what: "/dev/fuse", problem: error.to_string() };
        let session = Some(served.map_err(missing)?);
        let mut lab = Self { options, device, session, loop_device: PathBuf::new(), lock };
        lab.attach()?;
        if is_new {
            lab.make_file_system()?;
        }
        lab.mount()?;
        Ok(lab)
    }

    /// Sets what the host adds to a request.
    pub(crate) fn set_host_us(&self, each_us: f64) {
        locked(&self.device).set_host_ns((each_us * 1e3) as u64);
    }

    pub(crate) fn flush_count(&self) -> u64 {
        locked(&self.device).flushes
    }

    /// Runs a program on the disk. It holds the lock, too: where this process is killed, a cleaning waits for it.
    fn run(&self, program: &'static str, words: &[&str], path: &Path) -> Result<String, DiskError> {
        let words: Vec<_> = words.iter().map(OsStr::new).chain([path.as_os_str()]).collect();
        let lock = self.lock.try_clone().map_err(DiskError::io("lock", &self.options.folder))?;
        output_of(program, &words, lock.into())
    }

    fn attach(&mut self) -> Result<(), DiskError> {
        let file = self.options.device_folder().join(FILE);
        let shown = self.run("losetup", &["--find", "--show", "--direct-io=on"], &file)?;
        self.loop_device = PathBuf::from(shown.trim());
        Ok(())
    }

    /// All of it is written now: what ext4 would write in the background later would disturb a measurement.
    fn make_file_system(&self) -> Result<(), DiskError> {
        let (uid, gid) = self.options.owner;
        let extended = format!("lazy_itable_init=0,lazy_journal_init=0,nodiscard,root_owner={uid}:{gid}");
        let words = ["-q", "-F", "-m", "0", "-i", "65536", "-E", &extended];
        self.run("mkfs.ext4", &words, &self.loop_device).map(drop)
    }

    fn mount(&self) -> Result<(), DiskError> {
        let device = self.loop_device.to_string_lossy();
        self.run("mount", &["-i", "-n", "-t", "ext4", &device], &self.options.files()).map(drop)
    }

    pub(crate) fn set_timed(&self, is_timed: bool) {
        locked(&self.device).set_timed(is_timed);
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

    /// Unmounts the file system as soon as nothing uses it. It takes no time of the disk from now on: nothing is measured
    /// on a disk that is to end.
    pub(crate) fn unmount_once_unused(&self) -> Result<(), DiskError> {
        self.set_timed(false);
        unmount_within(&self.options.files(), Duration::MAX)
    }

    /// Unmounts and removes everything, but for an image that is to be kept.
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
        if !self.options.keeps_image {
            fs::remove_file(&image).map_err(DiskError::io("remove", &image))?;
        }
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
pub(crate) fn output_of(program: &'static str, words: &[&OsStr], input: Stdio) -> Result<String, DiskError> {
    #[expect(clippy::disallowed_methods, reason = "programs of the system that make and mount disks")]
    let mut command = Command::new(program);
    let output = command.args(words).env("PATH", PROGRAM_FOLDERS.join(":")).stdin(input).output();
    let output = output.map_err(|error| DiskError::Missing { what: program, problem: error.to_string() })?;
    if !output.status.success() {
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        let command = format!("{program} {}", words.join(" "));
        let printed = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let problem = if printed.is_empty() { output.status.to_string() } else { printed };
        return Err(DiskError::Command { command, problem });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
#[path = "block_lab_tests.rs"]
mod tests;
