//! What the server did for a transaction, of A and of A with one cause.

use truetps_analysis::{Figure, OverTrials};
use truetps_archive::ExplainedRun;
use truetps_causes::Mixture;

use super::factors::factor_name;
use crate::document::DocumentTable;
use crate::format;

/// A figure moved if its ratio is at least this, either way.
const MOVED: f64 = 1.25;
/// The figures that moved most with a cause, so many of each.
const SHOWN_MAX: usize = 6;

/// Figures of a transaction that moved with a cause, those that moved most first.
pub(super) fn table(run: &ExplainedRun) -> DocumentTable {
    let mut rows = Vec::new();
    for cause in &run.findings.causes {
        let group = run.findings.merged.iter().find(|group| group.has(cause.factor));
        let with = group.copied().unwrap_or(Mixture::only(cause.factor));
        let mut moved: Vec<_> =
            Figure::costs().filter_map(|figure| moved(run, with, figure)).collect();
        moved.sort_by(|one, other| other.distance().total_cmp(&one.distance()));
        rows.extend(moved.into_iter().take(SHOWN_MAX).map(|one| {
            let ratio = Some(one.ratio()).filter(|ratio| ratio.is_finite());
            let ratio = format::or_nothing(ratio, format::ratio);
            let [of_a, of_cause] =
                [one.of_a, one.of_cause].map(|value| format::figure(one.figure, value));
            [of_a, of_cause, ratio, factor_name(run, cause.factor), one.figure.name().to_owned()]
        }));
    }
    DocumentTable::new(["A", "with it", "ratio", "cause", "figure"], rows)
}

struct Moved {
    figure: Figure,
    of_a: f64,
    of_cause: f64,
}

impl Moved {
    /// Infinite where A has none of it.
    fn ratio(&self) -> f64 {
        self.of_cause / self.of_a
    }

    fn distance(&self) -> f64 {
        self.ratio().ln().abs()
    }
}

fn moved(run: &ExplainedRun, with: Mixture, figure: Figure) -> Option<Moved> {
    let (of_a, of_cause) = (over_trials(run, Mixture::A, figure)?, over_trials(run, with, figure)?);
    let moved = Moved { figure, of_a, of_cause };
    // A ratio of almost nothing is chance.
    let is_something = of_a.max(of_cause) > SMALLEST;
    (is_something && moved.distance() >= MOVED.ln()).then_some(moved)
}

const SMALLEST: f64 = 0.01;

/// Over the valid trials of a mixture.
fn over_trials(run: &ExplainedRun, mixture: Mixture, figure: Figure) -> Option<f64> {
    let over: OverTrials = figure.over_trials();
    let of = run.trials.iter().filter(|(other, loaded)| *other == mixture && loaded.is_evidence());
    over.combine(of.filter_map(|(_, loaded)| figure.of_trial(loaded)))
}
