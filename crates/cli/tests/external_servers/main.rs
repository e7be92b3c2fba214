//! The whole program on servers that it did not start: each test owns one, which must be the same
//! before and after.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may panic, and says loudly what it skips"
)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../support/mod.rs"]
mod support;

mod commits;
mod dsn_mariadb;
mod dsn_postgres;
mod error_policies;
mod external_kills;
mod external_settings;
mod external_trouble;
mod foreign_tables;
mod gateway;
mod gateway_clients;
mod hostile_parts;
mod hostile_postgres;
mod logins;
mod mysql;
mod parts;
mod platforms;
mod probe;
mod probe_exporter;
mod script_parts;
mod settings;
mod verify;
