//! Repeated figures as text: the median, and the range beside it.

use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::statistics::{Data, Median};

/// `median [min..max]`, or a dash where nothing was measured; unknown figures, which are no
/// numbers, are left out.
pub(crate) fn spread(values: &[f64], decimals: usize) -> String {
    let known: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
    with_range(Data::new(known.clone()).median(), &known, decimals)
}

/// NaN where there are no ratios.
pub(crate) fn geometric_mean(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp()
}

/// `geometric mean [min..max]`, or a dash where nothing was measured.
pub(crate) fn geometric_spread(ratios: &[f64], decimals: usize) -> String {
    with_range(geometric_mean(ratios), ratios, decimals)
}

/// The 95 % interval of the geometric mean, by Student's t on logarithms; a dash for fewer than
/// two.
pub(crate) fn geometric_interval(ratios: &[f64], decimals: usize) -> String {
    let (n, mean) = (ratios.len() as f64, geometric_mean(ratios).ln());
    let Ok(student) = StudentsT::new(0.0, 1.0, n - 1.0) else { return "–".to_owned() };
    let variance = ratios.iter().map(|ratio| (ratio.ln() - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let half = student.inverse_cdf(0.975) * (variance / n).sqrt();
    format!("{:.decimals$} to {:.decimals$}", (mean - half).exp(), (mean + half).exp())
}

fn with_range(middle: f64, values: &[f64], decimals: usize) -> String {
    if values.is_empty() {
        return "–".to_owned();
    }
    let (low, high) =
        values.iter().fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(*v), high.max(*v)));
    format!("**{middle:.decimals$}** [{low:.decimals$}..{high:.decimals$}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_shows_middle_and_ends() {
        assert_eq!(spread(&[3.0, 1.0, 2.0], 1), "**2.0** [1.0..3.0]");
        assert_eq!(spread(&[1.0, 2.0], 1), "**1.5** [1.0..2.0]");
        assert_eq!(spread(&[], 1), "–");
    }

    #[test]
    fn a_doubling_and_a_halving_cancel() {
        assert_eq!(geometric_spread(&[2.0, 0.5], 2), "**1.00** [0.50..2.00]");
        assert_eq!(geometric_spread(&[], 2), "–");
        assert!(geometric_mean(&[]).is_nan());
        // Logarithms -0.1, 0, 0.1: s = 0.1, t(0.975, 2) = 4.3027, half = 0.24841.
        let ratios = [(-0.1_f64).exp(), 1.0, 0.1_f64.exp()];
        assert_eq!(geometric_interval(&ratios, 3), "0.780 to 1.282");
        assert_eq!(geometric_interval(&[1.0], 3), "–");
    }
}
