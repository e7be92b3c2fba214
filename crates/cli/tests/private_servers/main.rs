//! The whole program on servers that it starts itself, with names or without.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may panic, and says loudly what it skips"
)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../support/mod.rs"]
mod support;

mod browser;
mod compare;
mod disks_and_crashes;
mod disturbances;
mod explain;
mod find_max;
mod gateway;
mod interrupts;
mod kills_on_disks;
mod ledger;
mod named_on_disks;
mod named_servers;
mod one_screen;
mod open_loop;
mod option_files;
mod pool;
mod power_cuts;
mod prealloc;
mod private_postgres;
mod recomputed;
mod server_versions;
mod short_questions;
mod ui;
mod verify;
mod with_server;
mod workloads;
