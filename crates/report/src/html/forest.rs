//! A ratio with its interval as a small picture beside its figures: a line for the interval, a
//! point for the value, and the range around 1 that counts as no difference.

use truetps_record::Estimate;

use crate::format;

/// Size of the picture in its own units; `forest.html` has the same.
const WIDTH: f64 = 130.0;
const MARGIN: f64 = 5.0;

/// Ends of a scale, as factors: a scale from 1/1.5 to 20 reads better than one from 0.63 to 17.4.
const REACHES: [f64; 18] = [
    1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1e3, 1e4,
    1e5, 1e6,
];

/// An interval may reach this factor beyond all values before the scale cuts it off: with two
/// trials it can be so wide that all values would fall into one point.
const INTERVAL_BEYOND_VALUES: f64 = 3.0;

/// One logarithmic scale for all pictures of a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    smallest_effect: f64,
}

/// Positions in a picture, left to right.
#[derive(Debug, Clone, Copy)]
pub(super) struct Forest {
    pub(super) zone_from: f64,
    pub(super) zone_width: f64,
    pub(super) one: f64,
    pub(super) point: f64,
    pub(super) range: Option<(f64, f64)>,
}

impl Scale {
    pub(super) fn of<'a>(ratios: impl Iterator<Item = &'a Estimate>, smallest_effect: f64) -> Self {
        let mut scale = Self {
            low: 1.0 / (1.0 + smallest_effect),
            high: 1.0 + smallest_effect,
            smallest_effect,
        };
        let ratios: Vec<_> =
            ratios.filter(|ratio| ratio.value > 0.0 && ratio.value.is_finite()).collect();
        let lowest = ratios.iter().map(|ratio| ratio.value).fold(1.0, f64::min);
        let highest = ratios.iter().map(|ratio| ratio.value).fold(1.0, f64::max);
        for ratio in ratios {
            let low = ratio.low.unwrap_or(ratio.value).max(lowest / INTERVAL_BEYOND_VALUES);
            let high = ratio.high.unwrap_or(ratio.value).min(highest * INTERVAL_BEYOND_VALUES);
            scale.low = scale.low.min(low);
            scale.high = scale.high.max(high);
        }
        Self { low: 1.0 / reach(1.0 / scale.low), high: reach(scale.high), smallest_effect }
    }

    /// The ratios at the left and right end: `×0.667` and `×20.0`.
    pub(super) fn ends(&self) -> (String, String) {
        (format::ratio(self.low), format::ratio(self.high))
    }

    pub(super) fn picture(&self, ratio: &Estimate) -> Forest {
        let zone_from = self.x(1.0 / (1.0 + self.smallest_effect));
        Forest {
            zone_from,
            zone_width: one_decimal(self.x(1.0 + self.smallest_effect) - zone_from),
            one: self.x(1.0),
            point: self.x(ratio.value),
            range: ratio.low.zip(ratio.high).map(|(low, high)| (self.x(low), self.x(high))),
        }
    }

    fn x(&self, ratio: f64) -> f64 {
        let share =
            (ratio.clamp(self.low, self.high) / self.low).ln() / (self.high / self.low).ln();
        one_decimal(MARGIN + share * (WIDTH - 2.0 * MARGIN))
    }
}

fn reach(factor: f64) -> f64 {
    // The comparison forgives the rounding of 1 / (1 / x).
    REACHES.into_iter().find(|reach| factor <= reach * (1.0 + 1e-9)).unwrap_or(factor)
}

fn one_decimal(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, low: f64, high: f64) -> Estimate {
        Estimate { value, low: Some(low), high: Some(high), n: 5 }
    }

    fn check(scale: &Scale, low: &str, high: &str) {
        assert_eq!(scale.ends(), (low.to_owned(), high.to_owned()));
    }

    #[test]
    fn scale_has_round_ends_and_keeps_everything_inside() {
        let ratios = [estimate(13.2, 12.0, 14.0), estimate(0.7, 0.68, 0.72)];
        let scale = Scale::of(ratios.iter(), 0.03);
        check(&scale, "×0.667", "×20.0");
        for ratio in &ratios {
            let forest = scale.picture(ratio);
            let (low, high) = forest.range.unwrap();
            assert!(
                0.0 < low && low < forest.point && forest.point < high && high < WIDTH,
                "{forest:?}"
            );
        }
    }

    #[test]
    fn a_boundless_interval_is_cut_off() {
        let scale = Scale::of([estimate(1.1, 1e-9, 1e12)].iter(), 0.03);
        check(&scale, "×0.200", "×5.00");
    }

    #[test]
    fn no_ratios_no_trouble() {
        check(&Scale::of([].iter(), 0.03), "×0.952", "×1.050");
        let odd = Estimate { value: 0.0, low: None, high: None, n: 1 };
        let scale = Scale::of([odd].iter(), 0.0);
        assert!(scale.picture(&odd).point.is_finite());
    }
}
