//! What commit connections have done, for metrics.

use std::time::Duration;

use crate::{BatchCounts, FaultClass};

/// Upper bounds of the buckets, in seconds and in rows.
const SECONDS: [f64; 14] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
const ROWS: [f64; 11] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0];

/// Counts of values in buckets.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureHistogram {
    pub bounds: &'static [f64],
    /// The count of each bucket alone; the last one has no upper bound.
    pub counts: Vec<u64>,
    pub sum: f64,
}

impl FigureHistogram {
    pub fn of_seconds() -> Self {
        Self::new(&SECONDS)
    }

    pub fn of_rows() -> Self {
        Self::new(&ROWS)
    }

    fn new(bounds: &'static [f64]) -> Self {
        Self { bounds, counts: vec![0; bounds.len() + 1], sum: 0.0 }
    }

    pub fn add(&mut self, value: f64) {
        self.counts[self.bounds.partition_point(|bound| *bound < value)] += 1;
        self.sum += value;
    }

    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Upper bound of the bucket that has the value at this share of all values; `None` without
    /// values.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let wanted = (self.count() as f64 * share).ceil().max(1.0) as u64;
        let mut below = 0;
        let at = self.counts.iter().position(|count| {
            below += count;
            below >= wanted
        })?;
        Some(self.bounds.get(at).copied().unwrap_or(f64::INFINITY))
    }
}

/// Figures of one table since the start.
#[derive(Debug, Clone)]
pub struct CommitFigures {
    /// From the first statement of a batch to the answer of its last row.
    pub batch_seconds: FigureHistogram,
    pub batch_rows: FigureHistogram,
    /// From the queue to the first statement.
    pub queue_seconds: FigureHistogram,
    pub counts: BatchCounts,
    /// Rows whose time was over before they were sent.
    pub expired: u64,
    /// Rows that were not sent because their clients had gone.
    pub abandoned: u64,
    /// Batches that ended with an error that was no row's fault, by the class of the last error.
    pub faults: [(FaultClass, u64); 4],
    /// The last error that was no row's fault, as text.
    pub last_fault: Option<String>,
}

impl Default for CommitFigures {
    fn default() -> Self {
        use FaultClass::{Configuration, Down, ReadOnly, Transient};
        Self {
            batch_seconds: FigureHistogram::of_seconds(),
            batch_rows: FigureHistogram::of_rows(),
            queue_seconds: FigureHistogram::of_seconds(),
            counts: BatchCounts::default(),
            expired: 0,
            abandoned: 0,
            faults: [Configuration, Down, ReadOnly, Transient].map(|class| (class, 0)),
            last_fault: None,
        }
    }
}

impl CommitFigures {
    pub(super) fn add_batch(&mut self, rows: usize, took: Duration, counts: &BatchCounts) {
        self.batch_rows.add(rows as f64);
        self.batch_seconds.add(took.as_secs_f64());
        self.counts.merge(counts);
    }

    pub(super) fn add_fault(&mut self, class: FaultClass, text: String) {
        for (of, count) in &mut self.faults {
            *count += u64::from(*of == class);
        }
        self.last_fault = Some(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_in_the_bucket_of_its_upper_bound() {
        let mut rows = FigureHistogram::of_rows();
        assert_eq!(rows.quantile(0.5), None);
        for value in [1.0, 1.0, 2.0, 3.0, 5000.0] {
            rows.add(value);
        }
        assert_eq!((rows.counts[0], rows.counts[1], rows.counts[2], rows.counts[11]), (2, 1, 1, 1));
        assert_eq!(
            (rows.count(), rows.quantile(0.4), rows.quantile(0.5)),
            (5, Some(1.0), Some(2.0))
        );
        assert_eq!(rows.quantile(1.0), Some(f64::INFINITY));
    }
}
