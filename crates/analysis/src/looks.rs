//! Looks: an experiment may be extended until it is decided, and each look at its data spends a
//! part of the 5 %.

use truetps_record::Experiment;

use crate::effect::ALPHA;

/// Part of the 5 % that the first look spends. Simulations of six and fifteen blocks that are
/// doubled twice: with all of it nothing is left for more data; with half of it, as is usual, up to
/// 9 points of the verdicts of the first look are lost and 3 of them return later
/// (`docs/method/verdicts.md`).
const FIRST: f64 = 0.7;
/// Part of what is left that each later look spends: it is never used up.
const LATER: f64 = 0.5;

/// The data up to a block, with the chance of a false claim that may be spent on them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DataLook {
    /// Blocks with a smaller number are in it.
    pub(crate) blocks: u32,
    pub(crate) alpha: f64,
    /// What the next look may spend.
    pub(crate) alpha_next: f64,
}

/// One before each extension, and the present one.
pub(crate) fn looks(experiment: &Experiment) -> Vec<DataLook> {
    let ends = experiment.extensions.iter().map(|one| one.blocks_before).chain([u32::MAX]);
    let (mut alpha, mut left) = (ALPHA * FIRST, ALPHA * (1.0 - FIRST));
    let mut looks = Vec::new();
    for blocks in ends {
        let alpha_next = left * LATER;
        looks.push(DataLook { blocks, alpha, alpha_next });
        (alpha, left) = (alpha_next, left * (1.0 - LATER));
    }
    looks
}

#[cfg(test)]
mod tests {
    use truetps_record::Extension;

    use super::*;
    use crate::synthetic::{plan, run};

    #[test]
    fn all_looks_together_spend_five_percent() {
        let (mut experiment, _) = run(&plan("[1, 2]", "[8]", 2), |_, _| 1000.0);
        let extension = |blocks_before: u32| Extension {
            extended_at: String::new(),
            blocks_before,
            blocks: 2 * blocks_before,
            command: Vec::new(),
        };
        let one = looks(&experiment);
        assert_eq!(one.iter().map(|look| look.blocks).collect::<Vec<_>>(), [u32::MAX]);
        assert!((one[0].alpha - 0.035).abs() < 1e-12 && (one[0].alpha_next - 0.0075).abs() < 1e-12);
        experiment.extensions = (0..20).map(|n| extension(6 + n)).collect();
        let many = looks(&experiment);
        let spent: f64 = many.iter().map(|look| look.alpha).sum();
        assert!(spent < 0.05 && spent > 0.049_999, "{spent}");
        assert_eq!((many[0].blocks, many[1].blocks, many[20].blocks), (6, 7, u32::MAX));
        assert!(many.windows(2).all(|pair| (pair[0].alpha_next - pair[1].alpha).abs() < 1e-15));
    }
}
