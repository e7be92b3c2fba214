//! An estimate with its interval, on logarithms.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Chance that an interval does not have the truth.
pub(crate) const MISSED: f64 = 0.05;

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
        self.joint_interval(1)
    }

    /// One of so many intervals that all have the truth in 95 %: Bonferroni's.
    pub(crate) fn joint_interval(&self, intervals: usize) -> LogInterval {
        let half = self.half_width(MISSED / intervals.max(1) as f64);
        LogInterval { value: self.value, low: self.value - half, high: self.value + half }
    }

    /// With this factor of the standard error.
    #[must_use]
    pub(crate) fn widened(self, scale: f64) -> Self {
        Self { error: self.error * scale, ..self }
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

    /// This over another estimate, by Fieller's theorem. `None`: the divisor may be 0.
    pub(crate) fn ratio(&self, divisor: &Self, covariance: f64, alpha: f64) -> Option<LogInterval> {
        let square = student_quantile(self.freedom, alpha).powi(2);
        // The roots of a r² − 2 b r + c.
        let a = divisor.value.powi(2) - square * divisor.error.powi(2);
        let b = self.value * divisor.value - square * covariance;
        let c = self.value.powi(2) - square * self.error.powi(2);
        let root = (b * b - a * c).max(0.0).sqrt();
        let value = self.value / divisor.value;
        (a > 0.0).then(|| LogInterval { value, low: (b - root) / a, high: (b + root) / a })
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Student's t with 10 degrees of freedom: 2.228139 at 97.5 %, 2.633767 at 98.75 %.
    #[test]
    fn joint_intervals_are_bonferronis() {
        let one = LogEstimate { value: 1.0, error: 0.1, freedom: 10.0 };
        let (own, of_two) = (one.joint_interval(1), one.joint_interval(2));
        assert_eq!(own, one.interval());
        assert!((own.high - 1.222_813_9).abs() < 1e-6, "{own:?}");
        assert!((of_two.low - 0.736_623_3).abs() < 1e-6, "{of_two:?}");
    }

    /// The roots of (16 − t²/4) r² − 16 r + 4 − t²/4 with t = 2.000298, by hand.
    #[test]
    fn a_ratio_has_fiellers_interval() {
        let one = LogEstimate { value: 2.0, error: 0.5, freedom: 60.0 };
        let divisor = LogEstimate { value: 4.0, ..one };
        let ratio = one.ratio(&divisor, 0.0, 0.05).unwrap();
        assert!((ratio.value - 0.5).abs() < 1e-12);
        assert!((ratio.low - 0.242_704).abs() < 1e-5, "{ratio:?}");
        assert!((ratio.high - 0.823_984).abs() < 1e-5, "{ratio:?}");
        let unsure = LogEstimate { value: 0.9, ..one };
        assert_eq!(one.ratio(&unsure, 0.0, 0.05), None, "the divisor may be 0");
    }
}
