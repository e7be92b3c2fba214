//! `truetps pool`

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap_complete::engine::ArgValueCompleter;
use truetps_plan::parse_rate;
use truetps_report::PoolLibrary;

use crate::args::Words;
use crate::args::{ChangedLoadArgs, DocumentArgs, FolderArgs, GeneratorArgs};
use crate::times;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    truetps pool --quick                                how many connections does an insert need \
    here? about four minutes\n  \
    truetps pool --current 10 --rate 1000 --p99 100ms   is the pool of 10 right for 1,000 \
    transactions a second?\n  \
    truetps pool update-index --disk hdd7200            on an emulated disk\n  \
    truetps pool my-plan.toml --dsn mysql://loader@db1 --instances 4 --for hikaricp   a server of \
    yours, four processes\n  \
    truetps pool --resume                               go on with the newest one\n\n\
    The answer is the smallest number of connections that gives 95 % of the best throughput within \
    the limit of p99; with --rate, first whether --current carries the rate, or the smallest \
    number that does. Exit codes: 0 advised; 1 nothing keeps the limit of p99; 3 stopped before \
    the advice was checked; 4 no trial gave a result. `truetps help reference/pool`")]
pub(crate) struct PoolArgs {
    /// The load: name of a plan (`truetps plan list`), a TOML file, or a workload; default: insert
    #[arg(add = ArgValueCompleter::new(Words::Plans))]
    pub(crate) plan: Option<String>,
    /// Fewer and shorter trials: an answer in about four minutes, with wider intervals
    #[arg(long)]
    pub(crate) quick: bool,
    /// The number of connections that the application has now, in all its processes: the answer
    /// says whether it carries --rate, and compares the advice with it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) current: Option<u32>,
    /// The longest p99 of response time that is allowed, such as 50ms; default: no limit
    #[arg(long, value_name = "TIME", value_parser = times::limit)]
    pub(crate) p99: Option<Duration>,
    /// Transactions that the application makes, as 1000/s or 60000/min: the answer begins with
    /// whether --current carries it, and the configuration is of a number that does
    #[arg(long, value_name = "N/s", value_parser = parse_rate)]
    pub(crate) rate: Option<f64>,
    /// Processes of the application, each with a pool of its own, that share the connections
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) instances: u32,
    /// The largest number of connections to try; default: 512, or what the server of --dsn has room
    /// for
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) most: Option<u32>,
    /// Print the configuration for this library; repeatable. With --full: for all
    #[arg(long = "for", value_name = "LIBRARY", value_parser = library())]
    pub(crate) libraries: Vec<PoolLibrary>,
    #[command(flatten)]
    pub(crate) load: ChangedLoadArgs,
    /// Seed of all random choices
    #[arg(long, value_name = "N", default_value_t = 42, value_parser = clap::value_parser!(u64).range(0..=i64::MAX as u64))]
    pub(crate) seed: u64,
    /// Go on with a search that was stopped: its folder; default: the newest experiment. The other
    /// flags are as they were
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, conflicts_with_all = ["plan", "quick", "current", "p99", "rate", "most", "settings", "warm_up", "measure", "table_rows", "seed", "instances", "pin", "workers", "server", "basedir", "my_cnf", "disk", "dsn", "schema", "i_own_this_schema"])]
    #[expect(clippy::option_option, reason = "clap's form of a flag whose value may be left out")]
    pub(crate) resume: Option<Option<PathBuf>>,
    #[command(flatten)]
    pub(crate) generator: GeneratorArgs,
    #[command(flatten)]
    pub(crate) answer: DocumentArgs,
    #[command(flatten)]
    pub(crate) place: FolderArgs,
}

fn library() -> impl TypedValueParser<Value = PoolLibrary> {
    let names = PossibleValuesParser::new(PoolLibrary::ALL.map(PoolLibrary::name));
    names.map(|name| PoolLibrary::named(&name).expect("only these names are accepted"))
}
