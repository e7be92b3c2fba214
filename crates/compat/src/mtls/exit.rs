//! The exit statuses, and how an error becomes one.

use truetps_driver::DriverError;

use crate::recording::server_message;

/// The program's name in messages.
pub(super) const NAME: &str = "mtls-perf-bench";
pub(super) const GOOD: u8 = 0;
/// Rows were not acknowledged, or a local error occurred.
pub(super) const FAILED: u8 = 2;
/// The server refused.
pub(super) const REFUSED: u8 = 3;
pub(super) const INTERRUPTED: u8 = 130;

/// The exit status, and a line of the log.
pub(super) type MtlsExit = (u8, String);

pub(super) fn refused(error: &DriverError) -> MtlsExit {
    let text = match error {
        DriverError::Server(error) => {
            format!("{} ({}): {}", error.code, error.sqlstate, error.message)
        }
        other => server_message(other),
    };
    (REFUSED, text)
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
pub(super) fn failed(error: impl ToString) -> MtlsExit {
    (FAILED, error.to_string())
}
