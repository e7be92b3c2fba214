//! Requests whose frames are odd: each has one answer, and the bytes that follow are no second
//! request.

use crate::gateway::{TestDatabase, client};

/// A row of 20 bytes.
const ROW: &str = r#"{"client":1,"seq":1}"#;

#[test]
fn odd_frames_are_refused_or_read_as_one_request() {
    let Some(database) = TestDatabase::start("odd frames") else { return };
    let gateway =
        database.gateway(|config| (config.limits.body_s, config.limits.header_s) = (1.0, 1.0));
    let check = |headers: &str, body: &str, status: u16| {
        let mut client = client(&gateway);
        let head =
            "POST /v1/readings HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
        // It fails if the gateway has answered before all was sent.
        let _ = client.write(format!("{head}{headers}\r\n{body}").as_bytes());
        assert_eq!(
            client.answer().unwrap().status,
            status,
            "{headers}{}",
            &body[..body.len().min(80)]
        );
        assert!(client.is_closed(), "a second answer, or an open connection: {headers}");
    };
    let chunked = "transfer-encoding: chunked\r\n";
    let row = format!("14\r\n{ROW}\r\n0\r\n");
    let hidden = "0\r\n\r\nGET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    check(&format!("content-length: 5\r\n{chunked}"), hidden, 400);
    check("content-length: 20\r\ncontent-length: 5\r\n", ROW, 400);
    check(
        &format!("{chunked}connection: close\r\n"),
        &format!("{row}host: other.example\r\n\r\n"),
        200,
    );
    check(chunked, &format!("{row}{}\r\n", "x: y\r\n".repeat(100_000)), 400);
    let extended = ROW
        .chars()
        .map(|byte| format!("1;{}\r\n{byte}\r\n", "x".repeat(8_000)))
        .collect::<Vec<_>>()
        .concat();
    check(chunked, &format!("{extended}0\r\n\r\n"), 400);
    check("expect: 100-continue\r\ncontent-length: 9999999\r\nconnection: close\r\n", "", 413);
    assert_eq!(database.count(), 1);
}
