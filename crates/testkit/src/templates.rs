//! Initialised datadirs, made once and shared by all tests: making one takes a server of the MySQL
//! family 1 to 5 s.
//!
//! A home of a test gets hard links to what earlier homes have made, because truetps only reads
//! templates and copies them. They are kept in cargo's target folder, for the code that makes them:
//! where that changes, they are made again. The tests of `sandbox` make all of theirs. Data of
//! PostgreSQL servers are copied, so that all servers of one program have one system identifier.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;
use truetps_record::fnv1a;
use truetps_sandbox::Home;

use crate::machine::{MachineGuard, share_machine};

/// The list of files that makes a template whole.
const MANIFEST: &str = "template.json";
/// What makes templates.
const MAKERS: [&[u8]; 5] = [
    include_bytes!("../../sandbox/src/data/initialiser.rs"),
    include_bytes!("../../sandbox/src/data/template.rs"),
    include_bytes!("../../sandbox/src/data/template_build.rs"),
    include_bytes!("../../sandbox/src/data/old_redo.rs"),
    include_bytes!("../../sandbox/src/data/postgres_template.rs"),
];

/// A home of its own for a test, with templates in it.
#[derive(Debug)]
pub struct TestHome {
    home: Home,
    dir: TempDir,
    _machine: MachineGuard,
}

impl TestHome {
    /// # Panics
    ///
    /// If it cannot be made.
    #[expect(clippy::panic, reason = "a test helper panics instead of returning errors")]
    pub fn new() -> Self {
        let machine = share_machine();
        let dir = tempfile::tempdir().unwrap_or_else(|error| panic!("a folder of a test: {error}"));
        // Servers of root run as another user, who must get through.
        let made = fs::set_permissions(dir.path(), Permissions::from_mode(0o755))
            .and_then(|()| lend_templates(&dir.path().join("home")));
        match made {
            Ok(home) => Self { home, dir, _machine: machine },
            Err(error) => panic!("a home of a test: {error}"),
        }
    }

    pub fn home(&self) -> &Home {
        &self.home
    }

    /// The folder that the home is in.
    pub fn folder(&self) -> &Path {
        self.dir.path()
    }
}

impl Default for TestHome {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for TestHome {
    fn drop(&mut self) {
        keep_templates(self.home.path());
    }
}

/// Makes the home at this path, with the templates that are kept.
pub fn lend_templates(home: &Path) -> io::Result<Home> {
    let home = Home::open(Some(home)).map_err(io::Error::other)?;
    for kept in templates_in(&kept_folder()) {
        same_tree(
            &kept,
            &home.path().join("templates").join(kept.file_name().unwrap_or_default()),
            &link_file,
        )?;
    }
    Ok(home)
}

/// Makes `to` with a copy of the data that this program has made for an earlier server; without
/// one, `make` makes them.
pub(crate) fn copy_or_make<E>(
    program: &Path,
    to: &Path,
    make: impl FnOnce() -> Result<(), E>,
) -> Result<io::Result<()>, E> {
    let metadata = fs::metadata(program).map(|metadata| (metadata.size(), metadata.mtime())).ok();
    let of = fnv1a(format!("{}{metadata:?}", program.display()).as_bytes());
    let kept = kept_folder().join(format!("made-by-program-{of:016x}"));
    if kept.is_dir() {
        return Ok(same_tree(&kept, to, &copy_file));
    }
    make()?;
    let _ = keep(to, &kept, &copy_file);
    Ok(Ok(()))
}

/// Keeps the templates that were made in a home of a test. Left out are templates of programs in
/// the test's own folder, which the home is in. One that cannot be kept is made again.
pub fn keep_templates(home: &Path) {
    let (folder, here) = (kept_folder(), home.parent().unwrap_or(home).display().to_string());
    for made in templates_in(&home.join("templates")) {
        let kept = folder.join(made.file_name().unwrap_or_default());
        let manifest = fs::read_to_string(made.join(MANIFEST)).unwrap_or_default();
        if !kept.exists() && !manifest.contains(&here) {
            let _ = keep(&made, &kept, &link_file);
        }
    }
}

/// Another process may keep the same one: who renames it last has the useless copy.
fn keep(made: &Path, kept: &Path, file: &dyn Fn(&Path, &Path) -> io::Result<()>) -> io::Result<()> {
    static COPIES: AtomicU32 = AtomicU32::new(0);
    let (name, copy) =
        (kept.file_name().unwrap_or_default().display(), COPIES.fetch_add(1, Ordering::Relaxed));
    let beside = kept.with_file_name(format!("{name}.{}-{copy}.tmp", std::process::id()));
    fs::create_dir_all(kept.parent().unwrap_or(kept))?;
    let linked = same_tree(made, &beside, file).and_then(|()| fs::rename(&beside, kept));
    if linked.is_err() {
        let _ = fs::remove_dir_all(&beside);
    }
    linked
}

/// Beside the test programs.
fn kept_folder() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    let deps = program.parent().unwrap_or(&program);
    let profile = if deps.ends_with("deps") { deps.parent().unwrap_or(deps) } else { deps };
    profile.join(format!("test-templates-{:016x}", fnv1a(&MAKERS.concat())))
}

/// Whole ones: the list is written last.
fn templates_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.join(MANIFEST).is_file() && !is_temporary(path)).collect()
}

fn is_temporary(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "tmp" || extension == "building")
}

/// Copies a tree with its owners.
fn same_tree(
    from: &Path,
    to: &Path,
    file: &dyn Fn(&Path, &Path) -> io::Result<()>,
) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            same_tree(&source, &target, file)
        } else {
            file(&source, &target)
        }?;
    }
    same_owner(from, to)
}

/// Gives a file another name, or copies its content where the file system is another one.
fn link_file(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => copy_file(from, to),
        linked => linked,
    }
}

fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to)?;
    same_owner(from, to)
}

fn same_owner(from: &Path, to: &Path) -> io::Result<()> {
    let metadata = fs::metadata(from)?;
    lchown(to, Some(metadata.uid()), Some(metadata.gid()))?;
    fs::set_permissions(to, metadata.permissions())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_the_same_by_links_and_by_copies() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir_all(from.join("data/mysql")).unwrap();
        fs::write(from.join("data/mysql/table"), "rows").unwrap();
        fs::set_permissions(from.join("data"), Permissions::from_mode(0o700)).unwrap();
        same_tree(&from, &to, &link_file).unwrap();
        let of = |path: &Path| fs::metadata(path).unwrap();
        assert_eq!(of(&to.join("data")).mode(), of(&from.join("data")).mode());
        assert_eq!(
            of(&to.join("data/mysql/table")).ino(),
            of(&from.join("data/mysql/table")).ino()
        );
        assert!(same_tree(&from, &to, &link_file).is_err(), "nothing is replaced");
        let copy = dir.path().join("copy");
        same_tree(&from, &copy, &copy_file).unwrap();
        assert_eq!(of(&copy.join("data")).mode(), of(&from.join("data")).mode());
        assert_ne!(
            of(&copy.join("data/mysql/table")).ino(),
            of(&from.join("data/mysql/table")).ino()
        );
        assert_eq!(fs::read(copy.join("data/mysql/table")).unwrap(), b"rows");
    }

    #[test]
    fn half_made_templates_are_not_shared() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["whole", "whole.building", "whole.7-0.tmp", "no-list"] {
            fs::create_dir(dir.path().join(name)).unwrap();
            if name != "no-list" {
                fs::write(dir.path().join(name).join(MANIFEST), "{}").unwrap();
            }
        }
        assert_eq!(templates_in(dir.path()), [dir.path().join("whole")]);
    }
}
