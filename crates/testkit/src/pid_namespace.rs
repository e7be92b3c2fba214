//! Runs a test again in a new pid namespace, in which outside processes have no pid.

use std::ffi::OsStr;
use std::io::Write;
use std::process::{Command, Stdio};

const INSIDE: &str = "TRUETPS_TEST_IN_PID_NAMESPACE";

/// The value that the outer run of the test prepared for the inner one.
pub fn inside_pid_namespace() -> Option<String> {
    std::env::var(INSIDE).ok()
}

/// Runs the test of this full name again in a new pid namespace, where [`inside_pid_namespace`]
/// returns `prepared`. `false`, with a message, if this host cannot create one.
///
/// # Panics
/// If the inner run fails.
pub fn run_in_pid_namespace(test: &str, prepared: &str) -> bool {
    const WAYS: [&[&str]; 2] =
        [&["--pid", "--fork"], &["--user", "--map-root-user", "--pid", "--fork"]];
    let program = std::env::current_exe().unwrap_or_default();
    let unshare = |way: &[&str], words: &[&OsStr]| {
        #[allow(clippy::disallowed_methods, reason = "a test in a namespace of its own")]
        let mut command = Command::new("unshare");
        command.args(way).args(words).env(INSIDE, prepared).stdin(Stdio::null()).output().ok()
    };
    let is_possible =
        |way: &&&[&str]| unshare(way, &["true".as_ref()]).is_some_and(|ran| ran.status.success());
    let Some(ran) = WAYS.iter().find(is_possible).and_then(|way| {
        unshare(
            way,
            &[program.as_os_str(), "--exact".as_ref(), test.as_ref(), "--nocapture".as_ref()],
        )
    }) else {
        // Directly to stderr, because the harness hides the output of passing tests.
        let _ =
            writeln!(std::io::stderr(), "SKIPPED {test}: `unshare --pid` makes no namespace here");
        return false;
    };
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(
        ran.status.success() && text.contains("1 passed"),
        "{text}{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    true
}
