//! The address of an HTTP service.

use thiserror::Error;

use crate::{Endpoint, Tls, TlsMode};

const HTTP_PORT: u16 = 80;
const HTTPS_PORT: u16 = 443;

/// What is wrong with the address of a service. No message contains its user or password.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UrlError {
    #[error("not an address like http://host:port/path")]
    NotAUrl,
    #[error(
        "has a user or a password before the host: give them in a header, such as Authorization"
    )]
    HasUser,
    #[error("the port is not a number from 1 to 65535")]
    BadPort,
    #[error("has spaces, control characters or letters beyond ASCII: percent-encode them")]
    NotPrintable,
}

/// The parts of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Url {
    pub(super) endpoint: Endpoint,
    pub(super) is_encrypted: bool,
    /// As in the header `Host`.
    pub(super) host: String,
    /// Path and query; it may have fields.
    pub(super) path: String,
}

impl Url {
    pub(super) fn parse(text: &str) -> Result<Self, UrlError> {
        if text.bytes().any(|byte| !byte.is_ascii_graphic()) {
            return Err(UrlError::NotPrintable);
        }
        let (scheme, rest) = text.split_once("://").ok_or(UrlError::NotAUrl)?;
        let is_encrypted = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => return Err(UrlError::NotAUrl),
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (host, path) = rest.split_at(end);
        if host.contains('@') {
            return Err(UrlError::HasUser);
        }
        let default = if is_encrypted { HTTPS_PORT } else { HTTP_PORT };
        let (name, port) = name_and_port(host, default)?;
        let slash = if path.starts_with('/') { "" } else { "/" };
        Ok(Self {
            endpoint: Endpoint::Tcp { host: name.to_owned(), port },
            is_encrypted,
            host: host.to_owned(),
            path: format!("{slash}{path}"),
        })
    }

    /// Certificates are checked, as in browsers.
    pub(super) fn tls(&self) -> Tls {
        let mode = if self.is_encrypted { TlsMode::VerifyIdentity } else { TlsMode::Off };
        Tls { mode, ..Tls::default() }
    }
}

fn name_and_port(host: &str, default: u16) -> Result<(&str, u16), UrlError> {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => {
            let (name, port) = rest.split_once(']').ok_or(UrlError::NotAUrl)?;
            (
                name,
                if port.is_empty() {
                    None
                } else {
                    Some(port.strip_prefix(':').ok_or(UrlError::BadPort)?)
                },
            )
        }
        None => host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port))),
    };
    if name.is_empty() {
        return Err(UrlError::NotAUrl);
    }
    let port = port.map_or(Ok(default), |port| {
        port.parse().ok().filter(|port| *port > 0).ok_or(UrlError::BadPort)
    })?;
    Ok((name, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let check = |text: &str, host: &str, port: u16, path: &str| {
            let url = Url::parse(text).unwrap();
            assert_eq!(url.endpoint, Endpoint::Tcp { host: host.to_owned(), port }, "{text}");
            assert_eq!(url.path, path, "{text}");
        };
        check("http://localhost:8080/rows?a=1", "localhost", 8080, "/rows?a=1");
        check("HTTPS://db.example", "db.example", 443, "/");
        check("http://[::1]:81?x", "::1", 81, "/?x");
        check("http://h/a/{client}#part", "h", 80, "/a/{client}");
        assert!(Url::parse("https://h").unwrap().is_encrypted);
        for (text, expect) in [
            ("ftp://h", UrlError::NotAUrl),
            ("localhost:8080", UrlError::NotAUrl),
            ("http://", UrlError::NotAUrl),
            ("http://me:secret@h/", UrlError::HasUser),
            ("http://h:0/", UrlError::BadPort),
            ("http://[::1]81/", UrlError::BadPort),
            ("http://h/a b", UrlError::NotPrintable),
        ] {
            assert_eq!(Url::parse(text), Err(expect), "{text}");
        }
    }
}
