//! Sessions with real servers, each private to its test.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod postgres_common;
mod support;

mod ad_hoc;
mod mariadb;
mod mysql;
mod postgres;
mod postgres_ad_hoc;
mod postgres_bytes;
mod postgres_login;
mod postgres_tls;
mod setup;
