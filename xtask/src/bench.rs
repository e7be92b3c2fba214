//! Benchmarks of truetps itself beside another program, alternating, on one private server. They are no tests: speed is
//! judged by ratios of neighbours, and the result is kept with its date.

mod client;
mod engine;
mod report;
mod sample;

pub(crate) use client::run as client;
pub(crate) use engine::run as engine;
