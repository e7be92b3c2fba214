//! What is stored of a value, for each type, or that it is refused.

use truetps_batch::{CommitAnswer, CommitSettings};
use truetps_record::SqlDialect;

use crate::SOON;
use crate::clients::{NEW, send, send_all};
use crate::stored_as_sent::{DUPLICATE, answers};
use crate::tables::{TestGateway, TestServer};

/// A value as JSON, and as the server shows it; `None`: it is refused.
type Tried = (&'static str, Option<&'static str>);

const MYSQL_VALUES: [(&str, &[Tried]); 18] = [
    (
        "BIT(64)",
        &[
            ("-1", None),
            ("-0", None),
            ("18446744073709551615", Some("18446744073709551615")),
            ("\"5\"", None),
        ],
    ),
    ("BIT(1)", &[("true", Some("1")), ("false", Some("0")), ("2", None)]),
    (
        "YEAR",
        &[
            ("2026", Some("2026")),
            ("\"1999\"", Some("1999")),
            ("true", None),
            ("false", None),
            ("\"-026\"", None),
            ("26", None),
        ],
    ),
    ("YEAR", &[("\"0026\"", None), ("\"0000\"", Some("0000"))]),
    ("TINYINT(1)", &[("true", Some("1")), ("false", Some("0")), ("\"true\"", None)]),
    ("DECIMAL(5,2)", &[("true", Some("1.00")), ("\"true\"", None)]),
    ("DECIMAL(1,1)", &[("true", None), ("false", Some("0.0"))]),
    ("DOUBLE", &[("true", Some("1")), ("\"true\"", None)]),
    ("FLOAT", &[("false", Some("0"))]),
    (
        "ENUM('1','true')",
        &[("true", None), ("1", None), ("\"true\"", Some("true")), ("\"1\"", Some("1"))],
    ),
    ("SET('1','true')", &[("true", None), ("1", None), ("\"1,true\"", Some("1,true"))]),
    (
        "TIME",
        &[
            ("\"10:11\"", Some("10:11:00")),
            ("\"838:59:59\"", Some("838:59:59")),
            ("\"-10:11:12\"", Some("-10:11:12")),
            ("\"10:11:60\"", None),
            ("\"10:60:00\"", None),
            ("\"839:00:00\"", None),
            ("true", None),
            ("101112", None),
        ],
    ),
    (
        "DATE",
        &[
            ("\"0099-01-01\"", Some("0099-01-01")),
            ("true", None),
            ("\"2026-02-29\"", None),
            ("\"2026-00-01\"", None),
        ],
    ),
    (
        "DATETIME",
        &[
            ("\"2026-11-28\"", Some("2026-11-28 00:00:00")),
            ("\"2026-11-28T10:11\"", Some("2026-11-28 10:11:00")),
            ("\"2026-11-28 23:59:60\"", None),
            ("\"2026-11-28 24:00:00\"", None),
            ("true", None),
        ],
    ),
    (
        "TIMESTAMP NULL",
        &[
            ("\"2026-11-28 23:59:60\"", None),
            ("\"2038-01-20 00:00:00\"", None),
            ("\"1970-01-01\"", None),
        ],
    ),
    ("VARCHAR(5)", &[("true", Some("true")), ("false", Some("false"))]),
    ("VARBINARY(5)", &[("true", Some("true"))]),
    ("JSON", &[("true", Some("true"))]),
];

const POSTGRES_VALUES: [(&str, &[Tried]); 11] = [
    (
        "TIME",
        &[
            ("\"10:11\"", Some("10:11:00")),
            ("\"24:00:00\"", Some("24:00:00")),
            ("\"23:59:60\"", None),
            ("\"10:60:00\"", None),
            ("\"-10:00:00\"", None),
            ("\"100:00:00\"", None),
            ("\"010:00:00\"", Some("10:00:00")),
            ("true", None),
        ],
    ),
    (
        "TIMESTAMP",
        &[
            ("\"2026-11-28\"", Some("2026-11-28 00:00:00")),
            ("\"2026-11-28T10:11\"", Some("2026-11-28 10:11:00")),
            ("\"2026-11-28 23:59:60\"", None),
            ("\"2026-11-28 24:00:00\"", None),
            ("\"0099-01-01 00:00:00\"", Some("0099-01-01 00:00:00")),
        ],
    ),
    (
        "TIMESTAMPTZ",
        &[
            ("\"2026-11-28 10:00:00+01\"", Some("2026-11-28 09:00:00+00")),
            ("\"2026-11-28 10:00:00-01:30\"", Some("2026-11-28 11:30:00+00")),
            ("\"2026-11-28 10:00:00+01:60\"", None),
            ("\"2026-11-28 10:00:00+24\"", None),
            ("\"2026-11-28 24:00:00Z\"", None),
            ("\"2026-11-28 23:59:60Z\"", None),
        ],
    ),
    ("DATE", &[("\"0099-01-01\"", Some("0099-01-01")), ("\"2026-02-29\"", None), ("true", None)]),
    ("BOOLEAN", &[("true", Some("t")), ("false", Some("f")), ("1", None)]),
    ("INT", &[("true", None)]),
    ("NUMERIC", &[("true", None), ("\"NaN\"", Some("NaN"))]),
    ("REAL", &[("true", None)]),
    ("BIT(4)", &[("\"0101\"", Some("0101")), ("\"01\"", None), ("true", None), ("5", None)]),
    ("TEXT", &[("true", Some("true"))]),
    ("UUID", &[("true", None)]),
];

/// Sends a value, and returns what is stored.
fn stored(server: &TestServer, gateway: &TestGateway, kind: &str, json: &str) -> Option<String> {
    server.run("DELETE FROM tried");
    let row = format!(r#"{{"id":1,"v":{json}}}"#);
    let is_refused = gateway.queue.columns().read_row(row.as_bytes(), None).is_err();
    if !is_refused {
        let answer = answers(gateway, &row);
        match answer {
            CommitAnswer::Stored { .. } => {
                let again = send(&gateway.queue, &row, SOON);
                assert_eq!(
                    again,
                    Some(CommitAnswer::Stored { is_duplicate: Some(true) }),
                    "{json}"
                );
            }
            CommitAnswer::Refused(_) | CommitAnswer::Changed { .. } => {}
            other => panic!("{json}: {other:?}"),
        }
    }
    let is_number = server.dialect() == SqlDialect::Mysql && kind.starts_with("BIT");
    let shown = if is_number { "v+0" } else { "v" };
    let rows = server.client().query(&format!("SELECT {shown} FROM tried")).unwrap().rows;
    rows.into_iter().next().map(|row| row.into_iter().next().flatten().unwrap())
}

#[test]
fn a_value_is_stored_as_it_was_meant_or_refused() {
    for server in TestServer::of_each_family("values") {
        let types: &[(&str, &[Tried])] = match server.dialect() {
            SqlDialect::Mysql => &MYSQL_VALUES,
            SqlDialect::Postgres => &POSTGRES_VALUES,
        };
        let mut wrong = Vec::new();
        for (kind, values) in types {
            server.run("DROP TABLE IF EXISTS tried");
            server.run(&format!("CREATE TABLE tried (id INT PRIMARY KEY, v {kind})"));
            let gateway = TestGateway::start(&CommitSettings {
                table: "tried".to_owned(),
                ..server.settings()
            });
            for (json, expected) in *values {
                let stored = stored(&server, &gateway, kind, json);
                if stored.as_deref() != *expected {
                    wrong.push(format!("{kind} {json}: {stored:?}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

/// PostgreSQL reads types without rules in its own way: the start says which columns have them, and
/// words for the time of the statement, which would make a row that is sent again another one, are
/// refused.
#[test]
fn types_without_rules_are_named_and_read_no_clock() {
    for server in TestServer::of_each_family("types without rules") {
        if server.dialect() == SqlDialect::Mysql {
            continue;
        }
        server.run("CREATE TYPE mood AS ENUM ('now', 'later')");
        server.run("CREATE TYPE span AS (starts TIMESTAMPTZ, name TEXT)");
        server.run("CREATE DOMAIN moments AS TIMESTAMPTZ[]");
        server.run(
            "CREATE TABLE tried (id INT PRIMARY KEY, at TIMETZ, days DATE[], during TSTZRANGE, \
             pause INTERVAL, price MONEY, spans SPAN[], seen MOMENTS, felt MOOD, words TEXT[], \
             address INET, stamp TIMESTAMPTZ, text TEXT)",
        );
        let settings = CommitSettings { table: "tried".to_owned(), ..server.settings() };
        let loose = "columns whose types may round what is sent: `at` (time with time zone), \
                     `days` (date[]), `during` (tstzrange), `pause` (interval), `price` (money), \
                     `spans` (span[]), `seen` (timestamp with time zone[]); it is stored, and \
                     compared, as the type reads it";
        assert_eq!(settings.inspect().unwrap().warnings, [loose]);
        let gateway = TestGateway::start(&settings);
        let columns = gateway.queue.columns();
        for (column, value) in [
            ("at", "Now"),
            ("days", "{today}"),
            ("days", r#"{\"n\\ow\"}"#),
            ("during", "[yesterday,tomorrow)"),
            ("spans", r#"{\"(now,a)\"}"#),
            ("seen", "{now}"),
            ("stamp", "now"),
        ] {
            let row = format!(r#"{{"id":1,"{column}":"{value}"}}"#);
            assert!(columns.read_row(row.as_bytes(), None).is_err(), "{row}");
        }
        let row = r#"{"id":1,"at":"10:00+01","days":"{2026-11-28}","during":"[2026-11-28,infinity)","felt":"now",
            "words":"{now}","text":"now"}"#;
        assert_eq!(answers(&gateway, row), NEW);
        assert_eq!(answers(&gateway, row), DUPLICATE);
    }
}

/// The server refuses to look for such a row, too. Other rows that are refused have their own
/// answers.
#[test]
fn a_key_that_its_type_does_not_have_is_refused_for_good() {
    for server in TestServer::of_each_family("keys of other types") {
        for (kind, json) in
            [("INT", "99999999999999999999"), ("DATE", "\"2026-02-30\""), ("TIME", "\"900:00:00\"")]
        {
            server.run("DROP TABLE IF EXISTS tried");
            server.run(&format!("CREATE TABLE tried (id {kind} PRIMARY KEY, v INT NOT NULL)"));
            let gateway = TestGateway::start(&CommitSettings {
                table: "tried".to_owned(),
                ..server.settings()
            });
            let rows = [format!(r#"{{"id":{json},"v":1}}"#), format!(r#"{{"id":{json},"v":2}}"#)];
            for answer in send_all(&gateway.queue, &rows) {
                assert!(matches!(answer, CommitAnswer::Refused(_)), "{kind} {json}: {answer:?}");
            }
        }
    }
}
