//! More blocks of what an experiment has left open: `--until-decided`, `--at-most` and
//! `--add-blocks`.

use std::cell::Cell;
use std::time::{Duration, Instant};

use truetps_analysis::{Analysis, OpenComparisons};
use truetps_archive::{Histograms, Run};
use truetps_folder::ExperimentFolder;
use truetps_lab::{MoreBlocks, estimate, schedule};
use truetps_plan::{Plan, TRIALS_MAX};

use crate::args::SweepArgs;
use crate::failure::CommandFailure;
use crate::terminal::print_message;
use truetps_report::format::{duration, plural};

/// Without `--at-most`, an experiment is doubled twice: each look at the data has less of the 5 %
/// left.
const LONGEST: u32 = 4;
/// Estimates of the blocks that are needed are rough: a comparison that seems to need so many times
/// more than there will be is still tried.
const OPTIMISM: u32 = 2;
const BLOCKS_MAX: u32 = 1000;

/// What was asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wish {
    /// So many blocks, once.
    Blocks(u32),
    UntilDecided {
        at_most: Option<Duration>,
    },
}

impl Wish {
    pub(crate) fn of(args: &SweepArgs) -> Option<Self> {
        match args.add_blocks {
            Some(blocks) => Some(Self::Blocks(blocks)),
            None => args.until_decided.then_some(Self::UntilDecided { at_most: args.at_most }),
        }
    }
}

/// Decides on more blocks while an experiment runs.
pub(crate) struct Extender {
    wish: Wish,
    /// Blocks before the first extension.
    planned: u32,
    began: Instant,
    looks: Cell<u32>,
}

impl Extender {
    pub(crate) fn new(wish: Wish, plan: &Plan) -> Self {
        Self { wish, planned: plan.design.blocks, began: Instant::now(), looks: Cell::new(0) }
    }

    /// Refuses a time in which not even the planned blocks fit, before anything is started.
    pub(crate) fn check(&self, plan: &Plan) -> Result<(), CommandFailure> {
        let Wish::UntilDecided { at_most: Some(at_most) } = self.wish else { return Ok(()) };
        let needed = estimate(plan, &schedule(plan));
        if at_most >= needed {
            return Ok(());
        }
        let message = format!(
            "--at-most {}: the planned blocks alone take {}",
            duration(at_most),
            duration(needed)
        );
        Err(CommandFailure::usage(message)
            .hint("allow more time, or take fewer blocks (--blocks) or --quick"))
    }

    /// What follows when all trials of the folder have run.
    pub(crate) fn next(&self, folder: &ExperimentFolder) -> Option<MoreBlocks> {
        let look = self.looks.replace(self.looks.get() + 1);
        let run = Run::open(folder.path(), Histograms::LeftOut).ok()?;
        let analysis = run.analyse();
        match self.wish {
            Wish::Blocks(blocks) if look == 0 => Some(Self::once(&analysis, blocks)),
            Wish::Blocks(_) => None,
            Wish::UntilDecided { at_most } => self.until_decided(&run.plan, &analysis, at_most),
        }
    }

    fn once(analysis: &Analysis, blocks: u32) -> MoreBlocks {
        let open = analysis.open_comparisons(u32::MAX);
        let what = open.as_ref().map_or_else(|| "all configurations".to_owned(), describe);
        print_message(&format!("{} of {what}\n", more_blocks(blocks)));
        MoreBlocks { blocks, only: open.map(|open| open.configurations) }
    }

    fn until_decided(
        &self,
        plan: &Plan,
        analysis: &Analysis,
        at_most: Option<Duration>,
    ) -> Option<MoreBlocks> {
        let undecided = analysis.undecided();
        if undecided == 0 {
            return None;
        }
        let done = plan.design.blocks;
        let most = if at_most.is_some() {
            BLOCKS_MAX
        } else {
            self.planned.saturating_mul(LONGEST).min(BLOCKS_MAX)
        };
        // The plan is read again with these blocks.
        let configurations: usize = plan.factors.values().map(Vec::len).product();
        let most = most.min(u32::try_from(TRIALS_MAX / configurations.max(1)).unwrap_or(u32::MAX));
        let left = most.saturating_sub(done);
        let Some(open) = analysis.open_comparisons(left.saturating_mul(OPTIMISM)) else {
            print_message(&format!(
                "{undecided} undecided, and {left} more blocks would not be likely to decide it\n"
            ));
            return None;
        };
        let wanted = MoreBlocks { blocks: done.min(left), only: Some(open.configurations.clone()) };
        let more = self.within(plan, wanted, at_most);
        if more.blocks == 0 {
            print_message(&format!("{undecided} undecided: no time is left for another block\n"));
            return None;
        }
        let time = duration(estimate_trials(plan, &more));
        print_message(&format!(
            "{undecided} of {} undecided: {} of {}, about {time}\n",
            analysis.contrasts.len(),
            more_blocks(more.blocks),
            describe(&open),
        ));
        Some(more)
    }

    /// Limits the blocks to those that fit into the time that is left.
    fn within(&self, plan: &Plan, more: MoreBlocks, at_most: Option<Duration>) -> MoreBlocks {
        let Some(at_most) = at_most else { return more };
        let left = at_most.saturating_sub(self.began.elapsed());
        let one = MoreBlocks { blocks: 1, only: more.only.clone() };
        let of_one = estimate_trials(plan, &one);
        let fit = (left.as_secs_f64() / of_one.as_secs_f64().max(1e-3)) as u32;
        MoreBlocks { blocks: more.blocks.min(fit), ..more }
    }
}

/// The duration of the trials alone: the servers are prepared and run already.
fn estimate_trials(plan: &Plan, more: &MoreBlocks) -> Duration {
    estimate(plan, &more.trials(plan, plan.design.blocks)).saturating_sub(estimate(plan, &[]))
}

fn more_blocks(blocks: u32) -> String {
    plural(blocks.into(), "more block")
}

fn describe(open: &OpenComparisons) -> String {
    format!("{} configurations that are open", open.configurations.len())
}
