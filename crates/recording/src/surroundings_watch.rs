//! Readings of what goes on beside a load, at the edges of its measure phase and once an interval.

use std::time::{Duration, Instant};

use truetps_probe::{CpuQuota, ProgramCpu, clock, is_stopped, tracer_of, waited_for_memory};
use truetps_record::TrialSurroundings;

/// A smaller difference between the clocks is the time between their two readings.
const CLOCK_STEP_MIN_MS: f64 = 10.0;

#[derive(Debug)]
struct EdgeReading {
    at: Instant,
    epoch_s: f64,
    programs: Option<ProgramCpu>,
    waited_for_memory: Option<Duration>,
    /// All periods of each quota, and the periods that it ended early.
    periods: Vec<Option<(u64, u64)>>,
}

impl EdgeReading {
    fn take(quotas: &[CpuQuota]) -> Self {
        Self {
            at: Instant::now(),
            epoch_s: clock::epoch_s(),
            programs: ProgramCpu::read(),
            waited_for_memory: waited_for_memory(),
            periods: quotas.iter().map(CpuQuota::periods).collect(),
        }
    }
}

/// Watches what goes on beside a load; [`TrialSurroundings`] is what it finds.
#[derive(Debug)]
pub struct SurroundingsWatch {
    server_pid: Option<u32>,
    /// The load generator's and the server's.
    quotas: Vec<CpuQuota>,
    start: Option<EdgeReading>,
    found: Option<TrialSurroundings>,
    looks: u32,
    stopped: u32,
}

impl SurroundingsWatch {
    /// `server_pid`: the server's first process; `None` if it is not on this host or unknown.
    pub fn new(server_pid: Option<u32>) -> Self {
        let own = CpuQuota::of_this_process();
        let quotas = own.into_iter().chain(server_pid.and_then(CpuQuota::of_process)).collect();
        Self { server_pid, quotas, start: None, found: None, looks: 0, stopped: 0 }
    }

    /// The measured time begins.
    pub fn begin(&mut self) {
        self.start = Some(EdgeReading::take(&self.quotas));
    }

    /// An interval has ended.
    pub fn look(&mut self) {
        let is_measured = self.start.is_some() && self.found.is_none();
        let stopped = self.server_pid.filter(|_| is_measured).and_then(is_stopped);
        self.looks += u32::from(stopped.is_some());
        self.stopped += u32::from(stopped == Some(true));
    }

    /// The measured time has ended; the server runs still.
    pub fn end(&mut self) {
        self.look();
        let Some(start) = &self.start else { return };
        let end = EdgeReading::take(&self.quotas);
        let seconds = end.at.duration_since(start.at).as_secs_f64();
        let programs = start.programs.as_ref().zip(end.programs.as_ref());
        let waited = end.waited_for_memory.zip(start.waited_for_memory);
        let throttled = start.periods.iter().zip(&end.periods).filter_map(|(start, end)| {
            let ((all, stopped), (all_later, stopped_later)) = ((*start)?, (*end)?);
            let periods = all_later.checked_sub(all).filter(|periods| *periods > 0)?;
            Some(stopped_later.saturating_sub(stopped) as f64 / periods as f64)
        });
        let step_ms = (end.epoch_s - start.epoch_s - seconds) * 1e3;
        self.found = Some(TrialSurroundings {
            other_programs: programs.and_then(|(start, end)| {
                start.others_until(end, std::process::id(), self.server_pid, seconds)
            }),
            memory_pressure: waited
                .filter(|_| seconds > 0.0)
                .map(|(end, start)| end.saturating_sub(start).as_secs_f64() / seconds),
            throttled: throttled.reduce(f64::max),
            clock_step_ms: (step_ms.abs() >= CLOCK_STEP_MIN_MS).then_some(step_ms),
            tracer: self.server_pid.and_then(tracer_of),
            server_stopped: (self.stopped > 0).then_some(self.stopped),
            server_looks: (self.stopped > 0).then_some(self.looks),
        });
    }

    /// The load has used another server than the one that was read.
    pub(crate) fn forget_server(&mut self) {
        (self.server_pid, self.found) = (None, None);
    }

    /// `None`: the measure phase did not end.
    pub fn found(&self) -> Option<TrialSurroundings> {
        self.found.clone()
    }
}
