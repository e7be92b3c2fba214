//! Which trials count, and how the figures of two configurations are paired.

use std::collections::{HashMap, HashSet};
use std::fmt::Display;

use serde::{Serialize, Serializer};
use truetps_record::{
    Configuration, Experiment, Measured, NoEvidence, Reason, Trial, TrialRole, Validity,
};

use crate::effect::Effect;
use crate::figure::Figure;
use crate::loaded::LoadedTrial;
use crate::pooled::{BlockValue, PooledVariance, add_to_block, matched};
use crate::sample::LogSample;

/// A valid trial with figures.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Evidence<'a> {
    pub(crate) loaded: &'a LoadedTrial,
    pub(crate) trial: &'a Trial,
    pub(crate) measured: &'a Measured,
}

impl<'a> Evidence<'a> {
    /// `None` where it has no figures.
    pub(crate) fn of(loaded: &'a LoadedTrial) -> Option<Self> {
        Some(Self { loaded, trial: &loaded.trial, measured: loaded.trial.measured.as_ref()? })
    }

    /// Throughput that has a logarithm.
    ///
    /// A trial in which no transaction ended is evidence too: leaving it out would make the
    /// configuration look better than it is. It counts as half a transaction over the whole measure
    /// phase, the usual correction for a count of zero, so that its logarithm is far down but
    /// finite.
    pub(crate) fn tps(&self) -> f64 {
        counted_tps(self.measured.tps, self.measured.length_ms)
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.measured.tps == 0.0
    }

    /// Variance of ln(tps) that counting in whole transactions leaves: a count c stands for
    /// anything within half a transaction of it, and a uniform error of width 1/c has the variance
    /// 1/(12 c²). It keeps three trials of 17 transactions each from looking like a measurement
    /// without any error.
    pub(crate) fn resolution(&self) -> f64 {
        counting_variance(self.measured.tps, self.measured.length_ms)
    }

    /// The logarithm of a figure, with the variance that counting leaves to it.
    fn log_of(&self, figure: Figure) -> Option<(f64, f64)> {
        if figure == Figure::Tps {
            return Some((self.tps().ln(), self.resolution()));
        }
        let value =
            figure.of_trial(self.loaded).filter(|value| value.is_finite() && *value > 0.0)?;
        Some((value.ln(), 0.0))
    }
}

/// Throughput that has a logarithm; see [`Evidence::tps`].
pub(crate) fn counted_tps(tps: f64, length_ms: f64) -> f64 {
    if tps == 0.0 { 0.5 / (length_ms / 1e3) } else { tps }
}

/// Variance of ln(tps) that counting leaves; see [`Evidence::resolution`].
pub(crate) fn counting_variance(tps: f64, length_ms: f64) -> f64 {
    let transactions = counted_tps(tps, length_ms) * length_ms / 1e3;
    1.0 / (12.0 * transactions.powi(2))
}

/// A trial of the schedule that is no evidence, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InvalidTrial {
    pub name: String,
    pub configuration: Configuration,
    pub partial: bool,
    #[serde(serialize_with = "words")]
    pub reason: Reason<NoEvidence>,
}

/// Divides the trials of the schedule into evidence (by block and position) and excluded trials,
/// each with its reason.
pub(crate) fn sort_out<'a>(
    experiment: &Experiment,
    trials: &'a [LoadedTrial],
) -> (Vec<Evidence<'a>>, Vec<InvalidTrial>) {
    let names: HashSet<&str> =
        experiment.schedule.iter().map(|entry| entry.name.as_str()).collect();
    let mut scheduled: Vec<_> =
        trials.iter().filter(|one| names.contains(one.trial.name.as_str())).collect();
    scheduled.sort_by_key(|one| (one.trial.block, one.trial.position));
    let (mut valid, mut invalid) = (Vec::new(), Vec::new());
    for loaded in scheduled {
        let trial = &loaded.trial;
        match evidence_of(loaded) {
            Ok(evidence) => valid.push(evidence),
            Err(reason) => invalid.push(InvalidTrial {
                name: trial.name.clone(),
                configuration: trial.configuration.clone(),
                partial: matches!(trial.validity, Validity::Partial(_)),
                reason,
            }),
        }
    }
    (valid, invalid)
}

/// The trial's figures, or why there are none to use. A trial that calls itself valid is looked at
/// all the same: its file may come from another version or another hand, and one NaN would spread
/// through every mean.
pub(crate) fn evidence_of(loaded: &LoadedTrial) -> Result<Evidence<'_>, Reason<NoEvidence>> {
    if let Some(reason) = loaded.trial.validity.reason() {
        return Err(reason.clone());
    }
    let evidence = Evidence::of(loaded).ok_or(NoEvidence::FiguresMissing)?;
    let measured = evidence.measured;
    if !measured.tps.is_finite() || measured.tps < 0.0 {
        return Err(NoEvidence::TpsImpossible { tps: measured.tps }.into());
    }
    if !measured.length_ms.is_finite() || measured.length_ms <= 0.0 {
        return Err(NoEvidence::LengthImpossible { length_ms: measured.length_ms }.into());
    }
    Ok(evidence)
}

impl LoadedTrial {
    /// Whether it is valid, and its figures are numbers.
    pub fn is_evidence(&self) -> bool {
        evidence_of(self).is_ok()
    }

    /// Whether figures of this configuration are made from this trial.
    pub fn is_evidence_for(&self, configuration: &Configuration) -> bool {
        self.trial.configuration == *configuration && self.is_evidence()
    }
}

/// The evidence for each configuration, in order of blocks; the A/A twins of its trials are as good
/// as they are.
pub(crate) fn by_cell<'a>(
    valid: &[Evidence<'a>],
    configurations: &[Configuration],
) -> Vec<Vec<Evidence<'a>>> {
    let mut of: HashMap<String, Vec<Evidence<'a>>> = HashMap::new();
    for evidence in valid {
        of.entry(evidence.trial.configuration.key()).or_default().push(*evidence);
    }
    configurations.iter().map(|wanted| of.get(&wanted.key()).cloned().unwrap_or_default()).collect()
}

/// One value for each block in which a trial has the figure.
pub(crate) fn block_values(figure: Figure, evidence: &[Evidence<'_>]) -> Vec<BlockValue> {
    let mut values = Vec::new();
    for one in evidence {
        if let Some((log, resolution)) = one.log_of(figure) {
            add_to_block(&mut values, one.trial.block, log, resolution);
        }
    }
    values
}

/// ln(tps) over blocks.
pub(crate) fn tps_sample(evidence: &[Evidence<'_>]) -> Option<LogSample> {
    sample(block_values(Figure::Tps, evidence).iter().map(|one| (one.log, one.resolution)))
}

/// A sample of logarithms, each with the variance that counting leaves to it.
fn sample(values: impl Iterator<Item = (f64, f64)>) -> Option<LogSample> {
    let (logs, resolution): (Vec<_>, Vec<_>) = values.unzip();
    Some(LogSample::of(&logs)?.with_sd_at_least(mean(&resolution).sqrt()))
}

/// ln(above / below) of a figure, one for each block in which both have it.
///
/// Pairing within a block takes out what changes from block to block (the disk, the neighbours on a
/// shared host): both had it. A block in which neither side finished a transaction says nothing
/// about their ratio and is left out.
pub(crate) struct BlockRatios {
    pub(crate) sample: LogSample,
    /// Variance of one of them in units of the variance of one trial: 2 for one trial against one.
    pub(crate) trials: f64,
    /// Variance that counting leaves to one of them.
    pub(crate) resolution: f64,
}

/// The values of a figure in the blocks that say something about a ratio of the two.
fn pairs_of(
    figure: Figure,
    above: &[Evidence<'_>],
    below: &[Evidence<'_>],
) -> Vec<(BlockValue, BlockValue)> {
    let (values_above, values_below) = (block_values(figure, above), block_values(figure, below));
    let pairs = matched(&values_above, &values_below).filter(|(value, _)| {
        let both = above.iter().chain(below);
        figure != Figure::Tps
            || !both.filter(|one| one.trial.block == value.block).all(Evidence::is_zero)
    });
    pairs.map(|(one, other)| (*one, *other)).collect()
}

/// ln(tps above / tps below) in each of these blocks, with the variance that counting leaves to it.
pub(crate) fn tps_differences(above: &[Evidence<'_>], below: &[Evidence<'_>]) -> Vec<(f64, f64)> {
    let pairs = pairs_of(Figure::Tps, above, below).into_iter();
    pairs.map(|(one, other)| (one.log - other.log, one.resolution + other.resolution)).collect()
}

/// Variance that counting leaves to a difference.
fn resolution_of((one, other): &(BlockValue, BlockValue)) -> f64 {
    one.resolution + other.resolution
}

/// Variance of a difference in units of the variance of one trial.
fn trials_of((one, other): &(BlockValue, BlockValue)) -> f64 {
    1.0 / one.trials as f64 + 1.0 / other.trials as f64
}

impl BlockRatios {
    pub(crate) fn of(
        figure: Figure,
        above: &[Evidence<'_>],
        below: &[Evidence<'_>],
    ) -> Option<Self> {
        Self::of_pairs(&pairs_of(figure, above, below))
    }

    /// From the values of blocks that both have.
    pub(crate) fn of_pairs(pairs: &[(BlockValue, BlockValue)]) -> Option<Self> {
        let differences = pairs.iter().map(|pair| (pair.0.log - pair.1.log, resolution_of(pair)));
        Some(Self {
            sample: sample(differences)?,
            trials: mean(&pairs.iter().map(trials_of).collect::<Vec<_>>()),
            resolution: mean(&pairs.iter().map(resolution_of).collect::<Vec<_>>()),
        })
    }

    /// The effect, with its variance drawn towards the one that all series with this load have.
    pub(crate) fn effect(&self, pooled: Option<&PooledVariance>) -> Effect {
        let own = Effect::of_pairs(self.sample);
        own.pooled_with(pooled, self.trials).with_resolution(self.resolution)
    }
}

/// ln(tps above / tps below), one for each block in which both ran.
pub(crate) fn tps_ratio_sample(
    above: &[Evidence<'_>],
    below: &[Evidence<'_>],
) -> Option<LogSample> {
    Some(BlockRatios::of(Figure::Tps, above, below)?.sample)
}

/// ln(tps / tps) of pairs that are already made.
pub(crate) fn ratio_sample(pairs: &[(Evidence<'_>, Evidence<'_>)]) -> Option<LogSample> {
    sample(pairs.iter().map(|(one, other)| {
        (one.tps().ln() - other.tps().ln(), one.resolution() + other.resolution())
    }))
}

/// 0 for no values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Whether a trial is the first of its configuration in its block, and no A/A twin.
pub(crate) fn is_cell(trial: &Trial) -> bool {
    trial.role == TrialRole::Cell
}

/// A reason in documents for users: its words.
pub(crate) fn words<S: Serializer>(
    reason: &impl Display,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(reason)
}
