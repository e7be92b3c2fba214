//! The programs of PostgreSQL: their versions and locations.

use std::fs;
use std::path::{Path, PathBuf};

use crate::settings::version::ServerVersion;
use crate::system::run::ProgramOutput;

/// Folder in which Debian and its derivatives keep one folder for each version.
const DEBIAN_FOLDER: &str = "/usr/lib/postgresql";
/// The folder of self-built installations.
const BUILT_FOLDER: &str = "/usr/local/pgsql/bin";

/// Whether a program is queried like PostgreSQL; its answer decides.
pub(crate) fn is_named_so(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "postgres" || name == "postmaster")
}

/// `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`, `postgres (PostgreSQL) 18beta1`
pub(crate) fn parse_version(output: &ProgramOutput) -> Option<(String, ServerVersion)> {
    let line = output.stdout.lines().find(|line| line.contains("(PostgreSQL) "))?;
    let number = line.split("(PostgreSQL) ").nth(1)?;
    let digits = number.split(|c: char| !c.is_ascii_digit() && c != '.').next()?;
    let mut parts = digits.split('.').map(str::parse::<u32>);
    let major = parts.next()?.ok()?;
    let minor = parts.next().and_then(Result::ok).unwrap_or(0);
    Some((line.trim().to_owned(), ServerVersion::of_two(major, minor)))
}

/// The program that creates datadirs; beside the server.
pub(crate) fn initdb(program: &Path) -> Option<PathBuf> {
    Some(program.with_file_name("initdb")).filter(|path| path.is_file())
}

/// Folders that hold programs of one version each, the newest first.
pub(crate) fn version_folders() -> Vec<PathBuf> {
    let mut folders = versions_below(Path::new(DEBIAN_FOLDER));
    folders.push(PathBuf::from(BUILT_FOLDER));
    folders
}

fn versions_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut versions: Vec<_> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let version: u32 = path.file_name()?.to_str()?.split('.').next()?.parse().ok()?;
            Some((version, path.join("bin")))
        })
        .collect();
    versions.sort_by(|a, b| b.cmp(a));
    versions.into_iter().map(|(_, folder)| folder).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    #[test]
    fn version_lines() {
        let check = |stdout: &str, expect: Option<&str>| {
            let output = ProgramOutput {
                status: ExitStatus::from_raw(0),
                stdout: stdout.to_owned(),
                stderr: String::new(),
            };
            let found = parse_version(&output).map(|(_, version)| version.to_string());
            assert_eq!(found.as_deref(), expect, "{stdout}");
        };
        check("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n", Some("15.18"));
        check("postgres (PostgreSQL) 18beta1\n", Some("18.0"));
        check("mysqld  Ver 8.0.15 for Linux\n", None);
    }

    #[test]
    fn the_newest_version_comes_first() {
        let dir = tempfile::tempdir().unwrap();
        for version in ["9.6", "17", "13", "common"] {
            fs::create_dir(dir.path().join(version)).unwrap();
        }
        let names: Vec<_> = versions_below(dir.path())
            .iter()
            .map(|path| path.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        assert_eq!(names, ["17", "13", "9.6"]);
    }
}
