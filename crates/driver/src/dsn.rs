//! A target as one line of text: `mysql://user@host:port/schema?tls=required`.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;
use truetps_record::{SqlDialect, did_you_mean_or, near_matches};

use crate::dsn_names::{form_of_others, option_of_others, tls_mode_of_others};
use crate::{Endpoint, Login, Password, Target, Tls, TlsMode};

const SCHEMES: [(&str, SqlDialect); 4] = [
    ("mysql", SqlDialect::Mysql),
    ("mariadb", SqlDialect::Mysql),
    ("postgresql", SqlDialect::Postgres),
    ("postgres", SqlDialect::Postgres),
];
const OPTIONS: [&str; 8] =
    ["socket", "tls", "ca", "cert", "key", "get_server_public_key", "connect_timeout", "source"];
/// The longest timeout of a control connection.
const CONNECT_TIMEOUT_MAX_S: u64 = 60;
const TLS_MODES: [(&str, TlsMode); 5] = [
    ("off", TlsMode::Off),
    ("preferred", TlsMode::Preferred),
    ("required", TlsMode::Required),
    ("verify-ca", TlsMode::VerifyCa),
    ("verify-identity", TlsMode::VerifyIdentity),
];
/// Every endpoint is resolved, and clients are distributed over them.
const HOSTS_MAX: usize = 1_000;
/// Enough for more connections than a plan may have. Each is combined with each host.
const SOURCES_MAX: usize = 64;

/// What is wrong with a DSN. No message contains a password, nor any text that may be part of one.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DsnError {
    /// `form`: what it seems to be.
    #[error("not the address of a server{}: it must look like mysql://user@host:port/schema", in_brackets(*form))]
    NotADsn { form: Option<&'static str> },
    #[error("unknown scheme `{scheme}`{}", did_you_mean_or(near, "known", &SCHEMES.map(|(name, _)| name)))]
    UnknownScheme { scheme: String, near: Vec<String> },
    #[error("unknown option `{option}`{}", did_you_mean_or(near, "known", &OPTIONS))]
    UnknownOption { option: String, near: Vec<String> },
    #[error("option `{0}` is given twice")]
    Twice(&'static str),
    #[error("option `{0}` has no value")]
    NoValue(&'static str),
    #[error("unknown tls mode `{mode}`{}", did_you_mean_or(near, "known", &TLS_MODES.map(|(name, _)| name)))]
    UnknownTlsMode { mode: String, near: Vec<String> },
    #[error("ca={0} needs tls=verify-ca or tls=verify-identity")]
    UnusedCa(String),
    #[error(
        "cert={0} needs TLS, and this connection does not use it; set tls=required, for example"
    )]
    UnusedCert(String),
    #[error("`cert` and `key` go together: `{0}` is missing")]
    HalfACertificate(&'static str),
    #[error("connect_timeout is a number of seconds from 1 to {CONNECT_TIMEOUT_MAX_S}")]
    BadTimeout,
    #[error("source is one or more IP addresses of this host, with commas; `{0}` is none")]
    BadSource(String),
    #[error("source gives the address `{0}` twice")]
    SourceTwice(IpAddr),
    #[error("source is for TCP connections, and this server is reached by its socket")]
    SourceOfSocket,
    #[error("more than {SOURCES_MAX} addresses in source")]
    TooManySources,
    #[error("get_server_public_key is `true` or `false`")]
    BadSwitch,
    #[error("get_server_public_key is only for servers of the MySQL family")]
    NoServerKey,
    /// The text is not shown: it may be a password, if the host or a percent sign was forgotten.
    #[error("the port is not a number from 1 to 65535")]
    BadPort,
    #[error(
        "an `@` after the host; in a user, password or path, percent-encode `/`, `?`, `@` and `:` \
         (`@` is %40)"
    )]
    LateAt,
    #[error("no server is given: neither a host nor a socket")]
    NoServer,
    #[error("one of the hosts is empty")]
    EmptyHost,
    #[error("`{0}` is not the name or the address of a host")]
    BadHost(String),
    #[error("more than {HOSTS_MAX} hosts")]
    TooManyHosts,
    #[error("both a socket and the host `{0}` are given; give one of them")]
    SocketAndHost(String),
    #[error("the schema has a `/` in it; write it as %2F")]
    SlashInSchema,
    #[error("the {0} has an invalid percent escape; write a percent sign as %25")]
    BadPercent(&'static str),
    #[error("the {0} has a NUL byte (%00), which no server takes")]
    Nul(&'static str),
}

impl Target {
    /// Reads
    /// `mysql://user[:password]@host[:port][,host[:port]]/schema?socket=/path&tls=MODE&ca=/file`, and  for a client with a certificate `cert=/file&key=/file`, and `source=IP,IP`; `mariadb`, `postgresql` and  `postgres`
    /// are the other schemes. Each part may be percent-encoded.
    ///
    /// Without `tls`, TCP connections are encrypted if the server supports it, and unix sockets are
    /// not.
    pub fn parse(dsn: &str) -> Result<Self, DsnError> {
        let (scheme, rest) = dsn
            .split_once("://")
            .filter(|(scheme, _)| is_scheme(scheme))
            .ok_or_else(|| DsnError::NotADsn { form: form_of_others(dsn) })?;
        let dialect = dialect(scheme)?;
        // Checked before anything that could be the rest of a password.
        if rest.find(['/', '?']).is_some_and(|end| rest[end..].contains('@')) {
            return Err(DsnError::LateAt);
        }
        let (rest, options) = rest.split_once('?').unwrap_or((rest, ""));
        let options = self::options(options)?;
        let (authority, schema) = rest.split_once('/').unwrap_or((rest, ""));
        if schema.contains('/') {
            return Err(DsnError::SlashInSchema);
        }
        // The last `@`: a password may contain others.
        let (user, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        let mut login = login(user, dialect)?;
        login.database = Some(decoded(schema, "schema")?).filter(|schema| !schema.is_empty());
        let endpoints = endpoints(hosts, options.get("socket").map(String::as_str), dialect)?;
        let connect_timeout = connect_timeout(&options)?;
        let sources = sources(&options, &endpoints)?;
        let tls = tls(options, &endpoints)?;
        if tls.takes_server_key && dialect == SqlDialect::Postgres {
            return Err(DsnError::NoServerKey);
        }
        Ok(Self { sources, connect_timeout, ..Self::new(dialect, endpoints, login, tls) })
    }

    /// The target with this password, which replaces the DSN's own.
    #[must_use]
    pub fn with_password(mut self, password: impl Into<String>) -> Self {
        self.login.password = Some(Password::new(password));
        self
    }
}

/// The DSN, without the password.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Usual { scheme, .. } = usual(self.dialect);
        write!(f, "{scheme}://{}@", encoded(&self.login.user))?;
        let mut socket = None;
        let mut hosts = Vec::new();
        for endpoint in &self.endpoints {
            match endpoint {
                Endpoint::Unix(path) if self.endpoints.len() == 1 => {
                    socket = Some(format!("socket={}", encoded_path(path)));
                }
                Endpoint::Unix(path) => hosts.push(encoded(&path.to_string_lossy())),
                Endpoint::Tcp { .. } => hosts.push(endpoint.to_string().replace('%', "%25")),
            }
        }
        write!(
            f,
            "{}/{}",
            hosts.join(","),
            encoded(self.login.database.as_deref().unwrap_or_default())
        )?;
        let usual = usual_mode(&self.endpoints);
        let mode = TLS_MODES.iter().find(|(_, mode)| *mode == self.tls.mode && *mode != usual);
        let tls = mode.map(|(name, _)| format!("tls={name}"));
        let Tls { ca, cert, key, takes_server_key, .. } = &self.tls;
        let files = [("ca", ca), ("cert", cert), ("key", key)];
        let files =
            files.map(|(name, path)| Some(format!("{name}={}", encoded_path(path.as_ref()?))));
        let server_key = takes_server_key.then(|| "get_server_public_key=true".to_owned());
        let timeout =
            self.connect_timeout.map(|timeout| format!("connect_timeout={}", timeout.as_secs()));
        let sources: Vec<_> = self.sources.iter().map(IpAddr::to_string).collect();
        let sources = (!sources.is_empty()).then(|| format!("source={}", sources.join(",")));
        let options = [socket, tls].into_iter().chain(files).chain([server_key, timeout, sources]);
        for (n, option) in options.flatten().enumerate() {
            write!(f, "{}{option}", if n == 0 { '?' } else { '&' })?;
        }
        Ok(())
    }
}

fn in_brackets(form: Option<&str>) -> String {
    form.map(|form| format!(" ({form})")).unwrap_or_default()
}

fn is_scheme(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "+-._".contains(c))
}

fn dialect(scheme: &str) -> Result<SqlDialect, DsnError> {
    let scheme = scheme.to_ascii_lowercase();
    // SQLAlchemy adds the client's library: `mysql+pymysql`.
    let family = scheme.split('+').next();
    let known = SCHEMES.into_iter().find(|(name, _)| Some(*name) == family);
    known.map(|(_, dialect)| dialect).ok_or_else(|| DsnError::UnknownScheme {
        near: near_matches(&scheme, SCHEMES.map(|(name, _)| name)),
        scheme,
    })
}

fn login(text: &str, dialect: SqlDialect) -> Result<Login, DsnError> {
    let (user, password) =
        text.split_once(':').map_or((text, None), |(user, password)| (user, Some(password)));
    let mut user = decoded(user, "user")?;
    if user.is_empty() {
        usual(dialect).user.clone_into(&mut user);
    }
    let password =
        password.map(|password| decoded(password, "password")).transpose()?.map(Password::new);
    Ok(Login { user, password, database: None })
}

struct Usual {
    scheme: &'static str,
    /// The administrator account of a new server.
    user: &'static str,
    port: u16,
}

fn usual(dialect: SqlDialect) -> Usual {
    match dialect {
        SqlDialect::Mysql => Usual { scheme: "mysql", user: "root", port: 3306 },
        SqlDialect::Postgres => Usual { scheme: "postgresql", user: "postgres", port: 5432 },
    }
}

fn endpoints(
    hosts: &str,
    socket: Option<&str>,
    dialect: SqlDialect,
) -> Result<Vec<Endpoint>, DsnError> {
    if let Some(socket) = socket {
        // Clients of both families take localhost for the socket.
        let (host, port) = split_port(hosts, dialect)?;
        return match host {
            "" | "localhost" => Ok(vec![unix(socket, port, dialect)]),
            other => Err(DsnError::SocketAndHost(other.to_owned())),
        };
    }
    if hosts.is_empty() {
        return Err(DsnError::NoServer);
    }
    if hosts.split(',').count() > HOSTS_MAX {
        return Err(DsnError::TooManyHosts);
    }
    hosts.split(',').map(|host| endpoint(host, dialect)).collect()
}

fn endpoint(text: &str, dialect: SqlDialect) -> Result<Endpoint, DsnError> {
    let (host, port) = split_port(text, dialect)?;
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let host = decoded(bare, "host")?;
    match host.chars().next() {
        None => Err(DsnError::EmptyHost),
        Some('/') => Ok(unix(&host, port, dialect)),
        // Other characters come from a part that should have been percent-encoded.
        Some(_) if !host.chars().all(|c| c.is_alphanumeric() || "-._:%".contains(c)) => {
            Err(DsnError::BadHost(host))
        }
        Some(_) => Ok(Endpoint::Tcp { host, port }),
    }
}

/// PostgreSQL configures the folder; the file's name contains the port.
fn unix(path: &str, port: u16, dialect: SqlDialect) -> Endpoint {
    let path = PathBuf::from(path);
    match dialect {
        SqlDialect::Postgres if !is_socket_of_postgres(&path) => {
            Endpoint::Unix(path.join(format!(".s.PGSQL.{port}")))
        }
        SqlDialect::Postgres | SqlDialect::Mysql => Endpoint::Unix(path),
    }
}

pub(crate) fn is_socket_of_postgres(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".s.PGSQL."))
}

/// Host and port of `host`, `host:port`, `[address]` and `[address]:port`.
fn split_port(text: &str, dialect: SqlDialect) -> Result<(&str, u16), DsnError> {
    let after_address = text.rfind(']').map_or(0, |at| at + 1);
    let Some(colon) = text[after_address..].find(':') else {
        return Ok((text, usual(dialect).port));
    };
    let (host, port) = (&text[..after_address + colon], &text[after_address + colon + 1..]);
    match port.parse() {
        Ok(port @ 1..) => Ok((host, port)),
        _ => Err(DsnError::BadPort),
    }
}

/// Values by their option.
type DsnOptions = BTreeMap<&'static str, String>;

fn options(text: &str) -> Result<DsnOptions, DsnError> {
    let mut options = DsnOptions::new();
    for option in text.split('&').filter(|option| !option.is_empty()) {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let value = decoded(value, "value of an option")?;
        let own = OPTIONS.into_iter().find(|known| *known == name);
        let name = own.or_else(|| option_of_others(name, &value)).ok_or_else(|| {
            DsnError::UnknownOption { option: name.to_owned(), near: near_matches(name, OPTIONS) }
        })?;
        if value.is_empty() {
            return Err(DsnError::NoValue(name));
        }
        if options.insert(name, value).is_some() {
            return Err(DsnError::Twice(name));
        }
    }
    Ok(options)
}

fn connect_timeout(options: &DsnOptions) -> Result<Option<Duration>, DsnError> {
    let Some(text) = options.get("connect_timeout") else { return Ok(None) };
    match text.parse() {
        Ok(seconds @ 1..=CONNECT_TIMEOUT_MAX_S) => Ok(Some(Duration::from_secs(seconds))),
        _ => Err(DsnError::BadTimeout),
    }
}

fn sources(options: &DsnOptions, endpoints: &[Endpoint]) -> Result<Vec<IpAddr>, DsnError> {
    let Some(text) = options.get("source") else { return Ok(Vec::new()) };
    if endpoints.iter().any(|endpoint| matches!(endpoint, Endpoint::Unix(_))) {
        return Err(DsnError::SourceOfSocket);
    }
    let mut sources = Vec::new();
    for word in text.split(',') {
        let bare = word.strip_prefix('[').and_then(|word| word.strip_suffix(']')).unwrap_or(word);
        let source = bare.parse().map_err(|_| DsnError::BadSource(word.to_owned()))?;
        if sources.contains(&source) {
            return Err(DsnError::SourceTwice(source));
        }
        sources.push(source);
        if sources.len() > SOURCES_MAX {
            return Err(DsnError::TooManySources);
        }
    }
    Ok(sources)
}

fn tls(mut options: DsnOptions, endpoints: &[Endpoint]) -> Result<Tls, DsnError> {
    let mode = match options.get("tls") {
        // A user who names an authority wants the certificate to be verified.
        None if options.contains_key("ca") => TlsMode::VerifyCa,
        None => usual_mode(endpoints),
        Some(name) => tls_mode(name)?,
    };
    let takes_server_key = match options.get("get_server_public_key").map(String::as_str) {
        None | Some("false" | "0") => false,
        Some("true" | "1") => true,
        Some(_) => return Err(DsnError::BadSwitch),
    };
    let [ca, cert, key] = ["ca", "cert", "key"].map(|name| options.remove(name));
    match (ca, cert, key) {
        (Some(ca), ..) if !matches!(mode, TlsMode::VerifyCa | TlsMode::VerifyIdentity) => {
            Err(DsnError::UnusedCa(ca))
        }
        (_, Some(_), None) => Err(DsnError::HalfACertificate("key")),
        (_, None, Some(_)) => Err(DsnError::HalfACertificate("cert")),
        (_, Some(cert), _) if mode == TlsMode::Off => Err(DsnError::UnusedCert(cert)),
        (ca, cert, key) => {
            let [ca, cert, key] = [ca, cert, key].map(|file| file.map(PathBuf::from));
            Ok(Tls { mode, ca, cert, key, takes_server_key })
        }
    }
}

fn tls_mode(name: &str) -> Result<TlsMode, DsnError> {
    let text = name.to_ascii_lowercase().replace('_', "-");
    let known = TLS_MODES.into_iter().find(|(known, _)| *known == text).map(|(_, mode)| mode);
    known.or_else(|| tls_mode_of_others(&text)).ok_or_else(|| DsnError::UnknownTlsMode {
        mode: name.to_owned(),
        near: near_matches(name, TLS_MODES.map(|(known, _)| known)),
    })
}

fn usual_mode(endpoints: &[Endpoint]) -> TlsMode {
    let is_local = endpoints.iter().all(|endpoint| matches!(endpoint, Endpoint::Unix(_)));
    if is_local { TlsMode::Off } else { TlsMode::Preferred }
}

pub(crate) fn decoded(text: &str, part: &'static str) -> Result<String, DsnError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = rest.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let byte = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = byte.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.ok_or(DsnError::BadPercent(part))?);
        rest = &rest[2..];
    }
    if bytes.contains(&0) {
        return Err(DsnError::Nul(part));
    }
    String::from_utf8(bytes).map_err(|_| DsnError::BadPercent(part))
}

fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

fn encoded_path(path: &Path) -> String {
    encoded(&path.to_string_lossy()).replace("%2F", "/")
}

#[cfg(test)]
#[path = "dsn_tests.rs"]
mod tests;
