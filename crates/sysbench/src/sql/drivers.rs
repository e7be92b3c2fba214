//! The drivers of a run: prepared only when a script requests them.

use std::collections::BTreeMap;
use std::ffi::{CStr, OsString};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use truetps_driver::{
    Connector, DriverError, Endpoint, LibpqGiven, Password, Target, Tls, current_user,
    libpq_variables,
};
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
const NO_NAME: &str =
    "Multiple DB drivers are available. Use --db-driver=name to specify which one to use";

const MYSQL_PORT: u16 = 3306;

/// The environment variable for the password of `--dsn`.
const PASSWORD_VARIABLE: &str = "TRUETPS_PASSWORD";

/// What drivers read of the environment, besides the variables of libpq.
const VARIABLES: [&str; 8] = [
    PASSWORD_VARIABLE,
    "MYSQL_PWD",
    "MYSQL_TCP_PORT",
    "MYSQL_UNIX_PORT",
    "HOME",
    "USER",
    "LOGNAME",
    "LOGIN",
];

pub(crate) struct Drivers {
    options: SysbenchOptions,
    /// The variables that are set.
    environment: BTreeMap<&'static str, OsString>,
    ready: [OnceLock<Result<ReadyDriver, String>>; 2],
    is_used: AtomicBool,
    connections: AtomicU32,
}

impl Drivers {
    pub(crate) const COUNT: usize = 2;
    /// In the order of their handles.
    pub(crate) const NAMES: [&CStr; Self::COUNT] = [c"mysql", c"pgsql"];

    pub(crate) fn new(
        options: SysbenchOptions,
        environment: &dyn Fn(&str) -> Option<OsString>,
    ) -> Self {
        let variables = VARIABLES.into_iter().chain(libpq_variables());
        Self {
            options,
            environment: variables
                .filter_map(|name| {
                    Some((name, environment(name).filter(|value| !value.is_empty())?))
                })
                .collect(),
            ready: [OnceLock::new(), OnceLock::new()],
            is_used: AtomicBool::new(false),
            connections: AtomicU32::new(0),
        }
    }

    /// Whether a script has requested a driver: its reports then show statements.
    pub(crate) fn are_used(&self) -> bool {
        self.is_used.load(Ordering::Relaxed)
    }

    /// Whether values are written into the text of statements that scripts prepare. `--db-ps-mode`
    /// is checked when the first driver is requested.
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
        let given = self
            .options
            .bytes("db-driver")
            .map(String::from_utf8_lossy)
            .unwrap_or_default()
            .into_owned();
        let of_dsn = self
            .driver_of_dsn()
            .filter(|_| given.is_empty() || !self.options.is_given("db-driver"));
        let given = of_dsn.or(Some(given.as_str()).filter(|given| !given.is_empty()));
        let name = name.or(given).ok_or(NO_NAME)?;
        let number = Self::NAMES.iter().position(|known| known.to_bytes() == name.as_bytes());
        number.ok_or_else(|| format!("invalid database driver name: '{name}'"))
    }

    /// Where clients will connect, as far as is known before the first connection: with the driver
    /// that the script has requested, or else with the one of the user's options.
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

    /// The driver that the user's options are for. A script that names its driver needs no
    /// `--db-driver` beside them.
    fn expected_number(&self) -> Option<usize> {
        let [general, mysql, pgsql] =
            [OptionGroup::Database, OptionGroup::Mysql, OptionGroup::Pgsql]
                .map(|group| self.options.has_given(group));
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
        let of_dsn = self.target_of_dsn()?;
        let mut driver = if name == "mysql" {
            let settings = self.options.mysql().map_err(|refusal| plain(&refusal))?;
            let target = of_dsn.map_or_else(|| self.mysql(&settings), Ok)?;
            Driver {
                target,
                ignored: settings.ignore_errors,
                is_dry_run: settings.dry_run,
                connect_timeout: None,
            }
        } else {
            let settings = self.options.pgsql().map_err(|refusal| plain(&refusal))?;
            let (target, connect_timeout) = match of_dsn {
                Some(target) => (target, None),
                None => self.pgsql(&settings)?,
            };
            Driver { target, ignored: settings.ignore_errors, is_dry_run: false, connect_timeout }
        };
        let is_right = (driver.target.dialect == SqlDialect::Mysql) == (name == "mysql");
        if !is_right {
            return Err(format!(
                "--dsn is not an address for the driver '{name}': {}",
                driver.target
            ));
        }
        // As the client library of sysbench does, for statements of the script.
        driver.target.sends_local_files = true;
        Ok(ReadyDriver { driver, connector: OnceLock::new() })
    }

    /// A variable of the environment that is set and not empty.
    fn variable(&self, name: &str) -> Option<OsString> {
        self.environment.get(name).cloned()
    }

    fn text_of(&self, name: &str) -> Option<String> {
        self.variable(name).map(|value| value.to_string_lossy().into_owned())
    }

    fn target_of_dsn(&self) -> Result<Option<Target>, String> {
        let Some(dsn) = &self.options.settings.ours.dsn else { return Ok(None) };
        let text = String::from_utf8_lossy(dsn);
        let mut target = Target::parse(&text).map_err(|error| format!("--dsn: {error}"))?;
        if target.login.password.is_none() {
            target.login.password = self.text_of(PASSWORD_VARIABLE).map(Password::new);
        }
        Ok(Some(target))
    }

    /// The MySQL servers of the command line: each socket, or else each host with each port, all
    /// ports of a host in turn. What is left empty comes from the environment, as in sysbench's
    /// client library.
    fn mysql(&self, settings: &MysqlSettings) -> Result<Target, String> {
        if settings.compression {
            return Err("--mysql-compression is not supported: truetps sends packets uncompressed"
                .to_owned());
        }
        let mut endpoints: Vec<Endpoint> =
            settings.sockets.iter().map(|path| Endpoint::Unix(path.clone())).collect();
        if endpoints.is_empty() {
            let default_port = self
                .text_of("MYSQL_TCP_PORT")
                .and_then(|port| port.parse().ok())
                .unwrap_or(MYSQL_PORT);
            for host in &settings.hosts {
                for port in &settings.ports {
                    endpoints.push(match host.as_str() {
                        "localhost" => Endpoint::Unix(self.mysql_socket()),
                        host => Endpoint::Tcp {
                            host: host.to_owned(),
                            port: if *port == 0 { default_port } else { *port },
                        },
                    });
                }
            }
        }
        let mut login = settings.login.clone();
        if login.password.is_none() {
            login.password = self.text_of("MYSQL_PWD").map(Password::new);
        }
        if login.user.is_empty() {
            login.user = current_user(&|name| self.text_of(name));
        }
        let files = &settings.ssl_files;
        let tls = Tls {
            mode: settings.ssl,
            ca: files.usable(files.ca.as_ref()),
            cert: files.usable(files.cert.as_ref()),
            key: files.usable(files.key.as_ref()),
            // Like the client library of Debian's sysbench; there is no option for it.
            takes_server_key: true,
        };
        Ok(Target { endpoints, login, tls, ..Target::mysql_unix("", "", None) })
    }

    fn mysql_socket(&self) -> PathBuf {
        self.variable("MYSQL_UNIX_PORT").map_or_else(local_socket, PathBuf::from)
    }

    /// The PostgreSQL server that libpq would find for sysbench, and how long it may take to
    /// connect.
    fn pgsql(&self, settings: &PgsqlSettings) -> Result<(Target, Option<Duration>), String> {
        let given = LibpqGiven {
            host: &settings.host,
            port: &settings.port,
            user: &settings.user,
            password: &settings.password,
            sslmode: &settings.sslmode,
            database: &settings.database,
        };
        let found = Target::of_libpq(&given, &|name| self.variable(name))
            .map_err(|error| format!("Connection to database failed: {error}"))?;
        for warning in &found.warnings {
            // A failed write is ignored.
            let _ = rustix::io::write(
                rustix::stdio::stderr(),
                format!("WARNING: {warning}\n").as_bytes(),
            );
        }
        Ok((
            found.target,
            found.connect_timeout.filter(|_| !self.options.is_given("connect-timeout")),
        ))
    }
}

/// The line without the prefix, which the log adds.
fn plain(refusal: &options::OptionRefusal) -> String {
    refusal.to_string().trim_start_matches("FATAL: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_of_the_given_options_is_expected_before_the_first_connection() {
        let expected = |words: &[&str]| {
            let target =
                Drivers::new(options::options_of(words, &[]).unwrap(), &|_| None).expected_target();
            target.map(|target| (target.dialect, target.endpoint(0).to_string()))
        };
        let at = |dialect, endpoint: &str| Some((dialect, endpoint.to_owned()));
        assert_eq!(
            expected(&["--pgsql-host=h", "--threads=2"]),
            at(SqlDialect::Postgres, "h:5432")
        );
        assert_eq!(
            expected(&["--pgsql-sslmode=disable"]),
            at(SqlDialect::Postgres, "localhost:5432")
        );
        assert_eq!(expected(&["--mysql-host=h"]), at(SqlDialect::Mysql, "h:3306"));
        assert_eq!(
            expected(&["--mysql-host=h", "--pgsql-host=h"]),
            at(SqlDialect::Mysql, "h:3306")
        );
        assert_eq!(
            expected(&["--mysql-host=h", "--db-driver=pgsql"]),
            at(SqlDialect::Postgres, "localhost:5432")
        );
        assert_eq!(
            expected(&["--dsn=mysql://u@h:1/d", "--pgsql-sslmode=disable"]),
            at(SqlDialect::Mysql, "h:1")
        );
        assert_eq!(expected(&["--threads=2", "--mysql-dry-run"]), None);
        assert_eq!(expected(&["--threads=2"]), None);
    }
}
