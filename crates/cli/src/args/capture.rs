//! `truetps server capture`

use std::path::PathBuf;

use clap::Args;

use crate::args::ReadServerArgs;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    truetps server capture 'mysql://root@?socket=/run/mysqld/mysqld.sock' -o prod.json\n  \
    TRUETPS_PASSWORD=… truetps server capture mysql://monitor@db1:3306 -o db1.json\n  \
    truetps server capture 'postgresql://postgres@/app?socket=/run/postgresql' > pg.json\n\n\
    Changes nothing in the server. Values of variables that may be secret are left out. `truetps \
    help settings`")]
pub(crate) struct CaptureArgs {
    #[command(flatten)]
    pub(crate) server: ReadServerArgs,
    /// File to write; default: stdout
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Measure the time of a flush in this folder, which is on the disk of the server's data: for
    /// 1.5 seconds, in a temporary file
    #[arg(long, value_name = "DIR")]
    pub(crate) flush_dir: Option<PathBuf>,
}
