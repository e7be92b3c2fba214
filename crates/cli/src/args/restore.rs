//! `truetps server restore`

use std::path::PathBuf;

use clap::Args;

use crate::login::LoginArgs;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    truetps server restore                             clean up after all killed runs of this \
    user\n  \
    TRUETPS_PASSWORD=… truetps server restore --dsn mysql://admin@db1:3306\n\n\
    A setting is restored if it still has the value set by the run. Running the command again is \
    safe. `truetps help your-own-server`")]
pub(crate) struct RestoreArgs {
    /// The server, and the account to restore with; default: from --journal, else TRUETPS_DSN, else
    /// from each journal. The password comes from TRUETPS_PASSWORD, ~/.my.cnf or the terminal
    #[arg(long, value_name = "DSN")]
    pub(crate) dsn: Option<String>,
    #[command(flatten)]
    pub(crate) login: LoginArgs,
    /// The journal of one killed run; default: all journals
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,
    /// Accept the server as the journal's, although its host name, port, datadir or server_id has
    /// changed: for servers without a unique id (MariaDB)
    #[arg(long, requires_all = ["journal", "dsn"])]
    pub(crate) same_server: bool,
    /// Folder of recorded experiments; it also has the journals of a user without a home folder
    #[arg(long, value_name = "DIR", default_value = "runs", env = "TRUETPS_RUNS")]
    pub(crate) runs: PathBuf,
}
