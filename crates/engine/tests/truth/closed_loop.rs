//! A closed loop.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use truetps_engine::{LoadSpec, Quota, RunEnding};
use truetps_plan::ErrorPolicy;
use truetps_record::{ErrorClass, Phase};
use truetps_testkit::{quiet_machine, take_machine};

use crate::fake_server::{Act, FakeServer, Welcome};
use crate::support::{Kept, check_equations, drive, drive_simply, load};

#[test]
fn counts_obey_their_equations() {
    let server = FakeServer::friendly();
    for prepared in [true, false] {
        let mut kept = Kept::default();
        let outcome = drive(&server, &load(5, 1300), prepared, &AtomicBool::new(false), &mut kept);
        assert_eq!(outcome.ending, RunEnding::Complete);
        check_equations(&outcome, &kept);
        let phases: Vec<_> = kept.intervals.iter().map(|interval| interval.phase).collect();
        assert_eq!(phases, [Phase::WarmUp, Phase::Measure, Phase::Measure, Phase::Drain]);
        let lengths: Vec<_> =
            kept.intervals.iter().map(|interval| interval.length_ms.round() as u64).collect();
        assert_eq!(lengths[..3], [100, 1000, 300]);
        assert_eq!(outcome.measured.as_ref().unwrap().schedule_length, Duration::from_millis(1300));
        assert_eq!(kept.phases, [Phase::WarmUp, Phase::Measure, Phase::Drain]);
        assert!(outcome.measured.as_ref().unwrap().counts.ok > 100 && outcome.end.unanswered == 0);
        assert_eq!(kept.intervals[3].counts.in_flight, 0, "nothing is in flight after the drain");
    }
}

#[test]
fn a_stall_is_in_the_response_times() {
    let _machine = take_machine();
    let stalled = AtomicBool::new(false);
    let began = Instant::now();
    let server = FakeServer::start(
        |_| Welcome::Greet,
        move |_, _, _| {
            let due = began.elapsed() > Duration::from_millis(500);
            if due && !stalled.swap(true, Ordering::Relaxed) {
                Act::OkAfter(Duration::from_millis(400))
            } else {
                Act::Ok
            }
        },
    );
    let (outcome, _) = drive_simply(&server, &load(1, 1500));
    let max_us = outcome.measured.as_ref().unwrap().response.response_us_max.unwrap();
    // Once: no client pays twice for it.
    assert!((400_000.0..800_000.0).contains(&max_us), "{max_us}");
    assert!(
        outcome.measured.as_ref().unwrap().response.response_us_p50.unwrap() < 50_000.0,
        "one of many transactions stalled"
    );
}

/// Readings once a second saw a thread of a short run only before it began, or not at all.
#[test]
fn switches_of_a_short_run_are_counted() {
    let _machine = quiet_machine();
    let server =
        FakeServer::start(|_| Welcome::Greet, |_, _, _| Act::OkAfter(Duration::from_millis(5)));
    let (outcome, _) = drive_simply(&server, &LoadSpec { warm_up: Duration::ZERO, ..load(4, 300) });
    let ok = outcome.measured.as_ref().unwrap().counts.ok;
    // A worker sleeps until an answer is there; it may find several.
    let switches = outcome.measured.as_ref().unwrap().workers_used.switches.unwrap();
    assert!(ok >= 20 && switches >= ok / 4 && switches <= 4 * ok + 50, "{switches} in {ok}");
}

/// Little's law with exact counts: the response times of all clients fill the measured time.
#[test]
fn response_times_of_a_steady_closed_loop_fill_its_time() {
    let _machine = quiet_machine();
    let server =
        FakeServer::start(|_| Welcome::Greet, |_, _, _| Act::OkAfter(Duration::from_millis(2)));
    let (outcome, _) = drive_simply(&server, &load(4, 600));
    let mean_us = outcome.measured.as_ref().unwrap().response.response_us_mean.unwrap();
    let ratio = outcome.measured.as_ref().unwrap().counts.ok as f64 * mean_us / (4.0 * 600_000.0);
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
}

/// Three of four clients wait for longer than is measured: two are answered in the drain, one
/// never.
#[test]
fn clients_that_finish_nothing_are_counted() {
    let server = FakeServer::start(
        |_| Welcome::Greet,
        |number, _, _| match number {
            0 => Act::Ok,
            1 => Act::Hang,
            _ => Act::OkAfter(Duration::from_millis(600)),
        },
    );
    let (outcome, kept) = drive_simply(&server, &load(4, 300));
    assert_eq!((outcome.end.finished, outcome.end.unfinished), (1, 3));
    assert_eq!((outcome.end.unanswered, outcome.end.drain_answers >= 2), (1, true), "{outcome:?}");
    check_equations(&outcome, &kept);
}

#[test]
fn clients_that_cannot_connect_are_counted_and_named() {
    let server = FakeServer::start(
        |number| {
            if number >= 3 {
                Welcome::Refuse { code: 1040, message: "Too many connections" }
            } else {
                Welcome::Greet
            }
        },
        |_, _, _| Act::Ok,
    );
    let (outcome, kept) = drive_simply(&server, &load(5, 200));
    assert_eq!((outcome.clients_connected, outcome.clients_not_connected), (3, 2));
    let error = &outcome.connect_errors[0];
    assert_eq!((error.class, error.code, error.count), (ErrorClass::ConnectFailed, 1040, 2));
    assert!(error.first_message.contains("Too many connections") && outcome.at_session_limit);
    check_equations(&outcome, &kept);
}

#[test]
fn a_silent_server_does_not_hold_the_engine() {
    let server = FakeServer::start(|_| Welcome::Silence, |_, _, _| Act::Ok);
    let began = Instant::now();
    let (outcome, kept) = drive_simply(&server, &load(3, 200));
    assert_eq!(outcome.ending, RunEnding::NoClientConnected);
    assert_eq!((outcome.clients_connected, outcome.clients_not_connected), (0, 3));
    assert!(outcome.connect_errors[0].first_message.contains("no answer to the login"));
    assert!(kept.intervals.is_empty() && outcome.measured.is_none());
    // Two seconds, and as much patience as a busy machine needs.
    assert!(began.elapsed() < Duration::from_secs(20));
}

/// A client that has logged in and is lost while others still connect is one failed client, counted
/// once.
#[test]
fn clients_lost_while_others_connect_are_counted_once() {
    let server = FakeServer::start(
        |number| match number {
            0 => Welcome::CloseAfterLogin,
            5 => Welcome::Silence,
            _ => Welcome::Greet,
        },
        |_, _, _| Act::Ok,
    );
    // One worker: the silent client keeps it connecting while the other one is lost.
    let mut load = load(6, 200);
    load.workers = 1;
    let (outcome, kept) = drive_simply(&server, &load);
    assert_eq!(
        (outcome.clients_connected, outcome.clients_not_connected),
        (4, 2),
        "{:?}",
        outcome.connect_errors
    );
    check_equations(&outcome, &kept);
}

#[test]
fn a_server_that_closes_all_ends_the_run() {
    let server =
        FakeServer::start(|_| Welcome::Greet, |_, n, _| if n > 20 { Act::Close } else { Act::Ok });
    let began = Instant::now();
    let (outcome, kept) = drive_simply(&server, &load(4, 20_000));
    assert_eq!(outcome.ending, RunEnding::AllClientsLost);
    assert_eq!(outcome.end.lost, 4);
    assert!(
        began.elapsed() < Duration::from_secs(15),
        "it does not wait for the end of the measure phase"
    );
    check_equations(&outcome, &kept);
    let errors: u64 = outcome.errors().map(|error| error.count).sum();
    assert_eq!(errors, 4);
}

#[test]
fn a_server_that_hangs_leaves_unanswered_clients() {
    let _machine = take_machine();
    let server = FakeServer::start(
        |_| Welcome::Greet,
        |client, _, _| if client == 0 { Act::Hang } else { Act::Ok },
    );
    let (outcome, kept) = drive_simply(&server, &load(3, 300));
    assert_eq!((outcome.ending.clone(), outcome.end.unanswered), (RunEnding::Complete, 1));
    check_equations(&outcome, &kept);
    assert_eq!(kept.intervals.last().unwrap().counts.in_flight, 1);
    // It was sent when the warm-up began.
    let oldest = outcome.end.oldest_in_flight.unwrap();
    assert!(
        (Duration::from_millis(300)..=Duration::from_millis(400)).contains(&oldest),
        "{oldest:?}"
    );
}

#[test]
fn errors_are_counted_by_class_and_the_session_goes_on() {
    let server = FakeServer::start(
        |_| Welcome::Greet,
        |_, n, _| match n % 4 {
            1 => Act::Error { code: 1213, message: "Deadlock found" },
            3 => Act::Error { code: 1114, message: "The table is full" },
            _ => Act::Ok,
        },
    );
    let errors = ErrorPolicy { retry: Vec::new(), ..ErrorPolicy::default() };
    let (outcome, kept) = drive_simply(&server, &LoadSpec { errors, ..load(2, 500) });
    check_equations(&outcome, &kept);
    let counts = outcome.measured.as_ref().unwrap().counts;
    assert!(counts.ok > 10 && counts.failed.abs_diff(counts.ok) <= 4, "{counts:?}");
    assert_eq!(counts.statements, counts.ok + counts.failed, "each statement was answered");
    let mut classes: Vec<_> = outcome
        .measured
        .as_ref()
        .unwrap()
        .errors
        .iter()
        .map(|error| error.class.to_string())
        .collect();
    classes.sort_unstable();
    assert_eq!(classes, ["deadlock", "other(1114)"]);
    assert_eq!(outcome.end.lost, 0);
}

#[test]
fn answers_in_pieces_and_out_of_the_protocol() {
    let pieces = FakeServer::start(|_| Welcome::Greet, |_, _, _| Act::OkInPieces);
    let (outcome, _) = drive_simply(&pieces, &load(2, 300));
    assert_eq!((outcome.ending.clone(), outcome.end.lost), (RunEnding::Complete, 0));
    assert!(outcome.measured.as_ref().unwrap().counts.ok > 5);

    // Wrong sequence number; a length that never comes; an empty reply; two replies.
    let garbage: [(&[u8], &str); 3] = [
        (b"\x07\0\0\x09\0\x01\0\x02\0\0\0", "out of order"),
        (b"\0\0\0\x01", "an empty reply"),
        (b"\x07\0\0\x01\0\x01\0\x02\0\0\0\x07\0\0\x02\0\x01\0\x02\0\0\0", "more packets"),
    ];
    for (bytes, expect) in garbage {
        let server = FakeServer::start(|_| Welcome::Greet, move |_, _, _| Act::Garbage(bytes));
        let (outcome, _) = drive_simply(&server, &load(1, 200));
        assert_eq!(outcome.ending, RunEnding::AllClientsLost, "{expect}");
        let error = outcome.errors().next().unwrap();
        assert_eq!(error.class, ErrorClass::Protocol);
        assert!(error.first_message.contains(expect), "{}", error.first_message);
    }
}

#[test]
fn a_count_ends_the_measure_phase_early() {
    let server = FakeServer::friendly();
    let mut load = load(4, 60_000);
    load.quota = Some(Quota::Together(500));
    let began = Instant::now();
    let (outcome, kept) = drive_simply(&server, &load);
    assert_eq!(outcome.ending, RunEnding::Complete);
    assert!(began.elapsed() < Duration::from_secs(20));
    let counts = outcome.measured.as_ref().unwrap().counts;
    assert!(counts.ok >= 500, "{counts:?}");
    check_equations(&outcome, &kept);
}

#[test]
fn a_stop_keeps_what_was_measured() {
    let server = FakeServer::friendly();
    let stop = Arc::new(AtomicBool::new(false));
    let raise = Arc::clone(&stop);
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(700));
        raise.store(true, Ordering::Relaxed);
    });
    let mut kept = Kept::default();
    let began = Instant::now();
    let outcome = drive(&server, &load(2, 60_000), true, &stop, &mut kept);
    assert_eq!(outcome.ending, RunEnding::Interrupted);
    assert!(
        began.elapsed() < Duration::from_secs(30),
        "it does not wait for the end of the measure phase"
    );
    assert!(outcome.measured.as_ref().unwrap().counts.ok > 0);
    check_equations(&outcome, &kept);
}

#[test]
fn an_observer_that_fails_ends_the_run() {
    let server = FakeServer::friendly();
    let mut kept = Kept { fail_after: Some(2), ..Kept::default() };
    let began = Instant::now();
    let outcome = drive(&server, &load(2, 60_000), true, &AtomicBool::new(false), &mut kept);
    assert_eq!(outcome.ending, RunEnding::ObserverFailed("no space left on device".to_owned()));
    assert!(
        began.elapsed() < Duration::from_secs(30),
        "it does not wait for the end of the measure phase"
    );
}

#[test]
fn the_seed_fixes_what_each_client_sends_whatever_the_workers() {
    let first_statements = |workers: u32| {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&seen);
        let left = AtomicUsize::new(6);
        let server = FakeServer::start(
            |_| Welcome::Greet,
            move |_, n, command| {
                if n == 0 && left.fetch_sub(1, Ordering::Relaxed) > 0 {
                    keep.lock().unwrap().push(command.to_vec());
                }
                Act::OkAfter(Duration::from_millis(5))
            },
        );
        let mut load = load(6, 100);
        load.workers = workers;
        drive_simply(&server, &load);
        let mut list = seen.lock().unwrap().clone();
        list.sort();
        list
    };
    let one = first_statements(1);
    assert_eq!(one.len(), 6);
    assert_eq!(one, first_statements(3));
}
