//! What this machine has for emulated disks.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::{DiskError, FUSE, FUSERMOUNT};
use crate::lab::LabLevel;
use crate::programs::PROGRAM_FOLDERS;

const SET_USER_ID: u32 = 0o4000;

fn missing(what: &'static str, problem: impl Into<String>) -> DiskError {
    DiskError::Missing { what, problem: problem.into() }
}

/// The best level that this machine can mount; else, what each level lacks.
pub fn choose_level() -> Result<LabLevel, DiskError> {
    let Some(block) = missing_for(LabLevel::Block).into_iter().next() else {
        return Ok(LabLevel::Block);
    };
    let Some(file_system) = missing_for(LabLevel::FileSystem).into_iter().next() else {
        return Ok(LabLevel::FileSystem);
    };
    Err(DiskError::NoLevel { block: Box::new(block), file_system: Box::new(file_system) })
}

/// Everything that a level lacks; empty: its disks can be mounted.
pub fn missing_for(level: LabLevel) -> Vec<DiskError> {
    let is_root = rustix::process::geteuid().is_root();
    let device = cannot_open(FUSE, "the kernel has no FUSE, or this container does not show it");
    match level {
        LabLevel::Block => {
            let root =
                (!is_root).then(|| missing("root", "loop devices and mounts are for root only"));
            // Without root it cannot be opened in any case.
            let control = root.is_none().then(|| {
                cannot_open(
                    "/dev/loop-control",
                    "the kernel has no loop devices, or this container does not show them",
                )
            });
            let programs = ["losetup", "mkfs.ext4", "mount", "umount"];
            let programs =
                programs.into_iter().filter(|program| in_program_folders(program).is_none());
            let programs = programs.map(|program| missing(program, "the program is not installed"));
            root.into_iter().chain(device).chain(control.flatten()).chain(programs).collect()
        }
        LabLevel::FileSystem if is_root => device.into_iter().collect(),
        LabLevel::FileSystem => device.into_iter().chain(cannot_mount_as_user()).collect(),
    }
}

/// A device that exists may still be forbidden: by its mode, or by the rules of a container.
fn cannot_open(device: &'static str, if_absent: &str) -> Option<DiskError> {
    let error = File::options().read(true).write(true).open(device).err()?;
    let is_absent = error.kind() == std::io::ErrorKind::NotFound;
    Some(missing(
        device,
        if is_absent { if_absent.to_owned() } else { format!("cannot be opened: {error}") },
    ))
}

fn cannot_mount_as_user() -> Option<DiskError> {
    let Some(program) = on_path(FUSERMOUNT).or_else(|| in_program_folders(FUSERMOUNT)) else {
        return Some(missing(FUSERMOUNT, "the program is not installed"));
    };
    let is_set_user_id =
        program.metadata().is_ok_and(|metadata| metadata.mode() & SET_USER_ID != 0);
    (!is_set_user_id).then(|| {
        let program = program.display();
        let problem = format!("{program} is not set-user-ID, so that it cannot mount for users");
        missing(FUSERMOUNT, problem)
    })
}

fn in_program_folders(program: &str) -> Option<PathBuf> {
    PROGRAM_FOLDERS.iter().map(|folder| Path::new(folder).join(program)).find(|path| path.exists())
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_each_level_lacks() {
        let block = Box::new(missing("root", "loop devices and mounts are for root only"));
        let error = DiskError::NoLevel {
            block,
            file_system: Box::new(missing(FUSE, "cannot be opened: x")),
        };
        let text = error.to_string();
        assert!(text.contains("`block` lacks root: loop devices"), "{text}");
        assert!(text.contains("`file_system` lacks /dev/fuse: cannot be opened: x"), "{text}");
        assert!(error.hint().is_some_and(|hint| hint.contains("chmod 0666 /dev/fuse")));
    }

    #[test]
    fn a_device_that_is_absent_is_missing() {
        assert!(cannot_open("/dev/null", "absent").is_none());
        assert_eq!(
            cannot_open("/dev/no-such-device", "absent").unwrap().to_string(),
            "/dev/no-such-device: absent"
        );
    }
}
