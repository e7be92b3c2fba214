//! A stretch of time: an outage, a stall, a reading.

use serde::Serialize;

/// A stretch of time, on the clock of [`Interval::start_ms`](crate::Interval::start_ms).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TimeSpan {
    pub from_ms: f64,
    pub to_ms: f64,
}

impl TimeSpan {
    pub fn length_ms(self) -> f64 {
        self.to_ms - self.from_ms
    }

    /// What both have; without length where that is nothing.
    #[must_use]
    pub fn shared(self, other: Self) -> Self {
        let from_ms = self.from_ms.max(other.from_ms);
        Self { from_ms, to_ms: self.to_ms.min(other.to_ms).max(from_ms) }
    }

    pub fn touches(self, other: Self, within_ms: f64) -> bool {
        self.from_ms <= other.to_ms + within_ms && other.from_ms <= self.to_ms + within_ms
    }
}
