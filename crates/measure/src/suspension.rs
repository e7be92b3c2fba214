//! Detects whether this process was suspended: SIGSTOP, a frozen cgroup, a paused virtual machine.
//!
//! A thread that only sleeps wakes up shortly after its timer. If it is later, either it waited for
//! a CPU, which the kernel reports, or the whole process did not run. A suspended generator
//! measures nothing, and its delays are not the server's.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use truetps_record::Suspension;

use crate::thread_use::ThreadUse;

/// How often the thread reads the clocks.
const BEAT: Duration = Duration::from_millis(50);
/// On a stolen or sleeping core, timers are late by less.
const SUSPENDED_MIN: Duration = Duration::from_millis(250);
/// … if the kernel does not report how long a thread waits for a CPU: no scheduler lets a sleeping
/// thread wait so long.
const SUSPENDED_MIN_UNSEEN: Duration = Duration::from_secs(2);
/// CPU time that the process may use around a suspension under any load: the other threads wake up,
/// too.
const EDGE_CPU: Duration = Duration::from_millis(10);

/// When this process did not run, from [`SuspensionWatch::start`] on.
#[derive(Debug)]
pub struct SuspensionWatch {
    state: Arc<Mutex<SuspensionState>>,
    /// Closed to end the thread.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct SuspensionState {
    last_beat: Instant,
    found: Vec<Found>,
}

#[derive(Debug, Clone, Copy)]
struct Found {
    began: Instant,
    length: Duration,
}

impl SuspensionWatch {
    /// Starts the thread. If the system cannot start one, no suspension is detected.
    pub fn start() -> Self {
        let state =
            Arc::new(Mutex::new(SuspensionState { last_beat: Instant::now(), found: Vec::new() }));
        let (end, ended) = channel();
        let shared = Arc::clone(&state);
        let builder = thread::Builder::new().name("suspension".to_owned()).stack_size(64 << 10);
        let thread = builder.spawn(move || beat(&shared, &ended)).ok();
        Self { state, end: Some(end), thread }
    }

    /// The suspensions so far, on the clock of a run that began at `zero`.
    pub fn since(&self, zero: Instant) -> Vec<Suspension> {
        self.wait_for_beat();
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.found.iter().map(|found| found.on_clock(zero)).collect()
    }

    /// All threads wake up at once: the caller may be faster than the watching thread.
    fn wait_for_beat(&self) {
        const PATIENCE: u32 = 10;
        for _ in 0..PATIENCE {
            let last_beat = self.state.lock().unwrap_or_else(PoisonError::into_inner).last_beat;
            if self.thread.is_none() || last_beat.elapsed() < SUSPENDED_MIN {
                return;
            }
            thread::sleep(BEAT / 2);
        }
    }
}

impl Drop for SuspensionWatch {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            // Its panic has been reported on stderr, and affects no figure.
            let _ = thread.join();
        }
    }
}

impl Found {
    fn on_clock(&self, zero: Instant) -> Suspension {
        let start_ms =
            if self.began >= zero { ms(self.began - zero) } else { -ms(zero - self.began) };
        Suspension { start_ms, length_ms: ms(self.length) }
    }
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// The loop of the thread.
fn beat(state: &Mutex<SuspensionState>, ended: &Receiver<()>) {
    let mut usage = ThreadUse::new();
    let cores = thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    let (mut last, mut last_cpu, mut asleep) = (Instant::now(), process_cpu(), time_asleep());
    let mut usual_cpu = 0.0;
    while ended.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
        let (now, cpu, asleep_now) = (Instant::now(), process_cpu(), time_asleep());
        let gap = BeatGap {
            length: now - last,
            asleep: asleep_now.saturating_sub(asleep),
            wait: usage.since_last().wait_ns.map(Duration::from_nanos),
            cpu: cpu.saturating_sub(last_cpu),
            usual_cpu,
            cores,
        };
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.last_beat = now;
        if let Some(length) = gap.suspended() {
            state.found.push(Found { began: last, length });
        } else {
            usual_cpu =
                0.9 * usual_cpu + 0.1 * gap.cpu.as_secs_f64() / gap.length.as_secs_f64().max(1e-9);
        }
        drop(state);
        (last, last_cpu, asleep) = (now, cpu, asleep_now);
    }
}

/// The time between two readings.
#[derive(Debug, Clone, Copy)]
struct BeatGap {
    length: Duration,
    /// Time that the machine slept: the clock of all measurements stood still.
    asleep: Duration,
    /// How long the thread waited for a CPU; `None` if the kernel does not report it.
    wait: Option<Duration>,
    /// CPU time of the whole process in that time.
    cpu: Duration,
    /// … and its usual CPU time, per second.
    usual_cpu: f64,
    cores: u32,
}

impl BeatGap {
    /// How long the process was suspended in that time; `None` if it was not.
    fn suspended(&self) -> Option<Duration> {
        let late = self.length.saturating_sub(BEAT).saturating_sub(self.wait.unwrap_or_default());
        let least = if self.wait.is_some() { SUSPENDED_MIN } else { SUSPENDED_MIN_UNSEEN };
        // If the other threads ran, only this one was late.
        let waited = self.wait.unwrap_or_default() * self.cores;
        // Before it, for less than a beat, they may have run on all cores: a load that begins has
        // no usual CPU time yet.
        let at_edges =
            BEAT * self.cores + (self.length / 2).mul_f64(self.usual_cpu) + waited + EDGE_CPU;
        let late = if self.cpu <= at_edges { late } else { Duration::ZERO };
        let length = late + self.asleep;
        (late >= least || self.asleep >= SUSPENDED_MIN).then_some(length)
    }
}

fn process_cpu() -> Duration {
    clock(ClockId::ProcessCPUTime)
}

/// How long the machine has slept since it was started.
fn time_asleep() -> Duration {
    clock(ClockId::Boottime).saturating_sub(clock(ClockId::Monotonic))
}

fn clock(id: ClockId) -> Duration {
    let time = clock_gettime(id);
    Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_waits_for_a_cpu_is_not_suspended() {
        let ms = Duration::from_millis;
        let check = |length, asleep, wait: Option<u64>, cpu, usual_cpu, expect: Option<u64>| {
            let (length, wait, cpu, asleep) = (ms(length), wait.map(ms), ms(cpu), ms(asleep));
            let gap = BeatGap { length, asleep, wait, cpu, usual_cpu, cores: 2 };
            assert_eq!(gap.suspended(), expect.map(ms), "{gap:?}");
        };
        check(55, 0, Some(1), 50, 1.0, None);
        check(3050, 0, Some(0), 40, 1.0, Some(3000));
        check(3050, 0, Some(0), 0, 0.0, Some(3000));
        check(290, 0, Some(0), 0, 0.0, None);
        // Just after the start of a load.
        check(1130, 0, Some(0), 90, 0.0, Some(1080));
        // It was ready all that time, except for a moment.
        check(3050, 0, Some(2990), 40, 1.0, None);
        check(3050, 0, Some(2800), 40, 1.0, None);
        // The other threads ran.
        check(650, 0, Some(0), 600, 1.0, None);
        // The reason of the wait is unknown.
        check(1050, 0, None, 0, 0.0, None);
        check(3050, 0, None, 0, 0.0, Some(3000));
        // The machine slept.
        check(60, 60_000, Some(0), 0, 1.0, Some(60_010));
    }
}
