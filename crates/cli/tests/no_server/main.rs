//! What needs no server: wrong input, which is found before anything starts, and folders of earlier
//! runs.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may panic, and says loudly what it skips"
)]

#[path = "../common/mod.rs"]
mod common;

mod command_lines;
mod homes;
mod hostile_names;
mod manual;
mod merge;
mod odd_folders;
mod old_folders;
mod pool;
mod settings;
mod sysbench_reference;
mod wrong_load;
