//! From the trials of an experiment to what they say.

use truetps_plan::Plan;
use truetps_record::{Configuration, Experiment, PoolRule};

use crate::{
    Analysis, Axis, Curve, LoadNoise, LoadedTrial, cells, contrast, curves, effect, evidence,
    family, load_noise, looks, main_effect, max_rate, twins,
};

/// What the trials of an experiment say.
///
/// `plan` is the plan as it was run (after `Plan::into_quick` where the experiment was a quick
/// one). `trials` are the trials that exist: valid, invalid and partial ones; trials that have not
/// run yet are missing. A trial that the schedule does not name belongs to something else and is
/// left out.
pub fn analyse(plan: &Plan, experiment: &Experiment, trials: &[LoadedTrial]) -> Analysis {
    let (valid, invalid) = evidence::sort_out(experiment, trials);
    let configurations = plan.configurations();
    let by_cell = evidence::by_cell(&valid, &configurations);
    let cells = cells::summarise_all(&configurations, &by_cell, &invalid);
    let looks = looks::looks(experiment);
    let smallest_effect = plan.design.smallest_effect_percent / 100.0;
    let question = contrast::ContrastQuestion {
        baseline: &plan.baseline(),
        configurations: &configurations,
        by_cell: &by_cell,
        cells: &cells,
        smallest_effect,
        looks: &looks,
    };
    let (contrasts, main_effects) = (contrast::all(&question), main_effect::all(&question));
    // The largest family that a comparison can be one of: the others are open, too.
    let weights: f64 = family::JUDGED.iter().map(|(_, weight)| weight).sum();
    let level = looks.last().map_or(effect::ALPHA, |look| look.alpha)
        / weights
        / contrasts.len().max(1) as f64;
    Analysis {
        trials_planned: experiment.schedule.len(),
        trials_valid: valid.len(),
        blocks_planned: plan.design.blocks,
        axis: Axis::of(plan),
        curves: curves::throughput_curves(plan, &cells, &by_cell),
        max_rate: max_rate::highest_rate(plan, experiment, &valid, &by_cell),
        cells,
        contrasts,
        main_effects,
        baseline_label: baseline_label(plan),
        noise: load_noise::by_load(&configurations, &by_cell, level),
        twins: twins::from_twins(&valid),
        smallest_effect,
        invalid,
        rule_connections: is_server_here(experiment)
            .then(|| PoolRule::of(experiment.host.cores).connections),
    }
}

fn baseline_label(plan: &Plan) -> Option<String> {
    let baseline = Configuration { levels: plan.baseline() };
    (!baseline.levels.is_empty()).then(|| baseline.to_string())
}

/// Whether the server is known to have run on the host of the load generator. Older records have
/// the address alone.
fn is_server_here(experiment: &Experiment) -> bool {
    match &experiment.external {
        Some(external) => external.is_on_this_host,
        None => {
            experiment.sandbox_dir.is_some()
                || experiment.server_address.as_deref().is_some_and(is_socket)
        }
    }
}

/// The socket is the first option of a DSN; older records of scripts have its path alone.
fn is_socket(address: &str) -> bool {
    address.starts_with('/') || address.contains("?socket=")
}

impl Analysis {
    /// The noise of trials with the load of this configuration.
    pub fn noise_of(&self, configuration: &Configuration) -> Option<&LoadNoise> {
        let load = load_noise::load_of(configuration);
        self.noise.iter().find(|noise| noise.load == load)
    }

    /// The curve that all others are compared with.
    pub fn baseline(&self) -> Option<&Curve> {
        self.curves.iter().find(|curve| curve.is_baseline)
    }

    /// The cell of a curve with the highest throughput; `None` where none has evidence.
    pub fn best_cell(&self, curve: &Curve) -> Option<usize> {
        let known =
            curve.cells.iter().filter_map(|index| Some((*index, self.cells[*index].tps?.value)));
        known.max_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(index, _)| index)
    }

    /// Where the baseline is fastest, or the first curve where there is no baseline.
    pub fn best_of_baseline(&self) -> Option<usize> {
        self.best_cell(self.baseline().or_else(|| self.curves.first())?)
    }

    /// Every configuration has at least one valid trial: the question of the plan has an answer,
    /// however wide.
    pub fn complete(&self) -> bool {
        !self.cells.is_empty() && self.cells.iter().all(|cell| cell.tps.is_some())
    }

    /// Every comparison that was asked for has a verdict. An experiment that compares nothing is
    /// decided.
    pub fn decided(&self) -> bool {
        self.undecided() == 0
    }
}
