//! The A/A pairs: the noise between two runs of the same configuration.

use truetps_analysis::{AaPair, LoadNoise, Twins};
use truetps_record::Estimate;

use super::forest::{Forest, Scale};
use super::labels::{self, split_range, unbroken};
use crate::{ReportInput, format};

pub(super) struct NoiseSection {
    pub(super) summary: String,
    pub(super) how_to_read: String,
    pub(super) forest_ends: (String, String),
    pub(super) pairs: Vec<PairRow>,
    pub(super) ratio: String,
    pub(super) range: Option<String>,
    pub(super) forest: Forest,
    pub(super) alarm: bool,
}

pub(super) struct PairRow {
    /// The number of the block, from 1.
    pub(super) block: u32,
    pub(super) configuration: String,
    pub(super) first: String,
    pub(super) second: String,
    /// Whether the generator limited the figures.
    pub(super) limited: bool,
    pub(super) ratio: String,
    pub(super) forest: Forest,
}

impl NoiseSection {
    pub(super) fn of(input: &ReportInput) -> Option<Self> {
        let noise = input.analysis.twins.as_ref()?;
        let ratios: Vec<_> = noise.pairs.iter().map(ratio_of).collect();
        let scale = Scale::of(ratios.iter().chain([&noise.ratio]), input.analysis.smallest_effect);
        let (ratio, range) = split_range(&format::ratio_estimate(&noise.ratio));
        Some(Self {
            summary: unbroken(&summary(&input.analysis.noise)),
            how_to_read: unbroken(&how_to_read(noise)),
            forest_ends: scale.ends(),
            pairs: noise
                .pairs
                .iter()
                .zip(&ratios)
                .map(|(pair, ratio)| pair_row(pair, ratio, &scale))
                .collect(),
            ratio,
            range,
            forest: scale.picture(&noise.ratio),
            alarm: noise.alarm,
        })
    }
}

fn summary(noise: &[LoadNoise]) -> String {
    let all = noise.iter().map(|one| {
        let detectable = format::detectable(one.smallest_detectable_effect);
        format!("{} at {} (detectable: {detectable})", format::percent(one.sigma), one.load)
    });
    format!(
        "One trial differs from the next of the same configuration in the same block by about {}.",
        all.collect::<Vec<_>>().join(", ")
    )
}

fn how_to_read(noise: &Twins) -> String {
    let reading = "Both runs of a pair are the same configuration in the same block, so their \
                   ratio should be 1 but for noise.";
    if noise.alarm {
        format!(
            "{reading} Here the interval does not contain 1: small effects in this experiment are \
             not evidence."
        )
    } else {
        format!("{reading} The interval contains 1, as it should.")
    }
}

fn ratio_of(pair: &AaPair) -> Estimate {
    Estimate { value: pair.second_tps / pair.first_tps, low: None, high: None, n: 1 }
}

fn pair_row(pair: &AaPair, ratio: &Estimate, scale: &Scale) -> PairRow {
    PairRow {
        block: pair.block.saturating_add(1),
        configuration: labels::configuration(&pair.configuration),
        first: format::tps(pair.first_tps),
        second: format::tps(pair.second_tps),
        limited: pair.generator_limited,
        ratio: format::ratio(ratio.value),
        forest: scale.picture(ratio),
    }
}
