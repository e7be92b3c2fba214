//! Arguments of several commands.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use truetps_plan::ProbeSpec;
use truetps_record::Part;

use crate::args::load::Mode;
use crate::args::{TrialsAnswerArgs, Words};
use crate::login::LoginArgs;
use crate::times;

#[derive(Debug, Clone, Args)]
pub(crate) struct FolderArgs {
    /// Folder of recorded experiments
    #[arg(long, value_name = "DIR", default_value = "runs", env = "TRUETPS_RUNS")]
    pub(crate) runs: PathBuf,
    #[command(flatten)]
    pub(crate) sandbox: SandboxPlace,
    /// Folder of an unpacked server; default: TRUETPS_BASEDIR, else the server in PATH or in the
    /// usual places
    #[arg(long, value_name = "DIR")]
    pub(crate) basedir: Option<PathBuf>,
    /// A server with a name (`truetps server add`), in place of the plan's
    #[arg(long, value_name = "NAME", conflicts_with_all = ["basedir", "dsn"], add = ArgValueCompleter::new(Words::Servers))]
    pub(crate) server: Option<String>,
    /// The private server's own option file, such as a my.cnf of production: settings that a
    /// private server must have itself (datadir, socket, user, …) are ignored and listed; the
    /// plan's and --set replace the file's
    #[arg(long, value_name = "FILE", conflicts_with = "dsn")]
    pub(crate) my_cnf: Option<PathBuf>,
    /// An emulated disk for the private server, in place of the plan's: hdd7200, sata-ssd, …
    /// (`truetps disk list`), or the path of a profile. Without root, its file system is modelled
    #[arg(long, value_name = "PROFILE", conflicts_with = "dsn", add = ArgValueCompleter::new(Words::Disks))]
    pub(crate) disk: Option<String>,
    /// Measure a running, external server in place of a private one: mysql://user@host:port, or
    /// postgresql://user@/database?socket=/path. Default: TRUETPS_DSN, if no other server is named.
    /// The password comes from TRUETPS_PASSWORD, ~/.my.cnf or the terminal
    #[arg(long, value_name = "DSN", conflicts_with = "basedir")]
    pub(crate) dsn: Option<String>,
    /// Schema to create in the server of --dsn, and to drop at the end; default: truetps
    #[arg(long, value_name = "NAME")]
    pub(crate) schema: Option<String>,
    /// Use the existing schema named by --schema: the run creates tables under unused names and
    /// drops only these tables
    #[arg(long, requires = "schema")]
    pub(crate) i_own_this_schema: bool,
    /// Show every statement that would be sent to the server of --dsn; send only queries that
    /// change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Option file of MySQL's programs: user and password of its group [client], if --dsn and
    /// TRUETPS_PASSWORD have none
    #[arg(long, value_name = "FILE")]
    pub(crate) defaults_file: Option<PathBuf>,
    /// Ask for the account's password on the terminal
    #[arg(long)]
    pub(crate) ask_password: bool,
}

impl FolderArgs {
    /// Whether the server is named in another way than by its name.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.dsn.is_some() || self.basedir.is_some()
    }
}

#[derive(Debug, Clone, Args)]
pub(crate) struct SandboxPlace {
    /// Folder for private servers; its disk is the one measured. Default:
    /// /var/cache/truetps for root, else truetps in the user's cache folder
    #[arg(long, value_name = "DIR", env = "TRUETPS_SANDBOX_DIR")]
    pub(crate) sandbox_dir: Option<PathBuf>,
}

/// Where the load generator runs.
#[derive(Debug, Clone, Args)]
pub(crate) struct GeneratorArgs {
    /// OS threads of the load generator; default: half of the cores, at least one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) workers: Option<u32>,
    /// Bind the threads that drive clients, and the private server, to separate cores: a list for
    /// these threads, such as 3 or 0-1,4, or auto. Threads that record the run and watch the server
    /// are not bound
    #[arg(long, value_name = "CORES", num_args = 0..=1, default_missing_value = "auto")]
    pub(crate) pin: Option<String>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct EngineArgs {
    #[command(flatten)]
    pub(crate) generator: GeneratorArgs,
    /// How threads drive clients, in place of the plan's
    #[arg(long, value_enum)]
    pub(crate) mode: Option<Mode>,
    /// Make one part of the load: part I of N, counted from 0, such as 0/4. The other parts are
    /// started elsewhere with the same command and meet in the server of --dsn; `truetps merge`
    /// puts them together. auto: the numbers of Slurm or Open MPI; auto/N: the number of a
    /// Kubernetes Indexed Job (`truetps help guides/many-machines`). They prove who they are by the
    /// account's password, or by the same TRUETPS_PARTS_SECRET
    #[arg(long, value_name = "I/N", value_parser = part)]
    pub(crate) part: Option<Part>,
    /// How long parts wait for each other before the first trial: 90s, 1h
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = times::time, requires = "part")]
    pub(crate) part_wait: Duration,
    /// Show the run live on the whole terminal: throughput, latency, waits, stalls, results (? for
    /// keys)
    #[arg(long)]
    pub(crate) ui: bool,
    #[command(flatten)]
    pub(crate) answer: TrialsAnswerArgs,
}

/// How the probe reads server and host during a trial, in place of the plan's.
#[derive(Debug, Clone, Args)]
pub(crate) struct ProbeArgs {
    /// Interval between readings of server and host during the load: 250ms, 1s; default: the
    /// plan's, which is 1s
    #[arg(long, value_name = "TIME", value_parser = times::time)]
    probe_interval: Option<Duration>,
    /// Turn the probe off: read neither server nor host during the load
    #[arg(long, conflicts_with_all = ["probe_interval", "waits"])]
    no_probe: bool,
    /// Start private servers with wait events on: performance_schema with all wait events, and more
    /// metrics of InnoDB. This costs throughput
    #[arg(long)]
    waits: bool,
}

/// The part of the load that this process makes.
fn part(text: &str) -> Result<Part, String> {
    Part::choose(text, |name| std::env::var(name).ok())
}

impl ProbeArgs {
    /// The section of a plan that means the same. It is checked with the plan.
    pub(crate) fn over(&self, planned: &ProbeSpec) -> ProbeSpec {
        ProbeSpec {
            enabled: !self.no_probe
                && (planned.enabled || self.probe_interval.is_some() || self.waits),
            interval_s: self
                .probe_interval
                .map_or(planned.interval_s, |interval| interval.as_secs_f64()),
            waits: planned.waits && !self.no_probe || self.waits,
        }
    }
}

/// A server that is only read.
#[derive(Debug, Args)]
pub(crate) struct ReadServerArgs {
    /// The server: mysql://user@host:port or postgresql://user@host/database, or the name of a
    /// running server (`truetps server list`), as its owner. The password for a DSN comes from
    /// TRUETPS_PASSWORD, ~/.my.cnf or the terminal
    #[arg(value_name = "DSN|NAME", add = ArgValueCompleter::new(Words::Servers))]
    pub(crate) named: String,
    #[command(flatten)]
    pub(crate) login: LoginArgs,
    #[command(flatten)]
    pub(crate) sandbox: SandboxPlace,
}
