//! Removing a server with everything that truetps created for it.

use crate::data::postgres_state::forget_shared_memory;
use crate::data::template;
use crate::error::{NamedError, SandboxError};
use crate::housekeeping::unfinished::clean_templates;
use crate::instance::Instance;
use crate::named::{NamedServers, check_server_name};
use crate::system::datadir_servers::{check_not_held, kill_marked, marks};
use crate::system::processes::KILL_TIME_LIMIT;

impl NamedServers<'_> {
    /// Removes a server's data and the tree that was unpacked for it, never a tree of the user.
    /// `force` kills the server that runs on the data, and needs no readable file of the server.
    pub fn remove(self, name: &str, force: bool) -> Result<(), SandboxError> {
        check_server_name(name)?;
        let (home, folder, locks) = (self.home(), self.folder(name), self.locks(name));
        folder.check_ours()?;
        if !folder.path().is_dir() {
            return Err(self.unknown(name));
        }
        let server =
            if force { None } else { Some(self.get(name).map_err(|error| damaged(name, error))?) };
        let _lock = locks.wait()?;
        let _unused = locks.lock_unused()?;
        let datadir = folder.datadir();
        if let Some(server) = &server {
            Instance::of(self, server).check_stopped().map_err(|error| damaged(name, error))?;
        } else {
            let killed = kill_marked(&datadir, &marks(folder.path()), KILL_TIME_LIMIT);
            killed.map_err(SandboxError::io("stop the server of", &datadir))?;
        }
        check_not_held(&datadir)?;
        forget_shared_memory(&datadir, home.user());
        folder.disk().unmount_by_force()?;
        template::remove_of(
            home,
            folder.path(),
            server.as_ref().map(|server| server.program.as_path()),
        );
        // An unfinished one does not yet name its program.
        clean_templates(home);
        folder.remove()?;
        locks.remove_files();
        Ok(())
    }
}

/// Unreadable content as damage of this server.
fn damaged(name: &str, error: SandboxError) -> SandboxError {
    match error {
        SandboxError::Content { path, problem } => {
            NamedError::Damaged { name: name.to_owned(), path, problem }.into()
        }
        error => error,
    }
}
