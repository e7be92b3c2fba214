//! Who may come in: bearer tokens, and the host's name for browsers.

use std::hint::black_box;
use std::net::IpAddr;

use hyper::Request;
use hyper::header::{AUTHORIZATION, HOST};
use hyper::http::uri::Authority;

/// Shorter ones can be guessed.
const TOKEN_BYTES_MIN: usize = 16;

/// Tokens of clients. Without any, all clients may come in.
#[derive(Clone, Default)]
pub struct AccessTokens(Vec<String>);

impl AccessTokens {
    /// Reads tokens with blanks or commas between them. The error is for users and shows no token.
    pub fn parse(text: &str) -> Result<Self, String> {
        let tokens: Vec<_> = text.split([',', ' ', '\t', '\n']).filter(|token| !token.is_empty()).collect();
        if tokens.is_empty() {
            return Err("it has no token".to_owned());
        }
        if let Some(place) = tokens.iter().position(|token| token.len() < TOKEN_BYTES_MIN) {
            return Err(format!("token {} has fewer than {TOKEN_BYTES_MIN} characters", place + 1));
        }
        if tokens.iter().any(|token| !token.bytes().all(|byte| byte.is_ascii_graphic())) {
            return Err("a token has characters that a header cannot have".to_owned());
        }
        Ok(Self(tokens.into_iter().map(str::to_owned).collect()))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn allow<B>(&self, request: &Request<B>) -> bool {
        if self.0.is_empty() {
            return true;
        }
        let Some(value) = request.headers().get(AUTHORIZATION) else { return false };
        let Some(token) = value.as_bytes().strip_prefix(b"Bearer ") else { return false };
        // All tokens are compared, so that the time does not show which one is similar.
        self.0.iter().fold(false, |found, own| found | are_equal(own.as_bytes(), token))
    }
}

/// Takes the same time wherever the first difference is.
fn are_equal(a: &[u8], b: &[u8]) -> bool {
    let differences = a.iter().zip(b).fold(0, |all, (a, b)| all | black_box(a ^ b));
    a.len() == b.len() && differences == 0
}

/// A page in a browser on this host may name a host of its own that leads here; it cannot name an address, or
/// `localhost`.
pub(super) fn names_this_host<B>(request: &Request<B>) -> bool {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    let Some(host) = host.or_else(|| request.uri().authority().map(Authority::as_str)) else {
        return true;
    };
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

    fn request(header: &str, value: &str) -> Request<()> {
        Request::builder().header(header, value).body(()).unwrap()
    }

    #[test]
    fn a_token_must_be_one_of_the_list() {
        let tokens = AccessTokens::parse("first-token-0123456789, second-token-0123456789\n").unwrap();
        let check = |value: &str, expect| assert_eq!(tokens.allow(&request("authorization", value)), expect, "{value}");
        check("Bearer first-token-0123456789", true);
        check("Bearer second-token-0123456789", true);
        check("Bearer second-token-012345678", false);
        check("Bearer second-token-01234567890", false);
        check("Basic first-token-0123456789", false);
        check("", false);
        assert!(!tokens.allow(&request("x", "")));
        assert!(AccessTokens::default().allow(&request("x", "")));
        for wrong in ["", " , ", "short", "long-enough-but-with-é-in-it"] {
            assert!(AccessTokens::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn pages_of_other_hosts_do_not_reach_it() {
        let check = |host: &str, expect| assert_eq!(names_this_host(&request("host", host)), expect, "{host}");
        check("localhost:8080", true);
        check("127.0.0.1", true);
        check("[::1]:8080", true);
        check("rebound.example", false);
        check("rebound.example:8080", false);
        check("", false);
        assert!(names_this_host(&request("x", "")));
    }
}
