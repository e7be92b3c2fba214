//! Repeated figures as text: the middle, and the range beside it.

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

/// `median [min..max]`, or a dash where nothing was measured.
pub(crate) fn spread(values: &[f64], decimals: usize) -> String {
    with_range(median(values.to_vec()), values, decimals)
}

/// Of ratios; not a number where there are none.
pub(crate) fn geometric_mean(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp()
}

/// `geometric mean [min..max]`, or a dash where nothing was measured.
pub(crate) fn geometric_spread(ratios: &[f64], decimals: usize) -> String {
    with_range(geometric_mean(ratios), ratios, decimals)
}

fn with_range(middle: f64, values: &[f64], decimals: usize) -> String {
    if values.is_empty() {
        return "–".to_owned();
    }
    let (low, high) = values.iter().fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(*v), high.max(*v)));
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
    }
}
