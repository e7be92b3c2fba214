//! The recorder of one load: it writes intervals as they arrive, reads the resource use of server
//! and host at the edges of the measured time, and fills in the trial at the end.

use std::time::{Duration, Instant};

use truetps_driver::Target;
use truetps_folder::{FolderError, TrialWriter};
use truetps_measure::{MeasuredLoad, SuspensionWatch, was_suspended};
use truetps_plan::ProbeSpec;
use truetps_probe::{clock, cores_of, own_cores};
use truetps_record::{
    EngineFacts, Histogram, Interval, OtherRun, Phase, Suspension, Trial, Validity,
};

use crate::event::TrialEvent;
use crate::figures::measured;
use crate::surroundings_watch::SurroundingsWatch;
use crate::usage_window::UsageWatch;
use crate::watch::{TrialWatch, WatchedServer};

/// What the probe watches beside a load.
pub struct LoadProbe<'a> {
    pub target: &'a Target,
    /// Sessions that the load has still to open.
    pub sessions: u32,
    pub spec: &'a ProbeSpec,
}

/// What a load reports of itself at its end.
pub struct LoadFacts {
    pub engine: EngineFacts,
    /// `None`: the measured time was never reached.
    pub measured: Option<MeasuredLoad>,
    pub notes: Vec<String>,
}

/// The record of one trial during its load.
pub struct TrialRecorder {
    pub trial: Trial,
    pub writer: TrialWriter,
    watch: Option<TrialWatch>,
    server_pid: Option<u32>,
    usage: UsageWatch,
    surroundings: SurroundingsWatch,
    error: Option<FolderError>,
    suspension_watch: SuspensionWatch,
    /// When the first transaction started, or when this began.
    zero: Instant,
    suspensions: Vec<Suspension>,
}

impl TrialRecorder {
    /// Begins to watch. A trial whose probe cannot be written is still valid: a note is added, and
    /// the server is not watched. `server_pid`: the server's first process; `None` if it is not on
    /// this host or unknown.
    pub fn begin(
        mut trial: Trial,
        writer: TrialWriter,
        mut server_pid: Option<u32>,
        probe: Option<&LoadProbe<'_>>,
    ) -> Self {
        let watch = probe.filter(|probe| probe.spec.enabled).and_then(|probe| {
            let watched = WatchedServer::beside_load(probe.target, server_pid, probe.sessions);
            server_pid = watched.pid();
            let interval = Duration::from_secs_f64(probe.spec.interval_s);
            let begun = TrialWatch::start(watched, interval, |header| writer.begin_probe(header));
            begun.map_err(|error| trial.notes.push(not_kept(&error))).ok()
        });
        trial.notes.extend(watch.iter().flat_map(TrialWatch::not_started).cloned());
        Self {
            trial,
            writer,
            watch,
            server_pid,
            usage: UsageWatch::new(server_pid),
            surroundings: SurroundingsWatch::new(server_pid),
            error: None,
            suspension_watch: SuspensionWatch::start(),
            zero: Instant::now(),
            suspensions: Vec::new(),
        }
    }

    /// Times count from here.
    pub fn clock(&mut self, zero: Instant) {
        self.zero = zero;
        if let Some(watch) = &self.watch {
            watch.clock(zero);
        }
    }

    /// A phase begins; the measured time is from [`Phase::Measure`] to [`Phase::Drain`].
    pub fn phase(&mut self, phase: Phase) {
        if let Some(watch) = self.watch.as_ref().filter(|_| phase != Phase::WarmUp) {
            watch.mark();
        }
        match phase {
            Phase::WarmUp => {}
            Phase::Measure => {
                // First: looking at all processes takes a moment, which is no part of its window.
                self.surroundings.begin();
                self.usage.begin(self.zero);
            }
            Phase::Drain => {
                self.usage.end(self.zero);
                self.surroundings.end();
            }
        }
    }

    /// An interval has ended. After the first error nothing more is written.
    ///
    /// # Errors
    ///
    /// It could not be written; reported once.
    pub fn interval(
        &mut self,
        interval: &Interval,
        histogram: &Histogram,
        on_event: &mut dyn FnMut(TrialEvent<'_>),
    ) -> Result<(), String> {
        self.usage.interval(interval);
        self.surroundings.look();
        self.look_for_suspensions(on_event);
        // First: without the last answers an interval would end in an outage.
        self.show_samples(on_event);
        on_event(TrialEvent::Interval(interval, histogram));
        if self.error.is_some() {
            return Ok(());
        }
        self.writer.append(interval, histogram).map_err(|error| {
            let message = error.to_string();
            self.error = Some(error);
            message
        })
    }

    /// Other runs of truetps were on this host during the load.
    pub fn ran_beside(&mut self, others: &[OtherRun]) {
        self.trial.beside = others.to_vec();
    }

    /// The load has used another server than the one that is watched: all readings of that one are
    /// dropped.
    pub fn discard_probe(&mut self) {
        self.server_pid = None;
        self.usage.forget_server();
        self.surroundings.forget_server();
        if let Some(mut watch) = self.watch.take() {
            watch.end();
            let removed = self.writer.remove_probe();
            self.trial
                .notes
                .extend(removed.err().map(|error| format!("readings of another server: {error}")));
        }
    }

    /// Fills in the trial, whose file the caller writes. `load`: `None` if the load could not run
    /// at all. Returns why the intervals could not be written.
    pub fn finish(
        &mut self,
        validity: Validity,
        load: Option<LoadFacts>,
        on_event: &mut dyn FnMut(TrialEvent<'_>),
    ) -> Option<FolderError> {
        self.end_watch(on_event);
        self.look_for_suspensions(on_event);
        self.trial.ended_at = Some(clock::now_rfc3339());
        self.trial.surroundings = self.surroundings.found();
        let suspended =
            was_suspended(&self.suspensions).filter(|_| !matches!(validity, Validity::Partial(_)));
        let is_suspended = suspended.is_some();
        self.trial.validity = suspended.map_or(validity, Validity::invalid);
        if let Some(load) = load {
            let shares_cores = self.shares_cores(&load.engine.pinned_to);
            let suspensions = self.suspensions.clone();
            let usage = self.usage.usage(&load.engine.pinned_to);
            self.trial.engine = Some(EngineFacts { suspensions, shares_cores, ..load.engine });
            self.trial.measured = load.measured.map(|load| measured(load, usage.as_ref()));
            self.trial.notes.extend(load.notes);
        }
        if is_suspended {
            // Inconclusive: the load generator did not keep the schedule.
            self.trial.measured.iter_mut().for_each(|measured| measured.sustained = None);
        }
        self.error.take()
    }

    /// Whether workers and server may run on the same cores.
    fn shares_cores(&self, pinned_to: &[u32]) -> Option<bool> {
        let own = if pinned_to.is_empty() { own_cores() } else { pinned_to.to_vec() };
        self.server_pid.and_then(cores_of).map(|cores| cores.iter().any(|core| own.contains(core)))
    }

    fn look_for_suspensions(&mut self, on_event: &mut dyn FnMut(TrialEvent<'_>)) {
        let all = self.suspension_watch.since(self.zero);
        for new in &all[self.suspensions.len().min(all.len())..] {
            on_event(TrialEvent::Suspended(*new));
        }
        self.suspensions = all;
    }

    fn show_samples(&self, on_event: &mut dyn FnMut(TrialEvent<'_>)) {
        let Some(watch) = &self.watch else { return };
        for sample in watch.samples() {
            on_event(TrialEvent::Sample(watch.header(), &sample));
        }
    }

    fn end_watch(&mut self, on_event: &mut dyn FnMut(TrialEvent<'_>)) {
        let Some(watch) = self.watch.as_mut() else { return };
        let error = watch.end();
        self.show_samples(on_event);
        self.trial.notes.extend(error.as_ref().map(not_kept));
    }
}

fn not_kept(error: &FolderError) -> String {
    format!("the probe's readings could not be written: {error}")
}
