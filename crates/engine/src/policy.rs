//! The consequences of a failed statement.

use std::time::Duration;

use truetps_plan::ErrorPolicy;
use truetps_record::ErrorClass;

/// What happens to a transaction whose statement failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureAction {
    Fail,
    /// It has failed, as expected.
    Ignore,
    /// It is rolled back and sent again as a whole.
    Retry,
    /// It has failed, and the run ends.
    EndRun,
}

/// Class → action, with the limits of retries.
pub(crate) struct Policy<'a> {
    spec: &'a ErrorPolicy,
}

impl<'a> Policy<'a> {
    pub(crate) fn new(spec: &'a ErrorPolicy) -> Self {
        Self { spec }
    }

    /// `retries`: how often the transaction has already been sent again.
    pub(crate) fn action(&self, class: ErrorClass, retries: u32) -> FailureAction {
        if self.spec.fatal.contains(&class) {
            FailureAction::EndRun
        } else if self.spec.ignore.contains(&class) {
            FailureAction::Ignore
        } else if self.spec.retry.contains(&class) && retries < self.spec.retries_max {
            FailureAction::Retry
        } else {
            FailureAction::Fail
        }
    }

    /// How long a client tries to restore its connection; `None`: not at all.
    pub(crate) fn reconnect(&self) -> Option<Duration> {
        let patience = || Duration::try_from_secs_f64(self.spec.reconnect_s).unwrap_or(Duration::MAX);
        (self.spec.reconnect_s > 0.0).then(patience)
    }
}
