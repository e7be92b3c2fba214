//! Flags of `sweep` that make a plan of a workload, or change one.

use std::path::PathBuf;

use clap::Args;
use truetps_plan::parse_factor;
use truetps_record::SettingValue;

use crate::times::seconds;

/// A factor as it was typed: name and levels.
pub(crate) type TypedFactor = (String, Vec<SettingValue>);

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ShortPlanArgs {
    /// A factor and its levels; the first one is the baseline. Any setting of the server, or
    /// server, disk, rate, prealloc, table_rows, hot_rows, key, rows_per_insert. Replaces a factor
    /// of the plan; repeatable
    #[arg(long = "vary", value_name = "NAME=LEVEL,LEVEL", value_parser = factor)]
    pub(crate) vary: Vec<TypedFactor>,
    /// Numbers of connections to measure, such as 1,8,50; default: the plan's, or 8 for a workload
    #[arg(long, short, visible_aliases = ["clients", "threads"], value_name = "N,N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) connections: Vec<u32>,
    #[command(flatten)]
    pub(crate) load: ChangedLoadArgs,
    /// Write the plan to this file, which must not exist, and start nothing
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) save_plan: Option<PathBuf>,
}

/// Flags that change the load of a plan.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ChangedLoadArgs {
    /// A setting of the server in all trials; repeatable
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) settings: Vec<String>,
    /// Warm-up time of each trial, in place of the plan's: seconds, or with a unit
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub(crate) warm_up: Option<f64>,
    /// Measured time of each trial, in place of the plan's: seconds, or with a unit
    #[arg(long, visible_aliases = ["time", "duration"], value_name = "TIME", value_parser = seconds)]
    pub(crate) measure: Option<f64>,
    /// Rows in each table, in place of the plan's
    #[arg(long, value_name = "N")]
    pub(crate) table_rows: Option<u64>,
}

/// Flags that an experiment that is resumed takes from its folder.
pub(crate) const OF_SHORT_PLAN: [&str; 7] =
    ["vary", "connections", "settings", "warm_up", "measure", "table_rows", "save_plan"];

fn factor(text: &str) -> Result<TypedFactor, String> {
    parse_factor(text)
}
