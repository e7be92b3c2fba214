//! Removing a server with everything that truetps created for it.

use super::registry::{NamedServers, check_server_name};
use crate::error::SandboxError;
use crate::instance::Instance;
use crate::named_error::NamedError;
use crate::postgres::forget_shared_memory;
use crate::processes::{KILL_TIME_LIMIT, holder_of, kill_marked, marks};
use crate::template;
use crate::unfinished::clean_templates;

/// See [`NamedServers::remove`].
pub(super) fn remove_server(named: NamedServers<'_>, name: &str, force: bool) -> Result<(), SandboxError> {
    check_server_name(name)?;
    let (home, folder, locks) = (named.home(), named.folder(name), named.locks(name));
    folder.check_ours()?;
    if !folder.path().is_dir() {
        return Err(named.unknown(name));
    }
    let damaged = |error| match error {
        SandboxError::Content { path, problem } => NamedError::Damaged { name: name.to_owned(), path, problem }.into(),
        error => error,
    };
    let server = if force { None } else { Some(named.get(name).map_err(damaged)?) };
    let _lock = locks.wait()?;
    let _unused = locks.lock_unused()?;
    let datadir = folder.datadir();
    if let Some(server) = &server {
        Instance::of(named, server).check_stopped().map_err(damaged)?;
    } else {
        let killed = kill_marked(&datadir, &marks(folder.path()), KILL_TIME_LIMIT);
        killed.map_err(SandboxError::io("stop the server of", &datadir))?;
    }
    if let Some(pid) = holder_of(&datadir) {
        return Err(SandboxError::Held { path: datadir, pid });
    }
    forget_shared_memory(&datadir, home.user());
    template::remove_of(home, folder.path());
    // An unfinished one does not yet name its program.
    clean_templates(home);
    folder.remove()?;
    locks.remove_files();
    Ok(())
}
