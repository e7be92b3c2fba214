//! What was typed. Each command turns it into what it means before anything starts.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use truetps_record::ProbeSpec;

use crate::load_args::{LoadArgs, Mode};
use crate::login::LoginArgs;
use crate::server_args::ServerCommand;
use crate::times;

#[derive(Debug, Parser)]
#[command(
    name = "truetps",
    version,
    about = "How many writes a second does a MySQL database really take, and what decides it?",
    after_help = "Start with:  truetps sweep --quick\n\n\
        Results go to stdout, progress and warnings to stderr. Exit codes: 0 good; 1 a threshold was crossed; 2 wrong usage or plan; \
        3 no comparison could be decided; 4 a trial failed (server died, clients failed); 130 interrupted, what was \
        measured is kept.",
    propagate_version = true
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: TruetpsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TruetpsCommand {
    /// Measure all configurations of a plan in randomised blocks, on a private or an external server (--dsn)
    Sweep(SweepArgs),
    /// Measure one configuration once: a single trial, on a private or an external server (--dsn)
    Run(Box<RunArgs>),
    /// List, show and check plans
    Plan {
        #[command(subcommand)]
        command: PlanCommand,
    },
    /// Watch a server without load: status, waits, sessions and the host, every second
    Probe(WatchArgs),
    /// Show an experiment's report again, from its folder
    Report(ReportArgs),
    /// Compare two runs or experiments: which figures differ, by how much, and which conditions differed
    Compare(CompareArgs),
    /// Show where throughput broke down in a run, and what the server waited on at that time
    Stalls(StallsArgs),
    /// Compare the settings of two servers: what differs, most likely to matter first
    Diff(DiffArgs),
    /// Manage named servers: add, start, query, stop; clean up after killed runs; capture a server's settings
    Server {
        #[command(subcommand)]
        command: ServerCommand,
    },
    /// Run sysbench's scripts and command lines, unmodified: `truetps sysbench --help`
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Sysbench {
        /// Options, script and command, as sysbench takes them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Run mysqlslap's command lines: `truetps slap --help`
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Slap {
        /// Options, as mysqlslap takes them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Run mtls-perf-bench's command lines: `truetps mtls --help`
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Mtls {
        /// Options and action, as mtls-perf-bench takes them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For the terminal
    Text,
    /// One valid JSON document (docs/reference/report.schema.json)
    Json,
    /// One row a configuration
    Csv,
    /// Markdown
    Md,
    /// One JSON object a trial, each on a line of its own
    Jsonl,
    /// The block of lines at the end of a sysbench run, for each trial
    Sysbench,
}

/// Of answers that are no whole report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    /// For the terminal
    Text,
    /// One valid JSON document
    Json,
    /// One row a figure, or a stall
    Csv,
    /// Markdown
    Md,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct FolderArgs {
    /// Folder of recorded experiments
    #[arg(long, value_name = "DIR", default_value = "runs", env = "TRUETPS_RUNS")]
    pub(crate) runs: PathBuf,
    #[command(flatten)]
    pub(crate) sandbox: SandboxPlace,
    /// Folder of an unpacked server; default: TRUETPS_BASEDIR, else the server in PATH or in the usual places
    #[arg(long, value_name = "DIR")]
    pub(crate) basedir: Option<PathBuf>,
    /// A server with a name (`truetps server add`), in place of the plan's
    #[arg(long, value_name = "NAME", conflicts_with_all = ["basedir", "dsn"])]
    pub(crate) server: Option<String>,
    /// Measure a running, external server in place of a private one: mysql://user@host:port, or
    /// postgresql://user@/database?socket=/path. Default: TRUETPS_DSN, if no other server is named. The password
    /// comes from TRUETPS_PASSWORD, ~/.my.cnf or the terminal
    #[arg(long, value_name = "DSN", conflicts_with = "basedir")]
    pub(crate) dsn: Option<String>,
    /// Schema to create in the server of --dsn, and to drop at the end; default: truetps
    #[arg(long, value_name = "NAME")]
    pub(crate) schema: Option<String>,
    /// Use the existing schema named by --schema: the run creates tables under unused names and drops only these
    /// tables
    #[arg(long, requires = "schema")]
    pub(crate) i_own_this_schema: bool,
    /// Show every statement that would be sent to the server of --dsn; send only queries that change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Option file of MySQL's programs: user and password of its group [client], if --dsn and TRUETPS_PASSWORD have
    /// none
    #[arg(long, value_name = "FILE")]
    pub(crate) defaults_file: Option<PathBuf>,
    /// Ask for the account's password on the terminal
    #[arg(long)]
    pub(crate) ask_password: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct SandboxPlace {
    /// Folder for private servers; its disk is the one measured. Default:
    /// /var/cache/truetps for root, else truetps in the user's cache folder
    #[arg(long, value_name = "DIR", env = "TRUETPS_SANDBOX_DIR")]
    pub(crate) sandbox_dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct EngineArgs {
    /// OS threads of the load generator; default: half of the cores, at least one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) workers: Option<u32>,
    /// How threads drive clients, in place of the plan's
    #[arg(long, value_enum)]
    pub(crate) mode: Option<Mode>,
    /// Bind generator and private server to separate cores: a list for the generator, such as 3 or 0-1,4, or auto
    #[arg(long, value_name = "CORES", num_args = 0..=1, default_missing_value = "auto")]
    pub(crate) pin: Option<String>,
    /// Show the run live on the whole terminal: throughput, latency, waits, stalls, results (? for keys)
    #[arg(long)]
    pub(crate) ui: bool,
    /// Format of the answer on stdout
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: OutputFormat,
}

/// How the probe reads server and host during a trial, in place of the plan's.
#[derive(Debug, Clone, Args)]
pub(crate) struct ProbeArgs {
    /// Interval between readings of server and host during the load: 250ms, 1s; default: the plan's, which is 1s
    #[arg(long, value_name = "TIME", value_parser = times::time)]
    probe_interval: Option<Duration>,
    /// Turn the probe off: read neither server nor host during the load
    #[arg(long, conflicts_with_all = ["probe_interval", "waits"])]
    no_probe: bool,
    /// Start private servers with wait events on: performance_schema with all wait events, and more metrics of
    /// InnoDB. This costs throughput
    #[arg(long)]
    waits: bool,
}

impl ProbeArgs {
    /// The section of a plan that means the same. It is checked with the plan.
    pub(crate) fn over(&self, planned: &ProbeSpec) -> ProbeSpec {
        ProbeSpec {
            enabled: !self.no_probe && (planned.enabled || self.probe_interval.is_some() || self.waits),
            interval_s: self.probe_interval.map_or(planned.interval_s, |interval| interval.as_secs_f64()),
            waits: planned.waits && !self.no_probe || self.waits,
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    truetps sweep --quick                 what each durability setting costs here, in about two minutes\n  \
    truetps sweep                         the same in about half an hour, with narrower intervals\n  \
    truetps sweep my-plan.toml            your own plan: copy one with `truetps plan show durability`\n  \
    truetps sweep --quick --server mysql-8.0   on a server that `truetps server add` has added\n  \
    truetps sweep my-plan.toml --dsn mysql://loader@db1   on a server of yours; --dry-run shows what would be sent\n  \
    truetps sweep --resume                resume the newest experiment")]
pub(crate) struct SweepArgs {
    /// Name of a plan (`truetps plan list`), or a TOML file; default: durability
    pub(crate) plan: Option<String>,
    /// Run the plan's short form
    #[arg(long)]
    pub(crate) quick: bool,
    /// Resume an interrupted experiment: its folder; default: the newest one
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, conflicts_with_all = ["plan", "quick", "seed", "server", "probe_interval", "no_probe", "waits"])]
    #[expect(clippy::option_option, reason = "clap's form of a flag whose value may be left out")]
    pub(crate) resume: Option<Option<PathBuf>>,
    /// Replicates, in place of the plan's; with --resume: the total number, to extend an experiment that has fewer
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) blocks: Option<u32>,
    /// Seed of all random choices, in place of the plan's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=i64::MAX as u64))]
    pub(crate) seed: Option<u64>,
    /// Start even if the run takes hours
    #[arg(long, short)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) place: FolderArgs,
    #[command(flatten)]
    pub(crate) probe: ProbeArgs,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    truetps run insert --connections 50 --measure 30\n  \
    truetps run insert --clients 1000 --rate-per-client 1/s --measure 3600\n  \
    truetps run insert --set innodb_flush_log_at_trx_commit=2 --set log_bin=ON --set sync_binlog=1\n  \
    truetps run insert --dsn mysql://loader@db1 --connections 50   on a server of yours; --dry-run shows what would be sent\n  \
    truetps run hot-row --connections 100\n  \
    truetps run delete-insert --key auto --table-rows 1000000\n  \
    truetps run update-index --distribution zipfian:theta=0.9\n\n\
    Workloads: docs/reference/workloads.md. `custom`, `sql` and `table` need a plan.")]
pub(crate) struct RunArgs {
    #[arg(help = workload_help())]
    pub(crate) workload: String,
    /// Number of concurrent sessions, one for each client
    #[arg(long, short, visible_alias = "clients", value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) connections: u32,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    /// A setting of the server; repeatable
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) settings: Vec<String>,
    /// Number of tables; default: 1
    #[arg(long, value_name = "N")]
    pub(crate) tables: Option<u32>,
    /// Rows in each table before the trial; default: 200000
    #[arg(long, value_name = "N")]
    pub(crate) table_rows: Option<u64>,
    /// How keys are drawn: uniform, zipfian, pareto, special or latest, with parameters as in zipfian:theta=0.8
    #[arg(long, value_name = "NAME")]
    pub(crate) distribution: Option<String>,
    /// Rows in each statement of bulk-insert; default: 100
    #[arg(long, value_name = "N")]
    pub(crate) rows_per_insert: Option<u32>,
    /// The key that delete-insert inserts: deleted (the one just deleted), random or auto
    #[arg(long, value_name = "MODE")]
    pub(crate) key: Option<String>,
    /// Rows that hot-row updates; default: 1
    #[arg(long, value_name = "N")]
    pub(crate) hot_rows: Option<u32>,
    /// How many statements of a kind a transaction of read-write has, such as point_selects=0; may be given again
    #[arg(long, value_name = "NAME=COUNT")]
    pub(crate) mix: Vec<String>,
    /// Send statements as SQL text, not as prepared statements
    #[arg(long)]
    pub(crate) text_protocol: bool,
    /// Seed of all random values
    #[arg(long, value_name = "N", default_value_t = 42, value_parser = clap::value_parser!(u64).range(0..=i64::MAX as u64))]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) place: FolderArgs,
    #[command(flatten)]
    pub(crate) probe: ProbeArgs,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

fn workload_help() -> String {
    format!("Workload to run: {}", truetps_workload::NAMES.join(", "))
}

#[derive(Debug, Subcommand)]
pub(crate) enum PlanCommand {
    /// List the plans that ship with truetps
    List,
    /// Print a plan, to copy and change it
    Show {
        /// Name of a plan, or a TOML file
        plan: String,
    },
    /// Validate a plan without starting anything: keys, values, and whether the server knows each setting and level
    Check {
        /// A TOML file, or the name of a plan
        plan: String,
        /// Folder of an unpacked server; default: TRUETPS_BASEDIR, else the server in PATH or in the usual places
        #[arg(long, value_name = "DIR")]
        basedir: Option<PathBuf>,
        /// A server with a name (`truetps server add`), in place of the plan's
        #[arg(long, value_name = "NAME", conflicts_with = "basedir")]
        server: Option<String>,
        #[command(flatten)]
        sandbox: SandboxPlace,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    truetps probe 'mysql://root@?socket=/run/mysqld/mysqld.sock'        until Ctrl-C, once a second\n  \
    TRUETPS_PASSWORD=… truetps probe mysql://monitor@db1 --interval 250ms --duration 1m\n  \
    truetps probe 'postgresql://postgres@/app?socket=/run/postgresql' --format csv > signals.csv\n\n\
    One session queries the server and changes nothing. One line per sample goes to stderr, the summary to stdout. \
    While the server does not answer, stderr says so.\n\
    Exit codes: 0 also after Ctrl-C; 2 wrong usage or login; 4 the server cannot be reached, or does not answer at the end. \
    docs/reference/probe.md")]
pub(crate) struct WatchArgs {
    /// The server: mysql://user@host:port or postgresql://user@host/database, or the name of a running server
    /// (`truetps server list`), as its owner. The password for a DSN comes from TRUETPS_PASSWORD, ~/.my.cnf or the
    /// terminal
    #[arg(value_name = "DSN|NAME")]
    pub(crate) server: String,
    #[command(flatten)]
    pub(crate) login: LoginArgs,
    #[command(flatten)]
    pub(crate) sandbox: SandboxPlace,
    /// Interval between readings of server and host, from 50ms to 60s
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = times::time)]
    pub(crate) interval: Duration,
    /// Time from the first reading to the last: 30s, 5m, at least one interval; default: until Ctrl-C
    #[arg(long, value_name = "TIME", value_parser = times::time)]
    pub(crate) duration: Option<Duration>,
    /// Folder to record the probe in
    #[arg(long, value_name = "DIR", default_value = "runs", env = "TRUETPS_RUNS")]
    pub(crate) runs: PathBuf,
    /// Format of the summary on stdout
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: TableFormat,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Folder of an experiment or a probe; default: the newest experiment
    pub(crate) folder: Option<PathBuf>,
    /// Folder of recorded experiments
    #[arg(long, value_name = "DIR", default_value = "runs", env = "TRUETPS_RUNS")]
    pub(crate) runs: PathBuf,
    /// Format of the answer on stdout; report.html in the folder is always rewritten
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: OutputFormat,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    truetps compare runs/run-insert-1 runs/run-insert-2\n  \
    truetps compare latest latest --a-levels key=deleted --b-levels key=auto   two levels of one experiment, block by block\n  \
    truetps compare runs/before runs/after --fail-if 'tps<-5%' --fail-if durability   for scripts\n\n\
    Exit codes: 0 decided, no threshold crossed; 1 a threshold was crossed; 2 wrong usage; 3 not enough data. A threshold is \
    crossed if the estimate is beyond it and the interval excludes zero; it is kept if the whole interval is on its \
    good side. Figures: tps, p99, max_gap and the lines of the cost ledger as --format csv names them. `durability` is \
    crossed if a crash can lose more acknowledged commits on B than on A; it cannot be judged if a side has no recorded \
    settings.")]
pub(crate) struct CompareArgs {
    /// The reference: an experiment's folder, a trial's folder, or `latest`
    pub(crate) a: PathBuf,
    /// What to compare with A
    pub(crate) b: PathBuf,
    /// Use only trials of A with this level; repeatable
    #[arg(long, value_name = "FACTOR=LEVEL")]
    pub(crate) a_levels: Vec<String>,
    /// Use only trials of B with this level; repeatable
    #[arg(long, value_name = "FACTOR=LEVEL")]
    pub(crate) b_levels: Vec<String>,
    /// Exit with 1 if a figure of B differs from A by more than this, or, with `durability`, if a crash can lose more
    /// commits on B than on A; may be given again
    #[arg(long, value_name = "NAME<PERCENT%|durability")]
    pub(crate) fail_if: Vec<String>,
    /// Folder of recorded experiments, with `latest`
    #[arg(long, value_name = "DIR", default_value = "runs", env = "TRUETPS_RUNS")]
    pub(crate) runs: PathBuf,
    /// Format of the answer on stdout
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: TableFormat,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    truetps stalls                               the newest experiment\n  \
    truetps stalls runs/run-insert-1/trial-0001  one trial\n\n\
    A stall is a period of 200 ms or more with less than 30 % of the usual throughput around it; a dip has less \
    than 70 %. docs/method.md")]
pub(crate) struct StallsArgs {
    /// An experiment's folder, or a trial's; default: the newest experiment
    pub(crate) folder: Option<PathBuf>,
    /// Folder of recorded experiments
    #[arg(long, value_name = "DIR", default_value = "runs", env = "TRUETPS_RUNS")]
    pub(crate) runs: PathBuf,
    /// Format of the answer on stdout
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: TableFormat,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    truetps server restore                             clean up after all killed runs of this user\n  \
    TRUETPS_PASSWORD=… truetps server restore --dsn mysql://admin@db1:3306\n\n\
    A setting is restored if it still has the value set by the run. Running the command again is safe. \
    docs/guides/your-own-server.md")]
pub(crate) struct RestoreArgs {
    /// The server, and the account to restore with; default: from --journal, else TRUETPS_DSN, else from each journal.
    /// The password comes from TRUETPS_PASSWORD, ~/.my.cnf or the terminal
    #[arg(long, value_name = "DSN")]
    pub(crate) dsn: Option<String>,
    #[command(flatten)]
    pub(crate) login: LoginArgs,
    /// The journal of one killed run; default: all journals
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,
    /// Accept the server as the journal's, although its host name, port, datadir or server_id has changed: for
    /// servers without a unique id (MariaDB)
    #[arg(long, requires_all = ["journal", "dsn"])]
    pub(crate) same_server: bool,
    /// Folder of recorded experiments; it also has the journals of a user without a home folder
    #[arg(long, value_name = "DIR", default_value = "runs", env = "TRUETPS_RUNS")]
    pub(crate) runs: PathBuf,
}

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

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    truetps diff prod.json test.json                   two captures (truetps server capture)\n  \
    truetps diff prod.json 'mysql://root@?socket=/run/mysqld/mysqld.sock'\n  \
    truetps diff old new                               two servers of `truetps server start`\n  \
    truetps diff /etc/mysql/my.cnf prod.json           does the server have the settings of its file?\n  \
    truetps diff runs/first/trial-0001 runs/latest --format md\n  \
    TRUETPS_PASSWORD_A=… TRUETPS_PASSWORD_B=… truetps diff mysql://me@db1 mysql://me@db2\n\n\
    TRUETPS_PASSWORD is for the one server without its own password; it is never sent to the other server.\n\
    Exit code: 0 whether or not something differs. docs/reference/settings.md")]
pub(crate) struct DiffArgs {
    /// A capture, an option file, a run folder, a server as mysql://… or postgresql://…, or the name of a running
    /// server (`truetps server list`); a file or folder of that name has precedence
    pub(crate) a: String,
    /// The same, to compare with
    pub(crate) b: String,
    #[command(flatten)]
    pub(crate) login: LoginArgs,
    #[command(flatten)]
    pub(crate) sandbox: SandboxPlace,
    /// The option file of --defaults-file, for A only
    #[arg(long, value_name = "FILE")]
    pub(crate) defaults_file_a: Option<PathBuf>,
    /// The option file of --defaults-file, for B only
    #[arg(long, value_name = "FILE")]
    pub(crate) defaults_file_b: Option<PathBuf>,
    /// Format of the answer on stdout
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: DiffFormat,
    /// Also show what is folded away: identities, positions, and unknown variables of only one version
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiffFormat {
    /// For the terminal
    Text,
    /// One JSON document, with all that is folded away
    Json,
    /// Markdown
    Md,
}
