//! The series of one part of a load, interval by interval.

use std::path::Path;

use truetps_record::{Interval, Phase};

use crate::error::FolderError;
use crate::folder::ExperimentFolder;
use crate::latency_log::{LatencyDecoder, is_interval};
use crate::line_reader::LineReader;
use crate::series_text::next_interval;

/// An interval of one part.
pub(crate) struct PartInterval {
    /// Index of the part among those that are merged.
    pub(crate) part: usize,
    pub(crate) interval: Interval,
    /// Nanoseconds of response time, and how many transactions had them; empty where they were not
    /// recorded.
    pub(crate) latencies: Vec<(u64, u64)>,
}

/// What a part has recorded of a trial, from its first interval on.
pub(crate) struct PartSeries {
    part: usize,
    intervals: LineReader,
    /// `None`: it has no such file.
    latency: Option<LineReader>,
    next: Option<Interval>,
}

impl PartSeries {
    pub(crate) fn open(
        part: usize,
        folder: &ExperimentFolder,
        trial: &str,
    ) -> Result<Self, FolderError> {
        let mut intervals = folder.interval_lines(trial)?;
        let next = next_interval(&mut intervals)?;
        Ok(Self { part, intervals, latency: folder.latency_lines(trial)?, next })
    }

    /// The folder of the trial.
    pub(crate) fn folder(&self) -> &Path {
        self.intervals.path().parent().unwrap_or(self.intervals.path())
    }

    /// The next interval if it is of this phase.
    pub(crate) fn next_of(
        &mut self,
        phase: Phase,
        decoder: &mut LatencyDecoder,
    ) -> Result<Option<PartInterval>, FolderError> {
        let Some(interval) = self.next.take_if(|next| next.phase == phase) else { return Ok(None) };
        self.next = next_interval(&mut self.intervals)?;
        let latencies = self.decode_next(decoder)?.unwrap_or_default();
        Ok(Some(PartInterval { part: self.part, interval, latencies }))
    }

    /// The response times of the next line of them; `None` at the end.
    fn decode_next(
        &mut self,
        decoder: &mut LatencyDecoder,
    ) -> Result<Option<Vec<(u64, u64)>>, FolderError> {
        let Some(lines) = &mut self.latency else { return Ok(None) };
        let decoded = loop {
            match lines.next_line()? {
                None => return Ok(None),
                Some((number, line)) if is_interval(line) => break decoder.decode(number, line),
                Some(_) => {}
            }
        };
        let counts = decoded.map_err(|error| FolderError::content(self.folder(), error))?.counts;
        Ok(Some(counts))
    }

    /// Refuses what is left after the last phase, and what cannot be read of the response times
    /// behind the last interval.
    pub(crate) fn check_ended(&mut self, decoder: &mut LatencyDecoder) -> Result<(), FolderError> {
        while self.decode_next(decoder)?.is_some() {}
        let Some(next) = &self.next else { return Ok(()) };
        let problem =
            format!("its intervals are not in the order of their phases: {}", next.phase.tag());
        Err(FolderError::content(self.intervals.path(), problem))
    }
}
