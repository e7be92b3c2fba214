//! What a request to the exporter asks for.

use std::net::IpAddr;

use httparse::{EMPTY_HEADER, Request, Status};

const HEADERS_MAX: usize = 64;

/// The answer that a request gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestKind {
    Metrics,
    /// The page with links.
    Front,
    NotFound,
    /// Neither GET nor HEAD.
    WrongMethod,
    /// A name that is not this host's.
    WrongHost,
    /// No request of HTTP/1.
    Malformed,
    /// The head is too long.
    TooLong,
    /// It did not come in time.
    TooLate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExporterRequest {
    pub(super) kind: RequestKind,
    /// HEAD: the answer has no body.
    pub(super) is_head: bool,
}

impl From<RequestKind> for ExporterRequest {
    fn from(kind: RequestKind) -> Self {
        Self { kind, is_head: false }
    }
}

/// `None`: the head has not come to its end. `is_local`: only this host reaches the exporter.
pub(super) fn parse(head: &[u8], is_local: bool) -> Option<ExporterRequest> {
    let mut headers = [EMPTY_HEADER; HEADERS_MAX];
    let mut request = Request::new(&mut headers);
    match request.parse(head) {
        Ok(Status::Complete(_)) => Some(asked(&request, is_local)),
        Ok(Status::Partial) => None,
        Err(httparse::Error::TooManyHeaders) => Some(RequestKind::TooLong.into()),
        Err(_) => Some(RequestKind::Malformed.into()),
    }
}

fn asked(request: &Request<'_, '_>, is_local: bool) -> ExporterRequest {
    let is_head = request.method == Some("HEAD");
    if !is_head && request.method != Some("GET") {
        return RequestKind::WrongMethod.into();
    }
    let mut hosts =
        request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("host"));
    if is_local && !hosts.all(|header| is_own_name(header.value)) {
        return ExporterRequest { kind: RequestKind::WrongHost, is_head };
    }
    let path = request.path.unwrap_or_default();
    let kind = match path.split_once('?').map_or(path, |(path, _)| path) {
        "/metrics" => RequestKind::Metrics,
        "/" => RequestKind::Front,
        _ => RequestKind::NotFound,
    };
    ExporterRequest { kind, is_head }
}

/// A page in a browser on this host may name a host of its own that leads here; it cannot name an
/// address, or `localhost`.
fn is_own_name(host: &[u8]) -> bool {
    let Ok(host) = std::str::from_utf8(host) else { return false };
    let host = host.trim();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => name,
        _ => host,
    };
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    address.parse::<IpAddr>().is_ok() || name.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests() {
        let check = |head: &str, expect: Option<RequestKind>| {
            assert_eq!(
                parse(head.as_bytes(), true).map(|request| request.kind),
                expect,
                "{head:?}"
            );
        };
        check("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:9104\r\n\r\n", Some(RequestKind::Metrics));
        check("GET /metrics?a=b HTTP/1.0\r\n\r\n", Some(RequestKind::Metrics));
        check("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n", Some(RequestKind::Front));
        check("GET /metrics/ HTTP/1.1\r\nHost: [::1]:9104\r\n\r\n", Some(RequestKind::NotFound));
        check("GET /../etc/passwd HTTP/1.1\r\n\r\n", Some(RequestKind::NotFound));
        check("POST /metrics HTTP/1.1\r\n\r\n", Some(RequestKind::WrongMethod));
        check("DELETE / HTTP/1.1\r\nHost: ::1\r\n\r\n", Some(RequestKind::WrongMethod));
        check(
            "GET /metrics HTTP/1.1\r\nHost: attacker.example:9104\r\n\r\n",
            Some(RequestKind::WrongHost),
        );
        check(
            "GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: a.example\r\n\r\n",
            Some(RequestKind::WrongHost),
        );
        check("GET /metrics HTTP/1.1\r\nHost: \u{e9}\r\n\r\n", Some(RequestKind::WrongHost));
        check("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1", None);
        check("", None);
        check("\u{16}\u{3}\u{1}\u{2}", Some(RequestKind::Malformed));
        check("GET /metrics HTTP/2.0\r\n\r\n", Some(RequestKind::Malformed));
        check(
            &format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(HEADERS_MAX + 1)),
            Some(RequestKind::TooLong),
        );
        let remote = parse(b"HEAD /metrics HTTP/1.1\r\nHost: db1.example\r\n\r\n", false);
        assert_eq!(remote, Some(ExporterRequest { kind: RequestKind::Metrics, is_head: true }));
    }
}
