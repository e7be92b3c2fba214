//! A target as libpq finds it: parameters that a program passes, a connection string in place of a
//! database's name, variables of the environment, and password files.
//!
//! A parameter that is known to libpq and not to truetps is refused by name where it would change
//! the connection.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;
use truetps_files::open_regular;
use truetps_record::SqlDialect;

use crate::dsn::decoded;
use crate::{Endpoint, Login, Password, Target, Tls, TlsMode, user};

/// The values that a program passes to libpq; an empty one counts as not given.
#[derive(Debug, Clone, Copy, Default)]
pub struct LibpqGiven<'a> {
    pub host: &'a str,
    pub port: &'a str,
    pub user: &'a str,
    pub password: &'a str,
    pub sslmode: &'a str,
    /// A name, or a connection string: `name=value …` or `postgresql://…`.
    pub database: &'a str,
}

/// Reads a variable of the environment.
type LibpqEnvironment<'a> = &'a dyn Fn(&str) -> Option<OsString>;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LibpqError {
    #[error("invalid connection option \"{0}\"")]
    Unknown(String),
    #[error("{what} is not supported by truetps{}", right_values(.right))]
    Unsupported { what: String, right: &'static [&'static str] },
    #[error("invalid {name} value: \"{value}\"")]
    Invalid { name: &'static str, value: String },
    #[error("the connection string cannot be read: {0}")]
    Malformed(&'static str),
}

fn right_values(right: &[&str]) -> String {
    if right.is_empty() {
        String::new()
    } else {
        format!(", except with the value {}", right.join(" or "))
    }
}

enum ParameterUse {
    /// It is a part of the target.
    Target,
    /// The session begins with the setting of this name.
    Setting(&'static str),
    /// Only these values, in any letter case, are what truetps does.
    Only(&'static [&'static str]),
}

/// Each parameter with its variable, if it has one; without a name those that only have a variable.
const PARAMETERS: [(&str, &str, ParameterUse); 45] = [
    ("host", "PGHOST", ParameterUse::Target),
    ("port", "PGPORT", ParameterUse::Target),
    ("dbname", "PGDATABASE", ParameterUse::Target),
    ("user", "PGUSER", ParameterUse::Target),
    ("password", "PGPASSWORD", ParameterUse::Target),
    ("passfile", "PGPASSFILE", ParameterUse::Target),
    ("connect_timeout", "PGCONNECT_TIMEOUT", ParameterUse::Target),
    ("sslmode", "PGSSLMODE", ParameterUse::Target),
    ("sslrootcert", "PGSSLROOTCERT", ParameterUse::Target),
    ("sslcert", "PGSSLCERT", ParameterUse::Target),
    ("sslkey", "PGSSLKEY", ParameterUse::Target),
    ("options", "PGOPTIONS", ParameterUse::Setting("options")),
    ("application_name", "PGAPPNAME", ParameterUse::Setting("application_name")),
    ("fallback_application_name", "", ParameterUse::Target),
    ("", "PGDATESTYLE", ParameterUse::Setting("datestyle")),
    ("", "PGTZ", ParameterUse::Setting("timezone")),
    ("", "PGGEQO", ParameterUse::Setting("geqo")),
    ("client_encoding", "PGCLIENTENCODING", ParameterUse::Only(&["UTF8", "UTF-8", "unicode"])),
    ("hostaddr", "PGHOSTADDR", ParameterUse::Only(&[])),
    ("service", "PGSERVICE", ParameterUse::Only(&[])),
    ("target_session_attrs", "PGTARGETSESSIONATTRS", ParameterUse::Only(&["any"])),
    ("load_balance_hosts", "PGLOADBALANCEHOSTS", ParameterUse::Only(&["disable"])),
    ("channel_binding", "PGCHANNELBINDING", ParameterUse::Only(&["disable", "prefer"])),
    ("gssencmode", "PGGSSENCMODE", ParameterUse::Only(&["disable", "prefer"])),
    ("gssdelegation", "PGGSSDELEGATION", ParameterUse::Only(&["0"])),
    ("gsslib", "PGGSSLIB", ParameterUse::Only(&["gssapi"])),
    ("krbsrvname", "PGKRBSRVNAME", ParameterUse::Only(&["postgres"])),
    ("replication", "", ParameterUse::Only(&["false", "off", "no", "0"])),
    ("require_auth", "PGREQUIREAUTH", ParameterUse::Only(&[])),
    ("requirepeer", "PGREQUIREPEER", ParameterUse::Only(&[])),
    ("requiressl", "PGREQUIRESSL", ParameterUse::Only(&["0"])),
    ("sslcertmode", "PGSSLCERTMODE", ParameterUse::Only(&["allow"])),
    ("sslcompression", "PGSSLCOMPRESSION", ParameterUse::Only(&["0"])),
    ("sslcrl", "PGSSLCRL", ParameterUse::Only(&[])),
    ("sslcrldir", "PGSSLCRLDIR", ParameterUse::Only(&[])),
    ("sslnegotiation", "PGSSLNEGOTIATION", ParameterUse::Only(&["postgres"])),
    ("sslpassword", "", ParameterUse::Only(&[])),
    ("sslsni", "PGSSLSNI", ParameterUse::Only(&["1"])),
    (
        "ssl_min_protocol_version",
        "PGSSLMINPROTOCOLVERSION",
        ParameterUse::Only(&["TLSv1", "TLSv1.1", "TLSv1.2"]),
    ),
    ("ssl_max_protocol_version", "PGSSLMAXPROTOCOLVERSION", ParameterUse::Only(&["TLSv1.3"])),
    ("keepalives", "", ParameterUse::Only(&["0"])),
    ("keepalives_idle", "", ParameterUse::Only(&["0"])),
    ("keepalives_interval", "", ParameterUse::Only(&["0"])),
    ("keepalives_count", "", ParameterUse::Only(&["0"])),
    ("tcp_user_timeout", "", ParameterUse::Only(&["0"])),
];

/// The variables of the environment that [`Target::of_libpq`] reads, besides `HOME` and what
/// [`user::current`] reads.
pub fn libpq_variables() -> impl Iterator<Item = &'static str> {
    PARAMETERS.iter().map(|(_, variable, _)| *variable).filter(|variable| !variable.is_empty())
}

/// Where Debian's libpq, and then PostgreSQL's own, look for the socket of a server without a host.
const SOCKET_FOLDERS: [&str; 2] = ["/var/run/postgresql", "/tmp"];

impl Target {
    /// The PostgreSQL server and the login that libpq would find.
    pub fn of_libpq(
        given: &LibpqGiven<'_>,
        environment: LibpqEnvironment<'_>,
    ) -> Result<LibpqTarget, LibpqError> {
        let found = LibpqParameters::read(given, environment)?;
        let home = environment("HOME").map(PathBuf::from);
        let (tls, connect_timeout) =
            (found.tls(home.as_deref())?, timeout(found.values.get("connect_timeout"))?);
        let (host, port) = (found.text("host"), found.text("port"));
        let port = if port.is_empty() { 5432 } else { found.number("port")? };
        if host.contains(',') {
            return Err(LibpqError::Unsupported { what: "a list of hosts".to_owned(), right: &[] });
        }
        let usual = SOCKET_FOLDERS
            .into_iter()
            .find(|path| Path::new(path).is_dir())
            .unwrap_or(SOCKET_FOLDERS[0]);
        let host = if host.is_empty() { usual } else { host };
        let endpoint = if host.starts_with('/') {
            Endpoint::Unix(PathBuf::from(format!("{host}/.s.PGSQL.{port}")))
        } else {
            Endpoint::Tcp { host: host.to_owned(), port }
        };
        let user = found.named("user").map_or_else(
            || user::current(&|name| environment(name)?.into_string().ok()),
            str::to_owned,
        );
        let database = found.named("dbname").map(str::to_owned);
        let mut warnings = Vec::new();
        let mut password = found.text("password").to_owned();
        if password.is_empty() {
            let of_file =
                PasswordFile::open(found.text("passfile"), home.as_deref(), &mut warnings);
            let host = if host == usual && host.starts_with('/') { "localhost" } else { host };
            let wanted = [host, &port.to_string(), database.as_deref().unwrap_or(&user), &user];
            password = of_file.and_then(|file| file.password(wanted)).unwrap_or_default();
        }
        let password = (!password.is_empty()).then(|| Password::new(password));
        let target = Self {
            dialect: SqlDialect::Postgres,
            endpoints: vec![endpoint],
            login: Login { user, password, database },
            tls,
            startup_settings: found.settings,
            ..Self::mysql_unix("", "", None)
        };
        Ok(LibpqTarget { target, connect_timeout, warnings })
    }
}

/// Seconds as libpq reads them: none is no limit, and one is too short.
fn timeout(text: Option<&String>) -> Result<Option<Duration>, LibpqError> {
    let Some(text) = text else { return Ok(None) };
    let seconds: i64 = text
        .trim()
        .parse()
        .map_err(|_| LibpqError::Invalid { name: "connect_timeout", value: text.clone() })?;
    Ok(Some(u64::try_from(seconds).map_or(Duration::MAX, |seconds| match seconds {
        0 => Duration::MAX,
        seconds => Duration::from_secs(seconds.max(2)),
    })))
}

/// What libpq would find.
#[derive(Debug)]
pub struct LibpqTarget {
    pub target: Target,
    /// For connecting and logging in. `None`: it is not limited.
    pub connect_timeout: Option<Duration>,
    /// For the user.
    pub warnings: Vec<String>,
}

/// The value of each parameter, from the first source that has one.
struct LibpqParameters {
    values: BTreeMap<&'static str, String>,
    settings: Vec<(String, String)>,
}

impl LibpqParameters {
    fn read(given: &LibpqGiven<'_>, environment: LibpqEnvironment<'_>) -> Result<Self, LibpqError> {
        let passed = [
            ("host", given.host),
            ("port", given.port),
            ("user", given.user),
            ("password", given.password),
            ("sslmode", given.sslmode),
        ];
        let mut typed = connection_string(given.database)?;
        let unknown = typed
            .keys()
            .find(|name| name.is_empty() || PARAMETERS.iter().all(|(known, ..)| known != name));
        if let Some(name) = unknown {
            return Err(LibpqError::Unknown(name.clone()));
        }
        typed.retain(|_, value| !value.is_empty());
        let (mut values, mut settings) = (BTreeMap::new(), Vec::new());
        for (name, variable, usage) in &PARAMETERS {
            let passed = passed.iter().find(|(of, value)| of == name && !value.is_empty());
            let typed = typed
                .get(*name)
                .map(|value| (format!("`{name}` in the connection string"), value.clone()));
            let first = passed.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let Some((source, value)) =
                first.or(typed).or_else(|| set_value(variable, environment))
            else {
                continue;
            };
            match *usage {
                ParameterUse::Target => {
                    values.insert(*name, value);
                }
                ParameterUse::Setting(name) => settings.push((name.to_owned(), value)),
                ParameterUse::Only(right)
                    if right.iter().any(|right| right.eq_ignore_ascii_case(&value)) => {}
                ParameterUse::Only(right) => {
                    return Err(LibpqError::Unsupported { what: source, right });
                }
            }
        }
        if let Some(name) = values.get("fallback_application_name")
            && !settings.iter().any(|(name, _)| name == "application_name")
        {
            settings.push(("application_name".to_owned(), name.clone()));
        }
        Ok(Self { values, settings })
    }

    fn text(&self, name: &str) -> &str {
        self.values.get(name).map_or("", String::as_str)
    }

    fn named(&self, name: &str) -> Option<&str> {
        Some(self.text(name)).filter(|text| !text.is_empty())
    }

    fn number(&self, name: &'static str) -> Result<u16, LibpqError> {
        let text = self.text(name);
        let number = text.trim().parse().ok().filter(|number| *number > 0);
        number.ok_or_else(|| LibpqError::Invalid { name, value: text.to_owned() })
    }

    /// The usual files in `~/.postgresql` count where they exist.
    fn tls(&self, home: Option<&Path>) -> Result<Tls, LibpqError> {
        let mut mode = match self.text("sslmode") {
            "disable" => TlsMode::Off,
            "" | "allow" | "prefer" => TlsMode::Preferred,
            "require" => TlsMode::Required,
            "verify-ca" => TlsMode::VerifyCa,
            "verify-full" => TlsMode::VerifyIdentity,
            other => return Err(LibpqError::Invalid { name: "sslmode", value: other.to_owned() }),
        };
        let ca = match self.text("sslrootcert") {
            "system" => None,
            _ => self.file("sslrootcert", home, "root.crt").filter(|_| mode.is_required()),
        };
        if mode == TlsMode::Required && ca.is_some() {
            mode = TlsMode::VerifyCa;
        }
        let cert = self.file("sslcert", home, "postgresql.crt");
        let key = self.file("sslkey", home, "postgresql.key").filter(|_| cert.is_some());
        let cert = cert.filter(|_| key.is_some());
        Ok(Tls { mode, ca, cert, key, takes_server_key: false })
    }

    /// The named file, or the usual one if it exists.
    fn file(&self, name: &str, home: Option<&Path>, usual: &str) -> Option<PathBuf> {
        self.values
            .get(name)
            .map(PathBuf::from)
            .or_else(|| Some(home?.join(".postgresql").join(usual)).filter(|path| path.exists()))
    }
}

/// The name of a variable and its value, if it is set.
fn set_value(variable: &str, environment: LibpqEnvironment<'_>) -> Option<(String, String)> {
    let value = (!variable.is_empty()).then(|| environment(variable)).flatten()?;
    let value = value.to_string_lossy().into_owned();
    (!value.is_empty()).then(|| (variable.to_owned(), value))
}

/// The parameters in a text; a text that is not a connection string is the name of a database.
fn connection_string(text: &str) -> Result<BTreeMap<String, String>, LibpqError> {
    if let Some(rest) =
        ["postgresql://", "postgres://"].iter().find_map(|scheme| text.strip_prefix(scheme))
    {
        return uri(rest);
    }
    if text.contains('=') {
        keywords(text)
    } else {
        Ok(BTreeMap::from([("dbname".to_owned(), text.to_owned())]))
    }
}

/// `name=value name='a value'`, with a backslash before a quote, a backslash or a blank that
/// belongs to the value.
fn keywords(text: &str) -> Result<BTreeMap<String, String>, LibpqError> {
    let (mut found, mut rest) = (BTreeMap::new(), text.trim_start());
    while !rest.is_empty() {
        let (name, after) =
            rest.split_once('=').ok_or(LibpqError::Malformed("a name without a value"))?;
        let (mut value, after) = (String::new(), after.trim_start());
        let quoted = after.strip_prefix('\'');
        let mut chars = quoted.unwrap_or(after).chars();
        loop {
            match chars.next() {
                None if quoted.is_some() => {
                    return Err(LibpqError::Malformed("a quote is not closed"));
                }
                Some('\'') if quoted.is_some() => break,
                Some(c) if quoted.is_none() && c.is_ascii_whitespace() => break,
                None => break,
                Some('\\') => value.extend(chars.next()),
                Some(c) => value.push(c),
            }
        }
        found.insert(name.trim().to_owned(), value);
        rest = chars.as_str().trim_start();
    }
    Ok(found)
}

/// What follows the scheme: `user:password@host:port/dbname?name=value&…`.
fn uri(text: &str) -> Result<BTreeMap<String, String>, LibpqError> {
    let (address, parameters) = text.split_once('?').unwrap_or((text, ""));
    let (authority, database) = address.split_once('/').unwrap_or((address, ""));
    let (login, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    if host.contains(',') {
        return Err(LibpqError::Malformed("truetps supports one host"));
    }
    let (host, port) = match host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        Some((host, port)) => (host, port.strip_prefix(':').unwrap_or_default()),
        None => host.split_once(':').unwrap_or((host, "")),
    };
    let parts = [
        ("host", host),
        ("port", port),
        ("user", user),
        ("password", password),
        ("dbname", database),
    ];
    let parameters = parameters.split('&').filter(|one| !one.is_empty());
    let named = parameters
        .map(|one| one.split_once('=').ok_or(LibpqError::Malformed("a name without a value")));
    let mut found = BTreeMap::new();
    for part in parts.into_iter().map(Ok).chain(named) {
        let (name, value) = part?;
        let (name, value) = match (decoded_part(name)?, decoded_part(value)?) {
            (name, value) if name == "ssl" && value == "true" => {
                ("sslmode".to_owned(), "require".to_owned())
            }
            pair => pair,
        };
        if !value.is_empty() {
            found.insert(name, value);
        }
    }
    Ok(found)
}

fn decoded_part(text: &str) -> Result<String, LibpqError> {
    decoded(text, "")
        .map_err(|_| LibpqError::Malformed("a % without two hexadecimal digits behind it"))
}

/// Lines of `host:port:database:user:password`, with `*` for anything.
struct PasswordFile(String);

impl PasswordFile {
    /// As libpq does, a file is not read that others may read.
    fn open(named: &str, home: Option<&Path>, warnings: &mut Vec<String>) -> Option<Self> {
        const BYTES_MAX: u64 = 1 << 20;
        let path = if named.is_empty() { home?.join(".pgpass") } else { PathBuf::from(named) };
        let file = open_regular(&path).ok()?;
        let mode = file.metadata().ok()?.permissions().mode();
        if mode & 0o077 != 0 {
            warnings.push(format!(
                "password file \"{}\" has group or world access; permissions should be u=rw (0600) \
                 or less",
                path.display()
            ));
            return None;
        }
        let mut text = String::new();
        match file.take(BYTES_MAX).read_to_string(&mut text) {
            Ok(_) => Some(Self(text)),
            Err(error) => {
                warnings.push(format!("password file \"{}\" is not used: {error}", path.display()));
                None
            }
        }
    }

    /// The password of the first line that fits host, port, database and user.
    fn password(&self, wanted: [&str; 4]) -> Option<String> {
        self.0.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
            let mut fields = fields(line).into_iter();
            let fits =
                wanted.iter().all(|wanted| fields.next().is_some_and(|field| field.fits(wanted)));
            fields.next().filter(|_| fits).map(|field| field.text)
        })
    }
}

struct Field {
    text: String,
    is_any: bool,
}

impl Field {
    fn fits(&self, wanted: &str) -> bool {
        self.is_any || self.text == wanted
    }
}

/// The fields of a line, of which the last one has everything that is left.
fn fields(line: &str) -> Vec<Field> {
    let (mut fields, mut text, mut raw) = (Vec::new(), String::new(), 0);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        raw += 1;
        match c {
            ':' if fields.len() < 4 => {
                fields.push(Field {
                    is_any: raw == 2 && text == "*",
                    text: std::mem::take(&mut text),
                });
                raw = 0;
            }
            '\\' => {
                raw += 1;
                text.extend(chars.next());
            }
            c => text.push(c),
        }
    }
    fields.push(Field { is_any: false, text });
    fields
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn of(database: &str, variables: &[(&str, &str)]) -> Result<LibpqTarget, LibpqError> {
        let given = LibpqGiven { host: "h", user: "u", database, ..LibpqGiven::default() };
        let value = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
        };
        Target::of_libpq(&given, &value)
    }

    /// Expectations are of PostgreSQL's manual; what libpq itself does is seen beside it in the
    /// tests of the program.
    #[test]
    fn certificates_count_where_they_are_named_or_exist() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(".postgresql");
        fs::create_dir(&folder).unwrap();
        let at = home.path().to_str().unwrap();
        let tls = |variables: &[(&str, &str)]| {
            of("d", &[variables, &[("HOME", at)]].concat()).unwrap().target.tls
        };
        assert_eq!(tls(&[]), Tls { mode: TlsMode::Preferred, ..Tls::default() });
        assert_eq!(
            tls(&[("PGSSLMODE", "verify-full")]),
            Tls { mode: TlsMode::VerifyIdentity, ..Tls::default() }
        );
        fs::write(folder.join("root.crt"), "").unwrap();
        fs::write(folder.join("postgresql.crt"), "").unwrap();
        let required = tls(&[("PGSSLMODE", "require")]);
        assert_eq!(
            (required.mode, required.ca, required.cert),
            (TlsMode::VerifyCa, Some(folder.join("root.crt")), None)
        );
        fs::write(folder.join("postgresql.key"), "").unwrap();
        let named =
            tls(&[("PGSSLMODE", "verify-ca"), ("PGSSLROOTCERT", "/ca"), ("PGSSLCERT", "/cert")]);
        let paths = [named.ca, named.cert, named.key].map(Option::unwrap);
        assert_eq!(paths, ["/ca".into(), "/cert".into(), folder.join("postgresql.key")]);
        let system = tls(&[("PGSSLMODE", "verify-full"), ("PGSSLROOTCERT", "system")]);
        assert_eq!((system.mode, system.ca), (TlsMode::VerifyIdentity, None));
    }

    #[test]
    fn a_password_is_of_the_first_line_that_fits() {
        let file = PasswordFile(
            "#a:1:d:u:x\na:1:d:u\nb:*:*:u:b\\:\\\\c:d\n*:2:d:\\*:star\n*:*:*:*:any\n".to_owned(),
        );
        let password = |wanted| file.password(wanted).unwrap();
        assert_eq!(password(["b", "1", "d", "u"]), "b:\\c:d");
        assert_eq!(password(["a", "2", "d", "u"]), "any");
        assert_eq!(password(["a", "2", "d", "*"]), "star");
        assert_eq!(PasswordFile("a:1:d:u:p".to_owned()).password(["a", "1", "d", "v"]), None);
    }

    #[test]
    fn a_connection_string_that_cannot_be_read_is_refused() {
        for text in [
            "a b",
            "host",
            "x='",
            "=",
            "postgres://h:1/d?x",
            "postgres://%zz/d",
            "postgres://a,b/d",
        ] {
            let is_name = !text.contains('=') && !text.contains("://");
            assert_eq!(of(text, &[]).is_ok(), is_name, "{text}");
        }
        let timeout =
            |text| of("d", &[("PGCONNECT_TIMEOUT", text)]).map(|found| found.connect_timeout);
        assert_eq!(timeout("1"), Ok(Some(Duration::from_secs(2))));
        assert_eq!(
            (timeout("0"), timeout("-1")),
            (Ok(Some(Duration::MAX)), Ok(Some(Duration::MAX)))
        );
        assert!(timeout("x").is_err());
        let secret = of("sslpassword=hidden", &[]).unwrap_err().to_string();
        assert!(secret.contains("sslpassword") && !secret.contains("hidden"), "{secret}");
    }
}
