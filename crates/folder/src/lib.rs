//! The run folder: where an experiment and its trials are kept, and how they are read again.

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
pub use error::FolderError;
pub use file_names::LATEST;
pub use folder::{ExperimentFolder, FolderLock};
pub use latency_log::LatencyLog;
pub use latency_log_writer::{HistogramError, LatencyLogWriter};
pub use merge::{MergeError, merge_parts};
pub use probe_folder::ProbeFolder;
pub use trial_writer::{ProbeWriter, TrialWriter};
