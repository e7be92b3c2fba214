//! Adding a server: its program is examined, beside the name's folder, before anything of the name
//! changes.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use truetps_record::Flavour;

use super::archive;
use crate::error::{NamedError, SandboxError};
use crate::home::home_folder::Home;
use crate::instance::Instance;
use crate::named::{
    NameLocks, NamedServer, NamedServers, ServerFolder, ServerOptionFile, TREE, UNFINISHED,
    check_server_name,
};
use crate::program::binary::ServerBinary;
use crate::program::binary_search::find;
use crate::system::folders::{make_passable, remove_tree};

/// Reads the option file of a server to add; the error is a text for the user.
pub type NamedOptionFileReader<'a> = dyn Fn(&ServerBinary) -> Result<ServerOptionFile, String> + 'a;

/// A server to add.
#[derive(Clone, Copy)]
pub struct Add<'a> {
    pub name: &'a str,
    /// An archive, an unpacked tree, or a program; `None`: the installed server.
    pub source: Option<&'a Path>,
    /// The family that the installed server must be of.
    pub flavour: Option<Flavour>,
    pub option_file: Option<&'a NamedOptionFileReader<'a>>,
    pub replace: bool,
    /// Setting it cancels the operation; nothing is left then.
    pub stop: &'a AtomicBool,
}

struct Adding<'a> {
    home: &'a Home,
    add: &'a Add<'a>,
    locks: NameLocks<'a>,
    folder: ServerFolder,
    /// Has the tree of an archive until everything is checked.
    beside: PathBuf,
}

impl NamedServers<'_> {
    /// Examines a server's program, unpacking an archive first, and registers it under the name.
    pub fn register(self, add: &Add<'_>) -> Result<NamedServer, SandboxError> {
        Adding::new(self.home(), add).register()
    }
}

impl<'a> Adding<'a> {
    fn new(home: &'a Home, add: &'a Add<'a>) -> Self {
        Self {
            home,
            add,
            locks: NameLocks::of(home, add.name),
            folder: NamedServers::of(home).folder(add.name),
            beside: home.named().join(format!(".{}{UNFINISHED}", add.name)),
        }
    }

    fn register(&self) -> Result<NamedServer, SandboxError> {
        check_server_name(self.add.name)?;
        self.check_source()?;
        let _lock = self.locks.lock()?;
        self.folder.check_ours()?;
        self.folder.mend_tree()?;
        let before = self.folder.registration()?;
        let _unused = before.as_ref().map(|before| self.lock_replaceable(before)).transpose()?;
        remove_tree(&self.beside)?;
        let added = self.examine_unless_stopped().and_then(|server| {
            self.check_data(before.as_ref(), &server)?;
            self.folder.put(&server, &self.beside)?;
            Ok(server)
        });
        if added.is_err() {
            // The first error is reported.
            let _ = remove_tree(&self.beside);
            if before.is_none() {
                self.locks.remove_files();
            }
        }
        added
    }

    /// Refuses a path that does not exist, or belongs to truetps: the tree of another named server,
    /// or of this one, would be deleted with it.
    fn check_source(&self) -> Result<(), SandboxError> {
        if let Some(path) = self.add.source.filter(|path| path.symlink_metadata().is_err()) {
            return Err(NamedError::NoSource { path: path.to_owned() }.into());
        }
        let named = self.home.named();
        let source = self.add.source.and_then(|path| path.canonicalize().ok());
        let inside = source.filter(|path| path.starts_with(&named));
        inside.map_or(Ok(()), |path| Err(NamedError::Inside { path }.into()))
    }

    /// Refuses a server that stays: no other one may use its program while it is replaced.
    fn lock_replaceable(&self, before: &NamedServer) -> Result<File, SandboxError> {
        if !self.add.replace {
            let what =
                format!("{} {}, {}", before.flavour, before.version, before.program.display());
            return Err(NamedError::Taken { name: self.add.name.to_owned(), what }.into());
        }
        Instance::of(NamedServers::of(self.home), before).check_stopped()?;
        self.locks.lock_unused()
    }

    fn examine_unless_stopped(&self) -> Result<NamedServer, SandboxError> {
        let examined = self.examine();
        // After an interruption any further error is of no use.
        if self.add.stop.load(Ordering::Relaxed) {
            return Err(NamedError::NotAdded { name: self.add.name.to_owned() }.into());
        }
        examined
    }

    /// What the name will refer to.
    fn examine(&self) -> Result<NamedServer, SandboxError> {
        let (source, beside, user) = (self.add.source, self.beside.as_path(), self.home.user());
        make_passable(beside, user).map_err(SandboxError::io("make", beside))?;
        let archive = source.filter(|path| path.is_file() && archive::is_archive(path));
        let binary = match archive {
            Some(archive) => {
                let tree = beside.join(TREE);
                archive::unpack(archive, &tree, self.add.stop)?;
                archive::find_server(archive, &tree, user)?
            }
            None => find(source, self.add.flavour, user).map_err(NamedError::Program)?,
        };
        let program = match (archive, binary.path.strip_prefix(beside)) {
            (Some(_), Ok(below)) => self.folder.path().join(below),
            _ => binary.path.clone(),
        };
        let source = source
            .map(|path| path.canonicalize().map_err(SandboxError::io("find", path)))
            .transpose()?;
        let option_file = self.add.option_file.map(|read| read(&binary)).transpose();
        let option_file = option_file.map_err(|problem| NamedError::OptionFile { problem })?;
        let mut server =
            NamedServer::new(self.add.name, &binary, program, source, archive.is_some());
        server.option_file = option_file;
        Ok(server)
    }

    /// Existing data stay if the new program is of the same series.
    fn check_data(
        &self,
        before: Option<&NamedServer>,
        server: &NamedServer,
    ) -> Result<(), SandboxError> {
        match before.filter(|before| self.folder.has_data() && !server.takes_data_of(before)) {
            None => Ok(()),
            Some(before) => {
                let (was, is) = (before.what(), server.what());
                Err(NamedError::OtherData { name: server.name.clone(), was, is }.into())
            }
        }
    }
}
