//! `truetps explain`

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use crate::args::Words;
use crate::args::{ChangedLoadArgs, DocumentArgs, FolderArgs, GeneratorArgs};
use crate::times::time;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    truetps explain defaults /etc/mysql/my.cnf                  which line of the file makes the \
    server slower or faster?\n  \
    truetps explain old.cnf new.cnf --plan hot-row              of all lines that differ, with the \
    load of a plan\n  \
    truetps explain mysql-5.7 mysql-8.0 --plan hot-row          two versions: what is theirs, and \
    what is a default's?\n  \
    truetps explain --plan hot-row-57-80                        the same, with the servers that \
    the plan names\n  \
    truetps explain sync_binlog=1,log_bin=ON sync_binlog=0 --plan update-index -c 16\n  \
    truetps explain prod.json test.json --budget 10m            two captures (truetps server \
    capture)\n\n\
    Both configurations, and mixtures of them, are measured on private servers, in short trials: \
    see `truetps help why-slower`. Exit codes: 0 explained, or no difference, or none that can be \
    measured; 3 not explained; 4 A or B gave no result. What one side sets and the other does not \
    is the server's default on the other; what neither sets is chosen by truetps, and the answer \
    names it.\n\n\
    Names such as mysql-5.7 are servers that `truetps server add` has added.")]
pub(crate) struct ExplainArgs {
    /// The first configuration: an option file, a capture, a run folder, a named server
    /// (`truetps server list`), settings as NAME=VALUE,NAME=VALUE, or the word defaults
    #[arg(add = ArgValueCompleter::new(Words::SettingsSources), required_unless_present_any = ["resume", "plan"])]
    pub(crate) a: Option<String>,
    /// The second one: what makes its result differ from A's? Default of both: the two servers that
    /// the plan compares
    #[arg(add = ArgValueCompleter::new(Words::SettingsSources), required_unless_present_any = ["resume", "plan"])]
    pub(crate) b: Option<String>,
    /// The load: name of a plan (`truetps plan list`), a TOML file, or a workload; default: the
    /// load of a run folder, else insert. Of a plan with several numbers of connections, the middle
    /// one
    #[arg(long, visible_alias = "workload", value_name = "PLAN", add = ArgValueCompleter::new(Words::Plans))]
    pub(crate) plan: Option<String>,
    /// Number of connections, in place of the plan's
    #[arg(long, short, visible_aliases = ["clients", "threads"], value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) connections: Option<u32>,
    #[command(flatten)]
    pub(crate) load: ChangedLoadArgs,
    /// Differences below this are of no interest, in percent; at least a tenth of the difference
    /// between A and B
    #[arg(long, value_name = "PERCENT", default_value_t = 3.0, value_parser = percent)]
    pub(crate) smallest: f64,
    /// Time for all trials, such as 10m: when it is over, the answer is what is known
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) budget: Option<Duration>,
    /// Seed of all random choices
    #[arg(long, value_name = "N", default_value_t = 42, value_parser = clap::value_parser!(u64).range(0..=i64::MAX as u64))]
    pub(crate) seed: u64,
    /// Go on with an explanation that was stopped: its folder; default: the newest experiment. A, B
    /// and the other flags are as they were
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, conflicts_with_all = ["a", "b", "plan", "connections", "settings", "warm_up", "measure", "table_rows", "smallest", "seed", "pin", "workers", "server", "basedir", "my_cnf", "disk", "dsn", "schema", "i_own_this_schema"])]
    #[expect(clippy::option_option, reason = "clap's form of a flag whose value may be left out")]
    pub(crate) resume: Option<Option<PathBuf>>,
    #[command(flatten)]
    pub(crate) generator: GeneratorArgs,
    #[command(flatten)]
    pub(crate) answer: DocumentArgs,
    #[command(flatten)]
    pub(crate) place: FolderArgs,
}

fn percent(word: &str) -> Result<f64, String> {
    let percent =
        word.trim_end_matches('%').parse().ok().filter(|percent| (0.1..=100.0).contains(percent));
    percent.ok_or_else(|| "not a number from 0.1 to 100".to_owned())
}
