//! A database that is killed while batches are in flight.

use std::time::{Duration, Instant};

use truetps_testkit::mysql_family::mariadb;
use truetps_testkit::private_postgres;

use crate::clients::{Load, check_table};
use crate::relay::Relay;
use crate::tables::{TestGateway, TestServer};

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

fn rounds() -> u32 {
    std::env::var("TRUETPS_KILL_ROUNDS").map_or(ROUNDS, |text| text.parse().unwrap())
}

fn kill_rounds(mut server: TestServer) {
    let rounds = rounds();
    let gateway = server.gateway();
    let load = Load::start(std::slice::from_ref(&gateway.queue), CLIENTS);
    let counts = || gateway.queue.figures().counts;
    let (mut kills, mut in_flight, mut committed) = (0, 0, 0);
    // A round counts if the kill met a batch; in some of them it was committed, and its reply was
    // lost.
    while in_flight < rounds || committed == 0 {
        assert!(
            kills < 20 + 10 * rounds,
            "{in_flight} of {kills} kills met a batch, {committed} a committed one"
        );
        let before = counts();
        load.wait_for(200 + u64::from(kills % 50) * 7);
        server.kill();
        kills += 1;
        if kills % 3 == 0 {
            // Longer than the clients' patience.
            std::thread::sleep(Duration::from_secs(3));
        }
        server.restart();
        load.wait_for(50);
        let after = counts();
        in_flight += u32::from(after.unknown_outcomes > before.unknown_outcomes);
        committed += u32::from(after.found_rows > before.found_rows);
    }
    let logs = load.end();
    check_table(&server, &logs);
    let rows: u64 = logs.iter().map(|log| log.acknowledged).sum();
    eprintln!(
        "{kills} kills, {in_flight} with a batch in flight, {committed} committed; {rows} rows: \
         {:?}",
        counts()
    );
}

/// A relay swallows the reply of a commit, and the database is killed at that moment: in each round
/// that counts, a batch is stored, and the gateway learns it only from the restarted server.
#[test]
fn a_committed_batch_is_found_after_each_kill() {
    let Some(mut server) = TestServer::mariadb("kill -9 after a commit") else { return };
    let (relay, settings) = Relay::before(&server);
    let gateway = TestGateway::start(&settings);
    let load = Load::start(std::slice::from_ref(&gateway.queue), CLIENTS);
    let counts = || gateway.queue.figures().counts;
    let (rounds, mut kills, mut committed) = (rounds(), 0, 0);
    while committed < rounds {
        assert!(kills < 20 + 3 * rounds, "{committed} of {kills} kills met a committed batch");
        load.wait_for(100 + u64::from(kills % 50) * 7);
        let (before, dropped) = (counts(), relay.dropped());
        relay.drop_replies(1);
        let end = Instant::now() + Duration::from_secs(10);
        while relay.dropped() == dropped {
            assert!(Instant::now() < end, "no reply to swallow");
            std::thread::sleep(Duration::from_micros(50));
        }
        server.kill();
        kills += 1;
        let was_unknown = counts().found_rows == before.found_rows;
        server.restart();
        load.wait_for(50);
        committed += u32::from(was_unknown && counts().found_rows > before.found_rows);
    }
    let logs = load.end();
    check_table(&server, &logs);
    let rows: u64 = logs.iter().map(|log| log.acknowledged).sum();
    eprintln!("{kills} kills, {committed} with a committed batch; {rows} rows: {:?}", counts());
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
