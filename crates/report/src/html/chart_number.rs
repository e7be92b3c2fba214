//! Numbers of the data for the charts' script.

use serde::{Serialize, Serializer};

/// A number with four significant digits, without a point where it is whole: charts and their texts
/// show no more.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChartNumber(f64);

impl ChartNumber {
    pub(super) fn new(value: f64) -> Self {
        const DIGITS: i32 = 4;
        if value == 0.0 || !value.is_finite() {
            return Self(0.0);
        }
        let decimals = DIGITS - 1 - value.abs().log10().floor() as i32;
        // Both ways by a whole power of ten, so that no binary fraction leaves a tail of digits.
        if decimals > 0 {
            let scale = 10_f64.powi(decimals);
            Self((value * scale).round() / scale)
        } else {
            let scale = 10_f64.powi(-decimals);
            Self((value / scale).round() * scale)
        }
    }

    /// All digits: a number chosen by the user.
    pub(super) fn exact(value: f64) -> Self {
        Self(value)
    }

    /// All digits before the point, none behind it.
    pub(super) fn whole(value: f64) -> Self {
        Self(value.round())
    }
}

impl Serialize for ChartNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.fract() == 0.0 && self.0.abs() < 9e15 {
            serializer.serialize_i64(self.0 as i64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        let check = |value, expect: &str| {
            assert_eq!(serde_json::to_string(&ChartNumber::new(value)).unwrap(), expect);
        };
        check(0.0, "0");
        check(17.6149, "17.61");
        check(12_345.6, "12350");
        check(0.123_456, "0.1235");
        check(5.0, "5");
        check(f64::NAN, "0");
        assert_eq!(serde_json::to_string(&ChartNumber::whole(123_456.4)).unwrap(), "123456");
    }
}
