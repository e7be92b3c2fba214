//! `truetps run`

use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use truetps_plan::WORKLOADS_OF_PLANS;

use crate::args::Words;
use crate::args::load::LoadArgs;
use crate::args::{EngineArgs, FolderArgs, ProbeArgs};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    truetps run insert --connections 50 --measure 30\n  \
    truetps run insert -c 50 --measure 5 --repeat 10   ten trials; `truetps compare` judges two \
    such runs\n  \
    truetps run insert --clients 1000 --rate-per-client 1/s --measure 3600\n  \
    truetps run insert --set innodb_flush_log_at_trx_commit=2 --set log_bin=ON --set \
    sync_binlog=1\n  \
    truetps run insert --dsn mysql://loader@db1 --connections 50   on a server of yours; --dry-run \
    shows what would be sent\n  \
    truetps run hot-row --connections 100\n  \
    truetps run delete-insert --key auto --table-rows 1000000\n  \
    truetps run update-index --distribution zipfian:theta=0.9\n\n\
    Workloads: `truetps help workloads`. `custom`, `sql` and `table` need a plan.")]
pub(crate) struct RunArgs {
    #[arg(help = workload_help(), add = ArgValueCompleter::new(Words::Workloads))]
    pub(crate) workload: String,
    /// Number of concurrent sessions, one for each client
    #[arg(long, short, visible_aliases = ["clients", "threads"], value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=100_000))]
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
    /// How keys are drawn: uniform, zipfian, pareto, special or latest, with parameters as in
    /// zipfian:theta=0.8
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
    /// How many statements of a kind a transaction of read-write has, such as point_selects=0; may
    /// be given again
    #[arg(long, value_name = "NAME=COUNT")]
    pub(crate) mix: Vec<String>,
    /// Send statements as SQL text, not as prepared statements
    #[arg(long)]
    pub(crate) text_protocol: bool,
    /// Trials of this configuration, one after the other: the answer is their mean with its
    /// interval
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000), conflicts_with = "find_max")]
    pub(crate) repeat: u32,
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
    let names: Vec<_> = truetps_workload::NAMES
        .into_iter()
        .filter(|name| !WORKLOADS_OF_PLANS.contains(name))
        .collect();
    format!(
        "Workload to run: {}; {} are in a plan, for `truetps sweep`",
        names.join(", "),
        WORKLOADS_OF_PLANS.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use truetps_plan::RUN_FLAGS;

    use super::*;

    /// Errors of a plan name the flag that sets a key: a renamed or a new flag belongs in that
    /// list, or in this one.
    #[test]
    fn plan_keys_name_flags_that_the_command_has() {
        const WITHOUT_PLAN_ERRORS: &[&str] = &[
            "--arrivals",
            "--find-max",
            "--slo",
            "--set",
            "--text-protocol",
            "--seed",
            "--runs",
            "--sandbox-dir",
            "--basedir",
            "--my-cnf",
            "--server",
            "--dsn",
            "--schema",
            "--i-own-this-schema",
            "--dry-run",
            "--defaults-file",
            "--ask-password",
            "--no-probe",
            "--waits",
            "--workers",
            "--pin",
            "--part",
            "--part-wait",
            "--ui",
            "--format",
            "--full",
        ];
        let command = RunArgs::augment_args(clap::Command::new("run"));
        let flags: BTreeSet<_> = command.get_arguments().filter_map(clap::Arg::get_long).collect();
        let of_keys = RUN_FLAGS.iter().map(|(_, flag)| *flag);
        let listed: BTreeSet<_> = of_keys.chain(WITHOUT_PLAN_ERRORS.iter().copied()).collect();
        assert_eq!(
            flags.iter().map(|flag| format!("--{flag}")).collect::<Vec<_>>(),
            Vec::from_iter(listed)
        );
    }
}
