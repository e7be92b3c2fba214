//! Which certificates are accepted.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

use super::config::Roots;

/// Accepts every certificate: the default of MySQL's clients. It protects only against passive listeners.
///
/// Signatures are not checked either: an attacker in the middle could always present a certificate with a key of the
/// attacker's own. So certificates of X.509 version 1 work, which the manual's `openssl` commands used to make.
#[derive(Debug)]
pub(super) struct AnyCertificate {
    algorithms: WebPkiSupportedAlgorithms,
}

impl AnyCertificate {
    pub(super) fn new(algorithms: WebPkiSupportedAlgorithms) -> Self {
        Self { algorithms }
    }
}

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Accepts certificates that a known authority has signed; if names are checked, only certificates for the server's
/// name.
pub(super) struct KnownAuthority {
    roots: Roots,
    algorithms: WebPkiSupportedAlgorithms,
    checks_name: bool,
}

impl KnownAuthority {
    pub(super) fn new(roots: Roots, algorithms: WebPkiSupportedAlgorithms, checks_name: bool) -> Self {
        Self { roots, algorithms, checks_name }
    }
}

impl std::fmt::Debug for KnownAuthority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KnownAuthority({} of them, name {})", self.roots.store.len(), self.checks_name)
    }
}

impl ServerCertVerifier for KnownAuthority {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let certificate = ParsedCertificate::try_from(end_entity)?;
        let (roots, algorithms) = (&self.roots.store, self.algorithms.all);
        match verify_server_cert_signed_by_trust_anchor(&certificate, roots, intermediates, now, algorithms) {
            Ok(()) => {}
            // The server shows an authority's certificate as its own, which it may where the user has named that very
            // certificate: self-signed ones are often made so. Its dates were checked before this error.
            Err(error) if is_authority_as_server(&error) && self.roots.certificates.contains(end_entity) => {}
            Err(error) => return Err(error),
        }
        if self.checks_name {
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
        verify_tls12_signature(message, cert, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// The library has no name of its own for this error, so that its words are looked at.
pub(super) fn is_authority_as_server(error: &Error) -> bool {
    let Error::InvalidCertificate(CertificateError::Other(other)) = error else { return false };
    format!("{other:?}").contains("CaUsedAsEndEntity")
}
