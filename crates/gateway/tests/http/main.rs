//! A gateway with a real database, over HTTP: answers, limits, and the end.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may panic, and says loudly what it skips"
)]

mod answers;
mod client;
mod drain;
mod framing;
mod gateway;
mod http2;
mod limits;
mod silence;
mod tls;

use std::thread;
use std::time::{Duration, Instant};

/// Longer than any step of these tests takes on a busy machine.
const SOON: Duration = Duration::from_mins(1);

fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
    let end = Instant::now() + SOON;
    while !is_there() {
        assert!(Instant::now() < end, "{what}: not within {SOON:?}");
        thread::sleep(Duration::from_millis(20));
    }
}
