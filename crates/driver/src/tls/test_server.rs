//! A TLS server for tests: certificates of its own authority, and scripts that run over a real
//! socket.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};

use super::{TlsClient, TlsError};
use crate::{Tls, TlsMode};

/// An authority, and what it signed for a server.
pub(crate) struct TestCertificate {
    pub(crate) ca_pem: String,
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: Vec<u8>,
}

pub(crate) fn make_certificate(
    name: &str,
    change: impl FnOnce(&mut CertificateParams),
) -> TestCertificate {
    let ca_key = KeyPair::generate().unwrap();
    let mut ca = CertificateParams::new(Vec::new()).unwrap();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let ca_pem = ca.self_signed(&ca_key).unwrap().pem();
    let issuer = Issuer::new(ca, ca_key);
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    change(&mut params);
    let certificate = params.signed_by(&key, &issuer).unwrap();
    TestCertificate { ca_pem, chain: vec![certificate.der().clone()], key: key.serialize_der() }
}

pub(crate) fn server(made: &TestCertificate) -> ServerConnection {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivateKeyDer::try_from(made.key.clone()).unwrap();
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(made.chain.clone(), key)
        .unwrap();
    let mut server = ServerConnection::new(Arc::new(config)).unwrap();
    server.set_buffer_limit(None);
    server
}

pub(crate) fn client(
    mode: TlsMode,
    ca: Option<&str>,
) -> (tempfile::TempDir, Result<TlsClient, TlsError>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ca.pem");
    std::fs::write(&path, ca.unwrap_or_default()).unwrap();
    let tls = Tls { mode, ca: ca.map(|_| path), ..Tls::default() };
    let client = TlsClient::new(&tls).map(Option::unwrap);
    (dir, client)
}

/// A connection of a scripted server, which keeps all bytes as they came from the socket.
pub(crate) struct Heard {
    stream: TcpStream,
    pub(crate) raw: Vec<u8>,
}

impl Read for Heard {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.stream.read(buffer)?;
        self.raw.extend_from_slice(&buffer[..length]);
        Ok(length)
    }
}

impl Write for Heard {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Accepts one client on a port of its own, which is returned, and runs the script for it; then
/// reads what else the client sends. The thread returns all that came.
pub(crate) fn serve(
    script: impl FnOnce(&mut Heard) + Send + 'static,
) -> (u16, JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut heard = Heard { stream, raw: Vec::new() };
        script(&mut heard);
        // A client that is gone has reset the connection, as it did not read all.
        let _ = heard.read_to_end(&mut Vec::new());
        heard.raw
    });
    (port, server)
}

/// Accepts TLS, waits for the first thing that the client says in it, and answers in one record.
pub(crate) fn answer_in_one_record(
    heard: &mut Heard,
    made: &TestCertificate,
    answer: &[u8],
) -> Vec<u8> {
    let mut connection = server(made);
    let mut said = vec![0; 4096];
    let length = rustls::Stream::new(&mut connection, heard).read(&mut said).unwrap();
    said.truncate(length);
    connection.writer().write_all(answer).unwrap();
    while connection.wants_write() {
        connection.write_tls(heard).unwrap();
    }
    said
}
