//! Proof that truetps created a folder: only such folders are removed, and only servers on them are
//! ended.
//!
//! A home has a marker file. Below it, a folder belongs to truetps if its name has truetps's form
//! and the file that truetps writes into it can be read; see `is_ours` in `owners.rs`,
//! `template.rs` and `named/folder.rs`. That file is created before the folder gets its name, and
//! is removed last.

use std::ffi::OsString;
use std::fs::{self, DirEntry, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use crate::error::SandboxError;
use crate::system::folders::{is_folder, remove_file, remove_tree};

const MARKER: &str = "truetps-home";
const MARKER_TEXT: &[u8] =
    b"truetps keeps private servers in this folder, and removes only what it has made itself.\n\
    Leave this file here: truetps refuses a folder that has other files and no marker.\n";

/// A folder in a home.
pub(crate) struct FolderKind {
    pub(crate) name: &'static str,
    /// Whether truetps created an entry in it, by its path and its name.
    pub(crate) is_known: fn(&Path, &str) -> bool,
}

/// Whether truetps created or adopted this folder as a home.
pub(crate) fn is_marked(home: &Path) -> bool {
    let marker = fs::symlink_metadata(home.join(MARKER));
    marker.is_ok_and(|metadata| metadata.is_file() && metadata.uid() == geteuid().as_raw())
}

/// Marks a folder as a home. A folder without a marker must be empty or contain only what an older
/// truetps created; `is_default`: it is truetps's default path.
pub(crate) fn mark(
    home: &Path,
    is_default: bool,
    kinds: &[FolderKind],
) -> Result<(), SandboxError> {
    if is_marked(home) {
        return Ok(());
    }
    if !is_default
        && let Some(found) = first_foreign(home, kinds).map_err(|error| unusable(home, &error))?
    {
        return Err(SandboxError::ForeignHome { path: home.to_owned(), found });
    }
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(home.join(MARKER)) {
        Ok(mut marker) => marker.write_all(MARKER_TEXT).map_err(|error| unusable(home, &error)),
        // Another process of truetps has marked it first.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_marked(home) => Ok(()),
        Err(error) => Err(unusable(home, &error)),
    }
}

fn unusable(home: &Path, error: &io::Error) -> SandboxError {
    SandboxError::home(home, error.to_string())
}

/// The home that contains a folder, existing or not: a nested home would be deleted with the outer
/// one.
pub(crate) fn outer_home(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    let mut above = path.ancestors().skip(1);
    let there = above.find_map(|folder| folder.canonicalize().ok())?;
    there.ancestors().find(|folder| is_marked(folder)).map(Path::to_owned)
}

/// An entry of a folder without marker that truetps did not create.
fn first_foreign(home: &Path, kinds: &[FolderKind]) -> io::Result<Option<PathBuf>> {
    for entry in fs::read_dir(home)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == MARKER && is_marked(home) {
            return Ok(None);
        }
        let Some(kind) = kinds.iter().find(|kind| name == kind.name) else {
            return Ok(Some(entry.path()));
        };
        if !is_own_folder(&entry) {
            return Ok(Some(entry.path()));
        }
        for below in fs::read_dir(entry.path())? {
            let below = below?;
            if !below.file_name().to_str().is_some_and(|name| (kind.is_known)(&below.path(), name))
            {
                return Ok(Some(below.path()));
            }
        }
    }
    Ok(None)
}

fn is_own_folder(entry: &DirEntry) -> bool {
    entry.metadata().is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == geteuid().as_raw())
}

/// Removes a folder of truetps. The files that prove its origin are removed last, in this order: an
/// interrupted removal can be repeated.
pub(crate) fn remove_proven(path: &Path, proofs: &[&str]) -> Result<(), SandboxError> {
    let read = fs::read_dir(path)
        .and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect());
    let mut names: Vec<_> = match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        read => read.map_err(SandboxError::io("read", path))?,
    };
    in_order(&mut names, proofs);
    for below in names.iter().map(|name| path.join(name)) {
        if is_folder(&below) { remove_tree(&below) } else { remove_file(&below).map(drop) }?;
    }
    remove_tree(path)
}

fn in_order(names: &mut [OsString], proofs: &[&str]) {
    names.sort_by_key(|name| {
        proofs.iter().position(|proof| name == proof).map_or(0, |place| place + 1)
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::home_folder::Home;
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// Larger than any pid.
    const DEAD: u32 = (1 << 22) + 1;
    const KEY: &str = "mariadb-10.11.19-0123456789abcdef";
    const OWNER: &str =
        r#"{"schema_version":1,"owner_pid":7,"flavour":"mariadb","version":"10.11.19"}"#;
    const TEMPLATE: &str = r#"{"recipe":1,"version_text":"x","files":{}}"#;
    const SERVER: &str = r#"{"schema_version":1,"name":"a","program":"/x","flavour":"mariadb","version":"10.11.19",
        "source":null,"unpacked":false}"#;

    /// A folder with these files, and the result of `Home::open`.
    fn opened(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf, Result<Home, SandboxError>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("home");
        fs::create_dir(&path).unwrap();
        for (name, content) in files {
            fs::create_dir_all(path.join(name).parent().unwrap()).unwrap();
            fs::write(path.join(name), content).unwrap();
        }
        for folder in [dir.path(), &path] {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o711)).unwrap();
        }
        let home = Home::open(Some(&path));
        (dir, path, home)
    }

    fn refused(files: &[(&str, &str)], found: &str) {
        let (_dir, path, home) = opened(files);
        let error = home.expect_err(found);
        let expect = format!(
            "truetps has not created {}",
            path.canonicalize().unwrap().join(found).display()
        );
        assert!(error.to_string().ends_with(&expect), "{error}\nshould end with\n{expect}");
        assert!(error.hint().unwrap().contains("--sandbox-dir"), "{error}");
        assert!(!path.join(MARKER).exists(), "a folder of the user was marked");
        for (name, content) in files {
            assert_eq!(fs::read_to_string(path.join(name)).unwrap(), *content);
        }
    }

    #[test]
    fn a_folder_of_the_user_is_no_home() {
        refused(&[("letter.txt", "")], "letter.txt");
        refused(&[("servers/prod/data/x", "")], "servers/prod");
        refused(&[("servers/7-1/data/x", "")], "servers/7-1");
        refused(&[("servers/7-1/owner.json", "{")], "servers/7-1");
        refused(&[("servers", "")], "servers");
        let (live, dead) =
            (format!("servers/{}-1", std::process::id()), format!("servers/{DEAD}-1"));
        refused(&[(&format!("{live}/lock"), "")], &live);
        refused(&[(&format!("{dead}/lock"), "x")], &dead);
        refused(&[(&format!("{dead}/lock"), ""), (&format!("{dead}/data"), "")], &dead);
        refused(&[("templates/mail.html", "")], "templates/mail.html");
        refused(&[("templates/mail/x", "")], "templates/mail");
        refused(&[(&format!("templates/{KEY}/x"), "")], &format!("templates/{KEY}"));
        refused(&[("named/a/data/x", "")], "named/a");
        refused(&[("named/A/server.json", SERVER)], "named/A");
        refused(&[("named/zones.conf", "")], "named/zones.conf");
        refused(&[("servers/7-1/owner.json", OWNER), ("tmp/x", "")], "tmp");
    }

    #[test]
    fn an_empty_folder_and_one_of_an_older_truetps_become_a_home() {
        let (template, lock) =
            (format!("templates/{KEY}/template.json"), format!("templates/{KEY}.lock"));
        let building = format!("templates/{KEY}.building/data/x");
        let all = [
            ("servers/7-1/owner.json", OWNER),
            ("servers/7-1/data/x", ""),
            ("servers/.lock", ""),
            (&format!("servers/{DEAD}-1/lock"), ""),
            (&template, TEMPLATE),
            (&lock, ""),
            (&building, ""),
            ("named/a/server.json", SERVER),
            ("named/.a.use", ""),
            ("named/.b.adding/tree/x", ""),
        ];
        for files in [all.as_slice(), &[]] {
            let (_dir, path, home) = opened(files);
            home.unwrap();
            assert!(is_marked(&path));
            fs::write(path.join("letter.txt"), "").unwrap();
            Home::open(Some(&path)).unwrap();
        }
    }

    #[test]
    fn a_marker_is_a_file_and_a_home_is_in_no_other_one() {
        let (_dir, path, home) = opened(&[]);
        home.unwrap();
        let inner = path.join("servers/below/home");
        let error = Home::open(Some(&inner)).unwrap_err().to_string();
        assert!(error.contains("it is inside") && error.ends_with("another one"), "{error}");
        assert!(!path.join("servers/below").exists());
        fs::remove_file(path.join(MARKER)).unwrap();
        symlink("/etc/passwd", path.join(MARKER)).unwrap();
        assert!(matches!(Home::open(Some(&path)), Err(SandboxError::ForeignHome { .. })));
    }

    #[test]
    fn what_proves_a_folder_is_removed_last() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("7-1");
        fs::create_dir_all(path.join("data/mysql")).unwrap();
        symlink(dir.path(), path.join("link")).unwrap();
        fs::write(path.join("owner.json"), OWNER).unwrap();
        for _ in 0..2 {
            remove_proven(&path, &["lock", "owner.json"]).unwrap();
            assert!(!path.exists() && dir.path().exists());
        }
        let mut names = ["owner.json", "data", "lock", "tmp"].map(OsString::from);
        in_order(&mut names, &["lock", "owner.json"]);
        assert_eq!(names, ["data", "tmp", "lock", "owner.json"]);
    }
}
