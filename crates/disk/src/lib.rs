//! Emulated disks for private servers, so that a slow or unreliable disk can be measured on a fast
//! machine.
//!
//! - `profile` ([`DiskProfile`]): what a disk costs, as a TOML file. `built_in` has those that come
//!   with truetps.
//! - `model` ([`DeviceModel`]): when a request is done on such a disk; pure, with the time as an
//!   argument. `undo` (`UndoLog`): what a power cut takes back.
//! - `device` (`DeviceState`, `EmulatedDevice`) joins these for both levels of emulation, with the
//!   data of the disk. `answers` delays what it answers.
//! - `lab` (`DiskLab`): what both levels have in common. `machine`: what this machine lacks for
//!   each. `programs` runs the commands that make and mount disks.
//! - Level `block` (`block_lab`, `BlockLab`), for root: `served_file` shows the data of the device
//!   as the one file of a FUSE file system; a loop device is over that file, and an ext4 on it.
//! - Level `file_system` (`file_system_lab`, `FileSystemLab`), without root: a FUSE file system
//!   over a backing folder. `nodes` has its files, `placement` their places on the device, `state`
//!   what a crash takes back, `journal` and `sync` what a sync costs, `names`, `folders` and
//!   `operations` the rest. After a crash no sync is answered with success.
//! - `helper`: the process that does all this. Its CPU time is neither the client's nor the
//!   server's, and it removes the disk when its owner ends, for any reason, except after the
//!   command to stay (for a named server). `emulated_disk` ([`EmulatedDisk`]) is the owner's side.
//! - `mounts`: what is left of disks whose helper was killed, too, as the kernel lists it.
//! - `flush_times` and `measure` ([`DiskMeasurement`]): what a real disk takes, and a profile of
//!   it.
//!
//! *Invariant:* only mounts and loop devices in a folder of truetps are removed, and only those
//! that show a disk of truetps.

mod answers;
mod block_lab;
mod built_in;
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
mod programs;
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
