//! The TLS configuration that all sessions of a target share.

use std::path::Path;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, IpAddr, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};

use super::TlsError;
use super::verifier::{CertificateCheck, CertificateTrust, Roots};
use crate::{Endpoint, Tls, TlsMode};

/// The name that the certificate of a server behind a unix socket must have, if names are checked.
const NAME_OF_UNIX_SOCKET: &str = "localhost";
/// Authorities in one file: system bundles have about 150.
const AUTHORITIES_MAX: usize = 10_000;
/// Certificates from the client's to its authority; one or two is usual.
const CHAIN_MAX: usize = 100;

/// The TLS configuration of one target: trusted certificates, and protocol versions. Cheap to
/// clone.
#[derive(Debug, Clone)]
pub struct TlsClient {
    pub(super) config: Arc<ClientConfig>,
    pub(crate) mode: TlsMode,
}

impl TlsClient {
    /// Reads the authorities, if the mode needs them or a file is named, and the client's own
    /// certificate, if there is one. `None`: the mode is off.
    pub fn new(tls: &Tls) -> Result<Option<Self>, TlsError> {
        if tls.mode == TlsMode::Off {
            return Ok(None);
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let algorithms = provider.signature_verification_algorithms;
        // A named file is read even if the mode checks no authorities: otherwise a wrong path would
        // never be noticed.
        let named = tls.ca.as_deref().map(file_roots).transpose()?;
        let trust = match tls.mode {
            TlsMode::Off | TlsMode::Preferred | TlsMode::Required => CertificateTrust::Any,
            TlsMode::VerifyCa | TlsMode::VerifyIdentity => CertificateTrust::Authorities {
                roots: named.map_or_else(system_roots, Ok)?,
                checks_name: tls.mode == TlsMode::VerifyIdentity,
            },
        };
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(TlsError::of_rustls)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(CertificateCheck::new(algorithms, trust)));
        let mut config = match (&tls.cert, &tls.key) {
            (None, None) => config.with_no_client_auth(),
            (Some(cert), Some(key)) => {
                let chain = certificates(cert, CHAIN_MAX)
                    .map_err(|problem| client_failed(cert, problem))?;
                config
                    .with_client_auth_cert(chain, private_key(key)?)
                    .map_err(|error| client_failed(cert, error.to_string()))?
            }
            (Some(path), None) | (None, Some(path)) => {
                return Err(client_failed(
                    path,
                    "a certificate needs its key, and a key its certificate".to_owned(),
                ));
            }
        };
        // No resumption, so that the last of a thousand clients connects in the same way as the
        // first.
        config.resumption = Resumption::disabled();
        Ok(Some(Self { config: Arc::new(config), mode: tls.mode }))
    }

    /// The name that the server's certificate is checked for.
    pub(super) fn server_name(&self, endpoint: &Endpoint) -> Result<ServerName<'static>, TlsError> {
        let host = match endpoint {
            Endpoint::Unix(_) => NAME_OF_UNIX_SOCKET,
            Endpoint::Tcp { host, .. } => host,
        };
        match ServerName::try_from(host) {
            Ok(name) => Ok(name.to_owned()),
            Err(_) if self.mode == TlsMode::VerifyIdentity => {
                Err(TlsError::NoSuchName(host.to_owned()))
            }
            // It is not checked; an address is not sent to the server.
            Err(_) => Ok(ServerName::IpAddress(IpAddr::V4([0, 0, 0, 0].into()))),
        }
    }
}

fn file_roots(path: &Path) -> Result<Roots, TlsError> {
    let certificates = certificates(path, AUTHORITIES_MAX)
        .map_err(|problem| TlsError::Authorities { origin: path.display().to_string(), problem })?;
    let mut store = RootCertStore::empty();
    for certificate in &certificates {
        // A certificate of version 1 cannot be an authority, yet it may be the server's own.
        let _ = store.add(certificate.clone());
    }
    Ok(Roots { store, certificates })
}

/// The certificates of a file, or what is wrong with it.
fn certificates(path: &Path, most: usize) -> Result<Vec<CertificateDer<'static>>, String> {
    let found = CertificateDer::pem_file_iter(path)
        .and_then(|found| found.take(most).collect::<Result<Vec<_>, _>>());
    match found {
        Ok(found) if found.is_empty() => Err("no certificate in it".to_owned()),
        Ok(found) => Ok(found),
        Err(pem::Error::Io(error)) => Err(error.to_string()),
        Err(error) => Err(format!("not a PEM file with certificates ({error})")),
    }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| {
        let problem = match error {
            pem::Error::Io(error) => error.to_string(),
            _ => "no private key in it that can be read without a passphrase".to_owned(),
        };
        client_failed(path, problem)
    })
}

fn client_failed(path: &Path, problem: String) -> TlsError {
    TlsError::ClientCertificate { origin: path.display().to_string(), problem }
}

fn system_roots() -> Result<Roots, TlsError> {
    let found = rustls_native_certs::load_native_certs();
    let mut store = RootCertStore::empty();
    let (added, _unreadable) = store.add_parsable_certificates(found.certs);
    if added == 0 {
        let problem =
            found.errors.first().map_or_else(|| "there are none".to_owned(), ToString::to_string);
        return Err(TlsError::Authorities {
            origin: "the system's authorities".to_owned(),
            problem,
        });
    }
    Ok(Roots { store, certificates: Vec::new() })
}
