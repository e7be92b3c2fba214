//! Private servers of both families, from their templates to their removal.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may panic, and some print what they measured"
)]

mod common;

mod matrix;
mod owners;
mod postgres;
mod postgres_versions;
mod private_server;
mod settings;
