//! The check of a server's certificate.

use std::fmt;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::error::is_authority_as_server;

/// Checks what a server presents.
pub(super) struct CertificateCheck {
    algorithms: WebPkiSupportedAlgorithms,
    trust: CertificateTrust,
}

/// Which certificates are accepted.
pub(super) enum CertificateTrust {
    /// All: the default of MySQL's clients. It protects only against passive listeners.
    ///
    /// Signatures are not checked either: an attacker in the middle could always present a
    /// certificate with a key of the attacker's own. So certificates of X.509 version 1 work, which
    /// the manual's `openssl` commands used to make.
    Any,
    /// All that a known authority has signed; if names are checked, only certificates for the
    /// server's name.
    Authorities { roots: Roots, checks_name: bool },
}

/// Authorities, and the raw certificates of the file: a server may present one of them itself.
pub(super) struct Roots {
    pub(super) store: RootCertStore,
    pub(super) certificates: Vec<CertificateDer<'static>>,
}

impl CertificateCheck {
    pub(super) fn new(algorithms: WebPkiSupportedAlgorithms, trust: CertificateTrust) -> Self {
        Self { algorithms, trust }
    }

    fn signature(
        &self,
        verify: impl FnOnce(&WebPkiSupportedAlgorithms) -> Result<HandshakeSignatureValid, Error>,
    ) -> Result<HandshakeSignatureValid, Error> {
        match self.trust {
            CertificateTrust::Any => Ok(HandshakeSignatureValid::assertion()),
            CertificateTrust::Authorities { .. } => verify(&self.algorithms),
        }
    }
}

impl fmt::Debug for CertificateCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.trust {
            CertificateTrust::Any => write!(f, "CertificateCheck(any)"),
            CertificateTrust::Authorities { roots, checks_name } => {
                write!(f, "CertificateCheck({} authorities, name {checks_name})", roots.store.len())
            }
        }
    }
}

impl ServerCertVerifier for CertificateCheck {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let CertificateTrust::Authorities { roots, checks_name } = &self.trust else {
            return Ok(ServerCertVerified::assertion());
        };
        let certificate = ParsedCertificate::try_from(end_entity)?;
        let algorithms = self.algorithms.all;
        match verify_server_cert_signed_by_trust_anchor(
            &certificate,
            &roots.store,
            intermediates,
            now,
            algorithms,
        ) {
            Ok(()) => {}
            // The server shows an authority's certificate as its own, which it may where the user
            // has named that very certificate: self-signed ones are often made so. Its dates were
            // checked before this error.
            Err(error)
                if is_authority_as_server(&error) && roots.certificates.contains(end_entity) => {}
            Err(error) => return Err(error),
        }
        if *checks_name {
            verify_server_name(&certificate, server_name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signature(|algorithms| verify_tls12_signature(message, cert, signed, algorithms))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signature(|algorithms| verify_tls13_signature(message, cert, signed, algorithms))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
