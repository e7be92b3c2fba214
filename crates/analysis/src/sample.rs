//! Logarithms of one figure over trials, or of one ratio over blocks, and what Student's t says
//! about their mean.

use truetps_record::Estimate;

use crate::student::quantile;

/// Two-sided 95 % intervals: 2.5 % beyond each end.
pub(crate) const UPPER: f64 = 0.975;
/// An interval of a ratio that is wider than this factor is useless, and is left out; so is a
/// smallest detectable effect beyond it.
pub(crate) const FACTOR_MAX: f64 = 1e3;
/// An effect is detectable if a comparison finds it four times out of five.
pub(crate) const POWER: f64 = 0.8;

/// Mean and standard deviation of logarithms.
///
/// Work is done on logarithms because throughput differs by factors: a trial that is 5 % slow for
/// one server is 5 % slow for a ten times faster one, and the mean of logarithms is the logarithm
/// of the geometric mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LogSample {
    pub(crate) n: usize,
    pub(crate) mean: f64,
    /// With n − 1 in the denominator; `None` for fewer than two values.
    pub(crate) sd: Option<f64>,
}

impl LogSample {
    /// `None` where there is no value.
    pub(crate) fn of(logs: &[f64]) -> Option<Self> {
        if logs.is_empty() {
            return None;
        }
        let n = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / n;
        let squares: f64 = logs.iter().map(|value| (value - mean).powi(2)).sum();
        let sd = (logs.len() >= 2).then(|| (squares / (n - 1.0)).sqrt());
        Some(Self { n: logs.len(), mean, sd })
    }

    /// This sample, whose spread cannot be known to be less than `least`.
    pub(crate) fn with_sd_at_least(self, least: f64) -> Self {
        Self { sd: self.sd.map(|sd| sd.max(least)), ..self }
    }

    /// Half the width of the 95 % interval of the mean: `t(0.975, n − 1) · s / √n`.
    pub(crate) fn half_width(&self) -> Option<f64> {
        self.sd.map(|sd| t_quantile(UPPER, self.n) * sd / (self.n as f64).sqrt())
    }

    /// Back from logarithms: the geometric mean (of figures) or the mean ratio (of log ratios),
    /// with its interval.
    pub(crate) fn estimate(&self) -> Estimate {
        let half = self.half_width().filter(|half| *half <= FACTOR_MAX.ln());
        Estimate {
            value: exp(self.mean),
            low: half.map(|half| exp(self.mean - half)),
            high: half.map(|half| exp(self.mean + half)),
            n: self.n,
        }
    }
}

/// Quantile of Student's t for the mean of `n` values.
pub(crate) fn t_quantile(probability: f64, n: usize) -> f64 {
    assert!(n >= 2, "one value has no degree of freedom");
    quantile(probability, (n - 1) as f64)
}

/// `e^x` that stays finite: a JSON document has no infinity.
pub(crate) fn exp(x: f64) -> f64 {
    const LIMIT: f64 = 700.0;
    x.clamp(-LIMIT, LIMIT).exp()
}

/// The smallest number in `low..=high` that fulfils a condition which, once fulfilled, stays so.
pub(crate) fn first_that(
    mut low: usize,
    high: usize,
    fulfils: impl Fn(usize) -> bool,
) -> Option<usize> {
    if low > high || !fulfils(high) {
        return None;
    }
    let mut known = high;
    while low < known {
        let middle = usize::midpoint(low, known);
        if fulfils(middle) {
            known = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(known)
}

#[cfg(test)]
mod tests {
    use statrs::distribution::ContinuousCDF;

    use super::*;
    use crate::student::student;

    fn check(got: f64, expect: f64, tolerance: f64) {
        assert!((got - expect).abs() <= tolerance, "{got} is not {expect} ± {tolerance}");
    }

    /// Values of the printed t tables (e.g. NIST/SEMATECH e-Handbook of Statistical Methods,
    /// 1.3.6.7.2).
    #[test]
    fn quantiles_match_the_tables() {
        check(t_quantile(0.975, 2), 12.706, 5e-4);
        check(t_quantile(0.975, 3), 4.303, 5e-4);
        check(t_quantile(0.975, 5), 2.776, 5e-4);
        check(t_quantile(0.975, 11), 2.228, 5e-4);
        check(t_quantile(0.975, 101), 1.984, 5e-4);
        check(t_quantile(0.8, 3), 1.061, 5e-4);
        check(t_quantile(0.8, 5), 0.941, 5e-4);
        // 0.9995 with 4 degrees of freedom: the far tail that Holm's correction reaches.
        check(t_quantile(0.9995, 5), 8.610, 5e-4);
    }

    /// Holm's correction over hundreds of comparisons reaches far into the tail, with one degree of
    /// freedom as with many.
    #[test]
    fn quantiles_invert_the_distribution() {
        for n in [2, 3, 4, 5, 8, 20, 100, 1000] {
            for tail in [0.2, 0.025, 5e-4, 2.5e-5, 1e-6] {
                let beyond = student((n - 1) as f64).sf(t_quantile(1.0 - tail, n));
                assert!((beyond / tail - 1.0).abs() < 1e-4, "{n} values, {tail}: {beyond}");
            }
        }
    }

    /// By hand: 1, 2, 3, 4, 5 has mean 3, s = √2.5 = 1.5811, s/√5 = 0.70711, half width 2.7764 ·
    /// 0.70711 = 1.9632.
    #[test]
    fn interval_by_hand() {
        let sample = LogSample::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        check(sample.half_width().unwrap(), 1.9632, 1e-4);
        let estimate = sample.estimate();
        check(estimate.value.ln(), 3.0, 1e-12);
        check(estimate.low.unwrap().ln(), 1.0368, 1e-4);
        check(estimate.high.unwrap().ln(), 4.9632, 1e-4);
    }

    /// With one degree of freedom t is Cauchy: 0.975 is at tan(0.475 π) = 12.7062.
    #[test]
    fn two_values() {
        let sample = LogSample::of(&[0.0, 0.2]).unwrap();
        // s = 0.2/√2, s/√2 = 0.1
        check(sample.half_width().unwrap(), 1.270_62, 1e-5);
    }

    #[test]
    fn one_value_and_none() {
        assert_eq!(LogSample::of(&[]), None);
        let one = LogSample::of(&[2.0]).unwrap();
        assert_eq!(one.half_width(), None);
        let estimate = one.estimate();
        assert_eq!((estimate.low, estimate.high, estimate.n), (None, None, 1));
    }

    #[test]
    fn equal_values_have_an_interval_of_no_width() {
        let same = LogSample::of(&[0.5; 4]).unwrap();
        assert_eq!(same.half_width(), Some(0.0));
    }

    #[test]
    fn huge_logarithms_stay_finite_and_have_no_interval() {
        let estimate = LogSample::of(&[-2000.0, 2000.0]).unwrap().estimate();
        assert_eq!((estimate.value.is_finite(), estimate.low, estimate.high), (true, None, None));
        // 0.25 tps and 2 400 tps: the ends would be 1e-24 and 1e27.
        let apart = LogSample::of(&[0.25_f64.ln(), 2400_f64.ln()]).unwrap().estimate();
        assert_eq!((apart.value.round(), apart.low, apart.high), (24.0, None, None));
        let wide = LogSample::of(&[1.0, 2.0]).unwrap().estimate();
        assert!(wide.low.is_some() && wide.high.is_some());
    }

    #[test]
    fn first_number_that_fulfils() {
        assert_eq!(first_that(3, 1000, |n| n >= 700), Some(700));
        assert_eq!(first_that(3, 1000, |_| true), Some(3));
        assert_eq!(first_that(3, 1000, |_| false), None);
        assert_eq!(first_that(1001, 1000, |_| true), None);
    }
}
