//! Finds an installed PostgreSQL.

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Variable with the folder of `initdb` and `postgres`; searched first.
const BINDIR_VARIABLE: &str = "TRUETPS_TEST_POSTGRES_BINDIR";
/// `1`: a test without PostgreSQL fails instead of being skipped.
const REQUIRE_VARIABLE: &str = "TRUETPS_REQUIRE_POSTGRES";
/// Folder in which Debian and its derivatives keep one folder for each version.
const DEBIAN_DIR: &str = "/usr/lib/postgresql";

/// The programs of one installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    pub initdb: PathBuf,
    pub postgres: PathBuf,
}

impl Programs {
    /// The folder in `TRUETPS_TEST_POSTGRES_BINDIR` if it is set, else `PATH`, else the newest
    /// version of Debian's.
    pub fn find() -> Option<Self> {
        if let Some(folder) = env::var_os(BINDIR_VARIABLE) {
            return Self::in_folder(Path::new(&folder));
        }
        let path = env::var_os("PATH").unwrap_or_default();
        let on_path = env::split_paths(&path).find_map(|folder| Self::in_folder(&folder));
        on_path.or_else(|| Self::newest_below(Path::new(DEBIAN_DIR)))
    }

    /// Like [`Self::find`]. If there is none, `test` reports directly to stderr, because the
    /// harness hides the output of passing tests, that it is skipped.
    ///
    /// # Panics
    ///
    /// If there is none and `TRUETPS_REQUIRE_POSTGRES` is 1.
    pub fn find_or_skip(test: &str) -> Option<Self> {
        let found = Self::find();
        if found.is_none() {
            let required = env::var_os(REQUIRE_VARIABLE).is_some_and(|value| value == "1");
            assert!(!required, "{test}: no PostgreSQL found, and {REQUIRE_VARIABLE} is 1");
            let _ = writeln!(
                std::io::stderr(),
                "SKIPPED {test}: no PostgreSQL found; {BINDIR_VARIABLE} can name one"
            );
        }
        found
    }

    /// Both must be in the folder: a `postgres` on the `PATH` may be a link into it, which is
    /// followed.
    fn in_folder(folder: &Path) -> Option<Self> {
        let postgres = fs::canonicalize(folder.join("postgres")).ok()?;
        let mut initdbs =
            [folder, postgres.parent()?].map(|folder| folder.join("initdb")).into_iter();
        let initdb = initdbs.find(|initdb| initdb.is_file())?;
        Some(Self { initdb, postgres })
    }

    fn newest_below(folder: &Path) -> Option<Self> {
        let versions = fs::read_dir(folder).ok()?.filter_map(|entry| {
            let path = entry.ok()?.path();
            let version: u32 = path.file_name()?.to_str()?.parse().ok()?;
            Some((version, Self::in_folder(&path.join("bin"))?))
        });
        versions.max_by_key(|(version, _)| *version).map(|(_, programs)| programs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_that_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        for (version, programs) in [
            ("9", &["postgres", "initdb"][..]),
            ("15", &["postgres", "initdb"]),
            ("16", &["initdb"]),
        ] {
            let bin = dir.path().join(version).join("bin");
            fs::create_dir_all(&bin).unwrap();
            for program in programs {
                fs::write(bin.join(program), "").unwrap();
            }
        }
        let found = Programs::newest_below(dir.path()).unwrap();
        assert!(
            found.postgres.ends_with("15/bin/postgres") && found.initdb.ends_with("15/bin/initdb"),
            "{found:?}"
        );
        assert_eq!(Programs::newest_below(&dir.path().join("none")), None);
        let links = dir.path().join("links");
        fs::create_dir(&links).unwrap();
        std::os::unix::fs::symlink(&found.postgres, links.join("postgres")).unwrap();
        assert_eq!(Programs::in_folder(&links), Some(found));
    }
}
