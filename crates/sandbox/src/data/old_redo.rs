//! MySQL before 5.6.8 does not start if its redo log has another size than configured; later
//! servers create a new one. After a clean stop the log is not needed, so truetps removes it here,
//! and the server creates another.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Child;

use crate::error::SandboxError;
use crate::program::binary::ServerBinary;
use crate::settings::server_settings::Settings;
use crate::system::folders::remove_file;

/// A note in a datadir, and in each copy of it, from a clean stop to the next start. Servers ignore
/// it.
const STOPPED: &str = "truetps-stopped";
/// Names of the log files when no option changes them.
const FILES_DEFAULT: u64 = 2;
const FILE_BYTES_DEFAULT: u64 = 5 << 20;

/// Notes that nothing in the log is needed.
pub(crate) fn note_stopped(datadir: &Path) -> Result<(), SandboxError> {
    let path = datadir.join(STOPPED);
    // Never through a link placed by the server's user.
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    made.map(|_| ()).map_err(SandboxError::io("make", &path))
}

/// Creates the process of a server whose log fits. If none was created, a log that was not needed
/// still is not.
pub(crate) fn spawn_fitted(
    binary: &ServerBinary,
    datadir: &Path,
    settings: &Settings,
    spawn: impl FnOnce() -> Result<Child, SandboxError>,
) -> Result<Child, SandboxError> {
    let was_stopped = binary.keeps_redo_size() && fit(datadir, settings)?;
    spawn().inspect_err(|_| {
        if was_stopped {
            let _ = note_stopped(datadir);
        }
    })
}

/// Removes the log if the server would refuse it and does not need it. Returns whether it was not
/// needed: the note is deleted before a server starts, because a server that is killed later needs
/// its log.
fn fit(datadir: &Path, settings: &Settings) -> Result<bool, SandboxError> {
    let stopped = remove_file(&datadir.join(STOPPED))?;
    if stopped && !fits(datadir, settings) {
        remove(datadir)?;
    }
    Ok(stopped)
}

fn fits(datadir: &Path, settings: &Settings) -> bool {
    let (size, files) = settings.redo_files();
    let lengths: Vec<_> = (0..)
        .map_while(|n| fs::symlink_metadata(log_path(datadir, n)).ok())
        .map(|metadata| metadata.len())
        .collect();
    let (size, files) = (size.unwrap_or(FILE_BYTES_DEFAULT), files.unwrap_or(FILES_DEFAULT));
    lengths.len() as u64 == files && lengths.iter().all(|length| *length == size)
}

/// Removes a log that is not needed, after a clean stop.
pub(crate) fn remove(datadir: &Path) -> Result<(), SandboxError> {
    let mut n = 0;
    while remove_file(&log_path(datadir, n))? {
        n += 1;
    }
    Ok(())
}

fn log_path(datadir: &Path, n: u32) -> PathBuf {
    datadir.join(format!("ib_logfile{n}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use truetps_record::{Family, SettingValue};

    #[test]
    fn only_a_log_that_is_not_needed_goes() {
        let dir = tempfile::tempdir().unwrap();
        let datadir = dir.path();
        let logs = || (0..2).filter(|n| log_path(datadir, *n).exists()).count();
        let mut settings = Settings::empty(Family::Mysql);
        let check = |settings: &Settings, stopped: bool, left: usize| {
            (0..2).for_each(|n| fs::write(log_path(datadir, n), [0; 100]).unwrap());
            if stopped {
                note_stopped(datadir).unwrap();
            }
            assert_eq!(fit(datadir, settings).unwrap(), stopped);
            assert_eq!(logs(), left, "{settings:?} {stopped}");
            assert!(!datadir.join(STOPPED).exists());
        };
        // The server's default is 5 MB, which these files do not have.
        check(&settings, false, 2);
        check(&settings, true, 0);
        (0..2).for_each(|n| {
            fs::File::create(log_path(datadir, n)).unwrap().set_len(FILE_BYTES_DEFAULT).unwrap();
        });
        assert!(fits(datadir, &settings));
        settings.set("innodb_log_file_size", SettingValue::Int(100));
        check(&settings, true, 2);
        settings.set("innodb_log_file_size", SettingValue::Int(200));
        check(&settings, false, 2);
        check(&settings, true, 0);
        settings.set("innodb_log_file_size", SettingValue::Int(100));
        settings.set("innodb_log_files_in_group", SettingValue::Int(3));
        check(&settings, true, 0);
    }
}
