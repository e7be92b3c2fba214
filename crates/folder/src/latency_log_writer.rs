//! Writing `latency.hdr`: a standard HdrHistogram interval log (V2 compressed, base64), so that
//! other tools read it too.
//!
//! Values are nanoseconds of response time, one line for each interval, tagged with the phase.

use std::io::Write;
use std::time::Duration;

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use truetps_record::{Histogram, Phase};

use crate::error::HistogramError;

/// Appends intervals to a `latency.hdr`. Each append is one whole line, flushed: a killed run is
/// readable up to it.
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

    /// The library's log writer borrows its output for its whole life, so the two cannot be stored
    /// together. Each interval is therefore written as a log of its own, without its header except
    /// for the first.
    fn encode(
        &mut self,
        phase: Phase,
        start: Duration,
        length: Duration,
        histogram: &Histogram,
    ) -> Result<Vec<u8>, HistogramError> {
        let mut text = Vec::new();
        let mut log = IntervalLogWriterBuilder::new()
            .add_comment(
                "truetps: response times in nanoseconds, one line for each interval, \
                          tagged with its phase",
            )
            .begin_log_with(&mut text, &mut self.serializer)
            .map_err(|error| write_error(&error))?;
        log.write_histogram(histogram, start, length, Tag::new(phase.tag()))
            .map_err(|error| write_error(&error))?;
        if self.has_header {
            let body = text[..text.len() - 1]
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |at| at + 1);
            text.drain(..body);
        }
        self.has_header = true;
        Ok(text)
    }
}

fn write_error(error: &dyn std::fmt::Debug) -> HistogramError {
    HistogramError::Write(format!("{error:?}"))
}

#[cfg(test)]
pub(crate) mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
    use truetps_record::{LatencyFigures, new_histogram};

    use super::*;
    use crate::LatencyLog;

    /// The intervals as the library reads them: phase, start, histogram.
    pub(crate) fn read_by_library(text: &[u8]) -> Vec<(Phase, Duration, Histogram)> {
        let mut deserializer = Deserializer::new();
        let intervals = IntervalLogIterator::new(text).filter_map(|entry| {
            let LogEntry::Interval(line) = entry.unwrap() else { return None };
            let phase = Phase::from_tag(line.tag().unwrap().as_str()).unwrap();
            let packed = STANDARD.decode(line.encoded_histogram()).unwrap();
            Some((
                phase,
                line.start_timestamp(),
                deserializer.deserialize(&mut packed.as_slice()).unwrap(),
            ))
        });
        intervals.collect()
    }

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
        let whole = read_by_library(&text);
        assert_eq!(whole.len(), 3);
        assert_eq!((whole[1].0, whole[1].1), (Phase::Measure, second));
        assert_eq!(LatencyFigures::of(&whole[2].2), LatencyFigures::of(&histogram));

        let cut = LatencyLog::new(text[..text.len() - 20].to_vec());
        assert_eq!(cut.intervals().map(Result::unwrap).count(), 2);
    }
}
