//! By how much throughput could be higher at most if the load generator did not run on the server's
//! host.
//!
//! Each of two bounds holds by itself, so that the smaller one does. `docs/method/bound.md` derives
//! them, and has the trials that they were compared with.

use truetps_record::{CPU_MIN_US, CpuWindow, EngineFacts, Measured, Trial};

/// The cost of a transaction differs from trial to trial, and may fall by itself when the generator
/// leaves the server's cores. With this, the bound held in 70 of 72 pairs of trials:
/// `bench/runs/20261127-bound`.
const MARGIN: f64 = 1.20;
/// The bound is of server and generator alone: other programs used less of the host.
const OTHERS_MAX: f64 = 0.10;
/// A bound that is higher than this says nothing of the server.
const USEFUL_MAX: f64 = 4.0;

/// By which factor throughput could be higher at most if the server used the idle time of its
/// cores, too. CPU time per transaction is taken to stay as it is. `None`: unknown, or too little
/// CPU time to measure.
pub(crate) fn if_idle_used(measured: &Measured) -> Option<f64> {
    by_cpu(measured.resources.cpu_window?, 0.0)
}

/// By which factor throughput could be higher at most with the load generator on a machine of its
/// own. `None`: unknown, without meaning, or so large that it says nothing.
pub(crate) fn with_free_generator(trial: &Trial) -> Option<f64> {
    let (engine, measured) = (trial.engine.as_ref()?, trial.measured.as_ref()?);
    // Other programs would go on to use the server's cores.
    let others = trial.surroundings.as_ref().and_then(|beside| beside.other_programs.as_ref());
    if others.is_some_and(|others| others.share() >= OTHERS_MAX) {
        return None;
    }
    // Of a load from several generators, no record has the CPU time of all of them. A schedule that
    // was kept decides the throughput itself.
    if trial.start.is_some() || !trial.parts.is_empty() || measured.sustained == Some(true) {
        return None;
    }
    let by_cpu = measured.resources.cpu_window.and_then(|window| {
        let freed_us = if engine.shares_cores == Some(false) { 0.0 } else { window.generator_us };
        by_cpu(window, freed_us)
    });
    let by_time = by_time(engine, measured);
    let bound = by_cpu.into_iter().chain(by_time).reduce(f64::min)? * MARGIN;
    (bound <= USEFUL_MAX).then_some(bound)
}

/// The server's cores do nothing but its work, each transaction at the same cost.
fn by_cpu(window: CpuWindow, freed_us: f64) -> Option<f64> {
    let CpuWindow { server_us, idle_us, .. } = window;
    (server_us >= CPU_MIN_US).then_some((server_us + idle_us? + freed_us) / server_us)
}

/// The generator takes no time. While no worker runs or waits for a core, each client of a closed
/// loop has a transaction at the server, which has all of its cores: this time is needed without
/// the generator, too.
fn by_time(engine: &EngineFacts, measured: &Measured) -> Option<f64> {
    let resources = &measured.resources;
    let is_closed = measured.open_loop.is_none() && measured.length_ms > 0.0;
    let of_workers = resources
        .client_cpu_us_per_tx
        .map(|us| us * measured.counts.ok as f64 / (measured.length_ms * 1e3));
    let of_process = resources
        .cpu_window
        .map(|window| window.generator_us / ((window.to_ms - window.from_ms).max(0.0) * 1e3));
    let busy = of_process.filter(|share| share.is_finite()).or(of_workers).filter(|_| is_closed)?;
    let waited = f64::from(engine.workers) * resources.worker_wait_max?;
    let needed = 1.0 - busy - waited;
    (needed > 0.0).then(|| 1.0 / needed)
}

#[cfg(test)]
mod tests {
    use truetps_record::{CommonStart, Counts, OpenLoop, ResourceUse};

    use super::*;
    use crate::synthetic::{plan, run};

    /// One worker that ran for a fifth of 10 s and waited for a core for a tenth of it. Two cores:
    /// the server had 12 of 20 core-seconds, the generator 2, and 5 were idle.
    fn trial() -> Trial {
        let (_, mut trials) = run(&plan("[1]", "[8]", 1), |_, _| 1000.0);
        let mut trial = trials.remove(0).trial;
        trial.engine =
            Some(EngineFacts { workers: 1, shares_cores: Some(true), ..EngineFacts::default() });
        let measured = trial.measured.as_mut().unwrap();
        measured.counts = Counts { ok: 10_000, ..Counts::default() };
        measured.resources = ResourceUse {
            client_cpu_us_per_tx: Some(200.0),
            worker_wait_max: Some(0.1),
            cpu_window: Some(CpuWindow {
                from_ms: 50.0,
                to_ms: 10_050.0,
                ok: 10_000.0,
                server_us: 12e6,
                generator_us: 2e6,
                idle_us: Some(5e6),
            }),
            ..ResourceUse::default()
        };
        trial
    }

    /// `expect` without the margin.
    fn check(what: &str, change: impl Fn(&mut Trial, &mut CpuWindow), expect: Option<f64>) {
        let mut trial = trial();
        let mut window = trial.measured.as_ref().unwrap().resources.cpu_window.unwrap();
        change(&mut trial, &mut window);
        let resources = &mut trial.measured.as_mut().unwrap().resources;
        resources.cpu_window = resources.cpu_window.map(|_| window);
        let found = with_free_generator(&trial).map(|bound| bound / MARGIN);
        let is_near =
            found.zip(expect).is_some_and(|(found, expect)| (found - expect).abs() < 1e-9);
        assert!(is_near || found == expect, "{what}: {found:?}, not {expect:?}");
    }

    fn resources(trial: &mut Trial) -> &mut ResourceUse {
        &mut trial.measured.as_mut().unwrap().resources
    }

    #[test]
    fn the_smaller_bound_holds() {
        check("no core is idle", |_, window| window.idle_us = Some(1e6), Some(15.0 / 12.0));
        // By the CPU time alone 19 / 12.
        check("the server waits for its disk", |_, _| {}, Some(1.0 / 0.7));
        check(
            "it waits for nearly all of the time",
            |_, window| window.server_us = 0.5e6,
            Some(1.0 / 0.7),
        );
        check(
            "the worker waits for the server",
            |trial, _| resources(trial).worker_wait_max = Some(0.75),
            Some(19.0 / 12.0),
        );
        check(
            "two workers wait",
            |trial, _| trial.engine.as_mut().unwrap().workers = 2,
            Some(19.0 / 12.0),
        );
    }

    #[test]
    fn a_generator_on_other_cores_frees_none_of_the_servers() {
        let apart = |trial: &mut Trial, window: &mut CpuWindow| {
            trial.engine.as_mut().unwrap().shares_cores = Some(false);
            window.idle_us = Some(1e6);
        };
        check("apart", apart, Some(13.0 / 12.0));
    }

    #[test]
    fn without_the_servers_cpu_time_the_generators_is_left() {
        check(
            "no process of the server is known",
            |trial, _| resources(trial).cpu_window = None,
            Some(1.0 / 0.7),
        );
        check("a few ticks of the server", |_, window| window.server_us = 0.09e6, Some(1.0 / 0.7));
        let nothing = |trial: &mut Trial, _: &mut CpuWindow| {
            *resources(trial) = ResourceUse::default();
        };
        check("neither", nothing, None);
        check("idle time unknown", |_, window| window.idle_us = None, Some(1.0 / 0.7));
        check(
            "a kernel that shows no waits",
            |trial, _| resources(trial).worker_wait_max = None,
            Some(19.0 / 12.0),
        );
        check("no window", |_, window| window.to_ms = window.from_ms, Some(1.0 / 0.7));
    }

    #[test]
    fn a_bound_that_says_nothing_is_none() {
        let is_limited = |trial: &mut Trial, window: &mut CpuWindow| {
            resources(trial).worker_wait_max = Some(0.8);
            (window.server_us, window.idle_us) = (2e6, Some(15e6));
        };
        check("the generator never sleeps, the server does", is_limited, None);
    }

    #[test]
    fn a_schedule_and_several_generators_have_none() {
        let open = |sustained| {
            move |trial: &mut Trial, _: &mut CpuWindow| {
                let measured = trial.measured.as_mut().unwrap();
                (measured.open_loop, measured.sustained) =
                    (Some(OpenLoop::default()), Some(sustained));
            }
        };
        check("a rate that was kept", open(true), None);
        check("a rate that was not kept", open(false), Some(19.0 / 12.0));
        let start = CommonStart { server_us: 0, uncertainty_us: 50.0, clock_offset_us: 0.0 };
        check("a part of a load", |trial, _| trial.start = Some(start), None);
    }

    #[test]
    fn idle_time_alone_has_a_bound() {
        let measured = trial().measured.unwrap();
        assert_eq!(if_idle_used(&measured), Some(17.0 / 12.0));
        assert_eq!(if_idle_used(&Measured::default()), None);
    }
}
