//! Emulated disks for private servers: a slow or unreliable disk on a fast machine.
//!
//! - `profile` (`DiskProfile`): what a disk costs, as a TOML file. `profiles/` has those that come with truetps.
//! - `model` (`DeviceModel`): when a request is done on such a disk; pure, with the time as an argument.
//! - `undo` (`UndoLog`): what a power cut takes back.
//! - `device` (`EmulatedDevice`): data, model and undo log of one disk. `answers` delays what it answers, and `served_file`
//!   shows it to the kernel as the one file of a FUSE file system.
//! - `mounts` and `block_lab` (`BlockLab`): a loop device over that file, and an ext4 on it.
//! - `helper` and `emulated_disk` (`EmulatedDisk`): the process that does all this as root, and its owner.

mod answers;
mod block_lab;
mod device;
mod emulated_disk;
mod error;
mod helper;
mod model;
mod mounts;
mod profile;
mod self_test;
mod served_file;
mod undo;

pub use block_lab::{DiskOptions, files_in};
pub use device::{DiskCounts, DiskCrash};
pub use emulated_disk::EmulatedDisk;
pub use error::DiskError;
pub use helper::run_helper;
pub use model::{DeviceModel, DiskRange, DiskRequest};
pub use mounts::clean_disk;
pub use profile::{DiskProfile, Geometry};
pub use self_test::{SelfTest, self_test};
