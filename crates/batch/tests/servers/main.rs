//! Commit connections with real servers, and faults. Each test holds the answers of many clients
//! against the table: acknowledged rows are in it with their values, refused rows are not, and no
//! key is there twice.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may panic, and says loudly what it skips"
)]

mod any_error;
mod changed_tables;
mod clients;
mod defects;
mod duplicates;
mod faults;
mod hidden_effects;
mod hostile_text;
mod kills;
mod machine;
mod outages;
mod poison;
mod relay;
mod session_settings;
mod stored_as_sent;
mod tables;
mod values;

use std::time::Duration;

/// Longer than any step of these tests takes on a busy machine.
const SOON: Duration = Duration::from_mins(1);
