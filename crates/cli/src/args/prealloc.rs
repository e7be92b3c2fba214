//! `truetps prealloc`

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::args::{FolderArgs, SandboxPlace};
use crate::login::LoginArgs;

#[derive(Debug, Subcommand)]
#[command(
    after_help = "Experimental: `truetps help preallocation` says what is proven, when it helps, \
                  and what backups have to know."
)]
pub(crate) enum PreallocCommand {
    /// Measure on private servers what preallocation would bring, before anything is installed
    Advise(Box<AdviseArgs>),
    /// Check a server, and print what makes it preload the library: a drop-in of systemd; --write
    /// installs it
    Install(InstallArgs),
    /// Show whether a server preallocates: files, bytes ahead, fallbacks
    Status(BinlogArgs),
    /// Cut the active binlog to its content and stop preallocating, before a backup that copies it
    Pause(BinlogArgs),
    /// Preallocate again
    Resume(BinlogArgs),
    /// Cut the binlogs of a stopped server to their content, so that it can start without the
    /// library after a crash
    Trim(TrimArgs),
    /// Remove what `install --write` has installed, and say what is left to do
    Uninstall(UninstallArgs),
}

/// Which server, by its binlogs.
#[derive(Debug, Args)]
pub(crate) struct BinlogArgs {
    /// The server: its address (`truetps help dsn`), a name of `truetps server list`, its datadir,
    /// or the path of its binlogs without the number, such as /var/lib/mysql/binlog
    #[arg(value_name = "DSN|NAME|PATH")]
    pub(crate) named: String,
    #[command(flatten)]
    pub(crate) login: LoginArgs,
    #[command(flatten)]
    pub(crate) sandbox: SandboxPlace,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    truetps prealloc advise                                        with the flushes of this \
    machine's disk\n  \
    truetps prealloc advise --disk sata-ssd -c 50,100              on an emulated disk\n  \
    truetps prealloc advise --folder /var/lib/mysql                on an emulation of the disk of \
    that folder\n  \
    truetps prealloc advise mysql://root@db1 --disk db1-disk.toml  with the settings of a server; \
    it is only read")]
pub(crate) struct AdviseArgs {
    /// A server whose settings are used for the private ones: its address, or a name of
    /// `truetps server list`. It is read, and not changed
    #[arg(value_name = "DSN|NAME")]
    pub(crate) named: Option<String>,
    /// The load: a workload, such as insert or update-index
    #[arg(long, value_name = "WORKLOAD", default_value = "insert")]
    pub(crate) workload: String,
    /// Numbers of connections
    #[arg(long, short, value_name = "N,N", value_delimiter = ',', default_value = "1,50")]
    pub(crate) connections: Vec<u32>,
    /// Blocks of trials
    #[arg(long, value_name = "N", default_value_t = 6)]
    pub(crate) blocks: u32,
    /// Measure the disk of this folder, and emulate it
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["disk", "dsn"])]
    pub(crate) folder: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) place: FolderArgs,
}

#[derive(Debug, Args)]
pub(crate) struct InstallArgs {
    #[command(flatten)]
    pub(crate) server: BinlogArgs,
    /// Zeros ahead of the writes in the active binlog (ahead), or a number of prepared files
    #[arg(long, value_name = "ahead|N", default_value = "ahead")]
    pub(crate) mode: String,
    /// The service of systemd that starts the server
    #[arg(long, value_name = "NAME", default_value = "mariadb")]
    pub(crate) service: String,
    /// Where the library is put
    #[arg(long, value_name = "FOLDER", default_value = "/usr/local/lib/truetps")]
    pub(crate) library_dir: PathBuf,
    /// Use it on a server version that was not tested
    #[arg(long)]
    pub(crate) force: bool,
    /// Write library and drop-in, as root. No server is restarted
    #[arg(long)]
    pub(crate) write: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 all binlogs end with their last event now (or did before); 2 a \
    server uses them, or there is none;\n    \
    4 one was left as it is: encrypted, without checksums, or damaged in a way that no crash \
    explains."
)]
pub(crate) struct TrimArgs {
    /// The datadir of the stopped server, or the path of its binlogs without the number
    #[arg(value_name = "PATH")]
    pub(crate) path: PathBuf,
    /// Only say what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UninstallArgs {
    /// The service of systemd that starts the server
    #[arg(long, value_name = "NAME", default_value = "mariadb")]
    pub(crate) service: String,
    /// Where the library is
    #[arg(long, value_name = "FOLDER", default_value = "/usr/local/lib/truetps")]
    pub(crate) library_dir: PathBuf,
    /// Remove them, as root; without it, only say what would be removed
    #[arg(long)]
    pub(crate) write: bool,
}
