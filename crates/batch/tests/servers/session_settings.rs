//! What a server or an account sets for its sessions changes no row of the gateway.

use truetps_batch::{CommitAnswer, CommitSettings};
use truetps_record::SqlDialect;

use crate::clients::NEW;
use crate::stored_as_sent::{DUPLICATE, answers};
use crate::tables::{TestGateway, TestServer};

/// Settings of the MySQL family that give a literal another meaning, a SELECT other rows, or an
/// INSERT other checks. Not every server has each.
const MYSQL_SETTINGS: [&str; 21] = [
    "time_zone = '+05:30'",
    "sql_select_limit = 1",
    "max_join_size = 1",
    "sql_mode = ''",
    "sql_mode = 'NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH,ANSI_QUOTES'",
    "autocommit = 0",
    "completion_type = 'CHAIN'",
    "completion_type = 'RELEASE'",
    "foreign_key_checks = 0",
    "unique_checks = 0",
    "check_constraint_checks = 0",
    "old_mode = 'ZERO_DATE_TIME_CAST,UTF8_IS_UTF8MB3'",
    "sql_safe_updates = 1",
    "sql_auto_is_null = 1",
    "max_sort_length = 64",
    "group_concat_max_len = 4",
    "default_week_format = 6",
    "div_precision_increment = 0",
    "explicit_defaults_for_timestamp = 0",
    "character_set_connection = 'gbk'",
    "sql_quote_show_create = 0",
];

const POSTGRES_SETTINGS: [&str; 20] = [
    "TimeZone = 'Europe/Berlin'",
    "array_nulls = off",
    "DateStyle = 'German, DMY'",
    "DateStyle = 'ISO, DMY'",
    "timezone_abbreviations = 'India'",
    "IntervalStyle = 'sql_standard'",
    "bytea_output = 'escape'",
    "extra_float_digits = -15",
    "standard_conforming_strings = off",
    "client_encoding = 'LATIN1'",
    "default_transaction_isolation = 'serializable'",
    "default_transaction_deferrable = on",
    "backslash_quote = on",
    "transform_null_equals = on",
    "quote_all_identifiers = on",
    "default_text_search_config = 'german'",
    "xmlbinary = hex",
    "xmloption = 'document'",
    "row_security = off",
    "search_path = '$user', public",
];

/// The settings of an account that is no administrator: it has SELECT and INSERT, and `rights` on
/// the MySQL family.
fn ordinary_account(server: &TestServer, rights: &str) -> CommitSettings {
    match server.dialect() {
        SqlDialect::Mysql => {
            for host in ["localhost", "'%'"] {
                server.run(&format!("CREATE USER ordinary@{host} IDENTIFIED BY ''"));
                server
                    .run(&format!("GRANT {rights}SELECT, INSERT ON gateway.* TO ordinary@{host}"));
            }
        }
        SqlDialect::Postgres => {
            server.run("CREATE ROLE ordinary LOGIN");
            server.run("GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA public TO ordinary");
        }
    }
    let mut settings = server.settings();
    "ordinary".clone_into(&mut settings.target.login.user);
    settings
}

/// Sends two rows with one batch each, and again; returns how the server shows the first one.
#[track_caller]
fn store_and_show(
    server: &TestServer,
    settings: &CommitSettings,
    row: &str,
    shown: &str,
    setting: &str,
) -> Vec<Option<String>> {
    server.run("TRUNCATE TABLE kept");
    let gateway = TestGateway::start(settings);
    for id in [1, 2] {
        assert_eq!(answers(&gateway, &row.replace("ID", &id.to_string())), NEW, "{setting}");
    }
    for id in [1, 2] {
        assert_eq!(answers(&gateway, &row.replace("ID", &id.to_string())), DUPLICATE, "{setting}");
    }
    server.client().query(&format!("SELECT {shown} FROM kept WHERE id = 1")).unwrap().rows.remove(0)
}

#[test]
fn settings_of_the_server_change_no_row() {
    for server in TestServer::of_each_kind("settings of the server") {
        if server.dialect() == SqlDialect::Postgres {
            continue;
        }
        server.run(
            "CREATE TABLE kept (id INT PRIMARY KEY, stamp TIMESTAMP NULL, moment DATETIME, text \
             VARCHAR(20) COLLATE utf8mb4_bin, code CHAR(5), f FLOAT, n DECIMAL(9,3), checked INT, \
             CHECK (checked < 10)) CHARACTER SET utf8mb4",
        );
        let settings =
            CommitSettings { table: "kept".to_owned(), ..ordinary_account(&server, "TRIGGER, ") };
        let row = r#"{"id":ID,"stamp":"2026-03-29 02:30:00","moment":"2026-03-29 02:30:00","text":"a\\é'","code":"a","f":0.1,"n":0.125}"#;
        let shown = "UNIX_TIMESTAMP(stamp), CONCAT(moment), text, CONCAT(RTRIM(code), '|'), f, n";
        let expected = ["1774751400", "2026-03-29 02:30:00", "a\\é'", "a|", "0.1", "0.125"]
            .map(|text| Some(text.to_owned()));
        for setting in MYSQL_SETTINGS {
            let name = setting.split(' ').next().unwrap();
            let old = format!("SELECT @@GLOBAL.{name}");
            let Ok(old) = server.client().query_value(&old) else { continue };
            server.run(&format!("SET GLOBAL {setting}"));
            let stored = store_and_show(&server, &settings, row, shown, setting);
            assert_eq!(stored, expected, "{setting}");
            if name == "check_constraint_checks" {
                let checked = answers(&TestGateway::start(&settings), r#"{"id":3,"checked":11}"#);
                assert!(matches!(checked, CommitAnswer::Refused(_)), "{checked:?}");
            }
            let old = old.unwrap();
            let old = if old.bytes().all(|byte| byte.is_ascii_digit()) {
                old
            } else {
                format!("'{old}'")
            };
            server.run(&format!("SET GLOBAL {name} = {old}"));
        }
    }
}

#[test]
fn settings_of_the_account_change_no_row() {
    for server in TestServer::of_each_family("settings of the account") {
        if server.dialect() == SqlDialect::Mysql {
            continue;
        }
        server.run(
            "CREATE TABLE kept (id INT PRIMARY KEY, at TIMESTAMPTZ, list TEXT[], days DATE[], \
             times TIMETZ[], i INTERVAL, b BYTEA, d DOUBLE PRECISION, text TEXT, words TSVECTOR, \
             document XML)",
        );
        let settings = CommitSettings { table: "kept".to_owned(), ..ordinary_account(&server, "") };
        let row = r#"{"id":ID,"at":"2026-03-29 02:30:00","list":"{NULL,a}","days":"{2026-02-03}","times":"{10:00 IST}",
            "i":"-1 2:03:04","b":"a\\é","d":0.30000000000000004,"text":"a\\é'","words":"houses","document":"a<b/>"}"#;
        let shown = "at AT TIME ZONE 'UTC', list[1] IS NULL, days[1], times[1], i, b, d, text, \
                     words, document";
        let expected = [
            "2026-03-29 02:30:00",
            "t",
            "2026-02-03",
            "10:00:00+02",
            "-1 days +02:03:04",
            "\\x615cc3a9",
            "0.30000000000000004",
            "a\\é'",
            "'houses'",
            "a<b/>",
        ]
        .map(|text| Some(text.to_owned()));
        for setting in POSTGRES_SETTINGS {
            server.run(&format!("ALTER ROLE ordinary SET {setting}"));
            let stored = store_and_show(&server, &settings, row, shown, setting);
            assert_eq!(stored, expected, "{setting}");
            server.run("ALTER ROLE ordinary RESET ALL");
        }
    }
}

/// `init_connect` runs in each session of an account that is no administrator.
#[test]
fn a_session_that_begins_in_a_transaction_commits_its_rows() {
    for server in TestServer::of_each_family("init_connect") {
        if server.dialect() == SqlDialect::Postgres {
            continue;
        }
        let settings = ordinary_account(&server, "TRIGGER, ");
        for (seq, begin) in
            ["begin", "SET completion_type = 1; START TRANSACTION", "SET autocommit = 0"]
                .iter()
                .enumerate()
        {
            server.run(&format!("SET GLOBAL init_connect = '{begin}'"));
            let gateway = TestGateway::start(&settings);
            assert!(!gateway.queue.columns().reads_back);
            assert_eq!(
                answers(&gateway, &format!(r#"{{"client":1,"seq":{seq},"text":"a"}}"#)),
                NEW,
                "{begin}"
            );
            assert_eq!(
                server.count(&format!("seq = {seq}")),
                1,
                "{begin}: no other session sees the row"
            );
        }
    }
}
