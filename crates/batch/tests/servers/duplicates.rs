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
        let rows = [
            row(1, 1),
            row(2, 2),
            row(2, 2),
            r#"{"client":2,"seq":2,"text":"OTHER"}"#.to_owned(),
            row(3, 3),
        ];
        let answers = send_all(&gateway.queue, &rows);
        let stored: Vec<_> = answers.iter().map(is_stored).collect();
        assert_eq!(stored, [true, true, true, false, true], "{answers:?}");
        assert_eq!(answers[3], CommitAnswer::KeyConflict);
        assert_eq!(server.count("TRUE"), 3);
    }
}

/// A value and another spelling of it are one value; the server's spelling is compared with
/// neither.
#[test]
fn a_value_is_compared_by_what_it_says() {
    for server in TestServer::of_each_kind("values of many types") {
        let (types, json, spelled) = match server.dialect() {
            SqlDialect::Mysql => (
                "id VARCHAR(20) PRIMARY KEY, f FLOAT, d DECIMAL(10,3), t DATETIME(3), c CHAR(9), b \
                 VARBINARY(9), j JSON, e ENUM('a','b'), o TINYINT(1), z INT(9) ZEROFILL, y YEAR, i \
                 TIME(1), x BIT(4), u BINARY(16), at TIMESTAMP DEFAULT CURRENT_TIMESTAMP",
                r#"{"id":"k","f":0.1,"d":1.5,"t":"2026-11-27 10:00:00.1","c":"a","b":"é","j":{"b": 1, "a": [2]},"e":"b","o":true,
                    "z":7,"y":2026,"i":"10:00:00","x":5,"u":"018f2c3d-0000-7000-8000-0123456789ab"}"#,
                r#"{"id":"k","f":1e-1,"d":"1.500","t":"2026-11-27T10:00:00.100","c":"a","b":"é","j":{"b": 1, "a": [2]},"e":"b",
                    "o":1,"z":"007","y":"2026","i":"10:00","x":5,"u":"018F2C3D000070008000 0123456789AB"}"#,
            ),
            SqlDialect::Postgres => (
                "id VARCHAR(20) PRIMARY KEY, f REAL, d NUMERIC(10,3), t TIMESTAMPTZ, c CHAR(9), b \
                 BYTEA, j JSONB, j2 JSON, o BOOLEAN, u UUID, l TIMESTAMP(0), a INT[], n INET, at \
                 TIMESTAMPTZ DEFAULT now()",
                r#"{"id":"k","f":0.1,"d":1.5,"t":"2026-11-27 10:00:00.1+01","c":"a","b":"é","j":{"b": 1, "a": [2]},"j2":{"b": 1},
                    "o":true,"u":"018f2c3d-0000-7000-8000-0123456789ab","l":"2026-11-27","a":"{1,2}","n":"10.0.0.1"}"#,
                r#"{"id":"k","f":1e-1,"d":"1.500","t":"2026-11-27T09:00:00.1Z","c":"a","b":"é","j":{"a":[2.0],"b":1},
                    "j2":{"b": 1},"o":"t","u":"018F2C3D000070008000 0123456789AB","l":"2026-11-27T00:00","a":"{ 1, 2 }",
                    "n":"10.0.0.1/32"}"#,
            ),
        };
        server.run(&format!("CREATE TABLE typed ({types})"));
        let settings =
            truetps_batch::CommitSettings { table: "typed".to_owned(), ..server.settings() };
        let gateway = TestGateway::start(&settings);
        assert_eq!(send(&gateway.queue, json, SOON), Some(NEW));
        let duplicate = Some(CommitAnswer::Stored { is_duplicate: Some(true) });
        assert_eq!(send(&gateway.queue, json, SOON), duplicate);
        assert_eq!(send(&gateway.queue, &spelled.replace("8000 ", "8000"), SOON), duplicate);
        for other in [
            json.replace("0.1,", "0.2,"),
            json.replace("\"a\",", "\"A\","),
            json.replace("\"b\": 1", "\"b\": 2"),
        ] {
            assert_ne!(other, json);
            assert_eq!(
                send(&gateway.queue, &other, SOON),
                Some(CommitAnswer::KeyConflict),
                "{other}"
            );
        }
    }
}
