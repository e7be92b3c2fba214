//! The engine against a server whose every answer is known, and a few runs on real ones.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod closed_loop;
mod fake_server;
mod open_loop;
mod parts;
mod quota;
mod real_servers;
mod recovery;
mod renewal;
mod support;
mod transactions;
