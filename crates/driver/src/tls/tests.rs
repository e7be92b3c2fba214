//! The layer against a server of the same library, in memory.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};

use super::*;
use crate::tls::test_server::{TestCertificate, client, make_certificate, server};
use crate::{Tls, TlsMode};

fn say(layer: &mut TlsLayer, text: &[u8], out: &mut Vec<u8>) {
    let said: Result<(), DriverError> = layer.append_encrypted(out, |said| {
        said.extend_from_slice(text);
        Ok(())
    });
    said.unwrap();
}

fn hear(
    layer: &mut TlsLayer,
    bytes: &[u8],
    plain: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> Result<(), DriverError> {
    layer.on_bytes(bytes, out, |heard, _| {
        plain.extend_from_slice(heard);
        Ok(())
    })
}

/// Talks `piece` bytes at a time; the server sends back what it hears. Returns what comes back of
/// `text`.
fn echo(
    client: &TlsClient,
    host: &str,
    made: &TestCertificate,
    piece: usize,
    text: &[u8],
) -> Result<Vec<u8>, DriverError> {
    let (mut server, mut to_server, mut plain) = (server(made), Vec::new(), Vec::new());
    let endpoint = Endpoint::Tcp { host: host.to_owned(), port: 1 };
    let mut layer = TlsLayer::client(client, &endpoint, &mut to_server)?;
    // Before the handshake is over: it waits.
    say(&mut layer, text, &mut to_server);
    while plain.len() < text.len() {
        let mut from_client = &to_server[..];
        while !from_client.is_empty() {
            server.read_tls(&mut from_client).unwrap();
            server.process_new_packets().unwrap();
            let mut heard = [0; 4096];
            while let Ok(n @ 1..) = server.reader().read(&mut heard) {
                server.writer().write_all(&heard[..n]).unwrap();
            }
        }
        to_server.clear();
        let mut to_client = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut to_client).unwrap();
        }
        assert!(!to_client.is_empty(), "both wait");
        for bytes in to_client.chunks(piece) {
            hear(&mut layer, bytes, &mut plain, &mut to_server)?;
        }
    }
    assert!(!layer.is_handshaking());
    Ok(plain)
}

fn trouble(mode: TlsMode, ca: &str, host: &str, made: &TestCertificate) -> TlsError {
    let (_dir, client) = client(mode, Some(ca));
    match echo(&client.unwrap(), host, made, 7, b"x") {
        Err(DriverError::Tls(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn bytes_come_back_whatever_the_pieces() {
    let made = make_certificate("db.example", |_| {});
    let text: Vec<u8> = (0..100_000_u32).map(|n| n as u8).collect();
    for mode in [TlsMode::Preferred, TlsMode::Required, TlsMode::VerifyCa, TlsMode::VerifyIdentity]
    {
        let (_dir, client) = client(mode, Some(&made.ca_pem));
        let client = client.unwrap();
        for piece in [1, 5, 4096, 1 << 20] {
            assert_eq!(echo(&client, "db.example", &made, piece, &text).unwrap(), text);
        }
    }
}

#[test]
fn messages_are_sealed_and_nothing_is_sent_after_a_failure() {
    let made = make_certificate("db.example", |_| {});
    let (_dir, client) = client(TlsMode::Required, None);
    let mut out = b"kept".to_vec();
    let endpoint = Endpoint::Unix(PathBuf::from("/s"));
    let mut layer = TlsLayer::client(&client.unwrap(), &endpoint, &mut out).unwrap();
    assert!(out.starts_with(b"kept\x16\x03"), "a handshake record");
    let (mut server, mut plain) = (server(&made), Vec::new());
    server.read_tls(&mut &out[4..]).unwrap();
    server.process_new_packets().unwrap();
    let mut hello = Vec::new();
    server.write_tls(&mut hello).unwrap();
    out.clear();
    hear(&mut layer, &hello, &mut plain, &mut out).unwrap();
    server.read_tls(&mut &out[..]).unwrap();
    server.process_new_packets().unwrap();
    let mut sealed = b"kept ".to_vec();
    let failed = layer.append_encrypted(&mut sealed, |said| {
        said.extend_from_slice(b"half of it");
        Err::<(), _>(DriverError::Closed)
    });
    assert!(failed.is_err() && sealed == b"kept ");
    say(&mut layer, b"SELECT 1", &mut sealed);
    assert!(sealed.starts_with(b"kept \x17\x03\x03") && !sealed.ends_with(b"1"));
    server.read_tls(&mut &sealed[5..]).unwrap();
    server.process_new_packets().unwrap();
    let mut heard = [0; 8];
    server.reader().read_exact(&mut heard).unwrap();
    assert_eq!(&heard, b"SELECT 1");
}

#[test]
fn certificate_trouble_says_which_check_failed() {
    let good = make_certificate("db.example", |_| {});
    let other = make_certificate("db.example", |_| {});
    let error = trouble(TlsMode::VerifyIdentity, &good.ca_pem, "127.0.0.1", &good);
    assert_eq!(error.to_string(), "the server's certificate is for db.example, not for 127.0.0.1");
    let address = make_certificate("127.0.0.1", |_| {});
    let error = trouble(TlsMode::VerifyIdentity, &address.ca_pem, "::1", &address);
    assert_eq!(error.to_string(), "the server's certificate is for 127.0.0.1, not for ::1");
    let error = trouble(TlsMode::VerifyIdentity, &good.ca_pem, "other.example", &good);
    assert_eq!(
        error.to_string(),
        "the server's certificate is for db.example, not for other.example"
    );
    assert!(error.hint().unwrap().contains("tls=verify-ca"));

    let error = trouble(TlsMode::VerifyCa, &other.ca_pem, "db.example", &good);
    assert!(
        error == TlsError::UnknownAuthority && error.hint().unwrap().contains("ca=FILE"),
        "{error}"
    );

    let expired = make_certificate("db.example", |params| {
        params.not_after = rcgen::date_time_ymd(2001, 2, 3);
    });
    let error = trouble(TlsMode::VerifyCa, &expired.ca_pem, "db.example", &expired).to_string();
    assert!(error.contains("has expired"), "{error}");
    let early = make_certificate("db.example", |params| {
        params.not_before = rcgen::date_time_ymd(3000, 1, 1);
        params.not_after = rcgen::date_time_ymd(3001, 1, 1);
    });
    let error = trouble(TlsMode::VerifyCa, &early.ca_pem, "db.example", &early).to_string();
    assert!(error.contains("not valid yet"), "{error}");
}

#[test]
fn a_name_is_not_looked_at_where_only_the_authority_counts() {
    let made = make_certificate("db.example", |_| {});
    let (_dir, client) = client(TlsMode::VerifyCa, Some(&made.ca_pem));
    assert_eq!(echo(&client.unwrap(), "127.0.0.1", &made, 100, b"text").unwrap(), b"text");
}

#[test]
fn a_self_signed_certificate_can_be_its_own_authority() {
    for is_authority in [false, true] {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["db.example".to_owned()]).unwrap();
        if is_authority {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        }
        let certificate = params.self_signed(&key).unwrap();
        let made = TestCertificate {
            ca_pem: certificate.pem(),
            chain: vec![certificate.der().clone()],
            key: key.serialize_der(),
        };
        let (_dir, client) = client(TlsMode::VerifyIdentity, Some(&made.ca_pem));
        assert_eq!(
            echo(&client.unwrap(), "db.example", &made, 100, b"text").unwrap(),
            b"text",
            "{is_authority}"
        );
    }
}

#[test]
fn authorities_that_cannot_be_read_are_named() {
    let missing = |mode| Tls { mode, ca: Some(PathBuf::from("/no/such/ca.pem")), ..Tls::default() };
    for mode in [TlsMode::Preferred, TlsMode::Required, TlsMode::VerifyCa, TlsMode::VerifyIdentity]
    {
        let error = TlsClient::new(&missing(mode)).unwrap_err();
        assert!(error.to_string().contains("/no/such/ca.pem: No such file"), "{error}");
        let (_dir, client) = client(mode, Some("not PEM"));
        assert!(client.unwrap_err().to_string().contains("no certificate in it"));
    }
    assert!(TlsClient::new(&missing(TlsMode::Off)).unwrap().is_none());
}

#[test]
fn a_client_s_certificate_that_cannot_be_used_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate =
        CertificateParams::new(vec!["me".to_owned()]).unwrap().self_signed(&key).unwrap();
    let file = |name: &str, text: &str| {
        std::fs::write(dir.path().join(name), text).unwrap();
        Some(dir.path().join(name))
    };
    let (cert, key) = (file("cert.pem", &certificate.pem()), file("key.pem", &key.serialize_pem()));
    let other_key = file("other.pem", &KeyPair::generate().unwrap().serialize_pem());
    let client = |cert: &Option<PathBuf>, key: &Option<PathBuf>| {
        let (cert, key) = (cert.clone(), key.clone());
        TlsClient::new(&Tls { mode: TlsMode::Required, cert, key, ..Tls::default() }).map(drop)
    };
    assert_eq!(client(&cert, &key), Ok(()));
    let check = |cert: &Option<PathBuf>, key: &Option<PathBuf>, expect: &str| {
        let error = client(cert, key).unwrap_err();
        assert!(
            error.to_string().contains(expect) && error.hint().unwrap().contains("key=FILE"),
            "{error}"
        );
    };
    check(&cert, &None, "cert.pem: a certificate needs its key");
    check(&None, &key, "key.pem: a certificate needs its key");
    check(&Some(PathBuf::from("/no/such")), &key, "/no/such: No such file");
    check(&key, &key, "key.pem: no certificate in it");
    check(&cert, &cert, "cert.pem: no private key in it");
    check(&cert, &other_key, "cert.pem: ");
}

#[test]
fn noise_is_an_error_and_no_panic() {
    let (_dir, client) = client(TlsMode::Required, None);
    let client = client.unwrap();
    let endpoint = Endpoint::Unix(PathBuf::from("/s"));
    for noise in [
        &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
        &[0xff; 100],
        &[0x16, 3, 3, 0, 0],
        &[21, 3, 1, 0, 2, 2, 70],
    ] {
        let (mut out, mut plain) = (Vec::new(), Vec::new());
        let mut layer = TlsLayer::client(&client, &endpoint, &mut out).unwrap();
        let error = hear(&mut layer, noise, &mut plain, &mut out).unwrap_err();
        assert_eq!(
            matches!(&error, DriverError::Tls(TlsError::OldProtocol)),
            noise[0] == 21,
            "{error}"
        );
        assert!(plain.is_empty());
    }
}
