//! Versions of servers, and what they differ in.

use std::fmt;

use truetps_record::{Flavour, Version};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServerVersion {
    pub major: u32,
    pub minor: u32,
    pub patch: u32,
    /// PostgreSQL versions have two parts.
    has_patch: bool,
}

impl ServerVersion {
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self { major, minor, patch, has_patch: true }
    }

    pub const fn of_two(major: u32, minor: u32) -> Self {
        Self { major, minor, patch: 0, has_patch: false }
    }
}

impl fmt::Display for ServerVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        if self.has_patch { write!(f, ".{}", self.patch) } else { Ok(()) }
    }
}

/// MySQL itself, or Percona's.
pub(crate) fn is_of_mysql(flavour: Flavour) -> bool {
    matches!(flavour, Flavour::Mysql | Flavour::Percona)
}

/// Whether a server refuses a redo log of another size than configured: see
/// `data/old_redo.rs`.
pub(crate) fn keeps_redo_size(flavour: Flavour, version: &str) -> bool {
    is_of_mysql(flavour) && Version::parse(version) < Version::parse("5.6.8")
}
