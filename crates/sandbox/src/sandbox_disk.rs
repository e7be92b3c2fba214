//! The emulated disk of a private server.

use std::path::{Path, PathBuf};
use std::process::Command;

use truetps_disk::{DiskOptions, DiskProfile, EmulatedDisk};

use crate::copy::check_free;
use crate::error::SandboxError;
use crate::home::make_passable;
use crate::server_user::ServerUser;

/// A disk also has a copy of a fresh datadir, the server's own growth and, in some plans, a second datadir to copy from.
const SHARE_FREE: u64 = 3;
const BYTES_MIN: u64 = 3 << 30;

/// The word that makes the program of truetps a helper of a disk.
pub const DISK_HELPER: &str = "disk-helper";

/// The disk that a private server is to have.
#[derive(Debug, Clone, PartialEq)]
pub struct SandboxDisk {
    pub profile: DiskProfile,
    /// Of its jitter.
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
            folder: folder.to_owned(),
            profile: self.profile.clone(),
            bytes,
            seed: self.seed,
            owner: (user.uid, user.gid),
            keeps_image: false,
        };
        #[expect(clippy::disallowed_methods, reason = "this crate is where processes start")]
        let mut helper = Command::new(&self.helper);
        helper.arg(DISK_HELPER).arg(folder);
        Ok(EmulatedDisk::mount(helper, options)?)
    }
}
