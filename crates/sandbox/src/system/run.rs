//! Runs a program to its end and returns its output, with limits of time and size.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::system::server_user::ServerUser;
use crate::system::spawn::spawn_bound_to_us;

/// The output of `--verbose --help` of the largest server is a quarter of this.
const OUTPUT_BYTES_MAX: u64 = 1 << 20;
/// Environment variables that a program inherits: those that it needs to run. Others could change
/// what is measured (a preloaded library) or where settings are read from (`MYSQL_HOME`).
const PASSED_ON: [&str; 3] = ["PATH", "LD_LIBRARY_PATH", "TZ"];

pub(crate) struct ProgramOutput {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl ProgramOutput {
    /// The last non-empty line, for an error message.
    pub(crate) fn last_words(&self) -> String {
        let lines = self.stdout.lines().chain(self.stderr.lines());
        lines
            .map(str::trim)
            .rfind(|line| !line.is_empty())
            .unwrap_or("nothing was printed")
            .to_owned()
    }
}

/// A command with the minimal environment in which servers are started.
pub(crate) fn quiet_command(program: &Path) -> Command {
    #[allow(clippy::disallowed_methods, reason = "the one place where a process is described")]
    let mut command = Command::new(program);
    command.env_clear().stdin(Stdio::null()).env("LC_ALL", "C");
    for name in PASSED_ON {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
}

/// Runs `program` as `user` and waits for it. `TimedOut` if it was killed after `time_limit`.
pub(crate) fn run_to_end(
    program: &Path,
    arguments: &[OsString],
    input: Option<File>,
    user: &ServerUser,
    time_limit: Duration,
) -> io::Result<ProgramOutput> {
    let (mut stdout, mut stderr) = (memory_file("stdout")?, memory_file("stderr")?);
    let mut command = quiet_command(program);
    command.args(arguments).stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
    if let Some(input) = input {
        command.stdin(input);
    }
    // A folder that every uid may enter: the current one may be closed to the server's user.
    command.current_dir("/");
    let mut child = spawn_bound_to_us(command, user)?;
    let Some(status) = wait_for(&mut child, time_limit)? else {
        // A script may have started the program and wait for it: the child's whole process group is
        // killed.
        let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
        child.kill()?;
        child.wait()?;
        return Err(io::Error::new(
            io::ErrorKind::TimedOut,
            format!("did not end within {} s", time_limit.as_secs()),
        ));
    };
    Ok(ProgramOutput { status, stdout: content(&mut stdout)?, stderr: content(&mut stderr)? })
}

fn memory_file(name: &str) -> io::Result<File> {
    Ok(File::from(memfd_create(name, MemfdFlags::CLOEXEC)?))
}

fn content(file: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(OUTPUT_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Waits at most `time_limit` for a child to end.
pub(crate) fn wait_for(child: &mut Child, time_limit: Duration) -> io::Result<Option<ExitStatus>> {
    let end = Instant::now() + time_limit;
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= end {
            return Ok(None);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, time_limit: Duration) -> io::Result<ProgramOutput> {
        let arguments = ["-c".into(), script.into()];
        run_to_end(Path::new("/bin/sh"), &arguments, None, &ServerUser::ourselves(), time_limit)
    }

    #[test]
    fn output_and_exit_code_are_kept() {
        let output = shell("echo one; echo two >&2; exit 3", Duration::from_secs(10)).unwrap();
        assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("one\n", "two\n"));
        assert_eq!((output.status.code(), output.last_words().as_str()), (Some(3), "two"));
    }

    #[test]
    fn time_is_bounded() {
        let started = Instant::now();
        let error = shell("sleep 30", Duration::from_millis(50)).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(started.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn what_a_script_has_started_ends_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pid");
        let script =
            format!("sleep 60 & echo $! > '{}.new'; mv '{0}.new' '{0}'; wait", file.display());
        shell(&script, Duration::from_secs(2)).err().unwrap();
        let pid: u32 = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
        let end = Instant::now() + Duration::from_secs(20);
        while crate::system::processes::start_ticks(pid).is_some() {
            assert!(Instant::now() < end, "{pid} lives on");
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn the_environment_is_small() {
        let output = shell("env", Duration::from_secs(10)).unwrap();
        let strange = |line: &&str| {
            !["PATH=", "LC_ALL=", "LD_LIBRARY_PATH=", "TZ=", "PWD=", "SHLVL=", "_="]
                .iter()
                .any(|known| line.starts_with(known))
        };
        assert_eq!(output.stdout.lines().find(strange), None);
    }
}
