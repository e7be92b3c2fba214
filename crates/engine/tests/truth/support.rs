//! How tests run the engine, and what must hold after every run.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use truetps_driver::{Connector, Target};
use truetps_engine::{LoadSpec, Observer, RunOutcome, run};
use truetps_record::{Counts, Histogram, Interval, Phase, SqlDialect};
use truetps_workload::{Workload, insert};

use crate::fake_server::FakeServer;

#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) intervals: Vec<Interval>,
    pub(crate) phases: Vec<Phase>,
    pub(crate) fail_after: Option<usize>,
}

impl Observer for Kept {
    fn phase(&mut self, phase: Phase) {
        self.phases.push(phase);
    }

    fn interval(&mut self, interval: &Interval, _: &Histogram) -> Result<(), String> {
        self.intervals.push(interval.clone());
        let fails = self.fail_after.is_some_and(|n| self.intervals.len() >= n);
        if fails { Err("no space left on device".to_owned()) } else { Ok(()) }
    }
}

pub(crate) fn load(clients: u32, measure_ms: u64) -> LoadSpec {
    LoadSpec {
        warm_up: Duration::from_millis(100),
        connect_timeout: Duration::from_secs(2),
        drain_timeout: Duration::from_millis(500),
        ..LoadSpec::closed(clients, 2, Duration::from_millis(measure_ms))
    }
}

pub(crate) fn drive(
    server: &FakeServer,
    load: &LoadSpec,
    prepared: bool,
    stop: &AtomicBool,
    kept: &mut Kept,
) -> RunOutcome {
    drive_workload(server, load, &insert(SqlDialect::Mysql, 1, 1000, 7), prepared, stop, kept)
}

pub(crate) fn drive_workload(
    server: &FakeServer,
    load: &LoadSpec,
    workload: &dyn Workload,
    prepared: bool,
    stop: &AtomicBool,
    kept: &mut Kept,
) -> RunOutcome {
    let connector = Connector::new(
        Target::mysql_unix(server.socket(), "root", None),
        workload.statements(),
        prepared,
    );
    run(load, &connector.unwrap(), workload, stop, kept).unwrap()
}

pub(crate) fn drive_simply(server: &FakeServer, load: &LoadSpec) -> (RunOutcome, Kept) {
    let mut kept = Kept::default();
    let outcome = drive(server, load, true, &AtomicBool::new(false), &mut kept);
    (outcome, kept)
}

/// The series as a whole obeys the equations, and the measured totals are the sum of its measure
/// phase.
pub(crate) fn check_equations(outcome: &RunOutcome, kept: &Kept) {
    let mut all: Option<Counts> = None;
    let mut measured: Option<Counts> = None;
    let mut queued = 0;
    for interval in &kept.intervals {
        interval.counts.assert_consistent();
        if let Some(open) = &interval.open_loop {
            open.starts.assert_consistent(interval.counts.started);
            assert_eq!(
                open.starts.queued_in, queued,
                "one interval begins as the one before ended"
            );
            queued = open.starts.queued;
        }
        let append = |total: &mut Option<Counts>| match total {
            None => *total = Some(interval.counts),
            Some(total) => total.append(&interval.counts),
        };
        if let Some(before) = all {
            assert_eq!(
                before.in_flight, interval.counts.carried_in,
                "one interval begins as the one before ended"
            );
        }
        append(&mut all);
        if interval.phase == Phase::Measure {
            append(&mut measured);
        }
    }
    let all = all.unwrap();
    assert_eq!(all.carried_in, 0);
    all.assert_consistent();
    assert_eq!(measured, outcome.measured.as_ref().map(|measured| measured.counts));
}
