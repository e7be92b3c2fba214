//! Mixtures become trials.

use truetps_adaptive::{Batch, Source};
use truetps_causes::{CauseQuestion, Findings};
use truetps_record::{Explanation, Trial};

use crate::adaptive::AdaptiveTrials;
use crate::event::ExperimentEvent;
use crate::explain::configuration;

/// Measures mixtures, unless the folder has their results.
pub(crate) struct MixtureTrials<'a, 'p> {
    pub(crate) trials: AdaptiveTrials<'a, 'p>,
    pub(crate) explanation: Explanation,
}

impl Source<CauseQuestion> for MixtureTrials<'_, '_> {
    fn run(&mut self, batch: &Batch<CauseQuestion>, so_far: &Findings) -> Option<Vec<Option<f64>>> {
        let Self { trials, explanation } = self;
        let names: Vec<_> = explanation.factors.iter().map(|factor| factor.name.clone()).collect();
        trials.tell(&ExperimentEvent::Investigating {
            stage: batch.stage,
            left: batch.planned,
            so_far,
            factors: &names,
        });
        let of = |mixture| configuration(trials.prepared.plan(), &explanation.factors, mixture);
        let configurations = batch.points.iter().map(|mixture| of(*mixture)).collect();
        let measured = trials.block(configurations, |folder, index, place| {
            explanation.mixtures.truncate(index);
            explanation.mixtures.push(batch.points[place].into());
            Ok(folder.write_explanation(explanation)?)
        })?;
        Some(measured.iter().map(Trial::log_tps).collect())
    }
}
