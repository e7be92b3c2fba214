//! Connections that are given up as planned, and made again.

use std::num::NonZeroU64;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use truetps_driver::{Connector, Target};
use truetps_engine::{LoadSpec, Quota, RunEnding, RunOutcome, run};
use truetps_plan::ErrorPolicy;
use truetps_record::{DriveMode, ErrorClass, SqlDialect};
use truetps_workload::{Workload, insert};

use crate::fake_server::{Act, FakeServer, Welcome};
use crate::support::{Kept, check_equations};

const SETUP: &str = "SET AUTOCOMMIT=0";
/// COM_QUERY
const QUERY: u8 = 0x03;

fn load(clients: u32, all: u64, every: u64) -> LoadSpec {
    LoadSpec {
        quota: Some(Quota::Each(all)),
        reconnect_every: NonZeroU64::new(every),
        mode: DriveMode::Multiplexed,
        ..LoadSpec::closed(clients, 2, Duration::MAX)
    }
}

/// A server that counts how many statements each connection sent, the setup included.
struct Server {
    fake: FakeServer,
    sent: Arc<Mutex<Vec<usize>>>,
}

impl Server {
    /// Each connection has to be set up before anything else.
    fn start(
        on_connect: impl Fn(usize) -> Welcome + Send + Sync + 'static,
        act: impl Fn(usize, usize) -> Act + Send + Sync + 'static,
    ) -> Self {
        let sent = Arc::new(Mutex::new(Vec::new()));
        // Threads of earlier connections may run later than threads of later ones.
        let note = |sent: &Mutex<Vec<usize>>, connection: usize, statements| {
            let mut sent = sent.lock().unwrap();
            let most = sent.len().max(connection + 1);
            sent.resize(most, 0);
            sent[connection] += statements;
        };
        let count = Arc::clone(&sent);
        let connected = move |number| {
            note(&count, number, 0);
            on_connect(number)
        };
        let count = Arc::clone(&sent);
        let answer = move |connection: usize, n: usize, command: &[u8]| {
            note(&count, connection, 1);
            assert_eq!(n == 0, command == [&[QUERY], SETUP.as_bytes()].concat(), "{n}");
            act(connection, n)
        };
        Self { fake: FakeServer::start(connected, answer), sent }
    }

    fn friendly() -> Self {
        Self::start(|_| Welcome::Greet, |_, _| Act::Ok)
    }

    fn drive(&self, load: &LoadSpec) -> RunOutcome {
        let workload = insert(SqlDialect::Mysql, 1, 1000, 7);
        let target = Target::mysql_unix(self.fake.socket(), "root", None).with_setup([SETUP]);
        let connector = Connector::new(target, workload.statements(), true).unwrap();
        let mut kept = Kept::default();
        let outcome = run(load, &connector, &workload, &AtomicBool::new(false), &mut kept).unwrap();
        check_equations(&outcome, &kept);
        outcome
    }

    fn sent(&self) -> Vec<usize> {
        self.sent.lock().unwrap().clone()
    }
}

#[test]
fn a_connection_has_so_many_transactions_and_no_more() {
    for mode in [DriveMode::Multiplexed, DriveMode::Blocking] {
        let server = Server::friendly();
        let outcome = server.drive(&LoadSpec { mode, ..load(2, 40, 5) });
        assert_eq!(
            (outcome.ending.clone(), outcome.measured.as_ref().unwrap().counts.ok),
            (RunEnding::Complete, 40)
        );
        assert_eq!((outcome.end.renewed, outcome.end.reconnects, outcome.end.lost), (6, 0, 0));
        assert_eq!(
            server.sent(),
            [1 + 5; 8],
            "four connections a client, the last one not renewed"
        );
        assert!(
            outcome.measured.as_ref().unwrap().errors.is_empty()
                && outcome.errors_elsewhere.is_empty(),
            "{outcome:?}"
        );
    }
    let server = Server::friendly();
    assert_eq!(server.drive(&load(1, 3, 1)).end.renewed, 2);
    assert_eq!(server.sent(), [2; 3]);
}

#[test]
fn failed_transactions_wear_a_connection_and_those_sent_again_do_not() {
    let error = |code| Act::Error { code, message: "as the test wants it" };
    let server = Server::start(
        |_| Welcome::Greet,
        move |connection, n| match (connection, n) {
            (0, 2) => error(1062),
            (1, 2) => error(1213),
            _ => Act::Ok,
        },
    );
    let outcome = server.drive(&load(1, 9, 3));
    let counts = outcome.measured.as_ref().unwrap().counts;
    assert_eq!((counts.ok, counts.failed, counts.retried, outcome.end.renewed), (8, 1, 1, 2));
    assert_eq!(server.sent(), [1 + 3, 1 + 3 + 1, 1 + 3]);
}

#[test]
fn a_number_of_all_together_has_no_renewal_behind_its_last() {
    let server = Server::friendly();
    let outcome = server.drive(&LoadSpec { quota: Some(Quota::Together(20)), ..load(1, 0, 5) });
    assert_eq!(
        (outcome.ending.clone(), outcome.measured.as_ref().unwrap().counts.ok, outcome.end.renewed),
        (RunEnding::Complete, 20, 3)
    );
    assert_eq!(server.sent(), [1 + 5; 4]);
}

#[test]
fn an_end_by_time_loses_no_client() {
    for mode in [DriveMode::Multiplexed, DriveMode::Blocking] {
        let server = Server::friendly();
        let measure = Duration::from_millis(400);
        let outcome = server.drive(&LoadSpec { quota: None, measure, mode, ..load(8, 0, 1) });
        assert_eq!((outcome.ending.clone(), outcome.end.lost), (RunEnding::Complete, 0));
        assert!(outcome.end.renewed > 16 && outcome.end.reconnects == 0, "{outcome:?}");
        assert!(server.sent().iter().all(|sent| *sent <= 1 + 1));
    }
}

#[test]
fn a_renewal_that_is_refused_is_a_lost_connection() {
    const FULL: Welcome = Welcome::Refuse { code: 1040, message: "Too many connections" };
    let server =
        Server::start(|number| if number == 0 { Welcome::Greet } else { FULL }, |_, _| Act::Ok);
    let began = Instant::now();
    let outcome = server.drive(&load(1, 10, 5));
    assert_eq!(
        (outcome.ending.clone(), outcome.measured.as_ref().unwrap().counts.ok),
        (RunEnding::AllClientsLost, 5)
    );
    assert_eq!((outcome.end.renewed, outcome.end.reconnects, outcome.end.lost), (0, 0, 1));
    assert_eq!(
        (
            outcome.measured.as_ref().unwrap().errors[0].code,
            outcome.measured.as_ref().unwrap().errors[0].retried
        ),
        (1040, 1),
        "{:?}",
        outcome.measured.as_ref().unwrap().errors
    );
    assert!(began.elapsed() > Duration::from_secs(1), "it may have got room");
    assert!(server.sent().len() > 10, "{:?}", server.sent());

    let server = Server::start(
        |number| if [1, 2].contains(&number) { FULL } else { Welcome::Greet },
        |_, _| Act::Ok,
    );
    let errors = ErrorPolicy { reconnect_s: 5.0, ..ErrorPolicy::default() };
    let outcome = server.drive(&LoadSpec { errors, ..load(1, 15, 5) });
    assert_eq!(
        (outcome.ending.clone(), outcome.measured.as_ref().unwrap().counts.ok),
        (RunEnding::Complete, 15)
    );
    assert_eq!(
        (outcome.end.renewed, outcome.end.reconnects, outcome.end.lost),
        (2, 0, 0),
        "there was room in time"
    );
    assert!(
        outcome.measured.as_ref().unwrap().errors.is_empty(),
        "{:?}",
        outcome.measured.as_ref().unwrap().errors
    );

    // So is one whose setup fails.
    let refused = Act::Error { code: 1193, message: "Unknown system variable" };
    let server = Server::start(
        |_| Welcome::Greet,
        move |connection, n| if connection > 0 && n == 0 { refused.clone() } else { Act::Ok },
    );
    let outcome = server.drive(&load(1, 10, 5));
    assert_eq!((outcome.ending.clone(), outcome.end.lost), (RunEnding::AllClientsLost, 1));
    let error = &outcome.measured.as_ref().unwrap().errors[0];
    assert_eq!((error.class, error.code, error.retried), (ErrorClass::ConnectFailed, 1193, 1));
    assert!(error.first_message.ends_with("setup statement: SET AUTOCOMMIT=0"), "{error:?}");
}

/// As many clients as the server takes: each goodbye is dealt with a little later than the next
/// hello.
#[test]
fn a_server_that_is_full_gets_a_moment() {
    const CLIENTS: usize = 4;
    for mode in [DriveMode::Multiplexed, DriveMode::Blocking] {
        let (since, refused) = (Arc::new(Mutex::new(None::<Instant>)), Arc::new(Mutex::new(0)));
        let count = Arc::clone(&refused);
        let full = move |number: usize| {
            let mut since = since.lock().unwrap();
            let full_since = *since.get_or_insert_with(Instant::now);
            let is_full = number >= CLIENTS && full_since.elapsed() < Duration::from_millis(300);
            *count.lock().unwrap() += usize::from(is_full);
            if is_full {
                Welcome::Refuse { code: 1040, message: "Too many connections" }
            } else {
                Welcome::Greet
            }
        };
        let server = Server::start(full, |_, _| Act::Ok);
        let outcome = server.drive(&LoadSpec { mode, ..load(4, 40, 5) });
        assert_eq!(
            (outcome.ending.clone(), outcome.measured.as_ref().unwrap().counts.ok),
            (RunEnding::Complete, 40)
        );
        assert_eq!(
            (outcome.end.renewed, outcome.end.reconnects, outcome.end.lost),
            (4, 0, 0),
            "{outcome:?}"
        );
        assert!(
            *refused.lock().unwrap() >= CLIENTS
                && outcome.measured.as_ref().unwrap().errors.is_empty(),
            "{outcome:?}"
        );
    }
}

#[test]
fn a_silent_server_does_not_hold_a_renewal() {
    let server = Server::start(
        |number| if number == 1 { Welcome::Silence } else { Welcome::Greet },
        |_, _| Act::Ok,
    );
    let began = Instant::now();
    let outcome = server.drive(&load(1, 10, 5));
    assert_eq!((outcome.ending.clone(), outcome.end.lost), (RunEnding::AllClientsLost, 1));
    assert!(
        outcome.measured.as_ref().unwrap().errors[0]
            .first_message
            .contains("no answer to the login"),
        "{:?}",
        outcome.measured.as_ref().unwrap().errors
    );
    assert!((Duration::from_secs(4)..Duration::from_secs(15)).contains(&began.elapsed()));
}
