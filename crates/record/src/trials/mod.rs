//! What a trial is and what came out of it: `run.json` (`trial`, `measured`) and a line of
//! `intervals.jsonl` (`interval`), with `counts` and their equations, `histogram` and `open_loop`.
//! `surroundings` has what went on beside the load, and `disturbance` judges it.
//! `reason` words the codes of `run.json` once, for reports, progress lines and the output of
//! compatible programs.

pub(crate) mod counts;
pub(crate) mod disturbance;
pub(crate) mod drive;
pub(crate) mod error_class;
pub(crate) mod histogram;
pub(crate) mod interval;
pub(crate) mod measured;
pub(crate) mod open_loop;
pub(crate) mod other_run;
pub(crate) mod reason;
pub(crate) mod surroundings;
pub(crate) mod trial;
pub(crate) mod workload_profile;
