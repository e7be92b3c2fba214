//! The typed arguments. Each command resolves them before anything starts.

pub(crate) mod answer;
mod capture;
mod compare;
mod config;
mod crash;
mod diff;
mod disk;
mod explain;
mod gateway;
pub(crate) mod load;
mod merge;
mod plan;
mod pool;
mod prealloc;
mod probe;
mod report;
mod restore;
mod run;
pub(crate) mod server;
mod shared;
mod short_plan;
mod stalls;
mod sweep;
mod verify;
mod words;

pub(crate) use answer::{AnswerForm, DocumentArgs, ListAnswerArgs, TrialsAnswerArgs};
pub(crate) use capture::CaptureArgs;
pub(crate) use compare::CompareArgs;
pub(crate) use config::ConfigCommand;
pub(crate) use crash::CrashArgs;
pub(crate) use diff::DiffArgs;
pub(crate) use disk::DiskCommand;
pub(crate) use explain::ExplainArgs;
pub(crate) use gateway::GatewayArgs;
pub(crate) use merge::MergeArgs;
pub(crate) use plan::{CheckArgs, PlanCommand};
pub(crate) use pool::PoolArgs;
pub(crate) use prealloc::{
    AdviseArgs, BinlogArgs, InstallArgs, PreallocCommand, TrimArgs, UninstallArgs,
};
pub(crate) use probe::{ListenArgs, WatchArgs};
pub(crate) use report::ReportArgs;
pub(crate) use restore::RestoreArgs;
pub(crate) use run::RunArgs;
pub(crate) use shared::{
    EngineArgs, FolderArgs, GeneratorArgs, ProbeArgs, ReadServerArgs, SandboxPlace,
};
pub(crate) use short_plan::{ChangedLoadArgs, ShortPlanArgs};
pub(crate) use stalls::StallsArgs;
pub(crate) use sweep::SweepArgs;
pub(crate) use verify::VerifyArgs;
pub(crate) use words::{Shell, Words};

use std::ffi::OsString;

use clap::{Parser, Subcommand};
use clap_complete::engine::ArgValueCompleter;
use truetps_sandbox::DISK_HELPER;

use crate::args::server::ServerCommand;
use crate::version;

#[derive(Debug, Parser)]
#[command(
    name = "truetps",
    version = version::short(),
    long_version = version::long(),
    about = "How many writes a second does a MySQL database really take, and what decides it?",
    after_help = "Start with:  truetps sweep --quick\n\n\
        Results go to stdout, progress and warnings to stderr. Exit codes: 0 good; 1 a threshold \
        was crossed; 2 wrong usage or plan; 3 no comparison could be decided; 4 a trial failed \
        (server died, clients failed); 130 interrupted, what was measured is kept.\n\n\
        The documentation is in the program: `truetps help topics` lists its pages.",
    propagate_version = true,
    disable_help_subcommand = true
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: TruetpsCommand,
    /// Print no progress: only the answer, warnings and errors
    #[arg(long, short, global = true, visible_alias = "silent", display_order = 900)]
    pub(crate) quiet: bool,
}

const COMPLETIONS_HELP: &str = "Packages install these scripts. For a program that was built from \
    source:\n  \
    bash   echo 'source <(truetps completions bash)' >> ~/.bashrc\n  \
    zsh    echo 'source <(truetps completions zsh)' >> ~/.zshrc     (behind the line with \
    compinit)\n  \
    fish   truetps completions fish > ~/.config/fish/completions/truetps.fish\n\n\
    The scripts ask the program for plans, workloads, named servers and recorded runs, so \
    `truetps` has to be in PATH.";

#[derive(Debug, Subcommand)]
pub(crate) enum TruetpsCommand {
    /// Measure all configurations of a plan in randomised blocks, on a private or an external
    /// server (--dsn)
    Sweep(Box<SweepArgs>),
    /// Measure one configuration: a single trial, or --repeat N, on a private or an external server
    /// (--dsn)
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
    /// Compare two runs or experiments: which figures differ, by how much, and which conditions
    /// differed
    Compare(CompareArgs),
    /// Put the parts of a load together: counts added, histograms merged, as one run
    Merge(MergeArgs),
    /// Measure which of the differences between two configurations makes one slower
    Explain(Box<ExplainArgs>),
    /// Find how many connections a pool needs, and its other parameters
    Pool(Box<PoolArgs>),
    /// Show where throughput broke down in a run, and what the server waited on at that time
    Stalls(StallsArgs),
    /// Compare the settings of two servers: what differs, most likely to matter first
    Diff(DiffArgs),
    /// Manage named servers: add, start, query, stop; clean up after killed runs; capture a
    /// server's settings
    Server {
        #[command(subcommand)]
        command: ServerCommand,
    },
    /// Crash private servers under load, and count what is gone: what each setting costs, and what
    /// it loses
    Crash(CrashArgs),
    /// Send rows to a service or a server for as long as asked, and verify that every acknowledged
    /// row is there
    Verify(Box<VerifyArgs>),
    /// Take rows over HTTP and commit them together: each is answered after its commit, and stored
    /// once
    Gateway(Box<GatewayArgs>),
    /// Preallocate the binlogs of a server without a patch (experimental): measure, install, watch,
    /// pause, repair
    Prealloc {
        #[command(subcommand)]
        command: PreallocCommand,
    },
    /// List and show the profiles of emulated disks, for `--disk` and plans
    Disk {
        #[command(subcommand)]
        command: DiskCommand,
    },
    /// Show what this machine has and lacks: servers, disk, limits, emulated disks
    Doctor(SandboxPlace),
    /// Show the settings: defaults from the environment, truetps.toml and the user's configuration
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Show the help of a command, or a page of the documentation: `truetps help topics` lists the
    /// pages
    Help {
        /// A command, or the name of a page
        #[arg(value_name = "COMMAND|TOPIC", add = ArgValueCompleter::new(Words::HelpTopics))]
        words: Vec<String>,
    },
    /// Print the script that completes command lines in a shell
    #[command(after_help = COMPLETIONS_HELP)]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the manual pages for `man` to a folder
    ManPages {
        /// Folder to write them to
        folder: std::path::PathBuf,
    },
    /// Run an emulated disk for the process that started this one
    #[command(name = DISK_HELPER, hide = true)]
    DiskHelper {
        /// The disk's folder, by which its process is recognised; its owner sends the rest
        folder: std::path::PathBuf,
    },
    /// Run sysbench's scripts and command lines, unmodified: `truetps sysbench --help`
    #[command(
        disable_help_flag = true,
        disable_version_flag = true,
        after_help = "`truetps sysbench --help` lists the \
        options, `truetps help guides/sysbench` and `reference/sysbench` describe them."
    )]
    Sysbench {
        /// Options, script and command, as sysbench takes them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Run mysqlslap's command lines: `truetps slap --help`
    #[command(
        disable_help_flag = true,
        disable_version_flag = true,
        after_help = "`truetps slap --help` lists the \
        options, `truetps help reference/slap` describes them."
    )]
    Slap {
        /// Options, as mysqlslap takes them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Run mtls-perf-bench's command lines: `truetps mtls --help`
    #[command(
        disable_help_flag = true,
        disable_version_flag = true,
        after_help = "`truetps mtls --help` lists the \
        options, `truetps help reference/mtls` describes them."
    )]
    Mtls {
        /// Options and action, as mtls-perf-bench takes them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

impl TruetpsCommand {
    /// Whether the command has defaults that a user may set. The others work with a broken file of
    /// settings, too.
    pub(crate) fn has_settings(&self) -> bool {
        !matches!(
            self,
            Self::Help { .. }
                | Self::Completions { .. }
                | Self::ManPages { .. }
                | Self::DiskHelper { .. }
        )
    }
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory};

    use super::*;

    fn check_aliases(command: &Command) {
        for arg in command.get_arguments().filter(|arg| arg.is_positional()) {
            let aliases = arg.get_all_aliases().unwrap_or_default();
            assert!(aliases.is_empty(), "{} {arg}: {aliases:?}", command.get_name());
        }
        command.get_subcommands().for_each(check_aliases);
    }

    /// Help shows them as flags, which there are not.
    #[test]
    fn a_word_without_a_flag_has_no_alias() {
        check_aliases(&Cli::command());
    }
}
