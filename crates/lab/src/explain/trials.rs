//! Mixtures become trials.

use truetps_adaptive::Batch;
use truetps_causes::{CauseQuestion, Findings, Mixture};
use truetps_plan::Plan;
use truetps_record::{ExplainedFactor, Trial};

use crate::adaptive::{Measuring, NextTrial};
use crate::event::{ExperimentEvent, Listener};
use crate::explain::configuration;

pub(crate) struct MixtureTrials<'a> {
    plan: &'a Plan,
    factors: &'a [ExplainedFactor],
    factor_names: Vec<String>,
}

impl<'a> MixtureTrials<'a> {
    pub(crate) fn new(plan: &'a Plan, factors: &'a [ExplainedFactor]) -> Self {
        let factor_names = factors.iter().map(|factor| factor.name.clone()).collect();
        Self { plan, factors, factor_names }
    }
}

impl Measuring<CauseQuestion> for MixtureTrials<'_> {
    fn event<'e>(
        &'e self,
        batch: &Batch<CauseQuestion>,
        so_far: &'e Findings,
    ) -> ExperimentEvent<'e> {
        let (stage, left) = (batch.stage, batch.planned);
        ExperimentEvent::Investigating { stage, left, so_far, factors: &self.factor_names }
    }

    fn trial(&self, mixture: Mixture) -> NextTrial {
        NextTrial {
            mixture: Some(mixture.into()),
            ..NextTrial::cell(configuration(self.plan, self.factors, mixture))
        }
    }

    fn reading(&self, trial: &Trial, _: &mut dyn Listener) -> Option<f64> {
        trial.log_tps()
    }
}
