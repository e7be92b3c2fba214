//! An acknowledged row is in the table as it was sent, whatever its keys, types and triggers are.

use std::thread;
use std::time::{Duration, Instant};

use truetps_batch::{CommitAnswer, CommitSettings, InspectionError};
use truetps_record::SqlDialect;

use crate::SOON;
use crate::clients::{NEW, send};
use crate::tables::{TestGateway, TestServer};

pub(crate) const DUPLICATE: CommitAnswer = CommitAnswer::Stored { is_duplicate: Some(true) };

fn settings(server: &TestServer, table: &str, key: &[&str]) -> CommitSettings {
    let key = key.iter().map(|column| (*column).to_owned()).collect();
    CommitSettings { table: table.to_owned(), key, ..server.settings() }
}

fn gateway(server: &TestServer, table: &str, key: &[&str]) -> TestGateway {
    TestGateway::start(&settings(server, table, key))
}

/// The answer to a row, sent again for as long as the table has just been changed.
#[track_caller]
pub(crate) fn answers(gateway: &TestGateway, json: &str) -> CommitAnswer {
    let end = Instant::now() + SOON;
    loop {
        match send(&gateway.queue, json, SOON) {
            Some(answer) if !matches!(answer, CommitAnswer::NotStored(_)) => return answer,
            answer => assert!(Instant::now() < end, "{json}: {answer:?}"),
        }
        thread::sleep(Duration::from_millis(10));
    }
}

#[track_caller]
fn is_conflict(answer: &CommitAnswer) {
    let is_conflict = match answer {
        CommitAnswer::KeyConflict => true,
        CommitAnswer::Refused(error) => error.code == 1062 || error.sqlstate == "23505",
        _ => false,
    };
    assert!(is_conflict, "{answer:?}");
}

#[test]
fn a_key_that_the_collation_takes_for_a_stored_one_is_a_conflict() {
    for server in TestServer::of_each_family("keys and collations") {
        server.run(match server.dialect() {
            SqlDialect::Mysql => {
                "CREATE TABLE folded (name VARCHAR(50) COLLATE utf8mb4_general_ci PRIMARY KEY, v \
                 INT) CHARACTER SET utf8mb4"
            }
            SqlDialect::Postgres => {
                server.run(
                    "CREATE COLLATION folds (provider = icu, locale = 'und-u-ks-level1', \
                            deterministic = false)",
                );
                "CREATE TABLE folded (name VARCHAR(50) COLLATE folds PRIMARY KEY, v INT)"
            }
        });
        let gateway = gateway(&server, "folded", &[]);
        assert_eq!(answers(&gateway, r#"{"name":"jose","v":1}"#), NEW);
        assert_eq!(answers(&gateway, r#"{"name":"jose","v":1}"#), DUPLICATE);
        is_conflict(&answers(&gateway, r#"{"name":"JOSÉ","v":1}"#));
        is_conflict(&answers(&gateway, r#"{"name":"Jose","v":1}"#));
    }
}

#[test]
fn a_value_of_another_unique_key_is_a_conflict() {
    for server in TestServer::of_each_family("another unique key") {
        server.run("CREATE TABLE two_keys (id INT PRIMARY KEY, tag INT, v INT)");
        let gateway = gateway(&server, "two_keys", &["id"]);
        assert_eq!(answers(&gateway, r#"{"id":1,"tag":5,"v":1}"#), NEW);
        // It comes while the gateway runs.
        server.run("CREATE UNIQUE INDEX tags ON two_keys (tag)");
        is_conflict(&answers(&gateway, r#"{"id":2,"tag":5,"v":1}"#));
        assert_eq!(answers(&gateway, r#"{"id":1,"tag":5,"v":1}"#), DUPLICATE);
        assert_eq!(answers(&gateway, r#"{"id":3,"tag":6,"v":1}"#), NEW);
        let count = server.client().query_value("SELECT COUNT(*) FROM two_keys").unwrap().unwrap();
        assert_eq!(count, "2");
    }
}

/// The key of a table is one over whole columns and all rows, which each statement obeys.
#[test]
fn a_key_that_identifies_no_row_is_refused_at_the_start() {
    for server in TestServer::of_each_family("keys that identify no row") {
        let tables: &[(&str, &str)] = match server.dialect() {
            SqlDialect::Mysql => &[
                ("beginnings", "(name VARCHAR(50), UNIQUE KEY (name(4)))"),
                ("made", "(a INT, b INT AS (a % 7) STORED, UNIQUE KEY (b))"),
                ("floating", "(f FLOAT PRIMARY KEY)"),
                ("counted", "(id INT AUTO_INCREMENT PRIMARY KEY, a INT)"),
            ],
            SqlDialect::Postgres => &[
                ("late", "(a INT UNIQUE DEFERRABLE INITIALLY DEFERRED)"),
                ("part", "(a INT, b INT)"),
                ("computed", "(a TEXT)"),
                ("made", "(a INT, b INT GENERATED ALWAYS AS (a % 7) STORED UNIQUE)"),
            ],
        };
        for (name, columns) in tables {
            server.run(&format!("CREATE TABLE {name} {columns}"));
        }
        if server.dialect() == SqlDialect::Postgres {
            server.run("CREATE UNIQUE INDEX part_a ON part (a) WHERE b > 0");
            server.run("CREATE UNIQUE INDEX computed_a ON computed (lower(a))");
        }
        for (name, _) in tables {
            let inspected = settings(&server, name, &[]).inspect();
            assert!(
                matches!(inspected, Err(InspectionError::NoKey { .. })),
                "{name}: {inspected:?}"
            );
        }
    }
}

#[test]
fn relations_that_keep_no_rows_are_refused_at_the_start() {
    for server in TestServer::of_each_family("relations that keep no rows") {
        if server.dialect() == SqlDialect::Mysql {
            continue;
        }
        server.run("CREATE UNLOGGED TABLE lost (a INT PRIMARY KEY)");
        server.run("CREATE TABLE ruled (a INT PRIMARY KEY)");
        server.run("CREATE RULE elsewhere AS ON INSERT TO ruled DO INSTEAD NOTHING");
        server.run("CREATE VIEW seen AS SELECT 1 AS a");
        for name in ["lost", "ruled", "seen"] {
            let inspected = settings(&server, name, &[]).inspect();
            assert!(
                matches!(inspected, Err(InspectionError::Kind { .. })),
                "{name}: {inspected:?}"
            );
        }
    }
}

/// Rows of tables that inherit a table of PostgreSQL are read with it, and are not in it.
#[test]
fn a_row_of_a_table_that_inherits_is_not_taken_for_the_same_row() {
    for server in TestServer::of_each_family("inherited tables") {
        if server.dialect() == SqlDialect::Mysql {
            continue;
        }
        server.run("CREATE TABLE parent (id INT PRIMARY KEY, v INT, CHECK (v < 10) NO INHERIT)");
        server.run("CREATE TABLE child () INHERITS (parent)");
        server.run("INSERT INTO child VALUES (1, 50), (2, 5)");
        let inheriting = gateway(&server, "parent", &[]);
        let refused = answers(&inheriting, r#"{"id":1,"v":50}"#);
        assert!(matches!(refused, CommitAnswer::Refused(_)), "{refused:?}");
        assert_eq!(answers(&inheriting, r#"{"id":2,"v":5}"#), NEW);
        assert_eq!(answers(&inheriting, r#"{"id":2,"v":5}"#), DUPLICATE);
        // Rows of partitions are in their table.
        server.run("CREATE TABLE divided (id INT PRIMARY KEY, v INT) PARTITION BY RANGE (id)");
        server.run("CREATE TABLE low PARTITION OF divided FOR VALUES FROM (0) TO (10)");
        let divided = gateway(&server, "divided", &[]);
        assert_eq!(answers(&divided, r#"{"id":1,"v":50}"#), NEW);
        assert_eq!(answers(&divided, r#"{"id":1,"v":50}"#), DUPLICATE);
    }
}

/// A trigger may fill in what was left out; what it changes is not stored.
#[test]
fn a_row_that_a_trigger_changes_is_refused() {
    for server in TestServer::of_each_family("triggers") {
        server.run(
            "CREATE TABLE triggered (client INT, seq INT, v INT, made INT, PRIMARY KEY \
                    (client, seq))",
        );
        match server.dialect() {
            SqlDialect::Mysql => {
                server.run(
                    "CREATE TRIGGER before_insert BEFORE INSERT ON triggered FOR EACH ROW BEGIN \
                     SET NEW.made = 5; IF NEW.v = 13 THEN SET NEW.v = 14; END IF; IF NEW.v = 15 \
                     THEN SET NEW.seq = NEW.seq + 1000; END IF; END",
                );
                server.run(
                    "CREATE TRIGGER before_update BEFORE UPDATE ON triggered FOR EACH ROW SET \
                     NEW.made = OLD.made + 1",
                );
            }
            SqlDialect::Postgres => {
                server.run(
                    "CREATE FUNCTION changes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                     NEW.made := 5; IF NEW.v = 13 THEN NEW.v := 14; END IF; IF NEW.v = 15 THEN \
                     NEW.seq := NEW.seq + 1000; END IF; IF NEW.v = 16 THEN RETURN NULL; END IF; \
                     RETURN NEW; END $$",
                );
                server.run(
                    "CREATE TRIGGER changes BEFORE INSERT ON triggered FOR EACH ROW EXECUTE \
                            FUNCTION changes()",
                );
                // At the commit, after every other look at the row.
                server.run(
                    "CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.v \
                     = 17 THEN UPDATE triggered SET v = 18 WHERE client = NEW.client AND seq = \
                     NEW.seq; END IF; RETURN NULL; END $$",
                );
                server.run(
                    "CREATE CONSTRAINT TRIGGER late AFTER INSERT ON triggered DEFERRABLE INITIALLY \
                     DEFERRED FOR EACH ROW EXECUTE FUNCTION late()",
                );
            }
        }
        let gateway = gateway(&server, "triggered", &[]);
        let row = |seq: u32, v: u32| format!(r#"{{"client":1,"seq":{seq},"v":{v}}}"#);
        assert_eq!(answers(&gateway, &row(1, 10)), NEW);
        assert_eq!(answers(&gateway, &row(1, 10)), DUPLICATE);
        assert_eq!(answers(&gateway, &row(1, 999)), CommitAnswer::KeyConflict);
        assert_eq!(
            answers(&gateway, &row(2, 13)),
            CommitAnswer::Changed { column: Some("v".to_owned()) }
        );
        assert_eq!(answers(&gateway, &row(3, 15)), CommitAnswer::Changed { column: None });
        if server.dialect() == SqlDialect::Postgres {
            assert_eq!(answers(&gateway, &row(4, 16)), CommitAnswer::Changed { column: None });
            assert_eq!(
                answers(&gateway, &row(5, 17)),
                CommitAnswer::Changed { column: Some("v".to_owned()) }
            );
        }
        let rows =
            server.client().query("SELECT client, seq, v, made FROM triggered").unwrap().rows;
        assert_eq!(rows, [["1", "1", "10", "5"].map(|text| Some(text.to_owned()))]);
    }
}

/// The row that is found under its key is an older one.
#[test]
fn a_row_that_a_trigger_gives_another_key_is_refused() {
    for server in TestServer::of_each_family("renumbering triggers") {
        server
            .run("CREATE TABLE renumbered (client INT, seq INT, v INT, PRIMARY KEY (client, seq))");
        let renumber = "IF EXISTS (SELECT 1 FROM renumbered WHERE client = NEW.client AND seq = \
                        NEW.seq) THEN {} (SELECT MAX(seq) + 1 FROM renumbered WHERE client = \
                        NEW.client); END IF;";
        match server.dialect() {
            SqlDialect::Mysql => server.run(&format!(
                "CREATE TRIGGER renumber BEFORE INSERT ON renumbered FOR EACH ROW BEGIN {} END",
                renumber.replace("{}", "SET NEW.seq =")
            )),
            SqlDialect::Postgres => {
                server.run(&format!(
                    "CREATE FUNCTION renumber() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {} \
                     RETURN NEW; END $$",
                    renumber.replace("{}", "NEW.seq :=")
                ));
                server.run(
                    "CREATE TRIGGER renumber BEFORE INSERT ON renumbered FOR EACH ROW EXECUTE \
                     FUNCTION renumber()",
                );
            }
        }
        let gateway = gateway(&server, "renumbered", &[]);
        let row = r#"{"client":1,"seq":5,"v":7}"#;
        assert_eq!(answers(&gateway, row), NEW);
        // The same row is there, and it is not stored again.
        assert!(matches!(answers(&gateway, row), CommitAnswer::Stored { .. }));
        assert_eq!(
            answers(&gateway, &row.replace('7', "8")),
            CommitAnswer::Changed { column: None }
        );
        let rows = server.client().query("SELECT client, seq, v FROM renumbered").unwrap().rows;
        assert_eq!(rows, [["1", "5", "7"].map(|text| Some(text.to_owned()))]);
    }
}

/// The user asked for it: the answer has what is stored.
#[test]
fn a_changed_row_is_shown_where_the_user_wants_it() {
    for server in TestServer::of_each_family("changed rows") {
        server.run("CREATE TABLE rounded (id INT PRIMARY KEY, n NUMERIC(6,2), text VARCHAR(9))");
        let settings =
            CommitSettings { refuses_changes: false, ..settings(&server, "rounded", &[]) };
        let gateway = TestGateway::start(&settings);
        assert_eq!(answers(&gateway, r#"{"id":1,"n":1.5}"#), NEW);
        let CommitAnswer::StoredAs { is_duplicate: Some(false), row } =
            answers(&gateway, r#"{"id":2,"n":1.239}"#)
        else {
            panic!("it is stored");
        };
        assert_eq!(row, r#"{"id":"2","n":"1.24"}"#);
        let again = answers(&gateway, r#"{"id":2,"n":1.239}"#);
        assert_eq!(again, CommitAnswer::StoredAs { is_duplicate: Some(true), row });
        // Keys stay what they are.
        let text = r#"{"id":2.5,"n":1}"#;
        assert!(gateway.queue.columns().read_row(text.as_bytes(), None).is_err());
    }
}

/// The documented rights are all that is needed.
#[test]
fn insert_and_select_are_enough() {
    for server in TestServer::of_each_family("rights") {
        match server.dialect() {
            SqlDialect::Mysql => {
                for name in ["few", "less"] {
                    server.run(&format!("CREATE USER {name}@localhost IDENTIFIED BY ''"));
                    server.run(&format!("CREATE USER {name}@'%' IDENTIFIED BY ''"));
                    let rights = if name == "few" { "SELECT, INSERT" } else { "SELECT" };
                    for host in ["localhost", "'%'"] {
                        server.run(&format!("GRANT {rights} ON gateway.rows_in TO {name}@{host}"));
                    }
                }
            }
            SqlDialect::Postgres => {
                server.run("CREATE ROLE few LOGIN");
                server.run("GRANT SELECT, INSERT ON rows_in TO few");
                server.run("CREATE ROLE less LOGIN");
                server.run("GRANT SELECT ON rows_in TO less");
            }
        }
        let account = |name: &str| {
            let mut settings = server.settings();
            name.clone_into(&mut settings.target.login.user);
            settings
        };
        let less = account("less").inspect();
        assert!(matches!(less, Err(InspectionError::Privilege { .. })), "{less:?}");
        let gateway = TestGateway::start(&account("few"));
        let row = |text: &str| format!(r#"{{"client":1,"seq":1,"text":"{text}"}}"#);
        assert_eq!(answers(&gateway, &row("a")), NEW);
        assert_eq!(answers(&gateway, &row("a")), DUPLICATE);
        assert_eq!(answers(&gateway, &row("b")), CommitAnswer::KeyConflict);
        // An account that does not see triggers does not trust that there are none.
        if server.dialect() == SqlDialect::Mysql {
            assert!(account("few").inspect().unwrap().reads_back.is_some());
            server.run(
                "CREATE TRIGGER hidden BEFORE INSERT ON rows_in FOR EACH ROW SET NEW.text = \
                        UPPER(NEW.text)",
            );
            assert_eq!(
                answers(&gateway, r#"{"client":1,"seq":2,"text":"a"}"#),
                CommitAnswer::Changed { column: Some("text".to_owned()) }
            );
        }
    }
}

/// A trigger that is made while rows come is noticed within a second.
#[test]
fn a_new_trigger_is_noticed() {
    for server in TestServer::of_each_family("a new trigger") {
        let gateway = server.gateway();
        let row = |seq: u32| format!(r#"{{"client":1,"seq":{seq},"text":"a"}}"#);
        assert_eq!(answers(&gateway, &row(1)), NEW);
        if server.dialect() == SqlDialect::Postgres {
            server.run(
                "CREATE FUNCTION upper_text() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                 NEW.text := upper(NEW.text); RETURN NEW; END $$",
            );
            server.run(
                "CREATE TRIGGER changes BEFORE INSERT ON rows_in FOR EACH ROW EXECUTE \
                        FUNCTION upper_text()",
            );
        } else {
            server.run(
                "CREATE TRIGGER changes BEFORE INSERT ON rows_in FOR EACH ROW SET NEW.text \
                        = UPPER(NEW.text)",
            );
        }
        thread::sleep(Duration::from_millis(1100));
        assert_eq!(
            answers(&gateway, &row(2)),
            CommitAnswer::Changed { column: Some("text".to_owned()) }
        );
    }
}
