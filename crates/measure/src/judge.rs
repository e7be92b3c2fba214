//! The validity of a run's figures: did the server keep up, and was the server the bottleneck?
//! `docs/method/rates.md` and `docs/method/trials.md` have the rules.

use std::time::Duration;

use truetps_record::{GeneratorLimit, NoEvidence, OpenLoop, StartCounts, Suspension};

use crate::thread_use::ThreadTime;

/// A worker that runs for this share of its time has none left: it measures itself.
const WORKER_BUSY_MAX: f64 = 0.90;
/// The limit for all workers together, where they have fewer cores than they are: no worker alone
/// is that busy.
const CORES_USED_MAX: f64 = 0.90;
/// A worker that ran or waited for a core for this share of its time was never short of work…
const WORKER_FULL_MIN: f64 = 0.90;
/// … and with a worker for each core, a script's workers limit the figure if they use this share of
/// the cores: then their work takes more of a saturated host than the server's.
const SCRIPT_CORES_MIN: f64 = 0.50;
/// A worker that waits for a core for this share of its time starts and reads late…
const WORKER_WAIT_MAX: f64 = 0.30;
/// … by its own fault, if so many cores that its process may use were idle: it is bound to others,
/// or has used up a quota.
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
    let allowed =
        (QUEUED_SHARE_MAX * scheduled).max(QUEUED_S * a_second).min(QUEUED_S_MAX * a_second) + 1.0;
    starts.skipped == 0 && starts.queued as f64 <= allowed
}

/// Why a run whose generator was suspended is invalid: it could not observe the server in that
/// time.
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
    /// Largest share that a worker was ready to run and waited for a core. `None`: the kernel does
    /// not report it.
    pub wait: Option<f64>,
    /// CPU time of all workers.
    pub cpu: Duration,
    /// Context switches of all workers. `None`: the kernel does not report them.
    pub switches: Option<u64>,
    /// `None` where workers run no script.
    pub script: Option<ScriptWorkers>,
}

/// Workers that run a script, whose own work takes any amount of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScriptWorkers {
    /// Shares of the phase that the worker with the least idle time ran, and waited for a core.
    pub ran: f64,
    pub waited: f64,
    /// Workers that clients and cores would have work for, and the share of so many cores that all
    /// workers ran.
    pub useful: u32,
    pub cores_used: f64,
}

impl ScriptWorkers {
    fn of(workers: &[ThreadTime], length_ns: u64, useful: u32) -> Self {
        let times = workers.iter().map(|worker| (worker.cpu_ns, worker.wait_ns.unwrap_or(0)));
        let (cpu_ns, wait_ns) = times.max_by_key(|(cpu, wait)| cpu + wait).unwrap_or((0, 0));
        let ran = share(cpu_ns, length_ns);
        let all_ns: u64 = workers.iter().map(|worker| worker.cpu_ns).sum();
        let cores_used = share(all_ns, length_ns.saturating_mul(useful.into()));
        Self { ran, waited: share(wait_ns, length_ns).min(1.0 - ran), useful, cores_used }
    }

    /// Why a worker limits the figures, if it does: it had no time left, and either more workers
    /// would have work, or theirs takes most of the cores.
    fn limit(&self, workers: u32) -> Option<GeneratorLimit> {
        let useful_workers = (workers < self.useful).then_some(self.useful);
        let is_full = self.ran + self.waited >= WORKER_FULL_MIN;
        (is_full && (useful_workers.is_some() || self.cores_used >= SCRIPT_CORES_MIN)).then_some(
            GeneratorLimit::WorkerFull {
                workers,
                ran: self.ran,
                waited: self.waited,
                useful_workers,
            },
        )
    }
}

fn share(ns: u64, of_ns: u64) -> f64 {
    if of_ns == 0 { 0.0 } else { (ns as f64 / of_ns as f64).min(1.0) }
}

impl WorkerUse {
    /// From the times of each worker in a measure phase of this length.
    pub fn of(workers: &[ThreadTime], length_ns: u64) -> Self {
        let most_wait_ns =
            workers.iter().try_fold(0, |most_ns, worker| Some(worker.wait_ns?.max(most_ns)));
        Self {
            workers: workers.len() as u32,
            busy: share(workers.iter().map(|worker| worker.cpu_ns).max().unwrap_or(0), length_ns),
            wait: most_wait_ns.map(|wait_ns| share(wait_ns, length_ns)),
            cpu: Duration::from_nanos(workers.iter().map(|worker| worker.cpu_ns).sum()),
            switches: workers.iter().map(|worker| worker.switches).sum(),
            script: None,
        }
    }

    /// The use of workers that run a script. `useful`: workers that clients and cores would have
    /// work for.
    pub fn of_script(workers: &[ThreadTime], length_ns: u64, useful: u32) -> Self {
        Self {
            script: Some(ScriptWorkers::of(workers, length_ns, useful)),
            ..Self::of(workers, length_ns)
        }
    }

    /// Why a worker had no time left, if one had none.
    pub fn full_worker(&self) -> Option<GeneratorLimit> {
        match &self.script {
            Some(script) => script.limit(self.workers),
            None => (self.busy >= WORKER_BUSY_MAX)
                .then_some(GeneratorLimit::WorkerBusy { workers: self.workers, share: self.busy }),
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

/// Why the load generator was the bottleneck, if it was: only if it was itself short of CPU time. A
/// worker that waits while no core is idle competes with the server, which is what limits the
/// figure then.
pub fn generator_limited(
    used: &WorkerUse,
    measured: Duration,
    open_loop: Option<&OpenLoop>,
    cores: GeneratorCores,
) -> Option<GeneratorLimit> {
    if let Some(limit) = used.full_worker() {
        return Some(limit);
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
                WorkerUse {
                    workers: workers.len() as u32,
                    busy,
                    wait,
                    cpu,
                    switches,
                    script: None
                }
            );
        };
        check(&[time(20, Some(50)), time(50, Some(10))], 100, 0.5, Some(0.5), Some(6));
        check(&[time(200, Some(0))], 100, 1.0, Some(0.0), Some(3));
        check(&[time(20, Some(50))], 0, 0.0, Some(0.0), Some(3));
        check(&[], 100, 0.0, Some(0.0), Some(0));
        check(&[time(20, Some(50)), time(50, None)], 100, 0.5, None, None);
    }

    /// Workers in hundredths of a second: on a CPU, and waiting for one.
    fn check(
        workers: &[(u64, u64)],
        idle: Option<f64>,
        most: Option<f64>,
        expect: Option<&GeneratorLimit>,
    ) {
        const HUNDREDTH: u64 = 10_000_000;
        let times: Vec<_> = workers
            .iter()
            .map(|(cpu, wait)| time(cpu * HUNDREDTH, Some(wait * HUNDREDTH)))
            .collect();
        let used = WorkerUse::of(&times, 100 * HUNDREDTH);
        let found =
            generator_limited(&used, Duration::from_secs(1), None, GeneratorCores { idle, most });
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
        check(
            &[(97, 1)],
            Some(0.0),
            None,
            Some(&GeneratorLimit::WorkerBusy { workers: 1, share: 0.97 }),
        );
        // Two workers on one core, or with a quota of one.
        check(
            &[(46, 50), (45, 52)],
            Some(0.4),
            Some(1.0),
            Some(&GeneratorLimit::CoresUsed { cores: 0.91, of: 1.0 }),
        );
        check(&[(46, 50), (40, 52)], Some(0.4), Some(1.0), None);
        check(&[(46, 50), (45, 52)], Some(0.0), Some(2.0), None);
    }

    #[test]
    fn a_full_worker_of_a_script_limits_unless_the_server_takes_its_core() {
        let check = |workers: &[(u64, u64)], useful, expect: Option<(f64, f64, Option<u32>)>| {
            let times: Vec<_> = workers.iter().map(|(cpu, wait)| time(*cpu, Some(*wait))).collect();
            let found = WorkerUse::of_script(&times, 100, useful).full_worker();
            let count = workers.len() as u32;
            let expect = expect.map(|(ran, waited, useful_workers)| {
                let waited = waited.min(1.0 - ran);
                GeneratorLimit::WorkerFull { workers: count, ran, waited, useful_workers }
            });
            assert_eq!(found, expect, "{workers:?}, {useful} useful");
        };
        check(&[(60, 38)], 2, Some((0.6, 0.38, Some(2))));
        check(&[(10, 0), (95, 0)], 3, Some((0.95, 0.0, Some(3))));
        // A thread for each core, or for each client: the script itself takes the time.
        check(&[(99, 0), (98, 3)], 2, Some((0.98, 0.03, None)));
        check(&[(85, 14)], 1, Some((0.85, 0.14, None)));
        // The server takes more of a saturated host than the workers do.
        check(&[(40, 59), (41, 55)], 2, None);
        check(&[(40, 59)], 2, Some((0.4, 0.59, Some(2))));
        check(&[(60, 20)], 2, None);
        // A thread for each client, on two cores.
        check(&[(40, 60), (40, 59), (40, 58), (40, 57)], 2, Some((0.4, 0.6, None)));
        check(&[(20, 80), (20, 79), (20, 78), (20, 77)], 2, None);
        check(&[], 4, None);
    }
}
