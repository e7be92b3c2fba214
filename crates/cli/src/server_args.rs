//! What was typed after `truetps server`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::args::{CaptureArgs, RestoreArgs, SandboxPlace};

#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:\n  \
    truetps server add maria                                the installed server, by a name of its own\n  \
    truetps server add mysql-8.0 mysql-8.0.36-linux.tar.xz  a downloaded one\n  \
    truetps server start mysql-8.0 --set sync_binlog=1000\n  \
    truetps server sql mysql-8.0 'SELECT @@version'\n  \
    truetps server stop mysql-8.0\n\n\
    docs/reference/server.md")]
pub(crate) enum ServerCommand {
    /// Give a server's program a name
    Add(AddArgs),
    /// List servers with names, private servers of runs, and what killed runs left behind
    List(SandboxPlace),
    /// Start a server on data of its own; it runs until it is stopped
    Start(StartArgs),
    /// Stop a server that `start` has started
    Stop(StopArgs),
    /// Say whether a server runs, and where. Exit code: 0 it runs, 1 it does not
    Status(NameArgs),
    /// Run SQL in a server that `start` has started
    Sql(SqlArgs),
    /// Print the end of a server's log
    Log(LogArgs),
    /// Remove a server's data and the tree that was unpacked for it; never a folder of yours
    Remove(RemoveArgs),
    /// Remove what killed runs left behind; servers in use and servers with names are not touched
    Clean(SandboxPlace),
    /// Put back what a killed run has left in a server of --dsn: its settings and its schema
    Restore(RestoreArgs),
    /// Write what a server is set to, and what it runs on, to a file that can be kept and compared
    Capture(CaptureArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    truetps server add maria\n  \
    truetps server add mysql-5.7 /opt/mysql-5.7.44\n  \
    truetps server add mysql-8.0 mysql-8.0.36-linux-glibc2.28-x86_64.tar.xz\n  \
    truetps server add pg15 /usr/lib/postgresql/15")]
pub(crate) struct AddArgs {
    /// Name to call it by: a to z, 0 to 9, `.`, `_`, `-`
    pub(crate) name: String,
    /// An archive (.tar, .tar.gz, .tgz, .tar.xz), or the folder of an unpacked server; default: the installed one
    pub(crate) path: Option<PathBuf>,
    /// Give the name to this one where another has it; data of the same series are kept
    #[arg(long)]
    pub(crate) replace: bool,
    #[command(flatten)]
    pub(crate) sandbox: SandboxPlace,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    truetps server start maria\n  \
    truetps server start mysql-8.0 --set innodb_flush_log_at_trx_commit=2 --set log_bin=ON\n  \
    truetps server start mysql-8.0 --port 13306     for clients that know no sockets\n\n\
    The data folder is made at the first start and kept. Each start has the settings of its own command line. The \
    server's owner is root (of PostgreSQL: postgres), without a password.")]
pub(crate) struct StartArgs {
    /// Name of a server (`truetps server list`)
    pub(crate) name: String,
    /// A setting of the server; may be given again
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) settings: Vec<String>,
    /// Listen on this port of 127.0.0.1, too, for accounts that you make: root comes by the socket alone
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,
    /// Longest wait until it answers
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) wait: u64,
    #[command(flatten)]
    pub(crate) sandbox: SandboxPlace,
}

#[derive(Debug, Args)]
pub(crate) struct StopArgs {
    /// Name of a server (`truetps server list`)
    pub(crate) name: String,
    /// Kill it, as `kill -9` does, in place of asking it
    #[arg(long)]
    pub(crate) kill: bool,
    /// Longest wait before it is killed
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) wait: u64,
    #[command(flatten)]
    pub(crate) sandbox: SandboxPlace,
}

#[derive(Debug, Args)]
pub(crate) struct NameArgs {
    /// Name of a server (`truetps server list`)
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) sandbox: SandboxPlace,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    truetps server sql maria 'SHOW DATABASES'\n  \
    truetps server sql maria 'CREATE DATABASE app' 'SHOW DATABASES'\n  \
    truetps server sql maria < schema.sql\n\n\
    A table at a terminal, otherwise columns with tabs between them and their names in the first line. A text is cut at \
    each `;`; a line `DELIMITER //` changes that from there on, for routines.")]
pub(crate) struct SqlArgs {
    /// Name of a server (`truetps server list`)
    pub(crate) name: String,
    /// Statements, one after the other in one session; default: those of stdin
    pub(crate) sql: Vec<String>,
    /// Longest wait for one answer; the login has 10 s of it at most
    #[arg(long, value_name = "SECONDS", default_value_t = 3600, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) wait: u64,
    #[command(flatten)]
    pub(crate) sandbox: SandboxPlace,
}

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Name of a server (`truetps server list`)
    pub(crate) name: String,
    /// Number of lines
    #[arg(short = 'n', long, value_name = "N", default_value_t = 40)]
    pub(crate) lines: usize,
    #[command(flatten)]
    pub(crate) sandbox: SandboxPlace,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// Name of a server (`truetps server list`)
    pub(crate) name: String,
    /// Also where it runs, which is killed first, and where its own files cannot be read
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) sandbox: SandboxPlace,
}
