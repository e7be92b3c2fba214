//! A table that is changed while rows come, so that it cannot keep the promise any more, or so that
//! other rows are right.

use std::thread;
use std::time::{Duration, Instant};

use truetps_batch::{CommitAnswer, CommitSettings, DefinitionState, NotStored, QueueRefusal};
use truetps_record::SqlDialect;

use crate::SOON;
use crate::clients::{NEW, send};
use crate::tables::{TestGateway, TestServer};

const ROW: &str = r#"{"id":1,"v":"a"}"#;

/// Sends rows until the gateway takes none.
fn wait_until_unfit(gateway: &TestGateway, what: &str) {
    let end = Instant::now() + SOON;
    for seq in 100.. {
        if matches!(gateway.queue.check(0), Err(QueueRefusal::Down { .. })) {
            return;
        }
        assert!(Instant::now() < end, "{what} is not noticed");
        let _ = send(&gateway.queue, &format!(r#"{{"id":{seq},"v":"b"}}"#), SOON);
        thread::sleep(Duration::from_millis(20));
    }
}

fn wait_until_fit(gateway: &TestGateway, what: &str) {
    let end = Instant::now() + SOON;
    while gateway.queue.check(0).is_err() || gateway.queue.state().is_down {
        assert!(Instant::now() < end, "{what}: the table is fit again, and no row comes");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_table_that_cannot_keep_the_promise_any_more_takes_no_rows() {
    for server in TestServer::of_each_family("tables that become unfit") {
        let changes: &[(&str, &str)] = match server.dialect() {
            SqlDialect::Mysql => &[
                ("ALTER TABLE fit DROP PRIMARY KEY", "ALTER TABLE fit ADD PRIMARY KEY (id)"),
                ("ALTER TABLE fit ENGINE=MyISAM", "ALTER TABLE fit ENGINE=InnoDB"),
                ("RENAME TABLE fit TO unfit", "RENAME TABLE unfit TO fit"),
            ],
            SqlDialect::Postgres => &[
                (
                    "ALTER TABLE fit DROP CONSTRAINT fit_pkey",
                    "ALTER TABLE fit ADD CONSTRAINT fit_pkey PRIMARY KEY (id)",
                ),
                ("ALTER TABLE fit SET UNLOGGED", "ALTER TABLE fit SET LOGGED"),
                ("ALTER TABLE fit RENAME TO unfit", "ALTER TABLE unfit RENAME TO fit"),
            ],
        };
        server.run("CREATE TABLE fit (id INT PRIMARY KEY, v VARCHAR(20))");
        let gateway =
            TestGateway::start(&CommitSettings { table: "fit".to_owned(), ..server.settings() });
        assert_eq!(send(&gateway.queue, ROW, SOON), Some(NEW));
        for (change, back) in changes {
            server.run(change);
            wait_until_unfit(&gateway, change);
            server.run(back);
            wait_until_fit(&gateway, back);
            let answer = send_to_known_table(&gateway);
            assert_eq!(answer, Some(CommitAnswer::Stored { is_duplicate: Some(true) }), "{back}");
        }
    }
}

/// The look that found the table fit may have read a part of its definition before the change: then
/// the next row is the one that has it read again, and may be sent again.
fn send_to_known_table(gateway: &TestGateway) -> Option<CommitAnswer> {
    match send(&gateway.queue, ROW, SOON) {
        Some(CommitAnswer::NotStored(NotStored::OtherColumns)) => send(&gateway.queue, ROW, SOON),
        answer => answer,
    }
}

#[test]
fn a_partition_that_a_crash_would_empty_is_noticed() {
    for server in TestServer::of_each_family("a partition without a log") {
        if server.dialect() == SqlDialect::Mysql {
            continue;
        }
        server
            .run("CREATE TABLE parted (id INT PRIMARY KEY, v VARCHAR(20)) PARTITION BY RANGE (id)");
        server.run("CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (100000)");
        let gateway =
            TestGateway::start(&CommitSettings { table: "parted".to_owned(), ..server.settings() });
        assert_eq!(send(&gateway.queue, ROW, SOON), Some(NEW));
        server.run("ALTER TABLE parted_1 SET UNLOGGED");
        wait_until_unfit(&gateway, "an unlogged partition");
    }
}

/// Rows of a new form alone do not reach the server, which would say that the table has changed.
#[test]
fn the_definition_is_read_again_for_rows_that_are_wrong_for_the_known_one() {
    for server in TestServer::of_each_family("columns that were added") {
        server.run("CREATE TABLE grows (id INT PRIMARY KEY, v VARCHAR(20))");
        let gateway =
            TestGateway::start(&CommitSettings { table: "grows".to_owned(), ..server.settings() });
        server.run("ALTER TABLE grows ADD COLUMN z INT");
        let row = br#"{"id":1,"z":5}"#;
        assert!(gateway.queue.columns().read_row(row, None).is_err());
        let end = Instant::now() + SOON;
        while gateway.queue.definition_state() != DefinitionState::Known {
            assert!(Instant::now() < end, "it is not read again");
            thread::sleep(Duration::from_millis(20));
        }
        assert!(gateway.queue.columns().read_row(row, None).is_ok());
    }
}

/// A value that its type does not read fails in look-ups, too: that is no fault of the server.
#[test]
fn a_row_that_cannot_be_looked_for_is_refused_and_costs_others_nothing() {
    for server in TestServer::of_each_family("values that no look-up takes") {
        let (columns, wrong): (&str, &[(&str, &str)]) = match server.dialect() {
            SqlDialect::Mysql => {
                ("d DATE, id INT, v INT, PRIMARY KEY (d, id)", &[(r#""2026-02-30""#, "1")])
            }
            SqlDialect::Postgres => {
                server.run("CREATE TYPE mood AS ENUM ('sad', 'happy')");
                (
                    "d mood, id INT, v INTERVAL, a INT[], PRIMARY KEY (d, id)",
                    &[
                        (r#""zz""#, r#""1 day""#),
                        (r#""sad""#, r#""1 moon""#),
                        (r#""sad""#, r#""1 day","a":"{x""#),
                    ],
                )
            }
        };
        server.run(&format!("CREATE TABLE readable ({columns})"));
        let gateway = TestGateway::start(&CommitSettings {
            table: "readable".to_owned(),
            ..server.settings()
        });
        for (d, v) in wrong {
            let row = format!(r#"{{"d":{d},"id":1,"v":{v}}}"#);
            let Ok(read) = gateway.queue.columns().read_row(row.as_bytes(), None) else { continue };
            let (sender, receiver) = std::sync::mpsc::sync_channel(1);
            gateway.queue.push(read, crate::clients::TestReply::new(sender), 0, SOON).unwrap();
            let answer = receiver.recv_timeout(SOON).unwrap();
            assert!(matches!(answer, CommitAnswer::Refused(_)), "{row}: {answer:?}");
            assert_eq!(gateway.queue.check(0), Ok(()), "{row}: others are taken");
            assert!(!gateway.queue.state().is_down, "{row}");
        }
    }
}

/// A trigger may report any error: after the error of one client's row the next ones are tried.
#[test]
fn an_ambiguous_error_of_one_client_takes_no_table_down() {
    for server in TestServer::of_each_family("an ambiguous error") {
        server.run("CREATE TABLE touchy (client INT, id INT, v INT, PRIMARY KEY (client, id))");
        if server.dialect() == SqlDialect::Mysql {
            server.run(
                "CREATE TRIGGER touch BEFORE INSERT ON touchy FOR EACH ROW IF NEW.v < 0 THEN \
                 SIGNAL SQLSTATE '42S02' SET MYSQL_ERRNO = 1146, MESSAGE_TEXT = 'touched'; END IF",
            );
        } else {
            server.run(
                "CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.v < 0 \
                 THEN RAISE 'touched' USING ERRCODE = '42P01'; END IF; RETURN NEW; END $$",
            );
            server.run(
                "CREATE TRIGGER touch BEFORE INSERT ON touchy FOR EACH ROW EXECUTE FUNCTION \
                        touch()",
            );
        }
        let settings = CommitSettings { table: "touchy".to_owned(), ..server.settings() };
        let gateway = TestGateway::start(&settings);
        // Alone, so that nothing shows whose fault it is.
        let answer = send(&gateway.queue, r#"{"client":1,"id":1,"v":-1}"#, Duration::from_secs(1));
        assert!(!matches!(answer, Some(CommitAnswer::Stored { .. })), "{answer:?}");
        assert_eq!(send(&gateway.queue, r#"{"client":2,"id":1,"v":1}"#, SOON), Some(NEW));
    }
}

const FEW: [(&str, &str); 2] = [("few", "localhost"), ("few", "%")];

/// The gateway's account has no more than these rights on the table.
fn settings_of_few(server: &TestServer, table: &str, rights: &str) -> CommitSettings {
    if server.dialect() == SqlDialect::Mysql {
        for (name, host) in FEW {
            server.run(&format!("CREATE USER IF NOT EXISTS {name}@'{host}' IDENTIFIED BY ''"));
            server.run(&format!("GRANT {rights} ON gateway.{table} TO {name}@'{host}'"));
        }
    } else {
        server.run(
            "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'few') THEN CREATE \
             ROLE few LOGIN; END IF; END $$",
        );
        server.run(&format!("GRANT {rights} ON {table} TO few"));
    }
    let mut settings = CommitSettings { table: table.to_owned(), ..server.settings() };
    "few".clone_into(&mut settings.target.login.user);
    settings
}

fn of_few(server: &TestServer, sql: &str) {
    if server.dialect() == SqlDialect::Mysql {
        for (name, host) in FEW {
            server.run(&sql.replace("FEW", &format!("{name}@'{host}'")));
        }
    } else {
        server.run(&sql.replace("FEW", "few"));
    }
}

/// What the account may not read may be anything: a view in place of the table, or the table
/// without its key.
#[test]
fn a_definition_that_cannot_be_read_is_not_taken_for_an_unchanged_one() {
    for server in TestServer::of_each_family("definitions that cannot be read") {
        if server.dialect() == SqlDialect::Postgres {
            continue;
        }
        for (table, hide) in [
            (
                "viewed",
                &["RENAME TABLE viewed TO viewed_old", "CREATE VIEW viewed AS SELECT * FROM loose"]
                    [..],
            ),
            (
                "columned",
                &[
                    "REVOKE INSERT, SELECT ON gateway.columned FROM FEW",
                    "GRANT INSERT (id, v), SELECT (id, v) ON gateway.columned TO FEW",
                    "ALTER TABLE columned DROP PRIMARY KEY",
                ],
            ),
        ] {
            server.run(&format!("CREATE TABLE {table} (id INT PRIMARY KEY, v VARCHAR(20))"));
            server.run("CREATE TABLE IF NOT EXISTS loose (id INT, v VARCHAR(20))");
            let gateway = TestGateway::start(&settings_of_few(&server, table, "SELECT, INSERT"));
            assert_eq!(send(&gateway.queue, ROW, SOON), Some(NEW));
            for sql in hide {
                if sql.contains("FEW") { of_few(&server, sql) } else { server.run(sql) }
            }
            wait_until_unfit(&gateway, table);
        }
    }
}

#[test]
fn lost_rights_are_noticed() {
    for server in TestServer::of_each_family("lost rights") {
        for right in ["SELECT", "INSERT"] {
            let table = format!("may_{}", right.to_lowercase());
            server.run(&format!("CREATE TABLE {table} (id INT PRIMARY KEY, v VARCHAR(20))"));
            let gateway = TestGateway::start(&settings_of_few(&server, &table, "SELECT, INSERT"));
            assert_eq!(send(&gateway.queue, ROW, SOON), Some(NEW));
            let name = if server.dialect() == SqlDialect::Mysql {
                format!("gateway.{table}")
            } else {
                table.clone()
            };
            of_few(&server, &format!("REVOKE {right} ON {name} FROM FEW"));
            wait_until_unfit(&gateway, right);
            of_few(&server, &format!("GRANT {right} ON {name} TO FEW"));
            wait_until_fit(&gateway, right);
        }
    }
}

/// An account that loses the privilege TRIGGER sees no triggers any more, and not that there are
/// some.
#[test]
fn a_trigger_that_the_account_can_no_longer_see_changes_no_row() {
    for server in TestServer::of_each_family("hidden triggers") {
        if server.dialect() == SqlDialect::Postgres {
            continue;
        }
        server.run("CREATE TABLE hidden (id INT PRIMARY KEY, v VARCHAR(20))");
        let gateway =
            TestGateway::start(&settings_of_few(&server, "hidden", "SELECT, INSERT, TRIGGER"));
        assert!(!gateway.queue.columns().reads_back);
        of_few(&server, "REVOKE TRIGGER ON gateway.hidden FROM FEW");
        thread::sleep(Duration::from_millis(1500));
        server.run(
            "CREATE TRIGGER change_v BEFORE INSERT ON hidden FOR EACH ROW SET NEW.v = 'other'",
        );
        thread::sleep(Duration::from_millis(1500));
        for id in 1..20 {
            let answer = send(&gateway.queue, &format!(r#"{{"id":{id},"v":"a"}}"#), SOON);
            assert!(!matches!(answer, Some(CommitAnswer::Stored { .. })), "{id}: {answer:?}");
        }
    }
}

/// A lock on one partition hides nothing of the others.
#[test]
fn a_partition_that_is_locked_hides_no_trigger() {
    for server in TestServer::of_each_family("a locked partition") {
        if server.dialect() == SqlDialect::Mysql {
            continue;
        }
        server.run(
            "CREATE TABLE divided (id INT PRIMARY KEY, v VARCHAR(20)) PARTITION BY RANGE (id)",
        );
        server.run("CREATE TABLE divided_1 PARTITION OF divided FOR VALUES FROM (0) TO (1000)");
        server.run("CREATE TABLE divided_2 PARTITION OF divided FOR VALUES FROM (1000) TO (2000)");
        let gateway = TestGateway::start(&CommitSettings {
            table: "divided".to_owned(),
            ..server.settings()
        });
        assert_eq!(send(&gateway.queue, ROW, SOON), Some(NEW));
        let mut locker = server.client();
        locker.execute("BEGIN").unwrap();
        locker.execute("LOCK TABLE divided_2 IN ACCESS EXCLUSIVE MODE").unwrap();
        server.run(
            "CREATE FUNCTION other_v() RETURNS trigger LANGUAGE plpgsql AS \
             $$ BEGIN NEW.v := 'other'; RETURN NEW; END $$",
        );
        server.run(
            "CREATE TRIGGER other BEFORE INSERT ON divided_1 FOR EACH ROW EXECUTE FUNCTION \
                    other_v()",
        );
        thread::sleep(Duration::from_millis(1500));
        for id in 2..5 {
            let answer = send(&gateway.queue, &format!(r#"{{"id":{id},"v":"a"}}"#), SOON);
            assert!(!matches!(answer, Some(CommitAnswer::Stored { .. })), "{id}: {answer:?}");
        }
        locker.execute("ROLLBACK").unwrap();
    }
}

#[test]
fn a_partition_with_a_generated_column_of_its_own_is_refused() {
    for server in TestServer::of_each_family("a generated column of a partition") {
        if server.dialect() == SqlDialect::Mysql {
            continue;
        }
        server.run(
            "CREATE TABLE own (id INT, seq INT, v TEXT, PRIMARY KEY (id, seq)) PARTITION BY \
                    LIST (id)",
        );
        server.run(
            "CREATE TABLE own_1 (id INT NOT NULL, seq INT NOT NULL, v TEXT GENERATED ALWAYS AS \
             ('G' || id) STORED)",
        );
        // From version 16 on the server itself refuses it.
        if server
            .client()
            .execute("ALTER TABLE own ATTACH PARTITION own_1 FOR VALUES IN (1)")
            .is_err()
        {
            continue;
        }
        let found = CommitSettings { table: "own".to_owned(), ..server.settings() }.inspect();
        let text = found.map(|_| ()).unwrap_err().to_string();
        assert!(text.contains("generated columns of their own"), "{text}");
    }
}

/// The row whose trigger changes the session is refused, and those after it are stored as they were
/// sent.
#[test]
fn a_trigger_that_changes_the_session_costs_its_row_only() {
    for server in TestServer::of_each_family("triggers that change the session") {
        let create = "CREATE TABLE zoned (id INT PRIMARY KEY, v VARCHAR(20), at TIMESTAMP NULL)";
        if server.dialect() == SqlDialect::Mysql {
            server.run(create);
            server.run(
                "CREATE TRIGGER zone BEFORE INSERT ON zoned FOR EACH ROW \
                 IF NEW.v = 'local' THEN SET SESSION time_zone = '+09:00'; END IF",
            );
        } else {
            server.run(&create.replace("TIMESTAMP", "TIMESTAMP WITH TIME ZONE"));
            server.run(
                "CREATE FUNCTION zone() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.v = \
                 'local' THEN SET TimeZone = 'Asia/Tokyo'; END IF; RETURN NEW; END $$",
            );
            server.run(
                "CREATE TRIGGER zone BEFORE INSERT ON zoned FOR EACH ROW EXECUTE FUNCTION zone()",
            );
        }
        let gateway =
            TestGateway::start(&CommitSettings { table: "zoned".to_owned(), ..server.settings() });
        let row = |id: u32, v: &str| {
            format!(r#"{{"id":{id},"v":"{v}","at":"2026-01-01 00:00:00+00:00"}}"#)
        };
        let plain = |id: u32, v: &str| row(id, v).replace("+00:00", "");
        let row =
            |id, v| if server.dialect() == SqlDialect::Mysql { plain(id, v) } else { row(id, v) };
        for id in (1..9).step_by(2) {
            let refused = send(&gateway.queue, &row(id, "local"), SOON);
            assert!(matches!(refused, Some(CommitAnswer::Refused(_))), "{refused:?}");
            assert_eq!(send(&gateway.queue, &row(id + 1, "utc"), SOON), Some(NEW));
        }
        let mut client = server.client();
        let zone = if server.dialect() == SqlDialect::Mysql {
            "time_zone = '+00:00'"
        } else {
            "TimeZone = 'UTC'"
        };
        client.execute(&format!("SET {zone}")).unwrap();
        let stored = client.query("SELECT at FROM zoned").unwrap().rows;
        assert_eq!(stored.len(), 4);
        let is_as_sent =
            |row: &[Option<String>]| row[0].as_deref().unwrap().starts_with("2026-01-01 00:00:00");
        assert!(stored.iter().all(|row| is_as_sent(row)), "{stored:?}");
    }
}
