//! Latency in buckets whose widths grow with the value, as sysbench has them.
//!
//! Bucket `i` of `size` has the value min * (max / min)^(i / (size - 1)); a value goes to the
//! nearest bucket on the logarithmic scale, and a value outside the range to the bucket at that
//! end.

use std::fmt::Write as _;

/// Stars of the longest row.
const STARS: u64 = 40;

/// `sysbench.histogram.new(size, min, max)`, and the histogram of a run. Values are milliseconds,
/// though scripts may use any unit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LogHistogram {
    counts: Vec<u64>,
    total: u64,
    log_min: f64,
    /// Buckets to one unit of the natural logarithm.
    scale: f64,
    seen_min: f64,
    seen_max: f64,
}

impl LogHistogram {
    /// `size` buckets over `min..=max`; at least one.
    pub(crate) fn new(size: usize, min: f64, max: f64) -> Self {
        let (log_min, log_max) = (min.ln(), max.ln());
        // One bucket has no width; what falls into it is then shown as the minimum.
        let scale = if size > 1 { (size - 1) as f64 / (log_max - log_min) } else { f64::INFINITY };
        let counts = vec![0; size.max(1)];
        Self {
            counts,
            total: 0,
            log_min,
            scale,
            seen_min: f64::INFINITY,
            seen_max: f64::NEG_INFINITY,
        }
    }

    /// The one that reports are made from: 1024 buckets, 1 µs to 100 s.
    pub(crate) fn of_latency() -> Self {
        Self::new(1024, 0.001, 100_000.0)
    }

    /// Counts a value so many times.
    #[inline]
    pub(crate) fn add(&mut self, value_ms: f64, count: u64) {
        // Casts to integers stop at their ends, and NaN becomes 0.
        let bucket = ((value_ms.ln() - self.log_min) * self.scale + 0.5) as usize;
        let last = self.counts.len() - 1;
        self.counts[bucket.min(last)] += count;
        self.total += count;
        self.seen_min = self.seen_min.min(value_ms);
        self.seen_max = self.seen_max.max(value_ms);
    }

    /// The buckets that have counted something: what they stand for in milliseconds, and their
    /// counts.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (f64, u64)> {
        let counts = self.counts.iter().enumerate().filter(|&(_, &count)| count > 0);
        counts.map(|(bucket, &count)| (self.value_ms(bucket), count))
    }

    /// Header and rows; empty, without a header, if nothing was counted. `histogram:print()` of
    /// scripts prints it. Unlike other texts it includes all its line ends.
    pub(crate) fn text(&self) -> String {
        let Some(most) = self.counts.iter().max().filter(|&&most| most > 0) else {
            return String::new();
        };
        let mut text =
            String::from("       value  ------------- distribution ------------- count\n");
        for (value, count) in self.rows() {
            let stars = (STARS as f64 * count as f64 / *most as f64 + 0.5) as usize;
            _ = writeln!(text, "{value:12.3} |{:<40} {count}", "*".repeat(stars));
        }
        text
    }

    /// The block that `--histogram` puts before the report.
    pub(crate) fn report(&self) -> String {
        format!("Latency histogram (values are in milliseconds)\n{} ", self.text())
    }

    fn value_ms(&self, bucket: usize) -> f64 {
        (self.log_min + bucket as f64 / self.scale).exp()
    }
}

#[cfg(test)]
#[path = "histogram_tests.rs"]
mod tests;
