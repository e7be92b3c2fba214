//! The plan's section `[load]`: how long, how often, and what happens when a statement fails.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::PlanError;
use crate::plan_error::wrong_value;
use crate::ranges::check_range;
use crate::rate::{RATE_MAX, RATE_MIN};
use crate::whole_number::WHOLE_MAX;
use truetps_record::{DriveMode, ErrorClass, Spacing};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Load {
    pub warm_up_s: f64,
    pub measure_s: f64,
    /// End the measure phase after this many transactions, if that is sooner than `measure_s`.
    #[serde(with = "crate::whole_number::optional")]
    pub measure_transactions: Option<u64>,
    /// Open loop: transactions a second that all clients together are to start. Closed loop where
    /// neither this nor `rate_per_client` is set.
    pub rate: Option<f64>,
    /// Open loop: transactions a second that each client is to start.
    pub rate_per_client: Option<f64>,
    /// The rate goes linearly to this one (of the same kind as the one that is set) during the
    /// measure phase.
    pub ramp_to: Option<f64>,
    pub arrivals: Spacing,
    /// A transaction that would start later than this after its scheduled start is skipped.
    pub latency_limit_ms: Option<f64>,
    pub mode: DriveMode,
    pub errors: ErrorPolicy,
}

impl Default for Load {
    fn default() -> Self {
        Self {
            warm_up_s: 1.0,
            measure_s: 10.0,
            measure_transactions: None,
            rate: None,
            rate_per_client: None,
            ramp_to: None,
            arrivals: Spacing::default(),
            latency_limit_ms: None,
            mode: DriveMode::default(),
            errors: ErrorPolicy::default(),
        }
    }
}

/// What happens when a statement fails, by error class. A class that is not listed makes its
/// transaction *failed*, and too many failed transactions make the trial invalid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ErrorPolicy {
    /// The whole transaction is rolled back and sent again.
    pub retry: Vec<ErrorClass>,
    /// The transaction has failed, which is expected.
    pub ignore: Vec<ErrorClass>,
    /// The run ends.
    pub fatal: Vec<ErrorClass>,
    /// Attempts after the first, for each transaction.
    pub retries_max: u32,
    /// How long a client whose connection broke tries to reconnect. 0: it is lost at once.
    pub reconnect_s: f64,
}

impl Default for ErrorPolicy {
    fn default() -> Self {
        Self {
            retry: vec![ErrorClass::Deadlock, ErrorClass::SerializationFailure],
            ignore: Vec::new(),
            fatal: Vec::new(),
            retries_max: 10,
            reconnect_s: 0.0,
        }
    }
}

const DAY_S: f64 = 86_400.0;

impl Load {
    pub fn warm_up(&self) -> Duration {
        Duration::from_secs_f64(self.warm_up_s)
    }

    pub fn measure(&self) -> Duration {
        Duration::from_secs_f64(self.measure_s)
    }

    pub fn is_open(&self) -> bool {
        self.rate.is_some() || self.rate_per_client.is_some()
    }

    /// `has_rate_factor`: the rate is a factor of the plan.
    pub(crate) fn check(
        &self,
        connections_max: u32,
        has_rate_factor: bool,
    ) -> Result<(), PlanError> {
        PlanError::all([
            check_seconds("load.warm_up_s", self.warm_up_s, 0.0),
            check_seconds("load.measure_s", self.measure_s, 0.1),
            check_range(
                "load.measure_transactions",
                self.measure_transactions.unwrap_or(1),
                1..=WHOLE_MAX,
            ),
            check_rate("load.rate", self.rate),
            check_rate("load.rate_per_client", self.rate_per_client),
            check_rate("load.ramp_to", self.ramp_to),
            self.check_rates(connections_max),
            self.check_open(self.is_open() || has_rate_factor),
            self.check_mode(has_rate_factor),
            self.errors.check(),
        ])
    }

    fn check_rates(&self, connections_max: u32) -> Result<(), PlanError> {
        if self.rate.is_some() && self.rate_per_client.is_some() {
            return Err(wrong_value(
                "load.rate_per_client",
                "`rate` is set too: remove one of the two",
            ));
        }
        let together = self
            .rate_per_client
            .filter(|rate| *rate <= RATE_MAX)
            .map(|rate| rate * f64::from(connections_max));
        if let Some(all) = together.filter(|rate| *rate > RATE_MAX) {
            let text = format!(
                "{all} a second for {connections_max} clients together is more than {RATE_MAX}"
            );
            return Err(wrong_value("load.rate_per_client", text));
        }
        Ok(())
    }

    /// What only an open loop has.
    fn check_open(&self, is_open: bool) -> Result<(), PlanError> {
        let ramp = match self.ramp_to {
            Some(_) if !is_open => Err(wrong_value(
                "load.ramp_to",
                "needs `rate` or `rate_per_client`: where the ramp begins",
            )),
            _ => Ok(()),
        };
        let limit = match self.latency_limit_ms {
            Some(_) if !is_open => Err(wrong_value(
                "load.latency_limit_ms",
                "needs `rate` or `rate_per_client`: a closed loop is never late",
            )),
            Some(limit) if !(0.001..=DAY_S * 1e3).contains(&limit) => Err(wrong_value(
                "load.latency_limit_ms",
                format!("{limit} is not between 0.001 and {} ms", DAY_S * 1e3),
            )),
            _ => Ok(()),
        };
        PlanError::all([ramp, limit])
    }

    fn check_mode(&self, has_rate_factor: bool) -> Result<(), PlanError> {
        if self.mode == DriveMode::Blocking && (self.rate.is_some() || has_rate_factor) {
            let why = "`blocking` with a `rate` of all clients: no client could take a start of \
                       another one's thread";
            return Err(wrong_value("load.mode", why));
        }
        Ok(())
    }
}

pub(crate) fn check_rate(key: &str, rate: Option<f64>) -> Result<(), PlanError> {
    match rate.filter(|rate| !(RATE_MIN..=RATE_MAX).contains(rate)) {
        Some(rate) => Err(wrong_value(
            key,
            format!("{rate} is not between {RATE_MIN} and {RATE_MAX} transactions a second"),
        )),
        None => Ok(()),
    }
}

pub(crate) fn check_seconds(key: &str, number: f64, least: f64) -> Result<(), PlanError> {
    if (least..=DAY_S).contains(&number) {
        return Ok(());
    }
    Err(wrong_value(key, format!("{number} is not between {least} and {DAY_S} seconds")))
}

impl ErrorPolicy {
    fn check(&self) -> Result<(), PlanError> {
        let lists = [("retry", &self.retry), ("ignore", &self.ignore), ("fatal", &self.fatal)];
        let mut seen: Vec<(&str, ErrorClass)> = Vec::new();
        for (list, classes) in lists {
            let key = format!("load.errors.{list}");
            for class in classes {
                if let Some((other, _)) = seen.iter().find(|(_, seen)| seen == class) {
                    return Err(wrong_value(key, format!("`{class}` is in `{other}` already")));
                }
                seen.push((list, *class));
            }
        }
        if self.retry.contains(&ErrorClass::ConnectionLost) {
            let why = "`connection_lost` cannot be retried: whether its transaction was committed \
                       is not known";
            return Err(wrong_value("load.errors.retry", why));
        }
        check_range("load.errors.retries_max", self.retries_max, 0..=1_000_000)?;
        check_seconds("load.errors.reconnect_s", self.reconnect_s, 0.0)
    }
}
