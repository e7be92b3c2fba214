//! What a program has to reach beside another one.

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum BenchGoal {
    RatioAtLeast(f64),
    RatioAtMost(f64),
    /// For the figures themselves, not for ratios.
    LargestAtMost(f64),
}

impl BenchGoal {
    /// For the geometric mean of ratios, and the largest figure of all runs.
    pub(crate) fn verdict(self, mean_ratio: f64, largest: f64) -> String {
        match self {
            Self::RatioAtLeast(goal) => format!("≥ {goal}: {}", is_met(goal, mean_ratio)),
            Self::RatioAtMost(goal) => format!("≤ {goal}: {}", is_met(mean_ratio, goal)),
            Self::LargestAtMost(goal) => {
                format!("{largest:.1} ≤ {goal}: {}", is_met(largest, goal))
            }
        }
    }
}

fn is_met(small: f64, large: f64) -> &'static str {
    if small.is_nan() || large.is_nan() {
        return "no figure";
    }
    // A mean goes through logarithms: equal values may differ in the last digit.
    if small <= large + 1e-9 { "met" } else { "**missed**" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_met_from_their_figure_on() {
        assert_eq!(BenchGoal::RatioAtLeast(1.0).verdict(1.0, f64::NAN), "≥ 1: met");
        assert_eq!(BenchGoal::RatioAtLeast(1.0).verdict(0.99, 2.0), "≥ 1: **missed**");
        assert_eq!(BenchGoal::RatioAtMost(0.9).verdict(0.9, f64::NAN), "≤ 0.9: met");
        assert_eq!(
            BenchGoal::RatioAtMost(0.9).verdict(f64::midpoint(0.9, 0.91), 0.1),
            "≤ 0.9: **missed**"
        );
        assert_eq!(BenchGoal::RatioAtMost(0.9).verdict(f64::NAN, 0.1), "≤ 0.9: no figure");
        assert_eq!(BenchGoal::LargestAtMost(50.0).verdict(f64::NAN, 60.0), "60.0 ≤ 50: **missed**");
    }
}
