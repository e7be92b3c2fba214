//! The record of a run: the run folder, and the document of `--report-format=json`.
//!
//! - `folder`: the folder, written during the run.
//! - `facts`: the script's run as a plan and an experiment, with its results.
//! - `document`: the whole run as one document.

mod document;
mod facts;
mod folder;

pub(crate) use document::{RecordedEnd, document, errors, validity};
pub(crate) use facts::{experiment as new_experiment, full_worker, plan as plan_of};
pub(crate) use folder::ScriptRecording;
