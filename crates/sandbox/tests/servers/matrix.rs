//! A fetched server boots from a template, accepts its settings, keeps its rows through a clean
//! stop and a crash, and leaves nothing behind. Prints its measurements; asserts no time.
//!
//! Three servers by default; `TRUETPS_TEST_SERVERS=all`, or names in its place, selects others.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use truetps_driver::Client;
use truetps_record::SettingValue;
use truetps_sandbox::{
    Catalogue, Home, RunningServer, Sandbox, SandboxError, SandboxOptions, ServerBinary,
    ServerVersion, Settings, StartOptions, effective_variables, mismatches,
};
use truetps_testkit::for_each_server;
use truetps_testkit::mysql_family::{FetchedServer, chosen_server};

use crate::common::{home, is_gone, names_in, settings, wait_until};

const SOON: Duration = Duration::from_mins(1);
const ROWS: u64 = 200;
/// Most of a commit's time passes while it is in doubt: nearly every kill finds one.
const KILLS_MAX: u32 = 20;

/// What was measured with one server, in milliseconds.
struct Row {
    version: String,
    template: u128,
    copy: u128,
    boot: u128,
    inserts: u128,
    stop: u128,
    crash_restart: u128,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { version, template, copy, boot, inserts, stop, crash_restart } = self;
        write!(
            f,
            "{version:>9} {template:>9} {copy:>6} {boot:>6} {inserts:>8} {stop:>6} \
             {crash_restart:>8}"
        )
    }
}

/// Without `--initialize`; with it; with a new redo log at each start. Of MariaDB the newest.
const USUAL: [&str; 3] = ["mysql-5.7", "mysql-8.0", "mariadb-11.8"];

/// One test for each, so that they run in parallel.
macro_rules! life_test {
    ($test:ident $name:literal) => {
        #[test]
        fn $test() {
            let Some(server) = chosen_server(stringify!($test), $name, &USUAL) else { return };
            let (_dir, home) = home();
            let row = life(&home, &server);
            println!(
                "{:<14} {:>9} {:>9} {:>6} {:>6} {:>8} {:>6} {:>8}   (ms; run = {ROWS} \
                 commits)\n{:<14} {row}",
                "server",
                "version",
                "template",
                "copy",
                "boot",
                "run",
                "stop",
                "restart",
                server.name
            );
        }
    };
}

for_each_server!(life_test);

fn timed<T>(what: impl FnOnce() -> T) -> (T, u128) {
    let start = Instant::now();
    let done = what();
    (done, start.elapsed().as_millis())
}

fn life(home: &Home, server: &FetchedServer) -> Row {
    let binary = &server.binary;
    let options = StartOptions::new(asked(binary));
    check_catalogue(home, binary, &options.settings);
    let create = || {
        Sandbox::create(home, binary, &SandboxOptions::new(Settings::empty(binary.family())))
            .unwrap()
    };
    let (sandbox, template) = timed(create);
    let (other, copy) = timed(create);

    let (running, boot) = timed(|| sandbox.start(&options).unwrap());
    let mut client = running.connect(SOON).unwrap();
    check_server(&running, &mut client, &options.settings);
    let inserts = insert(&mut client);
    check_other_uuid(&other, &options, &mut client);
    drop(client);
    let stopped = running.stop(SOON).unwrap();
    assert!(stopped.clean, "{stopped:?}");

    let running = sandbox.start(&options).unwrap();
    assert_eq!(rows(&running), ROWS);
    running.connect(SOON).unwrap().execute("INSERT INTO t.t (c) VALUES ('one more')").unwrap();
    running.kill().unwrap();
    // With the same binlog settings: the binlog decides transactions in doubt.
    let (running, crash_restart) = timed(|| sandbox.start(&options).unwrap());
    assert_eq!(rows(&running), ROWS + 1);
    running.kill().unwrap();

    check_other_redo_size(&sandbox, &options, binary);
    check_other_binlog(&other, &options, binary);
    check_gone(home, sandbox, other, &options);
    Row {
        version: binary.version.to_string(),
        template,
        copy,
        boot,
        inserts,
        stop: stopped.took.as_millis(),
        crash_restart,
    }
}

/// Small settings for these tests, and some that every server supports and none has by default.
fn asked(binary: &ServerBinary) -> Settings {
    let mut settings = settings(binary);
    settings.set("innodb_flush_log_at_trx_commit", SettingValue::Int(2));
    settings.set("sync_binlog", SettingValue::Int(7));
    settings.set("log_bin", SettingValue::Bool(true));
    settings.set("innodb_doublewrite", SettingValue::Bool(false));
    settings.set("binlog_format", SettingValue::Text("ROW".to_owned()));
    settings
}

/// The program itself knows all defaults of truetps, and refuses invalid values.
fn check_catalogue(home: &Home, binary: &ServerBinary, settings: &Settings) {
    let catalogue = Catalogue::ask(binary, home.user()).unwrap();
    for (name, _) in settings.iter() {
        catalogue.check_name(name).unwrap();
    }
    catalogue.check("sync_binlog", &SettingValue::Int(7)).unwrap();
    catalogue.check("log_bin", &SettingValue::Bool(true)).unwrap();
    catalogue.check("innodb_flush_log_at_trx_commit", &SettingValue::Int(7)).unwrap_err();
    catalogue.check("no_such_setting", &SettingValue::Int(1)).unwrap_err();
}

fn check_server(running: &RunningServer, client: &mut Client, settings: &Settings) {
    assert_eq!(client.peer_pid(), Some(running.pid()));
    let variables = effective_variables(client).unwrap();
    assert_eq!(mismatches(settings, &variables), []);
    assert_eq!(
        (variables["sync_binlog"].as_str(), variables["innodb_doublewrite"].as_str()),
        ("7", "OFF")
    );
    assert_eq!(
        (variables["log_bin"].as_str(), variables["skip_networking"].as_str()),
        ("ON", "ON")
    );
    let users =
        client.query("SELECT user, host FROM mysql.user WHERE user NOT LIKE 'm%.%'").unwrap().rows;
    assert_eq!(users, [["root", "localhost"].map(|text| Some(text.to_owned()))]);
    let databases = client.query("SHOW DATABASES LIKE 'test%'").unwrap().rows;
    assert!(databases.is_empty(), "{databases:?}");
}

fn insert(client: &mut Client) -> u128 {
    client.execute("CREATE DATABASE t").unwrap();
    client
        .execute(
            "CREATE TABLE t.t (id INT AUTO_INCREMENT PRIMARY KEY, c VARCHAR(120)) ENGINE=InnoDB",
        )
        .unwrap();
    let each = |n| client.execute(&format!("INSERT INTO t.t (c) VALUES ('row {n}')")).unwrap();
    timed(|| (0..ROWS).map(each).sum::<u64>()).1
}

fn rows(running: &RunningServer) -> u64 {
    running
        .connect(SOON)
        .unwrap()
        .query_value("SELECT COUNT(*) FROM t.t")
        .unwrap()
        .unwrap()
        .parse()
        .unwrap()
}

/// Two servers of one template differ: MySQL 5.6 and later identifies them by a generated UUID.
fn check_other_uuid(other: &Sandbox, options: &StartOptions, client: &mut Client) {
    let uuid = |client: &mut Client| {
        client.query("SHOW GLOBAL VARIABLES LIKE 'server_uuid'").unwrap().rows
    };
    let first = uuid(client);
    if !first.is_empty() {
        let running = other.start(options).unwrap();
        assert_ne!(uuid(&mut running.connect(SOON).unwrap()), first);
    }
}

/// A factor may be the redo log size: after a clean stop every version accepts another.
fn check_other_redo_size(sandbox: &Sandbox, options: &StartOptions, binary: &ServerBinary) {
    assert!(sandbox.start(options).unwrap().stop(SOON).unwrap().clean);
    let mut larger = options.clone();
    let name = ["innodb_redo_log_capacity", "innodb_log_file_size"]
        .into_iter()
        .find(|name| options.settings.get(name).is_some())
        .unwrap();
    larger.settings.set(name, SettingValue::Text("24M".to_owned()));
    let running = sandbox.start(&larger).unwrap();
    assert_eq!(rows(&running), ROWS + 1);
    assert!(matches!(sandbox.start(&larger), Err(SandboxError::Running { .. })));
    // After a kill the log is needed: versions that accept no other size then report it, with a
    // hint.
    running.kill().unwrap();
    let takes_another = binary.is_mariadb() || binary.version >= ServerVersion::new(5, 6, 8);
    match sandbox.start(options) {
        Ok(running) => assert!(takes_another, "{}", running.pid()),
        Err(error) => {
            assert!(!takes_another, "{error}");
            assert!(
                error.hint().is_some_and(|hint| hint.contains("only after a clean stop")),
                "{error}"
            );
        }
    }
    assert_eq!(rows(&sandbox.start(&larger).unwrap()), ROWS + 1);
}

/// Killed while clients commit: transactions are in doubt, and the binlog decides. MySQL starts
/// without the binlog anyway; MariaDB reports what to do. A kill that finds no transaction in doubt
/// is repeated. With the binlog every server starts.
fn check_other_binlog(sandbox: &Sandbox, options: &StartOptions, binary: &ServerBinary) {
    let mut careful = options.clone();
    careful.settings.set("sync_binlog", SettingValue::Int(1));
    careful.settings.set("innodb_flush_log_at_trx_commit", SettingValue::Int(1));
    let mut without = careful.clone();
    without.settings.set("log_bin", SettingValue::Bool(false));
    insert(&mut sandbox.start(&careful).unwrap().connect(SOON).unwrap());
    for kill in 1.. {
        kill_while_clients_commit(sandbox.start(&careful).unwrap());
        match sandbox.start(&without) {
            Ok(running) => drop(running),
            Err(error) => {
                assert!(binary.is_mariadb(), "{error}");
                assert!(error.hint().is_some_and(|hint| hint.contains("crashed with")), "{error}");
                println!("{:<14} refused without its binlog after {kill} kills", "");
                break;
            }
        }
        if !binary.is_mariadb() {
            break;
        }
        assert!(kill < KILLS_MAX, "none of {kill} kills has left a transaction in doubt");
    }
    assert!(rows(&sandbox.start(&careful).unwrap()) >= ROWS);
}

/// Kills it once its clients are committing.
fn kill_while_clients_commit(running: RunningServer) {
    let clients: Vec<_> = (0..4).map(|_| running.connect(SOON).unwrap()).collect();
    let commits = Arc::new(AtomicU64::new(0));
    let threads = clients.into_iter().map(|mut client| {
        let commits = Arc::clone(&commits);
        std::thread::spawn(move || {
            while client.execute("INSERT INTO t.t (c) VALUES ('in doubt?')").is_ok() {
                commits.fetch_add(1, Ordering::Relaxed);
            }
        })
    });
    let threads: Vec<_> = threads.collect();
    wait_until("clients that commit", || commits.load(Ordering::Relaxed) >= 50);
    running.kill().unwrap();
    for thread in threads {
        thread.join().unwrap();
    }
}

fn check_gone(home: &Home, sandbox: Sandbox, other: Sandbox, options: &StartOptions) {
    let running = other.start(options).unwrap();
    let (pid, socket) = (running.pid(), other.socket().to_owned());
    drop(running);
    other.remove().unwrap();
    sandbox.remove().unwrap();
    assert!(is_gone(pid) && !socket.exists());
    assert_eq!(names_in(&home.path().join("servers")), Vec::<String>::new());
}
