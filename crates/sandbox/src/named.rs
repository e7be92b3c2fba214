//! Named servers: the program of each name, and the place of its data.
//!
//! A name is a folder of truetps with a `server.json` in it. The program is the user's own tree, or was unpacked from
//! an archive into that folder. Running servers are in `instance.rs`.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use truetps_record::{Family, Flavour, Version, near_matches};

use crate::archive;
use crate::binary::ServerBinary;
use crate::binary_search::find;
use crate::error::SandboxError;
use crate::family::is_of_mysql;
use crate::home::{Home, make_passable, open_lock, remove_tree};
use crate::instance::Instance;
use crate::instance_note::{marks, write_json};
use crate::named_error::NamedError;
use crate::old_redo;
use crate::postgres::forget_shared_memory;
use crate::processes::{KILL_TIME_LIMIT, holder_of, kill_marked};
use crate::proof::{is_empty_folder, is_file, is_folder, read_json, remove_proven};
use crate::run::wait_for_lock;
use crate::template;
use crate::unfinished::clean_templates;

const SCHEMA_VERSION: u32 = 1;
/// Part of a socket path, which has at most 107 bytes.
const NAME_BYTES_MAX: usize = 40;
const REGISTRATION: &str = "server.json";
/// A tree that is being unpacked; see `unfinished.rs`. Names do not start with a dot, so it is not a name.
pub(crate) const UNFINISHED: &str = ".adding";
/// Suffix of lock files.
const LOCK: &str = ".lock";
const USE: &str = ".use";
/// The tree that a new one replaces, until the new one is registered.
const OLD_TREE: &str = "tree.old";
/// A lock for checks and signals is held for a moment; a start creates data, which takes a few seconds.
pub(crate) const LOCK_TIME_LIMIT: Duration = Duration::from_secs(10);

/// Listing leftovers of killed runs tries the lock for a moment.
const LOOK_TIME_LIMIT: Duration = Duration::from_millis(100);

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
    /// The path named when it was added; `None`: the installed server.
    pub source: Option<PathBuf>,
    /// Whether the program's tree was unpacked for it, and is removed with it.
    pub unpacked: bool,
}

/// A server to add.
#[derive(Debug, Clone, Copy)]
pub struct Add<'a> {
    pub name: &'a str,
    /// An archive, an unpacked tree, or a program; `None`: the installed server.
    pub source: Option<&'a Path>,
    pub replace: bool,
    /// Setting it cancels the operation; nothing is left then.
    pub stop: &'a AtomicBool,
}

/// A registered name.
#[derive(Debug)]
pub struct Listed {
    pub name: String,
    /// An error: its registration cannot be read.
    pub server: Result<NamedServer, SandboxError>,
}

/// While it exists, the server's program is neither removed nor replaced.
#[derive(Debug)]
pub struct Use {
    _lock: File,
}

/// All named servers.
#[derive(Debug, Clone, Copy)]
pub struct NamedServers<'a> {
    home: &'a Home,
}

/// Whether a server may have this name.
pub fn check_server_name(name: &str) -> Result<(), NamedError> {
    let fine = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b"._-".contains(&c);
    let begins = name.bytes().next().is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    if begins && name.len() <= NAME_BYTES_MAX && name.bytes().all(fine) {
        return Ok(());
    }
    Err(NamedError::BadName { name: name.to_owned() })
}

impl<'a> NamedServers<'a> {
    pub fn of(home: &'a Home) -> Self {
        Self { home }
    }

    pub(crate) fn home(self) -> &'a Home {
        self.home
    }

    pub(crate) fn folder(self, name: &str) -> PathBuf {
        self.home.named().join(name)
    }

    /// Sorted by name.
    pub fn list(self) -> Result<Vec<Listed>, SandboxError> {
        let folder = self.home.named();
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(SandboxError::io("read", &folder))?,
        };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<_> = names.filter(|name| check_server_name(name).is_ok()).collect();
        names.sort();
        let listed = |name: String| Some(Listed { server: self.read(&name).transpose()?, name });
        Ok(names.into_iter().filter_map(listed).collect())
    }

    /// The server of that name.
    pub fn get(self, name: &str) -> Result<NamedServer, SandboxError> {
        check_server_name(name)?;
        if let Some(server) = self.read(name)? {
            return Ok(server);
        }
        Err(self.unknown(name)?.into())
    }

    fn unknown(self, name: &str) -> Result<NamedError, SandboxError> {
        let known: Vec<_> = self.list()?.into_iter().map(|listed| listed.name).collect();
        let near = near_matches(name, known.iter().map(String::as_str));
        Ok(NamedError::Unknown { name: name.to_owned(), near, known })
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
            return Err(wrong("was written by a newer version of truetps".to_owned()));
        }
        Ok(Some(server))
    }

    /// Held while a server of that name is changed, started or stopped, until it is signalled or noted.
    pub(crate) fn lock(self, name: &str) -> Result<File, SandboxError> {
        self.lock_within(name, LOOK_TIME_LIMIT)
    }

    /// The same, waiting for another holder.
    pub(crate) fn lock_within(self, name: &str, time_limit: Duration) -> Result<File, SandboxError> {
        let path = self.home.make_named()?.join(format!(".{name}{LOCK}"));
        let lock = open_lock(&path).map_err(SandboxError::io("open", &path))?;
        match wait_for_lock(&lock, time_limit) {
            Ok(()) if is_at(&lock, &path) => Ok(lock),
            Ok(()) | Err(TryLockError::WouldBlock) => {
                let problem = "another process of truetps is starting, stopping or changing this server".to_owned();
                Err(SandboxError::Content { path, problem })
            }
            Err(TryLockError::Error(source)) => Err(SandboxError::io("lock", &path)(source)),
        }
    }

    /// The same for notes about a server; `None`: it was removed, and no lock of it is left or created.
    pub(crate) fn lock_existing(self, name: &str) -> Result<Option<File>, SandboxError> {
        let is_there = || self.folder(name).is_dir();
        if !is_there() {
            return Ok(None);
        }
        match self.lock_within(name, LOCK_TIME_LIMIT) {
            Ok(lock) if is_there() => Ok(Some(lock)),
            // Removed since the first check: the lock was created here.
            Ok(_lock) => {
                self.remove_locks(name);
                Ok(None)
            }
            Err(_) if !is_there() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn use_path(self, name: &str) -> PathBuf {
        self.home.named().join(format!(".{name}{USE}"))
    }

    /// Held by a run that needs the server's program until its end. The instance can still be started and stopped.
    pub fn use_server(self, name: &str) -> Result<(NamedServer, Use), SandboxError> {
        let server = self.get(name)?;
        let path = self.use_path(name);
        let lock = open_lock(&path).map_err(SandboxError::io("open", &path))?;
        match lock.try_lock_shared() {
            // The program may have been replaced since it was read.
            Ok(()) if is_at(&lock, &path) && self.read(name)?.as_ref() == Some(&server) => {
                Ok((server, Use { _lock: lock }))
            }
            Ok(()) | Err(TryLockError::WouldBlock) => {
                let problem = "another process of truetps is removing or replacing this server".to_owned();
                Err(SandboxError::Content { path, problem })
            }
            Err(TryLockError::Error(source)) => Err(SandboxError::io("lock", &path)(source)),
        }
    }

    /// Held while the program is removed or replaced.
    fn lock_unused(self, name: &str) -> Result<File, SandboxError> {
        let path = self.use_path(name);
        let lock = open_lock(&path).map_err(SandboxError::io("open", &path))?;
        match lock.try_lock() {
            Ok(()) => Ok(lock),
            Err(TryLockError::WouldBlock) => Err(NamedError::InUse { name: name.to_owned() }.into()),
            Err(TryLockError::Error(source)) => Err(SandboxError::io("lock", &path)(source)),
        }
    }

    /// Examines a server's program, unpacking an archive first, and registers it under the name.
    pub fn register(self, add: &Add<'_>) -> Result<NamedServer, SandboxError> {
        check_server_name(add.name)?;
        self.check_source(add)?;
        let _lock = self.lock(add.name)?;
        self.check_own(add.name)?;
        self.mend_tree(add.name)?;
        let mut unused = None;
        let before = self.read(add.name)?;
        if let Some(before) = before.as_ref() {
            if !add.replace {
                let what = format!("{} {}, {}", before.flavour, before.version, before.program.display());
                return Err(NamedError::Taken { name: add.name.to_owned(), what }.into());
            }
            Instance::of(self, before).check_stopped()?;
            unused = Some(self.lock_unused(add.name)?);
        }
        let beside = self.home.named().join(format!(".{}{UNFINISHED}", add.name));
        remove_tree(&beside)?;
        let examined = self.examine(add, &beside);
        // After an interruption any further error is of no use.
        let wanted = if add.stop.load(Ordering::Relaxed) {
            Err(NamedError::NotAdded { name: add.name.to_owned() }.into())
        } else {
            examined
        };
        let added = wanted.and_then(|server| self.put(before.as_ref(), server, &beside));
        if added.is_err() {
            // The first error is reported.
            let _ = remove_tree(&beside);
            if before.is_none() {
                self.remove_locks(add.name);
            }
        }
        drop(unused);
        added
    }

    /// Refuses a path that belongs to truetps, or does not exist.
    fn check_own(self, name: &str) -> Result<(), SandboxError> {
        let path = self.folder(name);
        if path.symlink_metadata().is_err() || is_empty_folder(&path) || is_ours(&path) {
            return Ok(());
        }
        Err(NamedError::Foreign { path }.into())
    }

    /// The tree of another named server, or of this one, would be deleted with it.
    fn check_source(self, add: &Add<'_>) -> Result<(), SandboxError> {
        if let Some(path) = add.source.filter(|path| path.symlink_metadata().is_err()) {
            return Err(NamedError::NoSource { path: path.to_owned() }.into());
        }
        let named = self.home.named();
        let source = add.source.and_then(|path| path.canonicalize().ok());
        let inside = source.filter(|path| path.starts_with(&named));
        inside.map_or(Ok(()), |path| Err(NamedError::Inside { path }.into()))
    }

    /// Removes leftovers of an interrupted replacement: the old tree is the registered one until the new one is in
    /// place.
    fn mend_tree(self, name: &str) -> Result<(), SandboxError> {
        let (tree, old) = (self.folder(name).join("tree"), self.folder(name).join(OLD_TREE));
        if old.is_dir() && !tree.exists() {
            return fs::rename(&old, &tree).map_err(SandboxError::io("rename", &old));
        }
        remove_tree(&old)
    }

    /// What the name will refer to; the tree of an archive is in `beside` until everything is checked.
    fn examine(self, add: &Add<'_>, beside: &Path) -> Result<NamedServer, SandboxError> {
        let user = self.home.user();
        let archive = add.source.filter(|path| path.is_file() && archive::is_archive(path));
        let binary = match archive {
            Some(archive) => {
                make_passable(beside, user).map_err(SandboxError::io("make", beside))?;
                let tree = beside.join("tree");
                archive::unpack(archive, &tree, add.stop)?;
                archive::find_server(archive, &tree, user)?
            }
            None => find(add.source, None, user).map_err(NamedError::Program)?,
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

    /// Existing data stay if the new program is of the same series.
    fn put(
        self,
        before: Option<&NamedServer>,
        server: NamedServer,
        beside: &Path,
    ) -> Result<NamedServer, SandboxError> {
        let folder = self.folder(&server.name);
        let other = before.filter(|before| folder.join("data").exists() && !server.takes_data_of(before));
        if let Some(before) = other {
            let (was, is) = (before.what(), server.what());
            return Err(NamedError::OtherData { name: server.name, was, is }.into());
        }
        if !is_ours(&folder) {
            self.put_new(&server, beside, &folder)?;
            return Ok(server);
        }
        let (tree, old) = (folder.join("tree"), folder.join(OLD_TREE));
        if tree.exists() {
            fs::rename(&tree, &old).map_err(SandboxError::io("rename", &tree))?;
        }
        let changed = self.put_tree(&server, beside, &tree);
        if let Err(error) = changed {
            remove_tree(&tree)?;
            self.mend_tree(&server.name)?;
            return Err(error);
        }
        remove_tree(&old)?;
        Ok(server)
    }

    /// The folder is renamed once the registration is in it: a folder without one does not belong to truetps.
    fn put_new(self, server: &NamedServer, beside: &Path, folder: &Path) -> Result<(), SandboxError> {
        if !server.unpacked {
            make_passable(beside, self.home.user()).map_err(SandboxError::io("make", beside))?;
        }
        write_json(&beside.join(REGISTRATION), server)?;
        fs::rename(beside, folder).map_err(SandboxError::io("rename", beside))
    }

    fn put_tree(self, server: &NamedServer, beside: &Path, tree: &Path) -> Result<(), SandboxError> {
        if server.unpacked {
            fs::rename(beside.join("tree"), tree).map_err(SandboxError::io("rename", beside))?;
            remove_tree(beside)?;
        }
        write_json(&self.folder(&server.name).join(REGISTRATION), server)
    }

    /// Removes a server's data and the tree that was unpacked for it, never a tree of the user. `force` kills the
    /// server that runs on the data, and needs no readable file of the server.
    pub fn remove(self, name: &str, force: bool) -> Result<(), SandboxError> {
        check_server_name(name)?;
        let folder = self.folder(name);
        self.check_own(name)?;
        if !folder.is_dir() {
            return Err(self.unknown(name)?.into());
        }
        let damaged = |error| match error {
            SandboxError::Content { path, problem } => {
                NamedError::Damaged { name: name.to_owned(), path, problem }.into()
            }
            error => error,
        };
        let server = if force { None } else { Some(self.get(name).map_err(damaged)?) };
        let lock = self.lock_within(name, LOCK_TIME_LIMIT)?;
        let unused = self.lock_unused(name)?;
        let data = folder.join("data");
        if let Some(server) = &server {
            Instance::of(self, server).check_stopped().map_err(damaged)?;
        } else {
            let killed = kill_marked(&data, &marks(&folder), KILL_TIME_LIMIT);
            killed.map_err(SandboxError::io("stop the server of", &data))?;
        }
        if let Some(pid) = holder_of(&data) {
            return Err(SandboxError::Held { path: data, pid });
        }
        forget_shared_memory(&data, self.home.user());
        template::remove_of(self.home, &folder);
        // An unfinished one does not yet name its program.
        clean_templates(self.home);
        remove_proven(&folder, &[REGISTRATION])?;
        self.remove_locks(name);
        drop((lock, unused));
        Ok(())
    }

    /// For a holder of the lock of a name that may be unregistered.
    pub(crate) fn forget_unknown(self, name: &str) {
        if !self.folder(name).exists() {
            self.remove_locks(name);
        }
    }

    /// For a holder of both locks: an unregistered name leaves nothing.
    fn remove_locks(self, name: &str) {
        for path in [self.use_path(name), self.home.named().join(format!(".{name}{LOCK}"))] {
            let _ = fs::remove_file(path);
        }
    }
}

/// Whether truetps created this folder: judged by its name and its registration, readable or not.
pub(crate) fn is_ours(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_str().unwrap_or_default();
    check_server_name(name).is_ok() && is_folder(path) && is_file(&path.join(REGISTRATION))
}

/// Whether an entry beside these folders was created by truetps.
pub(crate) fn is_known(path: &Path, name: &str) -> bool {
    let of_name = |ending: &str| {
        let name = name.strip_prefix('.').and_then(|rest| rest.strip_suffix(ending));
        name.is_some_and(|name| check_server_name(name).is_ok())
    };
    let is_lock = (of_name(LOCK) || of_name(USE)) && is_file(path);
    let is_registered = is_ours(path) && read_json::<NamedServer>(&path.join(REGISTRATION)).is_some();
    is_lock || of_name(UNFINISHED) && is_folder(path) || is_registered
}

/// A lock file that was removed in the meantime protects nothing.
pub(crate) fn is_at(lock: &File, path: &Path) -> bool {
    let number = |metadata: io::Result<fs::Metadata>| metadata.map(|metadata| metadata.ino()).ok();
    number(fs::metadata(path)) == number(lock.metadata())
}

impl NamedServer {
    /// `mysql 8.0.15`.
    pub fn what(&self) -> String {
        format!("{} {}", self.flavour, self.version)
    }

    pub fn family(&self) -> Family {
        Family::from(self.flavour)
    }

    /// Whether it is a MySQL of at least this version.
    fn is_mysql_from(&self, version: &str) -> bool {
        is_of_mysql(self.flavour) && Version::parse(&self.version) >= Version::parse(version)
    }

    /// Its redo log size can be changed only after a clean stop; see `old_redo.rs`.
    pub(crate) fn keeps_redo_size(&self) -> bool {
        old_redo::keeps_size(self.flavour, &self.version)
    }

    /// Datadirs are compatible within a series. MySQL 8.0 and later records the version that last used the data, and
    /// refuses to open them with an older one.
    fn takes_data_of(&self, before: &Self) -> bool {
        let kind = |server: &Self| (server.flavour, series(server.flavour, &server.version));
        let goes_back = before.is_mysql_from("8.0") && !self.is_mysql_from(&before.version);
        kind(self) == kind(before) && !goes_back
    }

    /// The current program: it must be the one that was added.
    pub fn binary(&self, home: &Home) -> Result<ServerBinary, SandboxError> {
        let binary = ServerBinary::examine(&self.program, home.user()).map_err(NamedError::Program)?;
        if (binary.flavour, binary.version.to_string()) == (self.flavour, self.version.clone()) {
            return Ok(binary);
        }
        let (was, is) = (self.what(), format!("{} {}", binary.flavour, binary.version));
        Err(NamedError::Changed { name: self.name.clone(), was, is }.into())
    }
}

/// `8.0` of `8.0.15`, `15` of `15.18`: versions with compatible datadirs.
fn series(flavour: Flavour, version: &str) -> Option<(u32, Option<u32>)> {
    let (major, minor) = Version::parse(version)?.series();
    Some((major, (flavour != Flavour::Postgresql).then_some(minor)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance_note::Process;

    #[test]
    fn names() {
        for fine in ["mysql-8.0", "a", "5.7", "maria_11"] {
            assert!(check_server_name(fine).is_ok(), "{fine}");
        }
        let long = "a".repeat(41);
        for wrong in ["", ".", "..", "-x", "a/b", "A", "a b", ".x.lock", &long] {
            assert!(check_server_name(wrong).is_err(), "{wrong}");
        }
    }

    fn server(flavour: Flavour, version: &str) -> NamedServer {
        NamedServer {
            schema_version: SCHEMA_VERSION,
            name: "a".to_owned(),
            program: PathBuf::from("/nowhere/mysqld"),
            flavour,
            version: version.to_owned(),
            source: None,
            unpacked: false,
        }
    }

    #[test]
    fn whose_data_a_server_takes() {
        use Flavour::{Mariadb, Mysql, Postgresql};
        let takes = |flavour, is: &str, was: &str| server(flavour, is).takes_data_of(&server(flavour, was));
        assert!(takes(Mysql, "8.0.36", "8.0.15") && takes(Mysql, "8.0.36", "8.0.36"));
        assert!(!takes(Mysql, "8.0.15", "8.0.36") && !takes(Mysql, "8.4.0", "8.0.36"));
        assert!(takes(Mysql, "5.7.22", "5.7.29") && takes(Mariadb, "10.11.8", "10.11.19"));
        assert!(takes(Postgresql, "15.18", "15.1") && takes(Postgresql, "15.1", "15.18"));
        assert!(!takes(Postgresql, "16.1", "15.18") && !server(Postgresql, "15.1").keeps_redo_size());
        assert!(!server(Mariadb, "10.11.8").takes_data_of(&server(Mysql, "10.11.8")));
    }

    fn home() -> (tempfile::TempDir, Home) {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o711)).unwrap();
        let home = Home::open(Some(&dir.path().join("home"))).unwrap();
        (dir, home)
    }

    fn put(named: NamedServers<'_>, name: &str) -> NamedServer {
        let server = NamedServer { name: name.to_owned(), ..server(Flavour::Mysql, "8.0.36") };
        let beside = named.home.make_named().unwrap().join(format!(".{name}{UNFINISHED}"));
        named.put(None, server, &beside).unwrap()
    }

    #[test]
    fn a_broken_server_hides_no_other_one_and_can_be_removed() {
        let (_dir, home) = home();
        let named = NamedServers::of(&home);
        let whole = put(named, "whole");
        put(named, "broken");
        fs::write(named.folder("broken").join(REGISTRATION), "{").unwrap();
        let listed = named.list().unwrap();
        assert_eq!(listed.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["broken", "whole"]);
        assert!(listed[0].server.as_ref().unwrap_err().to_string().contains("server.json"));
        assert_eq!(named.get("whole").unwrap(), whole);
        assert!(matches!(named.get("wole"), Err(SandboxError::Named(NamedError::Unknown { .. }))));
        let hint = named.remove("broken", false).unwrap_err().hint();
        assert_eq!(hint.as_deref(), Some("`truetps server remove broken --force` removes it nevertheless"));
        named.remove("broken", true).unwrap();
        fs::write(named.folder("whole").join("instance.json"), "{").unwrap();
        assert!(named.remove("whole", false).unwrap_err().to_string().contains("instance.json"));
        named.remove("whole", true).unwrap();
        assert_eq!(fs::read_dir(home.named()).unwrap().count(), 0, "not even a lock");
    }

    #[test]
    fn a_folder_of_the_user_is_neither_replaced_nor_removed() {
        let (_dir, home) = home();
        let named = NamedServers::of(&home);
        let precious = named.home.make_named().unwrap().join("a/tree.old/file");
        fs::create_dir_all(precious.parent().unwrap()).unwrap();
        fs::write(&precious, "").unwrap();
        let add = Add { name: "a", source: None, replace: true, stop: &AtomicBool::new(false) };
        let errors = [named.register(&add).unwrap_err(), named.remove("a", true).unwrap_err()];
        for error in errors {
            assert!(matches!(error, SandboxError::Named(NamedError::Foreign { .. })), "{error}");
        }
        assert!(precious.exists() && named.list().unwrap().is_empty());
    }

    #[test]
    fn a_server_that_a_run_needs_stays() {
        let (_dir, home) = home();
        let named = NamedServers::of(&home);
        put(named, "a");
        let (_, one) = named.use_server("a").unwrap();
        let (_, two) = named.use_server("a").unwrap();
        drop(one);
        for force in [false, true] {
            let error = named.remove("a", force).unwrap_err();
            assert!(matches!(error, SandboxError::Named(NamedError::InUse { .. })), "{error}");
        }
        let add = Add { name: "a", source: None, replace: true, stop: &AtomicBool::new(false) };
        let error = named.register(&add).unwrap_err();
        assert!(matches!(error, SandboxError::Named(NamedError::InUse { .. })), "{error}");
        drop(two);
        named.remove("a", false).unwrap();
    }

    #[test]
    fn who_gives_up_on_a_server_that_was_removed_leaves_no_lock_of_it() {
        let (_dir, home) = home();
        let named = NamedServers::of(&home);
        let server = put(named, "a");
        assert!(named.lock_existing("a").unwrap().is_some());
        named.remove("a", true).unwrap();
        #[allow(clippy::disallowed_methods, reason = "stands for a server that never answers")]
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let process = Process { pid: child.id(), start_ticks: 0 };
        Instance::of(named, &server).give_up(&mut child, process);
        assert!(child.try_wait().unwrap().is_some());
        assert_eq!(fs::read_dir(home.named()).unwrap().count(), 0, "an unused lock");
    }

    #[test]
    fn a_replacement_that_was_cut_short_is_mended() {
        let (_dir, home) = home();
        let named = NamedServers::of(&home);
        put(named, "a");
        let folder = named.folder("a");
        let make = |name: &str| {
            fs::create_dir(folder.join(name)).unwrap();
            fs::write(folder.join(name).join("of"), name).unwrap();
        };
        make(OLD_TREE);
        named.mend_tree("a").unwrap();
        assert_eq!(fs::read_to_string(folder.join("tree/of")).unwrap(), OLD_TREE, "the old one is the registered one");
        make(OLD_TREE);
        named.mend_tree("a").unwrap();
        assert!(folder.join("tree").is_dir() && !folder.join(OLD_TREE).exists());
        // A tree that cannot be registered leaves the old tree: nothing is in its source folder.
        let new = NamedServer { unpacked: true, ..server(Flavour::Mysql, "8.0.37") };
        named.put(None, new, &folder.join("nowhere")).unwrap_err();
        assert_eq!(fs::read_to_string(folder.join("tree/of")).unwrap(), OLD_TREE);
        assert_eq!(named.get("a").unwrap().version, "8.0.36");
    }

    #[test]
    fn a_tree_of_ours_is_no_source() {
        let (_dir, home) = home();
        let named = NamedServers::of(&home);
        put(named, "a");
        fs::create_dir(named.folder("a").join("tree")).unwrap();
        let add = Add {
            name: "b",
            source: Some(&named.folder("a").join("tree")),
            replace: false,
            stop: &AtomicBool::new(false),
        };
        let error = named.register(&add).unwrap_err();
        assert!(matches!(error, SandboxError::Named(NamedError::Inside { .. })), "{error}");
    }
}
