//! Counts and latencies that only an open loop has.

use serde::{Deserialize, Serialize};

use crate::Histogram;
use crate::trials::histogram::{max_us, quantile_us};

/// Scheduled starts of one period.
///
/// Equations, asserted by [`StartCounts::assert_consistent`], with `started` of [`crate::Counts`]:
/// - `queued_in + scheduled = started + skipped + queued`
/// - `queued_in` of an interval = `queued` of the one before it
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartCounts {
    /// Waiting for a client when the stretch began.
    pub queued_in: u64,
    /// Starts that the schedule has in this stretch.
    pub scheduled: u64,
    /// Given up without being sent: they would have started later than the latency limit allows.
    pub skipped: u64,
    /// Waiting for a client when the stretch ended.
    pub queued: u64,
}

impl StartCounts {
    /// Adds what another worker counted over the same stretch of time.
    pub fn merge_worker(&mut self, other: &Self) {
        self.queued_in += other.queued_in;
        self.queued += other.queued;
        self.scheduled += other.scheduled;
        self.skipped += other.skipped;
    }

    /// Appends the stretch that follows this one.
    pub fn append(&mut self, next: &Self) {
        self.queued = next.queued;
        self.scheduled += next.scheduled;
        self.skipped += next.skipped;
    }

    /// Panics where the equation does not hold: that is a bug in the engine, never the user's.
    pub fn assert_consistent(&self, started: u64) {
        assert_eq!(
            self.queued_in + self.scheduled,
            started + self.skipped + self.queued,
            "counts must obey queued_in + scheduled = started ({started}) + skipped + queued: \
             {self:?}"
        );
    }
}

/// Microseconds. `None` if nothing was counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct OpenLoop {
    #[serde(flatten)]
    pub starts: StartCounts,
    /// From the actual start of a transaction to its end.
    pub service_us_p50: Option<f64>,
    pub service_us_p95: Option<f64>,
    pub service_us_p99: Option<f64>,
    #[serde(default)]
    pub service_us_p999: Option<f64>,
    pub service_us_max: Option<f64>,
    /// From the scheduled start to the actual one: the wait for a client, and the generator's own
    /// lateness.
    pub lag_us_p50: Option<f64>,
    pub lag_us_p99: Option<f64>,
    pub lag_us_max: Option<f64>,
    /// The generator's own share of the lag: only starts for which a client was free at the
    /// scheduled time.
    pub late_us_p50: Option<f64>,
    pub late_us_p99: Option<f64>,
    pub late_us_max: Option<f64>,
}

impl OpenLoop {
    /// Figures of nanosecond histograms.
    pub fn of(starts: StartCounts, service: &Histogram, lag: &Histogram, late: &Histogram) -> Self {
        Self {
            starts,
            service_us_p50: quantile_us(service, 0.50),
            service_us_p95: quantile_us(service, 0.95),
            service_us_p99: quantile_us(service, 0.99),
            service_us_p999: quantile_us(service, 0.999),
            service_us_max: max_us(service),
            lag_us_p50: quantile_us(lag, 0.50),
            lag_us_p99: quantile_us(lag, 0.99),
            lag_us_max: max_us(lag),
            late_us_p50: quantile_us(late, 0.50),
            late_us_p99: quantile_us(late, 0.99),
            late_us_max: max_us(late),
        }
    }
}
