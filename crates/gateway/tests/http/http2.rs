//! HTTP/2 without encryption, as frames.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::SOON;
use crate::gateway::{TestDatabase, client, row};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const RST_STREAM: u8 = 3;
const END_STREAM: u8 = 1;
/// Entries of HPACK's table.
const GET: u8 = 0x82;
const POST: u8 = 0x83;
/// Identifier 4, SETTINGS_INITIAL_WINDOW_SIZE: no bytes of an answer are taken.
const WINDOW_OF_NONE: [u8; 6] = [0, 4, 0, 0, 0, 0];
const END_HEADERS: u8 = 4;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend_from_slice(&[kind, flags]);
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// Method, scheme, path, host and type, as HPACK without tables of its own.
fn head(path: &str) -> Vec<u8> {
    head_of(POST, path)
}

fn head_of(method: u8, path: &str) -> Vec<u8> {
    let mut head = vec![method, 0x86];
    let mut literal = |index: &[u8], value: &str| {
        head.extend_from_slice(index);
        head.push(value.len() as u8);
        head.extend_from_slice(value.as_bytes());
    };
    literal(&[0x04], path);
    literal(&[0x01], "localhost");
    // Index 31, `content-type`, in two bytes.
    literal(&[0x0f, 0x10], "application/json");
    head
}

fn read_frame(stream: &mut TcpStream) -> (u8, u8, u32, Vec<u8>) {
    let mut head = [0; 9];
    stream.read_exact(&mut head).unwrap();
    let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
    stream.read_exact(&mut payload).unwrap();
    (head[3], head[4], u32::from_be_bytes([head[5], head[6], head[7], head[8]]), payload)
}

#[test]
fn rows_on_one_connection_are_answered_apart() {
    let Some(database) = TestDatabase::start("HTTP/2") else { return };
    let gateway = database.gateway(|_| {});
    let mut stream = TcpStream::connect(gateway.address()).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream.write_all(PREFACE).unwrap();
    stream.write_all(&frame(SETTINGS, 0, 0, &[])).unwrap();
    let streams: Vec<u32> = (0..50).map(|n| 2 * n + 1).collect();
    for stream_id in &streams {
        stream.write_all(&frame(HEADERS, END_HEADERS, *stream_id, &head("/v1/readings"))).unwrap();
        let json = row(*stream_id as usize, 1);
        stream.write_all(&frame(DATA, END_STREAM, *stream_id, json.as_bytes())).unwrap();
    }
    let mut stored = Vec::new();
    while stored.len() < streams.len() {
        let (kind, _, stream_id, payload) = read_frame(&mut stream);
        if kind == HEADERS {
            // Index 8 is `:status 200`.
            assert_eq!(payload[0], 0x88, "stream {stream_id}: {payload:?}");
            stored.push(stream_id);
        }
    }
    stored.sort_unstable();
    assert_eq!((stored, database.count()), (streams, 50));
}

/// Its connection answers pings and stays alive, so that only the time of a request ends the
/// stream.
#[test]
fn an_answer_that_is_not_taken_is_reset() {
    let Some(database) = TestDatabase::start("HTTP/2 without a window") else { return };
    let gateway = database.gateway(|config| {
        (config.limits.body_s, config.limits.write_s, config.queue.answer_ms) = (0.3, 0.3, 300);
    });
    let mut stream = TcpStream::connect(gateway.address()).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream.write_all(PREFACE).unwrap();
    stream.write_all(&frame(SETTINGS, 0, 0, &WINDOW_OF_NONE)).unwrap();
    stream
        .write_all(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &head_of(GET, "/metrics")))
        .unwrap();
    let mut seen = Vec::new();
    while seen.last() != Some(&RST_STREAM) {
        let (kind, _, stream_id, _) = read_frame(&mut stream);
        if stream_id == 1 {
            seen.push(kind);
        }
    }
    assert_eq!(seen, [HEADERS, RST_STREAM]);
}

#[test]
fn requests_beyond_the_limit_are_refused_on_their_streams() {
    let Some(database) = TestDatabase::start("HTTP/2 with many requests") else { return };
    let gateway =
        database.gateway(|config| (config.limits.requests, config.limits.peer_share) = (10, 1.0));
    let mut stream = TcpStream::connect(gateway.address()).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream.write_all(PREFACE).unwrap();
    stream.write_all(&frame(SETTINGS, 0, 0, &WINDOW_OF_NONE)).unwrap();
    for n in 0..20 {
        stream
            .write_all(&frame(
                HEADERS,
                END_HEADERS | END_STREAM,
                2 * n + 1,
                &head_of(GET, "/metrics"),
            ))
            .unwrap();
    }
    let (mut answered, mut refused) = (0, 0);
    while answered + refused < 20 {
        match read_frame(&mut stream) {
            (HEADERS, _, _, _) => answered += 1,
            // REFUSED_STREAM: clients may send it again.
            (RST_STREAM, _, _, code) => {
                assert_eq!(code, [0, 0, 0, 7]);
                refused += 1;
            }
            _ => {}
        }
    }
    assert_eq!((answered, refused), (10, 10));
    let mut other = client(&gateway);
    assert_eq!(
        [other.get("/metrics").status, other.get("/healthz").status, other.get("/readyz").status],
        [429, 200, 200]
    );
}
