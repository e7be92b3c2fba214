//! The folder of a private server while it is used: who runs in it, and its removal.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use truetps_disk::EmulatedDisk;

use crate::data::postgres_state::forget_shared_memory;
use crate::error::SandboxError;
use crate::home::owners::{Claim, PROOFS, remove_socket_dir};
use crate::home::proof::remove_proven;
use crate::home::server_paths::ServerPaths;
use crate::system::folders::remove_tree;
use crate::{Home, ServerBinary, Settings};

/// Shared by a sandbox and its running server. The folder is removed when both are gone.
#[derive(Debug)]
pub(crate) struct Folder {
    pub(crate) home: Home,
    pub(crate) binary: ServerBinary,
    pub(super) claim: Mutex<Claim>,
    pub(super) path: PathBuf,
    pub(crate) paths: ServerPaths,
    pub(super) initial: Settings,
    pub(super) running: AtomicBool,
    pub(super) keep: AtomicBool,
    pub(super) disk: Mutex<Option<EmulatedDisk>>,
}

impl Folder {
    /// Beside the datadir, on the same disk.
    pub(super) fn prepared(&self) -> PathBuf {
        self.paths.datadir.with_file_name("prepared")
    }

    pub(crate) fn disk(&self) -> MutexGuard<'_, Option<EmulatedDisk>> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes a datadir, and what a killed server left of it elsewhere.
    pub(super) fn remove_data(&self) -> Result<(), SandboxError> {
        forget_shared_memory(&self.paths.datadir, self.home.user());
        remove_tree(&self.paths.datadir)
    }

    /// Notes the process that runs here, for a later process that finds the folder after truetps
    /// was killed.
    pub(crate) fn note_server(
        &self,
        server: Option<(u32, Option<u64>)>,
    ) -> Result<(), SandboxError> {
        let mut claim = self.claim.lock().unwrap_or_else(PoisonError::into_inner);
        claim.owner.server_pid = server.map(|(pid, _)| pid);
        claim.owner.server_start_ticks = server.and_then(|(_, ticks)| ticks);
        claim.owner.write(&self.path)
    }

    /// One server per folder.
    pub(crate) fn begin_running(&self) -> Result<(), SandboxError> {
        if self.running.swap(true, Ordering::AcqRel) {
            return Err(SandboxError::Running { path: self.path.clone() });
        }
        Ok(())
    }

    pub(crate) fn end_running(&self) {
        self.running.store(false, Ordering::Release);
    }

    pub(super) fn check_stopped(&self) -> Result<(), SandboxError> {
        if self.running.load(Ordering::Acquire) {
            return Err(SandboxError::Running { path: self.path.clone() });
        }
        Ok(())
    }

    pub(crate) fn check_initial(&self, settings: &Settings) -> Result<(), SandboxError> {
        let wanted = settings.initial();
        let mut names = wanted.iter().chain(self.initial.iter()).map(|(name, _)| name);
        let changed = names.find(|name| wanted.get(name) != self.initial.get(name));
        changed.map_or(Ok(()), |name| {
            let problem =
                format!("was initialised with another `{name}`: create a sandbox for each value");
            Err(SandboxError::Content { path: self.path.clone(), problem })
        })
    }

    pub(super) fn remove(&self) -> Result<(), SandboxError> {
        match self.disk().take() {
            Some(disk) => {
                forget_shared_memory(&self.paths.datadir, self.home.user());
                disk.remove()?;
            }
            None => self.remove_data()?,
        }
        remove_socket_dir(self.paths.socket.parent().unwrap_or(&self.path), &self.home);
        remove_proven(&self.path, &PROOFS)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !*self.keep.get_mut() {
            // An error cannot be reported here; the leftover is found by the next start.
            let _ = self.remove();
        }
    }
}
