//! A number of transactions that is split between the clients.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use truetps_driver::{Connector, Target};
use truetps_engine::{
    EngineError, LoadSpec, OpenPacing, Pacing, Quota, Rate, RateOf, RunEnding, RunOutcome, run,
};
use truetps_plan::ErrorPolicy;
use truetps_record::{DriveMode, Spacing, SqlDialect};
use truetps_workload::{Commit, SqlList, SqlStatement, Workload, insert};

use crate::fake_server::{Act, FakeServer, Welcome};
use crate::support::{Kept, check_equations, drive_simply, drive_workload};

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

fn complete(server: &FakeServer, load: &LoadSpec) -> RunOutcome {
    let (outcome, kept) = drive_simply(server, load);
    check_equations(&outcome, &kept);
    assert_eq!(outcome.ending, RunEnding::Complete);
    assert!(
        outcome.end.last_end.unwrap() <= outcome.measured.as_ref().unwrap().schedule_length,
        "{outcome:?}"
    );
    outcome
}

fn ends(outcome: &RunOutcome) -> (u64, u64) {
    let counts = outcome.measured.as_ref().unwrap().counts;
    (counts.ok, counts.failed)
}

#[test]
fn each_client_does_its_share_and_no_more() {
    for (mode, workers) in
        [(DriveMode::Multiplexed, 1), (DriveMode::Multiplexed, 3), (DriveMode::Blocking, 1)]
    {
        for (all, expect) in [(10, vec![2, 2, 3, 3]), (2, vec![1, 1])] {
            let (server, sent) = counting(|_, _| Act::Ok);
            let outcome = complete(&server, &LoadSpec { mode, workers, ..each(4, all) });
            assert_eq!((ends(&outcome), outcome.clients_connected), ((all, 0), 4));
            let mut sent: Vec<_> =
                sent.lock().unwrap().iter().copied().filter(|sent| *sent > 0).collect();
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
    let counts = outcome.measured.as_ref().unwrap().counts;
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
    assert_eq!((ends(&outcome), outcome.end.lost), ((10, 0), 0));
    assert_eq!(*sent.lock().unwrap(), [5, 5]);
    assert!(outcome.end.last_end.unwrap() >= Duration::from_millis(250), "{outcome:?}");
}

#[test]
fn a_transaction_that_fails_was_tried() {
    let error = |code| Act::Error { code, message: "as the test wants it" };
    let (server, sent) =
        counting(move |connection, _| if connection == 0 { error(1114) } else { Act::Ok });
    assert_eq!(ends(&complete(&server, &each(4, 10))), (7, 3));
    assert_eq!(*sent.lock().unwrap(), [3, 3, 2, 2]);

    // One that is sent again is the same one.
    let (server, sent) = counting(
        move |connection, n| if (connection, n) == (0, 1) { error(1213) } else { Act::Ok },
    );
    let outcome = complete(&server, &each(4, 10));
    assert_eq!((ends(&outcome), outcome.measured.as_ref().unwrap().counts.retried), ((10, 0), 1));
    assert_eq!(*sent.lock().unwrap(), [4, 3, 2, 2]);
}

#[test]
fn the_rest_of_a_lost_client_s_share_is_dropped() {
    let closing = |at| {
        counting(move |connection, n| if (connection, n) == (0, at) { Act::Close } else { Act::Ok })
    };
    let (server, sent) = closing(1);
    let outcome = complete(&server, &each(4, 10));
    assert_eq!((ends(&outcome), outcome.end.lost), ((8, 1), 1));
    assert_eq!(*sent.lock().unwrap(), [2, 3, 2, 2]);

    let errors = ErrorPolicy { reconnect_s: 1e30, ..ErrorPolicy::default() };
    let (server, sent) = closing(1);
    let outcome = complete(&server, &LoadSpec { errors: errors.clone(), ..each(4, 10) });
    assert_eq!((ends(&outcome), outcome.end.lost, outcome.end.reconnects), ((9, 1), 0, 1));
    assert_eq!(*sent.lock().unwrap(), [2, 3, 2, 2, 1], "it comes back for the rest");

    // With its last transaction it has nothing to come back for.
    let (server, sent) = closing(2);
    let outcome = complete(&server, &LoadSpec { errors, ..each(4, 10) });
    assert_eq!((ends(&outcome), outcome.end.lost, outcome.end.reconnects), ((9, 1), 0, 0));
    assert_eq!(*sent.lock().unwrap(), [3, 3, 2, 2]);

    let (server, _) = counting(|_, n| if n == 1 { Act::Close } else { Act::Ok });
    let (outcome, kept) = drive_simply(&server, &each(2, 10));
    check_equations(&outcome, &kept);
    assert_eq!(
        (outcome.ending.clone(), ends(&outcome), outcome.end.lost),
        (RunEnding::AllClientsLost, (2, 2), 2)
    );
}

#[test]
fn time_may_be_over_first() {
    let (server, _) = counting(|_, _| Act::OkAfter(Duration::from_millis(20)));
    let outcome =
        complete(&server, &LoadSpec { measure: Duration::from_millis(300), ..each(2, 1_000_000) });
    assert_eq!(outcome.measured.as_ref().unwrap().schedule_length, Duration::from_millis(300));
    assert!((2..=30).contains(&ends(&outcome).0), "{outcome:?}");
}

#[test]
fn an_open_loop_has_no_shares() {
    let server = FakeServer::friendly();
    let workload = insert(SqlDialect::Mysql, 1, 1000, 7);
    let connector = Connector::new(
        Target::mysql_unix(server.socket(), "root", None),
        workload.statements(),
        true,
    );
    let load = LoadSpec { pacing: open(10.0, RateOf::EachClient), ..each(2, 10) };
    let refused =
        run(&load, &connector.unwrap(), &workload, &AtomicBool::new(false), &mut Kept::default());
    assert!(matches!(refused, Err(EngineError::SplitOpenLoop)), "{refused:?}");
}

fn open(rate: f64, of: RateOf) -> Pacing {
    Pacing::Open(OpenPacing {
        rate: Rate::constant(rate),
        of,
        spacing: Spacing::Poisson,
        latency_limit: None,
        seed: 1,
    })
}

/// So many transactions of all clients by a schedule, without a limit of time.
fn together(clients: u32, all: u64, pacing: Pacing) -> LoadSpec {
    LoadSpec { quota: Some(Quota::Together(all)), workers: 3, pacing, ..each(clients, all) }
}

/// Many are always in flight: the server is slower than the schedule.
#[test]
fn an_open_loop_starts_so_many_and_no_more() {
    for (rate, of) in [(3_000.0, RateOf::All), (400.0, RateOf::EachClient)] {
        for warm_up_ms in [0, 100] {
            let (server, sent) = counting(|_, _| Act::OkAfter(Duration::from_millis(8)));
            let warm_up = Duration::from_millis(warm_up_ms);
            let outcome =
                complete(&server, &LoadSpec { warm_up, ..together(9, 1_000, open(rate, of)) });
            let starts = outcome.measured.as_ref().unwrap().open_loop.unwrap().starts;
            assert_eq!(
                (ends(&outcome), starts.queued, starts.skipped),
                ((1_000, 0), 0, 0),
                "{outcome:?}"
            );
            let all: u64 = sent.lock().unwrap().iter().sum();
            assert!(all == 1_000 || warm_up_ms > 0, "{all}");
            assert_eq!(outcome.measured.as_ref().unwrap().counts.in_flight, 0);
        }
    }
}

#[test]
fn starts_that_are_skipped_are_of_the_number() {
    let (server, _) = counting(|_, _| Act::OkAfter(Duration::from_millis(20)));
    let Pacing::Open(pacing) = open(1_000.0, RateOf::All) else { unreachable!() };
    let pacing =
        Pacing::Open(OpenPacing { latency_limit: Some(Duration::from_millis(30)), ..pacing });
    let outcome = complete(&server, &together(4, 500, pacing));
    let starts = outcome.measured.as_ref().unwrap().open_loop.unwrap().starts;
    assert_eq!((starts.scheduled, ends(&outcome).0 + starts.skipped, starts.queued), (500, 500, 0));
    assert!(starts.skipped > 100, "{starts:?}");
}

/// No client makes the starts of a lost client's own schedule.
#[test]
fn lost_clients_do_not_hold_the_end_of_a_schedule() {
    for (of, clients) in [(RateOf::EachClient, 4), (RateOf::All, 3)] {
        let (server, _) =
            counting(|connection, n| if (connection, n) == (1, 2) { Act::Close } else { Act::Ok });
        let began = Instant::now();
        let outcome = complete(&server, &together(clients, 100, open(300.0, of)));
        let (ok, failed) = ends(&outcome);
        assert_eq!((failed, outcome.end.lost), (1, 1), "{outcome:?}");
        assert_eq!(
            ok + failed + outcome.measured.as_ref().unwrap().open_loop.unwrap().starts.queued,
            100,
            "{outcome:?}"
        );
        assert!(began.elapsed() < Duration::from_secs(30));
    }
}

/// As with `--number-of-queries=1057 --commit=10 --rate`.
#[test]
fn a_shared_number_of_statements_is_sent_to_the_letter() {
    for (statements, batch) in [(1_050, 10), (1_057, 10), (3, 10), (7, 1)] {
        let (queries, commits) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let count = [&queries, &commits].map(Arc::clone);
        let server = FakeServer::start(
            |_| Welcome::Greet,
            move |_, _, command| {
                let is_commit = command.ends_with(b"COMMIT");
                count[usize::from(is_commit)].fetch_add(1, Ordering::Relaxed);
                Act::OkAfter(Duration::from_micros(500))
            },
        );
        let list = vec![SqlStatement::Fixed("UPDATE t SET a = 1".to_owned())];
        let commit = Commit::EveryWithoutBegin(NonZeroU32::new(batch).unwrap());
        let list =
            SqlList::workload(list, Arc::new([]), commit, 1).unwrap().with_shared_total(statements);
        let transactions = statements.div_ceil(batch.into());
        let (load, mut kept) =
            (together(7, transactions, open(2_000.0, RateOf::All)), Kept::default());
        let outcome =
            drive_workload(&server, &load, &list, false, &AtomicBool::new(false), &mut kept);
        check_equations(&outcome, &kept);
        assert_eq!(ends(&outcome), (transactions, 0));
        let sent = (queries.load(Ordering::Relaxed), commits.load(Ordering::Relaxed));
        assert_eq!(sent, (statements, transactions), "{statements} in transactions of {batch}");
    }
}
