//! Reads a `latency.hdr` fast: only the counts that are not zero.
//!
//! A histogram has room for 29,000 counts (230 KB), of which an interval uses some hundreds. An
//! hour of a trial has 3,600 histograms: this reader goes through them one by one and does not
//! allocate the empty room. It reads what [`LatencyLogWriter`](crate::LatencyLogWriter) writes:
//! HdrHistogram's interval log with V2 compressed histograms.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::{Decompress, FlushDecompress, Status};

use crate::error::HistogramError;
use truetps_record::{LatencyInterval, Phase};

const COMPRESSED_COOKIE: u32 = 0x1c84_9314;
const PLAIN_COOKIE: u32 = 0x1c84_9313;
/// Length, offset, digits, lowest, highest, ratio: the header between the cookie and the counts.
const HEADER_BYTES: usize = 4 + 4 + 4 + 8 + 8 + 8;
/// A histogram with these bounds takes up to 260 KB uncompressed. An edited file may claim any
/// size.
const UNPACKED_MAX: usize = 512 << 10;
const DIGITS_MAX: u32 = 5;

/// The text of a `latency.hdr`.
#[derive(Debug, Clone, Default)]
pub struct LatencyLog {
    text: Vec<u8>,
}

impl LatencyLog {
    pub fn new(text: Vec<u8>) -> Self {
        Self { text }
    }

    /// Number of intervals, well-formed or not.
    pub(crate) fn lines(&self) -> usize {
        self.interval_lines().count()
    }

    /// The intervals in the order in which they were written. A last line that was cut off by a
    /// kill is ignored; any other malformed line is an error with its number.
    pub fn intervals(&self) -> impl Iterator<Item = Result<LatencyInterval, HistogramError>> + '_ {
        let mut decoder = LatencyDecoder::new();
        self.interval_lines().map(move |(at, line)| decoder.decode(at + 1, line))
    }

    fn interval_lines(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let whole = self.text.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
        self.text[..whole]
            .split(|byte| *byte == b'\n')
            .enumerate()
            .filter(|(_, line)| is_interval(line))
    }
}

/// Comments and the line with the names of the columns are not.
pub(crate) fn is_interval(line: &[u8]) -> bool {
    !line.is_empty() && !line.starts_with(b"#") && !line.starts_with(b"\"")
}

/// Decodes one line after the other in the same memory.
pub(crate) struct LatencyDecoder {
    inflater: Decompress,
    packed: Vec<u8>,
    plain: Vec<u8>,
}

impl LatencyDecoder {
    pub(crate) fn new() -> Self {
        Self { inflater: Decompress::new(true), packed: Vec::new(), plain: vec![0; UNPACKED_MAX] }
    }

    /// `number`: of the line, for an error.
    pub(crate) fn decode(
        &mut self,
        number: usize,
        line: &[u8],
    ) -> Result<LatencyInterval, HistogramError> {
        self.read_line(line)
            .ok_or_else(|| HistogramError::Read(format!("line {number} cannot be understood")))
    }

    /// `Tag=measure,1.000,1.000,0.123,HISTF…`: start and length in seconds, the maximum, the
    /// histogram.
    fn read_line(&mut self, line: &[u8]) -> Option<LatencyInterval> {
        let text = std::str::from_utf8(line).ok()?;
        let mut fields = text.trim_end().split(',');
        let phase = Phase::from_tag(fields.next()?.strip_prefix("Tag=")?)?;
        let start_ms = milliseconds(fields.next()?)?;
        let length_ms = milliseconds(fields.next()?)?;
        self.packed.clear();
        STANDARD.decode_vec(fields.nth(1)?, &mut self.packed).ok()?;
        Some(LatencyInterval { phase, start_ms, length_ms, counts: self.unpack()? })
    }

    fn unpack(&mut self) -> Option<Vec<(u64, u64)>> {
        let mut packed = Bytes(&self.packed);
        if packed.u32()? != COMPRESSED_COOKIE {
            return None;
        }
        let length = packed.u32()? as usize;
        self.inflater.reset(true);
        let status = self
            .inflater
            .decompress(packed.0.get(..length)?, &mut self.plain, FlushDecompress::Finish)
            .ok()?;
        if status != Status::StreamEnd {
            return None;
        }
        let mut plain = Bytes(&self.plain[..self.inflater.total_out() as usize]);
        if plain.u32()? != PLAIN_COOKIE || plain.0.len() < HEADER_BYTES {
            return None;
        }
        let (length, offset, digits) = (plain.u32()? as usize, plain.u32()?, plain.u32()?);
        let (lowest, _highest, ratio) = (plain.u64()?, plain.u64()?, f64::from_bits(plain.u64()?));
        // Neither shifted nor scaled: no histogram of truetps is.
        if offset != 0 || ratio.to_bits() != 1.0_f64.to_bits() {
            return None;
        }
        CountIndex::new(lowest, digits)?.counts(Bytes(plain.0.get(..length)?))
    }
}

/// Seconds as milliseconds; `None` if they are negative or not finite.
fn milliseconds(seconds: &str) -> Option<f64> {
    let seconds: f64 = seconds.parse().ok()?;
    (seconds.is_finite() && seconds >= 0.0).then_some(seconds * 1e3)
}

/// Limit of transactions in one interval: far beyond real counts, and the sum of 100,000 intervals
/// fits 64 bits.
const COUNT_MAX: u64 = 100_000_000_000_000;

/// Maps a slot in the list of counts to its value.
struct CountIndex {
    /// Lower bits, which the histogram does not distinguish.
    unit: u32,
    /// Slots of each doubling, as a power of two.
    half: u32,
}

impl CountIndex {
    fn new(lowest: u64, digits: u32) -> Option<Self> {
        if lowest == 0 || digits > DIGITS_MAX {
            return None;
        }
        let steps = 2 * 10_u64.pow(digits);
        Some(Self { unit: lowest.ilog2(), half: steps.next_power_of_two().ilog2() - 1 })
    }

    /// `None` if the slot is beyond all values.
    fn value(&self, slot: u64) -> Option<u64> {
        let doubling = slot >> self.half;
        let within = slot & ((1 << self.half) - 1);
        let (step, shift) = match doubling.checked_sub(1) {
            None => (within, self.unit),
            Some(doubling) => {
                (within + (1 << self.half), self.unit.checked_add(u32::try_from(doubling).ok()?)?)
            }
        };
        (shift.saturating_add(self.half) < u64::BITS - 1).then(|| step << shift)
    }

    /// A positive number is the count of the next slot; a negative one is a number of empty slots.
    fn counts(&self, mut numbers: Bytes<'_>) -> Option<Vec<(u64, u64)>> {
        let mut counts = Vec::with_capacity(numbers.0.len() / 2);
        let (mut slot, mut total) = (0_u64, 0_u64);
        while !numbers.0.is_empty() {
            let number = numbers.varint()?;
            // Zig-zag: the sign is in the lowest bit.
            let (size, is_empty) = ((number >> 1) + (number & 1), number & 1 == 1);
            if is_empty {
                slot = slot.checked_add(size)?;
                continue;
            }
            total = total.checked_add(size).filter(|total| *total <= COUNT_MAX)?;
            if size > 0 {
                counts.push((self.value(slot)?, size));
            }
            slot = slot.checked_add(1)?;
        }
        Some(counts)
    }
}

/// The bytes still to read.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn u32(&mut self) -> Option<u32> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*bytes))
    }

    fn u64(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_be_bytes(*bytes))
    }

    /// Seven bits a byte, the lowest first; a ninth byte has eight.
    #[inline]
    fn varint(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first()?;
        if first & 0x80 == 0 {
            self.0 = rest;
            return Some((*first).into());
        }
        self.long_varint()
    }

    fn long_varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for at in 0..9 {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            let is_last = at == 8 || byte & 0x80 == 0;
            let bits = if at == 8 { *byte } else { byte & 0x7f };
            value |= u64::from(bits) << (7 * at);
            if is_last {
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::LatencyLogWriter;
    use crate::latency_log_writer::tests::read_by_library;
    use truetps_record::{Histogram, new_histogram};

    const SECOND: Duration = Duration::from_secs(1);

    fn log(histograms: &[Histogram]) -> Vec<u8> {
        let mut text = Vec::new();
        let mut writer = LatencyLogWriter::new(&mut text);
        for (second, histogram) in histograms.iter().enumerate() {
            writer.append(Phase::Measure, SECOND * second as u32, SECOND, histogram).unwrap();
        }
        text
    }

    /// Values from the lowest to the highest, some of them often.
    fn spread() -> Histogram {
        let mut histogram = new_histogram();
        let mut value: u64 = 1;
        while value < 3_600_000_000_000 {
            histogram.record_n(value, 1 + value % 1000).unwrap();
            value += value / 7 + 100;
        }
        histogram.record_n(5_000_000, 1 << 40).unwrap();
        histogram
    }

    #[test]
    fn counts_match_the_library() {
        let text = log(&[spread(), new_histogram()]);
        let library = read_by_library(&text);
        let ours: Vec<_> = LatencyLog::new(text).intervals().map(Result::unwrap).collect();
        assert_eq!((library.len(), ours.len()), (2, 2));
        for ((phase, start, histogram), ours) in library.iter().zip(&ours) {
            assert_eq!((*phase, start.as_secs_f64() * 1e3), (ours.phase, ours.start_ms));
            let lowest = |value| histogram.lowest_equivalent(value);
            let theirs = histogram
                .iter_recorded()
                .map(|step| (lowest(step.value_iterated_to()), step.count_at_value()));
            assert_eq!(theirs.collect::<Vec<_>>(), ours.counts);
        }
        assert_eq!(ours[1].counts, []);
        assert_eq!((ours[1].start_ms, ours[1].length_ms), (1000.0, 1000.0));
    }

    /// A crafted file may have any number of empty slots before a count.
    #[test]
    fn slots_beyond_all_values_have_none() {
        let last = CountIndex::new(1, 3).unwrap();
        assert_eq!(last.value(0), Some(0));
        assert_eq!(last.value(2047), Some(2047));
        for lowest in [1, 1 << 20] {
            let slots = CountIndex::new(lowest, 3).unwrap();
            for slot in [1 << 20, 1 << 42, (1 << 42) + (1 << 10), 1 << 49, u64::MAX] {
                assert_eq!(slots.value(slot), None, "{lowest}, {slot}");
            }
        }
    }

    #[test]
    fn counts_that_overflow_a_sum_are_refused() {
        let mut histogram = new_histogram();
        histogram.record_n(1_000_000, COUNT_MAX - 1).unwrap();
        let counted = |histogram: &Histogram| {
            LatencyLog::new(log(std::slice::from_ref(histogram))).intervals().all(|one| one.is_ok())
        };
        assert!(counted(&histogram));
        histogram.record_n(2_000_000, 2).unwrap();
        assert!(!counted(&histogram));
    }

    #[test]
    fn a_last_line_that_was_cut_off_is_left_out() {
        let text = log(&[spread(), spread()]);
        for cut in [1, 20, 300] {
            let log = LatencyLog::new(text[..text.len() - cut].to_vec());
            assert_eq!(log.intervals().flatten().count(), 1, "{cut}");
            assert!(log.intervals().all(|interval| interval.is_ok()), "{cut}");
        }
        assert_eq!(LatencyLog::new(Vec::new()).intervals().count(), 0);
    }

    #[test]
    fn a_line_that_was_edited_is_named_and_no_other_suffers() {
        let text = log(&[spread(), spread(), spread()]);
        let lines: Vec<_> = text.split_inclusive(|byte| *byte == b'\n').collect();
        let second = lines.iter().rposition(|line| line.starts_with(b"Tag=")).unwrap() - 1;
        let check = |changed: &[u8]| {
            let mut edited: Vec<_> = lines.clone();
            edited[second] = changed;
            let found: Vec<_> = LatencyLog::new(edited.concat())
                .intervals()
                .map(|one| one.map_err(|e| e.to_string()))
                .collect();
            assert_eq!((found.len(), found[0].is_ok(), found[2].is_ok()), (3, true, true));
            assert_eq!(
                found[1],
                Err(format!("latency.hdr: line {} cannot be understood", second + 1))
            );
        };
        check(b"Tag=measure,1.000,1.000\n");
        check(b"Tag=measure,-1.000,1.000,1.0,HISTFAAA\n");
        check(b"Tag=elsewhere,NaN,1.000,1.0,HISTFAAA\n");
        check(b"\xff\xfe\n");
        let packed = |bytes: &[u8]| {
            format!("Tag=measure,1.0,1.0,1.0,{}\n", STANDARD.encode(bytes)).into_bytes()
        };
        check(&packed(&[0x1c, 0x84, 0x93, 0x14, 0xff, 0xff, 0xff, 0xff, 1, 2]));
        check(&packed(b""));
    }

    /// Any byte of the packed histogram may be another one: never a panic, nor more memory than a
    /// histogram takes.
    #[test]
    fn a_damaged_histogram_is_an_error_or_other_counts() {
        let slots = CountIndex::new(256, 3).unwrap();
        assert_eq!(slots.value(1 << 40), None);
        let empty = [&[0xff; 9][..], &[2]].concat();
        assert_eq!(slots.counts(Bytes(&empty)), None, "more empty slots than there are");
        let mut plain = vec![3, 0, 0x81];
        let mut decoder = LatencyDecoder::new();
        assert_eq!(slots.counts(Bytes(&plain)), None, "cut off");
        for byte in 0..=255 {
            plain[1] = byte;
            _ = slots.counts(Bytes(&plain));
            decoder.packed = vec![0x1c, 0x84, 0x93, 0x14, 0, 0, 0, 3, byte, byte, byte];
            assert_eq!(decoder.unpack(), None);
        }
        assert!(CountIndex::new(0, 3).is_none() && CountIndex::new(1, 99).is_none());
    }
}
