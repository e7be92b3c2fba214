//! The emulated disk of a private server.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use truetps_disk::{DiskOptions, DiskProfile, EmulatedDisk, LabLevel};
use truetps_record::SECRET_VARIABLES;

use crate::error::SandboxError;
use crate::system::folders::make_passable;
use crate::system::processes::{arguments, processes, signal_if, start_ticks};
use crate::system::server_user::ServerUser;
use crate::system::space::check_free;

/// A disk also has a copy of a fresh datadir, the server's own growth and, in some plans, a second
/// datadir to copy from.
const SHARE_FREE: u64 = 3;
const BYTES_MIN: u64 = 3 << 30;

/// The word that makes the program of truetps a helper of a disk.
pub const DISK_HELPER: &str = "disk-helper";

/// The disk that a private server is to have.
#[derive(Debug, Clone, PartialEq)]
pub struct SandboxDisk {
    /// What of it is emulated.
    pub level: LabLevel,
    pub profile: DiskProfile,
    /// Seed of its jitter.
    pub seed: u64,
    /// The program of truetps: with [`DISK_HELPER`] it runs the disk.
    pub helper: PathBuf,
}

impl SandboxDisk {
    /// Mounts it in this folder, which is made for it.
    pub(crate) fn mount(
        &self,
        folder: &Path,
        data_bytes: u64,
        user: &ServerUser,
    ) -> Result<EmulatedDisk, SandboxError> {
        let bytes = data_bytes.saturating_mul(SHARE_FREE).saturating_add(BYTES_MIN);
        check_free(folder.parent().unwrap_or(folder), "the emulated disk", bytes)?;
        make_passable(folder, user).map_err(SandboxError::io("make", folder))?;
        let options = DiskOptions {
            level: self.level,
            folder: folder.to_owned(),
            profile: self.profile.clone(),
            bytes,
            seed: self.seed,
            keeps_image: false,
        };
        Ok(EmulatedDisk::mount(helper_command(&self.helper, folder), options)?)
    }
}

/// The process of the disk in this folder. `program`: the program of truetps.
pub(crate) fn helper_command(program: &Path, folder: &Path) -> Command {
    #[expect(clippy::disallowed_methods, reason = "this crate is where processes start")]
    let mut helper = Command::new(program);
    helper.arg(DISK_HELPER).arg(folder);
    for name in SECRET_VARIABLES {
        helper.env_remove(name);
    }
    helper
}

/// Processes with that command line, and their start times. The start time is read first, so that
/// the command line belongs to the process with that start time.
pub(crate) fn disk_helpers(folder: &Path) -> Vec<(u32, u64)> {
    let with_ticks = processes().filter_map(|pid| Some((pid, start_ticks(pid)?)));
    with_ticks
        .filter(|(pid, ticks)| is_helper(*pid, folder) && start_ticks(*pid) == Some(*ticks))
        .collect()
}

fn is_helper(pid: u32, folder: &Path) -> bool {
    let arguments = arguments(pid);
    let mut arguments = arguments.split(|byte| *byte == 0).skip(1);
    arguments.next() == Some(DISK_HELPER.as_bytes())
        && arguments.next() == Some(folder.as_os_str().as_bytes())
}

/// Signals one of them, and no other process.
pub(crate) fn signal_disk_helper(pid: u32, folder: &Path, signal: Signal) -> io::Result<()> {
    signal_if(pid, signal, || is_helper(pid, folder))
}
