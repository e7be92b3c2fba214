//! Benchmarks of truetps itself beside other programs, alternating, on one private server or on one that does nothing.
//! These are not tests: speed is judged by ratios of neighbouring runs, and the result is kept with its date.

mod client;
mod engine;
mod figures;
mod folder;
mod lateness;
mod lua;
mod null;
mod null_protocol;
mod null_server;
mod options;
mod pairs;
mod pin;
mod private_server;
mod probe;
mod programs;
mod report;
mod sample;
mod server;
mod slap;

pub(crate) use client::run as client;
pub(crate) use engine::run as engine;
pub(crate) use folder::run as report;
pub(crate) use lateness::run as lateness;
pub(crate) use lua::run as lua;
pub(crate) use null::run as null;
pub(crate) use null_server::run as null_server;
pub(crate) use pin::run as pin;
pub(crate) use probe::run as probe;
pub(crate) use slap::run as slap;
