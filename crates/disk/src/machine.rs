//! What this machine has for emulated disks.

use std::path::Path;

use crate::error::DiskError;

/// Folders of the programs that make and mount disks.
pub(crate) const PROGRAM_FOLDERS: [&str; 4] = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"];

/// Everything that is missing; empty: disks can be mounted.
pub fn missing_for_disks() -> Vec<DiskError> {
    let missing = |what: &'static str, problem: &str| DiskError::Missing { what, problem: problem.to_owned() };
    let is_root = rustix::process::geteuid().is_root();
    let root = (!is_root).then(|| missing("root", "loop devices and mounts are for root only"));
    let devices = [
        ("/dev/fuse", "the kernel has no FUSE, or this container does not show it"),
        ("/dev/loop-control", "the kernel has no loop devices, or this container does not show them"),
    ];
    let devices = devices.into_iter().filter(|(path, _)| !Path::new(path).exists());
    let programs = ["losetup", "mkfs.ext4", "mount", "umount"]
        .into_iter()
        .filter(|program| !PROGRAM_FOLDERS.iter().any(|folder| Path::new(folder).join(program).exists()));
    let devices = devices.map(|(path, problem)| missing(path, problem));
    let programs = programs.map(|program| missing(program, "the program is not installed"));
    root.into_iter().chain(devices).chain(programs).collect()
}
