//! Whether the load generator limited figures.
//! `docs/method/trials.md` has the rule.

use serde::Serialize;
use truetps_record::{GeneratorLimit, Measured, Reason};

use crate::evidence::{Evidence, words};

/// Records that were made before trials judged their generator have no verdict on it: there, a
/// worker that was on a CPU for more than this share of the measure phase counts as one.
const BUSY: f64 = 0.9;

/// Trials of a configuration that the generator limited.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GeneratorLimited {
    pub trials: usize,
    /// Valid trials of the configuration.
    pub of: usize,
    /// Why, of the first of them.
    #[serde(serialize_with = "words")]
    pub first_reason: Reason<GeneratorLimit>,
}

/// `None` where no trial was limited.
pub(crate) fn of_cell(evidence: &[Evidence<'_>]) -> Option<GeneratorLimited> {
    let mut reasons = evidence.iter().filter_map(|one| generator_reason(one.measured));
    let first_reason = reasons.next()?;
    Some(GeneratorLimited { trials: 1 + reasons.count(), of: evidence.len(), first_reason })
}

/// Why the load generator limited the figures of one trial; `None` if it did not.
pub fn generator_reason(measured: &Measured) -> Option<Reason<GeneratorLimit>> {
    let was_busy = measured.resources.worker_busy_max.is_some_and(|busy| busy > BUSY);
    measured
        .generator_limited
        .clone()
        .or_else(|| was_busy.then(|| GeneratorLimit::WorkerBusyOver { share: BUSY }.into()))
}

#[cfg(test)]
mod tests {
    use truetps_record::{Reason, Trial};

    use crate::synthetic::{plan, run};
    use crate::{Analysis, analyse};

    fn analysis_after(change: impl Fn(&mut Trial)) -> Analysis {
        let plan = plan("[1, 2]", "[8, 50]", 3);
        let (experiment, mut trials) = run(&plan, |_, _| 1000.0);
        for one in &mut trials {
            change(&mut one.trial);
        }
        analyse(&plan, &experiment, &trials)
    }

    #[test]
    fn trials_are_counted_and_the_first_reason_is_kept() {
        let analysis = analysis_after(|trial| {
            if trial.configuration.connections() == 50 && trial.block > 0 {
                trial.measured.as_mut().unwrap().generator_limited =
                    Some(Reason::Text(format!("reason {}", trial.block)));
            }
        });
        let limited = analysis.cells[1].generator_limited.as_ref().unwrap();
        assert_eq!(
            (limited.trials, limited.of, limited.first_reason.to_string()),
            (2, 3, "reason 1".to_owned())
        );
        assert_eq!(analysis.cells[0].generator_limited, None);
        let marks: Vec<_> =
            analysis.contrasts.iter().map(|contrast| contrast.generator_limited).collect();
        assert_eq!(marks, [false, true], "at 8 and at 50 connections");
    }

    #[test]
    fn a_limited_baseline_marks_all_that_is_compared_with_it() {
        let analysis = analysis_after(|trial| {
            let is_baseline = trial.configuration.settings_label().ends_with("=1");
            trial.measured.as_mut().unwrap().generator_limited =
                is_baseline.then(|| Reason::Text("slow".to_owned()));
        });
        assert!(analysis.contrasts.iter().all(|contrast| contrast.generator_limited));
    }

    #[test]
    fn a_record_without_a_judgement_is_judged_by_its_busiest_worker() {
        let busy = |share: f64| {
            let analysis = analysis_after(|trial| {
                trial.measured.as_mut().unwrap().resources.worker_busy_max = Some(share);
            });
            analysis.cells[0].generator_limited.clone()
        };
        assert_eq!(busy(0.9), None);
        assert!(
            busy(0.97).unwrap().first_reason.to_string().contains("more than 90 % of the time")
        );
    }
}
