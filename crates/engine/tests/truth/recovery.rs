//! Clients whose connection breaks, and how they come back.

use std::time::{Duration, Instant};

use truetps_engine::{LoadSpec, RunEnding};
use truetps_plan::ErrorPolicy;
use truetps_record::{DriveMode, ErrorClass};

use crate::fake_server::{Act, FakeServer, Welcome};
use crate::support::{check_equations, drive_simply, load};

fn patient(reconnect_s: f64) -> ErrorPolicy {
    ErrorPolicy { reconnect_s, ..ErrorPolicy::default() }
}

#[test]
fn a_client_comes_back_and_its_transaction_is_not_sent_twice() {
    for mode in [DriveMode::Multiplexed, DriveMode::Blocking] {
        // Connections 0 and 1 close at their fifth statement; the ones that follow live.
        let server = FakeServer::start(
            |_| Welcome::Greet,
            |connection, n, _| if connection < 2 && n == 4 { Act::Close } else { Act::Ok },
        );
        let (outcome, kept) =
            drive_simply(&server, &LoadSpec { errors: patient(5.0), mode, ..load(2, 800) });
        check_equations(&outcome, &kept);
        assert_eq!(
            (outcome.ending.clone(), outcome.end.reconnects, outcome.end.lost),
            (RunEnding::Complete, 2, 0)
        );
        let errors: Vec<_> = outcome.errors().collect();
        let lost: u64 =
            errors.iter().filter(|e| e.class == ErrorClass::ConnectionLost).map(|e| e.count).sum();
        assert_eq!(lost, 2, "each is a failed transaction: {errors:?}");
        assert!(outcome.measured.as_ref().unwrap().counts.ok > 20, "{:?}", outcome.measured);
    }
}

#[test]
fn attempts_back_off_and_end() {
    let server = FakeServer::start(
        |number| {
            if number < 1 {
                Welcome::Greet
            } else {
                Welcome::Refuse { code: 1040, message: "Too many connections" }
            }
        },
        |_, n, _| if n == 3 { Act::Close } else { Act::Ok },
    );
    let began = Instant::now();
    let (outcome, kept) =
        drive_simply(&server, &LoadSpec { errors: patient(1.0), ..load(1, 20_000) });
    check_equations(&outcome, &kept);
    assert_eq!((outcome.ending.clone(), outcome.end.lost), (RunEnding::AllClientsLost, 1));
    // Of the 20 s of the measure phase.
    assert!(
        (Duration::from_millis(900)..Duration::from_secs(15)).contains(&began.elapsed()),
        "{:?}",
        began.elapsed()
    );
    let errors: Vec<_> = outcome.errors().collect();
    let refused: u64 = errors.iter().filter(|e| e.code == 1040).map(|e| e.retried).sum();
    // 10, 20, 40 … ms, each shortened by at most a half: 1 s has 6 to 9 of them.
    assert!((5..=10).contains(&refused), "{errors:?}");
}

#[test]
fn a_server_that_falls_silent_on_reconnecting_clients_does_not_hold_the_run() {
    let server = FakeServer::start(
        |number| if number == 1 { Welcome::Silence } else { Welcome::Greet },
        |connection, n, _| if connection == 0 && n == 3 { Act::Close } else { Act::Ok },
    );
    let began = Instant::now();
    let (outcome, kept) =
        drive_simply(&server, &LoadSpec { errors: patient(60.0), ..load(1, 1_000) });
    check_equations(&outcome, &kept);
    assert_eq!(outcome.end.lost, 1, "it was still away at the end");
    assert!(began.elapsed() < Duration::from_secs(20), "its patience is a minute");
}
