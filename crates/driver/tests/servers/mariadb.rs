//! MariaDB: logins, TLS, limits, long packets.

use std::time::Duration;

use truetps_driver::{DriverError, TlsError};
use truetps_record::ErrorClass;
use truetps_testkit::mysql_family::{mariadb, mariadb_with_plugins};

use crate::support::{Prepared, Server, connect, refusal, tls_version};

const ACCOUNT: &str =
    "CREATE USER native@'%' IDENTIFIED VIA mysql_native_password USING PASSWORD('s3cret p@ss')";
const NATIVE: &str = "native:s3cret%20p%40ss";

#[test]
fn logins_and_their_refusals() {
    let Some(binary) = mariadb("logins_and_their_refusals") else { return };
    let server = Server::start(&binary, &[("disconnect_on_expired_password", "ON")]);
    server.run(&[
        ACCOUNT,
        "CREATE USER empty@'%'",
        "CREATE USER old@'%' IDENTIFIED BY 'x'",
        "ALTER USER old@'%' PASSWORD EXPIRE",
        "CREATE USER locked@'%' IDENTIFIED BY 'x' ACCOUNT LOCK",
        "CREATE USER elsewhere@'10.1.2.3' IDENTIFIED BY 'x'",
    ]);
    for target in
        [server.tcp(NATIVE, "?tls=off"), server.tcp("empty", "?tls=off"), server.socket(NATIVE, "")]
    {
        let user = connect(&target).unwrap().query_value("SELECT USER()").unwrap().unwrap();
        assert!(user.starts_with(&target.login.user), "{user}");
    }
    let by_environment = server.tcp("native", "").with_password("s3cret p@ss");
    connect(&by_environment).unwrap();

    passwords_of_every_length(&server, &["mysql_native_password"]);

    let check = |target, code, hint: &str| {
        let error = refusal(&target);
        assert_eq!((error.code(), error.class()), (code, ErrorClass::ConnectFailed), "{error}");
        assert!(
            error.hint().unwrap().contains(hint) && !error.to_string().contains("s3cret"),
            "{error}"
        );
    };
    check(server.tcp("native:wrong", "?tls=off"), 1045, "TRUETPS_PASSWORD");
    check(server.tcp("native", ""), 1045, "TRUETPS_PASSWORD");
    check(server.socket("nobody:x", ""), 1045, "TRUETPS_PASSWORD");
    check(server.tcp("elsewhere:x", ""), 1045, "TRUETPS_PASSWORD");
    check(server.tcp("old:x", ""), 1862, "ALTER USER");
    check(server.tcp("locked:x", ""), 4151, "UNLOCK");
    // The schema is looked at after the password, and access to it before that it is there.
    check(server.tcp("native:s3cret%20p%40ss", "nosuch"), 1044, "GRANT");
    server.run(&["GRANT ALL ON *.* TO native@'%'"]);
    check(server.tcp("native:s3cret%20p%40ss", "nosuch"), 1049, "CREATE DATABASE");
}

#[test]
fn an_expired_password_may_log_in_and_do_nothing() {
    let Some(binary) = mariadb("an_expired_password_may_log_in_and_do_nothing") else { return };
    let server = Server::start(&binary, &[]);
    server.run(&["CREATE USER old@'%' IDENTIFIED BY 'x'", "ALTER USER old@'%' PASSWORD EXPIRE"]);
    // The server asks clients whether they can do with that; this one says no.
    let error = connect(&server.tcp("old:x", ""))
        .and_then(|mut client| client.query("SELECT 1"))
        .unwrap_err();
    assert!(
        [1820, 1862].contains(&error.code()) && error.hint().unwrap().contains("expired"),
        "{error}"
    );
}

#[test]
fn a_client_that_waited_in_vain_takes_no_late_reply_for_another() {
    let Some(binary) = mariadb("a_client_that_waited_in_vain_takes_no_late_reply_for_another")
    else {
        return;
    };
    let server = Server::start(&binary, &[]);
    let mut client = connect(&server.socket("root", "")).unwrap();
    client.set_timeout(Duration::from_millis(100)).unwrap();
    let error = client.query("SELECT SLEEP(0.3)").unwrap_err();
    assert!(matches!(error, DriverError::Io(_)), "{error}");
    std::thread::sleep(Duration::from_millis(400));
    let answer = client.query_value("SELECT 7");
    assert!(matches!(answer, Err(DriverError::Closed)), "{answer:?}");
    // What the server refuses is a reply as any other.
    let mut client = connect(&server.socket("root", "")).unwrap();
    client.query("SELECT nothing").unwrap_err();
    assert_eq!(client.query_value("SELECT 7").unwrap().as_deref(), Some("7"));
}

#[test]
fn limits_of_connections() {
    let Some(binary) = mariadb("limits_of_connections") else { return };
    let server = Server::start(&binary, &[("max_connections", "10")]);
    server.run(&[
        "CREATE USER few@'%' IDENTIFIED BY 'x' WITH MAX_USER_CONNECTIONS 1",
        "CREATE USER many@'%'",
    ]);
    let first = connect(&server.tcp("few:x", "")).unwrap();
    let error = refusal(&server.tcp("few:x", ""));
    assert!(
        [1203, 1226].contains(&error.code())
            && error.hint().unwrap().contains("max_user_connections"),
        "{error}"
    );
    drop(first);
    let mut clients = Vec::new();
    let error = loop {
        match connect(&server.tcp("many", "")) {
            Ok(client) => clients.push(client),
            Err(error) => break error,
        }
        assert!(clients.len() <= 20);
    };
    assert_eq!((error.code(), error.class()), (1040, ErrorClass::ConnectFailed), "{error}");
    assert!(error.hint().unwrap().contains("max_connections"));
}

#[test]
fn tls_in_all_its_modes() {
    let Some(binary) = mariadb("tls_in_all_its_modes") else { return };
    let server = Server::start(&binary, &[]);
    server.run(&[ACCOUNT, "CREATE USER strict@'%' IDENTIFIED BY 'x' REQUIRE SSL"]);
    let (ca, other) = (server.certificates.ca("ca.pem"), server.certificates.ca("other-ca.pem"));
    let tls = |options: &str| tls_version(&server.tcp(NATIVE, options));
    assert_eq!(tls("?tls=off"), "");
    assert_eq!(tls_version(&server.socket(NATIVE, "")), "");
    for options in ["", "?tls=required", &format!("?{ca}"), &format!("?tls=verify-identity&{ca}")] {
        assert_eq!(tls(options), "TLSv1.3", "{options}");
    }
    assert_eq!(tls_version(&server.socket(NATIVE, "&tls=required")), "TLSv1.3");
    assert_eq!(
        tls_version(&server.host("localhost", NATIVE, &format!("?{ca}"))),
        "TLSv1.3",
        "another name"
    );
    assert_eq!(tls_version(&server.tcp("strict:x", "")), "TLSv1.3");
    assert_eq!(refusal(&server.tcp("strict:x", "?tls=off")).code(), 1045);
    server.run(&["CREATE USER certified@'%' IDENTIFIED BY 'x' REQUIRE X509"]);
    let client = server.certificates.client();
    for options in [&format!("?{client}"), &format!("?tls=verify-identity&{ca}&{client}")] {
        assert_eq!(tls_version(&server.tcp("certified:x", options)), "TLSv1.3", "{options}");
    }
    assert_eq!(refusal(&server.tcp("certified:x", "?tls=required")).code(), 1045);

    let tls_error = |target| match refusal(&target) {
        DriverError::Tls(error) => error,
        other => panic!("{other}"),
    };
    let error = tls_error(server.host("localhost", NATIVE, &format!("?tls=verify-identity&{ca}")));
    let found = vec!["127.0.0.1".to_owned(), "db.example".to_owned()];
    let TlsError::OtherName { wanted, found: mut names } = error else { panic!("{error}") };
    names.sort();
    assert_eq!((wanted.as_str(), names), ("localhost", found));
    assert_eq!(tls_error(server.tcp(NATIVE, &format!("?{other}"))), TlsError::UnknownAuthority);
    let system = tls_error(server.tcp(NATIVE, "?tls=verify-ca"));
    assert!(
        matches!(system, TlsError::UnknownAuthority | TlsError::Authorities { .. }),
        "{system}"
    );
}

#[test]
fn servers_with_old_tls_or_none() {
    let Some(binary) = mariadb("servers_with_old_tls_or_none") else { return };
    let server = Server::start(&binary, &[("ssl", "OFF")]);
    server.run(&[ACCOUNT]);
    assert_eq!(tls_version(&server.tcp(NATIVE, "")), "");
    let error = refusal(&server.tcp(NATIVE, "?tls=required"));
    assert!(
        matches!(error, DriverError::Tls(TlsError::NotOffered)) && error.hint().is_some(),
        "{error}"
    );
    drop(server);

    // A low security level, or OpenSSL would not speak so old a protocol.
    let server =
        Server::start(&binary, &[("tls_version", "TLSv1.1"), ("ssl_cipher", "ALL:@SECLEVEL=0")]);
    server.run(&[ACCOUNT]);
    let error = refusal(&server.tcp(NATIVE, "?tls=required"));
    assert!(matches!(error, DriverError::Tls(TlsError::OldProtocol)), "{error:?}");
    drop(server);

    let server = Server::start(&binary, &[("tls_version", "TLSv1.2")]);
    server.run(&[ACCOUNT]);
    let ca = server.certificates.ca("ca.pem");
    assert_eq!(tls_version(&server.tcp(NATIVE, &format!("?tls=verify-identity&{ca}"))), "TLSv1.2");
}

#[test]
fn long_packets_both_ways() {
    let Some(binary) = mariadb("long_packets_both_ways") else { return };
    let server = Server::start(&binary, &[("max_allowed_packet", "64M")]);
    server.run(&[ACCOUNT, "CREATE DATABASE d", "GRANT ALL ON d.* TO native@'%'"]);
    for options in ["d?tls=off", "d?tls=required"] {
        let mut client = connect(&server.tcp(NATIVE, options)).unwrap();
        for length in [(1 << 24) - 2, (1 << 24) - 1, 1 << 24, 35_000_000] {
            let text = "x".repeat(length);
            let found = client.query_value(&format!("SELECT LENGTH('{text}')")).unwrap();
            assert_eq!(found.as_deref(), Some(length.to_string().as_str()), "{options}");
            let found = client.query_value(&format!("SELECT REPEAT('x', {length})")).unwrap();
            assert!(found.as_deref() == Some(&text), "{options} {length}");
        }
        let mut prepared =
            Prepared::connect(&server.tcp(NATIVE, options), &["SELECT ?, LENGTH(?)", "DO 1"])
                .unwrap();
        for length in [3, 17_000_000] {
            let reply = prepared.execute(0, |params| {
                params.push_bytes(|out| out.resize(out.len() + length, b'y'));
                params.push_int(5);
            });
            let reply = reply.unwrap();
            assert_eq!((reply.rows, reply.error), (1, None), "{options} {length}");
            assert_eq!(prepared.execute(1, |_| {}).unwrap().error, None);
        }
    }
}

#[test]
fn a_statement_that_is_too_long_says_so() {
    let Some(binary) = mariadb("a_statement_that_is_too_long_says_so") else { return };
    let server = Server::start(&binary, &[("max_allowed_packet", "1M")]);
    server.run(&[ACCOUNT]);
    for target in [
        server.tcp(NATIVE, "?tls=off"),
        server.tcp(NATIVE, "?tls=required"),
        server.socket(NATIVE, ""),
    ] {
        for length in [1_100_000, 40_000_000] {
            let error = connect(&target)
                .unwrap()
                .query(&format!("DO '{}'", "x".repeat(length)))
                .unwrap_err();
            assert_eq!(error.class(), ErrorClass::ConnectionLost, "{target} {length}: {error}");
            assert!(
                error.hint().unwrap().contains("max_allowed_packet"),
                "{target} {length}: {error}"
            );
        }
    }
}

#[test]
fn several_results_and_a_file_that_is_not_sent() {
    let Some(binary) = mariadb("several_results_and_a_file_that_is_not_sent") else { return };
    let server = Server::start(&binary, &[("local_infile", "ON")]);
    server.run(&[
        "CREATE DATABASE d",
        "CREATE TABLE d.t (a INT)",
        "CREATE PROCEDURE d.p() BEGIN SELECT 1 AS a; SELECT 2 AS b, 3 AS c UNION SELECT 4, 5; \
         INSERT INTO d.t VALUES (1); END",
    ]);
    let mut client = connect(&server.socket("root", "")).unwrap();
    let result = client.query("CALL d.p()").unwrap();
    assert_eq!((result.columns.len(), result.rows.len(), result.affected_rows), (2, 2, 1));
    let error = client.query("LOAD DATA LOCAL INFILE '/etc/hostname' INTO TABLE d.t").unwrap_err();
    assert!(matches!(error, DriverError::Server(_)), "{error}");
    assert_eq!(client.query_value("SELECT COUNT(*) FROM d.t").unwrap().as_deref(), Some("1"));

    let mut prepared =
        Prepared::connect(&server.socket("root", ""), &["CALL d.p()", "SELECT * FROM d.t"])
            .unwrap();
    let reply = prepared.execute(0, |_| {}).unwrap();
    assert_eq!((reply.rows, reply.affected_rows, reply.error), (3, 1, None));
    assert_eq!(prepared.execute(1, |_| {}).unwrap().rows, 2);
    assert_eq!(prepared.run("SELECT * FROM d.t").unwrap().rows, 2);
}

#[test]
fn a_client_that_was_idle_for_too_long() {
    let Some(binary) = mariadb("a_client_that_was_idle_for_too_long") else { return };
    let server = Server::start(&binary, &[("wait_timeout", "1")]);
    let mut client = connect(&server.socket("root", "")).unwrap();
    server.wait_for_end_of(&mut client);
    let error = client.query("SELECT 1").unwrap_err();
    assert_eq!(error.class(), ErrorClass::ConnectionLost, "{error}");
}

fn passwords_of_every_length(server: &Server, plugins: &[&str]) {
    let (long, foreign) = ("x".repeat(300), "ü€\u{1f600}\u{80}".repeat(9));
    for plugin in plugins {
        for password in ["", "p", "0123456789abcdefghij", &foreign, &long] {
            let using = format!("IDENTIFIED VIA {plugin} USING PASSWORD('{password}')");
            server.run(&[&format!("CREATE OR REPLACE USER acc@'%' {using}")]);
            for target in [
                server.tcp("acc", "?tls=off"),
                server.tcp("acc", "?tls=required"),
                server.socket("acc", ""),
            ] {
                connect(&target.clone().with_password(password)).unwrap_or_else(|error| {
                    panic!("{plugin} {} {target}: {error}", password.len())
                });
                assert_eq!(
                    refusal(&target.with_password(format!("{password}x"))).code(),
                    1045,
                    "{plugin}"
                );
            }
        }
    }
}

#[test]
fn plugins_of_mariadb() {
    let Some(binary) = mariadb_with_plugins("plugins_of_mariadb") else { return };
    let server = Server::start(&binary, &[("plugin_maturity", "alpha")]);
    server.run(&["INSTALL SONAME 'auth_ed25519'"]);
    server.run(&[
        "CREATE USER ed@'%' IDENTIFIED VIA ed25519 USING PASSWORD('s3cret')",
        "CREATE USER two@'%' IDENTIFIED VIA ed25519 USING PASSWORD('a') OR mysql_native_password \
         USING PASSWORD('b')",
    ]);
    for target in [
        server.tcp("ed:s3cret", "?tls=off"),
        server.tcp("ed:s3cret", ""),
        server.socket("ed:s3cret", ""),
    ] {
        connect(&target).unwrap_or_else(|error| panic!("{target}: {error}"));
    }
    for password in ["a", "b"] {
        connect(&server.tcp(&format!("two:{password}"), "?tls=off")).unwrap();
    }
    assert_eq!(refusal(&server.tcp("ed:wrong", "")).code(), 1045);
    passwords_of_every_length(&server, &["ed25519", "mysql_native_password"]);
}

/// MariaDB 11.6 and later. The server is 11.8.4 or later, which sends the salt in another form than
/// those before.
#[test]
fn parsec_of_mariadb() {
    let Some(binary) = mariadb_with_plugins("parsec_of_mariadb") else { return };
    let server = Server::start(&binary, &[("plugin_maturity", "gamma")]);
    server.run(&[
        "INSTALL SONAME 'auth_parsec'",
        "CREATE USER par@'%' IDENTIFIED VIA parsec USING PASSWORD('s3cret')",
        "CREATE USER two@'%' IDENTIFIED VIA parsec USING PASSWORD('a') OR mysql_native_password \
         USING PASSWORD('b')",
    ]);
    for target in [
        server.tcp("par:s3cret", "?tls=off"),
        server.tcp("par:s3cret", ""),
        server.socket("par:s3cret", ""),
    ] {
        let mut client = connect(&target).unwrap_or_else(|error| panic!("{target}: {error}"));
        let user = client.query_value("SELECT CURRENT_USER()").unwrap();
        assert_eq!(user.as_deref(), Some("par@%"));
    }
    for password in ["a", "b"] {
        connect(&server.tcp(&format!("two:{password}"), "?tls=off")).unwrap();
    }
    for options in ["?tls=off", "?tls=required"] {
        assert_eq!(refusal(&server.tcp("par:wrong", options)).code(), 1045);
        assert_eq!(refusal(&server.tcp("par", options)).code(), 1045, "no password");
    }
    passwords_of_every_length(&server, &["parsec"]);
}

#[test]
fn a_server_that_does_not_answer_in_time() {
    let Some(binary) = mariadb("a_server_that_does_not_answer_in_time") else { return };
    let server = Server::start(&binary, &[]);
    let mut client = connect(&server.socket("root", "")).unwrap();
    client.set_timeout(std::time::Duration::from_millis(200)).unwrap();
    let error = client.query("SELECT SLEEP(3)").unwrap_err();
    assert_eq!(error.to_string(), "connection lost: the server did not answer in time");
}
