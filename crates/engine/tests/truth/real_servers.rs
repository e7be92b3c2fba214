//! Renewed connections and setup statements on real servers. No test asserts a throughput.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use truetps_driver::{Client, Connector, Params, Statement, Target};
use truetps_engine::{LoadSpec, Observer, Quota, RunEnding, RunOutcome, run};
use truetps_record::{DriveMode, Histogram, Interval, Phase, SettingValue};
use truetps_sandbox::{
    RunningServer, Sandbox, SandboxOptions, ServerBinary, Settings, StartOptions,
};
use truetps_testkit::mysql_family::mariadb;
use truetps_testkit::{PostgresOptions, PostgresServer, TestHome};
use truetps_workload::{ClientStream, NextStatement, Table, Workload};

/// A workload that repeats a list of statements.
struct Listed(Vec<&'static str>);

struct ListedClient {
    next: usize,
    all: usize,
}

impl Workload for Listed {
    fn name(&self) -> &'static str {
        "listed"
    }

    fn statements(&self) -> Arc<[Statement]> {
        self.0.iter().map(|sql| Statement::new(*sql).unwrap()).collect()
    }

    fn client(&self, _: u32) -> Box<dyn ClientStream> {
        Box::new(ListedClient { next: 0, all: self.0.len() })
    }

    fn tables(&self) -> Vec<Table> {
        Vec::new()
    }
}

impl ClientStream for ListedClient {
    fn next_transaction(&mut self) {
        self.next = 0;
    }

    fn next_statement(&mut self, _: &mut Params) -> NextStatement {
        self.next += 1;
        NextStatement { statement: self.next - 1, is_last: self.next == self.all }
    }

    fn rewind(&mut self) {
        self.next = 0;
    }
}

struct NullObserver;

impl Observer for NullObserver {
    fn phase(&mut self, _: Phase) {}

    fn interval(&mut self, _: &Interval, _: &Histogram) -> Result<(), String> {
        Ok(())
    }
}

/// Twenty transactions of each of three clients, five on each connection.
fn drive(
    target: Target,
    statements: &[&'static str],
    prepared: bool,
    mode: DriveMode,
) -> RunOutcome {
    let workload = Listed(statements.to_vec());
    let connector = Connector::new(target, workload.statements(), prepared).unwrap();
    let load = LoadSpec {
        quota: Some(Quota::Each(60)),
        reconnect_every: NonZeroU64::new(5),
        mode,
        ..LoadSpec::closed(3, 2, Duration::MAX)
    };
    let outcome =
        run(&load, &connector, &workload, &AtomicBool::new(false), &mut NullObserver).unwrap();
    assert_eq!(
        (outcome.ending.clone(), outcome.measured.as_ref().unwrap().counts.ok),
        (RunEnding::Complete, 60),
        "{outcome:?}"
    );
    assert_eq!((outcome.end.renewed, outcome.end.reconnects, outcome.end.lost), (9, 0, 0));
    outcome
}

const WAYS: [(bool, DriveMode); 3] =
    [(true, DriveMode::Multiplexed), (true, DriveMode::Blocking), (false, DriveMode::Multiplexed)];

fn number(client: &mut Client, sql: &str) -> u64 {
    client.query_value(sql).unwrap().unwrap().parse().unwrap()
}

fn status(client: &mut Client, name: &str) -> u64 {
    let row = client.query(&format!("SHOW GLOBAL STATUS LIKE '{name}'")).unwrap().rows.remove(0);
    row[1].as_ref().unwrap().parse().unwrap()
}

/// A small server; the folder and the sandbox that it needs for as long as it runs.
fn start(binary: &ServerBinary, max_connections: i64) -> (RunningServer, Sandbox, TestHome) {
    let home = TestHome::new();
    let mut settings = Settings::empty(binary.family());
    settings.set("innodb_buffer_pool_size", SettingValue::Text("64M".to_owned()));
    settings.set("innodb_log_file_size", SettingValue::Text("16M".to_owned()));
    settings.set("max_connections", SettingValue::Int(max_connections));
    let sandbox = Sandbox::create(
        home.home(),
        binary,
        &SandboxOptions::new(Settings::empty(binary.family())),
    )
    .unwrap();
    let server = sandbox.start(&StartOptions::new(settings)).unwrap();
    (server, sandbox, home)
}

/// One connection beyond the limit is for accounts with all privileges, as all accounts are here.
#[test]
fn connections_are_renewed_at_a_server_that_is_full() {
    const CLIENTS: u32 = 11;
    let Some(binary) = mariadb("connections_are_renewed_at_a_server_that_is_full") else { return };
    let (server, _sandbox, _dir) = start(&binary, i64::from(CLIENTS) - 1);
    let workload = Listed(vec!["DO 1"]);
    let connector = Connector::new(
        Target::mysql_unix(server.socket(), "root", None),
        workload.statements(),
        false,
    );
    let load = LoadSpec {
        quota: Some(Quota::Each(u64::from(CLIENTS) * 20)),
        reconnect_every: NonZeroU64::new(1),
        ..LoadSpec::closed(CLIENTS, 2, Duration::MAX)
    };
    let connector = connector.unwrap();
    let run =
        || run(&load, &connector, &workload, &AtomicBool::new(false), &mut NullObserver).unwrap();
    // The session that saw the server start has quit; for a moment the server may count it still.
    let outcome =
        (0..50).map(|_| run()).find(|outcome| outcome.clients_not_connected == 0).unwrap();
    assert_eq!(
        (outcome.ending.clone(), outcome.end.lost, outcome.end.reconnects),
        (RunEnding::Complete, 0, 0)
    );
    assert_eq!(
        (outcome.measured.as_ref().unwrap().counts.ok, outcome.end.renewed),
        (220, 209),
        "{outcome:?}"
    );
}

#[test]
fn mariadb_sees_each_connection_come_and_go() {
    let Some(binary) = mariadb("mariadb_sees_each_connection_come_and_go") else { return };
    let (server, _sandbox, _dir) = start(&binary, 151);
    let mut root =
        Client::connect_unix(server.socket(), "root", None, Duration::from_mins(1)).unwrap();
    root.execute("CREATE DATABASE d").unwrap();
    let target = Target::mysql_unix(server.socket(), "root", Some("d")).with_setup([
        "SET AUTOCOMMIT=0",
        "SELECT 1",
        "SET @n=7",
    ]);
    for (prepared, mode) in WAYS {
        root.execute(
            "CREATE OR REPLACE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, c BIGINT, a \
                      INT, n INT)",
        )
        .unwrap();
        let (before, aborted) =
            (status(&mut root, "Connections"), status(&mut root, "Aborted_clients"));
        let insert = "INSERT INTO t (c, a, n) VALUES (CONNECTION_ID(), @@autocommit, @n)";
        drive(target.clone(), &[insert, "COMMIT"], prepared, mode);
        assert_eq!(status(&mut root, "Connections") - before, 12, "four of each client");
        assert_eq!(status(&mut root, "Aborted_clients"), aborted, "each said goodbye");
        let five = "SELECT COUNT(*) FROM (SELECT c FROM d.t GROUP BY c HAVING COUNT(*) = 5) AS x";
        assert_eq!(number(&mut root, five), 12);
        assert_eq!(
            number(&mut root, "SELECT COUNT(*) FROM d.t WHERE a = 0 AND n = 7"),
            60,
            "set up each time"
        );
    }
    // Without the COMMIT nothing stays: the setup is what makes the transaction.
    root.execute("DELETE FROM d.t").unwrap();
    drive(target, &["INSERT INTO t (n) VALUES (1)"], true, DriveMode::Multiplexed);
    assert_eq!(number(&mut root, "SELECT COUNT(*) FROM d.t"), 0);
}

#[test]
fn postgres_sees_each_connection_come_and_go() {
    let Some(server) = PostgresServer::start(
        "postgres_sees_each_connection_come_and_go",
        &PostgresOptions::default(),
    ) else {
        return;
    };
    let mut root = server.connect().unwrap();
    let target = server.target().with_setup(["SELECT 1", "SET work_mem = '1234kB'"]);
    for (prepared, mode) in WAYS {
        root.execute("DROP TABLE IF EXISTS t; CREATE TABLE t (c int, w text)").unwrap();
        let insert = "INSERT INTO t VALUES (pg_backend_pid(), current_setting('work_mem'))";
        drive(target.clone(), &[insert], prepared, mode);
        let five = "SELECT count(*) FROM (SELECT c FROM t GROUP BY c HAVING count(*) = 5) AS x";
        assert_eq!(number(&mut root, five), 12);
        assert_eq!(
            number(&mut root, "SELECT count(*) FROM t WHERE w = '1234kB'"),
            60,
            "set up each time"
        );
        let began = Instant::now();
        let others = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'
            AND pid <> pg_backend_pid()";
        while number(&mut root, others) > 0 {
            assert!(began.elapsed() < Duration::from_secs(20), "all have gone");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    assert!(!server.log().contains("unexpected EOF"), "each said goodbye: {}", server.log());
}
