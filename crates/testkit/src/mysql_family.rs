//! MySQL-family servers for tests: the system's, named ones, or fetched ones. The sandbox starts
//! them.

use std::io::Write;
use std::path::{Path, PathBuf};

use truetps_record::Flavour;
use truetps_sandbox::{BinaryError, ServerBinary, ServerUser, find};

use crate::servers::FETCHABLE;

/// The system's MariaDB, or the one in `TRUETPS_TEST_BASEDIR`.
pub fn mariadb(test: &str) -> Option<ServerBinary> {
    let named = std::env::var_os("TRUETPS_TEST_BASEDIR").map(PathBuf::from);
    find_server(test, named.as_deref(), Flavour::Mariadb, "TRUETPS_REQUIRE_SERVER")
}

/// A MariaDB with its plugins: from `TRUETPS_TEST_MARIADB_BASEDIR`, or fetched by
/// `get-test-servers.sh mariadb-11.8`.
pub fn mariadb_with_plugins(test: &str) -> Option<ServerBinary> {
    named_or_fetched(test, "TRUETPS_TEST_MARIADB_BASEDIR", "mariadb-11.8").map(|(binary, _)| binary)
}

/// A MySQL and its base folder: from `TRUETPS_TEST_MYSQL_BASEDIR`, or fetched by
/// `get-test-servers.sh mysql-9.7`.
pub fn mysql(test: &str) -> Option<(ServerBinary, PathBuf)> {
    named_or_fetched(test, "TRUETPS_TEST_MYSQL_BASEDIR", "mysql-9.7")
}

/// Variable with the servers that must exist.
const REQUIRED: &str = "TRUETPS_REQUIRE_SERVERS";
/// Variable with the servers that slow tests use.
const CHOSEN: &str = "TRUETPS_TEST_SERVERS";

/// A server under its name in `get-test-servers.sh`.
#[derive(Debug, Clone)]
pub struct FetchedServer {
    pub name: &'static str,
    pub binary: ServerBinary,
    /// The value for `--basedir`.
    pub basedir: PathBuf,
}

/// All fetched servers; the missing ones are named on stderr. The system's own server replaces the
/// fetched one of its version.
///
/// # Panics
///
/// If a fetched server does not run, or one in `TRUETPS_REQUIRE_SERVERS` is missing.
pub fn fetched(test: &str) -> Vec<FetchedServer> {
    FETCHABLE.into_iter().filter_map(|name| fetched_server(test, name)).collect()
}

/// The server of that name, as [`fetched`] finds it.
///
/// # Panics
///
/// See [`fetched`].
#[expect(clippy::panic, reason = "a test helper panics instead of returning errors")]
pub fn fetched_server(test: &str, name: &'static str) -> Option<FetchedServer> {
    let user = ServerUser::choose();
    let basedir = cache_folder().join(name).join("usr");
    let found = if basedir.is_dir() {
        find(Some(&basedir), None, &user)
    } else {
        system_server(name, &user)
    };
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

/// Reports directly to stderr, because the harness hides the output of passing tests, that a test
/// runs without a server; fails if `TRUETPS_REQUIRE_SERVERS` names it.
pub(crate) fn say_or_fail(test: &str, name: &str, problem: &str) {
    let how = format!("`scripts/get-test-servers.sh {name}` fetches it");
    assert!(
        has_word(REQUIRED, name) != Some(true),
        "{test}: {name}, which {REQUIRED} names: {problem} ({how})"
    );
    let _ = writeln!(std::io::stderr(), "SKIPPED {test} with {name}: not fetched ({how})");
}

/// For tests that take long with each server: whether it is one of the `usual` ones, or of the
/// blank-separated names in `TRUETPS_TEST_SERVERS`; `all` selects all.
///
/// # Panics
///
/// See [`fetched`].
pub fn chosen_server(test: &str, name: &'static str, usual: &[&str]) -> Option<FetchedServer> {
    let unknown = usual.iter().find(|name| !FETCHABLE.contains(name));
    assert_eq!(unknown, None, "not in scripts/servers.toml");
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

/// The system's own server, if it has the version in `name`.
fn system_server(name: &str, user: &ServerUser) -> Result<ServerBinary, BinaryError> {
    let binary = find(None, Some(flavour_of(name)), user)?;
    if name.ends_with(&format!("-{}.{}", binary.version.major, binary.version.minor)) {
        return Ok(binary);
    }
    Err(BinaryError::NotFound {
        wanted: name.to_owned(),
        searched: vec!["this system".to_owned()],
        others: Vec::new(),
    })
}

/// The server in the folder that `variable` names, else the fetched one.
#[expect(clippy::panic, reason = "a test helper panics instead of returning errors")]
fn named_or_fetched(
    test: &str,
    variable: &str,
    name: &'static str,
) -> Option<(ServerBinary, PathBuf)> {
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

/// Folder in which `get-test-servers.sh` puts servers.
pub(crate) fn cache_folder() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache =
        cache.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")));
    // Servers started by root run as another user, which cannot enter root's home.
    let cache = if rustix::process::geteuid().is_root() {
        Some(PathBuf::from("/var/cache"))
    } else {
        cache
    };
    cache.unwrap_or_default().join("truetps-test-servers")
}

/// Reports directly to stderr, because the harness hides the output of passing tests, that a test
/// is skipped.
fn find_server(
    test: &str,
    basedir: Option<&Path>,
    wanted: Flavour,
    required: &str,
) -> Option<ServerBinary> {
    match find(basedir, Some(wanted), &ServerUser::choose()) {
        Ok(binary) => Some(binary),
        Err(error) => {
            assert!(std::env::var_os(required).is_none_or(|value| value != "1"), "{error}");
            let _ = writeln!(
                std::io::stderr(),
                "SKIPPED {test}: {error} (scripts/get-test-servers.sh fetches servers)"
            );
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servers::FETCHABLE_POSTGRES;

    #[test]
    fn what_another_processor_cannot_have_is_named_and_not_required() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let uname = dir.path().join("uname");
        std::fs::write(&uname, "#!/bin/sh\necho Linux aarch64\n").unwrap();
        std::fs::set_permissions(&uname, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = std::env::var("PATH").unwrap();
        let script =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/get-test-servers.sh");
        #[expect(clippy::disallowed_methods, reason = "a script of the test, which ends at once")]
        let mut command = std::process::Command::new(script);
        command.arg("--to").arg(dir.path()).args([
            "--here",
            "mysql-5.6",
            "mysql-5.7",
            "mariadb-11.8",
        ]);
        command
            .env("PATH", format!("{}:{path}", dir.path().display()))
            .env("TRUETPS_DEBIAN_URI", "http://nowhere");
        let output = command.output().unwrap();
        let (here, said) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(!here.contains("mysql"), "{here}");
        for name in ["mysql-5.6", "mysql-5.7"] {
            assert!(
                said.contains(&format!(
                    "{name}: SKIPPED: the archive has a server for Linux on x86_64 only"
                )),
                "{said}"
            );
        }
        assert_ne!(
            here.contains("mariadb-11.8"),
            said.contains("there is no apt-get here"),
            "{here}{said}"
        );
    }

    /// The archives are of third parties: root gives their programs neither its rights nor its
    /// environment.
    #[test]
    fn a_fetched_program_is_never_run_by_root() {
        use std::os::unix::fs::PermissionsExt;
        let open = |path: &Path| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
        };
        let dir = tempfile::tempdir().unwrap();
        let (server, seen) = (dir.path().join("mysql-5.5"), dir.path().join("seen"));
        std::fs::create_dir_all(server.join("usr/bin")).unwrap();
        std::fs::write(server.join("complete"), "").unwrap();
        let program = server.join("usr/bin/mysqld");
        let text =
            format!("#!/bin/sh\n{{ id -u; env; }} >{}\necho 'mysqld  Ver 5.5.9'\n", seen.display());
        std::fs::write(&program, text).unwrap();
        [dir.path(), &program].into_iter().for_each(open);
        let script =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/get-test-servers.sh");
        #[expect(clippy::disallowed_methods, reason = "a script of the test, which ends at once")]
        let mut command = std::process::Command::new(script);
        command
            .arg("--to")
            .arg(dir.path())
            .args(["--fetched", "mysql-5.5"])
            .env("TRUETPS_PASSWORD", "h1dden");
        let output = command.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "mysql-5.5\n", "{output:?}");
        let seen = std::fs::read_to_string(seen).unwrap();
        assert!(!seen.starts_with("0\n"), "{seen}");
        assert!(!rustix::process::geteuid().is_root() || !seen.contains("h1dden"), "{seen}");
    }

    #[test]
    fn the_script_fetches_what_tests_look_for() {
        let script =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/get-test-servers.sh");
        #[expect(clippy::disallowed_methods, reason = "a script of the test, which ends at once")]
        let output = std::process::Command::new(script).arg("--list").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let names = text.lines().filter_map(|line| line.split_whitespace().next());
        let (postgres, mysql): (Vec<_>, Vec<_>) =
            names.partition(|name| name.starts_with("postgresql-"));
        assert_eq!((mysql, postgres), (FETCHABLE.to_vec(), FETCHABLE_POSTGRES.to_vec()));
    }

    /// The page is part of the manual, and has no generated parts.
    #[test]
    fn the_page_has_a_row_for_each_server() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let list = std::fs::read_to_string(root.join("scripts/servers.toml")).unwrap();
        let page = std::fs::read_to_string(root.join("docs/reference/servers.md")).unwrap();
        for entry in list.split("[[server]]").skip(1) {
            let cells = ["about", "from", "tree", "unpacked"].map(|key| value(entry, key));
            let row = format!("| `{}` | {} |\n", value(entry, "name"), cells.join(" | "));
            assert!(page.contains(&row), "docs/reference/servers.md lacks {row}");
        }
    }

    fn value<'a>(entry: &'a str, key: &str) -> &'a str {
        let front = format!("{key} = \"");
        let line = entry.lines().find_map(|line| line.strip_prefix(&front));
        line.and_then(|rest| rest.strip_suffix('"')).unwrap_or_else(|| panic!("{key}: {entry}"))
    }
}
