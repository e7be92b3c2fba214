//! Who may come in: bearer tokens, and the host's name for browsers.

use std::hint::black_box;
use std::net::IpAddr;

use hyper::header::{AUTHORIZATION, HOST};
use hyper::http::uri::Authority;
use hyper::{HeaderMap, Request, StatusCode, Version};

/// Shorter ones can be guessed.
const TOKEN_BYTES_MIN: usize = 16;
const SCHEME: &[u8] = b"bearer";

/// What a request needs a token for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenScope {
    Rows,
    Metrics,
}

/// Tokens of clients. Without tokens for rows, all clients may come in.
#[derive(Clone, Default)]
pub struct AccessTokens {
    rows: Vec<String>,
    /// If there are none, those for rows may read the figures.
    metrics: Vec<String>,
}

impl AccessTokens {
    /// Reads tokens with blanks or commas between them. The error is for users and shows no token.
    pub fn parse(text: &str) -> Result<Self, String> {
        Ok(Self { rows: parse_tokens(text)?, metrics: Vec::new() })
    }

    /// Reads tokens that may read figures and store no rows, in the same form.
    pub fn with_metrics_tokens(self, text: &str) -> Result<Self, String> {
        let metrics = parse_tokens(text)?;
        if metrics.iter().any(|token| self.rows.contains(token)) {
            return Err("a token that may store rows is in it".to_owned());
        }
        Ok(Self { metrics, ..self })
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether figures need a token.
    pub(crate) fn guard_metrics(&self) -> bool {
        !self.rows.is_empty() || !self.metrics.is_empty()
    }

    /// 401 without a valid token, 403 with one for something else.
    pub(super) fn check<B>(
        &self,
        request: &Request<B>,
        scope: TokenScope,
    ) -> Result<(), StatusCode> {
        let (needed, others) = match scope {
            TokenScope::Metrics if !self.metrics.is_empty() => (&self.metrics, &self.rows),
            _ => (&self.rows, &self.metrics),
        };
        if needed.is_empty() {
            return Ok(());
        }
        let token = bearer_token(request.headers()).ok_or(StatusCode::UNAUTHORIZED)?;
        // Both lists are searched, so that the time does not show which one has a similar token.
        match (has_token(needed, token), has_token(others, token)) {
            (true, _) => Ok(()),
            (false, true) => Err(StatusCode::FORBIDDEN),
            (false, false) => Err(StatusCode::UNAUTHORIZED),
        }
    }
}

fn parse_tokens(text: &str) -> Result<Vec<String>, String> {
    let tokens: Vec<_> =
        text.split([',', ' ', '\t', '\n']).filter(|token| !token.is_empty()).collect();
    if tokens.is_empty() {
        return Err("it has no token".to_owned());
    }
    if let Some(index) = tokens.iter().position(|token| token.len() < TOKEN_BYTES_MIN) {
        return Err(format!(
            "token {} has fewer than {TOKEN_BYTES_MIN} characters; commas, blanks and new lines \
             separate tokens",
            index + 1
        ));
    }
    if tokens.iter().any(|token| !token.bytes().all(|byte| byte.is_ascii_graphic())) {
        return Err("a token has characters that a header cannot have".to_owned());
    }
    Ok(tokens.into_iter().map(str::to_owned).collect())
}

/// The token of the only header `Authorization`; the scheme may be written in capitals or not.
fn bearer_token(headers: &HeaderMap) -> Option<&[u8]> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (scheme, rest) = values.next()?.as_bytes().split_at_checked(SCHEME.len())?;
    let is_only = values.next().is_none();
    let token = rest.strip_prefix(b" ")?.trim_ascii_start();
    (is_only && scheme.eq_ignore_ascii_case(SCHEME)).then_some(token)
}

/// All tokens are compared, so that the time does not show which one is similar.
fn has_token(tokens: &[String], token: &[u8]) -> bool {
    tokens.iter().fold(false, |found, own| found | are_equal(own.as_bytes(), token))
}

/// Takes the same time wherever the first difference is.
fn are_equal(a: &[u8], b: &[u8]) -> bool {
    let differences = a.iter().zip(b).fold(0, |all, (a, b)| all | black_box(a ^ b));
    a.len() == b.len() && differences == 0
}

/// Whether the request names one host, as HTTP demands; and, if only this host reaches the gateway
/// (`is_local`), whether it names this one.
pub(super) fn check_host<B>(
    request: &Request<B>,
    is_local: bool,
) -> Result<(), (StatusCode, &'static str)> {
    let mut hosts = request.headers().get_all(HOST).iter();
    let (host, target) = (hosts.next(), request.uri().authority().map(Authority::as_str));
    if hosts.next().is_some() {
        return Err((StatusCode::BAD_REQUEST, "the header Host is there twice\n"));
    }
    if host.is_none() && request.version() == Version::HTTP_11 {
        return Err((StatusCode::BAD_REQUEST, "the header Host is missing\n"));
    }
    let host = host.map(|host| host.to_str().unwrap_or_default());
    if let (Some(host), Some(target)) = (host, target)
        && !host.eq_ignore_ascii_case(target)
    {
        return Err((
            StatusCode::BAD_REQUEST,
            "the header Host and the target of the request name different hosts\n",
        ));
    }
    match host.or(target) {
        Some(host) if is_local && !is_this_host(host) => {
            Err((StatusCode::MISDIRECTED_REQUEST, "the host of the request is not this host\n"))
        }
        _ => Ok(()),
    }
}

/// A page in a browser on this host may name a host of its own that leads here; it cannot name an
/// address, or `localhost`.
fn is_this_host(host: &str) -> bool {
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

    const ROWS: &str = "first-token-0123456789, second-token-0123456789\n";

    fn request(header: &str, value: &str) -> Request<()> {
        Request::builder().header(header, value).body(()).unwrap()
    }

    #[test]
    fn a_token_must_be_one_of_the_list() {
        let tokens = AccessTokens::parse(ROWS).unwrap();
        let check = |value: &str, expect: bool| {
            let found = tokens.check(&request("authorization", value), TokenScope::Rows);
            assert_eq!(found.is_ok(), expect, "{value}");
        };
        check("Bearer first-token-0123456789", true);
        check("bearer second-token-0123456789", true);
        check("BEARER  second-token-0123456789", true);
        check("Bearer second-token-012345678", false);
        check("Bearer second-token-01234567890", false);
        check("Bearersecond-token-0123456789", false);
        check("Basic first-token-0123456789", false);
        check("", false);
        assert!(tokens.check(&request("x", ""), TokenScope::Rows).is_err());
        let twice = Request::builder()
            .header("authorization", "Bearer first-token-0123456789")
            .header("authorization", "Bearer second-token-0123456789");
        assert!(tokens.check(&twice.body(()).unwrap(), TokenScope::Rows).is_err());
        assert!(AccessTokens::default().check(&request("x", ""), TokenScope::Rows).is_ok());
        for wrong in ["", " , ", "short", "long-enough-but-with-é-in-it"] {
            assert!(AccessTokens::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_text_with_blanks_is_several_tokens() {
        let error = AccessTokens::parse("one two-tokens-0123456789").err().unwrap();
        assert_eq!(
            error,
            "token 1 has fewer than 16 characters; commas, blanks and new lines separate tokens"
        );
    }

    #[test]
    fn a_token_for_figures_stores_no_rows() {
        let check = |tokens: &AccessTokens, token: &str, rows: u16, metrics: u16| {
            let request = request("authorization", &format!("Bearer {token}"));
            let status = |scope| {
                tokens.check(&request, scope).map_or_else(|status| status.as_u16(), |()| 200)
            };
            assert_eq!(
                (status(TokenScope::Rows), status(TokenScope::Metrics)),
                (rows, metrics),
                "{token}"
            );
        };
        let rows = AccessTokens::parse(ROWS).unwrap();
        check(&rows, "first-token-0123456789", 200, 200);
        let both = rows.clone().with_metrics_tokens("figures-token-0123456789").unwrap();
        check(&both, "first-token-0123456789", 200, 403);
        check(&both, "figures-token-0123456789", 403, 200);
        check(&both, "unknown-token-0123456789", 401, 401);
        assert!(
            rows.with_metrics_tokens("first-token-0123456789").is_err(),
            "a token for both would be for rows"
        );
    }

    #[test]
    fn pages_of_other_hosts_do_not_reach_it() {
        let check = |host: &str, expect: u16| {
            let found = check_host(&request("host", host), true);
            assert_eq!(
                found.map_or_else(|(status, _)| status.as_u16(), |()| 200),
                expect,
                "{host}"
            );
        };
        check("localhost:8080", 200);
        check("127.0.0.1", 200);
        check("[::1]:8080", 200);
        check("rebound.example", 421);
        check("rebound.example:8080", 421);
        check("", 421);
        assert!(check_host(&request("host", "rebound.example"), false).is_ok());
    }

    #[test]
    fn a_request_names_one_host() {
        let check = |target: &str, hosts: &[&str], expect: u16| {
            let request = hosts.iter().fold(Request::builder().uri(target), |request, host| {
                request.header("host", *host)
            });
            let found = check_host(&request.body(()).unwrap(), false);
            assert_eq!(
                found.map_or_else(|(status, _)| status.as_u16(), |()| 200),
                expect,
                "{target} {hosts:?}"
            );
        };
        check("/healthz", &["a.example"], 200);
        check("/healthz", &[], 400);
        check("/healthz", &["a.example", "a.example"], 400);
        check("http://A.example/healthz", &["a.example"], 200);
        check("http://b.example/healthz", &["a.example"], 400);
    }
}
