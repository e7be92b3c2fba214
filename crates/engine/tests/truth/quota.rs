//! A number of transactions that is split between the clients.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use truetps_driver::{Connector, Dialect, Target};
use truetps_engine::{Ending, EngineError, LoadSpec, OpenPacing, Outcome, Pacing, Quota, Rate, RateOf, run};
use truetps_record::{DriveMode, ErrorPolicy, Spacing};
use truetps_workload::{Insert, Workload};

use crate::fake_server::{Act, FakeServer, Welcome};
use crate::support::{Kept, check_equations, drive_simply};

/// So many transactions without a limit of time, from clients whose connections have their numbers.
fn each(clients: u32, all: u64) -> LoadSpec {
    LoadSpec {
        quota: Some(Quota::Each(all)),
        mode: DriveMode::Multiplexed,
        connect_timeout: Duration::MAX,
        ..LoadSpec::closed(clients, 1, Duration::MAX)
    }
}

/// How many statements each connection sent.
type Sent = Arc<Mutex<Vec<u64>>>;

fn counting(act: impl Fn(usize, usize) -> Act + Send + Sync + 'static) -> (FakeServer, Sent) {
    let sent = Sent::default();
    let count = Arc::clone(&sent);
    let server = FakeServer::start(
        |_| Welcome::Greet,
        move |connection, n, _| {
            let mut sent = count.lock().unwrap();
            let most = sent.len().max(connection + 1);
            sent.resize(most, 0);
            sent[connection] += 1;
            act(connection, n)
        },
    );
    (server, sent)
}

fn complete(server: &FakeServer, load: &LoadSpec) -> Outcome {
    let (outcome, kept) = drive_simply(server, load);
    check_equations(&outcome, &kept);
    assert_eq!(outcome.ending, Ending::Complete);
    assert!(outcome.last_end.unwrap() <= outcome.measure_length, "{outcome:?}");
    outcome
}

fn ends(outcome: &Outcome) -> (u64, u64) {
    let counts = outcome.measured.unwrap();
    (counts.ok, counts.failed)
}

#[test]
fn each_client_does_its_share_and_no_more() {
    for (mode, workers) in [(DriveMode::Multiplexed, 1), (DriveMode::Multiplexed, 3), (DriveMode::Blocking, 1)] {
        for (all, expect) in [(10, vec![2, 2, 3, 3]), (2, vec![1, 1])] {
            let (server, sent) = counting(|_, _| Act::Ok);
            let outcome = complete(&server, &LoadSpec { mode, workers, ..each(4, all) });
            assert_eq!((ends(&outcome), outcome.clients_connected), ((all, 0), 4));
            let mut sent: Vec<_> = sent.lock().unwrap().iter().copied().filter(|sent| *sent > 0).collect();
            sent.sort_unstable();
            assert_eq!(sent, expect);
        }
    }
}

#[test]
fn what_a_warm_up_leaves_in_flight_is_of_the_share() {
    let (server, _) = counting(|_, _| Act::OkAfter(Duration::from_millis(3)));
    let warm_up = Duration::from_millis(100);
    let outcome = complete(&server, &LoadSpec { warm_up, ..each(4, 10) });
    assert_eq!(ends(&outcome), (10, 0));
    let counts = outcome.measured.unwrap();
    assert!(counts.carried_in > 0 && counts.started + counts.carried_in == 10, "{counts:?}");
}

#[test]
fn the_slowest_client_ends_the_phase() {
    // The one that is done first is hung up on: nothing more was wanted of it.
    let (server, sent) = counting(|connection, n| match (connection, n) {
        (0, 4) => Act::OkAndClose,
        (1, _) => Act::OkAfter(Duration::from_millis(50)),
        _ => Act::Ok,
    });
    let outcome = complete(&server, &each(2, 10));
    assert_eq!((ends(&outcome), outcome.clients_lost), ((10, 0), 0));
    assert_eq!(*sent.lock().unwrap(), [5, 5]);
    assert!(outcome.last_end.unwrap() >= Duration::from_millis(250), "{outcome:?}");
}

#[test]
fn a_transaction_that_fails_was_tried() {
    let error = |code| Act::Error { code, message: "as the test wants it" };
    let (server, sent) = counting(move |connection, _| if connection == 0 { error(1114) } else { Act::Ok });
    assert_eq!(ends(&complete(&server, &each(4, 10))), (7, 3));
    assert_eq!(*sent.lock().unwrap(), [3, 3, 2, 2]);

    // One that is sent again is the same one.
    let (server, sent) = counting(move |connection, n| if (connection, n) == (0, 1) { error(1213) } else { Act::Ok });
    let outcome = complete(&server, &each(4, 10));
    assert_eq!((ends(&outcome), outcome.measured.unwrap().retried), ((10, 0), 1));
    assert_eq!(*sent.lock().unwrap(), [4, 3, 2, 2]);
}

#[test]
fn what_a_lost_client_leaves_is_nobodys() {
    let closing = |at| counting(move |connection, n| if (connection, n) == (0, at) { Act::Close } else { Act::Ok });
    let (server, sent) = closing(1);
    let outcome = complete(&server, &each(4, 10));
    assert_eq!((ends(&outcome), outcome.clients_lost), ((8, 1), 1));
    assert_eq!(*sent.lock().unwrap(), [2, 3, 2, 2]);

    let errors = ErrorPolicy { reconnect_s: 1e30, ..ErrorPolicy::default() };
    let (server, sent) = closing(1);
    let outcome = complete(&server, &LoadSpec { errors: errors.clone(), ..each(4, 10) });
    assert_eq!((ends(&outcome), outcome.clients_lost, outcome.reconnects), ((9, 1), 0, 1));
    assert_eq!(*sent.lock().unwrap(), [2, 3, 2, 2, 1], "it comes back for the rest");

    // With its last transaction it has nothing to come back for.
    let (server, sent) = closing(2);
    let outcome = complete(&server, &LoadSpec { errors, ..each(4, 10) });
    assert_eq!((ends(&outcome), outcome.clients_lost, outcome.reconnects), ((9, 1), 0, 0));
    assert_eq!(*sent.lock().unwrap(), [3, 3, 2, 2]);

    let (server, _) = counting(|_, n| if n == 1 { Act::Close } else { Act::Ok });
    let (outcome, kept) = drive_simply(&server, &each(2, 10));
    check_equations(&outcome, &kept);
    assert_eq!((outcome.ending.clone(), ends(&outcome), outcome.clients_lost), (Ending::AllClientsLost, (2, 2), 2));
}

#[test]
fn time_may_be_over_first() {
    let (server, _) = counting(|_, _| Act::OkAfter(Duration::from_millis(20)));
    let outcome = complete(&server, &LoadSpec { measure: Duration::from_millis(300), ..each(2, 1_000_000) });
    assert_eq!(outcome.measure_length, Duration::from_millis(300));
    assert!((2..=30).contains(&ends(&outcome).0), "{outcome:?}");
}

#[test]
fn an_open_loop_has_no_shares() {
    let server = FakeServer::friendly();
    let (rate, of) = (Rate::constant(10.0), RateOf::EachClient);
    let pacing =
        Pacing::Open(OpenPacing { rate, of, spacing: Spacing::Constant, latency_limit: Some(Duration::MAX), seed: 1 });
    let workload = Insert::new(Dialect::Mysql, 1, 1000, 7);
    let target = Target::mysql_unix(server.socket(), "root", None);
    let connector = Connector::new(target, workload.statements(), true).unwrap();
    let run = |load: LoadSpec| run(&load, &connector, &workload, &AtomicBool::new(false), &mut Kept::default());
    let began = Instant::now();
    let refused = run(LoadSpec { pacing: pacing.clone(), ..each(2, 10) });
    assert!(matches!(refused, Err(EngineError::SplitOpenLoop)), "{refused:?}");
    // All together may have one, without a limit of time as well.
    let outcome = run(LoadSpec { pacing, quota: Some(Quota::Together(10)), ..each(2, 10) }).unwrap();
    assert!(outcome.measured.unwrap().ok >= 10 && outcome.ending == Ending::Complete, "{outcome:?}");
    assert!(began.elapsed() < Duration::from_secs(10));
}
