//! MySQL: its plugins over each kind of connection, and what its servers refuse.

use truetps_driver::{DriverError, Endpoint, Target};
use truetps_record::ErrorClass;
use truetps_sandbox::ServerVersion;
use truetps_testkit::mysql_family::{fetched, mysql};

use crate::support::{Prepared, Server, connect, refusal, tls_version};

fn user_of(target: &Target) -> String {
    let mut client = connect(target).unwrap_or_else(|error| panic!("{target}: {error}"));
    client.query_value("SELECT USER()").unwrap().unwrap()
}

#[test]
fn caching_sha2_over_each_kind_of_connection() {
    let Some((binary, _)) = mysql("caching_sha2_over_each_kind_of_connection") else { return };
    let server = Server::start(&binary, &[]);
    server.run(&[
        "CREATE USER sha2@'%' IDENTIFIED BY 's3cret'",
        "CREATE USER noone@'%' IDENTIFIED BY ''",
    ]);
    let ca = server.certificates.ca("ca.pem");
    let targets = |account: &str| {
        [
            server.socket(account, ""),
            server.socket(account, "&tls=required"),
            server.tcp(account, "?tls=off"),
            server.tcp(account, "?tls=required"),
            server.tcp(account, &format!("?tls=verify-identity&{ca}")),
        ]
    };
    for target in targets("sha2:s3cret") {
        // The server forgets whom it knows: the whole exchange, and then the short one.
        server.run(&["FLUSH PRIVILEGES"]);
        assert!(user_of(&target).starts_with("sha2@"), "{target}");
        assert!(user_of(&target).starts_with("sha2@"), "{target}");
    }
    for target in targets("sha2:wrong").into_iter().chain(targets("sha2")) {
        for statement in ["FLUSH PRIVILEGES", "DO 1"] {
            server.run(&[statement]);
            assert_eq!(refusal(&target).code(), 1045, "{target}");
        }
    }
    for target in targets("noone") {
        assert!(user_of(&target).starts_with("noone@"), "{target}");
    }
    assert!(tls_version(&server.tcp("sha2:s3cret", "")).starts_with("TLSv1."));
}

#[test]
fn a_long_password_of_all_letters() {
    let Some((binary, _)) = mysql("a_long_password_of_all_letters") else { return };
    let server = Server::start(&binary, &[]);
    let password: String = "pässwörd €'\"\\ %/:@?".repeat(6);
    let quoted = password.replace('\\', "\\\\").replace('\'', "\\'");
    server.run(&[&format!("CREATE USER lengthy@'%' IDENTIFIED BY '{quoted}'")]);
    for target in
        [server.tcp("lengthy", "?tls=off"), server.tcp("lengthy", ""), server.socket("lengthy", "")]
    {
        let target = target.with_password(&*password);
        server.run(&["FLUSH PRIVILEGES"]);
        assert!(user_of(&target).starts_with("lengthy@"));
    }
}

#[test]
fn sha256_password() {
    let Some((binary, _)) = mysql("sha256_password") else { return };
    let server = Server::start(&binary, &[("loose_sha256_password_auto_generate_rsa_keys", "ON")]);
    if let Err(error) =
        server.admin().execute("CREATE USER old@'%' IDENTIFIED WITH sha256_password BY 's3cret'")
    {
        // Servers from some version on do not have it.
        assert_eq!(error.code(), 1524, "{error}");
        return;
    }
    for target in [
        server.tcp("old:s3cret", "?tls=off"),
        server.tcp("old:s3cret", ""),
        server.socket("old:s3cret", ""),
        server.socket("old:s3cret", "&tls=required"),
    ] {
        assert!(user_of(&target).starts_with("old@"), "{target}");
    }
    assert_eq!(refusal(&server.tcp("old:wrong", "?tls=off")).code(), 1045);
    assert_eq!(refusal(&server.tcp("old", "?tls=off")).code(), 1045);
}

/// Each login twice: what the server does not know yet takes the whole exchange.
#[test]
fn passwords_of_every_length_on_every_version() {
    for server in fetched("passwords_of_every_length_on_every_version") {
        // Before 5.7 no statement names a plugin and a password.
        if !server.binary.is_mariadb() && server.binary.version >= ServerVersion::new(5, 7, 0) {
            log_in_with_all_passwords(
                server.name,
                &Server::start(&server.binary, &[(SHA256_KEYS, "ON")]),
            );
        }
    }
}

const SHA256_KEYS: &str = "loose_sha256_password_auto_generate_rsa_keys";

fn log_in_with_all_passwords(name: &str, server: &Server) {
    const NO_SUCH_PLUGIN: u16 = 1524;
    // Without TLS 213 bytes fit a key of 2048 bits.
    let (long, foreign) = ("x'".repeat(127) + "y", "ü€\u{80}".repeat(14));
    // MySQL 5.7 as it is fetched makes none.
    let key = server.admin().query("SHOW STATUS LIKE 'Rsa_public_key'").unwrap().rows;
    let has_key = key.iter().any(|row| row[1].as_ref().is_some_and(|key| !key.is_empty()));
    for plugin in ["mysql_native_password", "caching_sha2_password", "sha256_password"] {
        if plugin == "sha256_password" && !has_key {
            continue;
        }
        for password in ["", "p", "0123456789abcdefghij", &foreign, &long] {
            let quoted = password.replace('\'', "''");
            let made = format!("CREATE USER acc@'%' IDENTIFIED WITH {plugin} BY '{quoted}'");
            match server.admin().execute(&made) {
                Err(error) if error.code() == NO_SUCH_PLUGIN => break,
                other => other.unwrap_or_else(|error| panic!("{name}: {made}: {error}")),
            };
            for target in [
                server.tcp("acc", "?tls=off"),
                server.tcp("acc", "?tls=required"),
                server.socket("acc", ""),
                server.socket("acc", "&tls=required"),
            ] {
                server.run(&["FLUSH PRIVILEGES"]);
                // Those that are fetched of older versions offer no TLS, or no cipher that is
                // spoken here.
                if !target.tls.mode.is_required() || name == "mysql-9.7" {
                    log_in_twice(&target, password, plugin);
                }
            }
            server.run(&["DROP USER acc@'%'"]);
        }
    }
}

fn log_in_twice(target: &Target, password: &str, plugin: &str) {
    let right = target.clone().with_password(password);
    let is_unix = matches!(target.endpoints[0], Endpoint::Unix(_));
    let by_key = !target.tls.mode.is_required()
        && (plugin == "sha256_password" || plugin.starts_with("cach") && !is_unix);
    for _ in 0..2 {
        let about = format!("{plugin} {} {target}", password.len());
        match connect(&right) {
            Ok(mut client) => drop(client.query("DO 1").unwrap()),
            Err(error) => {
                assert!(by_key && password.len() > 213, "{about}: {error}");
                assert!(
                    error.to_string().contains("too long for the server's RSA key"),
                    "{about}: {error}"
                );
                assert!(error.hint().unwrap().contains("tls=required"), "{about}");
            }
        }
    }
    if password.len() < 213 {
        assert_eq!(
            refusal(&target.clone().with_password(format!("{password}x"))).code(),
            1045,
            "{plugin} {target}"
        );
    }
}

/// It answers the question for its key as it does a wrong password.
#[test]
fn a_server_without_a_key_is_no_wrong_password() {
    for server in fetched("a_server_without_a_key_is_no_wrong_password") {
        if server.binary.is_mariadb() {
            continue;
        }
        let keys =
            [(SHA256_KEYS, "OFF"), ("loose_caching_sha2_password_auto_generate_rsa_keys", "OFF")];
        let (name, server) = (server.name, Server::start(&server.binary, &keys));
        for plugin in ["caching_sha2_password", "sha256_password"] {
            let made = format!("CREATE USER {plugin}@'%' IDENTIFIED WITH {plugin} BY 'right'");
            if server.admin().execute(&made).is_err() {
                continue;
            }
            let error = refusal(&server.tcp(&format!("{plugin}:right"), "?tls=off"));
            assert!(
                error.to_string().ends_with("the server has no RSA key"),
                "{name} {plugin}: {error}"
            );
            assert!(error.hint().unwrap().contains("auto_generate_rsa_keys=ON"), "{name}");
        }
        // An account that the server remembers needs no key; before 8.0 there is none of this
        // plugin.
        if connect(&server.socket("caching_sha2_password:right", "")).is_ok() {
            connect(&server.tcp("caching_sha2_password:right", "?tls=off")).unwrap();
        }
    }
}

#[test]
fn what_a_server_refuses() {
    let Some((binary, _)) = mysql("what_a_server_refuses") else { return };
    let server = Server::start(&binary, &[]);
    server.run(&[
        "CREATE USER old@'%' IDENTIFIED BY 'x' PASSWORD EXPIRE",
        "CREATE USER locked@'%' IDENTIFIED BY 'x' ACCOUNT LOCK",
        "CREATE USER strict@'%' IDENTIFIED BY 'x' REQUIRE SSL",
        "CREATE USER ok@'%' IDENTIFIED BY 'x'",
        "GRANT ALL ON *.* TO ok@'%'",
    ]);
    let check = |target, code, hint: &str| {
        let error = refusal(&target);
        assert_eq!((error.code(), error.class()), (code, ErrorClass::ConnectFailed), "{error}");
        assert!(error.hint().unwrap().contains(hint), "{error}");
    };
    check(server.tcp("old:x", ""), 1862, "ALTER USER");
    check(server.tcp("locked:x", ""), 3118, "UNLOCK");
    check(server.tcp("strict:x", "?tls=off"), 1045, "TRUETPS_PASSWORD");
    check(server.tcp("ok:x", "nosuch"), 1049, "CREATE DATABASE");
    assert!(tls_version(&server.tcp("strict:x", "")).starts_with("TLSv1."));
    server.run(&["SET GLOBAL require_secure_transport = ON"]);
    check(server.tcp("ok:x", "?tls=off"), 3159, "tls=required");
    server.run(&["SET GLOBAL require_secure_transport = OFF", "SET GLOBAL wait_timeout = 1"]);
    let mut idle = connect(&server.tcp("ok:x", "")).unwrap();
    server.wait_for_end_of(&mut idle);
    let error = idle.query("SELECT 1").unwrap_err();
    // Servers before 8.0.24 close the connection and say nothing.
    assert!(
        error.class() == ErrorClass::ConnectionLost && [0, 4031].contains(&error.code()),
        "{error}"
    );
}

#[test]
fn certificates_that_a_server_makes_itself() {
    let Some((binary, _)) = mysql("certificates_that_a_server_makes_itself") else { return };
    let server = Server::start(&binary, &[("auto_generate_certs", "ON")]);
    server.run(&["CREATE USER ok@'%' IDENTIFIED BY 'x'"]);
    assert!(tls_version(&server.tcp("ok:x", "?tls=required")).starts_with("TLSv1."));
    let datadir = server.admin().query_value("SELECT @@datadir").unwrap().unwrap();
    let ca = format!("?tls=verify-ca&ca={datadir}ca.pem");
    assert!(tls_version(&server.tcp("ok:x", &ca)).starts_with("TLSv1."));
    let error = refusal(&server.tcp("ok:x", &ca.replace("verify-ca", "verify-identity")));
    assert!(
        matches!(error, DriverError::Tls(_)) && error.to_string().contains("certificate"),
        "{error}"
    );
}

#[test]
fn prepared_statements_over_tls() {
    let Some((binary, _)) = mysql("prepared_statements_over_tls") else { return };
    let server = Server::start(&binary, &[]);
    server.run(&[
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, a BIGINT, b DOUBLE, c TEXT, d BLOB)",
        "CREATE USER ok@'%' IDENTIFIED BY 'x'",
        "GRANT ALL ON *.* TO ok@'%'",
    ]);
    let statements = [
        "INSERT INTO t (a, b, c, d) VALUES (?, ?, ?, ?)",
        "SELECT * FROM t WHERE a = ?",
        "BEGIN",
        "COMMIT",
    ];
    for options in ["d?tls=off", "d?tls=required"] {
        let mut prepared = Prepared::connect(&server.tcp("ok:x", options), &statements).unwrap();
        prepared.execute(2, |_| {}).unwrap();
        for n in 0..20 {
            let reply = prepared.execute(0, |params| {
                params.push_int(n);
                params.push_double(0.5);
                params.push_text(|out| out.extend_from_slice("é".as_bytes()));
                params.push_null();
            });
            let reply = reply.unwrap();
            assert_eq!((reply.affected_rows, reply.error), (1, None));
        }
        prepared.execute(3, |_| {}).unwrap();
        assert!(prepared.execute(1, |params| params.push_int(7)).unwrap().rows >= 1);
        let wrong = prepared.run("INSERT INTO t (id) VALUES (1)").unwrap().error.unwrap();
        assert_eq!(wrong.code, 1062);
    }
    assert_eq!(
        server.admin().query_value("SELECT COUNT(*) FROM d.t").unwrap().as_deref(),
        Some("40")
    );
}
