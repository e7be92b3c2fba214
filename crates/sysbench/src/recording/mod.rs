//! What is kept of a run: the run folder, and the document of `--report-format=json`.
//!
//! - `folder`: the folder, written as the run goes on.
//! - `series`: intervals, from what was counted so far.
//! - `facts`: the script's run in the words of plans and experiments, and what came out of it.
//! - `document`: the whole run as one document.

mod document;
mod facts;
mod folder;
mod series;

pub(crate) use document::{document, errors};
pub(crate) use folder::{RecordedEnd, ScriptRecording};
