//! What the tests of the command share: a place of their own, and runs of the real program.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "each test program uses a part of it, and a test may panic"
)]

pub(crate) mod terminal;

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::LazyLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use truetps_testkit::{
    MachineGuard, contradictions, free_port, keep_templates, lend_templates, share_machine,
};

/// Two levels, two numbers of connections, two blocks with their twins: ten trials of a third of a
/// second.
pub(crate) const SMALL: &str = r#"
name = "small"
about = "a test"
[workload]
name = "insert"
table_rows = 500
[load]
warm_up_s = 0.1
measure_s = 0.5
[factors]
innodb_flush_log_at_trx_commit = [1, 0]
connections = [1, 4]
[design]
blocks = 2
"#;

/// The plan with a redo log that is soon worn in: each byte of the usual 512 MB is written before
/// the first trial.
pub(crate) fn with_small_redo(plan: &str) -> String {
    const SETTINGS: &str = "[server.settings]\n";
    let with = format!("{SETTINGS}innodb_log_file_size = \"32M\"\n");
    if plan.contains(SETTINGS) { plan.replace(SETTINGS, &with) } else { format!("{plan}\n{with}") }
}

/// A small redo log, for a run without a plan.
pub(crate) const SMALL_REDO: &str = "--set=innodb_log_file_size=32M";
/// A small WAL, for a run on a PostgreSQL without a plan.
pub(crate) const SMALL_WAL: &str = "--set=min_wal_size=32MB";

/// The words for why a trial of `run.json` is invalid or partial; empty for a valid one.
pub(crate) fn reason_of(trial: &serde_json::Value) -> String {
    let validity: truetps_record::Validity =
        serde_json::from_value(trial["validity"].clone()).unwrap();
    validity.reason().map(ToString::to_string).unwrap_or_default()
}

/// A folder with a space in its name, which holds runs and private servers of one test.
pub(crate) struct Place {
    dir: tempfile::TempDir,
    has_templates: bool,
    _machine: MachineGuard,
}

#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let ran = Self {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        };
        // All answers of all tests are a corpus: no figure contradicts the one beside it.
        let odd = contradictions(&ran.stdout);
        assert!(odd.is_empty(), "{odd:#?}\n{}", ran.stdout);
        ran
    }
}

/// The program, with the signals that tests send: what runs the tests may ignore them, and a
/// program that starts so keeps ignoring them.
#[expect(clippy::disallowed_methods, reason = "the program under test")]
fn heeding_signals(program: &Path) -> Command {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
    // SIGHUP, SIGINT and SIGTERM.
    if u64::from_str_radix(ignored, 16).unwrap() & 0b100_0000_0000_0011 == 0 {
        return Command::new(program);
    }
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP,INT,TERM").arg(program);
    command
}

impl Place {
    pub(crate) fn new() -> Self {
        let machine = share_machine();
        let dir = tempfile::Builder::new().prefix("truetps test ").tempdir().unwrap();
        // The server's user passes through it where the tests run as root.
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o711)).unwrap();
        Self { dir, has_templates: false, _machine: machine }
    }

    /// For private servers that need not be made from nothing.
    pub(crate) fn with_templates() -> Self {
        let mut place = Self::new();
        place.has_templates = true;
        lend_templates(&place.home()).unwrap();
        place
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.path().join("sand box")
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.program(Path::new(env!("CARGO_BIN_EXE_truetps")), args)
    }

    /// A command of truetps by another name, or of another program.
    pub(crate) fn program(&self, program: &Path, args: &[&str]) -> Command {
        let mut command = heeding_signals(program);
        command
            .args(args)
            .current_dir(self.path())
            .env("TRUETPS_SANDBOX_DIR", self.home())
            .stdin(Stdio::null());
        // Journals of external servers: not in the state folder of the user who runs the tests.
        command.env("XDG_STATE_HOME", self.path().join("state"));
        // Runs of other tests are no company.
        command.env("TRUETPS_PRESENCE", self.path().file_name().unwrap());
        // And no login of that user.
        command.env("HOME", self.path());
        // Where tests look for what any program has recorded.
        command.env("TRUETPS_RUNS", "runs");
        for name in
            ["TRUETPS_BASEDIR", "TRUETPS_DSN", "TRUETPS_SERVER", "TRUETPS_FORMAT", "NO_COLOR"]
        {
            command.env_remove(name);
        }
        for name in [
            "TRUETPS_COLOR",
            "TRUETPS_WORKERS",
            "TRUETPS_PIN",
            "TRUETPS_PROBE_INTERVAL",
            "TRUETPS_CONFIG",
        ] {
            command.env_remove(name);
        }
        for name in ["TRUETPS_WARM_UP", "TRUETPS_MEASURE", "TRUETPS_COMPLETE", "XDG_CONFIG_HOME"] {
            command.env_remove(name);
        }
        for name in
            ["TRUETPS_PASSWORD", "TRUETPS_PASSWORD_A", "TRUETPS_PASSWORD_B", "TRUETPS_PARTS_SECRET"]
        {
            command.env_remove(name);
        }
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.command(args).output().unwrap().into()
    }

    pub(crate) fn start(&self, args: &[&str]) -> Child {
        self.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Runs what must end well.
    pub(crate) fn good(&self, args: &[&str]) -> Ran {
        let ran = self.run(args);
        assert_eq!(ran.code, Some(0), "{args:?}\n{}{}", ran.stdout, ran.stderr);
        ran
    }

    /// Runs what must be refused, with these words.
    pub(crate) fn refused(&self, args: &[&str], expect: &[&str]) {
        let ran = self.run(args);
        assert_eq!(ran.code, Some(2), "{args:?}\n{}{}", ran.stdout, ran.stderr);
        for words in expect {
            assert!(
                ran.stderr.contains(words),
                "{args:?}\n{}\nshould contain\n{words}",
                ran.stderr
            );
        }
    }

    /// Starts a server with a name on a port that was free a moment ago, again if another process
    /// has taken the port since.
    pub(crate) fn start_on_a_port(&self, name: &str) -> (u16, Ran) {
        for attempt in 0.. {
            let port = free_port();
            let ran = self.run(&["server", "start", name, "--port", &port.to_string()]);
            if ran.code == Some(0) {
                return (port, ran);
            }
            assert!(
                attempt < 5 && [Some(2), Some(4)].contains(&ran.code),
                "{}{}",
                ran.stdout,
                ran.stderr
            );
        }
        unreachable!()
    }

    /// What is there of servers with names, with their locks.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        let entries = fs::read_dir(self.home().join("named")).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    /// Process numbers of servers that run in this place.
    pub(crate) fn servers(&self) -> Vec<u32> {
        let home = self.home().display().to_string();
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        numbers
            .filter(|pid| {
                let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                let command = String::from_utf8_lossy(&command).into_owned();
                command.contains("--datadir=") && command.contains(&home)
            })
            .collect()
    }

    /// The newest experiment.
    pub(crate) fn latest(&self) -> PathBuf {
        self.path().join("runs/latest").canonicalize().unwrap()
    }

    /// Waits until a trial of the newest experiment has written so many intervals.
    pub(crate) fn wait_for_interval(&self, trial: &str) {
        let path = self.path().join("runs/latest").join(trial).join("intervals.jsonl");
        wait_until(&format!("an interval in {}", path.display()), || {
            fs::read_to_string(&path).is_ok_and(|text| text.contains('\n'))
        });
    }

    pub(crate) fn run_json(&self, trial: &str) -> serde_json::Value {
        let path = self.latest().join(trial).join("run.json");
        serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.has_templates {
            keep_templates(&self.home());
        }
    }
}

/// Servers with names outlive the command that started them, so that a test that fails must not
/// leave any.
pub(crate) struct Ends<'a>(pub(crate) &'a Place);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        for name in self.0.leftovers().iter().filter(|name| !name.starts_with('.')) {
            self.0.run(&["server", "remove", name, "--force"]);
        }
    }
}

/// Copies a folder with all that is in it.
pub(crate) fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Waits for something that must come; a test that waits longer has failed.
pub(crate) fn wait_until(what: &str, mut is_there: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_there() {
        assert!(began.elapsed() < Duration::from_mins(1), "waited a minute for {what}");
        sleep(Duration::from_millis(10));
    }
}

/// A terminal: the user's end, and the program's end.
pub(crate) fn open_terminal() -> (OwnedFd, OwnedFd) {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&person).unwrap();
    unlockpt(&person).unwrap();
    let name = ptsname(&person, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let program = rustix::fs::open(name.as_c_str(), flags, Mode::empty()).unwrap();
    (person, program)
}

/// Sends a signal to a process that the test has started.
pub(crate) fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid.try_into().unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

/// Sends a signal, and waits until the process has taken it: a second one that comes before would
/// be one with it.
pub(crate) fn signal_taken(pid: u32, which: rustix::process::Signal) {
    signal(pid, which);
    wait_until("a signal to be taken", || {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let waiting = |line: &str| {
            let mask = line.strip_prefix("SigPnd:").or_else(|| line.strip_prefix("ShdPnd:"));
            mask.is_some_and(|mask| {
                u64::from_str_radix(mask.trim(), 16).unwrap() & 1 << (which.as_raw() - 1) != 0
            })
        };
        !status.lines().any(waiting)
    });
}

/// Seconds of processor time that a process has had.
pub(crate) fn cpu_seconds(pid: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields = stat[stat.rfind(')').unwrap() + 1..].split_ascii_whitespace().skip(11).take(2);
    let ticks: u64 = fields.map(|field| field.parse::<u64>().unwrap()).sum();
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

/// Whether this machine has a server. Says loudly when it has none; CI must have one.
pub(crate) fn has_server() -> bool {
    // Asked once: the answer takes a start of the server.
    static FOUND: LazyLock<Ran> =
        LazyLock::new(|| Place::new().run(&["plan", "check", "durability"]));
    if FOUND.code == Some(0) {
        return true;
    }
    assert!(
        std::env::var_os("TRUETPS_REQUIRE_SERVER").is_none(),
        "TRUETPS_REQUIRE_SERVER is set and there is no server: {}",
        FOUND.stderr
    );
    eprintln!("SKIPPED: no database server on this machine: {}", FOUND.stderr);
    false
}

/// Whether this machine has strace, and lets it attach; CI must have it.
pub(crate) fn has_strace() -> bool {
    #[expect(clippy::disallowed_methods, reason = "a real tool")]
    let found =
        Command::new("strace").arg("-V").output().is_ok_and(|output| output.status.success());
    assert!(
        found || std::env::var_os("TRUETPS_REQUIRE_SERVER").is_none(),
        "TRUETPS_REQUIRE_SERVER is set and there is no strace"
    );
    found
}

/// Whether this machine can mount emulated disks: they need root, FUSE and loop devices.
pub(crate) fn has_disks(test: &str) -> bool {
    let has = rustix::process::geteuid().is_root()
        && ["/dev/fuse", "/dev/loop-control"].iter().all(|device| Path::new(device).exists());
    if !has {
        eprintln!("SKIPPED {test}: no root, /dev/fuse or /dev/loop-control");
    }
    has
}

/// Lines of the kernel's list of mounts.
pub(crate) fn mounts_below(folder: &Path) -> Vec<String> {
    // Blanks of paths are octal numbers there.
    let folder = folder.display().to_string().replace(' ', "\\040");
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    mounts.lines().filter(|line| line.contains(&folder)).map(str::to_owned).collect()
}
