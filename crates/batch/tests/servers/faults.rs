//! A server that refuses, hangs, or changes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use truetps_batch::{CommitAnswer, CommitSettings, InspectionError, NotStored};
use truetps_testkit::mysql_family::mariadb;

use crate::SOON;
use crate::clients::{Load, NEW, check_table, is_stored, row, send, send_all};
use crate::relay::Relay;
use crate::tables::{TestGateway, TestServer};

const CLIENTS: usize = 30;

/// The reply to a commit is lost: every outcome is unknown, and every batch is stored.
#[test]
fn a_dropped_reply_stores_no_row_twice() {
    let Some(server) = TestServer::mariadb("dropped replies") else { return };
    let (relay, settings) = Relay::before(&server);
    let gateway = TestGateway::start(&settings);
    let load = Load::start(std::slice::from_ref(&gateway.queue), CLIENTS);
    for _ in 0..20 {
        load.wait_for(60);
        relay.drop_replies(1);
    }
    load.wait_for(60);
    let logs = load.end();
    check_table(&server, &logs);
    let counts = gateway.queue.figures().counts;
    assert!(
        relay.dropped() >= 15 && counts.replays >= 15,
        "{} dropped, {counts:?}",
        relay.dropped()
    );
    assert!(
        counts.found_rows >= u64::from(relay.dropped()),
        "each replay finds its rows: {counts:?}"
    );
    assert_eq!(
        logs.iter().map(|log| log.unknown).sum::<u64>(),
        0,
        "replays are faster than the clients' patience"
    );
}

#[test]
fn killed_connections_and_statements_lose_no_row() {
    let Some(server) = TestServer::mariadb("KILL CONNECTION") else { return };
    let gateway = server.gateway();
    let load = Load::start(std::slice::from_ref(&gateway.queue), CLIENTS);
    let mut admin = server.client();
    for round in 0..40 {
        load.wait_for(20);
        let sql = "SELECT id FROM information_schema.processlist WHERE db = 'gateway' AND id <> \
                   CONNECTION_ID()";
        for row in admin.query(sql).unwrap().rows {
            let id = row[0].as_ref().unwrap();
            let word = if round % 2 == 0 { "CONNECTION" } else { "QUERY" };
            // It may have ended meanwhile.
            let _ = admin.execute(&format!("KILL {word} {id}"));
        }
    }
    check_table(&server, &load.end());
    assert!(gateway.queue.figures().counts.logins >= 15, "{:?}", gateway.queue.figures().counts);
}

/// Also the case of a fail-over whose successor takes the name: here the same server is writable
/// again.
#[test]
fn a_read_only_server_is_waited_for() {
    let Some(server) = TestServer::mariadb("read_only") else { return };
    server.run("CREATE USER writer@localhost IDENTIFIED BY ''");
    server.run("GRANT ALL ON gateway.* TO writer@localhost");
    let mut settings = server.settings();
    "writer".clone_into(&mut settings.target.login.user);
    let gateway = TestGateway::start(&settings);
    let load = Load::start(std::slice::from_ref(&gateway.queue), CLIENTS);
    load.wait_for(100);
    server.run("SET GLOBAL read_only = 1");
    thread::sleep(Duration::from_secs(4));
    server.run("SET GLOBAL read_only = 0");
    load.wait_for(100);
    let logs = load.end();
    check_table(&server, &logs);
    assert!(logs.iter().any(|log| log.sent_again > 0), "4 s are longer than the clients' patience");
}

/// The server hangs, as on a stopped host: no reply, and no reset.
#[test]
fn a_server_that_hangs_is_left() {
    let Some(server) = TestServer::mariadb("SIGSTOP") else { return };
    let settings = CommitSettings { statement_time: Duration::from_secs(1), ..server.settings() };
    let gateway = TestGateway::start(&settings);
    let load = Load::start(std::slice::from_ref(&gateway.queue), CLIENTS);
    load.wait_for(100);
    let pid = Pid::from_raw(server.running.as_ref().unwrap().pid() as i32).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    thread::sleep(Duration::from_secs(4));
    kill_process(pid, Signal::CONT).unwrap();
    load.wait_for(100);
    let logs = load.end();
    check_table(&server, &logs);
    assert!(gateway.queue.figures().counts.unknown_outcomes > 0);
}

#[test]
fn a_locked_table_is_waited_for() {
    let Some(server) = TestServer::mariadb("LOCK TABLES") else { return };
    let settings = CommitSettings { statement_time: Duration::from_secs(2), ..server.settings() };
    let gateway = TestGateway::start(&settings);
    let load = Load::start(std::slice::from_ref(&gateway.queue), CLIENTS);
    load.wait_for(100);
    let mut admin = server.client();
    for lock in ["LOCK TABLES rows_in WRITE", "FLUSH TABLES WITH READ LOCK"] {
        admin.execute(lock).unwrap();
        thread::sleep(Duration::from_secs(3));
        admin.execute("UNLOCK TABLES").unwrap();
        load.wait_for(100);
    }
    check_table(&server, &load.end());
}

/// Columns come and go under load, and rows are read for the columns that there are.
#[test]
fn a_changed_table_refuses_no_row_for_good() {
    let Some(server) = TestServer::mariadb("ALTER TABLE") else { return };
    let gateway = server.gateway();
    let load = Load::start(std::slice::from_ref(&gateway.queue), CLIENTS);
    let changes = [
        "ALTER TABLE rows_in ADD COLUMN extra INT NULL",
        "ALTER TABLE rows_in DROP COLUMN extra",
        "ALTER TABLE rows_in DROP COLUMN n",
        "ALTER TABLE rows_in ADD COLUMN n INT NOT NULL DEFAULT 7",
        "RENAME TABLE rows_in TO away",
        "RENAME TABLE away TO rows_in",
    ];
    for change in changes {
        load.wait_for(100);
        server.run(change);
        if change.ends_with("away") {
            wait_until_down(&gateway);
            server.run("RENAME TABLE away TO rows_in");
            load.wait_for(100);
            break;
        }
    }
    check_table(&server, &load.end());
}

#[test]
fn a_full_disk_is_waited_for() {
    let Some(server) = TestServer::mariadb("a full disk") else { return };
    let disk = tempfile::tempdir().unwrap();
    let data = disk.path().join("data");
    if !mount_tmpfs(disk.path(), 24 << 20) {
        eprintln!("skipped: a full disk: no tmpfs can be mounted");
        return;
    }
    let _unmount = Unmount(disk.path());
    fs::create_dir(&data).unwrap();
    let user = fs::metadata(server.sandbox.datadir()).unwrap();
    std::os::unix::fs::chown(&data, Some(std::os::unix::fs::MetadataExt::uid(&user)), None)
        .unwrap();
    server.run(&format!(
        "CREATE TABLE on_disk (client INT, seq BIGINT, text VARCHAR(8000), PRIMARY KEY (client, \
         seq)) ENGINE=InnoDB DATA DIRECTORY='{}'",
        data.display()
    ));
    let settings = CommitSettings { table: "on_disk".to_owned(), ..server.settings() };
    let gateway = TestGateway::start(&settings);
    let long = "x".repeat(7000);
    let json = |seq: usize| format!(r#"{{"client":1,"seq":{seq},"text":"{long}"}}"#);
    let (mut stored, mut refused) = (Vec::new(), None);
    for seq in 0..5000 {
        match send(&gateway.queue, &json(seq), Duration::from_secs(2)) {
            Some(CommitAnswer::Stored { .. }) => stored.push(seq),
            answer => {
                refused = Some((seq, answer));
                break;
            }
        }
    }
    let (full_at, answer) = refused.expect("the disk is full at some time");
    assert!(
        matches!(answer, Some(CommitAnswer::NotStored(NotStored::Expired) | CommitAnswer::Unknown)),
        "{answer:?}"
    );
    wait_until_down(&gateway);
    // Room is made: the same row is stored without a restart.
    server.run("DELETE FROM on_disk WHERE seq < 500");
    let end = Instant::now() + SOON;
    while !send(&gateway.queue, &json(full_at), Duration::from_secs(2))
        .is_some_and(|answer| is_stored(&answer))
    {
        assert!(Instant::now() < end, "no row is stored although there is room");
        server.run("DELETE FROM on_disk WHERE seq < 900");
        thread::sleep(Duration::from_millis(200));
    }
    let count = server
        .client()
        .query_value("SELECT COUNT(*) FROM on_disk WHERE seq >= 900")
        .unwrap()
        .unwrap();
    let expected = stored.iter().filter(|seq| **seq >= 900).count() + 1;
    assert_eq!(count, expected.to_string());
}

/// The server waits for room, and looks for it once a minute: all that time no commit ends, and
/// none fails.
#[test]
fn a_full_disk_of_the_binlog_is_waited_for() {
    if std::env::var_os("TRUETPS_KILL_ROUNDS").is_none() {
        eprintln!(
            "SKIPPED a full disk of the binlog: it takes a minute, and is a part of make \
             test-servers"
        );
        return;
    }
    let Some(binary) = mariadb("a full disk of the binlog") else { return };
    let disk = tempfile::tempdir().unwrap();
    if !mount_tmpfs(disk.path(), 4 << 20) {
        eprintln!("SKIPPED a full disk of the binlog: no tmpfs can be mounted");
        return;
    }
    let _unmount = Unmount(disk.path());
    let binlogs = disk.path().join("binlogs");
    fs::create_dir(&binlogs).unwrap();
    fs::set_permissions(&binlogs, fs::Permissions::from_mode(0o777)).unwrap();
    let filler = disk.path().join("filler");
    fs::write(&filler, vec![1; 2 << 20]).unwrap();
    let server = TestServer::start(
        &binary,
        &[("log_bin", binlogs.join("b").to_str().unwrap()), ("sync_binlog", "1")],
    );
    let settings = CommitSettings { statement_time: Duration::from_secs(2), ..server.settings() };
    let gateway = TestGateway::start(&settings);
    let load = Load::start(std::slice::from_ref(&gateway.queue), CLIENTS);
    wait_until_down(&gateway);
    thread::sleep(Duration::from_secs(3));
    fs::remove_file(&filler).unwrap();
    load.wait_for_within(100, Duration::from_mins(3));
    let logs = load.end();
    check_table(&server, &logs);
    assert!(logs.iter().any(|log| log.sent_again > 0));
}

fn wait_until_down(gateway: &TestGateway) {
    let end = Instant::now() + SOON;
    while !gateway.queue.state().is_down {
        assert!(Instant::now() < end, "rows are taken although none can be stored");
        thread::sleep(Duration::from_millis(5));
    }
}

fn mount_tmpfs(path: &std::path::Path, bytes: u64) -> bool {
    let options = std::ffi::CString::new(format!("size={bytes},mode=755")).unwrap();
    rustix::mount::mount(
        "tmpfs",
        path,
        "tmpfs",
        rustix::mount::MountFlags::empty(),
        options.as_c_str(),
    )
    .is_ok()
}

struct Unmount<'a>(&'a std::path::Path);

impl Drop for Unmount<'_> {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(self.0, rustix::mount::UnmountFlags::DETACH);
    }
}

/// Idle connections are closed by the server: the next row does not notice.
#[test]
fn a_connection_closed_while_idle_costs_nothing() {
    let Some(server) = TestServer::mariadb("wait_timeout") else { return };
    server.run("SET GLOBAL wait_timeout = 1");
    let gateway = server.gateway();
    for seq in 0..3 {
        assert_eq!(send(&gateway.queue, &row(1, seq), Duration::from_secs(5)), Some(NEW));
        thread::sleep(Duration::from_millis(1600));
    }
    let counts = gateway.queue.figures().counts;
    assert_eq!((counts.unknown_outcomes, counts.logins), (0, 3), "{counts:?}");
}

#[test]
fn a_lowered_packet_limit_divides_batches() {
    let Some(server) = TestServer::mariadb("max_allowed_packet") else { return };
    server.run("CREATE TABLE long_rows (id INT PRIMARY KEY, text MEDIUMTEXT)");
    let gateway =
        TestGateway::start(&CommitSettings { table: "long_rows".to_owned(), ..server.settings() });
    let json = |id: usize, bytes: usize| format!(r#"{{"id":{id},"text":"{}"}}"#, "x".repeat(bytes));
    assert_eq!(send(&gateway.queue, &json(0, 10), SOON), Some(NEW));
    server.run("SET GLOBAL max_allowed_packet = 100 * 1024");
    server.run("SET GLOBAL max_statement_time = 0");
    let mut admin = server.client();
    for row in admin
        .query(
            "SELECT id FROM information_schema.processlist WHERE db = 'gateway' AND id <> \
                CONNECTION_ID()",
        )
        .unwrap()
        .rows
    {
        let _ = admin.execute(&format!("KILL {}", row[0].as_ref().unwrap()));
    }
    let mut rows: Vec<_> = (1..8).map(|id| json(id, 40 * 1024)).collect();
    rows.push(json(8, 120 * 1024));
    let answers = send_all(&gateway.queue, &rows);
    assert!(answers[..7].iter().all(is_stored), "{answers:?}");
    assert_eq!(answers[7], CommitAnswer::TooLong);
}

#[test]
fn tables_that_cannot_keep_the_promise_are_refused() {
    let Some(server) = TestServer::mariadb("inspection") else { return };
    server.run("CREATE TABLE no_key (id INT AUTO_INCREMENT PRIMARY KEY, a INT)");
    server.run("CREATE TABLE two_keys (a INT PRIMARY KEY, b INT UNIQUE)");
    server.run(
        "CREATE TABLE counted (id INT AUTO_INCREMENT PRIMARY KEY, a INT, b INT, UNIQUE (b, a))",
    );
    server.run("CREATE TABLE other_engine (a INT PRIMARY KEY) ENGINE=MyISAM");
    server.run("CREATE VIEW seen AS SELECT 1 AS a");
    let inspect =
        |table: &str| CommitSettings { table: table.to_owned(), ..server.settings() }.inspect();
    assert!(matches!(inspect("no_key"), Err(InspectionError::NoKey { .. })));
    assert!(matches!(inspect("two_keys"), Err(InspectionError::SeveralKeys { .. })));
    assert!(matches!(inspect("other_engine"), Err(InspectionError::Engine { .. })));
    assert!(matches!(inspect("seen"), Err(InspectionError::Engine { .. })));
    assert!(matches!(inspect("missing"), Err(InspectionError::NoTable(_))));
    let counted = inspect("counted").unwrap();
    assert_eq!(counted.columns.key_names().collect::<Vec<_>>(), ["b", "a"]);
    assert_eq!(counted.reads_back, None);
    server
        .run("CREATE TRIGGER changes BEFORE INSERT ON counted FOR EACH ROW SET NEW.a = NEW.a + 1");
    assert!(inspect("counted").unwrap().reads_back.is_some());
}
