//! The run folder: where an experiment and its trials are kept, and how they are read again,
//! damaged or not.
//!
//! - `folder` ([`ExperimentFolder`]): its layout. JSON files are replaced by renaming; files of
//!   lines are appended to as intervals end, so that nothing measured is lost. `publish`: how a new
//!   experiment gets its name.
//! - `run_file`: opens, reads and writes each file. `line_reader` reads files of lines, `damage`
//!   what they have lost.
//! - `latency_log` and `latency_log_writer`: the histograms of the intervals. `answer_log`: the
//!   answers to rows, records with checksums, whose cut-off end is recognised.
//! - `crash_folder` and `probe_folder`: what `truetps crash` and `truetps probe` write.
//! - `merge` ([`merge_parts`]): the folders of the parts of one load as one folder; it needs no
//!   server.
//!
//! A part of a load passes through `Part` (`record`), `PartsTable` and `Meeting` (`lab`),
//! `StartGate` (`trial`), `Observer::start` (`engine`), `CommonStart` (`run.json`), then
//! [`merge_parts`] and `CommonSeries`. A script's load has a `PartsMeeting` (`sysbench`), which
//! `cli` makes from a `ScriptMeeting` (`lab`).
//!
//! *Invariants:* only this crate knows the folder's format; every file is read by
//! `run_file::open_below`, which follows no link below the run folder; no clock and no network.

mod answer_log;
mod crash_folder;
mod damage;
mod error;
mod file_names;
mod folder;
mod latency_log;
mod latency_log_writer;
mod line_reader;
mod merge;
mod merge_script;
mod merge_series;
mod part_series;
mod probe_folder;
mod publish;
mod run_file;
mod series_text;
mod trial_writer;

pub use answer_log::{AnswerLogFolder, AnswerLogWriter};
pub use crash_folder::CrashFolder;
pub use damage::KeptSeries;
pub use error::{FolderError, HistogramError, MergeError};
pub use file_names::LATEST;
pub use folder::{ExperimentFolder, FolderLock};
pub use latency_log::LatencyLog;
pub use latency_log_writer::LatencyLogWriter;
pub use merge::merge_parts;
pub use probe_folder::ProbeFolder;
pub use trial_writer::{ProbeWriter, TrialWriter};
