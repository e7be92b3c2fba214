//! Option files as the servers' own programs read them, beside truetps's reading of the same files.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may panic, and says loudly what it skips"
)]

mod dumps;
mod fuzz;
mod lines;
mod postgres;
mod programs;
mod values;
