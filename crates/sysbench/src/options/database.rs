//! `--db-*`, `--mysql-*` and `--pgsql-*`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use truetps_driver::{Login, Password, TlsMode};

use super::lookup::Lookup;
use super::{OptionRefusal, SysbenchRelease, key, number, value};

/// Whether `--db-ps-mode` lets the client write values into the text of statements: the server
/// prepares none.
pub(super) fn emulates_prepared(lookup: &Lookup<'_>) -> Result<bool, OptionRefusal> {
    match lookup.bytes("db-ps-mode") {
        b"auto" => Ok(false),
        b"disable" => Ok(true),
        other => Err(OptionRefusal::fatal([b"Invalid value for db-ps-mode: ", other].concat())),
    }
}

/// A TLS mode in MySQL's words. None for a text that is not a mode; letters of either case.
pub(super) fn mysql_tls_mode(text: &[u8]) -> Option<TlsMode> {
    TlsMode::of_mysql_word(std::str::from_utf8(&key(text)).ok()?)
}

/// Errors after which an event is restarted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum IgnoredErrors {
    All,
    /// The error numbers of MySQL.
    Numbers(Vec<u16>),
    /// The SQLSTATEs of PostgreSQL: five characters each, in capitals.
    States(Vec<String>),
}

/// Files of TLS.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SslFiles {
    pub(crate) key: Option<PathBuf>,
    pub(crate) cert: Option<PathBuf>,
    pub(crate) ca: Option<PathBuf>,
    /// Whether the files are the ones that 1.0 takes from its working directory with
    /// `--mysql-ssl=on`: they are used if they exist.
    pub(crate) are_assumed: bool,
}

impl SslFiles {
    /// One of them, if it is used.
    pub(crate) fn usable(&self, path: Option<&PathBuf>) -> Option<PathBuf> {
        path.cloned().filter(|path| !self.are_assumed || path.exists())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MysqlSettings {
    /// At least one. Connections use hosts in turn, with all ports of a host first.
    pub(crate) hosts: Vec<String>,
    /// At least one.
    pub(crate) ports: Vec<u16>,
    /// If given, hosts and ports are not used.
    pub(crate) sockets: Vec<PathBuf>,
    pub(crate) login: Login,
    pub(crate) ssl: TlsMode,
    pub(crate) ssl_files: SslFiles,
    pub(crate) compression: bool,
    pub(crate) ignore_errors: IgnoredErrors,
    pub(crate) dry_run: bool,
}

impl MysqlSettings {
    pub(super) fn read(
        lookup: &Lookup<'_>,
        compat: SysbenchRelease,
    ) -> Result<Self, OptionRefusal> {
        let hosts: Vec<_> = lookup.list("mysql-host").iter().map(|host| text(host)).collect();
        if hosts.is_empty() {
            return Err(OptionRefusal::fatal("No MySQL hosts specified, aborting"));
        }
        let mut ports = lookup
            .list("mysql-port")
            .iter()
            .map(|text| port("mysql_port", text))
            .collect::<Result<Vec<_>, _>>()?;
        if ports.is_empty() {
            ports.push(3306);
        }
        let (ssl, is_switched_on) = mysql_ssl(lookup)?;
        let login = login(lookup, ["mysql-user", "mysql-password", "mysql-db"]);
        Ok(Self {
            hosts,
            ports,
            sockets: lookup.list("mysql-socket").iter().map(|path| path_of(path)).collect(),
            login: Login { database: login.database.filter(|name| !name.is_empty()), ..login },
            ssl,
            ssl_files: ssl_files(lookup, is_switched_on && compat == SysbenchRelease::V1_0),
            compression: lookup.switch("mysql-compression"),
            ignore_errors: ignored(
                &lookup.list("mysql-ignore-errors"),
                |text| std::str::from_utf8(text).ok()?.trim().parse().ok(),
                IgnoredErrors::Numbers,
            ),
            dry_run: lookup.switch("mysql-dry-run"),
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PgsqlSettings {
    /// A name, an address, or the folder of a socket. Like every text here: if it is empty, libpq
    /// looks elsewhere.
    pub(crate) host: String,
    pub(crate) port: String,
    pub(crate) user: String,
    pub(crate) password: String,
    /// The name of a database, or a connection string.
    pub(crate) database: String,
    /// Empty if it was not given.
    pub(crate) sslmode: String,
    pub(crate) ignore_errors: IgnoredErrors,
}

impl PgsqlSettings {
    pub(super) fn read(lookup: &Lookup<'_>) -> Result<Self, OptionRefusal> {
        let sslmode = lookup.bytes("pgsql-sslmode");
        if ![&b""[..], b"disable", b"allow", b"prefer", b"require", b"verify-ca", b"verify-full"]
            .contains(&sslmode)
        {
            let right = "disable, allow, prefer, require, verify-ca or verify-full";
            return Err(OptionRefusal::invalid_choice(b"pgsql_sslmode", sslmode, right));
        }
        let port = lookup.bytes("pgsql-port");
        if !port.is_empty() {
            self::port("pgsql_port", port)?;
        }
        Ok(Self {
            host: text(lookup.bytes("pgsql-host")),
            port: text(port.trim_ascii()),
            user: text(lookup.bytes("pgsql-user")),
            password: text(lookup.bytes("pgsql-password")),
            database: text(lookup.bytes("pgsql-db")),
            sslmode: if lookup.is_given("pgsql-sslmode") { text(sslmode) } else { String::new() },
            ignore_errors: ignored(
                &lookup.list("pgsql-ignore-errors"),
                sqlstate,
                IgnoredErrors::States,
            ),
        })
    }
}

/// The mode, and whether it was switched on without a mode.
fn mysql_ssl(lookup: &Lookup<'_>) -> Result<(TlsMode, bool), OptionRefusal> {
    let Some(text) = lookup.text("mysql-ssl") else { return Ok((TlsMode::Required, true)) };
    match value::switch(text) {
        Some(true) => return Ok((TlsMode::Required, true)),
        Some(false) => return Ok((TlsMode::Off, false)),
        None => {}
    }
    let right = "disabled, preferred, required, verify_ca or verify_identity";
    let mode = mysql_tls_mode(text)
        .ok_or_else(|| OptionRefusal::invalid_choice(b"mysql_ssl", text, right))?;
    Ok((mode, false))
}

fn ssl_files(lookup: &Lookup<'_>, may_assume: bool) -> SslFiles {
    let [key, cert, ca] = ["mysql-ssl-key", "mysql-ssl-cert", "mysql-ssl-ca"]
        .map(|name| Some(lookup.bytes(name)).filter(|path| !path.is_empty()).map(path_of));
    if may_assume && key.is_none() && cert.is_none() && ca.is_none() {
        let [key, cert, ca] = ["client-key.pem", "client-cert.pem", "cacert.pem"]
            .map(|name| Some(PathBuf::from(name)));
        return SslFiles { key, cert, ca, are_assumed: true };
    }
    SslFiles { key, cert, ca, are_assumed: false }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The values of these options for user, password and database.
fn login(lookup: &Lookup<'_>, options: [&str; 3]) -> Login {
    let [user, password, database] = options.map(|name| text(lookup.bytes(name)));
    Login {
        user,
        password: (!password.is_empty()).then(|| Password::new(password)),
        database: Some(database),
    }
}

fn port(key: &str, text: &[u8]) -> Result<u16, OptionRefusal> {
    let number = number::int(text).and_then(|number| u16::try_from(number).ok());
    number.ok_or_else(|| OptionRefusal::invalid_value(key.as_bytes(), text))
}

fn sqlstate(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text.trim_ascii()).to_ascii_uppercase();
    (text.len() == 5).then_some(text)
}

/// Texts that are not errors are left out: `none` is a list without any.
fn ignored<T>(
    texts: &[Vec<u8>],
    one: impl Fn(&[u8]) -> Option<T>,
    these: impl Fn(Vec<T>) -> IgnoredErrors,
) -> IgnoredErrors {
    let is_all = texts.iter().any(|text| text == b"all");
    if is_all {
        IgnoredErrors::All
    } else {
        these(texts.iter().filter_map(|text| one(text)).collect())
    }
}

fn path_of(path: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(path))
}
