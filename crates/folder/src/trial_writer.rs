//! Writes a trial while it is measured.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use truetps_record::{Histogram, Interval, ProbeHeader, ProbeSample, ScriptRecord, Trial};

use crate::error::{FolderError, HistogramError};
use crate::file_names::{INTERVALS, LATENCY, PROBE, RUN, SCRIPT, SYSBENCH};
use crate::latency_log_writer::LatencyLogWriter;
use crate::run_file::{create_line_file, json_line, write_file, write_json};

/// A trial that is being recorded.
pub struct TrialWriter {
    path: PathBuf,
    intervals: File,
    latency: LatencyLogWriter<File>,
}

impl TrialWriter {
    pub(crate) fn new(path: PathBuf) -> Result<Self, FolderError> {
        let intervals = create_line_file(&path.join(INTERVALS))?;
        let latency = LatencyLogWriter::new(create_line_file(&path.join(LATENCY))?);
        Ok(Self { path, intervals, latency })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Folder for what the server left: `my.cnf` or `postgresql.conf`, `variables.json`,
    /// `error.log`.
    pub fn server_path(&self) -> PathBuf {
        self.path.join("server")
    }

    /// What the server is set to, by name.
    pub fn write_variables(&self, variables: &BTreeMap<String, String>) -> Result<(), FolderError> {
        write_json(&self.server_path().join("variables.json"), variables)
    }

    /// Appends one interval to both series.
    pub fn append(
        &mut self,
        interval: &Interval,
        histogram: &Histogram,
    ) -> Result<(), FolderError> {
        self.append_interval(interval)?;
        self.append_latency(interval, histogram)
    }

    pub(crate) fn append_interval(&mut self, interval: &Interval) -> Result<(), FolderError> {
        let path = self.path.join(INTERVALS);
        self.intervals.write_all(&json_line(&path, interval)?).map_err(FolderError::io(&path))
    }

    /// The response times of an interval.
    pub(crate) fn append_latency(
        &mut self,
        interval: &Interval,
        histogram: &Histogram,
    ) -> Result<(), FolderError> {
        let [start, length] = [interval.start_ms, interval.length_ms]
            .map(|ms| Duration::from_secs_f64(ms.max(0.0) / 1e3));
        self.latency
            .append(interval.phase, start, length, histogram)
            .map_err(|error: HistogramError| FolderError::content(&self.path.join(LATENCY), error))
    }

    /// Starts the probe's file of the trial, which another thread may write.
    pub fn begin_probe(&self, header: &ProbeHeader) -> Result<ProbeWriter, FolderError> {
        ProbeWriter::create(&self.path.join(PROBE), header)
    }

    /// Removes what was watched.
    pub fn remove_probe(&self) -> Result<(), FolderError> {
        let path = self.path.join(PROBE);
        fs::remove_file(&path).map_err(FolderError::io(&path))
    }

    /// Replaces `script.json`.
    pub fn write_script(&self, record: &ScriptRecord) -> Result<(), FolderError> {
        write_json(&self.path.join(SCRIPT), record)
    }

    /// Replaces `sysbench.json`.
    pub fn write_sysbench(&self, document: &str) -> Result<(), FolderError> {
        write_file(&self.path.join(SYSBENCH), document.as_bytes())
    }

    /// Replaces `run.json`. The two series reach the disk first: they are never behind the figures.
    pub fn write_trial(&self, trial: &Trial) -> Result<(), FolderError> {
        for (name, file) in [(INTERVALS, &self.intervals), (LATENCY, self.latency.out())] {
            file.sync_data().map_err(FolderError::io(&self.path.join(name)))?;
        }
        write_json(&self.path.join(RUN), trial)
    }
}

/// Writes `probe.jsonl`, a line a sample.
pub struct ProbeWriter {
    path: PathBuf,
    file: File,
}

impl ProbeWriter {
    pub(crate) fn create(path: &Path, header: &ProbeHeader) -> Result<Self, FolderError> {
        let file = create_line_file(path)?;
        let mut writer = Self { path: path.to_owned(), file };
        writer.append_line(header)?;
        Ok(writer)
    }

    /// Appends one sample.
    pub fn append(&mut self, sample: &ProbeSample) -> Result<(), FolderError> {
        self.append_line(sample)
    }

    fn append_line(&mut self, value: &impl Serialize) -> Result<(), FolderError> {
        self.file.write_all(&json_line(&self.path, value)?).map_err(FolderError::io(&self.path))
    }
}

impl Drop for ProbeWriter {
    fn drop(&mut self) {
        // A reading lost in a power failure is reported as missing.
        let _ = self.file.sync_data();
    }
}
