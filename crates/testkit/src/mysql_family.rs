//! Servers of the MySQL family that tests run on: the system's, named ones, or fetched ones. The sandbox starts them.

use std::io::Write;
use std::path::{Path, PathBuf};

use truetps_record::Flavour;
use truetps_sandbox::{BinaryError, ServerBinary, ServerUser, find};

/// The system's MariaDB, or the one of `TRUETPS_TEST_BASEDIR`.
pub fn mariadb(test: &str) -> Option<ServerBinary> {
    let named = std::env::var_os("TRUETPS_TEST_BASEDIR").map(PathBuf::from);
    find_server(test, named.as_deref(), Flavour::Mariadb, "TRUETPS_REQUIRE_SERVER")
}

/// A MariaDB with its plugins: of `TRUETPS_TEST_MARIADB_BASEDIR`, or what `get-test-servers.sh mariadb-11.8` fetched.
pub fn mariadb_with_plugins(test: &str) -> Option<ServerBinary> {
    named_or_fetched(test, "TRUETPS_TEST_MARIADB_BASEDIR", "mariadb-11.8").map(|(binary, _)| binary)
}

/// A MySQL and its base folder: of `TRUETPS_TEST_MYSQL_BASEDIR`, or what `get-test-servers.sh mysql-9.7` fetched.
pub fn mysql(test: &str) -> Option<(ServerBinary, PathBuf)> {
    named_or_fetched(test, "TRUETPS_TEST_MYSQL_BASEDIR", "mysql-9.7")
}

/// What `get-test-servers.sh` can fetch of this family, oldest first in each branch.
pub const FETCHABLE: [&str; 9] = [
    "mysql-5.5",
    "mysql-5.6",
    "mysql-5.7",
    "mysql-8.0",
    "mysql-9.7",
    "mariadb-10.5",
    "mariadb-10.11",
    "mariadb-11.4",
    "mariadb-11.8",
];

/// Servers that must be there.
const REQUIRED: &str = "TRUETPS_REQUIRE_SERVERS";
/// Servers that slow tests take.
const CHOSEN: &str = "TRUETPS_TEST_SERVERS";

/// A server under the name that `get-test-servers.sh` gives it.
#[derive(Debug, Clone)]
pub struct FetchedServer {
    pub name: &'static str,
    pub binary: ServerBinary,
    /// What `--basedir` takes.
    pub basedir: PathBuf,
}

/// All that were fetched; the others are named past the harness. The system's own server stands in for the one of its
/// version.
///
/// # Panics
///
/// Where a server was fetched and does not run, and where one that `TRUETPS_REQUIRE_SERVERS` names is not there.
pub fn fetched(test: &str) -> Vec<FetchedServer> {
    FETCHABLE.into_iter().filter_map(|name| fetched_server(test, name)).collect()
}

/// The one of that name, as [`fetched`] finds it.
///
/// # Panics
///
/// As [`fetched`] does.
#[expect(clippy::panic, reason = "for tests, which have nobody to hand an error to")]
pub fn fetched_server(test: &str, name: &'static str) -> Option<FetchedServer> {
    let user = ServerUser::choose();
    let basedir = cache_folder().join(name).join("usr");
    let found = if basedir.is_dir() { find(Some(&basedir), None, &user) } else { system_server(name, &user) };
    match found {
        Ok(binary) => {
            let basedir = if basedir.is_dir() { basedir } else { binary.path.clone() };
            Some(FetchedServer { name, binary, basedir })
        }
        Err(error) if basedir.is_dir() => panic!("{test}: {name}: {error}"),
        Err(error) => {
            say_or_fail(test, name, &error.to_string());
            None
        }
    }
}

/// Says past the harness, which hides what passing tests print, that a test goes without a server; one that
/// `TRUETPS_REQUIRE_SERVERS` names must be there.
pub(crate) fn say_or_fail(test: &str, name: &str, problem: &str) {
    let how = format!("`scripts/get-test-servers.sh {name}` fetches it");
    assert!(has_word(REQUIRED, name) != Some(true), "{test}: {name}, which {REQUIRED} names: {problem} ({how})");
    let _ = writeln!(std::io::stderr(), "SKIPPED {test} with {name}: not fetched ({how})");
}

/// For tests that take long with each server: one that is among the `usual` ones, or among those that
/// `TRUETPS_TEST_SERVERS` names with blanks between; `all` takes all.
///
/// # Panics
///
/// As [`fetched`] does.
pub fn chosen_server(test: &str, name: &'static str, usual: &[&str]) -> Option<FetchedServer> {
    let chosen = has_word(CHOSEN, "all").filter(|all| *all).or_else(|| has_word(CHOSEN, name));
    if chosen.unwrap_or_else(|| usual.contains(&name)) {
        return fetched_server(test, name);
    }
    let _ = writeln!(std::io::stderr(), "SKIPPED {test} with {name}: {CHOSEN}=all takes it");
    None
}

/// `None`: the variable is not set.
fn has_word(variable: &str, word: &str) -> Option<bool> {
    let words = std::env::var(variable).ok()?;
    Some(words.split_whitespace().any(|one| one == word))
}

/// The system's own server, where it is of the version in `name`.
fn system_server(name: &str, user: &ServerUser) -> Result<ServerBinary, BinaryError> {
    let binary = find(None, Some(flavour_of(name)), user)?;
    if name.ends_with(&format!("-{}.{}", binary.version.major, binary.version.minor)) {
        return Ok(binary);
    }
    Err(BinaryError::NotFound { wanted: name.to_owned(), places: vec!["this system".to_owned()], others: Vec::new() })
}

/// The server of the folder that `variable` names, else the one that was fetched.
#[expect(clippy::panic, reason = "for tests, which have nobody to hand an error to")]
fn named_or_fetched(test: &str, variable: &str, name: &'static str) -> Option<(ServerBinary, PathBuf)> {
    let Some(basedir) = std::env::var_os(variable).map(PathBuf::from) else {
        return fetched_server(test, name).map(|server| (server.binary, server.basedir));
    };
    match find(Some(&basedir), Some(flavour_of(name)), &ServerUser::choose()) {
        Ok(binary) => Some((binary, basedir)),
        Err(error) => panic!("{test}: {variable}: {error}"),
    }
}

fn flavour_of(name: &str) -> Flavour {
    if name.starts_with("mysql") { Flavour::Mysql } else { Flavour::Mariadb }
}

/// Where `get-test-servers.sh` puts servers.
pub(crate) fn cache_folder() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")));
    // Servers of root run as another user, who cannot look into root's home.
    let cache = if rustix::process::geteuid().is_root() { Some(PathBuf::from("/var/cache")) } else { cache };
    cache.unwrap_or_default().join("truetps-test-servers")
}

/// Says past the harness, which hides what passing tests print, that a test is skipped.
fn find_server(test: &str, basedir: Option<&Path>, wanted: Flavour, required: &str) -> Option<ServerBinary> {
    match find(basedir, Some(wanted), &ServerUser::choose()) {
        Ok(binary) => Some(binary),
        Err(error) => {
            assert!(std::env::var_os(required).is_none_or(|value| value != "1"), "{error}");
            let _ =
                writeln!(std::io::stderr(), "SKIPPED {test}: {error} (scripts/get-test-servers.sh fetches servers)");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FETCHABLE_POSTGRES;

    #[test]
    fn what_another_processor_cannot_have_is_named_and_not_required() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let uname = dir.path().join("uname");
        std::fs::write(&uname, "#!/bin/sh\necho Linux aarch64\n").unwrap();
        std::fs::set_permissions(&uname, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = std::env::var("PATH").unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/get-test-servers.sh");
        #[expect(clippy::disallowed_methods, reason = "a script of our own, which ends at once")]
        let mut command = std::process::Command::new(script);
        command.arg("--to").arg(dir.path()).args(["--here", "mysql-5.6", "mysql-5.7", "mariadb-11.8"]);
        command.env("PATH", format!("{}:{path}", dir.path().display())).env("TRUETPS_DEBIAN_URI", "http://nowhere");
        let output = command.output().unwrap();
        let (here, said) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(!here.contains("mysql"), "{here}");
        for name in ["mysql-5.6", "mysql-5.7"] {
            assert!(
                said.contains(&format!("{name}: SKIPPED: the archive has a server for Linux on x86_64 only")),
                "{said}"
            );
        }
        assert_ne!(here.contains("mariadb-11.8"), said.contains("there is no apt-get here"), "{here}{said}");
    }

    #[test]
    fn the_script_fetches_what_tests_look_for() {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/get-test-servers.sh");
        #[expect(clippy::disallowed_methods, reason = "a script of our own, which ends at once")]
        let output = std::process::Command::new(script).arg("--list").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let names = text.lines().filter_map(|line| line.split_whitespace().next());
        let (postgres, mysql): (Vec<_>, Vec<_>) = names.partition(|name| name.starts_with("postgresql-"));
        assert_eq!((mysql, postgres), (FETCHABLE.to_vec(), FETCHABLE_POSTGRES.to_vec()));
    }
}
