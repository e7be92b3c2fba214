//! Preloaded into `mysqld` or `mariadbd` (`LD_PRELOAD`): the active binlog is filled with zeros
//! ahead of its writes, so that a commit overwrites instead of growing the file, and its sync is
//! one flush of the device instead of two. The server sees each file with the size that it has
//! written (its logical end).
//!
//! What this code may never do, since it runs inside a server and on its data:
//!
//! - Write anything but zeros into a binlog, or write where the server has written or is writing:
//!   zeros go behind `filled`, the server's writes behind it wait for the step in progress
//!   (`files`), and old binlogs are never reused.
//! - Intercept a sync: what the server believes to be durable is what the kernel made durable.
//! - Panic, or unwind into the server. The lints below deny what panics, in this crate and in
//!   `truetps-binlog`; what remains (a failed allocation) aborts, as it does in the server. A panic
//!   in an `extern "C"` function aborts.
//! - Call functions of the C library that it intercepts itself, also not through `std::fs`: files
//!   are reached by system calls (`next`).
//! - Take a lock or allocate for other files: the first thing each function does is one load
//!   (`files::owner_of`).
//! - Change `errno` of a call, or hand its own file descriptors to the server.
//! - Touch the standard output or error from its thread. Notes are written by the server's own
//!   threads, as whole lines.
//! - Work in a child of the server: neither after `fork` nor after `exec`.
//!
//! - `symbols`: the functions that the server calls in place of the C library's; `next`: the system
//!   calls behind them; `hooks`: what happens between the two. `files`: which descriptors are of
//!   binlogs, how far each file is written and filled, and who may write where; `changes`: where a
//!   file ends, and names that are durable.
//! - `library`: from the loading to the first binlog. Before it, `recovery` trims what a crash has
//!   left, and `self_test` verifies, with `process_calls`, that calls of this process arrive.
//!   `config`: `TRUETPS_PREALLOC`.
//! - `filler`: the background thread. It judges new files, writes zeros, and obeys the control
//!   words of the state page (`status`). `pool` prepares whole files instead. `notes`: lines in the
//!   server's error log.
//!
//! `symbols` and `process_calls` speak with the C world, `next` with the kernel: only these have
//! `unsafe` code. Calls do not go to the next preloaded library but to the kernel, so that another
//! library that intercepts the same functions has to come before this one. No part of this crate is
//! linked into truetps: the build of `preload` makes it a file.

#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::unreachable,
        clippy::unwrap_used
    )
)]
#![cfg_attr(test, allow(dead_code, reason = "without the symbols most of it is not called"))]

mod changes;
mod config;
mod files;
mod filler;
mod hooks;
mod library;
mod next;
mod notes;
mod pool;
mod process_calls;
mod recovery;
mod self_test;
mod status;
// Programs of tests keep their own functions.
#[cfg(not(test))]
mod symbols;
