//! The validity of a run's figures: did the server keep up, and was the server the bottleneck?

use std::time::Duration;

use truetps_record::{GeneratorLimit, NoEvidence, OpenLoop, StartCounts, Suspension};

use crate::thread_use::ThreadTime;

/// A worker that runs for this share of its time has none left: it measures itself.
const WORKER_BUSY_MAX: f64 = 0.90;
/// A worker that waits for a core for this share of its time starts and reads late, if the host has free cores.
const WORKER_WAIT_MAX: f64 = 0.30;
/// With less left than this the host is saturated, and a wait for a core is not only the generator's fault.
const HOST_SATURATED: f64 = 0.95;
/// One start in a hundred is later than this by the generator's own fault.
const LATE_US_P99_MAX: f64 = 1_000.0;

/// Starts that may still wait at the end of a run that kept up: the larger of these two…
const QUEUED_SHARE_MAX: f64 = 0.01;
const QUEUED_S: f64 = 0.05;
/// … but never more than this, for a run of any length.
const QUEUED_S_MAX: f64 = 1.0;

/// Whether the server kept up with the schedule; `false` if the schedule had no start.
pub fn sustained(starts: &StartCounts, measured: Duration) -> bool {
    let seconds = measured.as_secs_f64();
    if seconds <= 0.0 || starts.scheduled + starts.queued_in == 0 {
        return false;
    }
    let (scheduled, a_second) = (starts.scheduled as f64, starts.scheduled as f64 / seconds);
    let allowed = (QUEUED_SHARE_MAX * scheduled).max(QUEUED_S * a_second).min(QUEUED_S_MAX * a_second) + 1.0;
    starts.skipped == 0 && starts.queued as f64 <= allowed
}

/// Why a run whose generator was suspended is invalid: it could not observe the server in that time.
pub fn was_suspended(suspensions: &[Suspension]) -> Option<NoEvidence> {
    let seconds = suspensions.iter().map(|one| one.length_ms).sum::<f64>() / 1e3;
    (!suspensions.is_empty()).then_some(NoEvidence::GeneratorSuspended { seconds })
}

/// What the workers of a run did in its measure phase. Shares are the busiest worker's, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorkerShares {
    pub workers: u32,
    /// On a CPU.
    pub busy: f64,
    /// Ready to run, and waiting for a core. `None`: the kernel does not report it.
    pub wait: Option<f64>,
}

impl WorkerShares {
    /// From the times of each worker in a measure phase of this length.
    pub fn of(workers: &[ThreadTime], length_ns: u64) -> Self {
        let share = |ns: u64| if length_ns == 0 { 0.0 } else { (ns as f64 / length_ns as f64).min(1.0) };
        let most_wait_ns = workers.iter().try_fold(0, |most_ns, worker| Some(worker.wait_ns?.max(most_ns)));
        Self {
            workers: workers.len() as u32,
            busy: share(workers.iter().map(|worker| worker.cpu_ns).max().unwrap_or(0)),
            wait: most_wait_ns.map(share),
        }
    }
}

/// Why the load generator was the bottleneck, if it was. `host_busy`: share of all cores' time, 0 to 1.
pub fn generator_limited(
    shares: WorkerShares,
    open_loop: Option<&OpenLoop>,
    host_busy: Option<f64>,
) -> Option<GeneratorLimit> {
    if shares.busy >= WORKER_BUSY_MAX {
        return Some(GeneratorLimit::WorkerBusy { workers: shares.workers, share: shares.busy });
    }
    let late = open_loop.and_then(|open| open.late_us_p99).filter(|late| *late > LATE_US_P99_MAX);
    if let Some(late_us_p99) = late {
        return Some(GeneratorLimit::StartsLate { late_us_p99 });
    }
    let has_room = host_busy.is_some_and(|busy| busy < HOST_SATURATED);
    let share = shares.wait.filter(|share| has_room && *share >= WORKER_WAIT_MAX)?;
    Some(GeneratorLimit::WorkerWaited { share })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_the_busiest_worker() {
        let time = |cpu_ns, wait_ns| ThreadTime { cpu_ns, wait_ns };
        let check = |workers: &[ThreadTime], length_ns, busy, wait| {
            assert_eq!(
                WorkerShares::of(workers, length_ns),
                WorkerShares { workers: workers.len() as u32, busy, wait }
            );
        };
        check(&[time(20, Some(50)), time(50, Some(10))], 100, 0.5, Some(0.5));
        check(&[time(200, Some(0))], 100, 1.0, Some(0.0));
        check(&[time(20, Some(50))], 0, 0.0, Some(0.0));
        check(&[], 100, 0.0, Some(0.0));
        check(&[time(20, Some(50)), time(50, None)], 100, 0.5, None);
    }
}
