//! Servers start, answer, and leave nothing behind.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;
use std::time::{Duration, Instant};

use truetps_testkit::{PostgresOptions, PostgresServer, share_machine};

fn is_alive(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

#[test]
fn a_server_answers_and_is_gone_when_it_is_dropped() {
    let options = PostgresOptions { tcp: true, ..PostgresOptions::default() };
    let Some(server) = PostgresServer::start("a_server_answers", &options) else { return };
    let mut client = server.connect().unwrap();
    assert_eq!(client.query_value("SELECT 1 + 1").unwrap().as_deref(), Some("2"));
    let (pid, port) = (server.pid(), server.port().unwrap());
    let folder = server.socket().parent().unwrap().to_owned();
    drop(server);
    assert!(!is_alive(pid) && !folder.exists());
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
}

#[test]
fn a_server_outlives_the_thread_that_started_it() {
    let start = || PostgresServer::start("a_server_outlives_a_thread", &PostgresOptions::default());
    let Some(mut server) = std::thread::spawn(start).join().unwrap() else { return };
    std::thread::sleep(Duration::from_millis(200));
    server.connect().unwrap();
    server.kill();
    assert!(!is_alive(server.pid()));
    server.connect().map(drop).unwrap_err();
}

#[test]
fn a_server_that_cannot_start_shows_its_log() {
    let Some(programs) = truetps_testkit::Programs::find_or_skip("a_server_that_cannot_start")
    else {
        return;
    };
    let settings = vec![("no_such_setting".to_owned(), "1".to_owned())];
    // The time does not contain the wait for other tests.
    let _machine = share_machine();
    let began = Instant::now();
    let options = PostgresOptions { settings, ..PostgresOptions::default() };
    let error = PostgresServer::start_with(&programs, &options).unwrap_err();
    assert!(error.to_string().contains("no_such_setting"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(30));
}
