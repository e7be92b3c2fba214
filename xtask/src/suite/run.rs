//! Runs test programs beside each other. The output of each is kept, and printed when it ends.

use std::fs::{self, File};
use std::io;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use tempfile::TempDir;

use super::program::TestProgram;

/// For one program, with all that runs beside it.
const RUN_MAX: Duration = Duration::from_mins(40);
const PAUSE: Duration = Duration::from_millis(50);
/// Names the folder of permits to tests (`crates/testkit/src/permits.rs`).
const PERMITS: &str = "TRUETPS_TEST_PERMITS";
const THREADS: &str = "RUST_TEST_THREADS";
/// The exit code of a program that has run all its tests, and some failed.
const TESTS_FAILED: i32 = 101;

pub(super) struct Suite<'a> {
    /// One file for each permit.
    permits: TempDir,
    permit_count: usize,
    cores: usize,
    /// The user has said how many threads a program has.
    threads_are_named: bool,
    filter: Option<&'a str>,
    /// Programs print one after the other.
    printing: Mutex<()>,
}

/// How a program ended.
pub(super) struct ProgramRun {
    name: String,
    end: Result<ExitStatus, String>,
    output: String,
}

impl<'a> Suite<'a> {
    pub(super) fn new(
        permit_count: usize,
        cores: usize,
        filter: Option<&'a str>,
    ) -> anyhow::Result<Self> {
        let permits = tempfile::Builder::new().prefix("truetps-permits").tempdir()?;
        for number in 0..permit_count {
            fs::write(permits.path().join(format!("{number:03}")), "")?;
        }
        let threads_are_named = std::env::var_os(THREADS).is_some();
        let printing = Mutex::new(());
        Ok(Self { permits, permit_count, cores, threads_are_named, filter, printing })
    }

    /// All tests but the reserved ones.
    pub(super) fn run_shared(&self, programs: &[TestProgram]) -> Vec<ProgramRun> {
        let (with_permits, others): (Vec<_>, Vec<_>) =
            programs.iter().partition(|program| program.takes_permits);
        thread::scope(|scope| {
            let beside = with_permits.into_iter().map(|program| {
                scope
                    .spawn(move || self.run(program, &self.shared_args(program), self.permit_count))
            });
            let beside: Vec<_> = beside.collect();
            let others = others.into_iter().map(|program| {
                // These tests ask for none, and keep the cores busy.
                let _permit = self.first_permit();
                self.run(program, &self.shared_args(program), self.cores)
            });
            let mut runs: Vec<_> = others.collect();
            runs.extend(beside.into_iter().map(|run| run.join().expect("a run does not panic")));
            runs
        })
    }

    /// Tests that judge a length of time. Their permits keep them apart, as each needs it.
    pub(super) fn run_reserved(&self, programs: &[TestProgram]) -> Vec<ProgramRun> {
        let reserved = programs.iter().map(|program| (program, self.reserved_names(program)));
        let (with_permits, others): (Vec<_>, Vec<_>) = reserved
            .filter(|(_, names)| !names.is_empty())
            .partition(|(program, _)| program.takes_permits);
        // Nothing but their own locks keeps these apart.
        let mut runs: Vec<_> =
            others.iter().map(|(program, names)| self.run(program, names, self.cores)).collect();
        thread::scope(|scope| {
            let beside = with_permits
                .iter()
                .map(|(program, names)| scope.spawn(|| self.run(program, names, self.cores)));
            let beside: Vec<_> = beside.collect();
            runs.extend(beside.into_iter().map(|run| run.join().expect("a run does not panic")));
        });
        runs
    }

    fn shared_args(&self, program: &TestProgram) -> Vec<String> {
        let skipped = program.reserved.iter().flat_map(|name| ["--skip", name]);
        self.filter.into_iter().chain(skipped).map(str::to_owned).collect()
    }

    /// Filters of a test program, which takes the tests that match any of them. The names of
    /// reserved tests have no path: of a filter with one, the last part decides, so that rather too
    /// many are run than too few.
    fn reserved_names(&self, program: &TestProgram) -> Vec<String> {
        let filter = self.filter.unwrap_or_default();
        let filter = filter.rsplit("::").next().unwrap_or(filter);
        program.reserved.iter().filter(|name| name.contains(filter)).cloned().collect()
    }

    fn first_permit(&self) -> io::Result<File> {
        let permit = File::open(self.permits.path().join("000"))?;
        permit.lock()?;
        Ok(permit)
    }

    fn run(&self, program: &TestProgram, args: &[String], threads: usize) -> ProgramRun {
        let began = Instant::now();
        let (end, output) = match self.run_into_file(program, args, threads) {
            Ok((end, output)) => (end, output),
            Err(error) => (Err(format!("{error:#}")), String::new()),
        };
        let run = ProgramRun { name: program.name.clone(), end, output };
        let _one_at_a_time = self.printing.lock();
        println!("== {}: {:.0} s{}", run.name, began.elapsed().as_secs_f64(), run.trouble());
        println!("{}", run.output.trim());
        run
    }

    /// A file takes the output: who holds a pipe open would keep this waiting.
    fn run_into_file(
        &self,
        program: &TestProgram,
        args: &[String],
        threads: usize,
    ) -> anyhow::Result<(Result<ExitStatus, String>, String)> {
        let output = tempfile::NamedTempFile::new()?;
        // One place to write at for both: with two, each would overwrite the other.
        let written = output.reopen()?;
        #[expect(clippy::disallowed_methods, reason = "a test program")]
        let mut command = Command::new(&program.executable);
        if !self.threads_are_named {
            command.env(THREADS, threads.to_string());
        }
        // A test of the permits themselves would wait for the one that is held for its program.
        if program.takes_permits {
            command.env(PERMITS, self.permits.path());
        }
        let child = command
            .args(args)
            .current_dir(&program.package_folder)
            .env("CARGO_MANIFEST_DIR", &program.package_folder)
            .stdin(Stdio::null())
            .stdout(written.try_clone()?)
            .stderr(written)
            .spawn()
            .with_context(|| program.executable.display().to_string())?;
        let end = wait(child)?;
        Ok((end, String::from_utf8_lossy(&fs::read(output.path())?).into_owned()))
    }
}

/// Ends a program that runs too long. Servers of its tests end with it.
fn wait(mut child: Child) -> io::Result<Result<ExitStatus, String>> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ok(status));
        }
        if began.elapsed() > RUN_MAX {
            child.kill()?;
            child.wait()?;
            return Ok(Err(format!("more than {} s: killed", RUN_MAX.as_secs())));
        }
        thread::sleep(PAUSE);
    }
}

impl ProgramRun {
    /// One for each test, and one for the program if it names none, or did not come to its end.
    pub(super) fn failures(&self) -> Vec<String> {
        let (trouble, has_run_all) = match &self.end {
            Ok(status) if status.success() => return Vec::new(),
            Ok(status) => (status.to_string(), status.code() == Some(TESTS_FAILED)),
            Err(trouble) => (trouble.clone(), false),
        };
        let failed = self
            .output
            .lines()
            .filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"));
        let mut failures: Vec<_> = failed.map(|test| format!("{}: {test}", self.name)).collect();
        if failures.is_empty() || !has_run_all {
            failures.push(format!("{}: {trouble}", self.name));
        }
        failures
    }

    /// Whether a test was run.
    pub(super) fn has_tests(&self) -> bool {
        let counts = self.output.lines().filter_map(|line| line.strip_prefix("running "));
        counts.into_iter().any(|rest| !rest.starts_with("0 "))
    }

    fn trouble(&self) -> &'static str {
        if self.failures().is_empty() { "" } else { ": FAILED" }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    fn run(end: Result<i32, &str>, output: &str) -> ProgramRun {
        let end = end.map(ExitStatus::from_raw).map_err(str::to_owned);
        ProgramRun { name: "a/b".to_owned(), end, output: output.to_owned() }
    }

    #[test]
    fn failures_name_the_tests_or_the_program() {
        let output = "test c::d ... ok\ntest c::e ... FAILED\n\nfailures:\n    c::e\n";
        assert!(run(Ok(0), output).failures().is_empty());
        assert_eq!(run(Ok(101 << 8), output).failures(), ["a/b: c::e"]);
        let aborted = run(Ok(6), output).failures();
        assert_eq!(aborted, ["a/b: c::e", "a/b: signal: 6 (SIGABRT)"]);
        assert_eq!(run(Ok(101 << 8), "test c").failures(), ["a/b: exit status: 101"]);
        assert_eq!(run(Ok(9), "").failures(), ["a/b: signal: 9 (SIGKILL)"]);
        assert_eq!(run(Err("killed"), output).failures(), ["a/b: c::e", "a/b: killed"]);
    }

    /// A script in place of a program says what it was asked for.
    #[test]
    fn reserved_tests_run_after_all_others() {
        let dir = tempfile::tempdir().unwrap();
        let executable = dir.path().join("program");
        fs::write(
            &executable,
            "#!/bin/sh\necho \"$PWD $RUST_TEST_THREADS: $*\"\necho second >&2\necho third\n",
        )
        .unwrap();
        fs::set_permissions(&executable, fs::Permissions::from_mode(0o755)).unwrap();
        let program = |takes_permits, reserved: &[&str]| TestProgram {
            name: "a/b".to_owned(),
            executable: executable.clone(),
            package_folder: dir.path().to_owned(),
            takes_permits,
            reserved: reserved.iter().copied().map(str::to_owned).collect(),
        };
        let programs = [program(true, &["slow", "quick"]), program(false, &[])];
        // Of the suite that runs this test.
        let threads_are_named = false;
        let suite = Suite { threads_are_named, ..Suite::new(6, 2, Some("low")).unwrap() };
        let said = |runs: Vec<ProgramRun>| {
            let outputs =
                runs.iter().map(|run| run.output.replace(dir.path().to_str().unwrap(), ""));
            outputs.collect::<Vec<_>>()
        };
        let shared = said(suite.run_shared(&programs));
        let lines = |first: &str| format!("{first}\nsecond\nthird\n");
        let expect = [" 2: low", " 6: low --skip slow --skip quick"].map(lines);
        assert_eq!(shared, expect, "of both streams, in their order");
        assert_eq!(said(suite.run_reserved(&programs)), [lines(" 2: slow")]);
    }
}
