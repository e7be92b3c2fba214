//! TLS with the options of MySQL's programs, for both command lines.

use std::path::PathBuf;

use truetps_driver::{Endpoint, Target, Tls, TlsMode};

/// The value of `--ssl-mode`, in any letter case.
pub(crate) fn ssl_mode(text: &str) -> Result<TlsMode, String> {
    TlsMode::of_mysql_word(text)
        .ok_or_else(|| format!("none of {}", TlsMode::MYSQL_WORDS.map(|(word, _)| word).join(", ")))
}

/// The TLS mode of the options. Without a mode, an authority means that the certificate is
/// verified, a client certificate requires TLS, and otherwise TLS is used if the server has it.
pub(crate) fn tls(
    mode: Option<TlsMode>,
    [ca, cert, key]: [Option<PathBuf>; 3],
    takes_server_key: bool,
) -> Result<Tls, &'static str> {
    if cert.is_some() != key.is_some() {
        return Err("--ssl-cert and --ssl-key go together");
    }
    let mode = match (mode, &ca, &cert) {
        (Some(mode), ..) => mode,
        (None, Some(_), _) => TlsMode::VerifyCa,
        (None, None, Some(_)) => TlsMode::Required,
        (None, None, None) => TlsMode::Preferred,
    };
    Ok(Tls { mode, ca, cert, key, takes_server_key })
}

/// A socket of this machine cannot be tapped: TLS that is not required is not used there.
pub(crate) fn without_needless_tls(mut target: Target) -> Target {
    if matches!(target.endpoints[0], Endpoint::Unix(_)) && !target.tls.mode.is_required() {
        target.tls.mode = TlsMode::Off;
    }
    target
}
