//! Creates a datadir with `initdb`.

use std::ffi::OsString;
use std::path::Path;

use truetps_record::SettingValue;

use crate::data::initialiser::{check_made, run_initialiser};
use crate::error::{BinaryError, SandboxError};
use crate::program::binary::ServerBinary;
use crate::program::postgres::program::initdb;
use crate::settings::names::switch_of;
use crate::settings::server_settings::Settings;
use crate::system::folders::{make_passable, make_private};
use crate::system::server_user::ServerUser;
use crate::system::space::check_free;

/// The owner of a private server.
pub(crate) const OWNER: &str = "postgres";
const BUILD_BYTES: u64 = 128 << 20;
/// Older versions lack the `include` syntax used here, and could not be tested.
const OLDEST: u32 = 13;
/// The first version in which pages have checksums by default.
const CHECKSUMS_SINCE: u32 = 18;

/// Creates `folder` with an initialised `data/` in it.
pub(crate) fn build(
    binary: &ServerBinary,
    user: &ServerUser,
    initial: &Settings,
    folder: &Path,
) -> Result<(), SandboxError> {
    if binary.version.major < OLDEST {
        return Err(SandboxError::TooOld { version_text: binary.version_text.clone() });
    }
    let program =
        initdb(&binary.path).ok_or_else(|| BinaryError::NoInitdb { path: binary.path.clone() })?;
    check_free(folder.parent().unwrap_or(folder), "a new datadir", BUILD_BYTES)?;
    make_passable(folder, user).map_err(SandboxError::io("make", folder))?;
    let datadir = folder.join("data");
    make_private(&datadir, user)?;
    run_initialiser(&program, &arguments(binary, initial, &datadir), None, user)?;
    check_made(&program, &datadir, ["PG_VERSION", "global/pg_control"])
}

/// Logins by the socket are trusted: it is in a folder of the server's user. If an instance also
/// listens on a port, only accounts with a password can log in there. The files are flushed once,
/// with the template.
fn arguments(binary: &ServerBinary, initial: &Settings, datadir: &Path) -> Vec<OsString> {
    let fixed = [
        "--auth-local=trust",
        "--auth-host=scram-sha-256",
        "--encoding=UTF8",
        "--locale=C.UTF-8",
        "--no-sync",
    ];
    let mut arguments: Vec<OsString> = vec!["-D".into(), datadir.into(), "-U".into(), OWNER.into()];
    arguments.extend(fixed.map(OsString::from));
    for (name, value) in initial.iter() {
        match (name, switch_of(value)) {
            ("data_checksums", Some(true)) => arguments.push("--data-checksums".into()),
            ("data_checksums", Some(false)) if binary.version.major >= CHECKSUMS_SINCE => {
                arguments.push("--no-data-checksums".into());
            }
            ("wal_segment_size", _) => {
                arguments.push(format!("--wal-segsize={}", megabytes(value)).into());
            }
            _ => {}
        }
    }
    arguments
}

/// initdb accepts only a number.
fn megabytes(value: &SettingValue) -> String {
    value.option_text().trim_end_matches("MB").trim().to_owned()
}
