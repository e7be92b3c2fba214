//! What a client is answered.

use truetps_gateway::AccessTokens;

use crate::client::HttpClient;
use crate::gateway::{TestDatabase, client, row};
use crate::wait_for;

const ROWS: &str = "/v1/readings";

#[test]
fn each_row_has_its_own_answer() {
    let Some(database) = TestDatabase::start("answers over HTTP") else { return };
    let gateway = database.gateway(|_| {});
    let mut client = client(&gateway);
    let new = client.post(ROWS, &row(1, 1));
    assert_eq!((new.status, new.header("x-durability")), (200, Some("commit-fsync")), "{new:?}");
    assert_eq!(new.json()["duplicate"], false);
    assert_eq!(database.count(), 1);
    assert_eq!(client.post(ROWS, &row(1, 1)).json()["duplicate"], true);
    let mut check = |json: &str, status: u16, part: &str| {
        let answer = client.post(ROWS, json);
        assert_eq!(answer.status, status, "{answer:?}");
        assert!(answer.json()["error"].as_str().unwrap().contains(part), "{answer:?}");
        assert_eq!(
            (answer.json()["outcome"].as_str(), answer.header("retry-after")),
            (Some("not_stored"), None)
        );
    };
    check(r#"{"client":1,"seq":1,"text":"other"}"#, 409, "other values");
    check(
        r#"{"client":1,"seq":2,"text":"longer than twenty characters"}"#,
        422,
        "longer than 20 characters",
    );
    check(r#"{"client":1}"#, 422, "`seq`");
    check(r#"{"client":1,"seq":2,"unknown":3}"#, 422, "`unknown`");
    check("[1]", 400, "object");
    check(&format!(r#"{{"client":1,"seq":2,"text":"{}"}}"#, "x".repeat(70_000)), 413, "64 KB");
    assert_eq!(database.count(), 1);
}

#[test]
fn a_batch_has_a_line_for_each_row() {
    let Some(database) = TestDatabase::start("batches over HTTP") else { return };
    let gateway = database.gateway(|_| {});
    let mut client = client(&gateway);
    let rows: Vec<_> = (0..500).map(|seq| row(1, seq)).collect();
    let all = client.post_lines("/v1/readings/batch", &rows);
    assert_eq!((all.status, all.body.lines().count()), (200, 500));
    let mixed = [
        row(2, 1),
        row(1, 7),
        "{".to_owned(),
        r#"{"client":2,"seq":2,"text":"longer than twenty characters"}"#.to_owned(),
        row(2, 3),
    ];
    let answer = client.post_lines("/v1/readings/batch", &mixed);
    let lines: Vec<serde_json::Value> =
        answer.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let codes: Vec<_> = lines
        .iter()
        .map(|line| (line["row"].as_u64().unwrap(), line["code"].as_u64().unwrap()))
        .collect();
    assert_eq!(
        (answer.status, &codes[..]),
        (207, &[(1, 200), (2, 200), (3, 400), (4, 422), (5, 200)][..]),
        "{answer:?}"
    );
    assert_eq!(database.count(), 502);
    assert_eq!(client.post_lines("/v1/readings/batch", &[]).status, 400);
}

#[test]
fn a_key_in_a_header_is_stored_in_its_column() {
    let Some(database) = TestDatabase::start("Idempotency-Key") else { return };
    let gateway = database.gateway(|_| {});
    let mut client = client(&gateway);
    let mut post = |path: &str, json: &str, key: &str| {
        client.send(
            path,
            json,
            &format!("content-type: application/json\r\nidempotency-key: {key}\r\n"),
        )
    };
    assert_eq!(post("/v1/events", r#"{"text":"a"}"#, "k'1").json()["duplicate"], false);
    assert_eq!(post("/v1/events", r#"{"text":"a"}"#, "\"k'1\"").json()["duplicate"], true);
    assert_eq!(post("/v1/events", r#"{"text":"b"}"#, "k'1").status, 409);
    assert_eq!(post("/v1/events", r#"{"text":"b","id":"x"}"#, "k").status, 422);
    assert_eq!(post(ROWS, &row(1, 1), "k").status, 400);
    let id = database.client().query_value("SELECT id FROM events").unwrap();
    assert_eq!(id.as_deref(), Some("k'1"));
}

#[test]
fn requests_that_are_no_rows() {
    let Some(database) = TestDatabase::start("requests without rows") else { return };
    let tokens = AccessTokens::parse("0123456789abcdef").unwrap();
    let gateway = database.gateway_with(|config| config.page = true, tokens);
    let mut client = client(&gateway);
    assert_eq!((client.get("/healthz").status, client.get("/readyz").status), (200, 200));
    assert!(client.get("/").body.contains("<title>truetps gateway</title>"));
    assert_eq!(client.get("/state.json").json()["tables"][0]["name"], "readings");
    for (path, headers, status) in [
        (ROWS, "", 401),
        (ROWS, "authorization: Bearer wrong\r\n", 401),
        (ROWS, "authorization: Bearer 0123456789abcdef\r\n", 415),
        ("/v1/other", "authorization: Bearer 0123456789abcdef\r\n", 404),
        (ROWS, "authorization: Bearer 0123456789abcdef\r\ncontent-type: application/json\r\n", 200),
    ] {
        assert_eq!(client.send(path, &row(1, 1), headers).status, status, "{path} {headers}");
    }
    assert_eq!(client.get("/metrics").status, 401);
    let head = "GET /metrics HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer \
                0123456789abcdef\r\n\r\n";
    let mut metrics = || {
        client.write(head.as_bytes()).unwrap();
        client.answer().unwrap().body
    };
    // The figures of a batch follow its answers.
    wait_for("the figures of the batch", || {
        metrics().contains("truetps_gateway_batch_rows_bucket{table=\"readings\",le=\"1\"} 1\n")
    });
    let metrics = metrics();
    assert!(
        metrics.contains("truetps_gateway_rows_total{table=\"readings\",result=\"stored\"} 1\n"),
        "{metrics}"
    );
    client.write(b"GET /healthz HTTP/1.1\r\nhost: rebound.example\r\n\r\n").unwrap();
    assert_eq!(client.answer().unwrap().status, 421);
}

/// A row goes to one host, with one key: what reads the first of two headers may differ from what
/// reads the last.
#[test]
fn a_request_that_can_be_read_in_two_ways_is_refused() {
    let Some(database) = TestDatabase::start("ambiguous requests") else { return };
    let gateway = database.gateway(|_| {});
    let check = |target: &str, headers: &str, status: u16| {
        let mut client = client(&gateway);
        let body = r#"{"text":"a"}"#;
        let length = body.len();
        let head = format!(
            "POST {target} HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: {length}"
        );
        client.write(format!("{head}\r\n{headers}\r\n{body}").as_bytes()).unwrap();
        assert_eq!(client.answer().unwrap().status, status, "{target} {headers}");
    };
    let (path, host) = ("/v1/events", "host: localhost\r\n");
    check(path, "idempotency-key: a\r\n", 400);
    check(path, &format!("{host}host: localhost\r\nidempotency-key: a\r\n"), 400);
    check("http://rebound.example/v1/events", &format!("{host}idempotency-key: a\r\n"), 400);
    check(
        "http://rebound.example/v1/events",
        "host: rebound.example\r\nidempotency-key: a\r\n",
        421,
    );
    check(path, &format!("{host}idempotency-key: a\r\nidempotency-key: b\r\n"), 400);
    check(path, &format!("{host}idempotency-key: a\r\ncontent-type: text/plain\r\n"), 400);
    check(path, &format!("{host}idempotency-key: a\r\ncontent-encoding: gzip\r\n"), 415);
    check("http://localhost/v1/events", &format!("{host}idempotency-key: a\r\n"), 200);
}

#[test]
fn a_table_that_is_down_is_named_and_the_others_are_served() {
    let Some(database) = TestDatabase::start("readiness of tables") else { return };
    let gateway = database.gateway(|config| config.queue.statement_ms = 500);
    let mut client = client(&gateway);
    assert_eq!(client.get("/readyz").body, "readings: ready\nevents: ready\n");
    database.run("RENAME TABLE readings TO readings_gone");
    wait_for("a table that is down", || {
        assert_eq!(client.post(ROWS, &row(1, 1)).status, 503);
        client.get("/readyz/readings").status == 503
    });
    let all = client.get("/readyz");
    assert_eq!(
        (all.status, &all.body[..]),
        (200, "readings: the table is gone or cannot keep the promise any more\nevents: ready\n")
    );
    assert_eq!(
        (client.get("/readyz/events").status, client.get("/readyz/other").status),
        (200, 404)
    );
    // No client sends rows of this table.
    database.run("RENAME TABLE events TO events_gone");
    wait_for("a look at a table without rows", || client.get("/readyz/events").status == 503);
    assert_eq!(client.get("/readyz").status, 503);
    database.run("RENAME TABLE events_gone TO events");
    wait_for("a table that is there again", || client.get("/readyz").status == 200);
}

/// A scraper with a token that stores no rows, and one without a token where the user allows it.
#[test]
fn figures_have_an_address_and_tokens_of_their_own() {
    let Some(database) = TestDatabase::start("figures at their own address") else { return };
    let tokens = AccessTokens::parse("0123456789abcdef")
        .unwrap()
        .with_metrics_tokens("fedcba9876543210")
        .unwrap();
    let gateway = database.gateway_with(
        |config| {
            config.metrics.listen = Some("127.0.0.1:0".parse().unwrap());
            config.metrics.anonymous = true;
        },
        tokens,
    );
    let mut client = client(&gateway);
    let mut get = |token: &str| {
        let head = format!(
            "GET /metrics HTTP/1.1\r\nhost: localhost\r\nauthorization: bearer {token}\r\n\r\n"
        );
        client.write(head.as_bytes()).unwrap();
        client.answer().unwrap().status
    };
    assert_eq!(
        [get("0123456789abcdef"), get("fedcba9876543210"), get("0000000000000000")],
        [403, 200, 401]
    );
    let headers = "content-type: application/json\r\nauthorization: Bearer fedcba9876543210\r\n";
    assert_eq!(client.send(ROWS, &row(1, 1), headers).status, 403);
    let mut scraper = HttpClient::connect(gateway.metrics_address().unwrap());
    assert_eq!([scraper.get("/metrics").status, scraper.get("/readyz").status], [200, 200]);
    let headers = "content-type: application/json\r\nauthorization: Bearer 0123456789abcdef\r\n";
    assert_eq!(scraper.send(ROWS, &row(1, 1), headers).status, 404, "rows go to the other address");
}
