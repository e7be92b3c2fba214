//! `truetps gateway` as processes that are killed and stopped, on one database.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, geteuid, getrlimit, prlimit};
use truetps_disk::DiskCrash;
use truetps_testkit::mysql_family::mariadb;

use crate::common::{Place, has_disks, signal, wait_until};
use crate::support::Owned;

pub(crate) const CREATE: &str = "CREATE TABLE precious.readings (client INT NOT NULL, seq BIGINT \
     NOT NULL, text VARCHAR(20), PRIMARY KEY (client, seq))";
const CLIENTS: usize = 20;
/// Connections that do nothing, as far as descriptors allow.
const IDLE: u64 = 20_000;
const FILES_OF_TESTS: u64 = 1_000;

/// A gateway that runs, and its address.
pub(crate) struct GatewayProcess {
    pub(crate) child: Child,
    address: SocketAddr,
    /// What it has printed until then.
    head: String,
}

impl GatewayProcess {
    fn start(place: &Place, dsn: &str) -> Self {
        Self::start_with(place, dsn, &[])
    }

    fn start_with(place: &Place, dsn: &str, more: &[&str]) -> Self {
        let args = ["gateway", "--dsn", dsn, "--table", "readings", "--listen", "127.0.0.1:0"];
        Self::of(place.start(&[&args, more].concat()))
    }

    pub(crate) fn of(mut child: Child) -> Self {
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let (mut head, mut line) = (String::new(), String::new());
        let address = loop {
            line.clear();
            assert!(stderr.read_line(&mut line).unwrap() > 0, "the gateway ended: {head}");
            head.push_str(&line);
            if let Some((_, rest)) = line.split_once("http://") {
                break rest.split('/').next().unwrap().parse().unwrap();
            }
        };
        thread::spawn(move || stderr.read_to_end(&mut Vec::new()));
        Self { child, address, head }
    }

    fn limit_files(&self, most: u64) {
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        let pid = Pid::from_raw(self.child.id() as i32);
        prlimit(pid, Resource::Nofile, limit).unwrap();
    }

    /// Resident memory in kilobytes: VmRSS now, VmHWM at most until now.
    fn memory_kb(&self, line: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|found| found.starts_with(line)).unwrap();
        line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
    }

    pub(crate) fn end(mut self) {
        signal(self.child.id(), Signal::TERM);
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

/// Status of one row sent on a new connection; `None`: the connection broke.
fn post(address: SocketAddr, client: usize, seq: u64) -> Option<u16> {
    status_of(&mut TcpStream::connect(address).ok()?, client, seq)
}

/// Sends a row on a connection that stays open.
fn status_of(stream: &mut TcpStream, client: usize, seq: u64) -> Option<u16> {
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    let body = format!(r#"{{"client":{client},"seq":{seq},"text":"{client}-{seq}"}}"#);
    let length = body.len();
    let request = format!(
        "POST /v1/readings HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).ok()?;
    // An answer is one small write, whose body ends with its line.
    let (mut answer, mut bytes) = (Vec::new(), [0; 1024]);
    while !answer.ends_with(b"}\n") {
        match stream.read(&mut bytes).ok()? {
            0 => return None,
            length => answer.extend_from_slice(&bytes[..length]),
        }
    }
    str::from_utf8(&answer).ok()?.split(' ').nth(1)?.parse().ok()
}

/// Clients that send each row, to one gateway after another, until it is acknowledged.
struct GatewayLoad {
    addresses: Arc<Mutex<Vec<SocketAddr>>>,
    stop: Arc<AtomicBool>,
    acknowledged: Arc<AtomicU64>,
    threads: Vec<thread::JoinHandle<u64>>,
}

impl GatewayLoad {
    fn start(addresses: Vec<SocketAddr>) -> Self {
        let addresses = Arc::new(Mutex::new(addresses));
        let (stop, acknowledged) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let threads = (0..CLIENTS).map(|client| {
            let (addresses, stop, acknowledged) =
                (Arc::clone(&addresses), Arc::clone(&stop), Arc::clone(&acknowledged));
            thread::spawn(move || {
                let (mut seq, mut turn) = (0, client);
                while !stop.load(Ordering::Relaxed) {
                    loop {
                        let address = {
                            let addresses = addresses.lock().unwrap();
                            addresses[turn % addresses.len()]
                        };
                        match post(address, client, seq) {
                            Some(200) => break,
                            None | Some(429 | 503) => turn += 1,
                            Some(status) => panic!("client {client}, row {seq}: {status}"),
                        }
                        thread::sleep(Duration::from_millis(10));
                    }
                    seq += 1;
                    acknowledged.fetch_add(1, Ordering::Relaxed);
                }
                seq
            })
        });
        let threads = threads.collect();
        Self { addresses, stop, acknowledged, threads }
    }

    fn wait_for(&self, more: u64) {
        let until = self.acknowledged.load(Ordering::Relaxed) + more;
        wait_until("acknowledged rows", || self.acknowledged.load(Ordering::Relaxed) >= until);
    }

    /// Rows that each client knows to be stored.
    fn end(self) -> Vec<u64> {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    }
}

fn check_rows(owned: &Owned, acknowledged: &[u64]) {
    let mut admin = owned.admin();
    let sql = "SELECT client, COUNT(*), MAX(seq) + 1, SUM(text <> CONCAT(client, '-', seq)) FROM \
               precious.readings GROUP BY client ORDER BY client";
    let found = admin.query(sql).unwrap().rows;
    for (client, rows) in acknowledged.iter().enumerate() {
        let row: Vec<_> =
            found[client].iter().map(|cell| cell.as_deref().unwrap().to_owned()).collect();
        assert_eq!(row, [client.to_string(), rows.to_string(), rows.to_string(), "0".to_owned()]);
    }
}

#[test]
fn a_killed_gateway_loses_and_doubles_no_row() {
    let Some(binary) = mariadb("kill -9 of the gateway") else { return };
    let owned = Owned::start(&binary, &[]);
    owned.execute(&[CREATE]);
    let place = Place::new();
    let dsn = owned.socket_dsn().replace("@?", "@/precious?");
    let mut gateways = [GatewayProcess::start(&place, &dsn), GatewayProcess::start(&place, &dsn)];
    let load = GatewayLoad::start(gateways.iter().map(|gateway| gateway.address).collect());
    for round in 0..8 {
        load.wait_for(60);
        let killed = &mut gateways[round % 2];
        killed.child.kill().unwrap();
        killed.child.wait().unwrap();
        *killed = GatewayProcess::start(&place, &dsn);
        load.addresses.lock().unwrap()[round % 2] = killed.address;
    }
    load.wait_for(60);
    let acknowledged = load.end();
    check_rows(&owned, &acknowledged);
    gateways.into_iter().for_each(GatewayProcess::end);
}

#[test]
fn a_gateway_that_is_stopped_under_load_drains() {
    let Some(binary) = mariadb("SIGTERM to the gateway") else { return };
    let owned = Owned::start(&binary, &[]);
    owned.execute(&[CREATE]);
    let place = Place::new();
    let dsn = owned.socket_dsn().replace("@?", "@/precious?");
    let mut stopped = GatewayProcess::start(&place, &dsn);
    let mut other = GatewayProcess::start(&place, &dsn);
    let load = GatewayLoad::start(vec![stopped.address, other.address]);
    load.wait_for(200);
    let began = Instant::now();
    signal(stopped.child.id(), Signal::TERM);
    assert_eq!(stopped.child.wait().unwrap().code(), Some(0), "it drained");
    assert!(began.elapsed() < Duration::from_secs(20));
    load.wait_for(200);
    check_rows(&owned, &load.end());
    signal(other.child.id(), Signal::INT);
    assert_eq!(other.child.wait().unwrap().code(), Some(0));
}

/// The gateway goes on while its database loses its power, with no, half and all of the unflushed
/// sectors on the disk.
#[test]
fn nothing_acknowledged_is_lost_in_a_power_cut() {
    let Some(binary) = mariadb("power cuts below the gateway") else { return };
    if !has_disks("power cuts below the gateway") {
        return;
    }
    let settings = [("innodb_flush_log_at_trx_commit", "1")];
    let mut owned = Owned::start_on_disk(&binary, "flush-2ms", &settings);
    owned.execute(&[CREATE]);
    let place = Place::new();
    let gateway = GatewayProcess::start(&place, &owned.socket_dsn().replace("@?", "@/precious?"));
    let load = GatewayLoad::start(vec![gateway.address]);
    let mut lost_blocks = 0;
    for (seed, survival) in (1..).zip([0.0, 0.5, 1.0].into_iter().cycle()) {
        // A cut between two commits takes nothing. Such cuts do not count.
        if seed > 5 && lost_blocks > 0 {
            break;
        }
        assert!(seed <= 40, "no cut has lost anything");
        load.wait_for(150);
        let (server, lost) =
            owned.after_power_cut(&binary, &settings, DiskCrash::Power { survival, seed });
        owned = server;
        lost_blocks += lost;
    }
    load.wait_for(100);
    check_rows(&owned, &load.end());
    gateway.end();
}

/// InnoDB shows a row to others before its commit is on disk: a retry through another gateway must
/// wait for it, too.
#[test]
fn a_duplicate_is_not_acknowledged_before_its_row_is_on_disk() {
    let Some(binary) = mariadb("rows that are seen before their flush") else { return };
    if !has_disks("rows that are seen before their flush") {
        return;
    }
    let settings = [("innodb_flush_log_at_trx_commit", "1"), ("skip_log_bin", "ON")];
    let owned = Owned::start_on_disk(&binary, "flush-100ms", &settings);
    owned.execute(&[CREATE]);
    let place = Place::new();
    let dsn = owned.socket_dsn().replace("@?", "@/precious?");
    let gateways = [GatewayProcess::start(&place, &dsn), GatewayProcess::start(&place, &dsn)];
    let [first, second] = gateways.each_ref().map(|gateway| gateway.address);
    // Both have their connections then.
    assert_eq!((post(first, 1, 0), post(second, 2, 0)), (Some(200), Some(200)));
    owned.slow_down_disk();
    for seq in 1..=10 {
        let send = move |address| {
            let status = post(address, 1, seq);
            (status, Instant::now())
        };
        let original = thread::spawn(move || send(first));
        thread::sleep(Duration::from_millis(30));
        let (retry, retry_at) = send(second);
        let (status, stored_at) = original.join().unwrap();
        assert_eq!((status, retry), (Some(200), Some(200)));
        // The threads that read the answers are not woken in their order.
        assert!(
            retry_at + Duration::from_millis(10) > stored_at,
            "acknowledged {:?} too early",
            stored_at - retry_at
        );
    }
    gateways.into_iter().for_each(GatewayProcess::end);
}

/// Connections that cannot be accepted wait; those that are open are served.
#[test]
fn a_gateway_without_descriptors_serves_who_is_there() {
    let Some(binary) = mariadb("descriptors of the gateway") else { return };
    let owned = Owned::start(&binary, &[]);
    owned.execute(&[CREATE]);
    let place = Place::new();
    let gateway = GatewayProcess::start(&place, &owned.socket_dsn().replace("@?", "@/precious?"));
    assert_eq!(post(gateway.address, 0, 0), Some(200));
    let mut early = TcpStream::connect(gateway.address).unwrap();
    assert_eq!(status_of(&mut early, 0, 1), Some(200));
    gateway.limit_files(60);
    let many: Vec<_> = (0..300).map(|_| TcpStream::connect(gateway.address).unwrap()).collect();
    thread::sleep(Duration::from_millis(300));
    for seq in 2..10 {
        assert_eq!(status_of(&mut early, 0, seq), Some(200), "row {seq}");
    }
    drop(many);
    assert_eq!(post(gateway.address, 0, 10), Some(200), "it accepts connections again");
    check_rows(&owned, &[11]);
    drop(early);
    gateway.end();
}

#[test]
fn idle_connections_cost_little_memory() {
    let Some(binary) = mariadb("idle connections") else { return };
    let owned = Owned::start(&binary, &[]);
    owned.execute(&[CREATE]);
    let place = Place::new();
    let config = place.path().join("gateway.toml");
    fs::write(&config, "[limits]\nconnections = 30000\npeer_share = 1\nheader_s = 600\n").unwrap();
    let dsn = owned.socket_dsn().replace("@?", "@/precious?");
    let gateway = GatewayProcess::start_with(&place, &dsn, &["--config", config.to_str().unwrap()]);
    assert_eq!(post(gateway.address, 0, 0), Some(200));
    let before = gateway.memory_kb("VmRSS:");
    // Descriptors of this process are for other tests, too.
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(IDLE + FILES_OF_TESTS);
    let count = IDLE.min(limit.saturating_sub(FILES_OF_TESTS));
    let mut idle: Vec<_> =
        (0..count).map(|_| TcpStream::connect(gateway.address).unwrap()).collect();
    // The last one is served when all have been accepted.
    assert_eq!(status_of(idle.last_mut().unwrap(), 0, 1), Some(200));
    let kb = (gateway.memory_kb("VmRSS:") - before) as f64 / count as f64;
    eprintln!("{count} idle connections: {kb:.1} KB each");
    assert!(kb < 16.0, "{kb:.1} KB for each of {count} idle connections");
    check_rows(&owned, &[2]);
    drop(idle);
    gateway.end();
}

/// A connection of HTTP/2 without a window, with as many requests of figures as it may have.
fn open_unread_http2(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    let frame = |kind: u8, flags: u8, stream: u32, payload: &[u8]| {
        [&(payload.len() as u32).to_be_bytes()[1..], &[kind, flags], &stream.to_be_bytes(), payload]
            .concat()
    };
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend(frame(4, 0, 0, &[0, 4, 0, 0, 0, 0]));
    let head = [&[0x82, 0x86, 0x04, 8], &b"/metrics"[..], &[0x01, 9], b"localhost"].concat();
    (0..250).for_each(|n| bytes.extend(frame(1, 5, 2 * n + 1, &head)));
    stream.write_all(&bytes).unwrap();
    stream
}

/// Short requests that once made it hold hundreds of megabytes, or shut others out, all at the same
/// time.
#[test]
fn hostile_clients_cost_little_memory_and_shut_none_out() {
    let Some(binary) = mariadb("hostile clients") else { return };
    let owned = Owned::start(&binary, &[]);
    owned.execute(&[CREATE]);
    let place = Place::new();
    let gateway = GatewayProcess::start(&place, &owned.socket_dsn().replace("@?", "@/precious?"));
    let address = gateway.address;
    let started = |request: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    };
    let post = |path: &str, kind: &str, rest: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/{kind}\r\n{rest}"
        )
    };
    let chunked = "transfer-encoding: chunked\r\n\r\n";
    let lines = "0\n".repeat(2_000_000);
    let batch = format!("content-length: {}\r\n\r\n{lines}", lines.len());
    let mut held: Vec<_> =
        (0..64).map(|_| started(&post("/v1/readings/batch", "x-ndjson", chunked))).collect();
    held.extend((0..140).map(|_| started(&post("/v1/readings", "json", chunked))));
    held.extend((0..8).map(|_| started(&post("/v1/readings/batch", "x-ndjson", &batch))));
    held.extend((0..20).map(|_| open_unread_http2(address)));
    held.extend(
        (0..20).map(|_| started(&"GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(200))),
    );
    held.extend((0..2_000).map(|_| started("")));
    for seq in 0..20 {
        assert_eq!(self::post(address, 0, seq), Some(200), "row {seq}");
    }
    let mb = gateway.memory_kb("VmHWM:") >> 10;
    eprintln!("hostile clients: {mb} MB at most");
    assert!(mb <= 256, "{mb} MB");
    drop(held);
    check_rows(&owned, &[20]);
    gateway.end();
}

/// With more silent clients than descriptors, the database can still be logged in to.
#[test]
fn connections_leave_descriptors_for_the_database() {
    let Some(binary) = mariadb("descriptors of the database") else { return };
    let owned = Owned::start(&binary, &[]);
    owned.execute(&[CREATE]);
    let place = Place::new();
    let dsn = owned.socket_dsn().replace("@?", "@/precious?");
    let limited = [
        "--nofile=64",
        env!("CARGO_BIN_EXE_truetps"),
        "gateway",
        "--dsn",
        &dsn,
        "--table",
        "readings",
    ];
    let mut command = place.program(Path::new("/usr/bin/prlimit"), &limited);
    let gateway = GatewayProcess::of(
        command
            .args(["--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    assert!(gateway.head.contains("the limit of open files (64) leaves 29"), "{}", gateway.head);
    let silent: Vec<_> = (0..80).map(|_| TcpStream::connect(gateway.address).unwrap()).collect();
    assert_eq!(post(gateway.address, 0, 0), Some(200));
    let mut admin = owned.admin();
    let sessions = "SELECT id FROM information_schema.processlist WHERE user <> 'system user' AND \
                    id <> CONNECTION_ID()";
    for row in admin.query(sessions).unwrap().rows {
        // A session that reads settings may have ended.
        let _ = admin.execute(&format!("KILL {}", row[0].as_deref().unwrap()));
    }
    assert_eq!(post(gateway.address, 0, 1), Some(200), "it logs in again");
    drop(silent);
    check_rows(&owned, &[2]);
    gateway.end();
}

#[test]
fn a_table_without_a_key_is_refused() {
    let Some(binary) = mariadb("a table without a key") else { return };
    let owned = Owned::start(&binary, &[]);
    owned.execute(&["CREATE TABLE precious.log (id INT AUTO_INCREMENT PRIMARY KEY, line TEXT)"]);
    let place = Place::new();
    let dsn = owned.socket_dsn().replace("@?", "@/precious?");
    let listen = ["--listen", "127.0.0.1:0"];
    place.refused(
        &[&["gateway", "--dsn", &dsn, "--table", "log"], &listen[..]].concat(),
        &["table `log`: table `log` has no unique key", "hint: make the clients number their rows"],
    );
    place.refused(
        &[&["gateway", "--dsn", &dsn, "--table", "missing"], &listen[..]].concat(),
        &["no table `missing`"],
    );
    let check = place.good(
        &[&["gateway", "--dsn", &dsn, "--table", "letters", "--check"], &listen[..]].concat(),
    );
    assert_eq!(
        check.stderr.contains("warning: the gateway runs as root"),
        geteuid().is_root(),
        "{}",
        check.stderr
    );
    assert!(
        check.stdout.contains("table letters: a row is known by id\n  X-Durability: commit-fsync"),
        "{}",
        check.stdout
    );
}
