//! Events of a running experiment. The lab prints nothing: the caller decides how events are shown.

use std::path::Path;

use truetps_causes::{Findings, Stage};
use truetps_pool::{PoolFindings, PoolStage};
use truetps_recording::{TrialEvent, TrialPlace};

use truetps_rates::{RateFindings, RateStage};

/// One event.
#[derive(Debug)]
pub enum ExperimentEvent<'a> {
    /// The first change to an external server follows; the original settings are saved to this
    /// file.
    Journal(&'a Path),
    /// Everything is restored.
    Restored,
    /// A step of the preparation begins.
    Preparing(String),
    /// Rows are being loaded.
    Loading { rows: u64, of: u64 },
    /// A search has tried a rate. `broken`: why the objective did not hold there; `None`: it held.
    RateTried { rate: f64, broken: Option<&'a str> },
    /// An investigation measures its next mixtures. `left`: trials of this stage, as far as they
    /// are planned; `factors`: their names.
    Investigating { stage: Stage, left: usize, so_far: &'a Findings, factors: &'a [String] },
    /// A search for the size of a pool measures its next numbers of connections. `left`: trials of
    /// this stage.
    SearchingPool { stage: PoolStage, left: usize, so_far: &'a PoolFindings },
    /// A search for the highest rate tries its next one.
    SearchingRate { stage: RateStage, so_far: &'a RateFindings },
    /// An event of one trial.
    Trial(TrialPlace<'a>, TrialEvent<'a>),
    /// A warning; the experiment continues.
    Warning(String),
}

/// Receives the events of an experiment, on the thread that runs it.
pub trait Listener {
    fn event(&mut self, event: &ExperimentEvent<'_>);

    fn warn(&mut self, text: String) {
        self.event(&ExperimentEvent::Warning(text));
    }
}
