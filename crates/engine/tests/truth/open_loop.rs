//! An open loop: starts follow their schedule, and no delay is left out of the figures.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use truetps_engine::{LoadSpec, OpenPacing, Pacing, Rate, RateOf, RunEnding};
use truetps_record::{DriveMode, Spacing};
use truetps_testkit::quiet_machine;

use crate::fake_server::{Act, FakeServer, Welcome};
use crate::support::{Kept, check_equations, drive, drive_simply, load};

fn open(rate: f64, of: RateOf) -> OpenPacing {
    OpenPacing {
        rate: Rate::constant(rate),
        of,
        spacing: Spacing::Constant,
        latency_limit: None,
        seed: 3,
    }
}

fn open_load(clients: u32, measure_ms: u64, open: OpenPacing) -> LoadSpec {
    LoadSpec {
        warm_up: Duration::ZERO,
        drain_timeout: Duration::from_secs(3),
        pacing: Pacing::Open(open),
        ..load(clients, measure_ms)
    }
}

/// Stalls everything between these two moments after the first statement, as a checkpoint does.
fn stalling(from: Duration, to: Duration) -> FakeServer {
    let first = std::sync::OnceLock::new();
    FakeServer::start(
        |_| Welcome::Greet,
        move |_, _, _| {
            let since = first.get_or_init(Instant::now).elapsed();
            if (from..to).contains(&since) {
                Act::OkAfter(to.saturating_sub(since))
            } else {
                Act::Ok
            }
        },
    )
}

/// 1,000 a second for 6 s with a stall of 2 s: 2,000 starts fall into it, with response times
/// evenly from 0 to 2 s. So the slowest 1 % of 6,000 took more than 1.94 s. A generator that waits
/// with the server would show 16 slow ones.
#[test]
fn a_stall_of_two_seconds_is_in_the_response_times_and_in_no_loss() {
    let _machine = quiet_machine();
    let server = stalling(Duration::from_secs(2), Duration::from_secs(4));
    let (outcome, kept) = drive_simply(&server, &open_load(16, 6_000, open(1000.0, RateOf::All)));
    check_equations(&outcome, &kept);
    assert_eq!(outcome.ending, RunEnding::Complete);
    let (counts, figures) = (
        outcome.measured.as_ref().unwrap().counts,
        outcome.measured.as_ref().unwrap().open_loop.unwrap(),
    );
    assert_eq!((figures.starts.scheduled, figures.starts.skipped), (6_000, 0));
    // One that is due in the last moment may still wait at the end of it.
    assert!(figures.starts.queued <= 20, "{figures:?}");
    assert_eq!((counts.started, counts.failed), (6_000 - figures.starts.queued, 0));
    let p99_us = outcome.measured.as_ref().unwrap().response.response_us_p99.unwrap();
    assert!((1_850_000.0..2_300_000.0).contains(&p99_us), "{p99_us}");
    let p50_us = outcome.measured.as_ref().unwrap().response.response_us_p50.unwrap();
    assert!(p50_us < 100_000.0, "two thirds of the starts met no stall: {p50_us}");
    // Only 16 transactions were at the server in the stall; for the others the server was quick
    // once they got there.
    assert!(figures.service_us_p95.unwrap() < 100_000.0, "{figures:?}");
    assert!(figures.lag_us_p99.unwrap() > 1_800_000.0, "{figures:?}");
    // Their wait is not the generator's fault.
    assert!(figures.late_us_p99.unwrap() < 100_000.0, "{figures:?}");
    let behind = kept
        .intervals
        .iter()
        .filter_map(|i| i.open_loop)
        .map(|open| open.starts.queued)
        .max()
        .unwrap();
    assert!((900..2_100).contains(&behind), "{behind}");
}

#[test]
fn a_late_start_is_skipped_where_there_is_a_limit() {
    let _machine = quiet_machine();
    let server = stalling(Duration::from_millis(500), Duration::from_millis(1_500));
    let limit =
        OpenPacing { latency_limit: Some(Duration::from_millis(200)), ..open(500.0, RateOf::All) };
    let (outcome, kept) = drive_simply(&server, &open_load(4, 2_000, limit));
    check_equations(&outcome, &kept);
    let starts = outcome.measured.as_ref().unwrap().open_loop.unwrap().starts;
    assert_eq!(starts.scheduled, 1_000);
    // The starts of the first 0.8 s of the stall, except for the four that the server had.
    assert!((300..450).contains(&starts.skipped), "{starts:?}");
    assert!(outcome.measured.as_ref().unwrap().open_loop.unwrap().lag_us_max.unwrap() <= 201_000.0);
}

/// 100 a second are asked for; one client of a server that takes 50 ms does 20.
#[test]
fn overload_is_a_queue_and_no_abort() {
    let _machine = quiet_machine();
    let server =
        FakeServer::start(|_| Welcome::Greet, |_, _, _| Act::OkAfter(Duration::from_millis(50)));
    let (outcome, kept) = drive_simply(&server, &open_load(1, 2_000, open(100.0, RateOf::All)));
    check_equations(&outcome, &kept);
    assert_eq!(outcome.ending, RunEnding::Complete);
    let starts = outcome.measured.as_ref().unwrap().open_loop.unwrap().starts;
    assert_eq!((starts.scheduled, starts.skipped), (200, 0));
    assert!((150..175).contains(&starts.queued), "{starts:?}");
}

#[test]
fn each_client_has_its_own_schedule() {
    let _machine = quiet_machine();
    // Client 0 meets a slow server: the others do not wait for it.
    let server = FakeServer::start(
        |_| Welcome::Greet,
        |client, _, _| {
            if client % 20 == 0 { Act::OkAfter(Duration::from_millis(500)) } else { Act::Ok }
        },
    );
    for spacing in [Spacing::Constant, Spacing::Poisson] {
        let pacing = OpenPacing { spacing, ..open(20.0, RateOf::EachClient) };
        let (outcome, kept) = drive_simply(&server, &open_load(20, 2_000, pacing));
        check_equations(&outcome, &kept);
        let (counts, starts) = (
            outcome.measured.as_ref().unwrap().counts,
            outcome.measured.as_ref().unwrap().open_loop.unwrap().starts,
        );
        let spread = if spacing == Spacing::Constant { 20 } else { 120 };
        assert!(starts.scheduled.abs_diff(800) <= spread, "{starts:?}");
        assert!((20..60).contains(&starts.queued), "one client is behind: {starts:?}");
        assert_eq!(counts.started + starts.queued, starts.scheduled);
        assert!(
            outcome.measured.as_ref().unwrap().response.response_us_p50.unwrap() < 50_000.0,
            "{:?}",
            outcome.measured.as_ref().unwrap().response
        );
    }
}

#[test]
fn a_ramp_has_its_area() {
    let _machine = quiet_machine();
    let server = FakeServer::friendly();
    let rate = Rate { from: 100.0, to: 500.0, ramp_start_s: 0.5, ramp_end_s: 2.5 };
    let mut load = open_load(8, 2_000, OpenPacing { rate, ..open(0.0, RateOf::All) });
    load.warm_up = Duration::from_millis(500);
    let (outcome, kept) = drive_simply(&server, &load);
    check_equations(&outcome, &kept);
    assert!(
        outcome.measured.as_ref().unwrap().open_loop.unwrap().starts.scheduled.abs_diff(600) <= 1,
        "{:?}",
        outcome.measured
    );
}

/// The schedule is the same regardless of the number of threads.
#[test]
fn the_schedule_does_not_depend_on_the_threads() {
    let _machine = quiet_machine();
    let server = FakeServer::friendly();
    for workers in [1, 3] {
        let pacing = OpenPacing { spacing: Spacing::Poisson, ..open(400.0, RateOf::All) };
        let mut load = open_load(192, 1_000, pacing);
        load.workers = workers;
        let (outcome, kept) = drive_simply(&server, &load);
        check_equations(&outcome, &kept);
        let figures = outcome.measured.as_ref().unwrap().open_loop.unwrap();
        assert_eq!((figures.starts.scheduled, outcome.workers), (401, workers), "of this seed");
        assert!(figures.starts.queued <= 5, "{figures:?}");
        assert!(figures.late_us_p50.unwrap() < 20_000.0, "{figures:?}");
    }
}

/// A thread for each client, each with a schedule of its own.
#[test]
fn threads_of_one_client_follow_their_schedules() {
    let _machine = quiet_machine();
    let server = FakeServer::friendly();
    let mut load = open_load(4, 1_000, open(50.0, RateOf::EachClient));
    load.mode = DriveMode::Blocking;
    let (outcome, kept) = drive_simply(&server, &load);
    check_equations(&outcome, &kept);
    let figures = outcome.measured.as_ref().unwrap().open_loop.unwrap();
    assert_eq!(
        (figures.starts.scheduled, outcome.workers, outcome.mode),
        (200, 4, DriveMode::Blocking)
    );
    assert!(figures.late_us_p50.unwrap() < 20_000.0, "{figures:?}");
}

/// No worker counts so many starts as fast as they are due: a run that waited until all are counted
/// would end in days.
#[test]
fn a_schedule_too_fast_to_count_ends_in_time_and_when_stopped() {
    for of in [RateOf::All, RateOf::EachClient] {
        let server = FakeServer::friendly();
        let began = Instant::now();
        let (outcome, kept) = drive_simply(&server, &open_load(2, 1_500, open(1e13, of)));
        check_equations(&outcome, &kept);
        assert_eq!(outcome.ending, RunEnding::Complete);
        assert!(
            outcome.measured.as_ref().unwrap().counts.ok > 100,
            "clients work during it: {:?}",
            outcome.measured
        );
        assert!(began.elapsed() < Duration::from_secs(30), "{of:?} {:?}", began.elapsed());
        let (stop, began) = (AtomicBool::new(false), Instant::now());
        let mut kept = Kept::default();
        let outcome = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(300));
                stop.store(true, Ordering::Relaxed);
            });
            drive(&server, &open_load(2, 3_600_000, open(1e13, of)), true, &stop, &mut kept)
        });
        check_equations(&outcome, &kept);
        assert_eq!(outcome.ending, RunEnding::Interrupted);
        assert!(began.elapsed() < Duration::from_secs(30), "{of:?} {:?}", began.elapsed());
    }
}
