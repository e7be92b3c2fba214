//! Errors of the search for a server program, and of its examination.

use std::fmt;
use std::path::PathBuf;

use thiserror::Error;
use truetps_record::Flavour;

/// A program with a server's name that was skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Other {
    pub path: PathBuf,
    /// What it is instead, or why it cannot run.
    pub why: String,
}

impl fmt::Display for Other {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.path.display(), self.why)
    }
}

#[derive(Debug, Error)]
pub enum BinaryError {
    #[error("no {wanted} server found in {}{}", searched.join(", "), passed_over(others))]
    NotFound { wanted: String, searched: Vec<String>, others: Vec<Other> },
    #[error("{} cannot run: {problem}", path.display())]
    CannotRun { path: PathBuf, problem: String },
    #[error("{} is not a MySQL, MariaDB or PostgreSQL server: `--version` printed `{printed}`", path.display())]
    NotAServer { path: PathBuf, printed: String },
    #[error("{}: error-message files (share/) not found in {}", path.display(), folders(looked))]
    NoShareDir { path: PathBuf, looked: Vec<PathBuf> },
    #[error("{}: no initdb beside it, which is needed to create a datadir", path.display())]
    NoInitdb { path: PathBuf },
}

impl BinaryError {
    pub fn hint(&self) -> Option<String> {
        Some(self.hint_by("with --basedir"))
    }

    /// The hint for commands that name a server in another way.
    pub(crate) fn hint_by(&self, way: &str) -> String {
        match self {
            Self::NotFound { wanted, .. } if *wanted == Flavour::Postgresql.to_string() => {
                install_hint("postgresql", way)
            }
            Self::NotFound { .. } => install_hint("mariadb-server-core", way),
            Self::CannotRun { problem, .. } if problem.contains("shared libraries") => {
                library_hint(problem, way)
            }
            Self::CannotRun { .. } | Self::NotAServer { .. } => {
                format!("name another server {way}")
            }
            Self::NoShareDir { .. } => {
                "unpack the whole server, with its share/ folder (MariaDB needs \
                 mysql_system_tables.sql there)"
                    .to_owned()
            }
            Self::NoInitdb { .. } => format!("name the folder of the whole server {way}"),
        }
    }
}

fn install_hint(package: &str, way: &str) -> String {
    format!("install one (Debian, Ubuntu: `apt-get install {package}`), or name its folder {way}")
}

/// Debian packages of libraries that old servers need and new systems lack.
const LIBRARY_PACKAGES: [(&str, &str); 6] = [
    ("libaio.so", "libaio1, from Debian 13 and Ubuntu 24.04 on libaio1t64"),
    ("libnuma.so", "libnuma1"),
    ("libncurses.so.5", "libncurses5"),
    ("libtinfo.so.5", "libtinfo5"),
    ("libatomic.so", "libatomic1"),
    ("libcrypt.so", "libcrypt1"),
];

/// The loader names the library; packages are known for those that are often missing.
fn library_hint(problem: &str, way: &str) -> String {
    let package = LIBRARY_PACKAGES.iter().find(|(library, _)| problem.contains(library));
    let where_from =
        package.map(|(_, package)| format!(" (Debian, Ubuntu: {package})")).unwrap_or_default();
    format!("install the missing library{where_from}, or name another server {way}")
}

fn passed_over(others: &[Other]) -> String {
    if others.is_empty() {
        return String::new();
    }
    let words: Vec<_> = others.iter().map(ToString::to_string).collect();
    format!("; skipped {}", words.join(", "))
}

fn folders(paths: &[PathBuf]) -> String {
    let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
    paths.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_has_its_package_named() {
        let check = |library: &str, expect: &str| {
            let problem =
                format!("mysqld: error while loading shared libraries: {library}: cannot open");
            let error = BinaryError::CannotRun { path: PathBuf::from("/x/mysqld"), problem };
            assert!(error.hint().unwrap().contains(expect), "{error}");
        };
        check("libaio.so.1", "libaio1t64");
        check("libtinfo.so.5", "libtinfo5");
        check("libzzz.so.1", "missing library, or");
    }
}
