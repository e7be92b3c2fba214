//! The run folder of one run, written during the run.

use std::path::Path;
use std::time::{Duration, Instant};

use truetps_driver::{Client, server_settings};
use truetps_folder::{ExperimentFolder, FolderError};
use truetps_measure::was_suspended;
use truetps_probe::clock;
use truetps_record::{
    CommonStart, EngineFacts, Experiment, Family, Histogram, Interval, NoEvidence, OtherRun,
    PartOfExperiment, Phase, Validity,
};
use truetps_recording::{
    LiveView, LoadFacts, LoadProbe, RunsFolder, TrialEvent, TrialPlace, TrialRecorder, new_trial,
};

use super::document::{self, RecordedEnd};
use super::facts::{self, TOOL_VERSION};
use crate::command::{EventsEnding, tell};
use crate::run::WorkerContext;

/// Time limit of the login, and of each query of the server's settings.
const SETTINGS_TIMEOUT: Duration = Duration::from_secs(3);

pub(crate) struct ScriptRecording {
    context: WorkerContext,
    /// How long it took until all clients were ready.
    connect_ms: f64,
    runs: RunsFolder,
    folder: ExperimentFolder,
    experiment: Experiment,
    recorder: TrialRecorder,
    view: Option<LiveView>,
    /// The family of the server that the options name: a script may connect to another one.
    expected_family: Option<Family>,
    /// Clients that failed, and the first one's reason.
    failed: u32,
    reason: Option<String>,
    /// Why writing was stopped.
    broken: Option<String>,
}

impl ScriptRecording {
    /// Creates the folder, for a run that is kept or shown. If that fails, the user is warned, and
    /// the run continues without it.
    pub(crate) fn begin(
        context: &WorkerContext,
        connect_ms: f64,
        view: Option<LiveView>,
        part: Option<&PartOfExperiment>,
    ) -> Option<Self> {
        let runs = context.run.settings.ours.runs.as_deref();
        if runs.is_none() && view.is_none() {
            return None;
        }
        let created =
            RunsFolder::choose(runs).map_err(|error| error.to_string()).and_then(|runs| {
                Self::create(runs, context, connect_ms, view, part)
                    .map_err(|error| error.to_string())
            });
        match created {
            Ok(recording) => Some(recording),
            Err(error) => {
                tell(&format!("this run is not recorded: {error} (--runs=none records nothing)"));
                None
            }
        }
    }

    fn create(
        runs: RunsFolder,
        context: &WorkerContext,
        connect_ms: f64,
        view: Option<LiveView>,
        part: Option<&PartOfExperiment>,
    ) -> Result<Self, FolderError> {
        let plan = facts::plan(context);
        let experiment = Experiment { part: part.cloned(), ..facts::experiment(context, &plan) };
        let name = format!("{}-{}", plan.name, clock::folder_stamp());
        let folder = ExperimentFolder::create(runs.path(), &name, &plan, &experiment)?;
        if let Some(warning) = folder.not_latest().filter(|_| runs.is_kept()) {
            tell(warning);
        }
        let trial = new_trial(&plan, &experiment.schedule[0], facts::server(context), TOOL_VERSION);
        let writer = folder.begin_trial(&trial)?;
        writer.write_script(&facts::script_record(context, None))?;
        let target = facts::probe_target(context);
        let sessions =
            if context.run.server.get().is_some() { 0 } else { context.run.settings.threads };
        // One session watches the server, not one a part.
        let watched = target.as_ref().filter(|_| context.run.settings.ours.part.is_first());
        let probe = watched.map(|target| LoadProbe { target, sessions, spec: &plan.probe });
        let recorder = TrialRecorder::begin(trial, writer, None, probe.as_ref());
        let mut recording = Self {
            context: context.clone(),
            connect_ms,
            runs,
            folder,
            experiment,
            recorder,
            view,
            expected_family: target.as_ref().map(|target| target.dialect.into()),
            failed: 0,
            reason: None,
            broken: None,
        };
        show(&mut recording.view, context, &recording.experiment, TrialEvent::Begins);
        Ok(recording)
    }

    /// `None`: the run is shown and not kept.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.runs.is_kept().then(|| self.folder.path())
    }

    /// The first events begin at this moment, in all parts.
    pub(crate) fn start(&mut self, at: Instant, common: Option<CommonStart>, has_warm_up: bool) {
        self.recorder.clock(at);
        self.recorder.trial.start = common;
        if !has_warm_up {
            self.begin_measured_time();
        }
    }

    /// No event will begin.
    pub(crate) fn not_started(mut self, reason: NoEvidence) {
        let (view, context, experiment) = (&mut self.view, &self.context, &self.experiment);
        let validity = Validity::invalid(reason);
        // What could not be written was reported.
        let _ = self
            .recorder
            .finish(validity, None, &mut |event| show(view, context, experiment, event));
        if let Err(error) = self.recorder.writer.write_trial(&self.recorder.trial) {
            self.break_off(&error.to_string());
        }
    }

    pub(crate) fn begin_measured_time(&mut self) {
        self.recorder.phase(Phase::Measure);
    }

    /// An interval has ended. `lengths`: of its events.
    pub(crate) fn interval(&mut self, interval: &Interval, lengths: &Histogram) {
        let (view, context, experiment) = (&mut self.view, &self.context, &self.experiment);
        let written = self
            .recorder
            .interval(interval, lengths, &mut |event| show(view, context, experiment, event));
        if let Err(error) = written {
            self.break_off(&error);
        }
    }

    /// Reported once: further writes would fail in the same way.
    fn break_off(&mut self, error: &str) {
        if self.broken.is_none() {
            tell(&format!("this run is recorded no further: {error}"));
            self.broken = Some(error.to_owned());
        }
    }

    /// Other runs of truetps put load on this host during the run.
    pub(crate) fn ran_beside(&mut self, others: &[OtherRun]) {
        self.recorder.ran_beside(others);
    }

    pub(crate) fn client_failed(&mut self, line: &str) {
        self.failed += 1;
        self.reason.get_or_insert_with(|| line.to_owned());
    }

    /// Writes the results, and returns whether the folder has the whole run. `validity`: from
    /// ending and counts.
    pub(crate) fn finish(&mut self, end: &RecordedEnd<'_>, validity: Validity) -> bool {
        self.recorder.phase(Phase::Drain);
        let recorded = &end.count.recorded;
        let engine =
            facts::engine(&self.context, self.connect_ms, self.failed, recorded.script.reconnects);
        let finished = end.clients.iter().filter(|client| client.events > 0).count() as u32;
        let clients_finished = (!end.clients.is_empty()).then_some(finished);
        let used_family = self.context.run.server.get().map(|server| server.target.dialect.into());
        let is_wanted = self.context.run.settings.ours.probe.enabled;
        if let Some(note) = not_watched(is_wanted, self.expected_family, used_family) {
            self.recorder.discard_probe();
            self.context.run.note(note);
        }
        let load = LoadFacts {
            engine: EngineFacts { clients_finished, ..engine },
            measured: recorded.measured().map(|measured| facts::measured(&self.context, measured)),
            notes: self.context.run.notes(),
        };
        let validity = self.validity_with_reason(end.ending, validity);
        let (view, context, experiment) = (&mut self.view, &self.context, &self.experiment);
        // The error of the intervals was reported when it occurred.
        let _ = self
            .recorder
            .finish(validity, Some(load), &mut |event| show(view, context, experiment, event));
        self.recorder.trial.server = facts::server(&self.context);
        let clients = end.count.measured_clients(&self.context.run.counters);
        self.recorder.trial.script = recorded
            .measured()
            .is_some()
            .then(|| facts::script_run(&self.context, recorded, &clients));
        let suspensions =
            self.recorder.trial.engine.as_ref().map_or(&[][..], |engine| &engine.suspensions);
        if let Some(reason) = was_suspended(suspensions) {
            self.context.run.say_no_evidence(&reason);
        }
        // The figures matter most: they are written first, even if the series could not be.
        let written = self
            .recorder
            .writer
            .write_trial(&self.recorder.trial)
            .and_then(|()| self.write_rest(end));
        if let Err(error) = written {
            self.break_off(&error.to_string());
        }
        show(
            &mut self.view,
            &self.context,
            &self.experiment,
            TrialEvent::Ends(&self.recorder.trial),
        );
        // The report is printed where the view was.
        self.view = None;
        self.broken.is_none()
    }

    fn write_rest(&mut self, end: &RecordedEnd<'_>) -> Result<(), FolderError> {
        let TrialRecorder { trial, writer, .. } = &self.recorder;
        if self.experiment.server != trial.server {
            // A client has connected since the folder was made.
            self.experiment.server.clone_from(&trial.server);
            self.experiment.server_address = facts::server_address(&self.context);
            self.folder.write_experiment(&self.experiment)?;
        }
        let sent = end.count.sent.record_of(&self.context.run.counters.shapes);
        writer.write_script(&facts::script_record(&self.context, Some(sent)))?;
        writer.write_sysbench(&document::with_circumstances(end, &self.context, trial))
    }

    /// Stores the server's settings, after everything else. Nothing is stored if the server is gone
    /// or has no free connection.
    pub(crate) fn keep_settings(&self) {
        let Some(server) = self.context.run.server.get() else { return };
        let asked = Client::connect(&server.target, SETTINGS_TIMEOUT)
            .and_then(|mut client| server_settings(&mut client));
        if let Ok(variables) = asked
            && let Err(error) = self.recorder.writer.write_variables(&variables)
        {
            tell(&format!("the server's variables are not recorded: {error}"));
        }
    }

    /// The validity of the finished run.
    pub(crate) fn validity(&self) -> &Validity {
        &self.recorder.trial.validity
    }

    /// The validity of the figures, with the reason of a failure.
    fn validity_with_reason(&self, ending: EventsEnding, validity: Validity) -> Validity {
        if let Some(error) = &self.broken {
            return Validity::invalid(NoEvidence::NotRecorded { error: error.clone() });
        }
        match ending {
            EventsEnding::Failed => {
                Validity::invalid(NoEvidence::ClientFailed { error: self.reason.clone() })
            }
            _ => validity,
        }
    }
}

/// Why the server that clients have used was not watched, although the user wanted it.
fn not_watched(is_wanted: bool, expected: Option<Family>, used: Option<Family>) -> Option<String> {
    let used = used.filter(|used| is_wanted && expected != Some(*used))?;
    Some(expected.map_or_else(
        || {
            "not watched: before the first event, nothing showed that the script would connect"
                .to_owned()
        },
        |expected| {
            format!(
                "not watched: the options are for {expected}, and the script connected to {used}"
            )
        },
    ))
}

/// Passes an event on to the live view, if there is one.
fn show(
    view: &mut Option<LiveView>,
    context: &WorkerContext,
    experiment: &Experiment,
    event: TrialEvent<'_>,
) {
    let Some(view) = view else { return };
    let control = &context.run.control;
    let left_ns = control.deadline_ns().checked_sub(control.now_ns());
    let left = left_ns.filter(|_| control.deadline_ns() != u64::MAX).map(Duration::from_nanos);
    view.trial_event(
        TrialPlace { trial: &experiment.schedule[0], index: 0, of: Some(1), left },
        event,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_server_that_was_to_be_watched_has_a_note() {
        let check = |is_wanted, expected, used, expect: Option<&str>| {
            assert_eq!(not_watched(is_wanted, expected, used).as_deref(), expect);
        };
        let (mysql, postgres) = (Some(Family::Mysql), Some(Family::Postgresql));
        let unknown =
            "not watched: before the first event, nothing showed that the script would connect";
        let other = "not watched: the options are for the MySQL family, and the script connected \
                     to PostgreSQL";
        check(true, None, mysql, Some(unknown));
        check(true, mysql, postgres, Some(other));
        check(false, None, mysql, None);
        check(false, mysql, postgres, None);
        check(true, mysql, mysql, None);
        check(true, mysql, None, None);
    }
}
