#![allow(dead_code, reason = "each test program uses a part of it")]
//! Shared by the tests with a server: an installed server, and a home folder of their own.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use truetps_sandbox::{
    Home, HostLimits, Sandbox, SandboxOptions, ServerBinary, ServerLoad, ServerUser, Settings,
    StartOptions, chosen_settings, find,
};

/// The server to test with; `TRUETPS_TEST_BASEDIR` names another one than the system's. `None` if
/// there is none: the test is skipped, and reports that directly to stderr, because the harness
/// hides the output of passing tests.
pub(crate) fn server(test: &str) -> Option<ServerBinary> {
    let basedir = std::env::var_os("TRUETPS_TEST_BASEDIR").map(PathBuf::from);
    match find(basedir.as_deref(), None, &ServerUser::choose()) {
        Ok(binary) => Some(binary),
        Err(error) => {
            assert!(
                std::env::var_os("TRUETPS_REQUIRE_SERVER").is_none_or(|value| value != "1"),
                "{error}"
            );
            let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {error}");
            None
        }
    }
}

/// A folder that is removed with the value, and a home in it. Its name has a blank and a non-ASCII
/// letter.
pub(crate) fn home() -> (TempDir, Home) {
    let dir = passable_dir();
    let home = Home::open(Some(&dir.path().join("a höme"))).unwrap();
    (dir, home)
}

/// Servers started by root run as another user, which must be able to enter.
pub(crate) fn passable_dir() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), Permissions::from_mode(0o711)).unwrap();
    dir
}

/// Small, so that tests are quick.
pub(crate) fn settings(binary: &ServerBinary) -> Settings {
    let memory = HostLimits::read().memory_bytes;
    let mut settings = Settings::new(
        binary.family(),
        &chosen_settings(
            memory,
            ServerLoad { connections_max: 10, statements_per_connection: 1 },
            binary.flavour,
            binary.version,
        ),
    );
    let text = |value: &str| truetps_record::SettingValue::Text(value.to_owned());
    settings.set("innodb_buffer_pool_size", text("64M"));
    if settings.get("innodb_redo_log_capacity").is_some() {
        settings.set("innodb_redo_log_capacity", text("32M"));
    } else {
        settings.set("innodb_log_file_size", text("16M"));
    }
    settings
}

pub(crate) fn start_options(binary: &ServerBinary) -> StartOptions {
    StartOptions::new(settings(binary))
}

pub(crate) fn sandbox(home: &Home, binary: &ServerBinary) -> Sandbox {
    Sandbox::create(home, binary, &SandboxOptions::new(Settings::empty(binary.family()))).unwrap()
}

/// Ended, or a zombie whose parent has not waited for it.
pub(crate) fn is_gone(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with('Z'))
}

/// Waits for an event; a test that waits longer has failed.
pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_mins(1);
    while !is_so() {
        assert!(Instant::now() < end, "{what}: not after a minute");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A process of the test: killed and waited for also after a failed assertion.
pub(crate) struct Killed(pub(crate) Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn names_in(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    names
}
