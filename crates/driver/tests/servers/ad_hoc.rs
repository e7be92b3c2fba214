//! Statements that are in no list, on servers of the MySQL family.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use truetps_driver::{DriverError, Params, SessionEvent};
use truetps_sandbox::ServerBinary;
use truetps_testkit::mysql_family::{mariadb, mysql};

use crate::support::Server;
use crate::support::ad_hoc::{AdHoc, texts};

type Check = fn(&Server);

/// Each in a schema of its own. One server for all: to make one takes longer than to ask it.
const CHECKS: [(&str, Check); 8] = [
    ("every_type", binary_rows_become_the_text_that_the_server_would_have_sent),
    ("floats", floating_point_numbers_are_printed_as_the_server_prints_them),
    ("several", several_statements_and_one_that_fails),
    ("prepared", statements_are_prepared_executed_and_closed_at_any_time),
    ("bytes", bytes_of_any_kind_and_the_server_s_version),
    ("large", results_that_are_too_large_are_passed_over),
    ("wait", a_wait_that_is_over_too_early_can_be_taken_up_again),
    ("encrypted", all_of_it_goes_through_tls),
];

fn check_all(binary: &ServerBinary) {
    let server = Server::start(binary, &[("max_allowed_packet", "64M")]);
    for (name, check) in CHECKS {
        server.run(&[&format!("CREATE DATABASE {name}")]);
        check(&server);
    }
}

#[test]
fn ad_hoc_statements_on_mariadb() {
    if let Some(binary) = mariadb("ad_hoc_statements_on_mariadb") {
        check_all(&binary);
    }
}

#[test]
fn ad_hoc_statements_on_mysql() {
    if let Some((binary, _)) = mysql("ad_hoc_statements_on_mysql") {
        check_all(&binary);
    }
}

fn connect(server: &Server, schema: &str) -> AdHoc {
    let mut target = server.socket("root", "");
    target.login.database = Some(schema.to_owned());
    AdHoc::connect(&target)
}

fn text(value: &[u8]) -> impl FnOnce(&mut Vec<u8>) {
    move |out| out.extend_from_slice(value)
}

const TYPES: &str = "CREATE TABLE types (id INT PRIMARY KEY, t TINYINT, tu TINYINT UNSIGNED, s \
    SMALLINT, su SMALLINT UNSIGNED, m MEDIUMINT, mu MEDIUMINT UNSIGNED, i INT, iu INT UNSIGNED, b \
    BIGINT, bu BIGINT UNSIGNED, z INT(6) ZEROFILL, f FLOAT, fd FLOAT(9,3), d DOUBLE, dd \
    DOUBLE(12,2), n DECIMAL(30,10), y YEAR, da DATE, ti TIME, t6 TIME(6), dt DATETIME, d3 \
    DATETIME(3), ts TIMESTAMP(6) NULL, bi BIT(9), c CHAR(5), v VARCHAR(100), vb VARBINARY(100), tx \
    TEXT, bl BLOB, e ENUM('x','why'), se SET('a','b'), j JSON)";

const ROWS: [&str; 4] = [
    "0, -128, 255, -32768, 65535, -8388608, 16777215, -2147483648, 4294967295, \
     -9223372036854775808, 18446744073709551615, 42, 0.1, 123456.789, 0.1, -0.005, \
     -12345678901234567890.0123456789, 2155, '9999-12-31', '-838:59:59', '838:59:58.999999', \
     '9999-12-31 23:59:59', '2024-02-29 01:02:03.456', '2024-02-29 01:02:03.000009', b'101010101', \
     'abc', 'it''s \\0 é', x'00ff', 'text', x'fe00', 'why', 'a,b', '{\"a\": [1, null]}'",
    "1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1901, '0000-00-00', '00:00:00', \
     '-00:00:00.000001', '0000-00-00 00:00:00', '2024-01-01', NULL, b'0', '', '', '', '', '', 'x', \
     '', '1'",
    "2, 127, 1, 32767, 1, 8388607, 1, 2147483647, 1, 9223372036854775807, 1, 1234567, 3.4e38, -1, \
     1.7976931348623157e308, 99.995, 1, 0, '2024-01-02', '30:00:00', '23:59:59.5', '2024-01-02', \
     '2024-01-02 00:00:00.001', '2024-01-02 10:11:12', b'1', 'x', REPEAT('y', 100), NULL, \
     REPEAT('z', 60000), REPEAT('w', 300), NULL, NULL, NULL",
    "3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
     NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
     NULL, NULL",
];

fn binary_rows_become_the_text_that_the_server_would_have_sent(server: &Server) {
    let mut link = connect(server, "every_type");
    link.sets("SET sql_mode = ''");
    link.sets(TYPES);
    for row in ROWS {
        link.sets(format!("INSERT INTO types VALUES ({row})"));
    }
    let select = "SELECT * FROM types ORDER BY id";
    let (as_text, as_binary) = (link.sets(select), link.prepared_sets(select));
    assert_eq!((as_text.len(), as_text[0].1, as_text[0].2.len()), (1, 33, ROWS.len()));
    for (text, binary) in as_text[0].2.iter().zip(&as_binary[0].2) {
        for (n, pair) in text.iter().zip(binary).enumerate() {
            let [text, binary] =
                [pair.0, pair.1].map(|v| v.as_deref().map(|v| String::from_utf8_lossy(v)));
            assert_eq!(text, binary, "column {n}");
        }
    }
    assert_eq!(as_text, as_binary);
    let expressions = "SELECT 1.5, 1e0, PI(), SIN(1), NOW() > 0, TIMEDIFF('10:00', '11:00:00.5'), \
            CAST('2024-01-01 10:00' AS DATETIME(2)), NULL, 'a', -1, 18446744073709551615, 0x41, \
            DATE('2024-01-02'), ADDTIME('1:00', '0:00:00.25'), SEC_TO_TIME(1.5), 1/3, 2.0E-5, TRUE";
    assert_eq!(link.sets(expressions), link.prepared_sets(expressions));
}

fn floating_point_numbers_are_printed_as_the_server_prints_them(server: &Server) {
    let mut link = connect(server, "floats");
    link.sets("CREATE TABLE r (id INT AUTO_INCREMENT PRIMARY KEY, d DOUBLE, f FLOAT)");
    let mut insert = "INSERT INTO r (d, f) VALUES (0, 0)".to_owned();
    for exponent in -37..=37 {
        for digits in [
            "1",
            "-9.99999949",
            "1.2345678901234567",
            "9.9999996",
            "3.3333333333333335",
            "-1.000001",
        ] {
            let _ = write!(insert, ", ({digits}e{exponent}, {digits}e{exponent})");
        }
    }
    insert.push_str(
        ", (5e-324, 1e-38), (2.2250738585072014e-308, 1), (1e308, 16777217), (-0e0, -0e0), \
            (9.007199254740993e14, 1), (1234567890123456.8, 1), (4503599627370496.5, 1)",
    );
    link.sets(&insert);
    let select = "SELECT d, f FROM r ORDER BY id";
    let (text, binary) = (link.sets(select), link.prepared_sets(select));
    for (text, binary) in text[0].2.iter().zip(&binary[0].2) {
        let show = |row: &[Option<Vec<u8>>]| {
            row.iter()
                .map(|v| String::from_utf8_lossy(v.as_deref().unwrap()).into_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(show(text), show(binary));
    }
}

fn several_statements_and_one_that_fails(server: &Server) {
    let mut link = connect(server, "several");
    link.sets("CREATE TABLE t (a INT PRIMARY KEY, b INT); INSERT INTO t VALUES (1, 1), (2, 2)");
    let sets =
        link.sets("SELECT 1, NULL; UPDATE t SET b = b + 1; SELECT a FROM t WHERE a > 5; DO 1;");
    let row = vec![Some(b"1".to_vec()), None];
    assert_eq!(sets, [(0, 2, vec![row]), (2, 0, vec![]), (0, 1, vec![]), (0, 0, vec![])]);
    // Rows that are as they were are not changed ones.
    assert_eq!(link.sets("UPDATE t SET b = b")[0].0, 0);

    let (reply, sets) =
        link.run("INSERT INTO t VALUES (3, 3); SELECT 7; SELECT nonsense; SELECT 8");
    assert_eq!(reply.error.unwrap().code, 1054);
    assert_eq!((sets.len(), sets[0].0, &sets[1].2), (2, 1, &vec![texts(&["7"])]));
    // It fails in the middle of its rows.
    let (reply, sets) = link
        .run("SELECT 7; SELECT a, (SELECT x.a FROM t x WHERE x.a >= t.a) FROM t ORDER BY a DESC");
    assert_eq!((reply.error.unwrap().code, sets.len()), (1242, 1));
    assert_eq!(link.sets("SELECT 9")[0].2, [texts(&["9"])]);

    link.sets(
        "CREATE PROCEDURE p() BEGIN SELECT 1.5 AS a; UPDATE t SET b = 0; SELECT a, 'x' FROM \
               t ORDER BY a; END",
    );
    let expect = [
        (0, 1, vec![texts(&["1.5"])]),
        (0, 2, vec![texts(&["1", "x"]), texts(&["2", "x"]), texts(&["3", "x"])]),
    ];
    for sets in [link.sets("CALL p()"), link.prepared_sets("CALL p()")] {
        assert_eq!((sets.len(), &sets[..2]), (3, &expect[..]));
    }
}

fn statements_are_prepared_executed_and_closed_at_any_time(server: &Server) {
    let mut link = connect(server, "prepared");
    link.sets("CREATE TABLE t (i BIGINT, d DOUBLE, s VARCHAR(100), b VARBINARY(300), n INT)");
    let insert = link.prepare("INSERT INTO t VALUES (?, ?, ?, ?, ?)");
    assert_eq!((insert.handle, insert.params, insert.columns), (0, 5, 0));
    let bytes: Vec<u8> = (0..=255).collect();
    let values = |params: &mut Params| {
        params.push_int(i64::MIN);
        params.push_double(-1.5e-300);
        params.push_text(text("it's a \\ é".as_bytes()));
        params.push_bytes(text(&bytes));
        params.push_null();
    };
    let (reply, sets) = link.execute(insert.handle, values);
    assert_eq!((reply.error, reply.affected_rows, sets), (None, 1, vec![(1, 0, vec![])]));
    let select = link.prepare("SELECT i, d, s, b, n FROM t WHERE i = ?");
    assert_eq!((select.handle, select.params, select.columns), (1, 1, 5));
    let (_, sets) = link.execute(select.handle, |params| params.push_int(i64::MIN));
    let mut row = texts(&["-9223372036854775808", "-1.5e-300", "it's a \\ é"]);
    row.extend([Some(bytes.clone()), None]);
    assert_eq!(sets, [(0, 5, vec![row])]);
    assert!(link.execute(select.handle, |params| params.push_int(5)).1[0].2.is_empty());

    let refused = link.try_prepare("SELECT nonsense", &[]).unwrap_err();
    assert_eq!(refused.error.unwrap().code, 1054);
    assert!(link.misuse(select.handle, |_| {}).contains("number of parameters"));
    assert!(link.misuse(77, |_| {}).contains("no statement is open"));
    link.close(select.handle);
    assert!(
        link.misuse(select.handle, |params| params.push_int(1)).contains("no statement is open")
    );
    assert!(link.link.close_statement(select.handle, &mut link.scratch).is_err());
    let again = link.prepare("SELECT ?");
    assert_eq!(again.handle, select.handle);
    assert_eq!(
        link.execute(again.handle, |params| params.push_text(text(b"x"))).1[0].2,
        [texts(&["x"])]
    );
    link.close(again.handle);
    link.close(insert.handle);
    let open = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = \
                    'Prepared_stmt_count'";
    let open = if link.run(open).0.error.is_none() {
        open
    } else {
        "SHOW STATUS LIKE 'Prepared_stmt_count'"
    };
    assert_eq!(link.sets(open)[0].2[0].last().unwrap().as_deref(), Some(&b"0"[..]));
}

fn bytes_of_any_kind_and_the_server_s_version(server: &Server) {
    let mut link = connect(server, "bytes");
    assert_eq!(
        link.sets(b"SELECT _binary'\xff\xfe', LENGTH(_binary'\xff')")[0].2,
        [vec![Some(b"\xff\xfe".to_vec()), Some(b"1".to_vec())]]
    );
    let version = link.link.session().server_version().to_owned();
    let found = link.sets("SELECT VERSION()")[0].2[0][0].clone().unwrap();
    assert!(
        String::from_utf8(found).unwrap().starts_with(&version) && !version.is_empty(),
        "{version}"
    );
    assert_eq!(link.link.session().transaction_status(), None);
}

fn results_that_are_too_large_are_passed_over(server: &Server) {
    let mut link = connect(server, "large");
    let rows = ["SELECT REPEAT('x', 60000000) AS x"; 5].join(" UNION ALL ");
    let (reply, sets) = link.run(format!("SELECT 1; {rows}; SELECT 2"));
    assert_eq!((reply.error.unwrap().code, sets.len(), reply.rows), (2008, 0, 7));
    assert_eq!(link.sets("SELECT 3")[0].2, [texts(&["3"])]);
}

fn a_wait_that_is_over_too_early_can_be_taken_up_again(server: &Server) {
    let mut link = connect(server, "wait");
    link.link.send_bytes(b"SELECT SLEEP(0.5)", &mut link.scratch).unwrap();
    let error = link
        .link
        .wait(&mut link.scratch, Some(Instant::now() + Duration::from_millis(50)))
        .unwrap_err();
    let DriverError::Io(error) = error else { panic!("{error}") };
    assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
    // A command is in flight: no other one may begin.
    assert!(link.link.prepare(b"SELECT 1", &[], &mut link.scratch).is_err());
    assert!(matches!(link.link.wait(&mut link.scratch, None).unwrap(), SessionEvent::Reply(_)));
    assert_eq!(link.sets("SELECT 1").len(), 1);
}

fn all_of_it_goes_through_tls(server: &Server) {
    server.run(&["CREATE USER secure@'%' IDENTIFIED BY 'x' REQUIRE SSL"]);
    let mut link = AdHoc::connect(&server.tcp("secure:x", "?tls=required"));
    for _ in 0..2 {
        let echo = link.prepare("SELECT ?, REPEAT('x', 100000)");
        let (_, sets) = link.execute(echo.handle, |params| params.push_text(text(b"here")));
        assert_eq!(sets[0].2, [texts(&["here", &"x".repeat(100_000)])]);
        assert!(link.misuse(echo.handle + 1, |_| {}).contains("no statement is open"));
        link.close(echo.handle);
        assert_eq!(link.sets("SELECT 1; SELECT 2").len(), 2);
    }
}
