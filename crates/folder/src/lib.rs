//! The run folder: where an experiment and its trials are kept, and how they are read again.

mod answer_log;
mod crash_folder;
mod damage;
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

pub use answer_log::{AnswerLogFolder, AnswerLogWriter};
pub use crash_folder::CrashFolder;
pub use damage::KeptSeries;
pub use folder::{ExperimentFolder, FolderError, FolderLock, LATEST, ProbeWriter, TrialWriter};
pub use latency_log::LatencyLog;
pub use latency_log_writer::{HistogramError, LatencyLogWriter};
pub use merge::{MergeError, merge_parts};
pub use probe_folder::ProbeFolder;
