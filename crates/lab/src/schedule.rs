//! The order of trials: randomised, interleaved blocks, fixed before the first trial starts.

use truetps_plan::Plan;
use truetps_record::{CONNECTIONS, Configuration, ScheduledTrial, TrialRole};
use truetps_workload::RandomStream;

/// All trials of an experiment in order. Each block is a random permutation of the plan's
/// configurations; with an A/A pair, one configuration occurs twice, at two random places. The same
/// plan and seed give the same order.
pub fn schedule(plan: &Plan) -> Vec<ScheduledTrial> {
    let mut trials = Vec::new();
    for block in 0..plan.design.blocks {
        append_block(&mut trials, plan, block, |_| true);
    }
    trials
}

/// The name of a trial by its number from 0.
pub(crate) fn trial_name(index: usize) -> String {
    format!("trial-{:04}", index + 1)
}

/// One more block, of the configurations that are `wanted`, and of the twin where its configuration
/// is one of them. It depends on the seed and its number only, not on the blocks before.
pub(crate) fn append_block(
    trials: &mut Vec<ScheduledTrial>,
    plan: &Plan,
    block: u32,
    wanted: impl Fn(&Configuration) -> bool,
) {
    let configurations = plan.configurations();
    let twin = plan.design.aa_pair.then(|| aa_configuration(plan, &configurations));
    let mut order: Vec<_> = configurations.iter().map(|c| (TrialRole::Cell, c.clone())).collect();
    order.extend(twin.map(|c| (TrialRole::AaTwin, c)));
    RandomStream::new(plan.design.seed, u64::from(block)).shuffle(&mut order);
    order.retain(|(_, configuration)| wanted(configuration));
    for (position, (role, configuration)) in order.into_iter().enumerate() {
        let name = trial_name(trials.len());
        let position = position as u32;
        trials.push(ScheduledTrial { name, block, position, role, configuration, mixture: None });
    }
}

/// The configuration that runs twice: the baseline's settings at the middle number of connections,
/// where the figure depends least on the latency of a single client or on contention.
fn aa_configuration(plan: &Plan, configurations: &[Configuration]) -> Configuration {
    let baseline = plan.baseline();
    let mut candidates: Vec<_> = configurations
        .iter()
        .filter(|c| {
            baseline
                .iter()
                .filter(|(name, _)| *name != CONNECTIONS)
                .all(|(name, level)| &c.levels[name] == level)
        })
        .collect();
    candidates.sort_by_key(|c| c.connections());
    candidates[candidates.len() / 2].clone()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn plan(extra: &str) -> Plan {
        let text = format!(
            "name = \"p\"\nabout = \"a\"\n[workload]\nname = \"insert\"\n[factors]\nsync_binlog = \
             [1, 0]\n\
             connections = [1, 8, 64]\n[design]\nblocks = 4\n{extra}"
        );
        Plan::parse(&text).unwrap()
    }

    #[test]
    fn each_block_has_every_configuration_once_and_the_twin() {
        let trials = schedule(&plan(""));
        assert_eq!(trials.len(), 4 * 7);
        for block in 0..4 {
            let mut seen = BTreeMap::new();
            for trial in trials.iter().filter(|trial| trial.block == block) {
                *seen
                    .entry((trial.role == TrialRole::AaTwin, trial.configuration.to_string()))
                    .or_insert(0) += 1;
            }
            assert_eq!(seen.len(), 7, "{seen:?}");
            assert_eq!(seen[&(true, "sync_binlog=1 connections=8".to_owned())], 1);
        }
        assert_eq!(trials[27].name, "trial-0028");
    }

    #[test]
    fn order_depends_on_the_seed_only() {
        let labels = |plan: &Plan| {
            schedule(plan).iter().map(|t| t.configuration.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(labels(&plan("")), labels(&plan("")));
        assert_ne!(labels(&plan("")), labels(&plan("seed = 43")));
        let trials = labels(&plan("aa_pair = false"));
        assert_eq!(trials.len(), 4 * 6);
        assert_ne!(trials[..6], trials[6..12], "blocks have orders of their own");
    }

    /// Required by `sweep --resume --blocks`.
    #[test]
    fn more_blocks_leave_the_first_ones_as_they_are() {
        let (four, mut seven) = (plan(""), plan(""));
        seven.design.blocks = 7;
        let (four, seven) = (schedule(&four), schedule(&seven));
        assert!(seven.starts_with(&four) && seven.len() == 7 * 7);
    }

    #[test]
    fn every_place_in_a_block_is_as_likely() {
        let mut first = BTreeMap::new();
        let base = plan("aa_pair = false");
        for seed in 0..600 {
            let mut plan = base.clone();
            plan.design.seed = seed;
            *first.entry(schedule(&plan)[0].configuration.to_string()).or_insert(0_u32) += 1;
        }
        // 100 expected of each with a standard deviation of 9.
        assert!(first.len() == 6 && first.values().all(|n| (60..140).contains(n)), "{first:?}");
    }
}
