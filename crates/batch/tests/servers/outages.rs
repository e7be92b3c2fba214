//! A server that other clients, its administrator or the network keep away.

use std::thread;
use std::time::{Duration, Instant};

use truetps_batch::CommitSettings;
use truetps_driver::Client;

use crate::SOON;
use crate::clients::{Load, check_table, is_stored, receive, row, send, start};
use crate::relay::Relay;
use crate::tables::{TestGateway, TestServer};

const CLIENTS: usize = 30;
/// Rows of a transaction that outweighs a batch, so that the batch is the victim of a deadlock.
const HEAVY_ROWS: u32 = 200;

/// Two other transactions hold keys of a batch, and one of them wants a key that the batch has: the
/// server chooses the batch as the victim.
#[test]
fn a_batch_that_is_the_victim_of_a_deadlock_is_sent_again() {
    let Some(server) = TestServer::mariadb("deadlocks") else { return };
    let gateway = TestGateway::start(&CommitSettings { statement_time: SOON, ..server.settings() });
    let (mut gate, mut rival) = (server.client(), server.client());
    let insert = |client: &mut Client, number: u32| {
        client
            .execute(&format!(
                "INSERT INTO rows_in (client, seq, text) VALUES ({number}, 0, 'rival')"
            ))
            .map(|_| ())
    };
    gate.execute("BEGIN").unwrap();
    insert(&mut gate, 0).unwrap();
    rival.execute("BEGIN").unwrap();
    for number in 1000..1000 + HEAVY_ROWS {
        insert(&mut rival, number).unwrap();
    }
    insert(&mut rival, 2).unwrap();
    // The first row is a batch of its own, and waits for the gate; the others are the next batch.
    let first = start(&gateway.queue, &row(0, 0), SOON).unwrap();
    wait_for_lock_waits(&server, 1);
    let others = [1, 2].map(|client| start(&gateway.queue, &row(client, 0), SOON).unwrap());
    gate.execute("ROLLBACK").unwrap();
    assert!(is_stored(&receive(&first)));
    wait_for_lock_waits(&server, 1);
    insert(&mut rival, 1).expect("the batch is the victim");
    rival.execute("ROLLBACK").unwrap();
    assert!(others.iter().all(|other| is_stored(&receive(other))));
    // The figures follow the answers.
    wait_until("the batch was sent again", || gateway.queue.figures().counts.retries >= 1);
    assert_eq!((server.count("TRUE"), server.count("text = 'rival'")), (3, 0));
}

fn wait_for_lock_waits(server: &TestServer, count: u64) {
    let sql = "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'";
    let mut client = server.client();
    wait_until("a session waits for a lock", || {
        // The server renews the view only after 100 ms without a reader.
        thread::sleep(Duration::from_millis(150));
        client.query_value(sql).unwrap().unwrap() == count.to_string()
    });
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + SOON;
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// The connection is lost while others have taken all that there are.
#[test]
fn a_login_refused_for_too_many_connections_is_tried_again() {
    let Some(server) = TestServer::mariadb("max_connections") else { return };
    server.run("CREATE USER writer@localhost IDENTIFIED BY ''");
    server.run("GRANT ALL ON gateway.* TO writer@localhost");
    server.run("SET GLOBAL max_connections = 10");
    let mut settings = server.settings();
    "writer".clone_into(&mut settings.target.login.user);
    let gateway = TestGateway::start(&settings);
    let load = Load::start(std::slice::from_ref(&gateway.queue), CLIENTS);
    load.wait_for(100);
    let mut hog: Vec<(Client, String)> = Vec::new();
    let mut admin = server.client();
    // The first one to log in has the place of a session that is killed.
    wait_until("the login is refused", || {
        while let Ok(mut client) = Client::connect(&settings.target, SOON) {
            let id = client.query_value("SELECT CONNECTION_ID()").unwrap().unwrap();
            hog.push((client, id));
        }
        let sql = "SELECT id FROM information_schema.processlist WHERE user = 'writer'";
        let found = admin.query(sql).unwrap().rows;
        for id in found
            .iter()
            .filter_map(|row| row[0].as_ref())
            .filter(|id| hog.iter().all(|(_, of)| of != *id))
        {
            // It may have ended meanwhile.
            let _ = admin.execute(&format!("KILL {id}"));
        }
        gateway.queue.figures().last_fault.is_some_and(|fault| fault.contains("1040"))
    });
    hog.clear();
    load.wait_for(100);
    check_table(&server, &load.end());
}

/// Nothing arrives any more, and no connection ends.
#[test]
fn a_network_that_swallows_everything_is_waited_for() {
    let Some(server) = TestServer::mariadb("a cut network") else { return };
    let (relay, settings) = Relay::before(&server);
    let gateway =
        TestGateway::start(&CommitSettings { statement_time: Duration::from_secs(1), ..settings });
    let load = Load::start(std::slice::from_ref(&gateway.queue), CLIENTS);
    for _ in 0..2 {
        load.wait_for(100);
        relay.set_cut(true);
        thread::sleep(Duration::from_secs(3));
        relay.set_cut(false);
    }
    load.wait_for(100);
    let logs = load.end();
    check_table(&server, &logs);
    let counts = gateway.queue.figures().counts;
    assert!(counts.unknown_outcomes >= 1 && counts.logins >= 2, "{counts:?}");
}

/// A stop in order: the server ends running statements and refuses new ones.
#[test]
fn a_restarted_server_loses_no_row() {
    let Some(mut server) = TestServer::mariadb("restarts") else { return };
    let gateway = server.gateway();
    let load = Load::start(std::slice::from_ref(&gateway.queue), CLIENTS);
    for _ in 0..3 {
        load.wait_for(150);
        server.running.take().unwrap().stop(SOON).unwrap();
        server.restart();
    }
    load.wait_for(100);
    check_table(&server, &load.end());
    assert!(gateway.queue.figures().counts.logins >= 4);
}

/// Two gateways get the same row at the same moment, and one of them another row with the same key.
#[test]
fn a_key_sent_to_two_gateways_at_once_is_stored_once() {
    for server in TestServer::of_each_kind("two gateways at once") {
        let gateways = [server.gateway(), server.gateway()];
        let other = |client| format!(r#"{{"client":{client},"seq":0,"text":"other"}}"#);
        let (mut stored, mut conflicts) = (0, 0);
        for client in 0..100 {
            let second = if client % 2 == 0 { row(client, 0) } else { other(client) };
            let sent = [(0, row(client, 0)), (1, second)]
                .map(|(gateway, json)| start(&gateways[gateway].queue, &json, SOON).unwrap());
            let answers = sent.each_ref().map(receive);
            let of_stored = answers.iter().filter(|answer| is_stored(answer)).count();
            let of_conflicts = answers
                .iter()
                .filter(|answer| **answer == truetps_batch::CommitAnswer::KeyConflict)
                .count();
            assert_eq!(of_stored + of_conflicts, 2, "{answers:?}");
            assert_eq!(of_conflicts, client % 2, "{answers:?}");
            stored += of_stored;
            conflicts += of_conflicts;
        }
        assert_eq!((stored, conflicts, server.count("seq = 0")), (150, 50, 100));
    }
}

/// Clients choose the database by a shard key: each gateway has its own, and none of them needs to
/// know the other.
#[test]
fn a_shard_key_divides_clients_over_two_databases() {
    let servers: Vec<_> = (0..2).filter_map(|_| TestServer::mariadb("two databases")).collect();
    let [even, odd] = &servers[..] else { return };
    let gateways = [even.gateway(), odd.gateway()];
    for seq in 0..20 {
        for client in 0..10 {
            let answer = send(&gateways[client % 2].queue, &row(client, seq), SOON).unwrap();
            assert!(is_stored(&answer), "{answer:?}");
        }
    }
    assert_eq!((even.count("client % 2 = 0"), odd.count("client % 2 = 1")), (100, 100));
    assert_eq!((even.count("TRUE"), odd.count("TRUE")), (100, 100));
}
