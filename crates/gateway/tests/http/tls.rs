//! HTTP over TLS.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use truetps_driver::Target;
use truetps_gateway::{AccessTokens, GatewayConfig, RunningGateway, TableConfig, TlsFilesConfig};

use crate::SOON;
use crate::gateway::{TestDatabase, row};

#[test]
fn rows_are_taken_over_tls_and_only_over_tls() {
    let Some(database) = TestDatabase::start("TLS") else { return };
    let folder = tempfile::tempdir().unwrap();
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (cert_path, key_path) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    fs::write(&cert_path, cert.pem()).unwrap();
    fs::write(&key_path, signing_key.serialize_pem()).unwrap();
    fs::set_permissions(&key_path, Permissions::from_mode(0o600)).unwrap();
    let gateway = database
        .gateway(|config| config.tls = Some(TlsFilesConfig { cert: cert_path, key: key_path }));
    let mut roots = RootCertStore::empty();
    roots.add(cert.der().clone()).unwrap();
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let session =
        ClientConnection::new(Arc::new(config), ServerName::try_from("localhost").unwrap())
            .unwrap();
    let socket = TcpStream::connect(gateway.address()).unwrap();
    socket.set_read_timeout(Some(SOON)).unwrap();
    let mut stream = StreamOwned::new(session, socket);
    let json = row(1, 1);
    let head = "POST /v1/readings HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json";
    stream
        .write_all(format!("{head}\r\ncontent-length: {}\r\n\r\n{json}", json.len()).as_bytes())
        .unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    assert_eq!(database.count(), 1);
    let mut plain = TcpStream::connect(gateway.address()).unwrap();
    plain.set_read_timeout(Some(SOON)).unwrap();
    plain.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut bytes = Vec::new();
    let _ = plain.read_to_end(&mut bytes);
    assert!(!bytes.starts_with(b"HTTP"), "{bytes:?}");
}

#[test]
fn a_key_that_all_users_may_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (cert_path, key_path) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    fs::write(&cert_path, cert.pem()).unwrap();
    fs::write(&key_path, signing_key.serialize_pem()).unwrap();
    fs::set_permissions(&key_path, Permissions::from_mode(0o644)).unwrap();
    let tls = Some(TlsFilesConfig { cert: cert_path, key: key_path.clone() });
    let config =
        GatewayConfig { tls, tables: vec![TableConfig::named("t")], ..GatewayConfig::default() };
    let target = Target::mysql_unix("/nowhere", "nobody", None);
    let error =
        RunningGateway::start(&config, &target, AccessTokens::default()).err().unwrap().to_string();
    assert!(error.contains(&format!("chmod o= {}", key_path.display())), "{error}");
}
