//! The options of a mysqlslap command line, checked.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use truetps_driver::{Endpoint, Login, Password, Target, Tls, TlsMode, current_user};
use truetps_plan::{ProbeSpec, RATE_MAX, RATE_MIN, parse_rate};
use truetps_record::SqlDialect;
use truetps_recording::named_runs;

use super::auto::{AutoKey, AutoSql, GeneratedColumns, LoadType};
use crate::mysql_words::{GivenValue, MysqlWords, WordRefusal};
use crate::recording::RunsWish;
use crate::ssl;

const WRONG: u8 = 1;
const CLIENTS_MAX: u32 = 100_000;
const ITERATIONS_MAX: u64 = 100_000;
const DEFAULT_PORT: u16 = 3306;
/// The largest number in a plan, which is TOML.
const NUMBER_MAX: u64 = i64::MAX as u64;
/// Limits of a run's length in a plan, in seconds.
const TIMES_S: std::ops::RangeInclusive<f64> = 0.1..=86_400.0;
/// Default socket paths of distributions; the first existing one is used.
const SOCKETS: [&str; 4] = [
    "/run/mysqld/mysqld.sock",
    "/var/run/mysqld/mysqld.sock",
    "/var/lib/mysql/mysql.sock",
    "/tmp/mysql.sock",
];

/// The test itself.
#[derive(Debug, Clone)]
pub(super) struct SlapSettings {
    pub(super) source: StatementSource,
    pub(super) schema: String,
    /// Numbers of clients, tested in order.
    pub(super) concurrency: Vec<u32>,
    /// Storage engines with their options; empty: the server's default.
    pub(super) engines: Vec<Engine>,
    pub(super) iterations: u64,
    /// Queries of all clients together.
    pub(super) queries: Option<u64>,
    /// Queries of each client.
    pub(super) queries_each: Option<u64>,
    /// Statements of a transaction.
    pub(super) commit: Option<u64>,
    /// Statements of a connection.
    pub(super) detach: Option<u64>,
    pub(super) pre_query: Option<String>,
    pub(super) post_query: Option<String>,
    pub(super) pre_system: Option<String>,
    pub(super) post_system: Option<String>,
    pub(super) delimiter: String,
    pub(super) keeps_schema: bool,
    pub(super) only_prints: bool,
    pub(super) output: OutputSettings,
    pub(super) seed: u64,
    pub(super) prepared: bool,
    /// Starts a second of all clients.
    pub(super) rate: Option<f64>,
    pub(super) time: Option<Duration>,
    pub(super) workers: u32,
    pub(super) runs: RunsWish,
    pub(super) probe: ProbeSpec,
}

/// The source of the statements.
#[derive(Debug, Clone)]
pub(super) enum StatementSource {
    /// `--query`, `--create`: texts, or names of files.
    Given {
        query: String,
        create: Option<String>,
    },
    Generated(AutoSql),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Engine {
    pub(super) name: String,
    /// The text after the name in CREATE TABLE.
    pub(super) options: String,
}

/// What is printed and shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OutputSettings {
    /// Whether the runs are shown live.
    pub(super) ui: bool,
    pub(super) silent: bool,
    pub(super) verbose: u32,
    pub(super) classic: bool,
    pub(super) csv: Csv,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Csv {
    Off,
    Stdout,
    File(PathBuf),
}

fn refuse<T>(text: impl Into<String>) -> Result<T, WordRefusal> {
    Err(WordRefusal::new(WRONG, text))
}

impl SlapSettings {
    pub(super) fn read(
        words: &MysqlWords,
        environment: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Self, WordRefusal> {
        check_conflicts(words)?;
        check_unsupported(words)?;
        check_numbers(words)?;
        let csv = match words.get("csv") {
            None | Some(GivenValue::Switch(_)) => Csv::Off,
            Some(GivenValue::Text(path)) if !path.is_empty() && path != "-" => {
                Csv::File(path.into())
            }
            Some(_) => Csv::Stdout,
        };
        let iterations = words.number("iterations").unwrap_or(1);
        if !(1..=ITERATIONS_MAX).contains(&iterations) {
            return refuse(format!(
                "--iterations={iterations} is not between 1 and {ITERATIONS_MAX}"
            ));
        }
        let schema = words.text("create-schema").unwrap_or("mysqlslap").to_owned();
        if schema.is_empty() || schema.chars().count() > 64 || schema.contains(['`', '\0']) {
            return refuse(format!("--create-schema={schema} is not the name of a schema"));
        }
        Ok(Self {
            source: source(words)?,
            schema,
            concurrency: concurrency(words.text("concurrency").unwrap_or("1"))?,
            engines: engines(words.text("engine").unwrap_or_default())?,
            iterations,
            queries: limit(words, "number-of-queries"),
            queries_each: limit(words, "auto-generate-sql-execute-number"),
            commit: limit(words, "commit"),
            detach: limit(words, "detach"),
            pre_query: words.text("pre-query").map(str::to_owned),
            post_query: words.text("post-query").map(str::to_owned),
            pre_system: words.text("pre-system").map(str::to_owned),
            post_system: words.text("post-system").map(str::to_owned),
            delimiter: words
                .text("delimiter")
                .filter(|text| !text.is_empty())
                .unwrap_or("\n")
                .to_owned(),
            keeps_schema: words.is_on("no-drop"),
            only_prints: words.is_on("only-print"),
            output: OutputSettings {
                ui: words.is_on("ui"),
                silent: words.is_on("silent") || csv != Csv::Off,
                verbose: words.count("verbose"),
                classic: words.is_on("classic"),
                csv,
            },
            seed: words.number("seed").unwrap_or(1),
            prepared: words.is_on("prepared"),
            rate: words
                .text("rate")
                .map(|text| rate(text, limit(words, "commit").unwrap_or(1)))
                .transpose()?,
            time: words.text("time").map(time).transpose()?,
            workers: u32::try_from(words.number("workers").unwrap_or(0))
                .unwrap_or(u32::MAX)
                .min(1024),
            runs: {
                let typed =
                    words.text("runs").filter(|folder| !folder.is_empty()).map(PathBuf::from);
                RunsWish::of(typed.or_else(|| named_runs(environment)), environment)
            },
            probe: words.text("probe-interval").map_or_else(|| Ok(ProbeSpec::default()), probe)?,
        })
    }

    /// The engines that are tested in turn; `None`: the server's default.
    pub(super) fn tested_engines(&self) -> Vec<Option<&Engine>> {
        if self.engines.is_empty() { vec![None] } else { self.engines.iter().map(Some).collect() }
    }

    /// Statements of a transaction.
    pub(super) fn batch(&self) -> u64 {
        self.commit.unwrap_or(1)
    }

    /// Whether the schema is created for the test, and dropped after it.
    pub(super) fn makes_schema(&self) -> bool {
        !matches!(self.source, StatementSource::Given { create: None, .. })
    }
}

/// A number that limits something; 0 does not.
fn limit(words: &MysqlWords, name: &str) -> Option<u64> {
    words.number(name).filter(|number| *number > 0)
}

/// The original's own refusals, with its texts.
fn check_conflicts(words: &MysqlWords) -> Result<(), WordRefusal> {
    let auto = words.is_on("auto-generate-sql");
    if auto && (words.text("create").is_some() || words.text("query").is_some()) {
        return refuse(
            "Can't use --auto-generate-sql when create and query strings are specified!",
        );
    }
    if words.is_on("auto-generate-sql-guid-primary")
        && words.is_on("auto-generate-sql-add-autoincrement")
    {
        return refuse(
            "Either auto-generate-sql-guid-primary or auto-generate-sql-add-autoincrement can be \
             used!",
        );
    }
    if limit(words, "auto-generate-sql-execute-number").is_some()
        && limit(words, "number-of-queries").is_some()
    {
        return refuse("Either auto-generate-sql-execute-number or number-of-queries can be used!");
    }
    for name in ["number-of-queries", "auto-generate-sql-execute-number"] {
        if words.text("time").is_some() && limit(words, name).is_some() {
            return refuse(format!("Either time or {name} can be used: each says when a run ends"));
        }
    }
    if !auto && words.text("query").is_none() {
        return refuse(
            "nothing to run: --query has the statements of a test, --auto-generate-sql makes some",
        );
    }
    Ok(())
}

fn check_numbers(words: &MysqlWords) -> Result<(), WordRefusal> {
    for (name, number) in words.numbers() {
        let most = if name == "commit" { u32::MAX.into() } else { NUMBER_MAX };
        if number > most {
            return refuse(format!("--{name}={number} is more than {most}"));
        }
    }
    Ok(())
}

/// The first statements of each connection.
fn setup(words: &MysqlWords) -> Vec<String> {
    let mode =
        words.text("sql-mode").map(|mode| format!("SET sql_mode='{}'", mode.replace('\'', "''")));
    let init = words.text("init-command").filter(|sql| !sql.is_empty()).map(str::to_owned);
    mode.into_iter().chain(init).collect()
}

const UNSUPPORTED: [(&str, &str); 6] = [
    ("compress", "packets are sent as they are"),
    ("ssl-capath", "name a file with --ssl-ca"),
    ("ssl-crl", "no lists of revoked certificates are read"),
    ("ssl-crlpath", "no lists of revoked certificates are read"),
    ("enable-cleartext-plugin", "a password is never sent in clear text"),
    ("login-path", "logins are read from option files"),
];

fn check_unsupported(words: &MysqlWords) -> Result<(), WordRefusal> {
    for (name, why) in UNSUPPORTED {
        if words.is_on(name) || words.text(name).is_some_and(|text| !text.is_empty()) {
            return refuse(format!("--{name} is not supported: {why}"));
        }
    }
    Ok(())
}

fn source(words: &MysqlWords) -> Result<StatementSource, WordRefusal> {
    if !words.is_on("auto-generate-sql") {
        let query = words.text("query").unwrap_or_default().to_owned();
        return Ok(StatementSource::Given {
            query,
            create: words.text("create").map(str::to_owned),
        });
    }
    let load_type = words.text("auto-generate-sql-load-type").unwrap_or("mixed");
    let key = if words.is_on("auto-generate-sql-add-autoincrement") {
        AutoKey::Counted
    } else if words.is_on("auto-generate-sql-guid-primary") {
        AutoKey::Guid
    } else {
        AutoKey::None
    };
    let auto = AutoSql {
        load_type: LoadType::of(load_type).or_else(refuse)?,
        key,
        secondary_indexes: words.number("auto-generate-sql-secondary-indexes").unwrap_or(0),
        ints: columns("number-int-cols", words)?,
        chars: columns("number-char-cols", words)?,
        rows: words.number("auto-generate-sql-write-number").unwrap_or(100),
        unique_rows: words.number("auto-generate-sql-unique-write-number").unwrap_or(10),
        unique_queries: words.number("auto-generate-sql-unique-query-number").unwrap_or(10),
    };
    auto.check().or_else(refuse)?;
    Ok(StatementSource::Generated(auto))
}

/// `N` or `N:1`.
fn columns(name: &str, words: &MysqlWords) -> Result<GeneratedColumns, WordRefusal> {
    let text = words.text(name).unwrap_or("1");
    let (count, index) = text.split_once(':').unwrap_or((text, "0"));
    match (count.trim().parse(), index.trim().parse::<u32>()) {
        (Ok(count), Ok(index)) => Ok(GeneratedColumns { count, indexed: index > 0 }),
        _ => refuse(format!(
            "--{name}={text} is not a number of columns: N, or N:1 with an index on each"
        )),
    }
}

fn concurrency(text: &str) -> Result<Vec<u32>, WordRefusal> {
    let numbers: Option<Vec<u32>> = text
        .split(',')
        .map(|one| one.trim().parse().ok().filter(|clients| (1..=CLIENTS_MAX).contains(clients)))
        .collect();
    numbers.map_or_else(
        || {
            refuse(format!(
                "--concurrency={text} is not a list of clients: 1 to {CLIENTS_MAX}, with commas"
            ))
        },
        Ok,
    )
}

/// `innodb,memory:max_rows=2300`. What stands behind a name may be any option of a table: it goes
/// into the statement.
fn engines(text: &str) -> Result<Vec<Engine>, WordRefusal> {
    let mut list = Vec::new();
    for one in text.split(',').map(str::trim).filter(|one| !one.is_empty()) {
        let (name, options) = one.split_once(':').unwrap_or((one, ""));
        let is_name =
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_name {
            return refuse(format!("--engine: `{name}` is not the name of a storage engine"));
        }
        list.push(Engine { name: name.to_owned(), options: options.trim().to_owned() });
    }
    Ok(list)
}

/// Queries a second: `500`, `500/s`, `30/min`. `batch`: how many of them are a transaction.
fn rate(text: &str, batch: u64) -> Result<f64, WordRefusal> {
    let rate = parse_rate(text).or_else(|problem| refuse(format!("--rate={text}: {problem}")))?;
    if !(RATE_MIN..=RATE_MAX).contains(&(rate / batch as f64)) {
        return refuse(format!(
            "--rate={text} is not between {RATE_MIN} and {RATE_MAX} transactions a second"
        ));
    }
    Ok(rate)
}

fn time(text: &str) -> Result<Duration, WordRefusal> {
    match text.trim().trim_end_matches('s').parse::<f64>() {
        Ok(seconds) if TIMES_S.contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => {
            let (least, most) = (TIMES_S.start(), TIMES_S.end());
            refuse(format!("--time={text} is not a number of seconds between {least} and {most}"))
        }
    }
}

fn probe(text: &str) -> Result<ProbeSpec, WordRefusal> {
    let spec = text.parse().ok().and_then(ProbeSpec::of_interval);
    spec.map_or_else(
        || refuse(format!("--probe-interval={text} is neither 0 nor between 0.05 and 60 seconds")),
        Ok,
    )
}

/// The server that is meant, and who logs in. `ask`: gets a password from the terminal.
pub(super) fn target(
    words: &MysqlWords,
    environment: &dyn Fn(&str) -> Option<OsString>,
    ask: &dyn Fn() -> Result<String, WordRefusal>,
) -> Result<Target, WordRefusal> {
    let environment = |name: &str| environment(name).and_then(|text| text.into_string().ok());
    let password = match words.get("password") {
        Some(GivenValue::Text(text)) => Some(text.clone()),
        Some(GivenValue::Switch(_)) => None,
        Some(_) => Some(ask()?),
        None => environment("MYSQL_PWD"),
    };
    let named = words.text("user").filter(|name| !name.is_empty()).map(str::to_owned);
    let user = named.unwrap_or_else(|| current_user(&environment));
    let login = Login {
        user,
        password: password.filter(|text| !text.is_empty()).map(Password::new),
        database: None,
    };
    let tls = tls(words)?;
    let endpoints = vec![endpoint(words, &environment)?];
    let target = Target::new(SqlDialect::Mysql, endpoints, login, tls);
    Ok(ssl::without_needless_tls(Target { setup: setup(words), sends_local_files: true, ..target }))
}

/// A warning where MySQL's programs would have found a password: the file is encrypted, and
/// MariaDB's do not read it.
pub(super) fn unread_login_file(environment: &dyn Fn(&str) -> Option<OsString>) -> Option<String> {
    let path = match environment("MYSQL_TEST_LOGIN_FILE") {
        Some(path) => PathBuf::from(path),
        None => PathBuf::from(environment("HOME")?).join(".mylogin.cnf"),
    };
    let hint = "logins are read from option files, such as ~/.my.cnf";
    path.is_file().then(|| format!("'{}' is not read: {hint}", path.display()))
}

fn endpoint(
    words: &MysqlWords,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Endpoint, WordRefusal> {
    let host = words.text("host").map(str::to_owned).or_else(|| environment("MYSQL_HOST"));
    let host = host.filter(|host| !host.is_empty()).unwrap_or_else(|| "localhost".to_owned());
    let port = match words.number("port").filter(|port| *port > 0) {
        Some(port) => match u16::try_from(port) {
            Ok(port) => port,
            Err(_) => return refuse(format!("--port={port} is not a port: 1 to 65535")),
        },
        None => {
            environment("MYSQL_TCP_PORT").and_then(|text| text.parse().ok()).unwrap_or(DEFAULT_PORT)
        }
    };
    let protocol = protocol(words)?;
    // As mariadb-slap: a port or a socket that is typed says which of the two is meant, and the
    // last word counts. Only this host has a socket.
    let words_of_it = ["protocol", "port", "socket"].into_iter();
    let last = words_of_it.filter_map(|name| Some((words.typed_at(name)?, name))).max();
    let by_socket = host == "localhost"
        && match last {
            Some((_, "port")) => false,
            Some((_, "socket")) => true,
            _ => protocol != Some("TCP"),
        };
    if !by_socket {
        return Ok(Endpoint::Tcp { host, port });
    }
    let named = words.text("socket").map(str::to_owned).or_else(|| environment("MYSQL_UNIX_PORT"));
    Ok(Endpoint::Unix(named.map_or_else(usual_socket, PathBuf::from)))
}

fn usual_socket() -> PathBuf {
    let mut paths = SOCKETS.iter().map(PathBuf::from);
    paths.find(|path| path.exists()).unwrap_or_else(|| SOCKETS[0].into())
}

/// The original takes names that are cut short here, too.
fn protocol(words: &MysqlWords) -> Result<Option<&'static str>, WordRefusal> {
    let Some(typed) = words.text("protocol") else { return Ok(None) };
    let capitals = typed.to_ascii_uppercase();
    let mut names = ["TCP", "SOCKET"].into_iter();
    let found = names.find(|name| !typed.is_empty() && name.starts_with(&capitals));
    let wrong = if typed.is_empty() {
        "No option given to protocol".to_owned()
    } else {
        format!("Unknown option to protocol: {typed}")
    };
    let lines =
        WordRefusal::without_name(WRONG, format!("{wrong}\nAlternatives are: 'TCP','SOCKET'"));
    found.map_or(Err(lines), |name| Ok(Some(name)))
}

fn tls(words: &MysqlWords) -> Result<Tls, WordRefusal> {
    let files = ["ssl-ca", "ssl-cert", "ssl-key"]
        .map(|name| words.text(name).filter(|text| !text.is_empty()).map(PathBuf::from));
    let mode = match words.text("ssl-mode") {
        Some(text) => match ssl::ssl_mode(text) {
            Ok(mode) => Some(mode),
            Err(problem) => return refuse(format!("--ssl-mode={text} is {problem}")),
        },
        None if words.is_on("ssl-verify-server-cert") => Some(TlsMode::VerifyIdentity),
        None if words.get("ssl") == Some(&GivenValue::Switch(false)) => Some(TlsMode::Off),
        None if words.is_on("ssl") && files[0].is_none() => Some(TlsMode::Required),
        None => None,
    };
    ssl::tls(mode, files, words.is_on("get-server-public-key")).or_else(refuse)
}

#[cfg(test)]
mod tests {
    use super::super::specs::SPECS;
    use super::*;
    use crate::mysql_words::parse;

    fn words(files: &[&str], typed: &[&str]) -> MysqlWords {
        let owned =
            |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let words = parse(&SPECS, "slap", owned(files), owned(typed).into());
        assert_eq!(words.refusal, None);
        words
    }

    #[test]
    fn the_last_word_says_how_the_server_is_reached() {
        let tcp = |host: &str, port| Endpoint::Tcp { host: host.to_owned(), port };
        let socket = || Endpoint::Unix("/s".into());
        for (files, typed, expect) in [
            (&[][..], &["--port=7"][..], tcp("localhost", 7)),
            (&[], &["--host=localhost", "-S", "/s", "-P7"], tcp("localhost", 7)),
            (&[], &["-P7", "--socket=/s"], socket()),
            (&[], &["--socket=/s", "--host=x"], tcp("x", 3306)),
            (&[], &["--protocol=socket", "--port=7"], tcp("localhost", 7)),
            (&[], &["--port=7", "--socket=/s", "--protocol=tcp"], tcp("localhost", 7)),
            (&[], &["--protocol=tcp", "--socket=/s"], socket()),
            (&["--port=7", "--socket=/s"], &[], socket()),
            (&["--socket=/s"], &["--port=7"], tcp("localhost", 7)),
            (&["--protocol=tcp"], &["--socket=/s"], socket()),
            (&["--protocol=tcp", "--socket=/s"], &[], tcp("localhost", 3306)),
        ] {
            let target = target(&words(files, typed), &|_| None, &|| Ok(String::new())).unwrap();
            assert_eq!(target.endpoints, [expect], "{files:?} {typed:?}");
        }
    }

    #[test]
    fn an_authority_that_is_named_is_asked() {
        let mode = |typed: &[&str]| tls(&words(&[], typed)).unwrap().mode;
        assert_eq!(mode(&[]), TlsMode::Preferred);
        assert_eq!(mode(&["--ssl"]), TlsMode::Required);
        assert_eq!(mode(&["--ssl-ca=a.pem"]), TlsMode::VerifyCa);
        assert_eq!(mode(&["--ssl-ca=a.pem", "--ssl"]), TlsMode::VerifyCa);
        assert_eq!(mode(&["--ssl-ca=a.pem", "--ssl-verify-server-cert"]), TlsMode::VerifyIdentity);
        assert_eq!(mode(&["--ssl-ca=a.pem", "--ssl-mode=required"]), TlsMode::Required);
        assert_eq!(mode(&["--ssl-ca=a.pem", "--skip-ssl"]), TlsMode::Off);
    }

    #[test]
    fn protocols() {
        let read = |word: &str| protocol(&words(&[], &[word]));
        assert_eq!(
            (read("--protocol=tc"), read("--protocol=Socket")),
            (Ok(Some("TCP")), Ok(Some("SOCKET")))
        );
        for (word, text) in [
            ("--protocol=Bogus", "Unknown option to protocol: Bogus"),
            ("--protocol=", "No option given"),
        ] {
            let refusal = read(word).unwrap_err();
            assert!(refusal.before.unwrap().starts_with(text) && refusal.text.is_empty(), "{word}");
        }
    }

    #[test]
    fn limits() {
        for (typed, expect) in [
            (
                &["--seed=9223372036854775808"][..],
                "--seed=9223372036854775808 is more than 9223372036854775807",
            ),
            (&["--number-of-queries=18446744073709551615"], "is more than 9223372036854775807"),
            (&["--commit=4294967296"], "--commit=4294967296 is more than 4294967295"),
            (
                &["--rate=1e300"],
                "--rate=1e300 is not between 0.0001 and 10000000 transactions a second",
            ),
            (&["--rate=inf"], "must be more than 0"),
            (&["--rate=1/h"], ""),
            (&["--rate=1/h", "--commit=10"], "is not between"),
            (&["--rate=-1"], "must be more than 0"),
            (&["--rate=x"], "`x` is not a number"),
            (&["--time=1e6"], "--time=1e6 is not a number of seconds between 0.1 and 86400"),
            (
                &["--time=1", "--number-of-queries=5"],
                "Either time or number-of-queries can be used",
            ),
            (
                &["--time=1", "--auto-generate-sql-execute-number=5"],
                "Either time or auto-generate-sql-execute-number",
            ),
        ] {
            match SlapSettings::read(&words(&[], &[&["-a"], typed].concat()), &|_| None) {
                Ok(_) => assert_eq!(expect, "", "{typed:?}"),
                Err(refusal) => {
                    assert!(
                        !expect.is_empty() && refusal.text.contains(expect),
                        "{typed:?}: {}",
                        refusal.text
                    );
                }
            }
        }
    }

    #[test]
    fn a_password_that_is_skipped_is_neither_asked_for_nor_taken_from_elsewhere() {
        let typed = words(&["--password=x"], &["--skip-password"]);
        let target = target(&typed, &|_| Some("y".into()), &|| panic!("asked")).unwrap();
        assert!(target.login.password.is_none());
    }
}
