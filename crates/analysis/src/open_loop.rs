//! An open loop over the valid trials of one configuration: whether the server kept up with the
//! schedule. `docs/method/rates.md` has the rule.

use serde::Serialize;

use crate::evidence::Evidence;
use crate::figure::{FigureGroup, FigureValues};

/// A number of trials, out of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TrialShare {
    pub trials: usize,
    pub of: usize,
}

impl TrialShare {
    /// All of them, and there is one at least.
    pub fn is_all(&self) -> bool {
        self.of > 0 && self.trials == self.of
    }

    /// None of them, and there is one at least.
    pub fn is_none(&self) -> bool {
        self.of > 0 && self.trials == 0
    }
}

/// What an open loop adds to a cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OpenLoopCell {
    /// Trials whose server kept up with the schedule, of those that were judged.
    pub sustained: TrialShare,
    /// The first trial whose server did not.
    pub not_sustained: Option<NotSustained>,
    #[serde(flatten)]
    pub figures: FigureValues,
}

/// A trial whose server did not keep up, with the counts that show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotSustained {
    pub trial: String,
    pub scheduled: u64,
    pub skipped: u64,
    pub queued: u64,
}

/// Where the rates of a curve stop being sustained. Indexes into [`crate::Analysis::cells`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SustainedRange {
    /// The highest rate that was sustained in all trials, as were all rates below it.
    pub highest: Option<usize>,
    /// The lowest rate that was not sustained in all trials.
    pub first_not: Option<usize>,
}

/// `None` where no trial was an open loop.
pub(crate) fn summarise(evidence: &[Evidence<'_>]) -> Option<OpenLoopCell> {
    let open: Vec<_> =
        evidence.iter().filter_map(|one| Some((one, one.measured.open_loop.as_ref()?))).collect();
    if open.is_empty() {
        return None;
    }
    let judged = open.iter().filter_map(|(one, _)| one.measured.sustained);
    let failed = open.iter().find(|(one, _)| one.measured.sustained == Some(false));
    Some(OpenLoopCell {
        sustained: TrialShare {
            trials: judged.clone().filter(|kept_up| *kept_up).count(),
            of: judged.count(),
        },
        not_sustained: failed.map(|(one, open)| NotSustained {
            trial: one.trial.name.clone(),
            scheduled: open.starts.scheduled,
            skipped: open.starts.skipped,
            queued: open.starts.queued,
        }),
        figures: FigureValues::new(
            |figure| figure.group() == FigureGroup::OpenLoop,
            |figure| figure.of_trials(evidence.iter().map(|one| one.loaded)),
        ),
    })
}

#[cfg(test)]
mod tests {
    use truetps_plan::Plan;
    use truetps_record::{OpenLoop, StartCounts, Trial};

    use super::*;
    use crate::figure::Figure;
    use crate::synthetic::run;
    use crate::{Analysis, Axis, LoadedTrial, analyse};

    fn rates(extra: &str) -> Plan {
        let text = format!(
            "name = \"rates\"\nabout = \"a test\"\n[workload]\nname = \"insert\"\n[design]\nblocks \
             = 3\n\
             aa_pair = false\n[factors]\nrate = [1000, 500, 2000, 4000]\n{extra}"
        );
        Plan::parse(&text).unwrap()
    }

    /// Keeps up to 1,000 a second; at 2,000 in some blocks; at 4,000 in none, unless `change` says
    /// otherwise.
    fn analysis_of(plan: &Plan, change: impl Fn(&mut Trial)) -> Analysis {
        let (experiment, mut trials) =
            run(plan, |_, configuration| configuration.rate().unwrap_or(700.0).min(1900.0));
        for LoadedTrial { trial, .. } in &mut trials {
            let rate = trial.configuration.rate().unwrap_or(700.0);
            let measured = trial.measured.as_mut().unwrap();
            let scheduled = (rate * 10.0) as u64;
            let queued = if rate > 2000.0 || (rate > 1000.0 && trial.block == 1) {
                scheduled / 20
            } else {
                0
            };
            measured.open_loop = Some(OpenLoop {
                starts: StartCounts { scheduled, queued, ..StartCounts::default() },
                lag_us_p99: Some(100.0 * f64::from(trial.block + 1)),
                lag_us_max: Some(1000.0 * f64::from(trial.block + 1)),
                ..OpenLoop::default()
            });
            measured.sustained = Some(queued == 0);
            change(trial);
        }
        analyse(plan, &experiment, &trials)
    }

    #[test]
    fn figures_are_medians_and_maxima_and_trials_are_counted() {
        let analysis = analysis_of(&rates("connections = [8]\n"), |_| ());
        let open = |index: usize| analysis.cells[index].open_loop.as_ref().unwrap();
        assert_eq!(open(0).sustained, TrialShare { trials: 3, of: 3 });
        let check =
            |figure, expect| assert_eq!(analysis.cells[0].get(figure), Some(expect), "{figure:?}");
        check(Figure::LagP99, 200.0);
        check(Figure::LagMax, 3000.0);
        check(Figure::ScheduledRate, 1000.0);
        check(Figure::Queued, 0.0);
        assert_eq!(open(2).sustained, TrialShare { trials: 2, of: 3 });
        let first = open(2).not_sustained.as_ref().unwrap();
        assert_eq!((first.scheduled, first.queued), (20_000, 1000));
        assert_eq!(analysis.trials_valid, 12);
    }

    #[test]
    fn the_range_ends_at_the_first_rate_that_was_not_sustained_in_all_trials() {
        let analysis = analysis_of(&rates("connections = [8]\n"), |_| ());
        assert_eq!(analysis.axis, Axis::Rate);
        let [curve] = &analysis.curves[..] else { panic!("one curve") };
        assert_eq!((&curve.cells[..], curve.label.as_str()), (&[1, 0, 2, 3][..], ""));
        assert_eq!(curve.sustained, Some(SustainedRange { highest: Some(0), first_not: Some(2) }));
        assert_eq!(curve.knee, None);
        let never = analysis_of(&rates("connections = [8]\n"), |trial| {
            trial.measured.as_mut().unwrap().sustained = Some(false);
        });
        assert_eq!(
            never.curves[0].sustained,
            Some(SustainedRange { highest: None, first_not: Some(1) })
        );
        let always = analysis_of(&rates("connections = [8]\n"), |trial| {
            trial.measured.as_mut().unwrap().sustained = Some(true);
        });
        assert_eq!(
            always.curves[0].sustained,
            Some(SustainedRange { highest: Some(3), first_not: None })
        );
        let unjudged = analysis_of(&rates("connections = [8]\n"), |trial| {
            trial.measured.as_mut().unwrap().sustained = None;
        });
        assert_eq!(unjudged.curves[0].sustained, None);
    }

    #[test]
    fn rates_beside_connections_and_settings_have_curves_of_their_own() {
        let analysis = analysis_of(&rates("connections = [8, 50]\n"), |_| ());
        assert_eq!(analysis.axis, Axis::Connections);
        let labels: Vec<_> = analysis.curves.iter().map(|curve| curve.label.as_str()).collect();
        assert_eq!(labels, ["rate=1000", "rate=500", "rate=2000", "rate=4000"]);
        assert!(
            analysis.curves.iter().all(|curve| curve.knee.is_none() && curve.sustained.is_none())
        );
        assert!(analysis.curves.iter().all(|curve| !curve.is_baseline), "nothing is compared");
        let settings = "connections = [8]\ninnodb_flush_log_at_trx_commit = [1, 2]\n";
        let analysis = analysis_of(&rates(settings), |_| ());
        let baselines: Vec<_> = analysis.curves.iter().map(|curve| curve.is_baseline).collect();
        assert_eq!((analysis.axis, &baselines[..]), (Axis::Rate, &[true, false][..]));
        assert_eq!(analysis.contrasts.len(), 4);
    }

    #[test]
    fn a_fixed_rate_has_no_knee_either() {
        let text = "name = \"fixed\"\nabout = \"?\"\n[workload]\nname = \"insert\"\n[load]\nrate = \
                    700\n\
                    [design]\nblocks = 2\naa_pair = false\n[factors]\nconnections = [1, 8]\n";
        let analysis = analysis_of(&Plan::parse(text).unwrap(), |_| ());
        assert_eq!((analysis.axis, &analysis.curves[0].knee), (Axis::Connections, &None));
    }
}
