//! The load of a run.

use std::num::NonZeroU64;
use std::time::Duration;

use truetps_measure::{Pacing, Quota};
use truetps_plan::ErrorPolicy;
use truetps_record::{DriveMode, Part};

use crate::mode::Threads;
use crate::rows::LoggedRows;

/// The load of one trial.
#[derive(Debug, Clone)]
pub struct LoadSpec {
    /// The clients of all parts together.
    pub clients: u32,
    /// The part of the load that this process makes: its clients, their share of the schedule and
    /// of the quota.
    pub part: Part,
    /// OS threads of a multiplexed run; at most one a client is used. A blocking run has one a
    /// client.
    pub workers: u32,
    pub mode: DriveMode,
    /// Cores that the workers are bound to, in turn; empty: the kernel decides.
    pub pin: Vec<u32>,
    pub pacing: Pacing,
    pub errors: ErrorPolicy,
    pub warm_up: Duration,
    /// `Duration::MAX`: no time limit.
    pub measure: Duration,
    /// End the measure phase after a number of transactions, if that is sooner.
    pub quota: Option<Quota>,
    /// After this number of transactions on one connection (successful or not, warm-up included) a
    /// client disconnects, connects and logs in again, and only then starts its next transaction.
    /// This takes measured time, but is in no response time. A client that has finished keeps its
    /// connection.
    ///
    /// A connection that cannot be restored is lost, and [`ErrorPolicy::reconnect_s`] applies. A
    /// server at its connection limit refuses the new connection until it has processed the
    /// goodbye: for one second that is not a failure.
    pub reconnect_every: Option<NonZeroU64>,
    /// Transactions save rows, and each answer is kept.
    pub rows: Option<LoggedRows>,
    /// For all clients together.
    pub connect_timeout: Duration,
    /// Time limit for the transactions in flight at the end.
    pub drain_timeout: Duration,
}

impl LoadSpec {
    /// A closed loop without warm-up, with the default timeouts.
    pub fn closed(clients: u32, workers: u32, measure: Duration) -> Self {
        Self {
            clients,
            part: Part::WHOLE,
            workers,
            mode: DriveMode::Auto,
            pin: Vec::new(),
            pacing: Pacing::Closed,
            errors: ErrorPolicy::default(),
            warm_up: Duration::ZERO,
            measure,
            quota: None,
            reconnect_every: None,
            rows: None,
            connect_timeout: Duration::from_secs(30),
            drain_timeout: Duration::from_secs(10),
        }
    }

    /// The number of workers of all parts, which have equally many.
    pub(crate) fn workers_of_all_parts(&self, threads: Threads) -> usize {
        self.part.of as usize * threads.workers as usize
    }

    /// The quota of this part.
    pub(crate) fn own_quota(&self) -> Option<Quota> {
        self.quota.map(|quota| match quota {
            Quota::Together(all) => Quota::Together(self.part.share(all)),
            Quota::Each(all) => Quota::Each(all),
        })
    }
}
