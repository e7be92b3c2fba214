//! What each view of a run derives from the events of a trial: its stalls and waits so far, and the
//! lines that stay.

use truetps_analysis::{LiveProbe, LiveStalls};
use truetps_causes::{Findings, Stage};
use truetps_compat::InterruptMessages;
use truetps_lab::{ExperimentEvent, RateFindings, RateStage};
use truetps_pool::{PoolFindings, PoolStage};
use truetps_record::{Suspension, Trial};
use truetps_recording::{TrialEvent, TrialPlace, other_run_warning};
use truetps_report::format;

/// Stalls and last readings of one trial.
#[derive(Default)]
pub(crate) struct RunningTrial {
    pub(crate) stalls: LiveStalls,
    pub(crate) probe: LiveProbe,
}

impl RunningTrial {
    /// Intervals are given to `stalls` directly, which returns the stalls so far.
    pub(crate) fn event(&mut self, event: TrialEvent<'_>) {
        match event {
            TrialEvent::Begins => *self = Self::default(),
            TrialEvent::Sample(header, sample) => {
                self.probe.sample(header, sample);
            }
            TrialEvent::Suspended(suspension) => {
                self.stalls.suspended(suspension);
                self.probe.suspended(suspension);
            }
            TrialEvent::Interval(..) | TrialEvent::OtherRun(_) | TrialEvent::Ends(_) => {}
        }
    }
}

/// The line of an event that stays readable after the view has changed.
pub(crate) fn lasting_line(event: &ExperimentEvent<'_>) -> Option<String> {
    match event {
        ExperimentEvent::Journal(path) => {
            Some(format!("journal for `truetps server restore`: {}", path.display()))
        }
        ExperimentEvent::Warning(text) => Some(format!("warning: {text}")),
        ExperimentEvent::Trial(place, TrialEvent::Ends(trial)) => {
            let reason = trial.validity.reason()?;
            Some(format!("{}  NOT VALID: {reason}", trial_label(*place, trial)))
        }
        ExperimentEvent::Trial(_, event) => trial_warning(*event),
        ExperimentEvent::Restored
        | ExperimentEvent::Preparing(_)
        | ExperimentEvent::Loading { .. }
        | ExperimentEvent::RateTried { .. }
        | ExperimentEvent::Investigating { .. }
        | ExperimentEvent::SearchingPool { .. }
        | ExperimentEvent::SearchingRate { .. } => None,
    }
}

/// What a trial has shown about its rate.
pub(crate) fn tried_rate_text(rate: f64, broken: Option<&str>) -> String {
    broken.map_or_else(|| format!("{rate}/s held"), |why| format!("{rate}/s did not hold: {why}"))
}

/// What an experiment that plans as it goes does now, and what it knows. `None`: the event is
/// another one.
pub(crate) fn stage_of(event: &ExperimentEvent<'_>) -> Option<StageText> {
    match event {
        ExperimentEvent::Investigating { stage, left, so_far, factors } => {
            let what = investigation_stage(*stage);
            Some(StageText { what, text: investigating_text(what, *left, so_far, factors) })
        }
        ExperimentEvent::SearchingPool { stage, left, so_far } => {
            let what = pool_stage(*stage);
            Some(StageText { what, text: searching_pool_text(what, *left, so_far) })
        }
        ExperimentEvent::SearchingRate { stage, so_far } => {
            let what = rate_stage(*stage);
            Some(StageText { what, text: searching_rate_text(what, so_far) })
        }
        _ => None,
    }
}

/// The stage of an experiment that plans as it goes.
pub(crate) struct StageText {
    /// The stage alone.
    pub(crate) what: &'static str,
    pub(crate) text: String,
}

fn pool_stage(stage: PoolStage) -> &'static str {
    match stage {
        PoolStage::Climb => "more connections until throughput no longer grows",
        PoolStage::Ladder => "the same numbers of connections in blocks",
        PoolStage::Refinement => "numbers between them",
        PoolStage::Check => "checking the advice",
    }
}

fn searching_pool_text(what: &str, left: usize, so_far: &PoolFindings) -> String {
    let mut parts = vec![what.to_owned()];
    // How far the climb goes is not known.
    if left > 1 {
        parts[0] = format!("{what}: {}", format::plural(left as u64, "trial"));
    }
    let advice = so_far.advice.and_then(|advice| so_far.point(advice));
    parts.extend(advice.map(|point| {
        format!(
            "so far {}, {} tps",
            format::plural(point.connections.into(), "connection"),
            format::tps(point.tps)
        )
    }));
    parts.join("; ")
}

fn rate_stage(stage: RateStage) -> &'static str {
    match stage {
        RateStage::ClosedLoop => "a closed loop, which shows the most that the server takes",
        RateStage::Searching => "rates near to the highest one that holds",
        RateStage::Bounding => "rates below and above it, again",
    }
}

/// `rates below and above it, again; so far above 1780/s, below 2260/s`
fn searching_rate_text(what: &str, so_far: &RateFindings) -> String {
    let (low, high) = so_far.estimate.map_or((None, None), |found| (found.low, found.high));
    let low = low.map(|tried| format!("above {}/s", tried.rate));
    let high = high.map(|tried| format!("below {}/s", tried.rate));
    let most = so_far.most.map(|tps| format!("a closed loop reached {} tps", format::tps(tps)));
    let known: Vec<_> = low.into_iter().chain(high).collect();
    let known = if known.is_empty() { most } else { Some(format!("so far {}", known.join(", "))) };
    known.map_or_else(|| what.to_owned(), |known| format!("{what}; {known}"))
}

fn investigation_stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Corners => "A against B",
        Stage::Suspects => "suspects, each alone",
        Stage::Screening => "all differences at once",
        Stage::Confirming => "confirming what was found",
    }
}

/// `all differences at once: 32 trials; B has ×0.55 of A's throughput; log_bin ×0.57`
fn investigating_text(what: &str, left: usize, so_far: &Findings, factors: &[String]) -> String {
    let mut parts = vec![format!("{what}: {}", format::plural(left as u64, "trial"))];
    parts.extend(
        so_far.gap.map(|gap| format!("B has {} of A's throughput", format::ratio(gap.value.exp()))),
    );
    let causes: Vec<_> =
        so_far.causes.iter().map(|cause| (cause.factor, cause.share.value)).collect();
    let suspects: Vec<_> =
        so_far.suspects.iter().map(|(factor, alone)| (*factor, alone.value)).collect();
    let known = if causes.is_empty() { suspects } else { causes };
    parts.extend(known.into_iter().map(|(factor, log): (usize, f64)| {
        let name = factors.get(factor).map_or("", String::as_str);
        format!("{name} {}", format::ratio(log.exp()))
    }));
    parts.join("; ")
}

/// The warning about an event within a trial.
pub(crate) fn trial_warning(event: TrialEvent<'_>) -> Option<String> {
    match event {
        TrialEvent::OtherRun(other) => Some(format!("warning: {}", other_run_warning(other))),
        TrialEvent::Suspended(Suspension { length_ms, .. }) => {
            let length = format::duration_us(length_ms * 1e3);
            Some(format!(
                "warning: the load generator was suspended for {length}: this trial is invalid"
            ))
        }
        _ => None,
    }
}

/// `[2/8] trial-0002 block 1 connections=8`
pub(crate) fn trial_label(place: TrialPlace<'_>, trial: &Trial) -> String {
    /// Mixtures of many settings have long lists of them.
    const LABEL_CHARS_MAX: usize = 160;
    let levels = trial.configuration.to_string();
    let shown: String = levels.chars().take(LABEL_CHARS_MAX).collect();
    let cut = if shown.len() < levels.len() { "…" } else { "" };
    format!("{} {} block {} {shown}{cut}", trial_number(place), trial.name, trial.block + 1)
}

/// `[2/8]`; `[2]` where the number of trials is not known.
pub(crate) fn trial_number(TrialPlace { index, of, .. }: TrialPlace<'_>) -> String {
    let of = of.map_or(String::new(), |of| format!("/{of}"));
    format!("[{}{of}]", index + 1)
}

/// Sets the texts of the first and second Ctrl-C while a run has changed an external server;
/// `clear` clears the line first.
pub(crate) fn update_messages(
    messages: &InterruptMessages,
    event: &ExperimentEvent<'_>,
    clear: &str,
) {
    match event {
        ExperimentEvent::Journal(path) => {
            let journal = format::shell_word(&path.display().to_string());
            let restore = format!("truetps server restore --journal {journal}");
            let first = "restoring the original settings; Ctrl-C again exits at once; then run:";
            messages.set(
                format!("{clear}{first} {restore}\n"),
                format!("{clear}not restored; run: {restore}\n"),
            );
        }
        ExperimentEvent::Restored => messages.set(String::new(), String::new()),
        _ => {}
    }
}
