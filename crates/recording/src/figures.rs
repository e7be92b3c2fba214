//! From the counts of a load to the figures of `run.json`.

use std::time::Duration;

use truetps_measure::{WorkerUse, generator_limited, sustained};
use truetps_probe::{HostCpu, ServerUse, server_use};
use truetps_record::{Counts, ErrorCount, LatencyFigures, Measured, OpenLoop, ResourceUse};

/// The measured time of a load, as its clients saw it.
pub struct MeasuredLoad {
    /// The time that rates refer to.
    pub length: Duration,
    /// The length of the schedule of an open loop.
    pub schedule_length: Duration,
    pub counts: Counts,
    pub response: LatencyFigures,
    /// `None` in a closed loop.
    pub open_loop: Option<OpenLoop>,
    /// CPU time of all workers.
    pub client_cpu: Duration,
    pub shares: WorkerUse,
    pub errors: Vec<ErrorCount>,
}

/// Resources used so far by server and host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UsageReading {
    server: Option<ServerUse>,
    host: Option<HostCpu>,
}

impl UsageReading {
    pub(crate) fn take(server_pid: Option<u32>) -> Self {
        Self { server: server_pid.and_then(server_use), host: HostCpu::read() }
    }

    pub(crate) fn forget_server(&mut self) {
        self.server = None;
    }
}

/// `usage`: at the start and the end of the measured time.
pub(crate) fn measured(load: MeasuredLoad, usage: Option<(UsageReading, UsageReading)>) -> Measured {
    let MeasuredLoad { counts, shares, .. } = load;
    let seconds = load.length.as_secs_f64();
    let a_second = |n: u64| if seconds > 0.0 { n as f64 / seconds } else { 0.0 };
    let per_tx = |cpu: Duration| (counts.ok > 0).then(|| cpu.as_secs_f64() * 1e6 / counts.ok as f64);
    let server = usage.and_then(|(start, end)| start.server.zip(end.server));
    // Another process may have the id of one that has ended.
    let server = server.filter(|(start, end)| start.started == end.started);
    let host = usage.and_then(|(start, end)| start.host?.shares_until(&end.host?));
    Measured {
        length_ms: seconds * 1e3,
        tps: a_second(counts.ok),
        qps: a_second(counts.statements),
        counts,
        response: load.response,
        resources: ResourceUse {
            client_cpu_us_per_tx: per_tx(load.client_cpu),
            server_cpu_us_per_tx: server.and_then(|(start, end)| per_tx(end.cpu.saturating_sub(start.cpu))),
            worker_busy_max: Some(shares.busy),
            worker_wait_max: shares.wait,
            steal: host.map(|host| host.steal),
            server_rss_bytes: server.and_then(|(_, end)| end.rss_bytes),
        },
        sustained: load.open_loop.as_ref().map(|open| sustained(&open.starts, load.schedule_length)),
        generator_limited: generator_limited(shares, load.open_loop.as_ref(), host.map(|host| host.busy))
            .map(Into::into),
        open_loop: load.open_loop,
        errors: load.errors,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_without_a_start_is_not_sustained() {
        let idle = MeasuredLoad {
            length: Duration::from_millis(800),
            schedule_length: Duration::from_millis(800),
            counts: Counts::default(),
            response: LatencyFigures::default(),
            open_loop: Some(OpenLoop::default()),
            client_cpu: Duration::ZERO,
            shares: WorkerUse { workers: 1, busy: 0.0, wait: None },
            errors: Vec::new(),
        };
        let measured = measured(idle, None);
        assert_eq!((measured.sustained, measured.tps), (Some(false), 0.0));
        assert_eq!(measured.resources.worker_wait_max, None, "what could not be read is absent");
    }
}
