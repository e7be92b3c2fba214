//! What can go wrong with TLS, and which check it was.

use rustls::{AlertDescription, CertificateError, PeerIncompatible};
use thiserror::Error;

/// An encrypted connection that did not come about.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TlsError {
    #[error("the server does not offer TLS")]
    NotOffered,
    #[error("cannot use the authorities of {place}: {problem}")]
    Authorities { place: String, problem: String },
    #[error("cannot log in with the certificate or key of {place}: {problem}")]
    ClientCertificate { place: String, problem: String },
    #[error("`{0}` is not a name that a certificate can be for")]
    NoSuchName(String),
    #[error("the server's certificate is for {}, not for {wanted}", names(found))]
    OtherName { wanted: String, found: Vec<String> },
    #[error("the server's certificate is signed by an authority that is not known here")]
    UnknownAuthority,
    #[error("the server's certificate is an authority's, and it is not one that is trusted")]
    AuthorityAsServer,
    #[error("the server's certificate {0}")]
    Dates(String),
    #[error("the server's certificate cannot be used: {0}")]
    BadCertificate(String),
    #[error("the server speaks no TLS that is spoken here (1.2 and 1.3)")]
    OldProtocol,
    #[error("the server has ended the TLS handshake: {0}")]
    Refused(String),
    #[error("TLS: {0}")]
    Other(String),
}

impl TlsError {
    pub(super) fn of_rustls(error: rustls::Error) -> Self {
        use rustls::Error;
        match error {
            error if super::verifier::is_authority_as_server(&error) => Self::AuthorityAsServer,
            Error::InvalidCertificate(error) => Self::of_certificate(&error),
            Error::AlertReceived(AlertDescription::ProtocolVersion)
            | Error::PeerIncompatible(
                PeerIncompatible::ServerDoesNotSupportTls12Or13
                | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig,
            ) => Self::OldProtocol,
            Error::AlertReceived(alert) => Self::Refused(format!("{alert:?}")),
            error => Self::Other(error.to_string()),
        }
    }

    fn of_certificate(error: &CertificateError) -> Self {
        match error {
            CertificateError::NotValidForNameContext { expected, presented } => Self::OtherName {
                wanted: expected.to_str().into_owned(),
                found: presented.iter().map(|name| bare_name(name)).collect(),
            },
            // A bad signature: the authority has the name of one that is known, and another key. Servers that make
            // their own certificates all give their authorities the same name.
            CertificateError::UnknownIssuer | CertificateError::BadSignature => Self::UnknownAuthority,
            CertificateError::ExpiredContext { time, not_after } => {
                let days = (time.as_secs() - not_after.as_secs().min(time.as_secs())) / SECONDS_OF_DAY;
                Self::Dates(format!("has expired, {days} days ago"))
            }
            CertificateError::Expired => Self::Dates("has expired".to_owned()),
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                Self::Dates("is not valid yet; is the clock of one of the two machines wrong?".to_owned())
            }
            CertificateError::Other(other) if format!("{other:?}").contains("UnsupportedCertVersion") => {
                Self::BadCertificate("it is of X.509 version 1, which cannot be verified".to_owned())
            }
            CertificateError::Other(other) => Self::BadCertificate(format!("{other:?}")),
            other => Self::BadCertificate(other.to_string()),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotOffered => Some(
                "turn TLS on in the server, or connect without it: tls=off (tls=preferred encrypts where the server can)",
            ),
            Self::Authorities { .. } => Some("name a PEM file with the authority's certificate: ca=FILE"),
            Self::ClientCertificate { .. } => {
                Some("name PEM files with the client's certificate and its private key: cert=FILE and key=FILE")
            }
            Self::OtherName { .. } | Self::NoSuchName(_) => Some(
                "connect to a name that the certificate is for; tls=verify-ca checks who signed it and not the name",
            ),
            Self::UnknownAuthority | Self::AuthorityAsServer => Some(
                "name the authority's certificate with ca=FILE (MySQL writes its own to ca.pem in the data folder); \
                 tls=required encrypts with any certificate",
            ),
            Self::Dates(_) => Some("give the server a new certificate; tls=required takes it as it is"),
            Self::BadCertificate(_) => Some(
                "sign it anew with a subjectAltName (`openssl x509 -req -extfile ...`); tls=required takes it as it is",
            ),
            Self::Refused(alert) if alert == "HandshakeFailure" => Some(
                "server and client have no cipher in common: TLS 1.2 is spoken here with ECDHE only, which servers built \
                 with OpenSSL 1.0 may not have (MySQL 8.0.15 has not); connect with tls=off",
            ),
            Self::OldProtocol => Some(
                "let the server speak TLS 1.2 (tls_version=TLSv1.2; servers built with yaSSL cannot), or connect with \
                 tls=off",
            ),
            Self::Refused(alert) if alert.contains("Certificate") => {
                Some("the server may want a client's certificate, or another one: cert=FILE and key=FILE")
            }
            Self::Refused(_) | Self::Other(_) => None,
        }
    }
}

const SECONDS_OF_DAY: u64 = 86_400;

/// `db.example` of `DnsName("db.example")`, which is how the library writes it.
fn bare_name(presented: &str) -> String {
    let inner = presented.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.unwrap_or(presented).trim_matches('"').to_owned()
}

fn names(found: &[String]) -> String {
    if found.is_empty() { "no name at all (it has no subjectAltName)".to_owned() } else { found.join(", ") }
}
