//! More blocks for an experiment that has results: of all its configurations, or of those that are
//! open.

use std::collections::{HashMap, HashSet};

use truetps_folder::ExperimentFolder;
use truetps_plan::Plan;
use truetps_probe::clock;
use truetps_record::{Configuration, Experiment, Extension, ScheduledTrial};

use crate::error::{LabError, other_schedule};
use crate::schedule::append_block;

/// Blocks to add.
#[derive(Debug, Clone, PartialEq)]
pub struct MoreBlocks {
    pub blocks: u32,
    /// `None`: all configurations.
    pub only: Option<Vec<Configuration>>,
}

impl MoreBlocks {
    fn has(&self, configuration: &Configuration) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(configuration))
    }

    /// The trials that this adds to an experiment with `before` blocks.
    pub fn trials(&self, plan: &Plan, before: u32) -> Vec<ScheduledTrial> {
        let mut trials = Vec::new();
        for block in before..before.saturating_add(self.blocks) {
            append_block(&mut trials, plan, block, |configuration| self.has(configuration));
        }
        trials
    }
}

/// Asked when all trials of an experiment have run: `None` ends it.
pub type AskForMore<'a> = &'a dyn Fn(&ExperimentFolder) -> Option<MoreBlocks>;

/// The number of blocks that are scheduled.
pub(crate) fn blocks_of(experiment: &Experiment) -> u32 {
    experiment.schedule.iter().map(|trial| trial.block.saturating_add(1)).max().unwrap_or(0)
}

/// Appends blocks to the schedule, and returns the plan with their number. Each block is drawn from
/// the seed and its own number: existing blocks stay as they are.
pub(crate) fn extend(
    experiment: &mut Experiment,
    plan: &Plan,
    more: &MoreBlocks,
    command: &[String],
) -> Result<Plan, LabError> {
    let before = blocks_of(experiment);
    if !is_drawn_from(plan, &experiment.schedule, before) {
        return Err(other_schedule("its plan and seed lead to other trials".to_owned()));
    }
    let blocks = before.saturating_add(more.blocks);
    for block in before..blocks {
        append_block(&mut experiment.schedule, plan, block, |configuration| {
            more.has(configuration)
        });
    }
    let (extended_at, command) = (clock::now_rfc3339(), command.to_vec());
    experiment.extensions.push(Extension { extended_at, blocks_before: before, blocks, command });
    let mut plan = plan.clone();
    plan.design.blocks = blocks;
    Ok(plan)
}

/// Whether the plan and its seed still produce the blocks that are scheduled. A block may have a
/// part of the configurations.
pub(crate) fn is_drawn_from(plan: &Plan, scheduled: &[ScheduledTrial], blocks: u32) -> bool {
    let mut of_blocks: HashMap<u32, HashSet<String>> = HashMap::new();
    for trial in scheduled {
        of_blocks.entry(trial.block).or_default().insert(trial.configuration.key());
    }
    let mut drawn = Vec::new();
    for block in 0..blocks {
        // A file may have a block of any number.
        let Some(of_block) = of_blocks.get(&block) else { return false };
        append_block(&mut drawn, plan, block, |wanted| of_block.contains(&wanted.key()));
    }
    drawn == scheduled
}

/// The plan is written first: a `--resume` after a crash between the two extends the schedule to
/// the plan.
pub(crate) fn record(
    folder: &ExperimentFolder,
    plan: &Plan,
    experiment: &Experiment,
) -> Result<(), LabError> {
    folder.write_plan(plan)?;
    folder.write_experiment(experiment)?;
    Ok(())
}
