//! The names of servers, and of what stands beside their folders.

use crate::error::NamedError;

/// Part of a socket path, which has at most 107 bytes.
const NAME_BYTES_MAX: usize = 40;
/// A tree that is being unpacked; see `housekeeping/unfinished.rs`. Names do not start with a dot,
/// so it is not a name.
pub(crate) const UNFINISHED: &str = ".adding";

/// Whether a server may have this name.
pub fn check_server_name(name: &str) -> Result<(), NamedError> {
    let begins = name.bytes().next().is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    if begins && name.len() <= NAME_BYTES_MAX && name.bytes().all(is_of_name) {
        return Ok(());
    }
    Err(NamedError::BadName { name: name.to_owned() })
}

fn is_of_name(c: u8) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || b"._-".contains(&c)
}

/// The server's name in `.NAME` with this ending: an entry beside the servers' folders.
pub(crate) fn name_of_entry<'e>(entry: &'e str, ending: &str) -> Option<&'e str> {
    let name = entry.strip_prefix('.')?.strip_suffix(ending)?;
    check_server_name(name).is_ok().then_some(name)
}
