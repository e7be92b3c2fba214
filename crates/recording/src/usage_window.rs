//! Readings of server and host at the edges of the measure phase, and what changed between them.
//!
//! A reading is made a moment after its edge, on a busy host up to 100 ms later. What grew between
//! two readings is divided by the transactions that ended between them, not by all of the phase.

use std::time::{Duration, Instant};

use truetps_probe::{
    CoreCpu, CpuQuota, HostCpu, ServerUse, cores_of, own_cores, own_cpu, server_use,
};
use truetps_record::{CpuWindow, Interval};

/// Resources used so far by server, host and load generator.
#[derive(Debug, Clone)]
pub(crate) struct UsageReading {
    /// On the trial's clock.
    at_ms: f64,
    server: Option<ServerUse>,
    host: Option<HostCpu>,
    cores: Option<CoreCpu>,
    own_cpu: Duration,
    /// CPU time of all processes in the control group with the tightest CPU quota.
    quota_used: Option<Duration>,
}

impl UsageReading {
    fn take(server_pid: Option<u32>, quota: Option<&CpuQuota>, zero: Instant) -> Self {
        let before = Instant::now();
        let server = server_pid.and_then(server_use);
        let at = before + before.elapsed() / 2;
        let since_ms = at.saturating_duration_since(zero).as_secs_f64()
            - zero.saturating_duration_since(at).as_secs_f64();
        Self {
            at_ms: since_ms * 1e3,
            server,
            host: HostCpu::read(),
            cores: CoreCpu::read(),
            own_cpu: own_cpu(),
            quota_used: quota.and_then(CpuQuota::used),
        }
    }
}

/// What is read at the edges of the measure phase of one load.
#[derive(Debug)]
pub(crate) struct UsageWatch {
    server_pid: Option<u32>,
    quota: Option<CpuQuota>,
    start: Option<UsageReading>,
    end: Option<UsageReading>,
    /// Transactions that ended well between the readings.
    ok: f64,
}

impl UsageWatch {
    /// `server_pid`: the server's first process; `None` if it is not on this host or unknown.
    pub(crate) fn new(server_pid: Option<u32>) -> Self {
        Self { server_pid, quota: CpuQuota::of_this_process(), start: None, end: None, ok: 0.0 }
    }

    /// The measure phase begins. Times count from `zero`.
    pub(crate) fn begin(&mut self, zero: Instant) {
        self.start = Some(UsageReading::take(self.server_pid, self.quota.as_ref(), zero));
    }

    /// It ends.
    pub(crate) fn end(&mut self, zero: Instant) {
        self.end = Some(UsageReading::take(self.server_pid, self.quota.as_ref(), zero));
    }

    /// An interval has ended: the next one in order of time. It ended before a reading that is not
    /// made yet.
    pub(crate) fn interval(&mut self, interval: &Interval) {
        if let Some(start) = &self.start {
            let to_ms = self.end.as_ref().map_or(f64::INFINITY, |end| end.at_ms);
            self.ok += interval.ok_between(start.at_ms, to_ms);
        }
    }

    /// The load has used another server than the one that was read.
    pub(crate) fn forget_server(&mut self) {
        self.server_pid = None;
        [&mut self.start, &mut self.end]
            .into_iter()
            .flatten()
            .for_each(|reading| reading.server = None);
    }

    /// `None` if one of the readings was not made. `bound_to`: cores that the workers are bound to;
    /// empty: none.
    pub(crate) fn usage(&self, bound_to: &[u32]) -> Option<WindowUsage> {
        let (start, end) = self.start.as_ref().zip(self.end.as_ref())?;
        let own = own_cores();
        let server = start.server.zip(end.server);
        // Another process may have the id of one that has ended.
        let server = server.filter(|(start, end)| start.started == end.started);
        let seconds = (end.at_ms - start.at_ms) / 1e3;
        let left = self.left_of_quota(start, end, seconds);
        // Idle cores that the quota lets be used.
        let usable = |cores: &[u32]| {
            let idle = start.cores.as_ref()?.idle_until(end.cores.as_ref()?, cores)?;
            Some(idle.min(left?))
        };
        let server_cores = self.server_pid.and_then(cores_of);
        let server_cores =
            server_cores.or_else(|| start.cores.as_ref().map(CoreCpu::online)).unwrap_or_default();
        let cpu_window = server.map(|(from, to)| CpuWindow {
            // Without a warm-up the phase begins a moment before its first transaction.
            from_ms: start.at_ms.max(0.0),
            to_ms: end.at_ms,
            ok: self.ok,
            server_us: to.cpu.saturating_sub(from.cpu).as_secs_f64() * 1e6,
            generator_us: end.own_cpu.saturating_sub(start.own_cpu).as_secs_f64() * 1e6,
            idle_us: usable(&server_cores).map(|idle| idle * seconds * 1e6),
        });
        let own_most = if bound_to.is_empty() { own.len() } else { bound_to.len() };
        let own_most = (own_most > 0).then_some(own_most as f64);
        let quota = self.quota.as_ref().map(|quota| quota.cores);
        Some(WindowUsage {
            cpu_window,
            server_rss_bytes: server.and_then(|(_, end)| end.rss_bytes),
            steal: start.host.zip(end.host).and_then(|(start, end)| start.stolen_until(&end)),
            own_idle: usable(&own),
            own_most: own_most.into_iter().chain(quota).reduce(f64::min),
        })
    }

    /// CPUs that a quota leaves to generator and server together: none are idle for them once it is
    /// used up. Without a quota, or with the server outside of it, as many as there are. `None`:
    /// unknown.
    fn left_of_quota(&self, start: &UsageReading, end: &UsageReading, seconds: f64) -> Option<f64> {
        let quota = self.quota.as_ref().zip(self.server_pid);
        let Some((quota, _)) = quota.filter(|(quota, pid)| quota.is_shared_with(*pid)) else {
            return Some(f64::INFINITY);
        };
        let used = end.quota_used?.saturating_sub(start.quota_used?);
        (seconds > 0.0).then(|| (quota.cores - used.as_secs_f64() / seconds).max(0.0))
    }
}

/// What changed between the readings. `None`: unknown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WindowUsage {
    pub(crate) cpu_window: Option<CpuWindow>,
    pub(crate) server_rss_bytes: Option<u64>,
    /// Share of the host's CPU time that other guests of its machine took.
    pub(crate) steal: Option<f64>,
    /// Cores that this process may use and that were idle, on average.
    pub(crate) own_idle: Option<f64>,
    /// Cores that the workers may use at most.
    pub(crate) own_most: Option<f64>,
}

#[cfg(test)]
mod tests {
    use truetps_record::{Counts, Phase};

    use super::*;

    /// 100 transactions in each 100 ms.
    fn interval(phase: Phase, start_ms: f64, buckets: usize) -> Interval {
        let counts = Counts { ok: 100 * buckets as u64, ..Counts::default() };
        let interval = Interval::of_counts(phase, start_ms, 100.0 * buckets as f64, counts);
        Interval { buckets: vec![100; buckets], ..interval }
    }

    /// A measure phase from 0.5 to 1.3 s, whose readings come 50 ms and 110 ms late.
    #[test]
    fn transactions_are_those_between_the_readings() {
        let mut watch = UsageWatch::new(Some(std::process::id()));
        let ago = |ms| Instant::now().checked_sub(Duration::from_millis(ms)).unwrap();
        watch.interval(&interval(Phase::WarmUp, 0.0, 5));
        watch.begin(ago(550));
        watch.interval(&interval(Phase::Measure, 500.0, 5));
        watch.end(ago(1410));
        watch.interval(&interval(Phase::Measure, 1000.0, 3));
        watch.interval(&interval(Phase::Drain, 1300.0, 2));
        let window = watch.usage(&[]).unwrap().cpu_window.unwrap();
        // 1 transaction a millisecond; reading takes some of them.
        assert!((window.ok - (window.to_ms - window.from_ms)).abs() < 0.01, "{window:?}");
        assert!(
            (540.0..800.0).contains(&window.from_ms) && (1400.0..1500.0).contains(&window.to_ms),
            "{window:?}"
        );
        watch.begin(Instant::now() + Duration::from_millis(500));
        let early = watch.usage(&[]).unwrap().cpu_window.unwrap().from_ms;
        assert!((0.0..1e-9).contains(&early), "no record has a negative time: {early}");
        watch.forget_server();
        assert_eq!(watch.usage(&[]).unwrap().cpu_window, None);
    }

    #[test]
    fn workers_have_the_cores_that_they_are_bound_to_at_most() {
        let mut watch = UsageWatch::new(None);
        assert!(watch.usage(&[]).is_none());
        watch.begin(Instant::now());
        std::thread::sleep(Duration::from_millis(50));
        watch.end(Instant::now());
        let (all, one) = (watch.usage(&[]).unwrap(), watch.usage(&[own_cores()[0]]).unwrap());
        assert!(one.own_most.unwrap() <= 1.0 && all.own_most.unwrap() >= one.own_most.unwrap());
        assert!(
            all.own_idle.is_some_and(|idle| (0.0..=own_cores().len() as f64).contains(&idle)),
            "{all:?}"
        );
    }
}
