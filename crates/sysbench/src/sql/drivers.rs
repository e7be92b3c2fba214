//! The drivers of a run: prepared only when a script requests them.

use std::ffi::{CStr, OsString};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use truetps_driver::{Connector, DriverError, Endpoint, Login, Password, Target, Tls};
use truetps_record::SqlDialect;

use super::driver::{Driver, local_socket};
use crate::options::{self, MysqlSettings, OptionGroup, PgsqlSettings, SysbenchOptions};

/// A driver and its connector, which resolves host names and is made with the first connection.
pub(crate) struct ReadyDriver {
    pub(crate) driver: Driver,
    connector: OnceLock<Connector>,
}

impl ReadyDriver {
    pub(crate) fn connector(&self) -> Result<&Connector, DriverError> {
        if let Some(connector) = self.connector.get() {
            return Ok(connector);
        }
        let made = Connector::ad_hoc(self.driver.target.clone())?;
        Ok(self.connector.get_or_init(|| made))
    }
}

/// For `--db-driver=`, without a value.
const NO_NAME: &str = "Multiple DB drivers are available. Use --db-driver=name to specify which one to use";

pub(crate) struct Drivers {
    options: SysbenchOptions,
    /// For a DSN without a password.
    dsn_password: Option<Password>,
    ready: [OnceLock<Result<ReadyDriver, String>>; 2],
    is_used: AtomicBool,
    connections: AtomicU32,
}

impl Drivers {
    pub(crate) const COUNT: usize = 2;
    /// In the order of their handles.
    pub(crate) const NAMES: [&CStr; Self::COUNT] = [c"mysql", c"pgsql"];

    pub(crate) fn new(options: SysbenchOptions, dsn_password: Option<OsString>) -> Self {
        let dsn_password = dsn_password.filter(|password| !password.is_empty());
        Self {
            options,
            dsn_password: dsn_password.map(|password| Password::new(password.to_string_lossy().into_owned())),
            ready: [OnceLock::new(), OnceLock::new()],
            is_used: AtomicBool::new(false),
            connections: AtomicU32::new(0),
        }
    }

    /// Whether a script has requested a driver: its reports then show statements.
    pub(crate) fn are_used(&self) -> bool {
        self.is_used.load(Ordering::Relaxed)
    }

    /// Whether values are written into the text of statements that scripts prepare. `--db-ps-mode` is checked when the
    /// first driver is requested.
    pub(crate) fn emulates_prepared(&self) -> bool {
        self.options.emulates_prepared().unwrap_or(false)
    }

    /// A number for the next connection, which selects one of several servers.
    pub(crate) fn next_connection(&self) -> u32 {
        self.connections.fetch_add(1, Ordering::Relaxed)
    }

    /// The number of the driver of this name; without a name, of the driver on the command line.
    ///
    /// # Errors
    ///
    /// The message why there is none.
    pub(crate) fn find(&self, name: Option<&str>) -> Result<usize, String> {
        let number = self.number_of(name)?;
        self.get(number).map_err(String::clone)?;
        self.is_used.store(true, Ordering::Relaxed);
        Ok(number)
    }

    fn number_of(&self, name: Option<&str>) -> Result<usize, String> {
        self.options.emulates_prepared().map_err(|refusal| plain(&refusal))?;
        let given = self.options.bytes("db-driver").map(String::from_utf8_lossy).unwrap_or_default().into_owned();
        let of_dsn = self.driver_of_dsn().filter(|_| given.is_empty() || !self.options.is_given("db-driver"));
        let given = of_dsn.or(Some(given.as_str()).filter(|given| !given.is_empty()));
        let name = name.or(given).ok_or(NO_NAME)?;
        let number = Self::NAMES.iter().position(|known| known.to_bytes() == name.as_bytes());
        number.ok_or_else(|| format!("invalid database driver name: '{name}'"))
    }

    /// Where clients will connect, as far as is known before the first connection: with the driver that the script has
    /// requested, or else with the one of the user's options.
    pub(crate) fn expected_target(&self) -> Option<Target> {
        let mut requested = (0..Self::COUNT).filter(|number| self.ready[*number].get().is_some());
        let number = match (requested.next(), requested.next()) {
            (Some(number), None) => number,
            (None, _) => self.expected_number()?,
            _ => return None,
        };
        let driver = &self.get(number).ok()?.driver;
        (!driver.is_dry_run).then(|| driver.bare_target())
    }

    /// The driver that the user's options are for. A script that names its driver needs no `--db-driver` beside them.
    fn expected_number(&self) -> Option<usize> {
        let [general, mysql, pgsql] =
            [OptionGroup::Database, OptionGroup::Mysql, OptionGroup::Pgsql].map(|group| self.options.has_given(group));
        let is_named = self.options.is_given("dsn") || self.options.is_given("db-driver");
        let name = Some("pgsql").filter(|_| pgsql && !mysql && !is_named);
        if is_named || general || mysql || pgsql { self.number_of(name).ok() } else { None }
    }

    fn driver_of_dsn(&self) -> Option<&'static str> {
        let dsn = self.options.settings.ours.dsn.as_deref()?;
        Some(if dsn.starts_with(b"postgres") { "pgsql" } else { "mysql" })
    }

    /// The driver of this number.
    pub(crate) fn get(&self, number: usize) -> Result<&ReadyDriver, &String> {
        self.ready[number].get_or_init(|| self.make(number)).as_ref()
    }

    fn make(&self, number: usize) -> Result<ReadyDriver, String> {
        let name = Self::NAMES[number].to_string_lossy();
        let mut driver = if name == "mysql" {
            mysql(&self.options.mysql().map_err(|refusal| plain(&refusal))?)?
        } else {
            pgsql(&self.options.pgsql().map_err(|refusal| plain(&refusal))?)
        };
        if let Some(dsn) = &self.options.settings.ours.dsn {
            let text = String::from_utf8_lossy(dsn);
            let mut target = Target::parse(&text).map_err(|error| format!("--dsn: {error}"))?;
            if target.login.password.is_none() {
                target.login.password.clone_from(&self.dsn_password);
            }
            if target.dialect != driver.target.dialect {
                return Err(format!("--dsn is not an address for the driver '{name}': {target}"));
            }
            driver.target = target;
        }
        // As the client library of sysbench does, for statements of the script.
        driver.target.sends_local_files = true;
        Ok(ReadyDriver { driver, connector: OnceLock::new() })
    }
}

/// The line without the prefix, which the log adds.
fn plain(refusal: &options::OptionRefusal) -> String {
    refusal.to_string().trim_start_matches("FATAL: ").to_owned()
}

fn target(dialect: SqlDialect, endpoints: Vec<Endpoint>, login: Login, tls: Tls) -> Target {
    let (setup, connections, connect_timeout, sources) = (Vec::new(), None, None, Vec::new());
    Target { dialect, endpoints, sources, login, tls, setup, connections, sends_local_files: false, connect_timeout }
}

/// The MySQL servers of the command line: each socket, or else each host with each port, all ports of a host in turn.
fn mysql(settings: &MysqlSettings) -> Result<Driver, String> {
    if settings.compression {
        return Err("--mysql-compression is not supported: truetps sends packets uncompressed".to_owned());
    }
    let mut endpoints: Vec<Endpoint> = settings.sockets.iter().map(|path| Endpoint::Unix(path.clone())).collect();
    if endpoints.is_empty() {
        for host in &settings.hosts {
            for port in &settings.ports {
                endpoints.push(match host.as_str() {
                    "localhost" => Endpoint::Unix(local_socket()),
                    host => Endpoint::Tcp { host: host.to_owned(), port: *port },
                });
            }
        }
    }
    let files = &settings.ssl_files;
    let exists = |path: &Option<PathBuf>| path.clone().filter(|path| !files.are_assumed || path.exists());
    let tls = Tls {
        mode: settings.ssl,
        ca: exists(&files.ca),
        cert: exists(&files.cert),
        key: exists(&files.key),
        // Like the client library of Debian's sysbench; there is no option for it.
        takes_server_key: true,
    };
    let target = target(SqlDialect::Mysql, endpoints, settings.login.clone(), tls);
    Ok(Driver { target, ignored: settings.ignore_errors.clone(), is_dry_run: settings.dry_run })
}

/// The PostgreSQL server of the command line; a host that begins with `/` is the folder of its socket.
fn pgsql(settings: &PgsqlSettings) -> Driver {
    let host = settings.host.clone();
    let endpoint = if host.starts_with('/') {
        Endpoint::Unix(PathBuf::from(format!("{host}/.s.PGSQL.{}", settings.port)))
    } else {
        Endpoint::Tcp { host, port: settings.port }
    };
    let tls = Tls { mode: settings.ssl, ..Tls::default() };
    let target = target(SqlDialect::Postgres, vec![endpoint], settings.login.clone(), tls);
    Driver { target, ignored: settings.ignore_errors.clone(), is_dry_run: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_of_the_given_options_is_expected_before_the_first_connection() {
        let expected = |words: &[&str]| {
            let target = Drivers::new(options::options_of(words, &[]).unwrap(), None).expected_target();
            target.map(|target| (target.dialect, target.endpoint(0).to_string()))
        };
        let at = |dialect, endpoint: &str| Some((dialect, endpoint.to_owned()));
        assert_eq!(expected(&["--pgsql-host=h", "--threads=2"]), at(SqlDialect::Postgres, "h:5432"));
        assert_eq!(expected(&["--pgsql-sslmode=disable"]), at(SqlDialect::Postgres, "localhost:5432"));
        assert_eq!(expected(&["--mysql-host=h"]), at(SqlDialect::Mysql, "h:3306"));
        assert_eq!(expected(&["--mysql-host=h", "--pgsql-host=h"]), at(SqlDialect::Mysql, "h:3306"));
        assert_eq!(expected(&["--mysql-host=h", "--db-driver=pgsql"]), at(SqlDialect::Postgres, "localhost:5432"));
        assert_eq!(expected(&["--dsn=mysql://u@h:1/d", "--pgsql-sslmode=disable"]), at(SqlDialect::Mysql, "h:1"));
        assert_eq!(expected(&["--threads=2", "--mysql-dry-run"]), None);
        assert_eq!(expected(&["--threads=2"]), None);
    }
}
