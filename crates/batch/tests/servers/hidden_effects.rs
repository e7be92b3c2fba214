//! What a trigger, a default, a grant or a missing standby does beside the row that a client sent.

use std::thread;
use std::time::Duration;

use truetps_batch::{CommitAnswer, CommitSettings};
use truetps_driver::Client;
use truetps_record::SqlDialect;

use crate::SOON;
use crate::clients::{NEW, send};
use crate::stored_as_sent::{DUPLICATE, answers};
use crate::tables::{TestGateway, TestServer};

/// Each changes how later rows of the session are read, compared or committed.
const MYSQL_EFFECTS: [&str; 3] = [
    "SET SESSION character_set_results = 'latin1'",
    "SET SESSION timestamp = 1",
    "SET SESSION transaction_isolation = 'SERIALIZABLE'",
];
const POSTGRES_EFFECTS: [&str; 5] = [
    "SET extra_float_digits = -10",
    "SET LOCAL synchronous_commit = off",
    "SET statement_timeout = 1",
    "SET default_transaction_read_only = on",
    "SET bytea_output = 'escape'",
];

fn run_trigger(server: &TestServer, table: &str, body: &str) {
    if server.dialect() == SqlDialect::Mysql {
        return server.run(&format!(
            "CREATE TRIGGER {table}_t BEFORE INSERT ON {table} FOR EACH ROW BEGIN {body} END"
        ));
    }
    server.run(&format!(
        "CREATE FUNCTION {table}_f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} RETURN \
         NEW; END $$"
    ));
    server.run(&format!(
        "CREATE TRIGGER {table}_t BEFORE INSERT ON {table} FOR EACH ROW EXECUTE \
                         FUNCTION {table}_f()"
    ));
}

fn gateway_of(server: &TestServer, table: &str) -> TestGateway {
    TestGateway::start(&CommitSettings { table: table.to_owned(), ..server.settings() })
}

#[test]
fn a_trigger_that_changes_any_setting_costs_its_row_only() {
    for server in TestServer::of_each_family("triggers and settings") {
        let is_mysql = server.dialect() == SqlDialect::Mysql;
        let effects = if is_mysql { &MYSQL_EFFECTS[..] } else { &POSTGRES_EFFECTS };
        for (n, effect) in effects.iter().enumerate() {
            // MariaDB has it under its old name.
            let old = effect.replace("transaction_isolation", "tx_isolation");
            let is_old = is_mysql && server.client().query_value("SELECT @@tx_isolation").is_ok();
            let effect = if is_old { &old } else { *effect };
            let table = format!("effects_{n}");
            server.run(&format!(
                "CREATE TABLE {table} (id INT PRIMARY KEY, v VARCHAR(20), f DOUBLE PRECISION)"
            ));
            run_trigger(&server, &table, &format!("IF NEW.v = 'bad' THEN {effect}; END IF;"));
            let gateway = gateway_of(&server, &table);
            for id in [1, 3] {
                let bad = answers(&gateway, &format!(r#"{{"id":{id},"v":"bad","f":0.5}}"#));
                assert!(matches!(bad, CommitAnswer::Refused(_)), "{effect}: {bad:?}");
                let good = format!(r#"{{"id":{},"v":"gü","f":1.23456789}}"#, id + 1);
                assert_eq!(answers(&gateway, &good), NEW, "{effect}");
                assert_eq!(answers(&gateway, &good), DUPLICATE, "{effect}");
            }
            let rows =
                server.client().query(&format!("SELECT id FROM {table} ORDER BY id")).unwrap().rows;
            assert_eq!(rows.len(), 2, "{effect}");
        }
    }
}

/// A default is evaluated for each row, and may call any function.
#[test]
fn a_default_that_changes_the_session_changes_no_later_row() {
    for server in TestServer::of_each_family("defaults and settings") {
        if server.dialect() == SqlDialect::Mysql {
            continue;
        }
        server.run(
            "CREATE FUNCTION zone() RETURNS int LANGUAGE plpgsql AS \
             $$ BEGIN PERFORM set_config('TimeZone', 'Asia/Tokyo', false); RETURN 1; END $$",
        );
        server
            .run("CREATE TABLE called (id INT PRIMARY KEY, at TIMESTAMPTZ, d INT DEFAULT zone())");
        let gateway = gateway_of(&server, "called");
        let row = |id: u32, d: &str| format!(r#"{{"id":{id},"at":"2026-01-01 00:00:00"{d}}}"#);
        for id in [1, 3] {
            let changing = answers(&gateway, &row(id, ""));
            assert!(matches!(changing, CommitAnswer::Refused(_)), "{changing:?}");
            assert_eq!(answers(&gateway, &row(id + 1, r#","d":5"#)), NEW);
        }
        let sql = "SELECT COUNT(*) FROM called WHERE at = '2026-01-01 00:00:00+00'";
        assert_eq!(server.client().query_value(sql).unwrap().as_deref(), Some("2"));
    }
}

/// MySQL takes the most exact one of the patterns that fit a schema: the grant with TRIGGER has no
/// effect.
#[test]
fn a_grant_that_a_more_exact_one_hides_shows_no_triggers() {
    for server in TestServer::of_each_family("hidden grants") {
        if server.dialect() == SqlDialect::Postgres {
            continue;
        }
        server.run("CREATE TABLE seen (id INT PRIMARY KEY, v VARCHAR(20))");
        server.run("CREATE TABLE SEEN (id INT PRIMARY KEY)");
        run_trigger(&server, "seen", "SET NEW.v = CONCAT(NEW.v, 'X');");
        for (n, grant) in
            ["`gate%`.*", "`g______`.*", "`GATEWAY`.*", "gateway.`SEEN`"].iter().enumerate()
        {
            let account = format!("hidden{n}");
            for host in ["localhost", "%"] {
                server.run(&format!("CREATE USER {account}@'{host}' IDENTIFIED BY ''"));
                server.run(&format!(
                    "GRANT TRIGGER, SELECT, INSERT ON {grant} TO {account}@'{host}'"
                ));
                server.run(&format!("GRANT SELECT, INSERT ON gateway.* TO {account}@'{host}'"));
            }
            let mut settings = CommitSettings { table: "seen".to_owned(), ..server.settings() };
            account.clone_into(&mut settings.target.login.user);
            let answer =
                answers(&TestGateway::start(&settings), &format!(r#"{{"id":{n},"v":"a"}}"#));
            assert_eq!(answer, CommitAnswer::Changed { column: Some("v".to_owned()) }, "{grant}");
        }
    }
}

/// The session that waits for the standby is ended after a time, and then the row is seen.
#[test]
fn a_row_that_no_standby_has_is_not_acknowledged() {
    for server in TestServer::of_each_family("missing standbys") {
        if server.dialect() == SqlDialect::Mysql {
            continue;
        }
        // With the rights that the documentation asks for, and no more.
        server.run("CREATE ROLE few LOGIN");
        server.run("GRANT SELECT, INSERT ON rows_in TO few");
        let mut settings =
            CommitSettings { statement_time: Duration::from_secs(1), ..server.settings() };
        "few".clone_into(&mut settings.target.login.user);
        let gateway = TestGateway::start(&settings);
        let row = r#"{"client":1,"seq":1,"text":"a"}"#;
        server.run("ALTER SYSTEM SET synchronous_standby_names = 'missing'");
        server.run("SELECT pg_reload_conf()");
        thread::sleep(Duration::from_millis(500));
        for _ in 0..3 {
            let answer = send(&gateway.queue, row, Duration::from_secs(4));
            assert!(!matches!(answer, Some(CommitAnswer::Stored { .. })), "{answer:?}");
        }
        let mut client = server.client();
        client.execute("SET synchronous_commit = local").unwrap();
        client.execute("ALTER SYSTEM RESET synchronous_standby_names").unwrap();
        client.execute("SELECT pg_reload_conf()").unwrap();
        let is_stored =
            || matches!(send(&gateway.queue, row, SOON), Some(CommitAnswer::Stored { .. }));
        assert!((0..20).any(|_| {
            thread::sleep(Duration::from_millis(200));
            is_stored()
        }));
    }
}

#[test]
fn a_temporary_table_in_place_of_the_table_is_refused() {
    for server in TestServer::of_each_family("temporary tables") {
        if server.dialect() == SqlDialect::Postgres {
            continue;
        }
        server.run("CREATE TABLE kept (id INT PRIMARY KEY)");
        let mut settings = CommitSettings { table: "kept".to_owned(), ..server.settings() };
        assert!(settings.inspect().is_ok());
        settings
            .target
            .setup
            .push("CREATE TEMPORARY TABLE kept (id INT PRIMARY KEY) ENGINE=InnoDB".to_owned());
        let error = settings.inspect().unwrap_err().to_string();
        assert!(error.contains("is hidden by a temporary table"), "{error}");
    }
}

/// Whether a session began before or after a change of the role, it commits as when the gateway
/// started.
#[test]
fn all_sessions_keep_the_commit_mode_of_the_start() {
    for server in TestServer::of_each_family("commit modes") {
        if server.dialect() == SqlDialect::Mysql {
            continue;
        }
        server.run("CREATE ROLE few LOGIN");
        server.run("ALTER ROLE few SET synchronous_commit = off");
        let mut settings = server.settings();
        "few".clone_into(&mut settings.target.login.user);
        settings.keep_commit_mode().unwrap();
        server.run("ALTER ROLE few RESET synchronous_commit");
        let mut session = Client::connect(&settings.target, SOON).unwrap();
        assert_eq!(session.query_value("SHOW synchronous_commit").unwrap().as_deref(), Some("off"));
    }
}

/// By the server's own count.
#[test]
fn an_inspection_asks_once_how_the_table_was_made() {
    for server in TestServer::of_each_family("one look at a definition") {
        if server.dialect() == SqlDialect::Postgres {
            continue;
        }
        let asked = || -> u64 {
            let rows = server
                .client()
                .query("SHOW GLOBAL STATUS LIKE 'Com_show_create_table'")
                .unwrap()
                .rows;
            rows[0][1].as_deref().unwrap().parse().unwrap()
        };
        let before = asked();
        server.settings().inspect().unwrap();
        assert_eq!(asked() - before, 1);
    }
}
