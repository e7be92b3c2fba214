//! `truetps gateway`

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use crate::args::SandboxPlace;
use crate::login::LoginArgs;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    truetps gateway --private --page                 try it: a private MariaDB with a table \
    `readings`\n  \
    TRUETPS_PASSWORD=… truetps gateway --dsn mysql://ingest@db1/app --table readings\n  \
    truetps gateway --config gateway.toml --dsn mysql://ingest@db1/app --check\n\n\
    A row is a JSON object: curl -H 'Content-Type: application/json' -d '{\"client\":1,\"seq\":1}' \
    http://127.0.0.1:8080/v1/readings\n\
    It is answered with 200 after its commit. The answers 429 and 503 ask for the same row again, \
    with the same key: it is never stored twice. SIGTERM or Ctrl-C drains: rows that were taken \
    are committed and answered.\n\
    Exit codes: 0 after a signal, all rows drained; 2 wrong usage, or a table that cannot keep the \
    promise; 4 the server cannot be reached, or rows were left at the end. `truetps help \
    reference/gateway`")]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub(crate) struct GatewayArgs {
    /// Configuration as TOML: tables, limits, certificates; flags replace its values
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The database with the tables: mysql://user@host:port/schema or
    /// postgresql://user@host/database; default: TRUETPS_DSN. The password comes from
    /// TRUETPS_PASSWORD, ~/.my.cnf or the terminal
    #[arg(long, value_name = "DSN")]
    pub(crate) dsn: Option<String>,
    /// Start a private MariaDB or MySQL with a table `readings` (client, seq, value, at), to try
    /// the gateway; it is removed at the end
    #[arg(long, conflicts_with = "dsn")]
    pub(crate) private: bool,
    /// An emulated disk for the private server: hdd7200, sata-ssd, … (`truetps disk list`), or the
    /// path of a profile
    #[arg(long, value_name = "PROFILE", requires = "private")]
    pub(crate) disk: Option<String>,
    /// A table that takes rows, at /v1/TABLE; may be repeated
    #[arg(long = "table", value_name = "TABLE")]
    pub(crate) tables: Vec<String>,
    /// Address to listen on; default: 127.0.0.1:8080. Port 0 takes a free port
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// Allow an address of --listen that other hosts can reach: with tokens in
    /// TRUETPS_GATEWAY_TOKENS, or --anonymous
    #[arg(long)]
    pub(crate) listen_remote: bool,
    /// Allow requests of other hosts without a token
    #[arg(long)]
    pub(crate) anonymous: bool,
    /// Serve a page at / that draws rows, commits and refusals live; only on an address of this
    /// host
    #[arg(long)]
    pub(crate) page: bool,
    /// Inspect the tables, print what the gateway promises, and end
    #[arg(long)]
    pub(crate) check: bool,
    #[command(flatten)]
    pub(crate) login: LoginArgs,
    #[command(flatten)]
    pub(crate) sandbox: SandboxPlace,
}
