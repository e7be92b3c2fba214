//! Emulated disks for private servers: a slow or unreliable disk on a fast machine.
//!
//! - `profile` (`DiskProfile`): what a disk costs, as a TOML file. `profiles/` has those that come with truetps.
//! - `model` (`DeviceModel`): when a request is done on such a disk; pure, with the time as an argument.
//! - `undo` (`UndoLog`): what a power cut takes back.
//! - `device` (`EmulatedDevice`): data, model and undo log of one disk. `answers` delays what it answers, and `served_file`
//!   shows it to the kernel as the one file of a FUSE file system.
//! - `mounts` and `block_lab` (`BlockLab`): a loop device over that file, and an ext4 on it.
//! - `flush_times` and `measure` (`DiskMeasurement`): what a disk really takes, and a profile of it.
//! - `machine`: what this machine lacks for all this.
//! - `helper` and `emulated_disk` (`EmulatedDisk`): the process that does all this as root, and its owner.

mod answers;
mod block_lab;
mod device;
mod emulated_disk;
mod error;
mod flush_times;
mod helper;
mod machine;
mod measure;
mod model;
mod mounts;
mod profile;
mod served_file;
mod undo;

pub use block_lab::{DiskOptions, files_in, image_in};
pub use device::DiskCrash;
pub use emulated_disk::EmulatedDisk;
pub use error::DiskError;
pub use flush_times::FlushTimes;
pub use helper::run_helper;
pub use machine::missing_for_disks;
pub use measure::{DiskMeasurement, WriteTimes, measure_disk};
pub use model::{DeviceModel, DiskRange, DiskRequest};
pub use mounts::{clean_disk, has_mounts, is_disk_served};
pub use profile::{DiskProfile, Geometry};
