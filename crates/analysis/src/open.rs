//! What an experiment has left open, and what more blocks would have to contain.

use truetps_record::Configuration;

use crate::{Analysis, Contrast, Verdict};

/// Comparisons without a verdict that more blocks are likely to decide.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenComparisons {
    /// Their configurations, and those that they are compared with.
    pub configurations: Vec<Configuration>,
    pub comparisons: usize,
    /// After about this many more blocks all of them have a verdict.
    pub more_blocks: u32,
}

impl Analysis {
    /// Those for which at most so many more blocks are estimated to be enough. The estimate is
    /// rough: four pairs of one comparison say 2 or 29 of the same truth. `None` where there are
    /// none.
    pub fn open_comparisons(&self, within: u32) -> Option<OpenComparisons> {
        let open: Vec<(&Contrast, u32)> = self
            .contrasts
            .iter()
            .filter_map(|contrast| Some((contrast, contrast.verdict.more_blocks()?)))
            .filter(|(_, more_blocks)| *more_blocks <= within)
            .collect();
        let more_blocks = open.iter().map(|(_, more_blocks)| *more_blocks).max()?;
        let mut configurations: Vec<Configuration> = Vec::new();
        for cell in open.iter().flat_map(|(contrast, _)| [contrast.baseline_cell, contrast.cell]) {
            let configuration = &self.cells[cell].configuration;
            if !configurations.contains(configuration) {
                configurations.push(configuration.clone());
            }
        }
        Some(OpenComparisons { configurations, comparisons: open.len(), more_blocks })
    }

    /// Comparisons without a verdict.
    pub fn undecided(&self) -> usize {
        self.contrasts
            .iter()
            .filter(|contrast| matches!(contrast.verdict, Verdict::NotEnoughData { .. }))
            .count()
    }
}

#[cfg(test)]
mod tests {
    use crate::analyse;
    use crate::synthetic::{Random, flush_and_connections, plan, run};

    #[test]
    fn only_what_can_be_decided_is_open() {
        let plan = plan("[1, 2, 0]", "[8, 50]", 6);
        let mut random = Random(8);
        let (experiment, trials) = run(&plan, |_, configuration| {
            let (flush, connections) = flush_and_connections(configuration);
            // At 8 connections one level takes twice as much and one a bit more; at 50 nothing
            // differs.
            let (ratio, noise) = match (flush, connections) {
                (2, 8) => (2.0, 0.07),
                (0, 8) => (1.12, 0.07),
                (_, 8) => (1.0, 0.07),
                _ => (1.0, 0.001),
            };
            1e4 * ratio * (noise * random.normal()).exp()
        });
        let analysis = analyse(&plan, &experiment, &trials);
        let open = analysis.open_comparisons(20).unwrap();
        assert_eq!((open.comparisons, analysis.undecided()), (1, 1), "{:#?}", analysis.contrasts);
        let of = |index: usize| flush_and_connections(&open.configurations[index]);
        assert_eq!((open.configurations.len(), of(0), of(1)), (2, (1, 8), (0, 8)));
        assert!((1..20).contains(&open.more_blocks), "{}", open.more_blocks);
        assert_eq!(analysis.open_comparisons(0), None);
    }
}
