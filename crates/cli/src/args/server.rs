//! What was typed after `truetps server`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCompleter;

use crate::args::Words;
use crate::args::{CaptureArgs, RestoreArgs, SandboxPlace};

#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:\n  \
    truetps server add maria                                names the installed server\n  \
    truetps server add mysql-8.0 mysql-8.0.36-linux.tar.xz  a downloaded one\n  \
    truetps server start mysql-8.0 --set sync_binlog=1000\n  \
    truetps server sql mysql-8.0 'SELECT @@version'\n  \
    truetps server stop mysql-8.0\n\n\
    `truetps help reference/server`")]
pub(crate) enum ServerCommand {
    /// Name a server program
    Add(AddArgs),
    /// List named servers, private servers of runs, and leftovers of killed runs
    List(SandboxPlace),
    /// Start a server on its own data; it runs until it is stopped
    Start(StartArgs),
    /// Stop a server that `start` has started
    Stop(StopArgs),
    /// Show whether a server runs, and where. Exit code: 0 it runs, 1 it does not
    Status(NameArgs),
    /// Run SQL in a server that `start` has started
    Sql(SqlArgs),
    /// Print the end of a server's log
    Log(LogArgs),
    /// Remove a server's data and its unpacked archive; a folder given to `add` is kept
    Remove(RemoveArgs),
    /// Remove leftovers of killed runs; servers in use and named servers are not touched
    Clean(CleanArgs),
    /// Restore a server of --dsn after a killed run: its settings and its schema
    Restore(RestoreArgs),
    /// Write a server's settings and host to a file, to keep and to compare
    Capture(CaptureArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CleanArgs {
    /// Also the templates: initialised datadirs that are kept, so that the next run starts sooner
    #[arg(long)]
    pub(crate) templates: bool,
    #[command(flatten)]
    pub(crate) sandbox: SandboxPlace,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    truetps server add maria\n  \
    truetps server add mysql-5.7 /opt/mysql-5.7.44\n  \
    truetps server add mysql-8.0 mysql-8.0.36-linux-glibc2.28-x86_64.tar.xz\n  \
    truetps server add prod mariadb --my-cnf /etc/mysql/my.cnf   with the settings of \
    production\n  \
    truetps server add pg15 /usr/lib/postgresql/15")]
pub(crate) struct AddArgs {
    /// Its name: a to z, 0 to 9, `.`, `_`, `-`
    pub(crate) name: String,
    /// An archive (.tar, .tar.gz, .tgz, .tar.xz), the folder of an unpacked server, or mariadb,
    /// mysql, percona or postgresql for the installed one; default: the installed one that the name
    /// begins with, or any
    pub(crate) path: Option<PathBuf>,
    /// The option file of its private servers, such as a my.cnf of production: read now. Settings
    /// that a private server must have itself (datadir, socket, user, …) are ignored and listed
    #[arg(long, value_name = "FILE")]
    pub(crate) my_cnf: Option<PathBuf>,
    /// Replace the server that has this name; data of the same series are kept
    #[arg(long)]
    pub(crate) replace: bool,
    #[command(flatten)]
    pub(crate) sandbox: SandboxPlace,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    truetps server start maria\n  \
    truetps server start mysql-8.0 --set innodb_flush_log_at_trx_commit=2 --set log_bin=ON\n  \
    truetps server start mysql-8.0 --port 13306     for clients without socket support\n  \
    truetps server start slow --disk hdd7200        as if its data were on a spinning disk\n\n\
    The datadir is created at the first start and kept. The settings of a command line apply to \
    that start only; the emulated disk of the first start is kept. The server's owner is root (of \
    PostgreSQL: postgres), without a password.")]
pub(crate) struct StartArgs {
    /// Name of a server (`truetps server list`)
    #[arg(add = ArgValueCompleter::new(Words::Servers))]
    pub(crate) name: String,
    /// A setting of the server; repeatable
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) settings: Vec<String>,
    /// Also listen on this port of 127.0.0.1, for accounts that you create: root can use the socket
    /// only
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,
    /// Emulate a disk (`truetps disk list`, or a .toml file); chosen at the first start, and
    /// changed by later ones in speed only. Needs root
    #[arg(long, value_name = "PROFILE", add = ArgValueCompleter::new(Words::Disks))]
    pub(crate) disk: Option<String>,
    /// Longest wait for the server to answer
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) wait: u64,
    #[command(flatten)]
    pub(crate) sandbox: SandboxPlace,
}

#[derive(Debug, Args)]
pub(crate) struct StopArgs {
    /// Name of a server (`truetps server list`)
    #[arg(add = ArgValueCompleter::new(Words::Servers))]
    pub(crate) name: String,
    /// Kill the server, as `kill -9` does, without asking it to stop
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
    #[arg(add = ArgValueCompleter::new(Words::Servers))]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) sandbox: SandboxPlace,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    truetps server sql maria 'SHOW DATABASES'\n  \
    truetps server sql maria 'CREATE DATABASE app' 'SHOW DATABASES'\n  \
    truetps server sql maria < schema.sql\n\n\
    A table at a terminal, otherwise columns with tabs between them and their names in the first \
    line. A text is cut at each `;`; a line `DELIMITER //` changes the separator from there on, \
    for routines.")]
pub(crate) struct SqlArgs {
    /// Name of a server (`truetps server list`)
    #[arg(add = ArgValueCompleter::new(Words::Servers))]
    pub(crate) name: String,
    /// Statements, run in order in one session; default: read from stdin
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
    #[arg(add = ArgValueCompleter::new(Words::Servers))]
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
    #[arg(add = ArgValueCompleter::new(Words::Servers))]
    pub(crate) name: String,
    /// Also if the server runs (it is killed first), and if its files cannot be read
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) sandbox: SandboxPlace,
}
