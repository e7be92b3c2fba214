//! What a trial's figures are worth: did the server keep up, and was it the server that they measure?

use truetps_engine::Outcome;

/// A worker that runs for so much of its time has none left: what it measures is itself.
const WORKER_BUSY_MAX: f64 = 0.90;
/// A worker that waits for a core for so much of its time is slow to start and to read, where the host has cores left.
const WORKER_WAIT_MAX: f64 = 0.30;
/// With less left than this the host is saturated, and a wait for a core is no fault of the generator alone.
const HOST_SATURATED: f64 = 0.95;
/// One start in a hundred is later than this by the generator's own fault.
const LATE_US_P99_MAX: f64 = 1_000.0;

/// Starts that may wait at the end of a run that was kept up with: the larger of these two…
const QUEUED_SHARE_MAX: f64 = 0.01;
const QUEUED_S: f64 = 0.05;
/// … but never more than this, however long the run was.
const QUEUED_S_MAX: f64 = 1.0;

/// Whether the server kept up with the schedule. `None` in a closed loop.
pub(crate) fn sustained(outcome: &Outcome) -> Option<bool> {
    let starts = outcome.open_loop.as_ref()?.starts;
    let seconds = outcome.measure_length.as_secs_f64();
    if seconds <= 0.0 {
        return Some(false);
    }
    let (scheduled, a_second) = (starts.scheduled as f64, starts.scheduled as f64 / seconds);
    let allowed = (QUEUED_SHARE_MAX * scheduled).max(QUEUED_S * a_second).min(QUEUED_S_MAX * a_second) + 1.0;
    Some(starts.skipped == 0 && starts.queued as f64 <= allowed)
}

/// Why the figures say more about the generator than about the server. `host_busy`: share of all cores' time, 0 to 1.
pub(crate) fn generator_limited(outcome: &Outcome, host_busy: Option<f64>) -> Option<String> {
    if outcome.worker_busy_max >= WORKER_BUSY_MAX {
        let (busy, n) = (outcome.worker_busy_max * 100.0, outcome.workers);
        return Some(format!(
            "a worker thread of {n} was busy for {busy:.0} % of its time: more of them could send more"
        ));
    }
    let late = outcome.open_loop.as_ref().and_then(|open| open.late_us_p99).filter(|late| *late > LATE_US_P99_MAX);
    if let Some(late) = late {
        let ms = late / 1e3;
        return Some(format!("1 % of the starts were more than {ms:.1} ms late though a client was free"));
    }
    let has_room = host_busy.is_some_and(|busy| busy < HOST_SATURATED);
    if has_room && outcome.worker_wait_max >= WORKER_WAIT_MAX {
        let wait = outcome.worker_wait_max * 100.0;
        return Some(format!("a worker thread waited for a core for {wait:.0} % of its time"));
    }
    None
}
