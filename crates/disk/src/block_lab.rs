//! A disk with a real file system: the served file, a loop device over it, and an ext4 on that.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use fuser::BackgroundSession;

use crate::device::{DeviceState, DiskCrash, EmulatedDevice};
use crate::error::DiskError;
use crate::lab::{DiskLab, DiskOptions, check_free};
use crate::mounts::{detach_loop, remove_mounts, unmount_when_free};
use crate::programs::output_of;
use crate::served_file::{FILE, SharedDevice, locked, serve};

/// What the disk in this folder holds, in a sparse file.
pub fn image_in(folder: &Path) -> PathBuf {
    folder.join("image")
}

fn device_folder(options: &DiskOptions) -> PathBuf {
    options.folder.join("device")
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
    pub(crate) fn create(options: DiskOptions, lock: File) -> Result<Self, DiskError> {
        let image = image_in(&options.folder);
        let is_new = !image.exists();
        if is_new {
            check_free(&options)?;
        }
        let device = EmulatedDevice::open(&image, options.bytes, &options.profile, options.seed)?;
        let device = Arc::new(Mutex::new(device));
        for folder in [device_folder(&options), options.files()] {
            // A killed process leaves them.
            fs::create_dir_all(&folder).map_err(DiskError::io("create", &folder))?;
        }
        let served = serve(Arc::clone(&device), &device_folder(&options));
        let session = Some(served.map_err(|error| DiskError::no_fuse(&error))?);
        let mut lab = Self { options, device, session, loop_device: PathBuf::new(), lock };
        lab.attach()?;
        if is_new {
            lab.make_file_system()?;
        }
        lab.mount()?;
        Ok(lab)
    }

    /// Runs a program on the disk. It holds the lock, too: where this process is killed, a cleaning
    /// waits for it.
    fn run(&self, program: &'static str, words: &[&str], path: &Path) -> Result<String, DiskError> {
        let words: Vec<_> = words.iter().map(OsStr::new).chain([path.as_os_str()]).collect();
        let lock = self.lock.try_clone().map_err(DiskError::io("lock", &self.options.folder))?;
        output_of(program, &words, lock.into())
    }

    fn attach(&mut self) -> Result<(), DiskError> {
        let file = device_folder(&self.options).join(FILE);
        let shown = self.run("losetup", &["--find", "--show", "--direct-io=on"], &file)?;
        self.loop_device = PathBuf::from(shown.trim());
        Ok(())
    }

    /// All of it is written now: what ext4 would write in the background later would disturb a
    /// measurement.
    fn make_file_system(&self) -> Result<(), DiskError> {
        let extended = "lazy_itable_init=0,lazy_journal_init=0,nodiscard";
        let words = ["-q", "-F", "-m", "0", "-i", "65536", "-E", extended];
        self.run("mkfs.ext4", &words, &self.loop_device).map(drop)
    }

    fn mount(&self) -> Result<(), DiskError> {
        let device = self.loop_device.to_string_lossy();
        // For the data of servers only.
        let words = ["-i", "-n", "-t", "ext4", "-o", "nodev,nosuid", &device];
        self.run("mount", &words, &self.options.files()).map(drop)
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
        let image = image_in(&self.options.folder);
        if !self.options.keeps_image {
            fs::remove_file(&image).map_err(DiskError::io("remove", &image))?;
        }
        for folder in [device_folder(&self.options), files] {
            fs::remove_dir(&folder).map_err(DiskError::io("remove", &folder))?;
        }
        Ok(())
    }
}

impl DiskLab for BlockLab {
    fn options(&self) -> &DiskOptions {
        &self.options
    }

    fn with_device(&self, action: &mut dyn FnMut(&mut DeviceState)) {
        action(&mut locked(&self.device).state);
    }

    fn cut(&mut self, crash: DiskCrash) -> Result<u64, DiskError> {
        let image = image_in(&self.options.folder);
        locked(&self.device).cut(crash).map_err(DiskError::io("write", &image))
    }

    fn start_again(&mut self) -> Result<(), DiskError> {
        // The file system in memory and the one on the disk differ now, so that the former has to
        // go first.
        unmount_when_free(&self.options.files())?;
        detach_loop(&self.loop_device)?;
        locked(&self.device).state.restore_power();
        self.attach()?;
        self.mount()
    }

    fn remove(mut self: Box<Self>) -> Result<(), DiskError> {
        self.tear_down()
    }
}

impl Drop for BlockLab {
    fn drop(&mut self) {
        // What is left is found by the next cleaning.
        let _ = self.tear_down();
    }
}

#[cfg(test)]
#[path = "block_lab_tests.rs"]
mod tests;
