//! Writing `latency.hdr`: a standard HdrHistogram interval log (V2 compressed, base64), so that other tools read it too.
//!
//! Values are nanoseconds of response time, one line for each interval, tagged with the phase.

use std::io::Write;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, IntervalLogWriterBuilder, LogEntry, Tag};
use hdrhistogram::serialization::{Deserializer, V2DeflateSerializer};
use thiserror::Error;
use truetps_record::{Histogram, Phase};

#[derive(Debug, Error)]
pub enum HistogramError {
    #[error("writing latency.hdr: {0}")]
    Write(String),
    #[error("latency.hdr: {0}")]
    Read(String),
}

/// Appends intervals to a `latency.hdr`. Each append is one whole line, flushed: a killed run is readable up to it.
pub struct LatencyLogWriter<W: Write> {
    out: W,
    serializer: V2DeflateSerializer,
    has_header: bool,
}

impl<W: Write> LatencyLogWriter<W> {
    pub fn new(out: W) -> Self {
        Self { out, serializer: V2DeflateSerializer::new(), has_header: false }
    }

    pub(crate) fn out(&self) -> &W {
        &self.out
    }

    /// `start` counts from the first transaction of the trial.
    pub fn append(
        &mut self,
        phase: Phase,
        start: Duration,
        length: Duration,
        histogram: &Histogram,
    ) -> Result<(), HistogramError> {
        let line = self.encode(phase, start, length, histogram)?;
        self.out
            .write_all(&line)
            .and_then(|()| self.out.flush())
            .map_err(|error| HistogramError::Write(error.to_string()))
    }

    /// The library's log writer borrows its output for its whole life, so the two cannot be stored together. Each
    /// interval is therefore written as a log of its own, without its header except for the first.
    fn encode(
        &mut self,
        phase: Phase,
        start: Duration,
        length: Duration,
        histogram: &Histogram,
    ) -> Result<Vec<u8>, HistogramError> {
        let failed = |error: &dyn std::fmt::Debug| HistogramError::Write(format!("{error:?}"));
        let mut text = Vec::new();
        let mut log = IntervalLogWriterBuilder::new()
            .add_comment("truetps: response times in nanoseconds, one line for each interval, tagged with its phase")
            .begin_log_with(&mut text, &mut self.serializer)
            .map_err(|error| failed(&error))?;
        log.write_histogram(histogram, start, length, Tag::new(phase.tag())).map_err(|error| failed(&error))?;
        if self.has_header {
            let body = text[..text.len() - 1].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            text.drain(..body);
        }
        self.has_header = true;
        Ok(text)
    }
}

/// Reads the intervals of a `latency.hdr` as whole histograms (200 KB each): phase, start, histogram. A last line that
/// was cut off by a kill is ignored. To read many, use [`LatencyLog`](truetps_folder::LatencyLog).
pub fn read_latency_log(text: &[u8]) -> Result<Vec<(Phase, Duration, Histogram)>, HistogramError> {
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let mut intervals = Vec::new();
    let mut deserializer = Deserializer::new();
    for entry in IntervalLogIterator::new(&text[..whole]) {
        let LogEntry::Interval(line) = entry.map_err(|error| HistogramError::Read(format!("{error:?}")))? else {
            continue;
        };
        let phase = line
            .tag()
            .and_then(|tag| Phase::from_tag(tag.as_str()))
            .ok_or_else(|| HistogramError::Read("an interval without a phase".to_owned()))?;
        let bytes = STANDARD
            .decode(line.encoded_histogram())
            .map_err(|error| HistogramError::Read(format!("an interval that is not base64: {error}")))?;
        let histogram = deserializer
            .deserialize(&mut bytes.as_slice())
            .map_err(|error| HistogramError::Read(format!("{error:?}")))?;
        intervals.push((phase, line.start_timestamp(), histogram));
    }
    Ok(intervals)
}

#[cfg(test)]
mod tests {
    use truetps_record::{LatencyFigures, new_histogram};

    use super::*;

    #[test]
    fn log_survives_a_cut_in_its_last_line() {
        let mut text = Vec::new();
        let mut writer = LatencyLogWriter::new(&mut text);
        let mut histogram = new_histogram();
        for value in 1..=1000_u64 {
            histogram.record(value * 10_000).unwrap();
        }
        let second = Duration::from_secs(1);
        for (n, phase) in [(0, Phase::WarmUp), (1, Phase::Measure), (2, Phase::Measure)] {
            writer.append(phase, second * n, second, &histogram).unwrap();
        }
        let whole = read_latency_log(&text).unwrap();
        assert_eq!(whole.len(), 3);
        assert_eq!((whole[1].0, whole[1].1), (Phase::Measure, second));
        assert_eq!(LatencyFigures::of(&whole[2].2), LatencyFigures::of(&histogram));

        let cut = read_latency_log(&text[..text.len() - 20]).unwrap();
        assert_eq!(cut.len(), 2);
    }
}
