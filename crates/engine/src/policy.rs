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

/// `retries`: how often the transaction has already been sent again.
pub(crate) fn action(policy: &ErrorPolicy, class: ErrorClass, retries: u32) -> FailureAction {
    if policy.fatal.contains(&class) {
        FailureAction::EndRun
    } else if policy.ignore.contains(&class) {
        FailureAction::Ignore
    } else if policy.retry.contains(&class) && retries < policy.retries_max {
        FailureAction::Retry
    } else {
        FailureAction::Fail
    }
}

/// How long a client tries to restore its connection; `None`: not at all.
pub(crate) fn patience(policy: &ErrorPolicy) -> Option<Duration> {
    (policy.reconnect_s > 0.0)
        .then(|| Duration::try_from_secs_f64(policy.reconnect_s).unwrap_or(Duration::MAX))
}
