//! What other programs call the parts of an address.

use crate::TlsMode;

/// Options of libpq (`sslmode`), of MySQL Shell and mysql (`ssl-mode`), of PHP and SQLAlchemy
/// (`unix_socket`) and of JDBC (`allowPublicKeyRetrieval`), without their `-` and `_`, in lower
/// case.
const OPTION_NAMES: [(&str, &str); 11] = [
    ("sslmode", "tls"),
    ("sslca", "ca"),
    ("sslrootcert", "ca"),
    ("sslcert", "cert"),
    ("sslkey", "key"),
    ("unixsocket", "socket"),
    ("getserverpublickey", "get_server_public_key"),
    ("allowpublickeyretrieval", "get_server_public_key"),
    ("connecttimeout", "connect_timeout"),
    ("tls", "tls"),
    ("socket", "socket"),
];

/// Values of `sslmode` of libpq and of `ssl-mode` of MySQL that are not truetps's own. libpq's
/// `allow`, which begins without encryption, has none.
const TLS_MODE_NAMES: [(&str, TlsMode); 5] = [
    ("disable", TlsMode::Off),
    ("disabled", TlsMode::Off),
    ("prefer", TlsMode::Preferred),
    ("require", TlsMode::Required),
    ("verify-full", TlsMode::VerifyIdentity),
];

/// The option that another program calls `name`.
pub(crate) fn option_of_others(name: &str, value: &str) -> Option<&'static str> {
    // libpq: a host that is a path is the folder of the socket.
    if name == "host" && value.starts_with('/') {
        return Some("socket");
    }
    let bare = name.replace(['-', '_'], "").to_ascii_lowercase();
    OPTION_NAMES.into_iter().find(|(theirs, _)| *theirs == bare).map(|(_, ours)| ours)
}

pub(crate) fn tls_mode_of_others(mode: &str) -> Option<TlsMode> {
    TLS_MODE_NAMES.into_iter().find(|(theirs, _)| *theirs == mode).map(|(_, mode)| mode)
}

/// What a text without a scheme seems to be.
pub(crate) fn form_of_others(text: &str) -> Option<&'static str> {
    let quotes = ['"', '\''];
    if text.len() > 1 && quotes.iter().any(|q| text.starts_with(*q) && text.ends_with(*q)) {
        return Some("it is in quotes that are part of it");
    }
    if starts_with(text, "jdbc:") {
        return Some("it is a URL of JDBC: leave `jdbc:` out, and put the user before the host");
    }
    if ["@tcp(", "@unix("].iter().any(|part| text.contains(part))
        || ["tcp(", "unix("].iter().any(|start| starts_with(text, start))
    {
        return Some("it is an address of Go's MySQL driver");
    }
    if text.starts_with('/') {
        return Some("it is a path: a socket is given as mysql://user@?socket=/path");
    }
    if text.contains('=') {
        return Some("it is a list of names and values");
    }
    None
}

/// Whether a text begins so, in letters of either case.
fn starts_with(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
}
