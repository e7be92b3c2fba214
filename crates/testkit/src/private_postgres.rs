//! The PostgreSQLs that private servers of tests are made with.

use std::path::Path;

use truetps_record::Flavour;
use truetps_sandbox::{ServerBinary, ServerUser, find};

use crate::mysql_family::{cache_folder, say_or_fail};
use crate::programs::Programs;

/// What `get-test-servers.sh` can fetch of PostgreSQL, oldest first.
pub const FETCHABLE_POSTGRES: [&str; 3] = ["postgresql-13", "postgresql-17", "postgresql-18"];

/// The one that [`Programs::find`] finds. `None`: there is none, and `test` is skipped loudly.
///
/// # Panics
///
/// Where there is one and it does not run, and where there is none and `TRUETPS_REQUIRE_POSTGRES` is 1.
pub fn private_postgres(test: &str) -> Option<ServerBinary> {
    Programs::find_or_skip(test).map(|programs| examined(test, &programs.postgres))
}

/// The installed one, and all that were fetched; the others are named past the harness. The installed one stands in for
/// the one of its version.
///
/// # Panics
///
/// As [`private_postgres`], and where one that `TRUETPS_REQUIRE_SERVERS` names is not there.
pub fn every_postgres(test: &str) -> Vec<ServerBinary> {
    let installed = private_postgres(test);
    let fetched = FETCHABLE_POSTGRES.into_iter().filter_map(|name| fetched_postgres(test, name, installed.as_ref()));
    let fetched: Vec<_> = fetched.collect();
    installed.into_iter().chain(fetched).collect()
}

fn fetched_postgres(test: &str, name: &str, installed: Option<&ServerBinary>) -> Option<ServerBinary> {
    let version = name.rsplit('-').next().unwrap_or_default();
    let folder = cache_folder().join(name).join("usr/lib/postgresql").join(version);
    if folder.is_dir() {
        return Some(examined(test, &folder));
    }
    if installed.is_none_or(|binary| binary.version.major.to_string() != version) {
        say_or_fail(test, name, "it is not fetched");
    }
    None
}

#[expect(clippy::panic, reason = "for tests, which have nobody to hand an error to")]
fn examined(test: &str, path: &Path) -> ServerBinary {
    match find(Some(path), Some(Flavour::Postgresql), &ServerUser::choose()) {
        Ok(binary) => binary,
        Err(error) => panic!("{test}: {error}"),
    }
}
