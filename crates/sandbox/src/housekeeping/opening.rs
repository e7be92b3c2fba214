//! Opening the folder of private servers.

use std::path::Path;

use crate::data::template;
use crate::error::SandboxError;
use crate::home::home_folder::{Home, NAMED_FOLDER};
use crate::home::owners;
use crate::home::proof::FolderKind;
use crate::named;

/// What earlier versions have left in a folder without a marker.
const KINDS: [FolderKind; 3] = [
    FolderKind { name: "servers", is_known: owners::is_known },
    FolderKind { name: "templates", is_known: template::is_known },
    FolderKind { name: NAMED_FOLDER, is_known: named::is_known },
];

impl Home {
    /// Opens the folder, creating it if missing: `explicit`, else `/var/cache/truetps` for root,
    /// else `truetps` in the user's cache folder.
    pub fn open(explicit: Option<&Path>) -> Result<Self, SandboxError> {
        Self::open_with(explicit, &KINDS)
    }
}
