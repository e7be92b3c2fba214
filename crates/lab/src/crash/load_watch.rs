//! What goes on beside the load before a crash.

use truetps_probe::{HostCpu, RunPresence};
use truetps_record::{OtherRun, TrialSurroundings};
use truetps_recording::{SurroundingsWatch, other_run_warning};

use crate::event::Listener;

/// Watches one load, from the start of its clients until just before the crash.
pub(crate) struct LoadWatch<'a> {
    presence: &'a RunPresence,
    surroundings: SurroundingsWatch,
    began: Option<HostCpu>,
    steal: Option<f64>,
    beside: Vec<OtherRun>,
}

/// What was found beside a load.
#[derive(Debug, Default)]
pub(crate) struct FoundBeside {
    pub(crate) surroundings: Option<TrialSurroundings>,
    pub(crate) steal: Option<f64>,
    pub(crate) runs: Vec<OtherRun>,
}

impl<'a> LoadWatch<'a> {
    /// The load begins. Warns of other runs, each once.
    pub(crate) fn begin(
        presence: &'a RunPresence,
        server_pid: u32,
        listener: &mut dyn Listener,
    ) -> Self {
        let mut surroundings = SurroundingsWatch::new(Some(server_pid));
        surroundings.begin();
        let mut watch = Self {
            presence,
            surroundings,
            began: HostCpu::read(),
            steal: None,
            beside: Vec::new(),
        };
        // Other runs that ended before this load do not count.
        presence.arrivals();
        watch.meet(presence.others(), listener);
        watch
    }

    fn meet(&mut self, runs: Vec<OtherRun>, listener: &mut dyn Listener) {
        for news in self.presence.meet(runs, &mut self.beside) {
            listener.warn(other_run_warning(&news));
        }
    }

    pub(crate) fn look(&mut self) {
        self.surroundings.look();
    }

    /// The crash follows.
    pub(crate) fn end(&mut self) {
        self.steal =
            self.began.zip(HostCpu::read()).and_then(|(began, ends)| began.stolen_until(&ends));
        self.surroundings.end();
    }

    pub(crate) fn found(mut self, listener: &mut dyn Listener) -> FoundBeside {
        self.meet(self.presence.arrivals(), listener);
        FoundBeside {
            surroundings: self.surroundings.found(),
            steal: self.steal,
            runs: self.beside,
        }
    }
}
