//! The variance of a trial within its block, from all configurations that have the same load.
//! `docs/method/estimates.md` explains it.

use crate::sample::LogSample;

/// Weight of the pooled variance beside a comparison's own, in degrees of freedom. It is fixed: a
/// weight that is estimated from the data, and full pooling, claim differences that are not there
/// where levels differ in their noise.
pub(crate) const POOLED_WEIGHT: f64 = 2.0;
/// With two rows the pooled variance is the comparison's own.
const ROWS_MIN: usize = 3;

/// What a block says of one figure of a configuration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BlockValue {
    pub(crate) block: u32,
    /// Mean of the logarithms of its trials' figures.
    pub(crate) log: f64,
    /// Variance that counting leaves to it.
    pub(crate) resolution: f64,
    pub(crate) trials: usize,
}

/// Adds the logarithm of one trial's figure to the value of its block, with the variance that
/// counting leaves to it. The block is the observation: two trials of the same configuration in it
/// say more of its noise, not of the differences between blocks.
pub(crate) fn add_to_block(values: &mut Vec<BlockValue>, block: u32, log: f64, resolution: f64) {
    match values.iter_mut().find(|value| value.block == block) {
        None => values.push(BlockValue { block, log, resolution, trials: 1 }),
        Some(value) => {
            let n = value.trials as f64;
            value.log = (value.log * n + log) / (n + 1.0);
            // Of a mean of n values each of which has the variance r: r / n.
            value.resolution = (value.resolution * n * n + resolution) / (n + 1.0).powi(2);
            value.trials += 1;
        }
    }
}

/// The noise at one number of connections (and one rate), whatever the settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PooledVariance {
    /// Variance of the logarithm of one trial's figure, without what is common to a block.
    pub(crate) of_one_trial: f64,
    pub(crate) freedom: usize,
    pub(crate) rows: usize,
}

impl PooledVariance {
    /// The residual mean square of rows (configurations) × blocks. Where trials are missing: the
    /// mean over all pairs of rows, weighted by the blocks that both have, which is the same where
    /// none is missing. `None` where no two rows share two blocks.
    pub(crate) fn of<'a>(rows: impl IntoIterator<Item = &'a Vec<BlockValue>>) -> Option<Self> {
        let rows: Vec<_> = rows.into_iter().filter(|row| !row.is_empty()).collect();
        let (mut squares, mut pairs_freedom, mut blocks) = (0.0, 0, 0);
        for (index, one) in rows.iter().enumerate() {
            for other in &rows[index + 1..] {
                let differences: Vec<_> =
                    matched(one, other).map(|(one, other)| one.log - other.log).collect();
                let Some(sd) = LogSample::of(&differences).and_then(|sample| sample.sd) else {
                    continue;
                };
                let freedom = differences.len() - 1;
                squares += sd.powi(2) / 2.0 * freedom as f64;
                pairs_freedom += freedom;
                blocks = blocks.max(differences.len());
            }
        }
        (pairs_freedom > 0).then(|| Self {
            of_one_trial: squares / pairs_freedom as f64,
            freedom: (rows.len() - 1) * (blocks - 1),
            rows: rows.len(),
        })
    }

    /// Whether it has more to say than the two configurations of a comparison.
    pub(crate) fn is_shared(&self) -> bool {
        self.rows >= ROWS_MIN
    }
}

/// The values of blocks that both have.
pub(crate) fn matched<'a>(
    one: &'a [BlockValue],
    other: &'a [BlockValue],
) -> impl Iterator<Item = (&'a BlockValue, &'a BlockValue)> {
    one.iter()
        .filter_map(|value| Some((value, other.iter().find(|other| other.block == value.block)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(logs: &[f64]) -> Vec<BlockValue> {
        let value = |(block, log): (usize, &f64)| BlockValue {
            block: block as u32,
            log: *log,
            resolution: 0.0,
            trials: 1,
        };
        logs.iter().enumerate().filter(|(_, log)| log.is_finite()).map(value).collect()
    }

    /// Residuals of [1, 2, 3], [2, 2, 5], [0, 5, 4] by hand: row means 2, 3, 3; block means 1, 3,
    /// 4; mean 8/3. 1−2−1+8/3 = 2/3, 2−2−3+8/3 = −1/3, 3−2−4+8/3 = −1/3; 2/3, −4/3, 2/3; −4/3, 5/3,
    /// −1/3. Squares: 4/9+1/9+1/9 + 4/9+16/9+4/9 + 16/9+25/9+1/9 = 72/9 = 8, over 2 · 2 degrees of
    /// freedom: 2.
    #[test]
    fn residual_mean_square_by_hand() {
        let rows = [row(&[1.0, 2.0, 3.0]), row(&[2.0, 2.0, 5.0]), row(&[0.0, 5.0, 4.0])];
        let pooled = PooledVariance::of(&rows).unwrap();
        assert!((pooled.of_one_trial - 2.0).abs() < 1e-12, "{pooled:?}");
        assert_eq!((pooled.freedom, pooled.rows, pooled.is_shared()), (4, 3, true));
    }

    #[test]
    fn missing_trials_leave_the_pairs_that_are_there() {
        let rows =
            [row(&[1.0, 2.0, f64::NAN]), row(&[2.0, 2.0, 5.0]), row(&[f64::NAN, f64::NAN, 4.0])];
        // Differences −1 and 0: variance 0.5 of a difference, 0.25 of a trial.
        let pooled = PooledVariance::of(&rows).unwrap();
        assert!((pooled.of_one_trial - 0.25).abs() < 1e-12, "{pooled:?}");
        assert_eq!(PooledVariance::of(&[row(&[1.0]), row(&[2.0])]), None);
        assert_eq!(PooledVariance::of(&[row(&[1.0, 2.0])]), None);
    }
}
