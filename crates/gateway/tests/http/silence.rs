//! Clients that send nothing, or read nothing: their connections end, and their addresses take no
//! others' place.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use truetps_testkit::take_machine;

use crate::SOON;
use crate::client::HttpClient;
use crate::gateway::{TestDatabase, client, row};

/// A connection from another address of this host.
fn connect_from(last: u8, to: SocketAddr) -> TcpStream {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &SocketAddr::from(([127, 0, 0, last], 0))).unwrap();
    connect(&socket, &to).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream
}

/// Whether the server ends the connection, whatever it sends before.
fn ends(mut stream: &TcpStream) -> bool {
    let mut bytes = [0; 8_192];
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

#[test]
fn connections_without_a_whole_request_end() {
    let Some(database) = TestDatabase::start("silent connections") else { return };
    let gateway = database.gateway(|config| config.limits.header_s = 1.0);
    let parts: [&[u8]; 5] = [
        b"",
        b"P",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nho",
    ];
    let streams = parts.map(|part| {
        let mut stream = TcpStream::connect(gateway.address()).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream.write_all(part).unwrap();
        stream
    });
    for (stream, part) in streams.iter().zip(parts) {
        assert!(ends(stream), "{:?} stays open", part.escape_ascii().to_string());
    }
}

/// 4,000 requests at once, whose answers are not read: more than the buffers of the sockets take.
#[test]
fn a_client_that_does_not_read_is_ended() {
    let Some(database) = TestDatabase::start("unread answers") else { return };
    let gateway = database.gateway(|config| config.limits.write_s = 1.0);
    let mut stream = TcpStream::connect(gateway.address()).unwrap();
    stream.set_write_timeout(Some(SOON)).unwrap();
    let requests = "GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(4_000);
    // It fails if the connection has ended before all was sent.
    let _ = stream.write_all(requests.as_bytes());
    let end = Instant::now() + SOON;
    let mut looks = client(&gateway);
    while !looks.get("/metrics").body.contains("truetps_gateway_connections 1\n") {
        assert!(Instant::now() < end, "the connection stays open");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn one_peer_cannot_take_the_place_of_another() {
    let Some(database) = TestDatabase::start("connections of one peer") else { return };
    let gateway = database.gateway(|config| config.limits.connections = 20);
    let address = gateway.address();
    let mut served = HttpClient::of(connect_from(3, address));
    assert_eq!(served.post("/v1/readings", &row(3, 0)).status, 200);
    let _silent: Vec<_> = (0..200).map(|n| connect_from(4 + n % 2, address)).collect();
    assert_eq!(served.post("/v1/readings", &row(3, 1)).status, 200, "the connection was replaced");
    for seq in 0..20 {
        let mut new = HttpClient::of(connect_from(if seq % 2 == 0 { 4 } else { 6 }, address));
        assert_eq!(
            new.post("/v1/readings", &row(6, seq)).status,
            200,
            "a silent connection is not replaced"
        );
    }
    let metrics = served.get("/metrics").body;
    assert!(metrics.contains("truetps_gateway_connections_limit 20\n"), "{metrics}");
}

/// Twice as many as one peer may have, each with a descriptor here and one in the gateway.
#[test]
fn ten_thousand_silent_connections_do_not_slow_others() {
    let _machine = take_machine();
    let Some(database) = TestDatabase::start("10,000 silent connections") else { return };
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
    if limit.maximum.is_some_and(|most| most < 16_000) {
        eprintln!(
            "SKIPPED: 10,000 silent connections: the limit of open files is {:?}",
            limit.maximum
        );
        return;
    }
    let gateway = database.gateway(|_| {});
    let address = gateway.address();
    let silent: Vec<_> = (0..10_000).map(|_| connect_from(9, address)).collect();
    let mut took: Vec<_> = (0..11)
        .map(|seq| {
            let began = Instant::now();
            let mut new = HttpClient::of(connect_from(if seq % 2 == 0 { 9 } else { 10 }, address));
            assert_eq!(new.get("/healthz").status, 200);
            let took = began.elapsed();
            assert_eq!(new.post("/v1/readings", &row(1, seq)).status, 200);
            took
        })
        .collect();
    // The side that closes first keeps the port for a minute: 10,000 ports, if it were this one.
    drop(gateway);
    drop(silent);
    took.sort_unstable();
    assert!(took[5] < Duration::from_millis(50), "{took:?}");
}
