//! Servers that a test starts itself, to be measured with `--dsn`.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "each test program uses a part of it, and a test may panic"
)]

pub(crate) mod external;
pub(crate) mod relay;
pub(crate) mod row_service;
pub(crate) mod spreading_proxy;

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;
use truetps_disk::{DiskCrash, DiskProfile, LabLevel};
use truetps_driver::Client;
use truetps_record::{Family, SettingValue};
use truetps_sandbox::{
    Home, RunningServer, Sandbox, SandboxDisk, SandboxError, SandboxOptions, ServerBinary,
    ServerVersion, Settings, StartOptions,
};
use truetps_testkit::{TestHome, free_port};

use crate::common::{Place, Ran};

const SOON: Duration = Duration::from_secs(20);
const PORT_TRIES: u32 = 3;

/// The account of the load: it may do everything in schemas of this name, and nothing elsewhere.
pub(crate) const ACCOUNT: &str = "loader";
/// A word that appears only if a password has leaked, with letters that a DSN must encode.
pub(crate) const PASSWORD: &str = "h1dden/pass@word?";
pub(crate) const PASSWORD_ENCODED: &str = "h1dden%2Fpass%40word%3F";
/// No record may have this part of it, in whatever encoding.
const PASSWORD_PART: &str = "h1dden";

/// An external server, on a socket and on 127.0.0.1: it has a database of its owner, and an account
/// for the load.
pub(crate) struct Owned {
    pub(crate) server: RunningServer,
    pub(crate) port: u16,
    sandbox: Sandbox,
    /// `None`: the home is the test's.
    _home: Option<TestHome>,
}

/// The name that this version has for the size of its redo log.
pub(crate) fn redo_setting(binary: &ServerBinary) -> &'static str {
    let new = !binary.is_mariadb() && binary.version >= ServerVersion::new(8, 0, 30);
    if new { "innodb_redo_log_capacity" } else { "innodb_log_file_size" }
}

impl Owned {
    pub(crate) fn start(binary: &ServerBinary, settings: &[(&str, &str)]) -> Self {
        let home = TestHome::new();
        let owned = Self::start_in(home.home(), binary, settings);
        Self { _home: Some(home), ..owned }
    }

    pub(crate) fn start_in(home: &Home, binary: &ServerBinary, settings: &[(&str, &str)]) -> Self {
        // Options that the datadir must be created with.
        let mut made_with = Settings::empty(binary.family());
        for (name, value) in settings.iter().filter(|(name, _)| *name == "lower_case_table_names") {
            made_with.set(name, SettingValue::Text((*value).to_owned()));
        }
        let options = SandboxOptions {
            settings: made_with,
            ..SandboxOptions::new(Settings::empty(binary.family()))
        };
        let sandbox = Sandbox::create(home, binary, &options).unwrap();
        let (server, port) =
            start(&sandbox, &[&[(redo_setting(binary), "32M")], settings].concat());
        let owned = Self { server, port, sandbox, _home: None };
        owned.execute(&[
            "CREATE DATABASE precious",
            "CREATE TABLE precious.letters (id INT PRIMARY KEY, line TEXT)",
            "INSERT INTO precious.letters VALUES (1, 'one'), (2, 'two'), (3, 'three')",
            &format!("CREATE USER {ACCOUNT}@'%' IDENTIFIED BY '{PASSWORD}'"),
            &format!("GRANT ALL ON `truetps%`.* TO {ACCOUNT}@'%'"),
        ]);
        owned
    }

    /// Stopped and started again, at the same socket and port: the latter is a part of what a
    /// MariaDB is known by.
    pub(crate) fn restarted(self, binary: &ServerBinary, settings: &[(&str, &str)]) -> Self {
        self.restarted_after(Duration::ZERO, binary, settings)
    }

    /// The server, started again after it has been down for so long at least.
    pub(crate) fn restarted_after(
        self,
        down: Duration,
        binary: &ServerBinary,
        settings: &[(&str, &str)],
    ) -> Self {
        let Self { server, port, sandbox, _home: home } = self;
        server.stop(SOON).unwrap();
        sleep(down);
        let server =
            start_at(&sandbox, port, &[&[(redo_setting(binary), "32M")], settings].concat())
                .unwrap();
        Self { server, port, sandbox, _home: home }
    }

    /// Killed, and started again at once.
    pub(crate) fn restarted_after_kill(self, binary: &ServerBinary) -> Self {
        let Self { server, port, sandbox, _home: home } = self;
        server.kill().unwrap();
        let server = start_at(&sandbox, port, &[(redo_setting(binary), "32M")]).unwrap();
        Self { server, port, sandbox, _home: home }
    }

    /// On an emulated disk, which loses what was not flushed when its power is cut.
    pub(crate) fn start_on_disk(
        binary: &ServerBinary,
        profile: &str,
        settings: &[(&str, &str)],
    ) -> Self {
        let home = TestHome::new();
        let disk = SandboxDisk {
            level: LabLevel::Block,
            profile: DiskProfile::find(profile).unwrap(),
            seed: 1,
            helper: env!("CARGO_BIN_EXE_truetps").into(),
        };
        let options = SandboxOptions {
            disk: Some(disk),
            ..SandboxOptions::new(Settings::empty(binary.family()))
        };
        let sandbox = Sandbox::create(home.home(), binary, &options).unwrap();
        let (server, port) =
            start(&sandbox, &[&[(redo_setting(binary), "32M")], settings].concat());
        let owned = Self { server, port, sandbox, _home: Some(home) };
        owned.execute(&["CREATE DATABASE precious"]);
        owned
    }

    /// From now on the disk is as slow as its profile says.
    pub(crate) fn slow_down_disk(&self) {
        self.sandbox.set_disk_timed(true).unwrap();
    }

    /// The server is dead before its disk loses anything, so that nothing is acknowledged
    /// afterwards. Returns the number of blocks that the disk has lost.
    pub(crate) fn after_power_cut(
        self,
        binary: &ServerBinary,
        settings: &[(&str, &str)],
        crash: DiskCrash,
    ) -> (Self, u64) {
        let Self { server, port, sandbox, _home: home } = self;
        server.kill().unwrap();
        let lost = sandbox.crash_disk(crash).unwrap();
        let server =
            start_at(&sandbox, port, &[&[(redo_setting(binary), "32M")], settings].concat())
                .unwrap();
        (Self { server, port, sandbox, _home: home }, lost)
    }

    pub(crate) fn admin(&self) -> Client {
        self.server.connect(SOON).unwrap()
    }

    pub(crate) fn execute(&self, statements: &[&str]) {
        let mut admin = self.admin();
        for sql in statements {
            admin.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
    }

    /// The owner, by the socket.
    pub(crate) fn socket_dsn(&self) -> String {
        format!("mysql://root@?socket={}", self.server.socket().display())
    }

    /// The account of the load, by TCP; the password comes from elsewhere.
    pub(crate) fn tcp_dsn(&self) -> String {
        format!("mysql://{ACCOUNT}@127.0.0.1:{}", self.port)
    }

    /// Everything that must be the same before and after: databases, accounts, settings, and the
    /// owner's rows.
    pub(crate) fn belongings(&self) -> Vec<String> {
        let mut admin = self.admin();
        let mut all = Vec::new();
        for sql in [
            "SHOW DATABASES",
            "CHECKSUM TABLE precious.letters",
            "SELECT CONCAT(user, '@', host) FROM mysql.user ORDER BY 1",
            "SHOW GLOBAL VARIABLES WHERE variable_name NOT LIKE 'gtid%' AND variable_name NOT LIKE \
             '%_pos'",
        ] {
            let rows = admin.query(sql).unwrap().rows;
            all.extend(rows.iter().map(|row| format!("{row:?}")));
        }
        all
    }
}

/// Between the look for a free port and the server's, another one may have taken it.
fn start(sandbox: &Sandbox, settings: &[(&str, &str)]) -> (RunningServer, u16) {
    for attempt in 0.. {
        let port = free_port();
        match start_at(sandbox, port, settings) {
            Ok(server) => return (server, port),
            Err(SandboxError::Start { log, .. })
                if attempt < PORT_TRIES && log.contains("already in use") => {}
            Err(error) => panic!("{error}"),
        }
    }
    unreachable!()
}

fn start_at(
    sandbox: &Sandbox,
    port: u16,
    settings: &[(&str, &str)],
) -> Result<RunningServer, SandboxError> {
    let mut all = Settings::empty(Family::Mysql);
    let mut set = |name: &str, value: &str| all.set(name, SettingValue::Text(value.to_owned()));
    set("skip_networking", "OFF");
    set("bind_address", "127.0.0.1");
    set("port", &port.to_string());
    set("innodb_buffer_pool_size", "64M");
    for (name, value) in settings {
        set(name, value);
    }
    sandbox.start(&StartOptions::new(all))
}

/// `truetps run` of a short trial at this address, with more flags. Short, but longer than a loaded
/// machine stands still at times: a trial in which no client finishes a transaction is not valid.
pub(crate) fn short_run<'a>(workload: &'a str, dsn: &'a str, flags: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec!["run", workload, "--dsn", dsn, "--warm-up=0.1", "--measure=2"];
    args.extend(flags);
    args
}

/// Runs with the password in the environment, where a password belongs.
pub(crate) fn run_with_password(place: &Place, args: &[&str]) -> Ran {
    place.command(args).env("TRUETPS_PASSWORD", PASSWORD).output().unwrap().into()
}

/// The newest experiment's only trial is evidence.
pub(crate) fn valid_trial(place: &Place, ran: &Ran) -> Value {
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let trial = place.run_json("trial-0001");
    assert_eq!(trial["validity"]["state"], "valid", "{trial}");
    assert!(trial["measured"]["ok"].as_u64().unwrap() > 0, "{trial}");
    trial
}

/// The password is neither in what was printed nor in any file of the place.
pub(crate) fn assert_secret(place: &Place, ran: &Ran) {
    for text in [&ran.stdout, &ran.stderr] {
        assert!(!text.contains(PASSWORD_PART), "{text}");
    }
    let mut folders = vec![place.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                let bytes = fs::read(entry.path()).unwrap();
                let is_in = bytes
                    .windows(PASSWORD_PART.len())
                    .any(|window| window == PASSWORD_PART.as_bytes());
                assert!(!is_in, "{} has the password", entry.path().display());
            }
        }
    }
}
