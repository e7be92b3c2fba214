//! The run folder of one run, written during the run.

use std::path::Path;
use std::time::{Duration, Instant};

use truetps_driver::{Client, server_settings};
use truetps_measure::{SuspensionWatch, was_suspended};
use truetps_probe::{HostCpu, clock};
use truetps_record::{
    Counts, EngineFacts, Experiment, ExperimentFolder, FolderError, Interval, OtherRun, Phase, Suspension, Trial,
    TrialWriter, Validity,
};

use super::document;
use super::facts::{self, HostReadings};
use super::series::{Series, Snapshot, SnapshotDelta};
use crate::output::{ClientFigures, FigureStyle, Figures, MessageLevel};
use crate::run::{Count, EventsEnding, LatencyShard, SlotCounts, WorkerContext};

/// Time limit of the login, and of each query of the server's settings.
const SETTINGS_TIMEOUT: Duration = Duration::from_secs(3);

/// How a run ended, and the figures of its report.
pub(crate) struct RecordedEnd<'a> {
    pub(crate) ending: EventsEnding,
    pub(crate) count: &'a Count,
    pub(crate) totals: &'a Figures,
    pub(crate) clients: &'a [ClientFigures],
    pub(crate) style: FigureStyle,
}

pub(crate) struct ScriptRecording {
    crew: WorkerContext,
    /// How long it took until all clients were ready.
    connect_ms: f64,
    folder: ExperimentFolder,
    experiment: Experiment,
    trial: Trial,
    writer: TrialWriter,
    phase: Phase,
    /// When the first event began.
    zero_ns: u64,
    zero: Instant,
    suspension_watch: SuspensionWatch,
    series: Series,
    measured: Option<SnapshotDelta>,
    host_at_start: Option<HostCpu>,
    /// Clients that failed, and the first one's reason.
    failed: u32,
    reason: Option<String>,
    /// Why writing was stopped.
    broken: Option<String>,
}

impl ScriptRecording {
    /// Creates the folder. If that fails, the user is warned, and the run continues without it.
    pub(crate) fn begin(crew: &WorkerContext, connect_ms: f64) -> Option<Self> {
        let runs = crew.run.settings.ours.runs.as_deref()?;
        match Self::create(runs, crew, connect_ms) {
            Ok(recording) => Some(recording),
            Err(error) => {
                let text = format!("this run is not recorded: {error} (--runs=none records nothing)");
                crew.run.log.text(MessageLevel::Alert, &text);
                None
            }
        }
    }

    fn create(runs: &Path, crew: &WorkerContext, connect_ms: f64) -> Result<Self, FolderError> {
        let plan = facts::plan(crew);
        let experiment = facts::experiment(crew, &plan);
        let name = format!("{}-{}", plan.name, clock::folder_stamp());
        let folder = ExperimentFolder::create(runs, &name, &plan, &experiment)?;
        let trial = facts::trial(crew);
        let writer = folder.begin_trial(&trial)?;
        writer.write_script(&facts::script_record(crew, None))?;
        Ok(Self {
            crew: crew.clone(),
            connect_ms,
            folder,
            experiment,
            trial,
            writer,
            phase: Phase::WarmUp,
            zero_ns: 0,
            zero: Instant::now(),
            suspension_watch: SuspensionWatch::start(),
            series: Series::default(),
            measured: None,
            host_at_start: None,
            failed: 0,
            reason: None,
            broken: None,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The first events begin now.
    pub(crate) fn start(&mut self, now_ns: u64, has_warm_up: bool) {
        (self.zero_ns, self.zero) = (now_ns, Instant::now());
        self.series.begin(Snapshot::take(&self.crew.run, now_ns));
        if !has_warm_up {
            self.count_usage();
            self.phase = Phase::Measure;
        }
    }

    /// The last interval of the warm-up ends: starts that no client has taken so far are dropped.
    pub(crate) fn end_warm_up(&mut self, share: &LatencyShard, counts: SlotCounts, queued: u64, now_ns: u64) {
        let now = Snapshot { counts, queued, drops_queue: true, ..Snapshot::take(&self.crew.run, now_ns) };
        self.count_usage();
        self.write(share, now);
        self.phase = Phase::Measure;
    }

    /// Counts the use of resources from now on.
    fn count_usage(&mut self) {
        self.crew.run.usage.next_round();
        self.host_at_start = HostCpu::read();
    }

    /// An interval ends. `share` has its recorded events.
    pub(crate) fn interval(&mut self, share: &LatencyShard, now_ns: u64) {
        self.write(share, Snapshot::take(&self.crew.run, now_ns));
    }

    fn write(&mut self, share: &LatencyShard, now: Snapshot) {
        let step = self.series.step(now);
        if step.is_empty() {
            return;
        }
        if self.phase == Phase::Measure {
            // Threads that never end have reported their use up to here.
            self.crew.run.usage.next_round();
            match &mut self.measured {
                Some(measured) => measured.append(&step),
                None => self.measured = Some(step),
            }
        }
        if self.broken.is_some() {
            return;
        }
        let interval = Interval {
            phase: self.phase,
            start_ms: step.began_ns.saturating_sub(self.zero_ns) as f64 / 1e6,
            length_ms: step.length_ns as f64 / 1e6,
            counts: step.counts,
            tps: facts::tps(&step),
            response: facts::response(&share.events),
            open_loop: self.crew.run.settings.rate.map(|_| facts::open_loop(&step)),
            buckets: Vec::new(),
            gaps: Vec::new(),
        };
        if let Err(error) = self.writer.append(&interval, &share.events) {
            self.break_off(&error);
        }
    }

    /// Reported once: further writes would fail in the same way.
    fn break_off(&mut self, error: &FolderError) {
        if self.broken.is_none() {
            self.crew.run.log.text(MessageLevel::Alert, &format!("this run is recorded no further: {error}"));
            self.broken = Some(error.to_string());
        }
    }

    /// Other runs of truetps put load on this host during the run.
    pub(crate) fn ran_beside(&mut self, others: &[OtherRun]) {
        self.trial.beside = others.to_vec();
    }

    pub(crate) fn client_failed(&mut self, line: &str) {
        self.failed += 1;
        self.reason.get_or_insert_with(|| line.to_owned());
    }

    /// Writes the results, and returns whether the folder has the whole run.
    pub(crate) fn finish(&mut self, end: &RecordedEnd<'_>) -> bool {
        let suspensions = self.suspension_watch.since(self.zero);
        self.trial.validity = self.validity(end.ending, &suspensions);
        if let Some(reason) = was_suspended(&suspensions) {
            self.crew.run.log.text(MessageLevel::Alert, &format!("this run is no evidence: {reason}"));
        }
        self.trial.ended_at = Some(clock::now_rfc3339());
        self.trial.server = facts::server(&self.crew);
        self.trial.notes = self.crew.run.notes();
        let host = HostReadings { at_start: self.host_at_start, at_end: HostCpu::read() };
        let reconnects = self.measured.map_or(0, |step| step.reconnects);
        let engine = facts::engine(&self.crew, self.connect_ms, self.failed, reconnects);
        let finished = || end.clients.iter().filter(|client| client.events > 0).count() as u32;
        let clients_finished = (!end.clients.is_empty()).then(finished);
        self.trial.engine = Some(EngineFacts { suspensions, clients_finished, ..engine });
        self.trial.measured =
            self.measured.map(|step| facts::measured(&self.crew, &step, &end.count.whole.share, host));
        let clients = end.count.whole.clients(&self.crew.run.board);
        self.trial.script = self.measured.map(|step| facts::script_run(&self.crew, &step, &clients));
        // The figures matter most: they are written first, even if the series could not be.
        if let Err(error) = self.writer.write_trial(&self.trial).and_then(|()| self.write_rest(end)) {
            self.break_off(&error);
        }
        self.broken.is_none()
    }

    fn write_rest(&mut self, end: &RecordedEnd<'_>) -> Result<(), FolderError> {
        if self.experiment.server != self.trial.server {
            // A client has connected since the folder was made.
            self.experiment.server.clone_from(&self.trial.server);
            self.experiment.sandbox_dir = facts::place(&self.crew);
            self.folder.write_experiment(&self.experiment)?;
        }
        let sent = end.count.sent.record_of(&self.crew.run.board.shapes);
        self.writer.write_script(&facts::script_record(&self.crew, Some(sent)))?;
        let text = document::with_circumstances(end, &self.crew, &self.trial);
        self.writer.write_sysbench(&text)
    }

    /// Stores the server's settings, after everything else. Nothing is stored if the server is gone or has no free
    /// connection.
    pub(crate) fn keep_settings(&self) {
        let Some(server) = self.crew.run.server.get() else { return };
        let asked =
            Client::connect(&server.target, SETTINGS_TIMEOUT).and_then(|mut client| server_settings(&mut client));
        if let Ok(variables) = asked
            && let Err(error) = self.writer.write_variables(&variables)
        {
            self.crew.run.log.text(MessageLevel::Alert, &format!("the server's variables are not recorded: {error}"));
        }
    }

    /// The validity of the figures after this ending.
    fn validity(&self, ending: EventsEnding, suspensions: &[Suspension]) -> Validity {
        if let Some(error) = &self.broken {
            return Validity::Invalid(format!("not recorded to the end: {error}"));
        }
        match (document::validity(ending), &self.reason) {
            (Validity::Valid | Validity::Invalid(_), _) if !suspensions.is_empty() => {
                Validity::Invalid(was_suspended(suspensions).unwrap_or_default())
            }
            (Validity::Invalid(_), Some(reason)) => Validity::Invalid(format!("a client failed: {reason}")),
            (Validity::Valid, _) if self.measured.is_none() => {
                Validity::Invalid("the measured time was never reached".to_owned())
            }
            (Validity::Valid, _) if self.measured.is_some_and(|step| nothing_ended(&step.counts)) => {
                Validity::Invalid("no event ended in the measured time".to_owned())
            }
            (validity, _) => validity,
        }
    }
}

/// Whether events were running, and none ended.
fn nothing_ended(counts: &Counts) -> bool {
    counts.ok + counts.failed == 0 && counts.in_flight > 0
}
