//! The PostgreSQL that private servers of tests are made with.

use truetps_record::Flavour;
use truetps_sandbox::{ServerBinary, ServerUser, find};

use crate::programs::Programs;

/// The one that [`Programs::find`] finds. `None`: there is none, and `test` is skipped loudly.
///
/// # Panics
///
/// Where there is one and it does not run, and where there is none and `TRUETPS_REQUIRE_POSTGRES` is 1.
#[expect(clippy::panic, reason = "for tests, which have nobody to hand an error to")]
pub fn private_postgres(test: &str) -> Option<ServerBinary> {
    let programs = Programs::find_or_skip(test)?;
    match find(Some(&programs.postgres), Some(Flavour::Postgresql), &ServerUser::choose()) {
        Ok(binary) => Some(binary),
        Err(error) => panic!("{test}: {error}"),
    }
}
