//! A gateway with a real database, over HTTP: answers, limits, and the end.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test may panic, and says loudly what it skips")]

mod answers;
mod client;
mod drain;
mod gateway;
mod http2;
mod limits;
mod tls;

use std::time::Duration;

/// Longer than any step of these tests takes on a busy machine.
const SOON: Duration = Duration::from_mins(1);
