//! Clients that are too many, too slow, or too fast.

use std::thread;
use std::time::{Duration, Instant};

use crate::SOON;
use crate::client::HttpClient;
use crate::gateway::{TestDatabase, client, row};

#[test]
fn slow_clients_are_ended_and_others_are_served() {
    let Some(database) = TestDatabase::start("slow clients") else { return };
    let gateway =
        database.gateway(|config| (config.limits.header_s, config.limits.body_s) = (1.0, 1.0));
    // Each sends a part of its head, and never its end.
    let mut slow: Vec<_> = (0..300)
        .map(|_| {
            let mut slow = client(&gateway);
            slow.write(b"POST /v1/readings HTTP/1.1\r\nhost: lo").unwrap();
            slow
        })
        .collect();
    let mut half = client(&gateway);
    half.write(
        b"POST /v1/readings HTTP/1.1\r\nhost: localhost\r\ncontent-type: \
                 application/json\r\ncontent-length: 50\r\n\r\n{",
    )
    .unwrap();
    let mut fast = client(&gateway);
    assert_eq!(fast.post("/v1/readings", &row(1, 1)).status, 200);
    assert_eq!(half.answer().unwrap().status, 408);
    let ends = slow
        .iter_mut()
        .filter_map(|slow| slow.answer().ok())
        .filter(|answer| answer.status != 408)
        .count();
    assert_eq!(ends, 0, "a request without an end was answered");
    let open = |client: &mut HttpClient| {
        let metrics = client.get("/metrics").body;
        let line = metrics
            .lines()
            .find(|line| line.starts_with("truetps_gateway_connections "))
            .unwrap()
            .to_owned();
        line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()
    };
    let end = Instant::now() + SOON;
    let mut looks = client(&gateway);
    while open(&mut looks) > 5 {
        assert!(Instant::now() < end, "slow connections stay open");
        thread::sleep(Duration::from_millis(100));
        looks = client(&gateway);
    }
}

#[test]
fn connections_are_limited() {
    let Some(database) = TestDatabase::start("many connections") else { return };
    // One address may have all of them here.
    let gateway = database
        .gateway(|config| (config.limits.connections, config.limits.peer_share) = (20, 1.0));
    let mut open: Vec<_> = (0..20).map(|_| client(&gateway)).collect();
    for (n, client) in open.iter_mut().enumerate() {
        assert_eq!(client.post("/v1/readings", &row(n, 1)).status, 200);
    }
    assert!(client(&gateway).is_closed());
    open.pop();
    let end = Instant::now() + SOON;
    // The end of a connection takes a moment.
    loop {
        let mut next = client(&gateway);
        if next.write(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").is_ok()
            && next.answer().is_ok()
        {
            break;
        }
        assert!(Instant::now() < end, "no connection is accepted any more");
    }
}

#[test]
fn a_head_that_is_too_long_is_refused() {
    let Some(database) = TestDatabase::start("long heads") else { return };
    let gateway = database.gateway(|_| {});
    let long = format!("content-type: application/json\r\nx-long: {}\r\n", "x".repeat(40_000));
    assert_eq!(client(&gateway).send("/v1/readings", "{}", &long).status, 431);
    let many = "x-one: 1\r\n".repeat(200);
    assert_eq!(client(&gateway).send("/v1/readings", "{}", &many).status, 431);
}

/// The database does not take rows: those that wait are bounded, and the others are refused at
/// once.
#[test]
fn overload_is_refused_early() {
    let Some(database) = TestDatabase::start("overload") else { return };
    let gateway = database.gateway(|config| {
        (config.queue.rows, config.queue.wait_ms, config.queue.answer_ms) = (50, 300_000, 60_000);
        // All of these clients have one address.
        config.limits.peer_share = 1.0;
    });
    let mut admin = database.client();
    admin.execute("LOCK TABLES readings READ").unwrap();
    let mut waiting: Vec<_> = (0..200).map(|n| (n, client(&gateway))).collect();
    for (n, client) in &mut waiting {
        client.start("/v1/readings", &row(*n, 1), "content-type: application/json\r\n");
    }
    let mut late = client(&gateway);
    let end = Instant::now() + SOON;
    while late.get("/readyz/readings").status == 200 {
        assert!(Instant::now() < end, "the queue is full and the gateway is ready");
    }
    let refused = late.post("/v1/readings", &row(900, 1));
    assert_eq!(
        (refused.status, refused.header("retry-after").is_some()),
        (429, true),
        "{refused:?}"
    );
    // Many libraries send head and body apart: the body of a refused row does not end the
    // connection.
    let (body, head) = (row(901, 1), "host: localhost\r\ncontent-type: application/json\r\n");
    let length = body.len();
    late.write(
        format!("POST /v1/readings HTTP/1.1\r\n{head}content-length: {length}\r\n\r\n").as_bytes(),
    )
    .unwrap();
    thread::sleep(Duration::from_millis(100));
    late.write(body.as_bytes()).unwrap();
    assert_eq!(late.answer().unwrap().status, 429);
    assert_eq!(late.get("/healthz").status, 200);
    admin.execute("UNLOCK TABLES").unwrap();
    let statuses: Vec<_> =
        waiting.iter_mut().map(|(_, client)| client.answer().unwrap().status).collect();
    let stored = statuses.iter().filter(|status| **status == 200).count();
    assert!(statuses.iter().all(|status| matches!(status, 200 | 429)), "{statuses:?}");
    assert_eq!(database.count(), stored as u64);
    assert!((50..200).contains(&stored), "{stored}");
}

/// A client that has gone before its row was sent costs no statement.
#[test]
fn rows_of_clients_that_have_gone_are_not_sent() {
    let Some(database) = TestDatabase::start("clients that go") else { return };
    let gateway = database.gateway(|config| config.queue.wait_ms = 300_000);
    let mut admin = database.client();
    admin.execute("LOCK TABLES readings READ").unwrap();
    let mut first = client(&gateway);
    first.start("/v1/readings", &row(0, 1), "content-type: application/json\r\n");
    thread::sleep(Duration::from_millis(200));
    let mut going: Vec<_> = (1..50).map(|n| (n, client(&gateway))).collect();
    for (n, client) in &mut going {
        client.start("/v1/readings", &row(*n, 1), "content-type: application/json\r\n");
    }
    thread::sleep(Duration::from_millis(500));
    drop(going);
    thread::sleep(Duration::from_millis(500));
    admin.execute("UNLOCK TABLES").unwrap();
    assert_eq!(first.answer().unwrap().status, 200);
    let mut looks = client(&gateway);
    assert_eq!(looks.post("/v1/readings", &row(100, 1)).status, 200);
    let metrics = looks.get("/metrics").body;
    let line = metrics
        .lines()
        .find(|line| line.starts_with("truetps_gateway_abandoned_rows_total{table=\"readings\""))
        .unwrap();
    let abandoned: u64 = line.rsplit(' ').next().unwrap().parse().unwrap();
    assert_eq!((abandoned, database.count()), (49, 2));
}

/// The body of 20 KB has 10,001 wrong rows, whose answers were 100 times as long.
#[test]
fn a_batch_of_too_many_lines_is_refused_early() {
    let Some(database) = TestDatabase::start("batches of many lines") else { return };
    let gateway = database.gateway(|_| {});
    let mut client = client(&gateway);
    let mut post = |lines: usize| {
        let answer = client.post_lines("/v1/readings/batch", &vec!["0".to_owned(); lines]);
        (answer.status, answer.body.len(), answer.body.lines().count())
    };
    let (status, bytes, _) = post(10_001);
    assert_eq!(status, 413);
    assert!(bytes < 200, "{bytes}");
    let (status, bytes, lines) = post(10_000);
    assert_eq!((status, lines), (400, 10_000));
    assert!(bytes < 2_000_000, "{bytes} bytes for {lines} short lines");
}

/// Heads of requests hold no room, and bodies of batches none that rows need.
#[test]
fn requests_without_a_body_do_not_refuse_others() {
    let Some(database) = TestDatabase::start("heads without bodies") else { return };
    let gateway = database.gateway(|_| {});
    let mut held = Vec::new();
    for (path, kind, count) in
        [("/v1/readings/batch", "x-ndjson", 64), ("/v1/readings", "json", 140)]
    {
        for _ in 0..count {
            let mut client = client(&gateway);
            let head = format!(
                "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/{kind}\r\n"
            );
            client.write(format!("{head}transfer-encoding: chunked\r\n\r\n").as_bytes()).unwrap();
            held.push(client);
        }
    }
    let mut other = client(&gateway);
    for seq in 0..20 {
        assert_eq!(other.post("/v1/readings", &row(1, seq)).status, 200);
    }
    assert_eq!(other.post_lines("/v1/readings/batch", &[row(2, 1)]).status, 200);
}

/// Batches that stop before their last byte fill the room of batches; rows have their own.
#[test]
fn bodies_of_batches_do_not_refuse_rows() {
    let Some(database) = TestDatabase::start("bodies without ends") else { return };
    let gateway = database.gateway(|config| {
        let limits = &mut config.limits;
        (limits.bodies_mb, limits.batch_kb, limits.batch_lines, limits.peer_share) =
            (4, 1_000, 1_000, 1.0);
    });
    let body = " ".repeat(1_000_000);
    let mut held: Vec<_> = (0..4).map(|_| client(&gateway)).collect();
    for client in &mut held {
        let head = "POST /v1/readings/batch HTTP/1.1\r\nhost: localhost\r\ncontent-type: \
                    application/x-ndjson\r\n";
        client
            .write(format!("{head}content-length: {}\r\n\r\n{body}", body.len() + 1).as_bytes())
            .unwrap();
    }
    let mut other = client(&gateway);
    let end = Instant::now() + SOON;
    while other.post_lines("/v1/readings/batch", &vec![" ".repeat(500); 500]).status != 429 {
        assert!(Instant::now() < end, "the room of batches is never full");
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(other.post("/v1/readings", &row(1, 1)).status, 200);
}
