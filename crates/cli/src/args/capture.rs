//! `truetps server capture`

use std::path::PathBuf;

use clap::Args;

use crate::args::SandboxPlace;
use crate::login::LoginArgs;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    truetps server capture 'mysql://root@?socket=/run/mysqld/mysqld.sock' -o prod.json\n  \
    TRUETPS_PASSWORD=… truetps server capture mysql://monitor@db1:3306 -o db1.json\n  \
    truetps server capture 'postgresql://postgres@/app?socket=/run/postgresql' > pg.json\n\n\
    Changes nothing in the server. Values of variables that may be secret are left out. docs/reference/settings.md")]
pub(crate) struct CaptureArgs {
    /// The server: mysql://user@host:port or postgresql://user@host/database, or the name of a running server
    /// (`truetps server list`), as its owner. The password for a DSN comes from TRUETPS_PASSWORD, ~/.my.cnf or the
    /// terminal
    #[arg(value_name = "DSN|NAME")]
    pub(crate) server: String,
    #[command(flatten)]
    pub(crate) login: LoginArgs,
    #[command(flatten)]
    pub(crate) sandbox: SandboxPlace,
    /// File to write; default: stdout
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Measure the time of a flush in this folder, which is on the disk of the server's data: for 1.5 seconds, in a
    /// temporary file
    #[arg(long, value_name = "DIR")]
    pub(crate) flush_dir: Option<PathBuf>,
}
