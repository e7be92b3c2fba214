//! TLS to a real PostgreSQL.

use std::fs;
use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use truetps_driver::{Params, Target, Tls, TlsMode};
use truetps_testkit::{PostgresOptions, PostgresServer, TlsFiles};

use crate::postgres_common::{Driven, client, refusal};

const PASSWORD: &str = "secret";
const SEES_TLS: &str = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";

/// A server with a certificate for `localhost`, and the files with its authority and with another
/// one.
struct Secure {
    server: PostgresServer,
    ca: PathBuf,
    other_ca: PathBuf,
    _folder: tempfile::TempDir,
}

fn authority() -> (String, Issuer<'static, KeyPair>) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    (params.self_signed(&key).unwrap().pem(), Issuer::new(params, key))
}

fn secure(test: &str) -> Option<Secure> {
    let (ca_pem, issuer) = authority();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["localhost".to_owned()])
        .unwrap()
        .signed_by(&key, &issuer)
        .unwrap();
    let options = PostgresOptions {
        hba: vec![
            "local all all trust".to_owned(),
            "host all truetps 127.0.0.1/32 trust".to_owned(),
            "hostssl all clear 127.0.0.1/32 password".to_owned(),
            "hostssl all scram 127.0.0.1/32 scram-sha-256".to_owned(),
        ],
        tcp: true,
        tls: Some(TlsFiles { certificate_pem: certificate.pem(), key_pem: key.serialize_pem() }),
        ..PostgresOptions::default()
    };
    let server = PostgresServer::start(test, &options)?;
    let mut root = server.connect().unwrap();
    for user in ["clear", "scram"] {
        root.execute(&format!("CREATE ROLE {user} LOGIN PASSWORD '{PASSWORD}'")).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let (ca, other_ca) = (folder.path().join("ca.pem"), folder.path().join("other.pem"));
    fs::write(&ca, ca_pem).unwrap();
    fs::write(&other_ca, authority().0).unwrap();
    Some(Secure { server, ca, other_ca, _folder: folder })
}

impl Secure {
    fn target(&self, host: &str, user: &str, mode: TlsMode, ca: Option<&PathBuf>) -> Target {
        let tls = Tls { mode, ca: ca.cloned(), ..Tls::default() };
        Target { tls, ..self.server.tcp_target_for(host, user, Some(PASSWORD)) }
    }
}

fn sees_tls(target: &Target) -> String {
    client(target).unwrap().query_value(SEES_TLS).unwrap().unwrap()
}

#[test]
fn each_mode_encrypts_or_says_why_not() {
    let Some(secure) = secure("each_mode_encrypts") else { return };
    let (ca, other_ca) = (Some(&secure.ca), Some(&secure.other_ca));
    let sees = |host, mode, ca| sees_tls(&secure.target(host, "truetps", mode, ca));
    assert_eq!(sees("localhost", TlsMode::Off, None), "f");
    assert_eq!(sees("127.0.0.1", TlsMode::Preferred, None), "t");
    assert_eq!(sees("127.0.0.1", TlsMode::Required, None), "t");
    assert_eq!(sees("127.0.0.1", TlsMode::VerifyCa, ca), "t");
    assert_eq!(sees("localhost", TlsMode::VerifyIdentity, ca), "t");
    let refused = |host, mode, ca| refusal(&secure.target(host, "truetps", mode, ca));
    let (text, class) = refused("127.0.0.1", TlsMode::VerifyIdentity, ca);
    assert_eq!(text, "the server's certificate is for localhost, not for 127.0.0.1");
    assert_eq!(class, "connect_failed");
    let (text, _) = refused("localhost", TlsMode::VerifyCa, other_ca);
    assert_eq!(text, "the server's certificate is signed by an unknown authority");
}

#[test]
fn passwords_go_through_tls() {
    let Some(secure) = secure("passwords_go_through_tls") else { return };
    let target = |user, mode| secure.target("127.0.0.1", user, mode, Some(&secure.ca));
    assert_eq!(sees_tls(&target("scram", TlsMode::Required)), "t");
    assert_eq!(sees_tls(&target("clear", TlsMode::VerifyCa)), "t");
    // Encrypted, but for whom?
    assert_eq!(
        refusal(&target("clear", TlsMode::Required)).0,
        "the server asks for a password in clear text"
    );
    for user in ["clear", "scram"] {
        let (text, _) = refusal(&target(user, TlsMode::Off));
        assert!(text.contains("no pg_hba.conf entry") && text.contains("no encryption"), "{text}");
    }
}

#[test]
fn large_statements_and_rows_go_through_tls() {
    let Some(secure) = secure("large_statements_through_tls") else { return };
    let target = secure.target("127.0.0.1", "scram", TlsMode::Required, None);
    let value = vec![b'x'; 20 << 20];
    for prepared in [false, true] {
        let mut driven = Driven::log_in(&target, &["SELECT ?::text, 'end'"], prepared).unwrap();
        driven.keep_rows();
        for _ in 0..2 {
            let reply =
                driven.execute(0, |params| params.push_text(|out| out.extend_from_slice(&value)));
            let result = reply.result.unwrap();
            assert!(result.rows[0][0].as_ref().is_some_and(|text| text.as_bytes() == value));
            assert_eq!(driven.execute(0, Params::push_null).rows, 1);
        }
    }
}

#[test]
fn a_server_without_tls_and_a_unix_socket() {
    let options = PostgresOptions { tcp: true, ..PostgresOptions::default() };
    let Some(server) = PostgresServer::start("a_server_without_tls", &options) else { return };
    let with = |target: Target, mode| Target { tls: Tls { mode, ..Tls::default() }, ..target };
    let tcp = || server.tcp_target_for("127.0.0.1", "truetps", None);
    assert_eq!(sees_tls(&with(tcp(), TlsMode::Preferred)), "f");
    let (text, class) = refusal(&with(tcp(), TlsMode::Required));
    assert_eq!(
        (text.as_str(), class.as_str()),
        ("the server does not offer TLS", "connect_failed")
    );
    // PostgreSQL has no TLS there, and its own clients do not ask for any.
    assert_eq!(sees_tls(&with(server.target(), TlsMode::Required)), "f");
}
