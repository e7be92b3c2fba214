//! Flags of the load: how often, how long, and what happens when a statement fails.

use std::time::Duration;

use clap::{Args, ValueEnum};
use truetps_plan::{ErrorPolicy, Load, parse_rate};
use truetps_record::{DriveMode, ErrorClass, Slo, Spacing};

use crate::times::seconds;

#[derive(Debug, Clone, Args)]
pub(crate) struct LoadArgs {
    /// Warm-up time, not counted: seconds, or with a unit, as in 500ms
    #[arg(long, value_name = "TIME", default_value = "1", value_parser = seconds)]
    warm_up: f64,
    /// Measured time: seconds, or with a unit, as in 5m
    #[arg(long, visible_aliases = ["time", "duration"], value_name = "TIME", default_value = "10", value_parser = seconds)]
    measure: f64,
    /// End the measure phase after this many transactions, if that is sooner
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=i64::MAX as u64))]
    transactions: Option<u64>,
    /// Open loop: rate at which all clients together start transactions: 500, 500/s, 30/min
    #[arg(long, value_name = "N/s", value_parser = parse_rate, conflicts_with = "rate_per_client")]
    pub(crate) rate: Option<f64>,
    /// Open loop: rate at which each client starts transactions: 1/s, 6/min
    #[arg(long, value_name = "N/s", value_parser = parse_rate)]
    pub(crate) rate_per_client: Option<f64>,
    /// Search for the highest rate that the server sustains within --slo
    #[arg(long, conflicts_with_all = ["rate", "rate_per_client", "ramp_to", "transactions", "latency_limit"])]
    pub(crate) find_max: bool,
    /// Limits of a search: response times (mean, p50, p95, p99, p999, max), and failed, a share
    /// such as 0.1%
    #[arg(long, value_name = "FIGURE<LIMIT,…", default_value = "p99<1s", requires = "find_max")]
    pub(crate) slo: Slo,
    /// Change the rate linearly to this one during the measure phase
    #[arg(long, value_name = "N/s", value_parser = parse_rate)]
    ramp_to: Option<f64>,
    /// Distribution of the times between starts of an open loop
    #[arg(long, value_enum, default_value = "constant")]
    arrivals: ArrivalArg,
    /// Skip a transaction that would start more than this after its scheduled start: 100ms, 2s
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    latency_limit: Option<Duration>,
    /// Error classes whose transaction is rolled back and retried as a whole
    #[arg(long, value_name = "CLASS,…", value_delimiter = ',', default_values_t = ErrorPolicy::default().retry)]
    retry: Vec<ErrorClass>,
    /// Retries of each transaction, at most
    #[arg(long, value_name = "N", default_value_t = ErrorPolicy::default().retries_max)]
    retries_max: u32,
    /// Error classes to ignore: their transactions fail, but the trial stays valid
    #[arg(long, value_name = "CLASS,…", value_delimiter = ',')]
    ignore: Vec<ErrorClass>,
    /// Error classes that end the run
    #[arg(long, value_name = "CLASS,…", value_delimiter = ',')]
    fatal: Vec<ErrorClass>,
    /// Seconds for which a client retries a broken connection; 0: the client fails at once
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0)]
    reconnect: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ArrivalArg {
    /// Constant times
    Constant,
    /// Exponentially distributed times, as from many independent users
    Poisson,
}

/// How threads drive clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Chosen by the number of clients
    Auto,
    /// A thread for each client
    Blocking,
    /// Few threads, with many clients each
    Multiplexed,
}

impl Mode {
    pub(crate) fn drive_mode(self) -> DriveMode {
        match self {
            Self::Auto => DriveMode::Auto,
            Self::Blocking => DriveMode::Blocking,
            Self::Multiplexed => DriveMode::Multiplexed,
        }
    }
}

impl LoadArgs {
    /// The section of a plan that means the same. It is checked with the plan.
    pub(crate) fn load(&self, mode: DriveMode) -> Load {
        Load {
            warm_up_s: self.warm_up,
            measure_s: self.measure,
            measure_transactions: self.transactions,
            rate: self.rate,
            rate_per_client: self.rate_per_client,
            ramp_to: self.ramp_to,
            arrivals: match self.arrivals {
                ArrivalArg::Constant => Spacing::Constant,
                ArrivalArg::Poisson => Spacing::Poisson,
            },
            latency_limit_ms: self.latency_limit.map(|limit| limit.as_secs_f64() * 1e3),
            mode,
            errors: ErrorPolicy {
                retry: self
                    .retry
                    .iter()
                    .copied()
                    .filter(|class| self.is_nowhere_else(*class))
                    .collect(),
                ignore: self.ignore.clone(),
                fatal: self.fatal.clone(),
                retries_max: self.retries_max,
                reconnect_s: self.reconnect,
            },
        }
    }

    /// `--ignore deadlock` takes it from the classes that are retried by default.
    fn is_nowhere_else(&self, class: ErrorClass) -> bool {
        let is_default = ErrorPolicy::default().retry.contains(&class);
        !(is_default && (self.ignore.contains(&class) || self.fatal.contains(&class)))
    }
}
