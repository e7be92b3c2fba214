//! The statements of two scripts' runs: numbers per transaction that differ by more than chance.

use std::collections::BTreeMap;

use serde::Serialize;
use truetps_record::{ScriptRun, SentShape};

/// Closer figures count as equal: they differ by the end of a run or the drawn keys.
const SAME_SHARE: f64 = 0.02;
/// Numbers of statements differ by more than chance from this number of standard deviations on.
const DEVIATIONS: f64 = 3.0;

/// Statements per transaction; 0: that side sent none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShapeDiffers {
    pub sql: String,
    pub a_per_tx: f64,
    pub b_per_tx: f64,
}

impl ShapeDiffers {
    fn size(&self) -> f64 {
        (self.a_per_tx - self.b_per_tx).abs()
    }
}

/// `reads`, `writes` and `other` per transaction.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkDiffers {
    pub what: &'static str,
    pub a_per_tx: f64,
    pub b_per_tx: f64,
}

/// Shapes of which a transaction of the two sends other numbers, the largest difference first.
pub fn differing_shapes(
    (a, tx_a): (&[SentShape], u64),
    (b, tx_b): (&[SentShape], u64),
) -> Vec<ShapeDiffers> {
    if tx_a == 0 || tx_b == 0 {
        return Vec::new();
    }
    let mut counts: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for shape in a {
        counts.entry(&shape.sql).or_default().0 = shape.count;
    }
    for shape in b {
        counts.entry(&shape.sql).or_default().1 = shape.count;
    }
    let mut found: Vec<_> = counts
        .into_iter()
        .filter(|(_, (a, b))| is_other_number((*a, tx_a), (*b, tx_b)))
        .map(|(sql, (a, b))| ShapeDiffers {
            sql: sql.to_owned(),
            a_per_tx: a as f64 / tx_a as f64,
            b_per_tx: b as f64 / tx_b as f64,
        })
        .collect();
    // Equal ones stay in the order of their texts.
    found.sort_by(|one, other| other.size().total_cmp(&one.size()));
    found
}

/// Whether two figures of what was sent are the same but for the end of a run and the draw of its
/// keys.
pub fn is_same_figure(one: f64, other: f64) -> bool {
    (one - other).abs() <= SAME_SHARE * one.abs().max(other.abs())
}

/// Whether two counts, each of so many transactions, are apart by more than chance. None at all is
/// apart from some.
fn is_other_number((a, tx_a): (u64, u64), (b, tx_b): (u64, u64)) -> bool {
    if (a == 0) != (b == 0) {
        return true;
    }
    let (rate_a, rate_b) = (a as f64 / tx_a as f64, b as f64 / tx_b as f64);
    let deviation = (rate_a / tx_a as f64 + rate_b / tx_b as f64).sqrt();
    !is_same_figure(rate_a, rate_b) && (rate_a - rate_b).abs() > DEVIATIONS * deviation
}

/// Reads, writes and other statements of a transaction, all three where one differs; each side with
/// its transactions.
pub fn differing_work(
    (a, tx_a): (&ScriptRun, u64),
    (b, tx_b): (&ScriptRun, u64),
) -> Vec<WorkDiffers> {
    if tx_a == 0 || tx_b == 0 {
        return Vec::new();
    }
    let rows =
        [("reads", a.reads, b.reads), ("writes", a.writes, b.writes), ("other", a.other, b.other)];
    if !rows.iter().any(|(_, a, b)| is_other_number((*a, tx_a), (*b, tx_b))) {
        return Vec::new();
    }
    rows.map(|(what, a, b)| WorkDiffers {
        what,
        a_per_tx: a as f64 / tx_a as f64,
        b_per_tx: b as f64 / tx_b as f64,
    })
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_one_beyond_chance() {
        let check = |a, b, expect: bool| assert_eq!(is_other_number(a, b), expect, "{a:?} {b:?}");
        check((0, 100), (0, 100), false);
        check((0, 100), (1, 100), true);
        check((1000, 1000), (1010, 1000), false);
        // 10 % more of 100 is within three standard deviations, and of 10,000 it is not.
        check((100, 100), (110, 100), false);
        check((10_000, 10_000), (11_000, 10_000), true);
    }
}
