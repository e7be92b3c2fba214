//! How often explanations of differences with known causes are right.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use truetps_adaptive::AdaptiveQuestion;
use truetps_causes::{CauseQuestion, CauseRole, Findings, LogInterval, Outcome};

use crate::NoiseKind;
use crate::explained_server::{ExplainCell, ExplainNoise, ExplainedServer, Pattern};

/// So often of so many.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Frequency {
    pub count: u32,
    pub of: u32,
}

impl Frequency {
    fn add(&mut self, is_one: bool) {
        self.count += u32::from(is_one);
        self.of += 1;
    }

    pub fn share(self) -> f64 {
        f64::from(self.count) / f64::from(self.of.max(1))
    }
}

/// How often answers were right.
#[derive(Debug, Clone, PartialEq)]
pub struct ExplainRow {
    pub cell: ExplainCell,
    /// The causes are the true ones; of no difference: it is not reproduced.
    pub exact: Frequency,
    /// A factor without effect is called a cause.
    pub false_cause: Frequency,
    /// Called explained, and a cause is missing.
    pub wrongly_explained: Frequency,
    /// All shares of the answer are in their intervals.
    pub shares_hold: Frequency,
    /// The mean effects of all other factors are within the bound.
    pub bound_holds: Frequency,
    /// So are their effects on any mixture within twice that.
    pub double_bound_holds: Frequency,
    pub role_wrong: Frequency,
    pub role_unknown: Frequency,
    /// The second cause of [`Pattern::Small`] is found.
    pub small_found: Frequency,
    /// The second cause is not named, and its interval has no difference.
    pub small_unseen: Frequency,
    /// Its mean share against the true one, where it is found.
    pub small_share: f64,
    pub small_holds: Frequency,
    /// Median and mean.
    pub trials: (f64, f64),
}

impl ExplainRow {
    fn new(cell: ExplainCell) -> Self {
        let rate = Frequency::default();
        Self {
            cell,
            exact: rate,
            false_cause: rate,
            wrongly_explained: rate,
            shares_hold: rate,
            bound_holds: rate,
            double_bound_holds: rate,
            role_wrong: rate,
            role_unknown: rate,
            small_found: rate,
            small_unseen: rate,
            small_share: 0.0,
            small_holds: rate,
            trials: (0.0, 0.0),
        }
    }

    fn add(&mut self, server: &ExplainedServer, found: &Findings) {
        let real: BTreeSet<_> = server.real().into_iter().collect();
        let named: BTreeSet<_> = found.causes.iter().map(|cause| cause.factor).collect();
        let is_exact = match self.cell.pattern {
            Pattern::None => found.outcome == Outcome::NotReproduced,
            _ => named == real,
        };
        self.exact.add(is_exact);
        self.false_cause.add(!named.is_subset(&real));
        let is_explained = found.outcome == Outcome::Explained;
        self.wrongly_explained.add(is_explained && !real.is_subset(&named));
        self.add_shares(server, found, &named);
        self.add_bounds(server, found);
        if self.cell.pattern == Pattern::Small {
            self.add_small(server, found);
        }
    }

    fn add_shares(&mut self, server: &ExplainedServer, found: &Findings, named: &BTreeSet<usize>) {
        if found.causes.is_empty() {
            return;
        }
        // Of four factors or fewer all are confirmed.
        let mut among = server.real();
        among.retain(|factor| found.closures.with.has(*factor) || self.cell.factors <= 4);
        let causes: Vec<_> = named.iter().copied().collect();
        let holds = found.causes.iter().all(|one| {
            let among = if one.is_of_fresh_trials { &causes } else { &among };
            has(&one.share, server.share(one.factor, among))
        });
        self.shares_hold.add(holds);
        let roles = found
            .causes
            .iter()
            .filter_map(|cause| Some((cause.role, server.role(cause.factor, named)?)));
        let roles: Vec<_> = roles.collect();
        self.role_wrong.add(roles.iter().any(|(role, truth)| is_known(*role) && role != truth));
        self.role_unknown.add(roles.iter().any(|(role, _)| !is_known(*role)));
    }

    fn add_bounds(&mut self, server: &ExplainedServer, found: &Findings) {
        let others: Vec<_> = found.others.iter().filter(|one| one.effect.is_some()).collect();
        let Some(bound) = found.others_bound else { return };
        let mean = others.iter().all(|one| has(&bound, server.mean_effect(one.factor)));
        self.bound_holds.add(mean);
        let twice = LogInterval { value: 0.0, low: 2.0 * bound.low, high: 2.0 * bound.high };
        let any = others
            .iter()
            .all(|one| server.all_effects(one.factor).iter().all(|effect| has(&twice, *effect)));
        self.double_bound_holds.add(any);
    }

    fn add_small(&mut self, server: &ExplainedServer, found: &Findings) {
        let small = server.real()[1];
        let cause = found.causes.iter().find(|one| one.factor == small);
        self.small_found.add(cause.is_some());
        let other = found.others.iter().find(|one| one.factor == small);
        let effect = other.and_then(|one| one.effect);
        self.small_unseen.add(effect.is_some_and(|effect| !effect.is_decided()));
        if let Some(cause) = cause {
            let truth = server.share(small, &server.real());
            self.small_share += cause.share.value / truth;
            self.small_holds.add(has(&cause.share, truth));
        }
    }
}

fn is_known(role: CauseRole) -> bool {
    role != CauseRole::NotKnown
}

fn has(interval: &LogInterval, truth: f64) -> bool {
    (interval.low..=interval.high).contains(&truth)
}

/// What so many explanations gave.
pub fn explain(cell: ExplainCell, repeats: u64) -> ExplainRow {
    let mut row = ExplainRow::new(cell);
    let mut trials = Vec::new();
    for seed in 0..repeats {
        let mut server = ExplainedServer::new(&cell, seed);
        let suspects = vec![0, 1, 2];
        let question = CauseQuestion { factors: cell.factors, suspects, seed, smallest: 0.03 };
        let found = question.investigate(&mut server);
        row.add(&server, &found);
        trials.push(found.trials as f64);
    }
    trials.sort_by(f64::total_cmp);
    row.small_share /= f64::from(row.small_found.count.max(1));
    row.trials = (trials[trials.len() / 2], trials.iter().sum::<f64>() / trials.len() as f64);
    row
}

/// All rows of the tables in `docs/method/explanation-error-rates.md`: factors, noise, its standard
/// deviation.
fn conditions() -> impl Iterator<Item = (usize, ExplainNoise, f64)> {
    let kinds = NoiseKind::ALL.into_iter().map(ExplainNoise::Of);
    let noises: Vec<_> = kinds.chain([ExplainNoise::NoticedPauses]).collect();
    let all = [4, 12, 24]
        .into_iter()
        .flat_map(move |factors| noises.clone().into_iter().map(move |noise| (factors, noise)));
    all.flat_map(|(factors, noise)| [0.06, 0.1, 0.2].map(|sd| (factors, noise, sd)))
}

/// The two tables in Markdown.
pub fn explain_table(repeats: u64) -> String {
    let names: Vec<_> = Pattern::ALL.iter().map(|pattern| pattern.name()).collect();
    let mut named = format!(
        "| factors, noise | {} |\n|---|{}\n",
        names.join(" | "),
        "---|".repeat(names.len())
    );
    let mut held = "| factors, noise | shares | bound | twice the bound | role wrong | role not \
                    known | 10 % found | its share | in its interval | told from ×1 \
                    |\n|---|---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for (factors, noise, sd) in conditions() {
        let rows: Vec<_> = Pattern::ALL
            .iter()
            .map(|pattern| explain(ExplainCell { factors, pattern: *pattern, noise, sd }, repeats))
            .collect();
        let what = format!("{factors}, {}, {:.0} %", noise.name(), sd * 100.0);
        let _ = writeln!(named, "| {what} | {} |", named_cells(&rows).join(" | "));
        let _ = writeln!(held, "| {what} | {} |", held_cells(&rows).join(" | "));
    }
    format!("{named}\n{held}")
}

/// `99.5 (0.1) 52` for each pattern.
fn named_cells(rows: &[ExplainRow]) -> Vec<String> {
    rows.iter()
        .map(|row| {
            let (exact, wrong) = (row.exact.share() * 100.0, row.false_cause.share() * 100.0);
            format!("{exact:.1} ({wrong:.1}) {:.0}", row.trials.0)
        })
        .collect()
}

/// The worst pattern of each statement, and what becomes of the small cause.
fn held_cells(rows: &[ExplainRow]) -> Vec<String> {
    let mut cells = vec![
        extreme(rows, |row| row.shares_hold, f64::min),
        extreme(rows, |row| row.bound_holds, f64::min),
        extreme(rows, |row| row.double_bound_holds, f64::min),
        extreme(rows, |row| row.role_wrong, f64::max),
        extreme(rows, |row| row.role_unknown, f64::max),
    ];
    if let Some(small) = rows.iter().find(|row| row.cell.pattern == Pattern::Small) {
        cells.push(format!("{:.1}", small.small_found.share() * 100.0));
        cells.push(format!("×{:.2}", small.small_share));
        cells.push(format!("{:.1}", small.small_holds.share() * 100.0));
        cells.push(format!("{:.1}", 100.0 - small.small_unseen.share() * 100.0));
    }
    cells
}

/// The lowest or highest frequency over the patterns, in percent.
fn extreme(
    rows: &[ExplainRow],
    of: fn(&ExplainRow) -> Frequency,
    more: fn(f64, f64) -> f64,
) -> String {
    let known = rows.iter().map(of).filter(|one| one.of >= ANSWERS_MIN);
    let extreme = known.map(|one| one.share() * 100.0).reduce(more);
    extreme.map_or_else(|| "–".to_owned(), |percent| format!("{percent:.1}"))
}

/// A frequency of fewer answers is left out.
const ANSWERS_MIN: u32 = 30;

#[cfg(test)]
mod tests {
    use super::*;

    /// What is stated, with room for the error of 40 answers.
    fn check_row(row: &ExplainRow) {
        assert!(row.false_cause.count <= 2, "{row:?}");
        for holds in [row.shares_hold, row.bound_holds, row.double_bound_holds] {
            assert!(holds.of < ANSWERS_MIN || holds.share() >= 0.82, "{row:?}");
        }
        let ExplainCell { pattern, noise, sd, .. } = row.cell;
        let is_paused = noise == ExplainNoise::Of(NoiseKind::Pauses);
        let roles_wrong_max = if sd < 0.15 && !is_paused { 0.1 } else { 0.2 };
        assert!(row.role_wrong.share() <= roles_wrong_max, "{row:?}");
        if sd < 0.07 && !is_paused && pattern != Pattern::Small {
            assert!(row.exact.share() >= 0.97 && row.trials.0 <= 90.0, "{row:?}");
        }
        if sd < 0.07 && noise == ExplainNoise::Of(NoiseKind::Normal) && pattern != Pattern::Small {
            assert!(row.trials.0 <= 66.0, "{row:?}");
        }
    }

    /// All noises and patterns of a number of factors: each row, and false causes over all of them.
    fn check_all(factors: usize) {
        let mut false_causes = Frequency::default();
        for (_, noise, sd) in conditions().filter(|(of, _, _)| *of == factors) {
            for pattern in Pattern::ALL {
                let row = explain(ExplainCell { factors, pattern, noise, sd }, 40);
                check_row(&row);
                false_causes.count += row.false_cause.count;
                false_causes.of += row.false_cause.of;
            }
        }
        assert!(false_causes.share() <= 0.006, "{false_causes:?}");
    }

    #[test]
    fn what_an_explanation_of_twelve_factors_states_is_true_in_every_noise() {
        check_all(12);
    }

    /// All mixtures are measured, and nothing is screened.
    #[test]
    fn what_an_explanation_of_four_factors_states_is_true_in_every_noise() {
        check_all(4);
    }

    #[test]
    fn causes_among_twenty_four_factors_are_found() {
        for noise in [NoiseKind::Normal, NoiseKind::Drift, NoiseKind::HeavyTails] {
            for pattern in Pattern::ALL.into_iter().filter(|one| *one != Pattern::Small) {
                let noise = ExplainNoise::Of(noise);
                let row = explain(ExplainCell { factors: 24, pattern, noise, sd: 0.06 }, 40);
                assert!(row.exact.share() >= 0.95 && row.false_cause.count <= 1, "{row:?}");
            }
        }
    }

    #[test]
    fn a_second_cause_of_a_tenth_is_found_and_not_exaggerated() {
        let normal = ExplainNoise::Of(NoiseKind::Normal);
        for (sd, found) in [(0.06, 0.85), (0.1, 0.6)] {
            let cell = ExplainCell { factors: 12, pattern: Pattern::Small, noise: normal, sd };
            let row = explain(cell, 100);
            assert!(row.small_found.share() >= found, "{row:?}");
            assert!((0.85..1.15).contains(&row.small_share), "{row:?}");
            assert!(row.small_holds.share() >= 0.9, "{row:?}");
        }
    }
}
