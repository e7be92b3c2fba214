//! Servers of the MySQL family that tests run on: the system's, named ones, or fetched ones. The sandbox starts them.

use std::io::Write;
use std::path::{Path, PathBuf};

use truetps_record::Flavour;
use truetps_sandbox::{ServerBinary, ServerUser, find};

/// The system's MariaDB, or the one of `TRUETPS_TEST_BASEDIR`.
pub fn mariadb(test: &str) -> Option<ServerBinary> {
    let named = std::env::var_os("TRUETPS_TEST_BASEDIR").map(PathBuf::from);
    found(test, named.as_deref(), Flavour::Mariadb, "TRUETPS_REQUIRE_SERVER")
}

/// A MariaDB with its plugins: of `TRUETPS_TEST_MARIADB_BASEDIR`, or what `get-test-servers.sh mariadb-11.8` fetched.
pub fn mariadb_with_plugins(test: &str) -> Option<ServerBinary> {
    let basedir = named_or_fetched("TRUETPS_TEST_MARIADB_BASEDIR", "mariadb-11.8");
    found(test, Some(&basedir), Flavour::Mariadb, "TRUETPS_REQUIRE_MYSQL")
}

/// A MySQL and its base folder: of `TRUETPS_TEST_MYSQL_BASEDIR`, or what `get-test-servers.sh mysql-9.7` fetched.
pub fn mysql(test: &str) -> Option<(ServerBinary, PathBuf)> {
    let basedir = named_or_fetched("TRUETPS_TEST_MYSQL_BASEDIR", "mysql-9.7");
    found(test, Some(&basedir), Flavour::Mysql, "TRUETPS_REQUIRE_MYSQL").map(|binary| (binary, basedir))
}

fn named_or_fetched(variable: &str, name: &str) -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")));
    // Servers of root run as another user, who cannot look into root's home.
    let cache = if rustix::process::geteuid().is_root() { Some(PathBuf::from("/var/cache")) } else { cache };
    let fetched = cache.unwrap_or_default().join("truetps-test-servers").join(name).join("usr");
    std::env::var_os(variable).map_or(fetched, PathBuf::from)
}

/// Says past the harness, which hides what passing tests print, that a test is skipped.
fn found(test: &str, basedir: Option<&Path>, wanted: Flavour, required: &str) -> Option<ServerBinary> {
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
