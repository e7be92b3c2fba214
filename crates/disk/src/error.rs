//! Errors of emulated disks.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::built_in;

pub(crate) const FUSE: &str = "/dev/fuse";
/// The program that mounts FUSE file systems for users.
pub(crate) const FUSERMOUNT: &str = "fusermount3";

#[derive(Debug, Error)]
pub enum DiskError {
    #[error("there is no disk profile `{name}`{}", did_you_mean(name))]
    UnknownProfile { name: String },
    #[error("disk profile {name}: {problem}")]
    Profile { name: String, problem: String },
    #[error("cannot {what} {}: {source}", path.display())]
    Io { what: &'static str, path: PathBuf, source: io::Error },
    /// A part of the system that an emulated disk needs.
    #[error("{what}: {problem}")]
    Missing { what: &'static str, problem: String },
    /// Neither level can be mounted.
    #[error(
        "emulated disks cannot be mounted here: level `block` lacks {block}; level `file_system` \
         lacks {file_system}"
    )]
    NoLevel { block: Box<DiskError>, file_system: Box<DiskError> },
    #[error("`{command}` failed: {problem}")]
    Command { command: String, problem: String },
    #[error("the data of the disk needs {needed_mb} MB, and {} has {free_mb} MB free", path.display())]
    NoSpace { path: PathBuf, needed_mb: u64, free_mb: u64 },
    /// The helper's own words.
    #[error("the emulated disk: {problem}")]
    Failed { problem: String },
    #[error("the helper process of the disk ended: {problem}")]
    HelperEnded { problem: String },
}

/// `ssd` is the end of `sata-ssd`.
fn did_you_mean(typed: &str) -> String {
    let typed = typed.to_lowercase();
    let near: Vec<_> = built_in::names()
        .filter(|name| typed.len() > 1 && (name.contains(&typed) || typed.contains(name)))
        .collect();
    if near.is_empty() {
        String::new()
    } else {
        format!(" (did you mean `{}`?)", near.join("` or `"))
    }
}

impl DiskError {
    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { what, path, source }
    }

    pub(crate) fn no_fuse(error: &io::Error) -> Self {
        Self::Missing { what: FUSE, problem: error.to_string() }
    }

    /// Whether something broke; otherwise it cannot be done here.
    pub fn is_failure(&self) -> bool {
        matches!(
            self,
            Self::Failed { .. } | Self::HelperEnded { .. } | Self::Io { .. } | Self::Command { .. }
        )
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownProfile { .. } => {
                let names: Vec<_> = built_in::names().collect();
                Some(format!(
                    "use one of {}, flush-TIME such as flush-10ms, or the path of a .toml file",
                    names.join(", ")
                ))
            }
            Self::NoSpace { .. } => Some("make the tables smaller, or free some space".to_owned()),
            Self::NoLevel { file_system, .. } => file_system.hint().or_else(|| Some("see `truetps doctor`".to_owned())),
            Self::Missing { what: "root", .. } => Some("run truetps as root: loop devices need it".to_owned()),
            Self::Missing { what: FUSE, .. } => {
                Some("`modprobe fuse` as root; if it belongs to root alone, `chmod 0666 /dev/fuse`".to_owned())
            }
            Self::Missing { what: FUSERMOUNT, .. } => Some("install fuse3, or run truetps as root".to_owned()),
            Self::Missing { what: "mkfs.ext4", .. } => Some("install e2fsprogs".to_owned()),
            Self::Missing { what: "losetup" | "mount" | "umount", .. } => {
                Some("install util-linux (Debian: the package `mount`)".to_owned())
            }
            Self::Profile { .. } => Some(
                "`truetps disk show hdd7200` prints a valid profile; `truetps help disks` has keys \
                 and units"
                    .to_owned(),
            ),
            Self::Failed { problem } | Self::Command { problem, .. } if problem.contains("unused loop device") => Some(
                "detach loop devices that nothing needs (`losetup --list`); a container needs \
                 /dev/loop-control and /dev/loop0 and up"
                    .to_owned(),
            ),
            Self::HelperEnded { .. } => Some("was it killed? `truetps server clean` removes what \
                                              is left".to_owned()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_profile_s_name_leads_to_it() {
        let said = |name: &str| DiskError::UnknownProfile { name: name.to_owned() }.to_string();
        assert_eq!(said("ssd"), "there is no disk profile `ssd` (did you mean `sata-ssd`?)");
        assert_eq!(said("hdd720"), "there is no disk profile `hdd720` (did you mean `hdd7200`?)");
        assert_eq!(said("tape"), "there is no disk profile `tape`");
        assert_eq!(said(""), "there is no disk profile ``");
    }
}
