//! Servers that the user has given names to: which program a name means, and where its data will be.
//!
//! A name is a folder of ours with a `server.json` in it. The program is the user's own tree, or one that was unpacked
//! from an archive into that folder. What runs is `instance.rs`'s business.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use truetps_record::{Flavour, near_matches, write_atomically};

use crate::archive;
use crate::binary::{ServerBinary, ServerVersion};
use crate::binary_search::find;
use crate::error::SandboxError;
use crate::family::Family;
use crate::home::{Home, make_passable, open_lock, remove_tree};
use crate::instance::Instance;
use crate::named_error::NamedError;
use crate::postgres::forget_shared_memory;

const SCHEMA_VERSION: u32 = 1;
/// Part of a socket's path, which may have 107 bytes in all.
const NAME_BYTES_MAX: usize = 40;
const REGISTRATION: &str = "server.json";
/// A tree that is being unpacked; one of a killed run is removed by the next try. No name begins with a dot, so it is none.
const UNFINISHED: &str = ".adding";

/// `server.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedServer {
    schema_version: u32,
    pub name: String,
    /// The server's program.
    pub program: PathBuf,
    pub flavour: Flavour,
    /// Number part: `8.0.15`.
    pub version: String,
    /// What was named when it was added; `None`: what was installed.
    pub source: Option<PathBuf>,
    /// Whether the program's tree was unpacked for it, and goes with it.
    pub unpacked: bool,
}

/// What to add.
#[derive(Debug, Clone, Copy)]
pub struct Add<'a> {
    pub name: &'a str,
    /// An archive, an unpacked tree, or a program; `None`: the one that is installed.
    pub source: Option<&'a Path>,
    pub replace: bool,
}

/// All of them.
#[derive(Debug, Clone, Copy)]
pub struct Named<'a> {
    home: &'a Home,
}

/// Whether a server may be called that.
pub fn check_server_name(name: &str) -> Result<(), NamedError> {
    let fine = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b"._-".contains(&c);
    let begins = name.bytes().next().is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    if begins && name.len() <= NAME_BYTES_MAX && name.bytes().all(fine) {
        return Ok(());
    }
    Err(NamedError::BadName { name: name.to_owned() })
}

impl<'a> Named<'a> {
    pub fn of(home: &'a Home) -> Self {
        Self { home }
    }

    pub(crate) fn home(self) -> &'a Home {
        self.home
    }

    pub(crate) fn folder(self, name: &str) -> PathBuf {
        self.home.named().join(name)
    }

    /// In the order of their names.
    pub fn list(self) -> Result<Vec<NamedServer>, SandboxError> {
        let folder = self.home.named();
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(SandboxError::io("read", &folder))?,
        };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<_> = names.filter(|name| check_server_name(name).is_ok()).collect();
        names.sort();
        names.iter().filter_map(|name| self.read(name).transpose()).collect()
    }

    /// The server of that name.
    pub fn get(self, name: &str) -> Result<NamedServer, SandboxError> {
        check_server_name(name)?;
        if let Some(server) = self.read(name)? {
            return Ok(server);
        }
        let known: Vec<_> = self.list()?.into_iter().map(|server| server.name).collect();
        let near = near_matches(name, known.iter().map(String::as_str));
        Err(NamedError::Unknown { name: name.to_owned(), near, known }.into())
    }

    fn read(self, name: &str) -> Result<Option<NamedServer>, SandboxError> {
        let path = self.folder(name).join(REGISTRATION);
        let text = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(SandboxError::io("read", &path))?,
        };
        let wrong = |problem: String| SandboxError::Content { path: path.clone(), problem };
        let server: NamedServer = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
        if server.schema_version > SCHEMA_VERSION {
            return Err(wrong("was written by a newer truetps".to_owned()));
        }
        Ok(Some(server))
    }

    /// Held by whoever changes a server of that name, or starts or stops it.
    pub(crate) fn lock(self, name: &str) -> Result<File, SandboxError> {
        let path = self.home.make_named()?.join(format!(".{name}.lock"));
        let lock = open_lock(&path).map_err(SandboxError::io("open", &path))?;
        // The lock of a name that was given up meanwhile is nobody's.
        let number = |metadata: fs::Metadata| metadata.ino();
        let is_there = || fs::metadata(&path).map(number).ok() == lock.metadata().map(number).ok();
        match lock.try_lock() {
            Ok(()) if is_there() => Ok(lock),
            Ok(()) | Err(TryLockError::WouldBlock) => {
                let problem = "another truetps starts, stops or changes this server just now".to_owned();
                Err(SandboxError::Content { path, problem })
            }
            Err(TryLockError::Error(source)) => Err(SandboxError::io("lock", &path)(source)),
        }
    }

    /// Examines a server's program, unpacking it first where it is in an archive, and gives it the name.
    pub fn register(self, add: &Add<'_>) -> Result<NamedServer, SandboxError> {
        check_server_name(add.name)?;
        let _lock = self.lock(add.name)?;
        let before = self.read(add.name)?;
        if let Some(before) = before.as_ref() {
            if !add.replace {
                let what = format!("{} {}, {}", before.flavour, before.version, before.program.display());
                return Err(NamedError::Taken { name: add.name.to_owned(), what }.into());
            }
            Instance::of(self, before).check_stopped()?;
        }
        let beside = self.home.named().join(format!(".{}{UNFINISHED}", add.name));
        remove_tree(&beside)?;
        let added = self.examine(add, &beside).and_then(|server| self.put(before.as_ref(), server, &beside));
        if added.is_err() {
            // The first error is the one to tell.
            let _ = remove_tree(&beside);
            if before.is_none() {
                self.remove_lock(add.name);
            }
        }
        added
    }

    /// What the name will mean; the tree of an archive is in `beside` until all is known to be well.
    fn examine(self, add: &Add<'_>, beside: &Path) -> Result<NamedServer, SandboxError> {
        let user = self.home.user();
        let archive = add.source.filter(|path| path.is_file() && archive::is_archive(path));
        let binary = match archive {
            Some(archive) => {
                make_passable(beside, user).map_err(SandboxError::io("make", beside))?;
                let tree = beside.join("tree");
                archive::unpack(archive, &tree)?;
                archive::find_server(archive, &tree, user)?
            }
            None => find(add.source, None, user)?,
        };
        let absolute = |path: &Path| path.canonicalize().map_err(SandboxError::io("find", path));
        let program = match (archive, binary.path.strip_prefix(beside)) {
            (Some(_), Ok(below)) => self.folder(add.name).join(below),
            _ => binary.path.clone(),
        };
        Ok(NamedServer {
            schema_version: SCHEMA_VERSION,
            name: add.name.to_owned(),
            program,
            flavour: binary.flavour,
            version: binary.version.to_string(),
            source: add.source.map(absolute).transpose()?,
            unpacked: archive.is_some(),
        })
    }

    /// Data that are there stay, where the new program is of the same series.
    fn put(
        self,
        before: Option<&NamedServer>,
        server: NamedServer,
        beside: &Path,
    ) -> Result<NamedServer, SandboxError> {
        let folder = self.folder(&server.name);
        let kind = |server: &NamedServer| (server.flavour, series(server.flavour, &server.version));
        let other = before.filter(|before| folder.join("data").exists() && kind(before) != kind(&server));
        if let Some(before) = other {
            let (was, is) = (before.what(), server.what());
            return Err(NamedError::OtherData { name: server.name, was, is }.into());
        }
        if !folder.exists() {
            make_passable(&folder, self.home.user()).map_err(SandboxError::io("make", &folder))?;
        }
        let tree = folder.join("tree");
        remove_tree(&tree)?;
        if server.unpacked {
            fs::rename(beside.join("tree"), &tree).map_err(SandboxError::io("rename", beside))?;
            remove_tree(beside)?;
        }
        let path = folder.join(REGISTRATION);
        let wrong = |problem: String| SandboxError::Content { path: path.clone(), problem };
        let text = serde_json::to_vec_pretty(&server).map_err(|error| wrong(error.to_string()))?;
        write_atomically(&path, &text).map_err(|error| wrong(error.to_string()))?;
        Ok(server)
    }

    /// Removes a server's data and the tree that was unpacked for it, never one of the user's.
    pub fn remove(self, name: &str, force: bool) -> Result<(), SandboxError> {
        let server = self.get(name)?;
        let instance = Instance::of(self, &server);
        if force {
            instance.kill_if_running()?;
        }
        let lock = self.lock(name)?;
        instance.check_stopped()?;
        forget_shared_memory(&instance.data(), self.home.user());
        remove_tree(&self.folder(name))?;
        self.remove_lock(name);
        drop(lock);
        Ok(())
    }

    /// For whoever holds it: a name that means nothing leaves nothing.
    fn remove_lock(self, name: &str) {
        let _ = fs::remove_file(self.home.named().join(format!(".{name}.lock")));
    }
}

impl NamedServer {
    /// `mysql 8.0.15`.
    pub fn what(&self) -> String {
        format!("{} {}", self.flavour, self.version)
    }

    pub fn family(&self) -> Family {
        Family::of(self.flavour)
    }

    /// Its redo log can be changed in size after a clean stop only; see `old_redo.rs`.
    pub(crate) fn keeps_redo_size(&self) -> bool {
        let mut parts = self.version.split('.').map(|part| part.parse().unwrap_or(0));
        let mut next = || parts.next().unwrap_or(0);
        let version = ServerVersion::new(next(), next(), next());
        self.flavour != Flavour::Mariadb && version < ServerVersion::new(5, 6, 8)
    }

    /// The program as it is now: it must be the one that was added.
    pub fn binary(&self, home: &Home) -> Result<ServerBinary, SandboxError> {
        let binary = ServerBinary::examine(&self.program, home.user())?;
        if (binary.flavour, binary.version.to_string()) == (self.flavour, self.version.clone()) {
            return Ok(binary);
        }
        let (was, is) = (self.what(), format!("{} {}", binary.flavour, binary.version));
        Err(NamedError::Changed { name: self.name.clone(), was, is }.into())
    }
}

/// `8.0` of `8.0.15`, `15` of `15.18`: versions whose data folders are alike.
fn series(flavour: Flavour, version: &str) -> String {
    let parts = if flavour == Flavour::Postgresql { 1 } else { 2 };
    version.split('.').take(parts).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for fine in ["mysql-8.0", "a", "5.7", "maria_11"] {
            assert!(check_server_name(fine).is_ok(), "{fine}");
        }
        let long = "a".repeat(41);
        for wrong in ["", ".", "..", "-x", "a/b", "A", "a b", ".x.lock", &long] {
            assert!(check_server_name(wrong).is_err(), "{wrong}");
        }
        assert_eq!(series(Flavour::Mysql, "8.0.15"), "8.0");
        assert_eq!(series(Flavour::Postgresql, "15.18"), "15");
    }
}
