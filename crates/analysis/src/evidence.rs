//! Which trials count, and how the figures of two configurations are paired.

use truetps_record::{Configuration, Experiment, Measured, NoEvidence, Reason, Trial, Validity};

use crate::loaded::LoadedTrial;
use crate::sample::LogSample;
use crate::{InvalidTrial, is_cell};

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
    /// A trial in which no transaction ended is evidence too: leaving it out would make the configuration look better
    /// than it is. It counts as half a transaction over the whole measure phase, the usual correction for a count of
    /// zero, so that its logarithm is far down but finite.
    pub(crate) fn tps(&self) -> f64 {
        if self.is_zero() { 0.5 / (self.measured.length_ms / 1e3) } else { self.measured.tps }
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.measured.tps == 0.0
    }

    /// Variance of ln(tps) that counting in whole transactions leaves: a count c stands for anything within half a
    /// transaction of it, and a uniform error of width 1/c has the variance 1/(12 c²). It keeps three trials of 17
    /// transactions each from looking like a measurement without any error.
    pub(crate) fn resolution(&self) -> f64 {
        let transactions = self.tps() * self.measured.length_ms / 1e3;
        1.0 / (12.0 * transactions.powi(2))
    }

    fn response_us_p99(&self) -> Option<f64> {
        self.measured.response.response_us_p99.filter(|us| us.is_finite() && *us > 0.0)
    }
}

/// Divides the trials of the schedule into evidence (by block and position) and excluded trials, each with its reason.
pub(crate) fn sort_out<'a>(
    experiment: &Experiment,
    trials: &'a [LoadedTrial],
) -> (Vec<Evidence<'a>>, Vec<InvalidTrial>) {
    let mut scheduled: Vec<_> =
        trials.iter().filter(|one| experiment.schedule.iter().any(|entry| entry.name == one.trial.name)).collect();
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
                suspended: trial.engine.as_ref().is_some_and(|engine| !engine.suspensions.is_empty()),
                reason,
            }),
        }
    }
    (valid, invalid)
}

/// The trial's figures, or why there are none to use. A trial that calls itself valid is looked at all the same: its
/// file may come from another version or another hand, and one NaN would spread through every mean.
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

/// The evidence for one configuration, in order of blocks. A/A twins are never in it.
pub(crate) fn of_cell<'a>(valid: &[Evidence<'a>], wanted: &Configuration) -> Vec<Evidence<'a>> {
    let same = |evidence: &&Evidence<'_>| is_cell(evidence.trial) && evidence.trial.configuration == *wanted;
    valid.iter().filter(same).copied().collect()
}

/// ln(tps) over trials.
pub(crate) fn tps_sample(evidence: &[Evidence<'_>]) -> Option<LogSample> {
    sample(evidence.iter().map(|one| (one.tps().ln(), one.resolution())))
}

/// Of logarithms, each with the variance that counting leaves to it.
fn sample(values: impl Iterator<Item = (f64, f64)>) -> Option<LogSample> {
    let (logs, resolution): (Vec<_>, Vec<_>) = values.unzip();
    Some(LogSample::of(&logs)?.with_sd_at_least(mean(&resolution).sqrt()))
}

/// ln(tps above / tps below), one for each block in which both ran.
///
/// Pairing within a block takes out what changes from block to block (the disk, the neighbours on a shared host): both
/// had it.
pub(crate) fn tps_ratio_sample(above: &[Evidence<'_>], below: &[Evidence<'_>]) -> Option<LogSample> {
    ratio_sample(&pairs(above, below))
}

/// [`tps_ratio_sample`] of pairs that are already made.
pub(crate) fn ratio_sample(pairs: &[(Evidence<'_>, Evidence<'_>)]) -> Option<LogSample> {
    let both = |(one, other): &(Evidence<'_>, Evidence<'_>)| {
        (one.tps().ln() - other.tps().ln(), one.resolution() + other.resolution())
    };
    sample(pairs.iter().map(both))
}

/// ln(p99 above / p99 below), one for each block in which both have one.
pub(crate) fn p99_ratio_sample(above: &[Evidence<'_>], below: &[Evidence<'_>]) -> Option<LogSample> {
    let ratio =
        |(one, other): &(Evidence<'_>, Evidence<'_>)| Some(one.response_us_p99()?.ln() - other.response_us_p99()?.ln());
    let logs: Vec<_> = pairs(above, below).iter().filter_map(ratio).collect();
    LogSample::of(&logs)
}

/// A pair in which neither finished a transaction says nothing about their ratio and is left out.
fn pairs<'a>(above: &[Evidence<'a>], below: &[Evidence<'a>]) -> Vec<(Evidence<'a>, Evidence<'a>)> {
    let partner = |one: &Evidence<'a>| {
        let other = below.iter().find(|other| other.trial.block == one.trial.block)?;
        (!(one.is_zero() && other.is_zero())).then_some((*one, *other))
    };
    above.iter().filter_map(partner).collect()
}

/// 0 for no values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
