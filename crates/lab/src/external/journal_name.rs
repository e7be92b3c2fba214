//! Names of the files of journals.

use std::path::Path;

use truetps_record::fnv1a;

/// One name for each server and schema: the readable part, and a hash for characters that a file
/// name cannot have.
pub(super) fn file_name(server: &str, schema: &str) -> String {
    let both = [server.as_bytes(), &[0], schema.as_bytes()].concat();
    format!("{}--{}--{:016x}.json", slug(server), slug(schema), fnv1a(&both))
}

/// A text as a part of a file name.
pub(super) fn slug(text: &str) -> String {
    const LENGTH_MAX: usize = 100;
    let plain = text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' });
    let all: String = plain.collect();
    all[all.len().saturating_sub(LENGTH_MAX)..].to_owned()
}

/// Whether a file has a name made by truetps: see [`file_name`].
pub(super) fn is_journal_name(path: &Path) -> bool {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let number = stem.rsplit_once("--").map(|(_, number)| number).unwrap_or_default();
    number.len() == 16 && number.bytes().all(|byte| byte.is_ascii_hexdigit())
}

pub(super) fn is_named_for(path: &Path, id: &str) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with(&format!("{}--", slug(id)))
}
