//! `truetps verify`

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use truetps_plan::parse_rate;

use crate::args::{DocumentArgs, FolderArgs, GeneratorArgs};
use crate::times::seconds;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    truetps verify                            SQL to a private server: does it keep every row that \
    it acknowledges?\n  \
    truetps verify --kill 5 --set innodb_flush_log_at_trx_commit=0       … also if it is killed \
    five times?\n  \
    truetps verify http://localhost:8080/rows --dsn mysql://me@db/shop --table events --clients \
    1000 --measure 1h\n  \
    truetps verify http://localhost:8080/rows --server maria --table shop.events --kill 30s \
    --retries 10\n  \
    truetps verify --resume runs/latest       compare again, also after this program was \
    killed\n\n\
    Each client sends rows of its own, by a schedule. Every answer goes to a log on disk before it \
    counts; afterwards the table is compared with it, to the last row. Fields of --body, --header \
    and of the address: {client} and {seq} (numbers), {key} (both, as in 17-4), {uuid}, {payload}. \
    Exit codes: 1 an acknowledged row is lost, doubled or changed, or a row is there that was \
    refused or never sent; 4 the run failed, or no row was acknowledged.\n\n\
    `truetps help reference/verify`")]
pub(crate) struct VerifyArgs {
    /// Address of the service that saves rows: http://host:port/path. Default: no service, rows are
    /// sent as SQL
    #[arg(value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Method of the requests
    #[arg(long, value_enum, default_value = "post")]
    pub(crate) method: MethodArg,
    /// A header of the requests, as 'Name: value', or @FILE with a header in each line, for
    /// secrets; repeatable
    #[arg(long = "header", value_name = "HEADER|@FILE")]
    pub(crate) headers: Vec<String>,
    /// Body of the requests, with fields, or @FILE
    #[arg(
        long,
        value_name = "TEXT|@FILE",
        default_value = r#"{"client":{client},"seq":{seq},"payload":"{payload}"}"#
    )]
    pub(crate) body: String,
    /// Number of clients
    #[arg(short, long, visible_alias = "connections", value_name = "N", default_value_t = 100,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) clients: u32,
    /// Rate at which each client sends rows: 1/s, 6/min
    #[arg(long, visible_alias = "rate", value_name = "N/s", value_parser = parse_rate, default_value = "1/s")]
    pub(crate) rate_per_client: f64,
    /// Each client sends its next row after the answer to the last one, in place of a rate
    #[arg(long)]
    pub(crate) closed_loop: bool,
    /// How long rows are sent: seconds, or with a unit, as in 5m or 1h
    #[arg(long, visible_aliases = ["time", "duration"], value_name = "TIME", default_value = "60", value_parser = seconds)]
    pub(crate) measure: f64,
    /// Length of each row's payload
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=16_000))]
    pub(crate) payload_bytes: u32,
    /// Send a row without a clear answer again, unchanged, up to so many times; a service's
    /// Retry-After is obeyed
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub(crate) retries: u32,
    /// Longest wait for an answer; then the row is unknown, and the client connects anew
    #[arg(long, value_name = "TIME", default_value = "30", value_parser = seconds)]
    pub(crate) answer_timeout: f64,
    /// The table that has the rows: table, or schema.table. Default: a table of the private server
    #[arg(long, value_name = "TABLE")]
    pub(crate) table: Option<String>,
    /// The table's columns with the key of a row: client,seq; or one column; or column=field,…
    #[arg(long, value_name = "COLUMNS", default_value = "client,seq", value_delimiter = ',')]
    pub(crate) key: Vec<String>,
    /// The table's column with the payload
    #[arg(long, value_name = "COLUMN", default_value = "payload")]
    pub(crate) payload: String,
    /// Kill the table's server (SIGKILL) and start it again: N times, or every TIME, as in 30s.
    /// Only a private server, or one of `truetps server start`
    #[arg(long, value_name = "N|TIME")]
    pub(crate) kill: Option<String>,
    /// Compare the table of an earlier run again, in place of a new run; default: the newest run
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, conflicts_with_all = ["url", "table", "kill", "settings"])]
    #[expect(clippy::option_option, reason = "the flag, and its value")]
    pub(crate) resume: Option<Option<PathBuf>>,
    /// Seed of keys, payloads and the schedule
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(0..=i64::MAX as u64))]
    pub(crate) seed: u64,
    /// A setting of the private server; repeatable
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) settings: Vec<String>,
    #[command(flatten)]
    pub(crate) generator: GeneratorArgs,
    /// Show the run live on the whole terminal (? for keys)
    #[arg(long)]
    pub(crate) ui: bool,
    #[command(flatten)]
    pub(crate) answer: DocumentArgs,
    #[command(flatten)]
    pub(crate) place: FolderArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MethodArg {
    Post,
    Put,
    Patch,
}

impl MethodArg {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
        }
    }
}
