//! What a client sends once TLS was agreed on: over a real socket, to servers that ask and fail in
//! one record.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::Duration;
use truetps_record::SqlDialect;

use crate::tls::test_server::{TestCertificate, answer_in_one_record, make_certificate, serve};
use crate::{Client, DriverError, Endpoint, Login, Password, Target, Tls, TlsMode};

const PASSWORD: &str = "s3cret-of-the-login";

fn target(dialect: SqlDialect, port: u16, ca: &Path) -> Target {
    Target {
        dialect,
        endpoints: vec![Endpoint::Tcp { host: "127.0.0.1".to_owned(), port }],
        login: Login {
            user: "the-user".to_owned(),
            password: Some(Password::new(PASSWORD)),
            database: None,
        },
        tls: Tls { mode: TlsMode::VerifyIdentity, ca: Some(ca.to_owned()), ..Tls::default() },
        setup: Vec::new(),
        connections: None,
        startup_settings: Vec::new(),
        sends_local_files: false,
        connect_timeout: None,
        sources: Vec::new(),
    }
}

/// Logs in at a server that speaks as `begins` until TLS begins, behind so many bytes of the
/// client, and then answers to the login with `answer`. Returns the error, and all that the client
/// sent from TLS on.
fn refusal(
    dialect: SqlDialect,
    begins: &'static [u8],
    request_bytes: usize,
    server_first: bool,
    answer: Vec<u8>,
) -> (DriverError, Vec<u8>) {
    let made: TestCertificate = make_certificate("127.0.0.1", |_| {});
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, &made.ca_pem).unwrap();
    let (port, server) = serve(move |heard| {
        let mut request = vec![0; request_bytes];
        if server_first {
            heard.write_all(begins).unwrap();
        }
        heard.read_exact(&mut request).unwrap();
        if !server_first {
            heard.write_all(begins).unwrap();
        }
        let said = answer_in_one_record(heard, &made, &answer);
        assert!(said.windows(8).any(|window| window == b"the-user"), "the login came through TLS");
    });
    let error =
        Client::connect(&target(dialect, port, &ca), Duration::from_secs(20)).err().unwrap();
    let raw = server.join().unwrap();
    (error, raw[request_bytes..].to_vec())
}

/// All bytes are records of TLS.
fn check_sealed(mut raw: &[u8]) {
    assert!(
        !raw.windows(PASSWORD.len()).any(|window| window == PASSWORD.as_bytes()),
        "the password"
    );
    while let [kind, 3, minor, high, low, rest @ ..] = raw {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        assert!(
            (20..=23).contains(kind) && (1..=3).contains(minor) && length <= rest.len(),
            "{raw:?}"
        );
        raw = &rest[length..];
    }
    assert!(raw.is_empty(), "not a record of TLS: {raw:?}");
}

#[test]
fn postgres_says_nothing_beside_tls_when_an_error_follows_the_request() {
    let request = b"R\0\0\0\x08\0\0\0\x03";
    let fatal = b"E\0\0\0\x1dSFATAL\0C57P01\0Mgood bye\0\0";
    for behind in [&fatal[..], b"?\0\0\0\x04", b"Z\0\0\0\x05?", b"R\0\0\0\x00"] {
        let answer = [request, behind].concat();
        let (error, raw) = refusal(SqlDialect::Postgres, b"S", 8, false, answer);
        assert_eq!(matches!(error, DriverError::Server(_)), behind == fatal, "{error}");
        check_sealed(&raw);
    }
}

#[test]
fn mysql_says_nothing_beside_tls_when_an_error_follows_the_request() {
    const GREETING: &[u8] =
        b"\x57\0\0\0\x0a9.7.4-and-some-more\0\x01\0\0\0abcdefgh\0\0\x8a\x2d\x02\0\x08\0\x15\
        \0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0caching_sha2_password\0";
    assert_eq!(usize::from(GREETING[0]), GREETING.len() - 4);
    for request in [&b"\x02\0\0\x03\x01\x04"[..], b"\x16\0\0\x03\xfemysql_clear_password\0"] {
        for behind in
            [&b"\x0d\0\0\x05\xff\xbd\x04#40001gone"[..], b"\x01\0\0\x09\x00", b"\x01\0\0\x05\x33"]
        {
            let answer = [request, behind].concat();
            let (_, raw) = refusal(SqlDialect::Mysql, GREETING, 36, true, answer);
            check_sealed(&raw);
        }
    }
}
