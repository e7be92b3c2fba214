//! The validity of a run's figures: did the server keep up, and was the server the bottleneck?
//! `docs/method/rates.md` and `docs/method/trials.md` have the rules.

use std::time::Duration;

use truetps_record::{GeneratorLimit, NoEvidence, OpenLoop, StartCounts, Suspension};

use crate::thread_use::ThreadTime;

/// A worker that runs for this share of its time has none left: it measures itself.
const WORKER_BUSY_MAX: f64 = 0.90;
/// The same for all workers together, where they have fewer cores than they are: no worker alone is that busy.
const CORES_USED_MAX: f64 = 0.90;
/// A worker that waits for a core for this share of its time starts and reads late…
const WORKER_WAIT_MAX: f64 = 0.30;
/// … by its own fault, if so many cores that its process may use were idle: it is bound to others, or has used up a quota.
const IDLE_CORES_MIN: f64 = 1.0;
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

/// What the workers of a run did in its measure phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorkerUse {
    pub workers: u32,
    /// Share of the phase that the busiest worker was on a CPU, 0 to 1.
    pub busy: f64,
    /// Largest share that a worker was ready to run and waited for a core. `None`: the kernel does not report it.
    pub wait: Option<f64>,
    /// CPU time of all workers.
    pub cpu: Duration,
    /// Context switches of all workers. `None`: the kernel does not report them.
    pub switches: Option<u64>,
}

impl WorkerUse {
    /// From the times of each worker in a measure phase of this length.
    pub fn of(workers: &[ThreadTime], length_ns: u64) -> Self {
        let share = |ns: u64| if length_ns == 0 { 0.0 } else { (ns as f64 / length_ns as f64).min(1.0) };
        let most_wait_ns = workers.iter().try_fold(0, |most_ns, worker| Some(worker.wait_ns?.max(most_ns)));
        Self {
            workers: workers.len() as u32,
            busy: share(workers.iter().map(|worker| worker.cpu_ns).max().unwrap_or(0)),
            wait: most_wait_ns.map(share),
            cpu: Duration::from_nanos(workers.iter().map(|worker| worker.cpu_ns).sum()),
            switches: workers.iter().map(|worker| worker.switches).sum(),
        }
    }
}

/// The CPUs of a load generator in the measure phase. `None`: unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct GeneratorCores {
    /// Cores that were idle on average, of those that the process may use.
    pub idle: Option<f64>,
    /// Cores that its workers may use at most: where they are bound, or what a CPU quota allows.
    pub most: Option<f64>,
}

/// Why the load generator was the bottleneck, if it was: only if it was itself short of CPU time. A worker that waits
/// while no core is idle competes with the server, which is what limits the figure then.
pub fn generator_limited(
    used: &WorkerUse,
    measured: Duration,
    open_loop: Option<&OpenLoop>,
    cores: GeneratorCores,
) -> Option<GeneratorLimit> {
    if used.busy >= WORKER_BUSY_MAX {
        return Some(GeneratorLimit::WorkerBusy { workers: used.workers, share: used.busy });
    }
    let late = open_loop.and_then(|open| open.late_us_p99).filter(|late| *late > LATE_US_P99_MAX);
    if let Some(late_us_p99) = late {
        return Some(GeneratorLimit::StartsLate { late_us_p99 });
    }
    if let Some(of) = cores.most.filter(|of| *of > 0.0 && !measured.is_zero()) {
        let cores = used.cpu.as_secs_f64() / measured.as_secs_f64();
        if cores >= CORES_USED_MAX * of {
            return Some(GeneratorLimit::CoresUsed { cores, of });
        }
    }
    let share = used.wait.filter(|share| *share >= WORKER_WAIT_MAX)?;
    let idle_cores = cores.idle.filter(|idle| *idle >= IDLE_CORES_MIN)?;
    Some(GeneratorLimit::WorkerWaited { share, idle_cores: Some(idle_cores) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(cpu_ns: u64, wait_ns: Option<u64>) -> ThreadTime {
        ThreadTime { cpu_ns, wait_ns, switches: wait_ns.map(|_| 3) }
    }

    #[test]
    fn shares_are_of_the_busiest_worker_and_the_rest_is_of_all() {
        let check = |workers: &[ThreadTime], length_ns, busy, wait, switches| {
            let cpu = Duration::from_nanos(workers.iter().map(|worker| worker.cpu_ns).sum());
            assert_eq!(
                WorkerUse::of(workers, length_ns),
                WorkerUse { workers: workers.len() as u32, busy, wait, cpu, switches }
            );
        };
        check(&[time(20, Some(50)), time(50, Some(10))], 100, 0.5, Some(0.5), Some(6));
        check(&[time(200, Some(0))], 100, 1.0, Some(0.0), Some(3));
        check(&[time(20, Some(50))], 0, 0.0, Some(0.0), Some(3));
        check(&[], 100, 0.0, Some(0.0), Some(0));
        check(&[time(20, Some(50)), time(50, None)], 100, 0.5, None, None);
    }

    /// Workers in hundredths of a second: on a CPU, and waiting for one.
    fn check(workers: &[(u64, u64)], idle: Option<f64>, most: Option<f64>, expect: Option<&GeneratorLimit>) {
        const HUNDREDTH: u64 = 10_000_000;
        let times: Vec<_> = workers.iter().map(|(cpu, wait)| time(cpu * HUNDREDTH, Some(wait * HUNDREDTH))).collect();
        let used = WorkerUse::of(&times, 100 * HUNDREDTH);
        let found = generator_limited(&used, Duration::from_secs(1), None, GeneratorCores { idle, most });
        assert_eq!(found.as_ref(), expect, "{workers:?} {idle:?} {most:?}");
    }

    #[test]
    fn a_worker_that_waits_on_a_saturated_host_limits_nothing() {
        // Of two cores that the server shares: some idle time is left, as in each trial.
        check(&[(10, 62)], Some(0.0), Some(2.0), None);
        check(&[(10, 62)], Some(0.18), Some(2.0), None);
        check(&[(20, 49)], Some(0.52), Some(2.0), None);
        // A hypervisor that takes a third of the time leaves no core idle either.
        check(&[(10, 62)], Some(0.02), Some(2.0), None);
    }

    #[test]
    fn a_worker_that_waits_beside_idle_cores_is_short_itself() {
        let waited = |idle| GeneratorLimit::WorkerWaited { share: 0.62, idle_cores: Some(idle) };
        check(&[(10, 62)], Some(1.0), Some(2.0), Some(&waited(1.0)));
        check(&[(10, 62)], Some(6.5), None, Some(&waited(6.5)));
        check(&[(10, 29)], Some(6.5), Some(8.0), None);
        check(&[(10, 62)], None, None, None);
    }

    #[test]
    fn workers_that_use_up_their_cores_are_short_however_many_they_are() {
        check(&[(97, 1)], Some(0.0), None, Some(&GeneratorLimit::WorkerBusy { workers: 1, share: 0.97 }));
        // Two workers on one core, or with a quota of one.
        check(&[(46, 50), (45, 52)], Some(0.4), Some(1.0), Some(&GeneratorLimit::CoresUsed { cores: 0.91, of: 1.0 }));
        check(&[(46, 50), (40, 52)], Some(0.4), Some(1.0), None);
        check(&[(46, 50), (45, 52)], Some(0.0), Some(2.0), None);
    }
}
