//! Who owns a file that decides what is run.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::geteuid;

/// Whether it belongs to this user, to root, or to who called `sudo`; of a link, also the link. One
/// that cannot be looked at is an error of its reader.
pub(crate) fn is_ours(path: &Path) -> bool {
    let asked = std::env::var("SUDO_UID").ok().and_then(|uid| uid.parse().ok());
    let ours = [Some(geteuid().as_raw()), Some(0), asked];
    [path.symlink_metadata(), path.metadata()]
        .into_iter()
        .all(|found| found.map_or(true, |file| ours.contains(&Some(file.uid()))))
}
