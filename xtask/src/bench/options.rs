//! The options of `bench engine` and `bench null`, and the values that options of several
//! benchmarks have.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::bail;
use clap::{Args, Parser, value_parser};
use serde::Serialize;
use serde::de::value::Error as ValueError;
use serde::de::{DeserializeOwned, IntoDeserializer};
use truetps_driver::Endpoint;
use truetps_probe::clock;
use truetps_record::Protocol;

use crate::bench::programs::{Against, DriveChoice, Program};

#[derive(Debug, Clone, Parser)]
pub(crate) struct BenchOptions {
    /// Numbers of connections, with commas
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "8,64,1000", value_parser = value_parser!(u32).range(1..))]
    pub(crate) connections: Vec<u32>,
    /// text, prepared, or both with a comma
    #[arg(long = "protocol", value_delimiter = ',', default_value = "text", value_parser = parse_word::<Protocol>)]
    pub(crate) protocols: Vec<Protocol>,
    #[command(flatten)]
    pub(crate) drive: DriveChoice,
    /// sysbench, mysqlslap, mysql_async, self:MODE[:WORKERS], build:PATH or none
    #[arg(long, value_name = "PROGRAM", default_value = "sysbench", value_parser = Against::parse)]
    pub(crate) against: Against,
    #[command(flatten)]
    pub(crate) pairs: PairOptions,
    #[command(flatten)]
    pub(crate) kept: KeptOptions,
    /// Length of a window in seconds
    #[arg(long = "seconds", value_name = "S", default_value = "3", value_parser = seconds)]
    pub(crate) window: Duration,
}

/// How often two programs are compared.
#[derive(Debug, Clone, Args)]
pub(crate) struct PairOptions {
    /// Pairs of neighbouring runs
    #[arg(long = "pairs", alias = "runs", value_name = "N", default_value = "5", value_parser = value_parser!(u32).range(1..))]
    pub(crate) count: u32,
}

/// What a benchmark's server gets, and whether its result is stored.
#[derive(Debug, Clone, Args)]
pub(crate) struct KeptOptions {
    /// A setting of the private server
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) settings: Vec<(String, String)>,
    /// Store no result
    #[arg(long)]
    pub(crate) no_result: bool,
}

impl KeptOptions {
    /// The dated folder that takes the result.
    pub(crate) fn folder(&self, root: &Path, name: &str) -> Option<PathBuf> {
        (!self.no_result)
            .then(|| root.join("bench/runs").join(format!("{}-{name}", clock::folder_stamp())))
    }
}

impl BenchOptions {
    /// The engine of truetps, and perhaps another one.
    pub(crate) fn programs(&self) -> Vec<Program> {
        std::iter::once(Program::Truetps(self.drive)).chain(self.against.0.clone()).collect()
    }

    pub(crate) fn check(&self) -> anyhow::Result<()> {
        if self.against.0 == Some(Program::Mysqlslap)
            && self.protocols.contains(&Protocol::Prepared)
        {
            bail!("mysqlslap has no prepared statements: --protocol text");
        }
        Ok(())
    }

    pub(crate) fn most_connections(&self) -> u32 {
        self.connections.iter().copied().max().unwrap_or(1)
    }
}

/// A time above 0.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    let time = Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())?;
    if time.is_zero() { Err("not above 0".to_owned()) } else { Ok(time) }
}

/// A rate above 0.
pub(crate) fn starts_a_second(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate > 0.0);
    rate.ok_or_else(|| "not a number above 0".to_owned())
}

/// `NAME=VALUE`
fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("not NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// The path of a unix socket, or HOST:PORT.
pub(crate) fn parse_endpoint(text: &str) -> Result<Endpoint, String> {
    if text.contains('/') {
        return Ok(Endpoint::Unix(text.into()));
    }
    let (host, port) = text.rsplit_once(':').ok_or("neither a path nor HOST:PORT")?;
    let port = port.parse().map_err(|_| format!("`{port}` is not a port"))?;
    Ok(Endpoint::Tcp { host: host.to_owned(), port })
}

/// The value with this word, or an error with all words.
pub(crate) fn by_word<T: Copy>(
    text: &str,
    all: &[T],
    word: fn(T) -> &'static str,
) -> Result<T, String> {
    let found = all.iter().copied().find(|one| word(*one) == text);
    found.ok_or_else(|| {
        format!("not one of {}", all.iter().map(|one| word(*one)).collect::<Vec<_>>().join(", "))
    })
}

/// The value that serde reads from this word.
pub(crate) fn parse_word<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    T::deserialize(text.into_deserializer()).map_err(|error: ValueError| error.to_string())
}

/// The word that serde writes for a value.
pub(crate) fn word(value: impl Serialize) -> String {
    let word = serde_json::to_value(value).ok();
    word.as_ref().and_then(|word| word.as_str()).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use truetps_record::DriveMode;

    use super::*;

    fn parse(args: &[&str]) -> anyhow::Result<BenchOptions> {
        let options = BenchOptions::try_parse_from([&["engine"], args].concat())?;
        options.check()?;
        Ok(options)
    }

    #[test]
    fn options_say_what_runs() {
        let args = [
            "--connections",
            "1,64",
            "--mode",
            "blocking",
            "--against",
            "self:multiplexed:2",
            "--set",
            "a=b",
        ];
        let options = parse(&args).unwrap();
        assert_eq!(options.connections, [1, 64]);
        let ours = DriveChoice { mode: DriveMode::Blocking, workers: None };
        let theirs = DriveChoice { mode: DriveMode::Multiplexed, workers: Some(2) };
        assert_eq!(options.programs(), [Program::Truetps(ours), Program::Truetps(theirs)]);
        assert_eq!(options.kept.settings, [("a".to_owned(), "b".to_owned())]);
        assert_eq!(parse(&["--against", "none"]).unwrap().programs().len(), 1);
        assert_eq!(parse(&[]).unwrap().programs()[1], Program::Sysbench);
    }

    #[test]
    fn a_server_has_a_path_or_a_port() {
        for text in ["/run/mysqld/mysqld.sock", "127.0.0.1:3306"] {
            assert_eq!(parse_endpoint(text).unwrap().to_string(), text);
        }
        assert!(parse_endpoint("localhost").is_err());
        assert!(parse_endpoint("localhost:70000").unwrap_err().contains("70000"));
    }

    #[test]
    fn wrong_words_are_named() {
        let cases: [(&[&str], &str); 7] = [
            (&["--connections", "1,x"], "'x'"),
            (&["--connections", "0"], "'0'"),
            (&["--seconds", "0"], "not above 0"),
            (&["--pairs"], "--pairs <N>"),
            (&["--against", "wrk"], "wrk"),
            (&["--fast"], "--fast"),
            (&["--against", "mysqlslap", "--protocol", "prepared"], "no prepared"),
        ];
        for (args, message) in cases {
            let error = format!("{:#}", parse(args).err().unwrap());
            assert!(error.contains(message), "{error} should contain {message}");
        }
    }
}
