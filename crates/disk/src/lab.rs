//! What both kinds of emulated disks have in common, and the choice between them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::device::{DeviceState, DiskCrash};
use crate::error::DiskError;
use crate::mounts::unmount_within;
use crate::profile::DiskProfile;

/// Room on the host's disk that stays free.
const FREE_BYTES_MIN: u64 = 512 << 20;

/// What of a disk is emulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LabLevel {
    /// The device: the file system on it is a real one. Needs root.
    Block,
    /// The file system: its journal is modelled, and metadata is never lost. Needs no root.
    FileSystem,
}

impl LabLevel {
    /// The better one first.
    pub const ALL: [Self; 2] = [Self::Block, Self::FileSystem];

    /// Its name in reports and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::FileSystem => "file_system",
        }
    }
}

/// An emulated disk that is to be made, or one whose image was kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiskOptions {
    pub level: LabLevel,
    /// For everything of the disk, and nothing else. A kept image in it is mounted again, with what
    /// is on it.
    pub folder: PathBuf,
    pub profile: DiskProfile,
    /// Size of a new image; a kept one stays as large as it is.
    pub bytes: u64,
    /// Seed of the jitter.
    pub seed: u64,
    /// Whether the image outlives the disk; only of level `block`.
    #[serde(default)]
    pub keeps_image: bool,
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
}

/// A mounted disk of one of the levels. Dropping it unmounts it, and removes it unless its image is
/// to be kept.
pub(crate) trait DiskLab {
    fn options(&self) -> &DiskOptions;

    /// Lends what the model knows of the device.
    fn with_device(&self, action: &mut dyn FnMut(&mut DeviceState));

    /// From now on nothing reaches the disk, whatever runs on it. Returns the blocks of which the
    /// cache lost something; a disk that is cut already loses nothing more.
    fn cut(&mut self, crash: DiskCrash) -> Result<u64, DiskError>;

    /// The host of a disk that was cut starts again. Nothing may run on it.
    fn start_again(&mut self) -> Result<(), DiskError>;

    /// The host crashes, and starts again: what was not on the disk is gone. Nothing may run on it.
    fn crash(&mut self, crash: DiskCrash) -> Result<u64, DiskError> {
        let lost = self.cut(crash)?;
        self.start_again()?;
        Ok(lost)
    }

    /// Unmounts and removes everything, but for an image that is to be kept.
    fn remove(self: Box<Self>) -> Result<(), DiskError>;

    fn set_timed(&self, is_timed: bool) {
        self.with_device(&mut |device| device.set_timed(is_timed));
    }

    /// Sets what the host adds to a request.
    fn set_host_us(&self, each_us: f64) {
        self.with_device(&mut |device| device.set_host_ns((each_us * 1e3) as u64));
    }

    fn flush_count(&self) -> u64 {
        let mut flushes = 0;
        self.with_device(&mut |device| flushes = device.flushes);
        flushes
    }

    /// Unmounts the file system as soon as nothing uses it. It takes no time of the disk from now
    /// on: nothing is measured on a disk that is to end.
    fn unmount_once_unused(&self) -> Result<(), DiskError> {
        self.set_timed(false);
        unmount_within(&self.options().files(), Duration::MAX)
    }
}

/// The data on the host's disk is sparse, and may become as large as the emulated disk.
pub(crate) fn check_free(options: &DiskOptions) -> Result<(), DiskError> {
    let path = &options.folder;
    let stat =
        rustix::fs::statvfs(path).map_err(|errno| DiskError::io("examine", path)(errno.into()))?;
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    if free < options.bytes.saturating_add(FREE_BYTES_MIN) {
        let (needed_mb, free_mb) = ((options.bytes + FREE_BYTES_MIN) >> 20, free >> 20);
        return Err(DiskError::NoSpace { path: path.clone(), needed_mb, free_mb });
    }
    Ok(())
}
