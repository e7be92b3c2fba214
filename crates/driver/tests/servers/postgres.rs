//! Statements against a real PostgreSQL, prepared and as text.

use truetps_driver::{DriverError, Params, SessionEvent, Statement};
use truetps_testkit::{PostgresOptions, PostgresServer};

use crate::postgres_common::{Driven, client};

const TABLE: &str =
    "CREATE TABLE t (id bigint PRIMARY KEY, i bigint, d double precision, s text, b bytea)";
const INSERT: &str = "INSERT INTO t (id, i, d, s, b) VALUES (?, ?, ?, ?, ?)";
const BIG_BYTES: usize = 20 << 20;

fn server(test: &str) -> Option<PostgresServer> {
    let settings = vec![("deadlock_timeout".to_owned(), "100ms".to_owned())];
    PostgresServer::start(test, &PostgresOptions { settings, ..PostgresOptions::default() })
}

fn text(value: &str) -> impl FnOnce(&mut Vec<u8>) {
    move |out| out.extend_from_slice(value.as_bytes())
}

#[test]
fn values_of_every_kind_come_back_as_they_went() {
    let Some(server) = server("values_of_every_kind") else { return };
    let all_bytes: Vec<u8> = (0..=255).collect();
    let rows: [(i64, f64, &str, &[u8]); 6] = [
        (0, 0.0, "", b""),
        (i64::MIN, -1.5e-300, "it's a \\ and \\' and ''", &all_bytes),
        (i64::MAX, 1e300, "Grüße, 你好, 🦀", b"\0"),
        (-1, 5.0, "$1 ? -- /* \n\t\"`", b"\\x00"),
        (7, -0.1, "\\", b"'"),
        (8, 123_456_789.125, "'", b"\xff\xfe"),
    ];
    for prepared in [false, true] {
        let mut root = server.connect().unwrap();
        root.execute("DROP TABLE IF EXISTS t").unwrap();
        root.execute(TABLE).unwrap();
        let mut driven = Driven::log_in(&server.target(), &[INSERT], prepared).unwrap();
        for (id, (i, d, s, b)) in rows.iter().enumerate() {
            let reply = driven.execute(0, |params| {
                params.push_int(id as i64);
                params.push_int(*i);
                params.push_double(*d);
                params.push_text(text(s));
                params.push_bytes(|out| out.extend_from_slice(b));
            });
            assert_eq!((reply.error, reply.affected_rows, reply.rows), (None, 1, 0));
        }
        let reply = driven.execute(0, |params| {
            params.push_int(100);
            (0..4).for_each(|_| params.push_null());
        });
        assert_eq!((reply.error, reply.affected_rows), (None, 1));

        let result =
            root.query("SELECT i, d, s, encode(b, 'hex') AS b FROM t ORDER BY id").unwrap();
        assert_eq!(result.columns, ["i", "d", "s", "b"]);
        assert_eq!(result.rows.len(), rows.len() + 1);
        for (row, (i, d, s, b)) in result.rows.iter().zip(&rows) {
            assert_eq!(row[0].as_deref().unwrap().parse::<i64>().unwrap(), *i);
            assert_eq!(row[1].as_deref().unwrap().parse::<f64>().unwrap().to_bits(), d.to_bits());
            assert_eq!(row[2].as_deref().unwrap(), *s);
            let hex: Vec<String> = b.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(row[3].as_deref().unwrap(), hex.concat());
        }
        assert_eq!(result.rows[rows.len()], [None, None, None, None]);
    }
}

#[test]
fn values_beside_operators_and_in_columns_of_other_types() {
    let Some(server) = server("values_beside_operators") else { return };
    for prepared in [false, true] {
        let statements = ["SELECT 10 -? AS a, -?::bigint AS b", "INSERT INTO n VALUES (?, ?)"];
        server
            .connect()
            .unwrap()
            .execute("DROP TABLE IF EXISTS n; CREATE TABLE n (i integer, v varchar(9))")
            .unwrap();
        let mut driven = Driven::log_in(&server.target(), &statements, prepared).unwrap();
        driven.keep_rows();
        let reply =
            driven.execute(0, |params| [-3, -4].into_iter().for_each(|n| params.push_int(n)));
        let result = reply.result.unwrap();
        assert_eq!(result.columns, ["a", "b"]);
        assert_eq!(result.rows, [[Some("13".to_owned()), Some("4".to_owned())]]);
        let reply = driven.execute(1, |params| {
            params.push_double(5.0);
            params.push_int(6);
        });
        assert_eq!((reply.error, reply.affected_rows), (None, 1), "prepared: {prepared}");
    }
}

#[test]
fn text_that_cannot_be_is_an_error_and_the_session_goes_on() {
    let Some(server) = server("text_that_cannot_be") else { return };
    for prepared in [false, true] {
        let mut driven =
            Driven::log_in(&server.target(), &["SELECT length(?::text)"], prepared).unwrap();
        for bad in [&b"a\0b"[..], b"\xff"] {
            let reply =
                driven.execute(0, |params| params.push_text(|out| out.extend_from_slice(bad)));
            assert_eq!(reply.error.unwrap().sqlstate, "22021");
        }
        let reply = driven.execute(0, |params| params.push_text(text("ab")));
        assert_eq!((reply.error, reply.rows), (None, 1));
        // A zero byte would end the statement for the server: it takes none of it.
        assert_eq!(driven.trouble("SELECT 1\0; SELECT 2").0, "08P01");
        assert_eq!(driven.sql("SELECT 1").rows, 1);
    }
}

#[test]
fn several_results_and_none() {
    let Some(server) = server("several_results_and_none") else { return };
    let mut driven = Driven::log_in(&server.target(), &[], false).unwrap();
    let all = format!(
        "{TABLE}; INSERT INTO t (id) VALUES (1), (2); SELECT * FROM t; UPDATE t SET i = 0 WHERE id \
         = 1;"
    );
    let reply = driven.sql(&format!("{all} DELETE FROM t; SELECT 1"));
    assert_eq!((reply.error, reply.affected_rows, reply.rows), (None, 2 + 1 + 2, 2 + 1));
    for empty in ["", ";", "-- nothing"] {
        let reply = driven.sql(empty);
        assert_eq!((reply.error, reply.affected_rows, reply.rows), (None, 0, 0));
    }
    let reply =
        driven.sql("INSERT INTO t (id) VALUES (5); SELECT 1 / 0; INSERT INTO t (id) VALUES (6)");
    assert_eq!(reply.error.unwrap().class().to_string(), "other(22012)");
    let mut client = client(&server.target()).unwrap();
    // One simple query is one transaction.
    assert_eq!(client.query_value("SELECT count(*) FROM t").unwrap().as_deref(), Some("0"));
    let result =
        client.query("SELECT 1 AS one; SELECT 2 AS two, NULL AS three WHERE false").unwrap();
    assert_eq!((result.columns, result.rows), (vec!["two".to_owned(), "three".to_owned()], vec![]));
    assert!(client.query("SELECT nonsense").unwrap_err().to_string().contains("(SQLSTATE 42703)"));
    assert_eq!(client.execute("INSERT INTO t (id) SELECT generate_series(1, 10)").unwrap(), 10);
}

#[test]
fn what_comes_at_any_time_is_passed_over() {
    let Some(server) = server("what_comes_at_any_time") else { return };
    let mut driven = Driven::log_in(&server.target(), &["SELECT 1"], true).unwrap();
    driven.sql("LISTEN c");
    let reply = driven.sql(
        "DO $$ BEGIN RAISE NOTICE 'notice'; END $$; SET TimeZone = 'UTC'; NOTIFY c, 'to us too'",
    );
    assert_eq!(reply.error, None);
    // While nothing is in flight, from another session.
    server.connect().unwrap().execute("NOTIFY c").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(100));
    for _ in 0..3 {
        assert_eq!(driven.execute(0, |_| {}).rows, 1);
    }
}

#[test]
fn a_failed_transaction_goes_on_after_rollback() {
    let Some(server) = server("a_failed_transaction") else { return };
    server.connect().unwrap().execute(TABLE).unwrap();
    for prepared in [false, true] {
        let mut statements = vec![Statement::new("INSERT INTO t (id) VALUES (?)").unwrap()];
        statements.extend(["BEGIN", "COMMIT"].map(Statement::text_only));
        let mut driven =
            Driven::with_statements(&server.target(), statements.into(), prepared).unwrap();
        let one = |params: &mut Params| params.push_int(1);
        for (statement, expect) in [(1, None), (0, None), (0, Some("23505")), (0, Some("25P02"))] {
            let reply = if statement == 0 {
                driven.execute(0, one)
            } else {
                driven.execute(statement, |_| {})
            };
            assert_eq!(reply.error.map(|error| error.sqlstate).as_deref(), expect);
        }
        assert_eq!(driven.sql("ROLLBACK").error, None);
        driven.execute(1, |_| {});
        assert_eq!(driven.execute(0, one).affected_rows, 1);
        driven.execute(2, |_| {});
        let error = driven.execute(0, one).error.unwrap();
        assert_eq!(error.class().to_string(), "duplicate_key");
        assert!(error.message.contains("; detail: Key (id)=(1) already exists."), "{error}");
        driven.sql("DELETE FROM t");
    }
}

#[test]
fn copy_is_refused_and_the_session_goes_on() {
    let Some(server) = server("copy_is_refused") else { return };
    server
        .connect()
        .unwrap()
        .execute(&format!("{TABLE}; INSERT INTO t (id) VALUES (1), (2)"))
        .unwrap();
    let statements = ["COPY t FROM STDIN", "COPY t TO STDOUT", "SELECT 1"];
    for prepared in [false, true] {
        let mut driven = Driven::log_in(&server.target(), &statements, prepared).unwrap();
        for _ in 0..2 {
            let error = driven.execute(0, |_| {}).error.unwrap();
            assert!(
                error.sqlstate == "57014" && error.message.contains("truetps sends no COPY data"),
                "{error}"
            );
            assert_eq!(driven.execute(1, |_| {}).error.unwrap().sqlstate, "0A000");
            assert_eq!(driven.execute(2, |_| {}).rows, 1);
        }
        assert_eq!(driven.trouble("SELECT 1; COPY t FROM STDIN; SELECT 2").0, "57014");
        assert_eq!(driven.sql("SELECT count(*) FROM t").rows, 1);
    }
}

#[test]
fn errors_have_their_classes() {
    let Some(server) = server("errors_have_their_classes") else { return };
    let mut a = Driven::log_in(&server.target(), &[], false).unwrap();
    let mut b = Driven::log_in(&server.target(), &[], false).unwrap();
    a.sql(&format!("{TABLE}; INSERT INTO t (id) VALUES (1), (2)"));
    let update = |id: u32| format!("UPDATE t SET i = 1 WHERE id = {id}");

    // Each waits for the other: one of the two gets the error.
    for (driven, id) in [(&mut a, 1), (&mut b, 2)] {
        driven.sql("BEGIN");
        driven.sql(&update(id));
    }
    a.begin_sql(&update(2));
    b.begin_sql(&update(1));
    let errors = [&mut a, &mut b].into_iter().filter_map(|driven| {
        let error = driven.reply().error;
        driven.sql("ROLLBACK");
        error
    });
    let classes: Vec<_> = errors.map(|error| error.class().to_string()).collect();
    assert_eq!(classes, ["deadlock"]);

    a.sql("BEGIN");
    a.sql(&update(1));
    b.sql("SET lock_timeout = '20ms'");
    assert_eq!(b.trouble(&update(1)), ("55P03".to_owned(), "lock_wait_timeout".to_owned()));
    b.sql("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM t");
    a.sql("COMMIT");
    assert_eq!(b.trouble(&update(1)), ("40001".to_owned(), "serialization_failure".to_owned()));
    b.sql("ROLLBACK; SET default_transaction_read_only = on");
    assert_eq!(b.trouble(&update(1)), ("25006".to_owned(), "read_only".to_owned()));
    b.sql("SET statement_timeout = '20ms'");
    assert_eq!(b.trouble("SELECT pg_sleep(60)"), ("57014".to_owned(), "other(57014)".to_owned()));
}

#[test]
fn a_session_that_is_ended_says_by_what() {
    let Some(mut server) = server("a_session_that_is_ended") else { return };
    let mut root = server.connect().unwrap();
    let ended =
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()
        AND backend_type = 'client backend'";
    let mut asleep = Driven::log_in(&server.target(), &[], false).unwrap();
    asleep.begin_sql("SELECT pg_sleep(60)");
    let mut idle = Driven::log_in(&server.target(), &[], false).unwrap();
    root.query(ended).unwrap();
    for driven in [&mut asleep, &mut idle] {
        let error = driven.event().unwrap_err();
        assert!(
            matches!(&error, DriverError::Server(error) if error.sqlstate == "57P01"),
            "{error}"
        );
        assert_eq!(error.class().to_string(), "connection_lost");
    }

    let mut asleep = Driven::log_in(&server.target(), &[], false).unwrap();
    asleep.begin_sql("SELECT pg_sleep(60)");
    server.kill();
    let error = asleep.event().unwrap_err();
    assert_eq!(error.class().to_string(), "connection_lost", "{error}");
}

#[test]
fn a_large_value_goes_both_ways() {
    let Some(server) = server("a_large_value") else { return };
    server.connect().unwrap().execute("CREATE TABLE big (id int PRIMARY KEY, s text)").unwrap();
    let statements = ["INSERT INTO big VALUES (?, ?)", "SELECT s FROM big WHERE id = ?"];
    let value = "0123456789abcdé'".repeat(BIG_BYTES / 17);
    for prepared in [false, true] {
        let id = i64::from(prepared);
        let mut driven = Driven::log_in(&server.target(), &statements, prepared).unwrap();
        let reply = driven.execute(0, |params| {
            params.push_int(id);
            params.push_text(text(&value));
        });
        assert_eq!((reply.error, reply.affected_rows), (None, 1));
        let select = |params: &mut Params| params.push_int(id);
        assert_eq!(driven.execute(1, select).rows, 1);
        driven.keep_rows();
        let result = driven.execute(1, select).result.unwrap();
        assert!(result.rows[0][0].as_deref() == Some(value.as_str()));
    }
    let mut client = client(&server.target()).unwrap();
    let found = client.query_value("SELECT s FROM big WHERE id = 0").unwrap();
    assert!(found.as_deref() == Some(value.as_str()));
}

#[test]
fn ready_is_the_event_of_a_login() {
    let Some(server) = server("ready_is_the_event_of_a_login") else { return };
    // Nothing to prepare, in spite of prepared statements being asked for.
    let statements = [Statement::text_only("SELECT 1")];
    let mut driven = Driven::with_statements(&server.target(), statements.into(), true).unwrap();
    assert_eq!(driven.execute(0, |_| {}).rows, 1);
    driven.begin_sql("SELECT 2");
    assert!(matches!(driven.event().unwrap(), SessionEvent::Reply(_)));
}
