//! PostgreSQL programs for private servers of tests.

use std::path::Path;

use truetps_record::Flavour;
use truetps_sandbox::{ServerBinary, ServerUser, find};

use crate::mysql_family::{cache_folder, say_or_fail};
use crate::programs::Programs;
use crate::servers::FETCHABLE_POSTGRES;

/// The programs that [`Programs::find`] finds. `None`: there are none, and `test` is skipped with a
/// message.
///
/// # Panics
///
/// If they do not run, or there are none and `TRUETPS_REQUIRE_POSTGRES` is 1.
pub fn private_postgres(test: &str) -> Option<ServerBinary> {
    Programs::find_or_skip(test).map(|programs| examined(test, &programs.postgres))
}

/// The installed version, and all fetched ones; the missing ones are named on stderr. The installed
/// one replaces the fetched one of its version.
///
/// # Panics
///
/// See [`private_postgres`]; also if one in `TRUETPS_REQUIRE_SERVERS` is missing.
pub fn every_postgres(test: &str) -> Vec<ServerBinary> {
    let installed = private_postgres(test);
    let fetched = FETCHABLE_POSTGRES
        .into_iter()
        .filter_map(|name| fetched_postgres(test, name, installed.as_ref()));
    let fetched: Vec<_> = fetched.collect();
    installed.into_iter().chain(fetched).collect()
}

fn fetched_postgres(
    test: &str,
    name: &str,
    installed: Option<&ServerBinary>,
) -> Option<ServerBinary> {
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

#[expect(clippy::panic, reason = "a test helper panics instead of returning errors")]
fn examined(test: &str, path: &Path) -> ServerBinary {
    match find(Some(path), Some(Flavour::Postgresql), &ServerUser::choose()) {
        Ok(binary) => binary,
        Err(error) => panic!("{test}: {error}"),
    }
}
