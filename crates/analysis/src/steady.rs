//! Whether trials of a closed loop were in a steady state, by Little's law.
//! `docs/method/trials.md` has the rule.

use serde::Serialize;

use crate::evidence::Evidence;

/// Trials of a configuration whose response times do not describe them: transactions that took long
/// were cut off by the end of the measure phase, or began before it. They are evidence all the
/// same.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Unsteady {
    pub trials: usize,
    /// Valid trials of the configuration.
    pub of: usize,
    /// Throughput times mean response time, divided by the connections, of the trial that is
    /// farthest from 1.
    pub farthest: f64,
}

/// `None` where all were steady, or where it is not known.
pub(crate) fn of_cell(evidence: &[Evidence<'_>]) -> Option<Unsteady> {
    let unsteady = evidence.iter().filter(|one| one.measured.is_unsteady());
    let ratios: Vec<f64> = unsteady.filter_map(|one| one.measured.littles_law).collect();
    let farthest = ratios
        .iter()
        .copied()
        .max_by(|one, other| (one - 1.0).abs().total_cmp(&(other - 1.0).abs()))?;
    Some(Unsteady { trials: ratios.len(), of: evidence.len(), farthest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::synthetic::{plan, run};

    #[test]
    fn trials_that_are_off_are_counted_and_stay_evidence() {
        let plan = plan("[1]", "[8, 1000]", 4);
        let (experiment, mut trials) = run(&plan, |_, _| 1000.0);
        for one in &mut trials {
            let ratios = if one.trial.configuration.connections() == 1000 {
                [Some(0.72), Some(1.18), Some(1.03), None]
            } else {
                [Some(1.013), Some(0.987), Some(1.0), Some(0.951)]
            };
            one.trial.measured.as_mut().unwrap().littles_law = ratios[one.trial.block as usize];
        }
        let analysis = analyse(&plan, &experiment, &trials);
        assert_eq!(analysis.cells[0].unsteady, None);
        assert_eq!(analysis.cells[1].unsteady, Some(Unsteady { trials: 2, of: 4, farthest: 0.72 }));
        assert_eq!(analysis.cells[1].trials.len(), 4);
    }
}
