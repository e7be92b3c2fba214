//! One trial with its whole record: the input of analysis and reports.

use std::collections::BTreeMap;
use std::path::PathBuf;

use truetps_record::{
    Configuration, Interval, ProbeSeries, ProbeSource, ScriptRecord, Trial, TrialRole,
};

use crate::absence::Absent;
use crate::detail::TrialDetail;
use crate::evidence::evidence_of;
use crate::latency::TrialLatency;
use crate::stalls::Stalls;

const INTERVALS: &str = "intervals.jsonl";
const PROBE: &str = "probe.jsonl";

/// There is no record of its intervals.
pub(crate) const NO_INTERVALS: Absent = Absent::Damaged { file: INTERVALS };

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
    /// Whether it is valid, and its figures are numbers.
    pub fn is_evidence(&self) -> bool {
        evidence_of(self).is_ok()
    }

    /// Whether figures of this configuration are made from this trial.
    pub fn is_evidence_for(&self, configuration: &Configuration) -> bool {
        self.trial.configuration == *configuration && self.is_evidence()
    }

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
