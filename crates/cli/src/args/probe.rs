//! `truetps probe`

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::args::{ListAnswerArgs, ReadServerArgs};
use crate::times;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    truetps probe 'mysql://root@?socket=/run/mysqld/mysqld.sock'        until Ctrl-C, once a \
    second\n  \
    TRUETPS_PASSWORD=… truetps probe mysql://monitor@db1 --interval 250ms --duration 1m\n  \
    truetps probe 'postgresql://postgres@/app?socket=/run/postgresql' --format csv > \
    signals.csv\n  \
    truetps probe mysql://monitor@db1 --listen 127.0.0.1:9104 --quiet   for Prometheus, beside a \
    load\n\n\
    One session queries the server and changes nothing. One line per sample goes to stderr, the \
    summary to stdout. While the server does not answer, stderr says so.\n\
    Exit codes: 0 also after Ctrl-C; 2 wrong usage or login; 4 the server cannot be reached, or \
    does not answer at the end. `truetps help reference/probe`")]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    pub(crate) server: ReadServerArgs,
    /// Interval between readings of server and host, from 50ms to 60s
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = times::time)]
    pub(crate) interval: Duration,
    /// Time from the first reading to the last: 30s, 5m, at least one interval; default: until
    /// Ctrl-C
    #[arg(long, value_name = "TIME", value_parser = times::time)]
    pub(crate) duration: Option<Duration>,
    /// Show the probe as a picture on the whole terminal; `?` there lists the keys
    #[arg(long)]
    pub(crate) ui: bool,
    /// Folder to record the probe in
    #[arg(long, value_name = "DIR", default_value = "runs", env = "TRUETPS_RUNS")]
    pub(crate) runs: PathBuf,
    #[command(flatten)]
    pub(crate) listening: ListenArgs,
    #[command(flatten)]
    pub(crate) answer: ListAnswerArgs,
}

/// Where the readings can be scraped.
#[derive(Debug, Args)]
pub(crate) struct ListenArgs {
    /// Show the last readings to Prometheus at http://ADDRESS:PORT/metrics, such as 127.0.0.1:9104;
    /// port 0 takes a free port. A scrape sends no query to the server
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    pub(crate) listen: Option<SocketAddr>,
    /// Allow an address of --listen that other hosts can reach; there is neither login nor
    /// encryption
    #[arg(long, requires = "listen")]
    pub(crate) listen_remote: bool,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "is not an IP address with a port, such as 127.0.0.1:9104 or [::1]:9104".to_owned()
    })
}
