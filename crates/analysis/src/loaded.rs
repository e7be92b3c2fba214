//! One trial with its whole record: the input of analysis and reports.

use std::collections::BTreeMap;
use std::path::PathBuf;

use truetps_record::{Interval, ProbeSeries, ProbeSource, ScriptRecord, Trial, TrialRole};

use crate::absence::Absent;
use crate::figure::{Figure, FigureSource};
use crate::latency::TrialLatency;
use crate::ledger::Ledger;
use crate::stalls::Stalls;
use crate::waits::{TopWaits, WaitSeries};

const INTERVALS: &str = "intervals.jsonl";
const PROBE: &str = "probe.jsonl";

/// There is no record of its intervals.
pub(crate) const NO_INTERVALS: Absent = Absent::Damaged { file: INTERVALS };

/// What happened within a trial.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrialDetail {
    pub stalls: Stalls,
    pub waits: Option<WaitSeries>,
    /// All waits of the measure phase; documents have the first few.
    pub top_waits: Option<TopWaits>,
    /// `None` where the trial has no figures.
    pub ledger: Option<Ledger>,
}

/// A trial, the series that were recorded beside its figures, and what happened within it.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedTrial {
    pub trial: Trial,
    pub intervals: Vec<Interval>,
    /// What the probe read of server and host, or why there is none of it.
    pub probe: Result<ProbeSeries, Absent>,
    /// `None` where there are no histograms, or where they were not needed.
    pub latency: Option<TrialLatency>,
    /// What the server was set to, where that is known.
    pub variables: Option<BTreeMap<String, String>>,
    /// `None` where it is no run of a script.
    pub script: Option<RecordedScript>,
    /// Files in its folder, as paths below that.
    pub files: Vec<&'static str>,
    /// Unreadable or missing parts.
    pub unread: Vec<UnreadFile>,
    /// Made from everything above by [`TrialDetail::of`].
    pub detail: TrialDetail,
}

/// What is recorded of a script's run beside its plan.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RecordedScript {
    /// `None`: an older version recorded it.
    pub record: Option<ScriptRecord>,
    /// By name, without secrets; an option that was not set is missing.
    pub options: BTreeMap<String, String>,
}

/// A file that is damaged, of a newer version, or was edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadFile {
    pub path: PathBuf,
    /// Its path below the experiment's folder, and what is wrong with it.
    pub what: String,
    /// The trial itself is left out, not only a part of what it has left.
    pub whole_trial: bool,
}

/// A trial with nothing but its figures.
impl From<Trial> for LoadedTrial {
    fn from(trial: Trial) -> Self {
        Self {
            trial,
            intervals: Vec::new(),
            probe: Err(Absent::NotWatched),
            latency: None,
            variables: None,
            script: None,
            files: Vec::new(),
            unread: Vec::new(),
            detail: TrialDetail { stalls: Stalls::unknown(NO_INTERVALS), ..TrialDetail::default() },
        }
    }
}

impl LoadedTrial {
    /// This trial with what could be read of its probe.
    #[must_use]
    pub fn with_probe(self, probe: Option<ProbeSeries>) -> Self {
        let absent = if self.is_probe_damaged() {
            Absent::Damaged { file: PROBE }
        } else {
            Absent::NotWatched
        };
        Self { probe: probe.ok_or(absent), ..self }
    }

    fn is_probe_damaged(&self) -> bool {
        self.unread.iter().any(|file| file.path.ends_with(PROBE))
    }

    /// The file whose damage hides the server's activity.
    pub(crate) fn damaged_file(&self) -> Option<&'static str> {
        let has_server =
            self.probe.as_ref().is_ok_and(|probe| !probe.times(ProbeSource::Server).is_empty());
        match (self.is_probe_damaged() && !has_server, self.intervals.is_empty()) {
            (true, _) => Some(PROBE),
            (false, true) => Some(INTERVALS),
            (false, false) => None,
        }
    }

    /// The repetition of another trial of its block: it shows the noise, too.
    pub fn is_twin(&self) -> bool {
        self.trial.role == TrialRole::AaTwin
    }
}

impl Figure {
    /// The figure of one trial; `None` where it is not known.
    pub fn of_trial(self, loaded: &LoadedTrial) -> Option<f64> {
        let LoadedTrial { trial, detail, .. } = loaded;
        if let Some(line) = detail.ledger.as_ref().and_then(|ledger| ledger.line(self)) {
            return line.per_tx();
        }
        let measured = trial.measured.as_ref();
        match self.entry().source {
            FigureSource::Trial(of) => of(trial),
            FigureSource::Measured(of) => of(measured?),
            FigureSource::OpenLoop(of) => of(measured?, measured?.open_loop.as_ref()?),
            FigureSource::Stalls(of) => {
                of(&detail.stalls).filter(|_| detail.stalls.absent.is_none())
            }
            FigureSource::Ledger => None,
        }
    }

    /// The figure of several trials together; `None` where none has it.
    pub(crate) fn of_trials<'t>(
        self,
        trials: impl Iterator<Item = &'t LoadedTrial>,
    ) -> Option<f64> {
        let values = trials.filter_map(|one| Some((one.trial.block, self.of_trial(one)?)));
        self.over_trials().combine_blocks(values)
    }
}
