//! An estimate with its interval, on logarithms.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A difference of logarithms, and its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LogInterval {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

impl LogInterval {
    /// Whether it excludes no difference.
    pub fn is_decided(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }

    /// The largest size that it allows.
    pub fn size_max(&self) -> f64 {
        self.low.abs().max(self.high.abs())
    }

    /// The other direction.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { value: -self.value, low: -self.high, high: -self.low }
    }
}

/// A difference of logarithms with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LogEstimate {
    pub(crate) value: f64,
    pub(crate) error: f64,
    pub(crate) freedom: f64,
}

impl LogEstimate {
    pub(crate) fn interval(&self) -> LogInterval {
        let half = self.half_width(0.05);
        LogInterval { value: self.value, low: self.value - half, high: self.value + half }
    }

    /// The mean of two independent estimates of the same thing, weighted by their variances.
    pub(crate) fn and(&self, other: &Self) -> Self {
        let (own, others) = (self.error.powi(-2), other.error.powi(-2));
        if !own.is_finite() || !others.is_finite() {
            return *self;
        }
        Self {
            value: (self.value * own + other.value * others) / (own + others),
            error: (own + others).powf(-0.5),
            freedom: self.freedom,
        }
    }

    /// Half of the two-sided interval with this chance of missing the truth.
    pub(crate) fn half_width(&self, alpha: f64) -> f64 {
        student_quantile(self.freedom, alpha) * self.error
    }

    /// Whether it differs from none at this level.
    pub(crate) fn differs(&self, alpha: f64) -> bool {
        self.value.abs() > self.half_width(alpha)
    }
}

/// The two-sided critical value of Student's t.
fn student_quantile(freedom: f64, alpha: f64) -> f64 {
    let student =
        StudentsT::new(0.0, 1.0, freedom.max(1.0)).expect("at least one degree of freedom");
    student.inverse_cdf(1.0 - alpha / 2.0)
}
