//! Search for server programs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use truetps_record::Flavour;

use crate::error::{BinaryError, Other};
use crate::program::binary::ServerBinary;
use crate::program::postgres::program::version_folders;
use crate::system::server_user::ServerUser;

/// `mysqld` is a link to `mariadbd` on many systems; only the program itself can tell which it is.
const NAMES: [&str; 2] = ["mariadbd", "mysqld"];
const POSTGRES: &str = "postgres";
const USUAL_PLACES: [&str; 8] = [
    "/usr/sbin",
    "/usr/bin",
    "/usr/libexec",
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/local/libexec",
    "/usr/local/mysql/bin",
    "/usr/local/mariadb/bin",
];
/// Folders of a server's own tree that may hold the program; of an unpacked .deb or .rpm below
/// `usr`.
const BELOW_BASEDIR: [&str; 6] = ["bin", "sbin", "libexec", "usr/bin", "usr/sbin", ""];

/// The first usable server of the `wanted` family. With a `basedir` (the folder of an unpacked
/// server, or the program itself) only that is searched.
pub fn find(
    basedir: Option<&Path>,
    wanted: Option<Flavour>,
    user: &ServerUser,
) -> Result<ServerBinary, BinaryError> {
    let mut others = Vec::new();
    for path in programs(basedir, wanted) {
        let why = match ServerBinary::examine(&path, user) {
            Ok(binary) if wanted.is_none_or(|flavour| flavour == binary.flavour) => {
                return Ok(binary);
            }
            Ok(binary) => format!("{} {}", binary.flavour, binary.version),
            // A server named by the user: its own error is reported.
            Err(error) if basedir.is_some() => return Err(error),
            Err(error) => error.to_string(),
        };
        others.push(Other { path, why });
    }
    let wanted = wanted.map_or_else(|| any_of(basedir).to_owned(), |flavour| flavour.to_string());
    Err(BinaryError::NotFound { searched: searched_folders(basedir, &wanted), wanted, others })
}

/// What is searched if no family is wanted. A PostgreSQL must be named: it is never chosen by
/// default.
fn any_of(basedir: Option<&Path>) -> &'static str {
    if basedir.is_some() { "MySQL, MariaDB or PostgreSQL" } else { "MySQL or MariaDB" }
}

/// Files that have a server's name, links resolved, each once: `mysqld` and `mariadbd` are often
/// the same.
fn programs(basedir: Option<&Path>, wanted: Option<Flavour>) -> Vec<PathBuf> {
    let mut seen = BTreeSet::new();
    let there = candidates(basedir, wanted).into_iter().filter_map(|path| path.canonicalize().ok());
    there.filter(|path| path.is_file() && seen.insert(path.clone())).collect()
}

/// The folders that `candidates` searches, in short.
fn searched_folders(basedir: Option<&Path>, wanted: &str) -> Vec<String> {
    match basedir {
        Some(basedir) => {
            BELOW_BASEDIR.map(|name| basedir.join(name).display().to_string()).to_vec()
        }
        None if wanted == Flavour::Postgresql.to_string() => {
            ["PATH", "/usr/lib/postgresql/*/bin", "/usr/local/pgsql/bin"]
                .map(str::to_owned)
                .to_vec()
        }
        None => ["PATH"]
            .into_iter()
            .chain(USUAL_PLACES)
            .chain(["/opt/*/bin", "/opt/*/sbin"])
            .map(str::to_owned)
            .collect(),
    }
}

fn candidates(basedir: Option<&Path>, wanted: Option<Flavour>) -> Vec<PathBuf> {
    let wants_postgres = wanted == Some(Flavour::Postgresql);
    let mut folders = Vec::new();
    if let Some(basedir) = basedir {
        if basedir.is_file() {
            return vec![basedir.to_owned()];
        }
        folders.extend(BELOW_BASEDIR.map(|name| basedir.join(name)));
    } else {
        let path = std::env::var_os("PATH").unwrap_or_default();
        folders.extend(std::env::split_paths(&path).filter(|folder| folder.is_absolute()));
        folders.extend(if wants_postgres { version_folders() } else { Vec::new() });
        folders.extend(USUAL_PLACES.map(PathBuf::from));
        folders.extend(below_opt());
    }
    let mut seen = BTreeSet::new();
    folders.retain(|folder| seen.insert(folder.clone()));
    let names: &[&str] = match (basedir, wanted) {
        (_, Some(Flavour::Postgresql)) => &[POSTGRES],
        (Some(_), None) => &[NAMES[0], NAMES[1], POSTGRES],
        _ => &NAMES,
    };
    folders.iter().flat_map(|folder| names.iter().map(|name| folder.join(name))).collect()
}

fn below_opt() -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir("/opt") else { return Vec::new() };
    let mut trees: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    trees.sort();
    trees.iter().flat_map(|tree| [tree.join("bin"), tree.join("sbin")]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_basedir_lists_where_it_looked() {
        let dir = tempfile::tempdir().unwrap();
        let error = find(Some(dir.path()), None, &ServerUser::ourselves()).unwrap_err();
        let bin = dir.path().join("bin");
        let expect = format!("no MySQL, MariaDB or PostgreSQL server found in {}, ", bin.display());
        assert!(error.to_string().starts_with(&expect), "{error}");
        assert!(error.hint().unwrap().contains("apt-get install mariadb-server-core"));
    }

    #[test]
    fn a_basedir_is_the_only_place() {
        let dir = Path::new("/no/such/tree");
        assert!(candidates(Some(dir), None).iter().all(|path| path.starts_with(dir)));
        assert!(candidates(None, None).contains(&PathBuf::from("/usr/sbin/mariadbd")));
    }
}
