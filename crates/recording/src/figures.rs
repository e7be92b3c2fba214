//! From the counts of a load to the figures of `run.json`.

use truetps_measure::{GeneratorCores, MeasuredLoad, generator_limited, sustained};
use truetps_record::{Measured, ResourceUse};

use crate::usage_window::WindowUsage;

/// `usage`: from the readings at the edges of the measured time.
pub(crate) fn measured(load: MeasuredLoad, usage: Option<&WindowUsage>) -> Measured {
    let MeasuredLoad { counts, workers_used, .. } = load;
    let seconds = load.length.as_secs_f64();
    let cpu_window = usage.and_then(|usage| usage.cpu_window);
    let cores = usage
        .map(|usage| GeneratorCores { idle: usage.own_idle, most: usage.own_most })
        .unwrap_or_default();
    let limited =
        generator_limited(&workers_used, load.schedule_length, load.open_loop.as_ref(), cores);
    Measured {
        length_ms: seconds * 1e3,
        tps: a_second(counts.ok, seconds),
        qps: a_second(counts.statements, seconds),
        counts,
        response: load.response,
        resources: ResourceUse {
            client_cpu_us_per_tx: per_tx(workers_used.cpu.as_secs_f64() * 1e6, counts.ok),
            server_cpu_us_per_tx: cpu_window
                .filter(|window| window.ok > 0.0)
                .map(|window| window.server_us / window.ok),
            worker_busy_max: Some(workers_used.busy),
            worker_wait_max: workers_used.wait,
            steal: usage.and_then(|usage| usage.steal),
            server_rss_bytes: usage.and_then(|usage| usage.server_rss_bytes),
            client_switches_per_tx: workers_used
                .switches
                .and_then(|switches| per_tx(switches as f64, counts.ok)),
            cpu_window,
        },
        sustained: load
            .open_loop
            .as_ref()
            .map(|open| sustained(&open.starts, load.schedule_length)),
        littles_law: littles_law(&load),
        generator_limited: limited.map(Into::into),
        open_loop: load.open_loop,
        errors: load.errors,
    }
}

fn a_second(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

fn per_tx(amount: f64, transactions: u64) -> Option<f64> {
    (transactions > 0).then(|| amount / transactions as f64)
}

/// Each client of a closed loop always has one transaction in flight. Those that ended took as long
/// together as the measured time of all clients, if as much of them lies before the measured time
/// as is missing at its end.
fn littles_law(load: &MeasuredLoad) -> Option<f64> {
    let all_us = load.length.as_secs_f64() * 1e6 * f64::from(load.constant_clients?);
    let counts = &load.counts;
    let in_flight_us = load.response.response_us_mean.unwrap_or(0.0) * counts.ok as f64;
    let ratio = (all_us > 0.0).then(|| in_flight_us / all_us)?;
    // The time of failed transactions is in no response time.
    (counts.failed == 0 || ratio > 1.0).then_some(ratio)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use truetps_measure::WorkerUse;
    use truetps_record::{Counts, LatencyFigures, OpenLoop};

    use super::*;

    /// A load of 0.8 s.
    fn load(ok: u64, mean_us: f64, constant_clients: Option<u32>) -> MeasuredLoad {
        MeasuredLoad {
            length: Duration::from_millis(800),
            schedule_length: Duration::from_millis(800),
            counts: Counts { ok, ..Counts::default() },
            response: LatencyFigures {
                response_us_mean: Some(mean_us),
                ..LatencyFigures::default()
            },
            open_loop: None,
            constant_clients,
            workers_used: WorkerUse {
                workers: 1,
                busy: 0.0,
                wait: None,
                cpu: Duration::ZERO,
                switches: None,
                script: None,
            },
            errors: Vec::new(),
        }
    }

    #[test]
    fn a_schedule_without_a_start_is_not_sustained() {
        let idle = MeasuredLoad { open_loop: Some(OpenLoop::default()), ..load(0, 0.0, None) };
        let measured = measured(idle, None);
        assert_eq!((measured.sustained, measured.tps), (Some(false), 0.0));
        assert_eq!(measured.resources.worker_wait_max, None, "what could not be read is absent");
    }

    #[test]
    fn littles_law_tests_whether_a_closed_loop_is_steady() {
        let check = |load: MeasuredLoad, ratio: Option<f64>, is_unsteady| {
            let measured = measured(load, None);
            let near = measured
                .littles_law
                .zip(ratio)
                .is_some_and(|(found, expect)| (found - expect).abs() < 1e-9);
            assert!(near || measured.littles_law == ratio, "{:?} {ratio:?}", measured.littles_law);
            assert_eq!(measured.is_unsteady(), is_unsteady);
        };
        check(load(8000, 800.0, Some(8)), Some(1.0), false);
        check(load(8000, 830.0, Some(8)), Some(1.0375), false);
        // Of 1,000 clients, some wait from begin to end.
        check(load(1200, 480_000.0, Some(1000)), Some(0.72), true);
        check(load(1200, 786_667.0, Some(1000)), Some(1.180_000_5), true);
        check(load(0, 0.0, Some(1000)), Some(0.0), true);
        check(load(1200, 480_000.0, None), None, false);
        let failed = |mean_us| {
            let load = load(1200, mean_us, Some(1000));
            MeasuredLoad { counts: Counts { failed: 3, ..load.counts }, ..load }
        };
        check(failed(480_000.0), None, false);
        check(failed(800_000.0), Some(1.2), true);
    }

    #[test]
    fn server_cpu_is_of_the_transactions_between_its_readings() {
        let cpu_window = truetps_record::CpuWindow {
            from_ms: 50.0,
            to_ms: 961.0,
            ok: 9110.0,
            server_us: 911_000.0,
            generator_us: 100_000.0,
            idle_us: Some(200_000.0),
        };
        let usage = WindowUsage {
            cpu_window: Some(cpu_window),
            server_rss_bytes: None,
            steal: None,
            own_idle: None,
            own_most: None,
        };
        let resources = measured(load(8000, 800.0, Some(8)), Some(&usage)).resources;
        assert_eq!(resources.server_cpu_us_per_tx, Some(100.0), "not 113.9");
    }

    #[test]
    fn switches_are_of_the_workers() {
        let busy = WorkerUse { switches: Some(1600), ..load(0, 0.0, None).workers_used };
        let resources =
            measured(MeasuredLoad { workers_used: busy, ..load(800, 1.0, None) }, None).resources;
        assert_eq!(resources.client_switches_per_tx, Some(2.0));
    }
}
