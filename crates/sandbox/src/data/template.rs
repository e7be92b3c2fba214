//! Initialised datadirs, kept for reuse: one for each server program and each set of initial
//! settings.
//!
//! A template is created beside its path and renamed, and has a list of its files with their sizes.
//! A template that does not match its list (a full disk, a cleaner of old files, a power failure)
//! is created again.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use truetps_record::{Family, Flavour, fnv1a};

use crate::data::{postgres_template, template_build};
use crate::error::SandboxError;
use crate::home::home_folder::Home;
use crate::home::proof::remove_proven;
use crate::home::sizes::disk_bytes;
use crate::program::binary::ServerBinary;
use crate::settings::options::CommandOption;
use crate::settings::server_settings::Settings;
use crate::system::copy::copy_datadir;
use crate::system::folders::{is_file, is_folder, remove_file, remove_tree};
use crate::system::json_file::{read_json, write_json_file};
use crate::system::locks::{locked_within, open_lock};
use crate::system::tree::walk;

/// Increased when templates are created differently.
const RECIPE: u32 = 1;
/// Templates are 20 to 100 MB each.
const TEMPLATES_MAX: usize = 8;
/// Suffix of a template that is being created.
const BUILDING: &str = ".building";
const MANIFEST: &str = "template.json";
/// Another process of truetps may be creating the same template: MySQL takes 2 to 5 s, longer on a
/// busy machine.
const LOCK_TIME_LIMIT: Duration = Duration::from_mins(3);

/// `template.json`: the expected files.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Manifest {
    recipe: u32,
    version_text: String,
    /// The program that created it; older templates lack it.
    #[serde(default)]
    program: Option<PathBuf>,
    /// Relative path → bytes.
    files: BTreeMap<String, u64>,
}

/// Copies the template for this program and these settings to `to`, creating it first if it is
/// missing or damaged. Returns the bytes written.
pub(crate) fn copy_template(
    home: &Home,
    binary: &ServerBinary,
    initial: &Settings,
    to: &Path,
) -> Result<u64, SandboxError> {
    let key = key(binary, initial)?;
    let lock = lock_key(home, &key)?;
    let path = home.templates().join(&key);
    if !is_whole(&path) {
        make(home, binary, initial, &path)?;
    }
    // The lock file's modification time is the last use of the template.
    let _ = lock.write_at(b"\n", 0);
    remove_old(home, &key);
    copy_datadir(&path.join("data"), to, home.user())
}

/// Readable, and different for every program and every set of initial settings.
fn key(binary: &ServerBinary, initial: &Settings) -> Result<String, SandboxError> {
    let metadata = fs::metadata(&binary.path).map_err(SandboxError::io("look at", &binary.path))?;
    let mut identity = format!(
        "{RECIPE}\n{}\n{}\n{} {} {}\n",
        binary.version_text,
        binary.path.display(),
        metadata.size(),
        metadata.mtime(),
        metadata.mtime_nsec()
    );
    for (name, value) in initial.iter() {
        identity.push_str(&CommandOption::of_setting(name, value).argument().to_string_lossy());
        identity.push('\n');
    }
    Ok(format!("{}-{}-{:016x}", binary.flavour, binary.version, fnv1a(identity.as_bytes())))
}

fn lock_path(home: &Home, key: &str) -> PathBuf {
    home.templates().join(format!("{key}.lock"))
}

fn lock_key(home: &Home, key: &str) -> Result<File, SandboxError> {
    let path = lock_path(home, key);
    let lock = open_lock(&path).map_err(SandboxError::io("open", &path))?;
    locked_within(LOCK_TIME_LIMIT, lock, &path)
}

fn make(
    home: &Home,
    binary: &ServerBinary,
    initial: &Settings,
    path: &Path,
) -> Result<(), SandboxError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(BUILDING);
    let beside = path.with_file_name(name);
    remove_tree(&beside)?;
    let built = match binary.family() {
        Family::Mysql => template_build::build(binary, home.user(), initial, &beside),
        Family::Postgresql => postgres_template::build(binary, home.user(), initial, &beside),
    };
    let made = built.and_then(|()| finish(binary, &beside, path));
    if made.is_err() {
        // An unfinished template is useless; the first error is reported.
        let _ = remove_tree(&beside);
    }
    made
}

fn finish(binary: &ServerBinary, beside: &Path, path: &Path) -> Result<(), SandboxError> {
    let datadir = beside.join("data");
    // A server without this file generates its own UUID.
    remove_file(&datadir.join("auto.cnf"))?;
    let files = list_files(&datadir).map_err(SandboxError::io("read", &datadir))?;
    let program = Some(binary.path.clone());
    let manifest =
        Manifest { recipe: RECIPE, version_text: binary.version_text.clone(), program, files };
    write_json_file(&beside.join(MANIFEST), &manifest)?;
    let folder = File::open(beside).map_err(SandboxError::io("open", beside))?;
    rustix::fs::syncfs(&folder).map_err(|error| SandboxError::io("sync", beside)(error.into()))?;
    remove_proven(path, &[MANIFEST])?;
    fs::rename(beside, path).map_err(SandboxError::io("rename", beside))
}

fn manifest(path: &Path) -> Option<Manifest> {
    read_json(&path.join(MANIFEST))
}

/// `mariadb-10.11.19-0123456789abcdef`: the names of templates.
fn is_key(name: &str) -> bool {
    let parts = name.rsplit_once('-').and_then(|(rest, hash)| Some((rest.split_once('-')?, hash)));
    parts.is_some_and(|((flavour, version), hash)| {
        Flavour::ALL.iter().any(|known| known.to_string() == flavour)
            && version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
            && hash.len() == 16
            && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// Whether truetps created this folder: judged by its name and the list in it.
pub(crate) fn is_ours(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_str().unwrap_or_default();
    is_key(name) && is_folder(path) && manifest(path).is_some()
}

/// Whether an entry beside the templates was created by truetps.
pub(crate) fn is_known(path: &Path, name: &str) -> bool {
    let is_lock = name.strip_suffix(".lock").is_some_and(is_key) && is_file(path);
    is_lock || name.strip_suffix(BUILDING).is_some_and(is_key) && is_folder(path) || is_ours(path)
}

fn is_whole(path: &Path) -> bool {
    manifest(path).is_some_and(|manifest| {
        manifest.recipe == RECIPE
            && list_files(&path.join("data")).is_ok_and(|files| files == manifest.files)
    })
}

fn list_files(datadir: &Path) -> io::Result<BTreeMap<String, u64>> {
    let mut files = BTreeMap::new();
    walk(datadir, &mut |path, stat| {
        files.insert(path.to_string_lossy().into_owned(), stat.st_size.cast_unsigned());
    })?;
    Ok(files)
}

/// Removes the least recently used templates, beyond a few. A template in use is skipped.
fn remove_old(home: &Home, in_use: &str) {
    let mut others: Vec<_> = names(home)
        .into_iter()
        .filter(|name| name != in_use && is_ours(&home.templates().join(name)))
        .collect();
    others.sort_by_key(|name| {
        let lock = fs::metadata(lock_path(home, name));
        std::cmp::Reverse(lock.and_then(|metadata| metadata.modified()).ok())
    });
    for name in others.iter().skip(TEMPLATES_MAX - 1) {
        remove_if_unused(home, name);
    }
}

/// Removes the templates of this program, and of programs below this folder, which are about to be
/// removed.
pub(crate) fn remove_of(home: &Home, folder: &Path, program: Option<&Path>) {
    for name in names(home) {
        let made_with =
            manifest(&home.templates().join(&name)).and_then(|manifest| manifest.program);
        if made_with
            .is_some_and(|made_with| made_with.starts_with(folder) || Some(&*made_with) == program)
        {
            remove_if_unused(home, &name);
        }
    }
}

/// Bytes of all templates.
pub fn templates_bytes(home: &Home) -> u64 {
    names(home).iter().map(|name| disk_bytes(&home.templates().join(name))).sum()
}

/// Removes all templates that no run is copying: the next run makes its own again.
pub fn remove_templates(home: &Home) {
    for name in names(home) {
        remove_if_unused(home, &name);
    }
}

/// Templates that are being created, or were when their run was killed, each with its lock.
pub(crate) fn unfinished(home: &Home) -> Vec<(PathBuf, PathBuf)> {
    let pairs = names(home).into_iter().filter_map(|folder| {
        let key = folder.strip_suffix(BUILDING).filter(|key| is_key(key))?;
        Some((home.templates().join(&folder), lock_path(home, key)))
    });
    pairs.collect()
}

/// A folder that cannot be removed now is tried again by the next start.
fn remove_if_unused(home: &Home, key: &str) {
    let lock = open_lock(&lock_path(home, key));
    let path = home.templates().join(key);
    if is_ours(&path) && lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
        let _ = remove_proven(&path, &[MANIFEST]);
    }
}

fn names(home: &Home) -> Vec<String> {
    let Ok(entries) = fs::read_dir(home.templates()) else { return Vec::new() };
    let folders = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest_of(path: &Path) {
        let files = list_files(&path.join("data")).unwrap();
        let manifest =
            Manifest { recipe: RECIPE, version_text: String::new(), program: None, files };
        fs::write(path.join("template.json"), serde_json::to_vec(&manifest).unwrap()).unwrap();
    }

    #[test]
    fn old_templates_go_and_folders_of_the_user_stay() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o711)).unwrap();
        let home = Home::open(Some(&dir.path().join("home"))).unwrap();
        let key = |n: usize| format!("mysql-8.0.36-{n:016x}");
        for n in 0..TEMPLATES_MAX + 2 {
            let path = home.templates().join(key(n));
            fs::create_dir_all(path.join("data")).unwrap();
            manifest_of(&path);
        }
        let foreign = ["mail".to_owned(), "mysql-8.0.36-mine".to_owned(), key(99)];
        for name in &foreign {
            fs::create_dir_all(home.templates().join(name).join("data")).unwrap();
        }
        remove_old(&home, &key(0));
        let left = names(&home);
        assert!(
            foreign.iter().all(|name| left.contains(name)) && left.contains(&key(0)),
            "{left:?}"
        );
        assert_eq!(left.len(), TEMPLATES_MAX + foreign.len(), "{left:?}");
        assert!(
            is_key("postgresql-15.18-00000000deadbeef") && !is_key("mail-1.0-00000000deadbeef")
        );
    }

    #[test]
    fn a_damaged_template_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path();
        fs::create_dir_all(path.join("data/mysql")).unwrap();
        fs::write(path.join("data/mysql/user.MAI"), "0123456789").unwrap();
        fs::write(path.join("data/ibdata1"), "x").unwrap();
        assert!(!is_whole(path), "no list yet");
        manifest_of(path);
        assert!(is_whole(path));
        let damage: [&dyn Fn(); 3] = [
            &|| fs::write(path.join("data/mysql/user.MAI"), "0123").unwrap(),
            &|| fs::remove_file(path.join("data/ibdata1")).unwrap(),
            &|| fs::write(path.join("template.json"), "{").unwrap(),
        ];
        for hurt in damage {
            hurt();
            assert!(!is_whole(path));
            fs::write(path.join("data/ibdata1"), "x").unwrap();
            manifest_of(path);
        }
    }
}
