//! TLS errors, with the check that failed.

use rustls::{AlertDescription, CertificateError, PeerIncompatible};
use thiserror::Error;

/// An encrypted connection that could not be established.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TlsError {
    #[error("the server does not offer TLS")]
    NotOffered,
    #[error("cannot use the authorities of {origin}: {problem}")]
    Authorities { origin: String, problem: String },
    #[error("cannot log in with the certificate or key of {origin}: {problem}")]
    ClientCertificate { origin: String, problem: String },
    #[error("`{0}` cannot be the name in a certificate")]
    NoSuchName(String),
    #[error("the server's certificate is for {}, not for {wanted}", names(found))]
    OtherName { wanted: String, found: Vec<String> },
    #[error("the server's certificate is signed by an unknown authority")]
    UnknownAuthority,
    #[error("the server's certificate belongs to an authority that is not trusted")]
    AuthorityAsServer,
    #[error("the server's certificate {0}")]
    Dates(String),
    #[error("the server's certificate cannot be used: {0}")]
    BadCertificate(String),
    #[error("the server supports neither TLS 1.2 nor 1.3")]
    OldProtocol,
    #[error("the server ended the TLS handshake: {0}")]
    Refused(String),
    #[error("TLS: {0}")]
    Other(String),
}

impl TlsError {
    pub(super) fn of_rustls(error: rustls::Error) -> Self {
        use rustls::Error;
        match error {
            error if is_authority_as_server(&error) => Self::AuthorityAsServer,
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
            // A bad signature: the authority has the name of a known one, but another key. Servers
            // that make their own certificates all use the same authority name.
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                Self::UnknownAuthority
            }
            CertificateError::ExpiredContext { time, not_after } => {
                let days =
                    (time.as_secs() - not_after.as_secs().min(time.as_secs())) / SECONDS_OF_DAY;
                Self::Dates(format!("has expired, {days} days ago"))
            }
            CertificateError::Expired => Self::Dates("has expired".to_owned()),
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                Self::Dates("is not valid yet; check the clocks of both machines".to_owned())
            }
            CertificateError::Other(other)
                if format!("{other:?}").contains("UnsupportedCertVersion") =>
            {
                Self::BadCertificate(
                    "it is of X.509 version 1, which cannot be verified".to_owned(),
                )
            }
            CertificateError::Other(other) => Self::BadCertificate(format!("{other:?}")),
            other => Self::BadCertificate(other.to_string()),
        }
    }

    /// How to fix it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotOffered => Some(
                "turn TLS on in the server, or connect without it: tls=off (tls=preferred encrypts \
                 if the server supports it)",
            ),
            Self::Authorities { .. } => {
                Some("name a PEM file with the authority's certificate: ca=FILE")
            }
            Self::ClientCertificate { .. } => Some(
                "name PEM files with the client's certificate and its private key: cert=FILE and \
                 key=FILE",
            ),
            Self::OtherName { .. } | Self::NoSuchName(_) => Some(
                "connect to a name in the certificate; tls=verify-ca checks the signature and not \
                 the name",
            ),
            Self::UnknownAuthority | Self::AuthorityAsServer => Some(
                "name the authority's certificate with ca=FILE (MySQL writes its own to ca.pem in \
                 the datadir); tls=required encrypts with any certificate",
            ),
            Self::Dates(_) => {
                Some("give the server a new certificate; tls=required accepts it unchecked")
            }
            Self::BadCertificate(_) => Some(
                "sign it again with a subjectAltName (`openssl x509 -req -extfile ...`); \
                 tls=required accepts it unchecked",
            ),
            Self::Refused(alert) if alert == "HandshakeFailure" => Some(
                "server and client have no cipher in common: truetps supports TLS 1.2 only with \
                 ECDHE, which servers built with OpenSSL 1.0 may lack (MySQL 8.0.15 does); connect \
                 with tls=off",
            ),
            Self::OldProtocol => Some(
                "enable TLS 1.2 in the server (tls_version=TLSv1.2; servers built with yaSSL \
                 cannot), or connect with tls=off",
            ),
            Self::Refused(alert) if alert.contains("Certificate") => Some(
                "the server may require a client certificate, or another one: cert=FILE and \
                 key=FILE",
            ),
            Self::Refused(_) | Self::Other(_) => None,
        }
    }
}

/// The library has no name of its own for this error, so that its words are looked at.
pub(super) fn is_authority_as_server(error: &rustls::Error) -> bool {
    let rustls::Error::InvalidCertificate(CertificateError::Other(other)) = error else {
        return false;
    };
    format!("{other:?}").contains("CaUsedAsEndEntity")
}

const SECONDS_OF_DAY: u64 = 86_400;

/// `db.example` of `DnsName("db.example")`, which is how the library writes it.
fn bare_name(presented: &str) -> String {
    let inner = presented.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.unwrap_or(presented).trim_matches('"').to_owned()
}

fn names(found: &[String]) -> String {
    if found.is_empty() {
        "no name at all (it has no subjectAltName)".to_owned()
    } else {
        found.join(", ")
    }
}
