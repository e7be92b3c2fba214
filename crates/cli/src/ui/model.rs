//! The state that the picture shows, updated by events. Bounded, so that a copy is cheap.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use truetps_analysis::{ProbeNow, StallsSoFar};
use truetps_lab::ExperimentEvent;
use truetps_record::{BUCKET_MS, Interval, Phase, TimeSpan, Trial, TrialRole};
use truetps_recording::{TrialEvent, TrialPlace};
use truetps_report::format;

use crate::running_trial::{RunningTrial, stage_of, trial_warning, tried_rate_text};

/// No terminal has more columns than that.
const STEPS_MAX: usize = 1000;
const RESULTS_MAX: usize = 100;
const WARNINGS_MAX: usize = 20;

/// Throughput of one step of the chart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ChartStep {
    pub(crate) start_ms: f64,
    pub(crate) length_ms: f64,
    pub(crate) tps: f64,
    pub(crate) phase: Phase,
}

impl ChartStep {
    pub(crate) fn end_ms(&self) -> f64 {
        self.start_ms + self.length_ms
    }
}

/// One trial that is over.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FinishedTrial {
    pub(crate) number: usize,
    pub(crate) configuration: String,
    pub(crate) is_twin: bool,
    pub(crate) tps: Option<f64>,
    pub(crate) p99_us: Option<f64>,
    pub(crate) failed: u64,
    pub(crate) stalls: StallsSoFar,
    /// Why it is not evidence.
    pub(crate) not_valid: Option<String>,
}

/// The trial that runs, or the last one that did.
#[derive(Debug, Clone, Default)]
pub(crate) struct Running {
    pub(crate) configuration: String,
    /// From 0.
    pub(crate) index: usize,
    /// `None`: more may come.
    pub(crate) of: Option<usize>,
    /// `None`: not known, or later than estimated.
    pub(crate) left: Option<Duration>,
    pub(crate) over: bool,
    pub(crate) last: Option<Interval>,
    /// Transactions of the measure phase so far, and its length.
    pub(crate) counted: f64,
    pub(crate) counted_ms: f64,
    /// In the phase of the last interval.
    pub(crate) so_far: StallsSoFar,
    /// In the last measure phase.
    pub(crate) measured: StallsSoFar,
    pub(crate) stalls: Vec<TimeSpan>,
    pub(crate) failed: u64,
    pub(crate) probe: ProbeNow,
    pub(crate) buckets: VecDeque<ChartStep>,
    pub(crate) seconds: VecDeque<ChartStep>,
    /// p99 of each interval, as long as that.
    pub(crate) p99_us: VecDeque<Option<f64>>,
}

impl Running {
    /// Mean throughput of the measure phase so far. `None`: it has not begun.
    pub(crate) fn mean_tps(&self) -> Option<f64> {
        (self.counted_ms > 0.0).then(|| self.counted / self.counted_ms * 1e3)
    }
}

/// What is done while no trial runs.
#[derive(Debug, Clone)]
pub(crate) struct Activity {
    pub(crate) step: String,
    /// How far it is: `: 1 000 of 200 000`, or nothing.
    pub(crate) progress: String,
    pub(crate) since: Instant,
}

/// What the picture is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Subject {
    /// Trials with a load.
    #[default]
    Trials,
    /// A server that is only watched: the chart has its commits.
    Server,
}

impl Subject {
    /// What the chart counts.
    pub(crate) fn counts(self) -> &'static str {
        match self {
            Self::Trials => "tps",
            Self::Server => "commits/s",
        }
    }
}

/// What is copied for each picture.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    pub(crate) title: String,
    pub(crate) subject: Subject,
    pub(crate) doing: Option<Activity>,
    pub(crate) running: Option<Running>,
    pub(crate) outcomes: VecDeque<FinishedTrial>,
    pub(crate) warnings: VecDeque<String>,
    pub(crate) begun: Instant,
    /// Grows with each change.
    pub(crate) version: u64,
}

/// The model with what finds out what is in it.
pub(crate) struct LiveWatch {
    pub(crate) model: Model,
    trial: RunningTrial,
}

impl LiveWatch {
    pub(crate) fn new(title: &str) -> Self {
        let model = Model {
            title: title.to_owned(),
            subject: Subject::default(),
            doing: None,
            running: None,
            outcomes: VecDeque::new(),
            warnings: VecDeque::new(),
            begun: Instant::now(),
            version: 0,
        };
        Self { model, trial: RunningTrial::default() }
    }

    pub(crate) fn event(&mut self, event: &ExperimentEvent<'_>) {
        self.model.version += 1;
        match event {
            ExperimentEvent::Journal(_) | ExperimentEvent::Restored => {}
            ExperimentEvent::Preparing(step) => self.doing(step, String::new()),
            ExperimentEvent::RateTried { rate, broken } => {
                self.doing(&tried_rate_text(*rate, *broken), String::new());
            }
            ExperimentEvent::Loading { rows, of } => {
                self.doing(
                    "loading rows",
                    format!(": {} of {}", format::count(*rows), format::count(*of)),
                );
            }
            ExperimentEvent::Investigating { .. }
            | ExperimentEvent::SearchingPool { .. }
            | ExperimentEvent::SearchingRate { .. } => {
                if let Some(stage) = stage_of(event) {
                    self.doing(&stage.text, String::new());
                }
            }
            ExperimentEvent::Trial(place, event) => self.trial_event(*place, *event),
            ExperimentEvent::Warning(text) => self.warn(format!("warning: {text}")),
        }
    }

    fn trial_event(&mut self, place: TrialPlace<'_>, event: TrialEvent<'_>) {
        self.trial.event(event);
        if let Some(warning) = trial_warning(event) {
            self.warn(warning);
        }
        match event {
            TrialEvent::Begins => self.begins(place),
            TrialEvent::Interval(interval, _) => {
                if self
                    .model
                    .running
                    .as_ref()
                    .is_none_or(|running| running.over || running.index != place.index)
                {
                    self.begins(place);
                }
                self.model.doing = None;
                self.interval(interval, place.left);
            }
            TrialEvent::Sample(_, sample) => {
                if let Some(running) = &mut self.model.running {
                    let end_ms = running
                        .last
                        .as_ref()
                        .map_or(f64::MIN, |last| last.start_ms + last.length_ms);
                    running.probe = self.trial.probe.now(end_ms.max(sample.at_ms));
                }
            }
            TrialEvent::Ends(trial) => self.ends(place, trial),
            TrialEvent::OtherRun(_) | TrialEvent::Suspended(_) => {}
        }
    }

    pub(crate) fn warn(&mut self, text: String) {
        self.model.version += 1;
        push(&mut self.model.warnings, text, WARNINGS_MAX);
    }

    fn doing(&mut self, step: &str, progress: String) {
        // The same step keeps its start time.
        let same = self.model.doing.as_ref().filter(|doing| doing.step == step);
        let since = same.map_or_else(Instant::now, |doing| doing.since);
        self.model.doing = Some(Activity { step: step.to_owned(), progress, since });
    }

    fn begins(&mut self, place: TrialPlace<'_>) {
        self.trial = RunningTrial::default();
        self.doing("starting the trial", String::new());
        self.model.running = Some(Running {
            configuration: place.trial.configuration.to_string(),
            index: place.index,
            of: place.of,
            left: place.left,
            ..Running::default()
        });
    }

    fn interval(&mut self, interval: &Interval, left: Option<Duration>) {
        let Some(running) = &mut self.model.running else { return };
        running.left = left;
        running.failed += interval.counts.failed;
        // The drain counts for nothing: what was before it stays.
        if interval.phase == Phase::Drain {
            self.trial.stalls.interval(interval);
            return self.doing("the last transactions end", String::new());
        }
        running.so_far = self.trial.stalls.interval(interval);
        running.stalls = self.trial.stalls.stalls().collect();
        if interval.phase == Phase::Measure {
            running.measured = running.so_far;
            running.counted += interval.tps * interval.length_ms / 1e3;
            running.counted_ms += interval.length_ms;
        }
        running.probe = self.trial.probe.now(interval.start_ms + interval.length_ms);
        let phase = interval.phase;
        let whole = ChartStep {
            start_ms: interval.start_ms,
            length_ms: interval.length_ms,
            tps: interval.tps,
            phase,
        };
        push(&mut running.seconds, whole, STEPS_MAX);
        push(&mut running.p99_us, interval.response.response_us_p99, STEPS_MAX);
        for (index, bucket) in interval.buckets.iter().enumerate() {
            let from_ms = BUCKET_MS * index as f64;
            let length_ms = BUCKET_MS.min(interval.length_ms - from_ms);
            // The rest of a bucket at the end of a phase is too short for a rate.
            if length_ms > BUCKET_MS / 2.0 {
                let tps = f64::from(*bucket) / length_ms * 1e3;
                push(
                    &mut running.buckets,
                    ChartStep { start_ms: interval.start_ms + from_ms, length_ms, tps, phase },
                    STEPS_MAX,
                );
            }
        }
        running.last = Some(interval.clone());
    }

    fn ends(&mut self, place: TrialPlace<'_>, trial: &Trial) {
        let (index, left) = (place.index, place.left);
        self.doing("the trial is over", String::new());
        let measured = trial.measured.as_ref();
        let running = self.model.running.as_mut().filter(|running| running.index == index);
        let stalls =
            running.as_ref().map_or_else(StallsSoFar::default, |_| self.trial.stalls.in_the_end());
        if let Some(running) = running {
            (running.left, running.over) = (left, true);
            running.measured = stalls;
        }
        let outcome = FinishedTrial {
            number: index + 1,
            configuration: trial.configuration.to_string(),
            is_twin: trial.role == TrialRole::AaTwin,
            tps: measured.map(|measured| measured.tps),
            p99_us: measured.and_then(|measured| measured.response.response_us_p99),
            failed: measured.map_or(0, |measured| measured.counts.failed),
            stalls,
            not_valid: trial.validity.reason().map(ToString::to_string),
        };
        push(&mut self.model.outcomes, outcome, RESULTS_MAX);
    }
}

fn push<T>(kept: &mut VecDeque<T>, new: T, most: usize) {
    if kept.len() == most {
        kept.pop_front();
    }
    kept.push_back(new);
}
