//! The command line of mtls-perf-bench, and the options added by truetps.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use truetps_driver::TlsMode;
use truetps_plan::{ProbeSpec, RATE_MAX, RATE_MIN, parse_rate};
use truetps_recording::RUNS_VARIABLE;

use crate::ssl::ssl_mode;

/// Create a table, fill it from several connections, drop it: the command line of mtls-perf-bench;
/// after its log, what that leaves out
#[derive(Debug, Clone, Parser)]
#[command(
    name = "truetps mtls",
    version,
    infer_long_args = true,
    // As with argparse, the last one counts.
    args_override_self = true,
    after_help = "Each row is an INSERT and a COMMIT of its own, in sessions that do not commit by \
                  themselves.\n\n\
                  Exit status: 0 all rows were acknowledged; 2 some were not, or the command line \
                  is wrong; 3 the server refused; 130 interrupted."
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(super) struct MtlsOptions {
    pub(super) action: MtlsAction,
    /// Host of the server, always by TCP
    #[arg(long, default_value = "127.0.0.1")]
    pub(super) host: String,
    #[arg(long, default_value_t = 3306)]
    pub(super) port: u16,
    #[arg(long, default_value = "appuser")]
    pub(super) user: String,
    /// Password; better in the environment, as TRUETPS_PASSWORD
    #[arg(long, env = "TRUETPS_PASSWORD", hide_env_values = true, default_value = "apps_352")]
    pub(super) password: String,
    /// Database of the table; it must exist
    #[arg(long, default_value = "tempdb")]
    pub(super) database: String,
    #[arg(long, default_value = "t")]
    pub(super) table: String,
    /// Clients
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(super) parallel: u32,
    /// Rows inserted by all clients together
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=NUMBER_MAX))]
    pub(super) rows: u64,
    /// Least important lines that are logged
    #[arg(long, value_enum, default_value = "info")]
    pub(super) log_level: LogLevel,
    /// An auto-increment key
    #[arg(long, default_value = "True", value_parser = truth, action = clap::ArgAction::Set)]
    pub(super) auto_primary_key: bool,
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) ints: u32,
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) floats: u32,
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) doubles: u32,
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) texts: u32,
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) varchars: u32,
    #[arg(long, value_name = "N", default_value_t = 128)]
    pub(super) varchar_length: u32,
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) decimals: u32,
    #[arg(long, value_name = "DIGITS", default_value_t = 12)]
    pub(super) decimal_precision: u32,
    /// Digits after the point
    #[arg(long, value_name = "DIGITS", default_value_t = 2)]
    pub(super) decimal_scale: u32,

    /// Columns of this type
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = OURS)]
    pub(super) bigints: u32,
    /// Columns of this type
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = OURS)]
    pub(super) datetimes: u32,
    /// Columns of this type
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = OURS)]
    pub(super) blobs: u32,
    /// Characters of a text and bytes of a blob; default 64, or less if that does not fit
    #[arg(long, value_name = "N", help_heading = OURS)]
    pub(super) value_length: Option<u32>,
    /// Socket of the server, instead of host and port
    #[arg(long, value_name = "PATH", help_heading = OURS)]
    pub(super) socket: Option<PathBuf>,
    /// TLS: 'disabled', 'preferred', 'required', 'verify_ca' or 'verify_identity'; default
    /// 'verify_ca' with --ssl-ca, else 'required' with --ssl-cert, else 'disabled' for a socket,
    /// else 'preferred'
    #[arg(long, value_name = "MODE", value_parser = ssl_mode, help_heading = OURS)]
    pub(super) ssl_mode: Option<TlsMode>,
    /// File with the certificate authorities that sign the server's certificate
    #[arg(long, value_name = "FILE", help_heading = OURS)]
    pub(super) ssl_ca: Option<PathBuf>,
    /// File with the client's certificate
    #[arg(long, value_name = "FILE", help_heading = OURS)]
    pub(super) ssl_cert: Option<PathBuf>,
    /// File with the private key of --ssl-cert
    #[arg(long, value_name = "FILE", help_heading = OURS)]
    pub(super) ssl_key: Option<PathBuf>,
    /// Encrypt the password with the key that a server on another machine sends without TLS; it may
    /// be an attacker's
    #[arg(long, help_heading = OURS)]
    pub(super) get_server_public_key: bool,
    /// Rows of one INSERT; --rows must be a multiple of it
    #[arg(long, value_name = "ROWS", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000),
          help_heading = OURS)]
    pub(super) batch: u32,
    /// End after this many seconds, instead of --rows
    #[arg(long, value_name = "SECONDS", conflicts_with = "rows", value_parser = seconds, help_heading = OURS)]
    pub(super) time: Option<f64>,
    /// Open loop: transactions a second of all clients together, independent of the server
    #[arg(long, value_name = "N/s", value_parser = rate, help_heading = OURS)]
    pub(super) rate: Option<f64>,
    /// Seed of the random values
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(..=NUMBER_MAX),
          help_heading = OURS)]
    pub(super) seed: u64,
    /// Send prepared statements instead of text
    #[arg(long, help_heading = OURS)]
    pub(super) prepared: bool,
    /// Threads that run the clients; 0 chooses
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1024),
          help_heading = OURS)]
    pub(super) workers: u32,
    /// Folder for run folders, or 'none'; default: a state folder
    #[arg(long, value_name = "DIR", env = RUNS_VARIABLE, help_heading = OURS)]
    pub(super) runs: Option<PathBuf>,
    /// Seconds between readings of server and host during the run; 0 reads neither
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = probe, help_heading = OURS)]
    pub(super) probe_interval: ProbeSpec,
    /// Show the run live on the whole terminal
    #[arg(long, help_heading = OURS)]
    pub(super) ui: bool,
    /// Only the original's log
    #[arg(long, help_heading = OURS)]
    pub(super) classic: bool,
}

/// Plans have no larger numbers, because TOML's integers are signed.
const NUMBER_MAX: u64 = i64::MAX as u64;

const OURS: &str = "Options that mtls-perf-bench does not have";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum MtlsAction {
    /// Create the table
    Create,
    /// Drop the table
    Drop,
    /// Insert rows, and print how long that took
    Insert,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(super) enum LogLevel {
    Debug,
    Info,
    Error,
}

/// As in the original: anything that does not mean yes means no.
#[expect(clippy::unnecessary_wraps, reason = "clap wants a result")]
fn truth(text: &str) -> Result<bool, String> {
    Ok(["yes", "true", "1", "on"].contains(&text.to_ascii_lowercase().as_str()))
}

fn seconds(text: &str) -> Result<f64, String> {
    const MAX: f64 = 1e7;
    text.parse()
        .ok()
        .filter(|seconds| *seconds > 0.0 && *seconds <= MAX)
        .ok_or_else(|| "not a time in seconds".into())
}

fn probe(text: &str) -> Result<ProbeSpec, String> {
    let spec = text.parse().ok().and_then(ProbeSpec::of_interval);
    spec.ok_or_else(|| "neither 0 nor between 0.05 and 60 seconds".to_owned())
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = parse_rate(text)?;
    let fits = (RATE_MIN..=RATE_MAX).contains(&rate);
    if fits {
        Ok(rate)
    } else {
        Err(format!("not between {RATE_MIN} and {RATE_MAX} transactions a second"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<MtlsOptions, clap::Error> {
        MtlsOptions::try_parse_from([&["mtls-perf-bench"], words].concat())
    }

    #[test]
    fn as_argparse_reads_it() {
        let options = read(&[
            "--ints=4",
            "--floats",
            "2",
            "--varchars=2",
            "--paral=8",
            "--rows=80000",
            "insert",
        ])
        .unwrap();
        assert_eq!((options.ints, options.floats, options.varchars), (4, 2, 2));
        assert_eq!(
            (options.parallel, options.rows, options.action),
            (8, 80_000, MtlsAction::Insert)
        );
        assert!(options.auto_primary_key);
        for no in ["False", "false", "nonsense"] {
            assert!(
                !read(&["create", &format!("--auto-primary-key={no}")]).unwrap().auto_primary_key
            );
        }
        for wrong in [
            &["insert", "--ints=x"][..],
            &["select"],
            &[],
            &["insert", "--parallel=0"],
            &["insert", "--rows=0"],
            &["insert", "--rows=9223372036854775808"],
            &["insert", "--seed=9223372036854775808"],
            &["insert", "--time=nan"],
            &["insert", "--rate=inf"],
            &["insert", "--rate=1e8"],
        ] {
            assert_eq!(read(wrong).unwrap_err().exit_code(), 2, "{wrong:?}");
        }
    }
}
