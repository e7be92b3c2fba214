//! The folder of private servers and their templates.
//!
//! ```text
//! <home>/truetps-home        marker: truetps uses no other folder, but for one that is empty; see `home/proof.rs`
//! <home>/templates/<key>/   an initialised data folder and its list of files; `<key>.lock` beside it
//! <home>/servers/<id>/      owner.json  lock  data/  run/  tmp/  error.log  console.log
//! <home>/named/<name>/      server.json  instance.json  tree/  data/  run/  tmp/  error.log  console.log; `.<name>.lock`;
//!                           disk/  disk.json in place of data/ on an emulated disk
//! ```
//!
//! For root, truetps's folders have mode 0711: the server's user can pass through them to its own
//! folders, and other users cannot list them. Otherwise they have 0700.

use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use crate::error::SandboxError;
use crate::home::proof::{FolderKind, mark, outer_home};
use crate::system::folders::{make_all, passable_mode};
use crate::system::locks::open_lock;
use crate::system::server_user::ServerUser;

/// Folder of named servers.
pub(crate) const NAMED_FOLDER: &str = "named";
/// For all servers' folders.
pub(crate) const HOME_LOCK: &str = ".lock";
const ROOT_HOME: &str = "/var/cache/truetps";
/// Servers keep paths in buffers of 512 bytes, and the longest name below the home folder has about
/// 150.
const PATH_BYTES_MAX: usize = 350;

#[derive(Debug, Clone)]
pub struct Home {
    path: PathBuf,
    user: ServerUser,
}

impl Home {
    /// See [`open`](Self::open). `kinds`: what a folder without a marker may contain.
    pub(crate) fn open_with(
        explicit: Option<&Path>,
        kinds: &[FolderKind],
    ) -> Result<Self, SandboxError> {
        let named = explicit.map_or_else(default_path, |path| Ok(path.to_owned()))?;
        let user = ServerUser::choose();
        if let Some(outer) = outer_home(&named) {
            return Err(SandboxError::home(
                &named,
                format!("it is inside {}, which is another one", outer.display()),
            ));
        }
        // Before anything is made there, and again where the links have led to.
        check_parents(&named)?;
        make_folder(&named, &user)?;
        let path =
            named.canonicalize().map_err(|error| SandboxError::home(&named, error.to_string()))?;
        check_name(&path)?;
        check_passable(&path, &user)?;
        check_parents(&path)?;
        let is_default = default_path().is_ok_and(|usual| usual == named);
        mark(&path, is_default, kinds)?;
        let home = Self { path, user };
        for folder in [home.templates(), home.servers()] {
            make_inner(&folder, &home.user)?;
        }
        home.lock_file()?;
        Ok(home)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The user that servers run as.
    pub fn user(&self) -> &ServerUser {
        &self.user
    }

    pub(crate) fn templates(&self) -> PathBuf {
        self.path.join("templates")
    }

    pub(crate) fn servers(&self) -> PathBuf {
        self.path.join("servers")
    }

    /// Folder of named servers; created for the first of them.
    pub(crate) fn named(&self) -> PathBuf {
        self.path.join(NAMED_FOLDER)
    }

    pub(crate) fn make_named(&self) -> Result<PathBuf, SandboxError> {
        let path = self.named();
        make_inner(&path, &self.user)?;
        Ok(path)
    }

    /// Held while a server's folder is created and while leftovers are searched: a folder that has
    /// no owner yet is not a leftover. Opening it for writing also detects a read-only disk early.
    pub(crate) fn lock_file(&self) -> Result<File, SandboxError> {
        let path = self.servers().join(HOME_LOCK);
        open_lock(&path).map_err(|error| SandboxError::home(&self.path, error.to_string()))
    }
}

pub(crate) fn default_path() -> Result<PathBuf, SandboxError> {
    if geteuid().is_root() {
        return Ok(PathBuf::from(ROOT_HOME));
    }
    let cache = absolute_path_in("XDG_CACHE_HOME")
        .or_else(|| absolute_path_in("HOME").map(|home| home.join(".cache")));
    cache.map(|cache| cache.join("truetps")).ok_or_else(|| {
        SandboxError::home(Path::new("~/.cache/truetps"), "neither XDG_CACHE_HOME nor HOME is set")
    })
}

fn absolute_path_in(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Creates a folder of truetps, or checks an existing one.
fn make_folder(path: &Path, user: &ServerUser) -> Result<(), SandboxError> {
    let made = match fs::symlink_metadata(path) {
        Ok(metadata) => check_ours(&metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_all(path, passable_mode(user)).map_err(|error| error.to_string())
        }
        Err(error) => Err(error.to_string()),
    };
    made.map_err(|problem| SandboxError::home(path, problem))
}

fn check_ours(metadata: &Metadata) -> Result<(), String> {
    let us = geteuid().as_raw();
    if metadata.is_symlink() {
        return Err("it is a symbolic link: name the folder itself".to_owned());
    }
    if !metadata.is_dir() {
        return Err("it is not a folder".to_owned());
    }
    if metadata.uid() != us {
        return Err(format!("its owner is uid {}, not this user (uid {us})", metadata.uid()));
    }
    if metadata.mode() & 0o022 != 0 {
        return Err(format!("others may write into it (mode {:04o})", metadata.mode() & 0o7777));
    }
    Ok(())
}

fn check_name(path: &Path) -> Result<(), SandboxError> {
    let bytes = path.as_os_str().as_encoded_bytes();
    if bytes.len() > PATH_BYTES_MAX {
        return Err(SandboxError::home(
            path,
            format!("its path is longer than {PATH_BYTES_MAX} bytes"),
        ));
    }
    // Servers take a colon-separated list of temporary folders, and a newline ends a line of an
    // option file.
    if bytes.iter().any(|byte| *byte == b':' || byte.is_ascii_control()) {
        return Err(SandboxError::home(path, "its path has a colon or a control character"));
    }
    Ok(())
}

/// Whether the server's user may pass through every parent folder. Access control lists are not
/// checked.
fn check_passable(path: &Path, user: &ServerUser) -> Result<(), SandboxError> {
    if !user.switch {
        return Ok(());
    }
    for folder in path.ancestors() {
        let metadata = fs::metadata(folder).map_err(SandboxError::io("look at", folder))?;
        let bit = if metadata.uid() == user.uid {
            0o100
        } else if metadata.gid() == user.gid {
            0o010
        } else {
            0o001
        };
        if metadata.mode() & bit == 0 {
            let (name, mode) = (&user.name, metadata.mode() & 0o7777);
            let problem = format!(
                "servers run as `{name}`, which may not enter {} (mode {mode:04o})",
                folder.display()
            );
            return Err(SandboxError::home(path, problem));
        }
    }
    Ok(())
}

/// For root, whether another user could replace the folder, or one above it, while root works there
/// by its path: with a link to any folder. In a sticky folder (/tmp) only the owner of an entry
/// can.
fn check_parents(path: &Path) -> Result<(), SandboxError> {
    // In a namespace of its own, root has the rights of a user, and does not see who the owners
    // are.
    let ids = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    if !geteuid().is_root() || !ids.split_whitespace().eq(["0", "0", "4294967295"]) {
        return Ok(());
    }
    let path = std::path::absolute(path).map_err(SandboxError::io("look at", path))?;
    for folder in path.ancestors().skip(1) {
        // What does not exist yet will be root's. The owner of a link counts, and the owner of the
        // folder behind it.
        let (Ok(link), Ok(facts)) = (fs::symlink_metadata(folder), fs::metadata(folder)) else {
            continue;
        };
        let uid = if link.uid() == 0 { facts.uid() } else { link.uid() };
        let (gid, mode) = (facts.gid(), facts.mode() & 0o7777);
        let is_open = mode & 0o002 != 0 || (mode & 0o020 != 0 && gid != 0);
        if uid != 0 || (is_open && mode & 0o1000 == 0) {
            let folder = folder.display();
            let problem = format!(
                "other users may replace what is in {folder} (owner uid {uid}, mode {mode:04o})"
            );
            return Err(SandboxError::home(&path, problem));
        }
    }
    Ok(())
}

/// A folder in a home. One that was created under a restrictive umask is opened.
fn make_inner(path: &Path, user: &ServerUser) -> Result<(), SandboxError> {
    make_folder(path, user)?;
    let mode = fs::metadata(path).map_err(SandboxError::io("look at", path))?.mode() & 0o7777;
    if user.switch && mode & 0o111 != 0o111 {
        fs::set_permissions(path, Permissions::from_mode(mode | 0o111))
            .map_err(SandboxError::io("open", path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::DirBuilder;
    use std::os::unix::fs::lchown;
    use std::os::unix::fs::{DirBuilderExt, symlink};

    fn problem(path: &Path) -> String {
        let error = Home::open(Some(path)).expect_err("not a usable home");
        assert!(error.hint().unwrap().contains("--sandbox-dir"));
        error.to_string()
    }

    /// A folder that the server's user may pass through, like the system's folder for temporary
    /// files.
    fn open_dir() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o711)).unwrap();
        dir
    }

    #[test]
    fn a_home_is_made_and_opened_again() {
        let dir = open_dir();
        let path = dir.path().join("a b");
        let home = Home::open(Some(&path)).unwrap();
        assert!(home.templates().is_dir() && home.servers().is_dir());
        let mode = fs::metadata(home.servers()).unwrap().mode() & 0o777;
        assert_eq!(mode, if home.user().switch { 0o711 } else { 0o700 });
        Home::open(Some(&path)).unwrap();
    }

    #[test]
    fn folders_that_a_closed_umask_has_closed_are_opened() {
        let dir = open_dir();
        let path = dir.path().join("home");
        let home = Home::open(Some(&path)).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        for folder in [home.servers(), home.templates()] {
            fs::set_permissions(folder, Permissions::from_mode(0o700)).unwrap();
        }
        let home = Home::open(Some(&path)).unwrap();
        assert_eq!(
            [mode(&home.servers()), mode(&home.templates())],
            [passable_mode(home.user()); 2]
        );
        // A file at the path is an error, an existing folder is not.
        make_all(&path.join("a/b"), 0o755).unwrap();
        make_all(&path.join("a/b"), 0o755).unwrap();
        assert_eq!([mode(&path.join("a")), mode(&path.join("a/b"))], [0o755; 2]);
        fs::write(path.join("file"), "").unwrap();
        make_all(&path.join("file"), 0o755).unwrap_err();
        make_all(&path.join("file/below"), 0o755).unwrap_err();
    }

    #[test]
    fn bad_homes_are_refused_with_the_reason() {
        let dir = open_dir();
        let check = |name: &str, make: &dyn Fn(&Path), expect: &str| {
            let path = dir.path().join(name);
            make(&path);
            let problem = problem(&path);
            assert!(problem.contains(expect), "{problem}\nshould contain\n{expect}");
        };
        check("link", &|path| symlink("/tmp", path).unwrap(), "symbolic link");
        check("file", &|path| fs::write(path, "").unwrap(), "not a folder");
        check("a:b", &|_| {}, "colon");
        check(&"long/".repeat(80), &|_| {}, "longer than");
        let open = |path: &Path| {
            fs::create_dir(path).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
        };
        check("open", &open, "others may write into it");
        assert!(problem(&dir.path().join("file/below")).contains("Not a directory"));
    }

    #[test]
    fn a_home_that_cannot_be_written_is_refused() {
        let problem = problem(Path::new("/sys/kernel/truetps"));
        assert!(problem.contains("/sys/kernel/truetps"), "{problem}");
    }

    #[test]
    fn a_home_in_a_folder_of_another_user_is_refused_for_root() {
        if !geteuid().is_root() {
            return;
        }
        let dir = open_dir();
        let theirs = dir.path().join("theirs");
        DirBuilder::new().mode(0o711).create(&theirs).unwrap();
        lchown(&theirs, Some(65_534), Some(65_534)).unwrap();
        let problem = problem(&theirs.join("home"));
        assert!(
            problem.contains("other users may replace what is in") && problem.contains("uid 65534"),
            "{problem}"
        );
        let link = theirs.join("link");
        symlink(dir.path(), &link).unwrap();
        assert!(
            super::Home::open(Some(&link.join("made"))).is_err()
                && !dir.path().join("made").exists()
        );
    }

    #[test]
    fn a_home_behind_a_closed_door_is_refused_for_root() {
        if !geteuid().is_root() {
            return;
        }
        let dir = open_dir();
        let closed = dir.path().join("closed");
        DirBuilder::new().mode(0o700).create(&closed).unwrap();
        let problem = problem(&closed.join("home"));
        assert!(problem.contains("may not enter") && problem.contains("closed"), "{problem}");
    }
}
