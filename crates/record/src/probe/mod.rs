//! What was read beside a load: `samples` (`probe.jsonl`) of `signal`s, `decoder` (values that
//! samples omit), `series` (all points of a value), `responsiveness` (outages), `run` (`probe.json`
//! and its summary).

pub(crate) mod decoder;
pub(crate) mod responsiveness;
pub(crate) mod run;
pub(crate) mod samples;
pub(crate) mod series;
pub(crate) mod signal;
