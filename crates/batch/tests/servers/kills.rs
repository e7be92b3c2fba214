//! A database that is killed while batches are in flight.

use std::time::Duration;

use truetps_testkit::mysql_family::mariadb;
use truetps_testkit::private_postgres;

use crate::clients::{Load, check_table};
use crate::tables::TestServer;

/// Rounds without `TRUETPS_KILL_ROUNDS`.
const ROUNDS: u32 = 6;
const CLIENTS: usize = 40;

#[test]
fn nothing_acknowledged_is_lost_when_the_database_is_killed() {
    if let Some(server) = TestServer::mariadb("kill -9 of the database") {
        kill_rounds(server);
    }
}

#[test]
fn nothing_acknowledged_is_lost_when_a_postgresql_is_killed() {
    if let Some(binary) = private_postgres("kill -9 of PostgreSQL") {
        kill_rounds(TestServer::start(&binary, &[]));
    }
}

fn kill_rounds(mut server: TestServer) {
    let rounds = std::env::var("TRUETPS_KILL_ROUNDS").map_or(ROUNDS, |text| text.parse().unwrap());
    let gateway = server.gateway();
    let load = Load::start(std::slice::from_ref(&gateway.queue), CLIENTS);
    for round in 0..rounds {
        load.wait_for(200 + u64::from(round) * 7);
        server.kill();
        if round % 3 == 2 {
            // Longer than the clients' patience.
            std::thread::sleep(Duration::from_secs(3));
        }
        server.restart();
        load.wait_for(50);
    }
    let logs = load.end();
    check_table(&server, &logs);
    let counts = gateway.queue.figures().counts;
    // An outage that is longer than the clients' patience ends in unknown answers, and not in a replay.
    let was_replayed = counts.replays > 0 || logs.iter().any(|log| log.unknown > 0);
    assert!(counts.unknown_outcomes > 0 && was_replayed, "no statement was in flight: {counts:?}");
    eprintln!("{rounds} kills: {counts:?}");
}

/// A replica of the gateway takes over rows of another one.
#[test]
fn two_gateways_store_each_row_once() {
    let Some(binary) = mariadb("two gateways") else { return };
    let mut server = TestServer::start(&binary, &[]);
    let gateways = [server.gateway(), server.gateway()];
    let load = Load::start(&gateways.each_ref().map(|gateway| gateway.queue.clone()), CLIENTS);
    for _ in 0..2 {
        load.wait_for(300);
        server.kill();
        std::thread::sleep(Duration::from_secs(3));
        server.restart();
    }
    load.wait_for(100);
    let logs = load.end();
    assert!(logs.iter().any(|log| log.sent_again > 0), "no row went to the other gateway");
    check_table(&server, &logs);
}
