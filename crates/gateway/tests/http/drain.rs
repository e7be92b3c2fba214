//! The end of a gateway: no row that was taken is left without an answer, and no answer is wrong.

use std::thread;
use std::time::{Duration, Instant};

use crate::client::HttpClient;
use crate::gateway::{TestDatabase, client, row};

#[test]
fn a_drain_answers_all_rows_that_were_taken() {
    let Some(database) = TestDatabase::start("a drain under load") else { return };
    let gateway = database.gateway(|_| {});
    let address = gateway.address();
    let load = |n: usize| {
        move || {
            let mut client = HttpClient::connect(address);
            let mut stored = 0;
            loop {
                client.start("/v1/readings", &row(n, stored), "content-type: application/json\r\n");
                match client.answer() {
                    Ok(answer) if answer.status == 200 => stored += 1,
                    Ok(answer) => {
                        assert_eq!(answer.status, 503, "{answer:?}");
                        return (stored, answer.json()["outcome"].as_str() == Some("unknown"));
                    }
                    // It was closed between two requests: this one was never taken.
                    Err(_) => return (stored, false),
                }
            }
        }
    };
    let threads: Vec<_> = (0..20).map(|n| thread::spawn(load(n))).collect();
    thread::sleep(Duration::from_millis(700));
    let stop = gateway.stop(Duration::from_secs(20));
    let ends: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert!(stop.is_drained);
    assert!(ends.iter().all(|(_, is_unknown)| !is_unknown), "a drained row has no unknown outcome");
    let stored: usize = ends.iter().map(|(stored, _)| stored).sum();
    assert_eq!((database.count(), stop.stored), (stored as u64, stored as u64));
}

#[test]
fn a_drain_without_rows_needs_no_time() {
    let Some(database) = TestDatabase::start("a drain without rows") else { return };
    for _ in 0..20 {
        let gateway = database.gateway(|_| {});
        client(&gateway).post("/v1/readings", &row(0, 1));
        assert!(gateway.stop(Duration::ZERO).is_drained);
    }
}

#[test]
fn a_drain_has_a_deadline() {
    let Some(database) = TestDatabase::start("a drain that is too long") else { return };
    let gateway = database
        .gateway(|config| (config.queue.wait_ms, config.queue.statement_ms) = (300_000, 60_000));
    let mut admin = database.client();
    admin.execute("LOCK TABLES readings READ").unwrap();
    let mut first = client(&gateway);
    first.start("/v1/readings", &row(0, 1), "content-type: application/json\r\n");
    thread::sleep(Duration::from_millis(300));
    let mut waiting: Vec<_> = (1..20).map(|n| (n, client(&gateway))).collect();
    for (n, client) in &mut waiting {
        client.start("/v1/readings", &row(*n, 1), "content-type: application/json\r\n");
    }
    thread::sleep(Duration::from_millis(300));
    let began = Instant::now();
    let stop = gateway.stop(Duration::from_secs(1));
    assert!(!stop.is_drained && began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    // The first one was sent and may be stored; the others were not.
    let outcome = |client: &mut HttpClient| {
        let answer = client.answer().unwrap();
        assert_eq!((answer.status, answer.header("retry-after").is_some()), (503, true));
        answer.json()["outcome"].as_str().unwrap().to_owned()
    };
    assert_eq!(outcome(&mut first), "unknown");
    for (_, client) in &mut waiting {
        assert_eq!(outcome(client), "not_stored");
    }
    admin.execute("UNLOCK TABLES").unwrap();
    thread::sleep(Duration::from_millis(500));
    assert!(database.count() <= 1);
}
