//! The two programs, and how they are run.

use std::env;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::Ran;

/// Where Debian puts it; another place on the `PATH` will do.
const DEBIAN: &str = "sysbench";
const UNDER_TEST: &str = "TRUETPS_SYSBENCH_UNDER_TEST";
/// A program that hangs fails its case; it does not hold up the rest.
const LIMIT_S: &str = "40";
/// What a user's environment might have, and would change the outcome.
const VARIABLES: [&str; 10] = [
    "LUA_PATH",
    "LUA_CPATH",
    "LUA_INIT",
    "MYSQL_PWD",
    "MYSQL_TCP_PORT",
    "MYSQL_UNIX_PORT",
    "PGPASSWORD",
    "PGOPTIONS",
    "TRUETPS_DSN",
    "TRUETPS_PASSWORD",
];

/// Something that takes sysbench's command line.
pub(crate) struct Program {
    words: Vec<OsString>,
}

impl Program {
    /// Debian's sysbench.
    pub(crate) fn reference() -> Self {
        let found = env::split_paths(&env::var_os("PATH").unwrap_or_default())
            .map(|folder| folder.join(DEBIAN))
            .find(|path| path.is_file());
        let found = found.expect(
            "sysbench is not installed, which these tests compare with: apt-get install sysbench",
        );
        Self { words: vec![found.into()] }
    }

    pub(crate) fn ours() -> Self {
        let words = env::var_os(UNDER_TEST).map_or_else(
            || vec![env!("CARGO_BIN_EXE_truetps").into(), "sysbench".into()],
            |path| vec![path],
        );
        Self { words }
    }

    /// Whether it is Debian's that stands in for ours, so that nothing deviates.
    pub(crate) fn is_stand_in() -> bool {
        env::var_os(UNDER_TEST).is_some()
    }

    /// Runs it in a folder, which is its home too.
    pub(crate) fn run(&self, folder: &Path, args: &[&str], stdin: &str) -> Ran {
        let mut command = self.command(folder, args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A program that ends before it has read all closes the pipe: no error of the test's.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        child.wait_with_output().unwrap().into()
    }

    #[expect(clippy::disallowed_methods, reason = "the programs under test")]
    pub(crate) fn command(&self, folder: &Path, args: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", LIMIT_S]).args(&self.words).args(args);
        command.current_dir(folder).env("HOME", folder).env("LC_ALL", "C");
        for name in VARIABLES {
            command.env_remove(name);
        }
        command
    }
}
