//! Keys that are sent again.

use truetps_batch::CommitAnswer;
use truetps_record::SqlDialect;

use crate::SOON;
use crate::clients::{NEW, is_stored, row, send, send_all};
use crate::tables::{TestGateway, TestServer};

#[test]
fn a_key_is_stored_once_and_other_values_are_a_conflict() {
    for server in TestServer::of_each_kind("duplicates") {
        let gateway = server.gateway();
        assert_eq!(send(&gateway.queue, &row(1, 1), SOON), Some(NEW));
        let again = send(&gateway.queue, &row(1, 1), SOON);
        assert_eq!(again, Some(CommitAnswer::Stored { is_duplicate: Some(true) }));
        let other = send(&gateway.queue, r#"{"client":1,"seq":1,"text":"other"}"#, SOON);
        assert_eq!(other, Some(CommitAnswer::KeyConflict));
        // A column that is left out may have any value.
        let rows = [row(1, 1), row(2, 2), row(2, 2), r#"{"client":2,"seq":2,"text":"OTHER"}"#.to_owned(), row(3, 3)];
        let answers = send_all(&gateway.queue, &rows);
        let stored: Vec<_> = answers.iter().map(is_stored).collect();
        assert_eq!(stored, [true, true, true, false, true], "{answers:?}");
        assert_eq!(answers[3], CommitAnswer::KeyConflict);
        assert_eq!(server.count("TRUE"), 3);
    }
}

/// Values that a column stores differently from what was sent are no conflict.
#[test]
fn what_the_server_makes_of_a_value_is_compared() {
    for server in TestServer::of_each_kind("values of many types") {
        let (types, json) = match server.dialect() {
            SqlDialect::Mysql => (
                "id VARCHAR(20) PRIMARY KEY, f FLOAT, d DECIMAL(10,3), t DATETIME(3), c CHAR(9), b VARBINARY(9), j JSON, \
                 e ENUM('a','b'), o TINYINT(1), at TIMESTAMP DEFAULT CURRENT_TIMESTAMP",
                r#"{"id":"k","f":0.1,"d":1.5,"t":"2026-11-27 10:00:00.1","c":"a ","b":"é","j":{"b": 1, "a": [2]},"e":"b","o":true}"#,
            ),
            SqlDialect::Postgres => (
                "id VARCHAR(20) PRIMARY KEY, f REAL, d NUMERIC(10,3), t TIMESTAMPTZ, c CHAR(9), b BYTEA, j JSONB, j2 JSON, \
                 o BOOLEAN, at TIMESTAMPTZ DEFAULT now()",
                r#"{"id":"k","f":0.1,"d":1.5,"t":"2026-11-27 10:00:00.1+01","c":"a ","b":"é","j":{"b": 1, "a": [2]},"j2":{"b": 1},"o":true}"#,
            ),
        };
        server.run(&format!("CREATE TABLE typed ({types})"));
        let settings = truetps_batch::CommitSettings { table: "typed".to_owned(), ..server.settings() };
        let gateway = TestGateway::start(&settings);
        assert_eq!(send(&gateway.queue, json, SOON), Some(NEW));
        let again = send(&gateway.queue, json, SOON);
        assert_eq!(again, Some(CommitAnswer::Stored { is_duplicate: Some(true) }));
        let other = send(&gateway.queue, &json.replace("0.1,", "0.2,"), SOON);
        assert_eq!(other, Some(CommitAnswer::KeyConflict));
        let other = send(&gateway.queue, &json.replace("\"a \"", "\"A\""), SOON);
        assert_eq!(other, Some(CommitAnswer::KeyConflict));
    }
}
