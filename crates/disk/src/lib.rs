//! Emulated disks for private servers: a slow or unreliable disk on a fast machine.
//!
//! - `profile` (`DiskProfile`): what a disk costs, as a TOML file. `profiles/` has those that come with truetps.
//! - `model` (`DeviceModel`): when a request is done on such a disk; pure, with the time as an argument.
//! - `undo` (`UndoLog`): what a power cut takes back.
//! - `device` (`DeviceState`, `EmulatedDevice`): model, undo log and data of one disk. `answers` delays what it answers.
//! - `lab` (`DiskLab`): what both levels of emulation do. `block_lab` (`BlockLab`): `served_file` shows the device to the
//!   kernel as the one file of a FUSE file system, and an ext4 is on a loop device over it. `file_system_lab`
//!   (`FileSystemLab`): a FUSE file system over a folder, whose files have places on the device; needs no root.
//! - `mounts`: what is mounted, and what a killed process has left.
//! - `flush_times` and `measure` (`DiskMeasurement`): what a disk really takes, and a profile of it.
//! - `machine`: what this machine lacks for each level.
//! - `helper` and `emulated_disk` (`EmulatedDisk`): the process that does all this, and its owner.

mod answers;
mod block_lab;
mod device;
mod emulated_disk;
mod error;
mod file_system_lab;
mod flush_times;
mod helper;
mod lab;
mod machine;
mod measure;
mod model;
mod mounts;
mod profile;
mod served_file;
#[cfg(test)]
mod test_disks;
mod undo;

pub use block_lab::image_in;
pub use device::DiskCrash;
pub use emulated_disk::EmulatedDisk;
pub use error::DiskError;
pub use flush_times::FlushTimes;
pub use helper::run_helper;
pub use lab::{DiskOptions, LabLevel, files_in};
pub use machine::{choose_level, missing_for};
pub use measure::{DiskMeasurement, WriteTimes, measure_disk};
pub use model::{DeviceModel, DiskRange, DiskRequest};
pub use mounts::{clean_disk, has_mounts, is_disk_served};
pub use profile::{DiskProfile, Geometry};
