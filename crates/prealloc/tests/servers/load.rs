//! Clients that insert rows until the server is gone, and remember which were acknowledged.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use truetps_driver::Client;
use truetps_sandbox::RunningServer;

use crate::common::{Bench, SOON};

const CLIENTS: u64 = 4;

pub(crate) fn make_table(client: &mut Client) {
    client.execute("CREATE DATABASE IF NOT EXISTS t").unwrap();
    client
        .execute("CREATE TABLE IF NOT EXISTS t.k (id BIGINT PRIMARY KEY, v LONGTEXT) ENGINE=InnoDB")
        .unwrap();
}

pub(crate) struct Load {
    threads: Vec<JoinHandle<BTreeSet<u64>>>,
    is_over: Arc<AtomicBool>,
    count: Arc<AtomicU64>,
}

impl Load {
    /// Keys from `first` on.
    pub(crate) fn start(server: &RunningServer, first: u64) -> Self {
        let (is_over, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let threads = (0..CLIENTS)
            .map(|n| {
                let mut client = server.connect(SOON).unwrap();
                let (is_over, count) = (Arc::clone(&is_over), Arc::clone(&count));
                std::thread::spawn(move || {
                    let mut acknowledged = BTreeSet::new();
                    for key in (first + n..).step_by(CLIENTS as usize) {
                        let text = "v".repeat((key * 7919 % 3000) as usize);
                        let sql = format!("INSERT INTO t.k VALUES ({key}, '{text}')");
                        if is_over.load(Ordering::Relaxed) || client.execute(&sql).is_err() {
                            break;
                        }
                        count.fetch_add(1, Ordering::Relaxed);
                        acknowledged.insert(key);
                    }
                    acknowledged
                })
            })
            .collect();
        Self { threads, is_over, count }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Stops the clients, if the server has not; returns the acknowledged keys.
    pub(crate) fn end(self) -> BTreeSet<u64> {
        self.is_over.store(true, Ordering::Relaxed);
        self.threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    }
}

pub(crate) fn keys_in_table(client: &mut Client) -> BTreeSet<u64> {
    let rows = client.query("SELECT id FROM t.k").unwrap().rows;
    rows.into_iter().map(|row| row[0].clone().unwrap().parse().unwrap()).collect()
}

/// The keys of all statements in the binlogs.
pub(crate) fn keys_in_binlogs(bench: &Bench) -> BTreeSet<u64> {
    const WORDS: &[u8] = b"INSERT INTO t.k VALUES (";
    let mut keys = BTreeSet::new();
    for file in bench.files() {
        let bytes = std::fs::read(file).unwrap();
        for at in (0..bytes.len().saturating_sub(WORDS.len()))
            .filter(|at| bytes[*at..].starts_with(WORDS))
        {
            let digits = bytes[at + WORDS.len()..].iter().take_while(|byte| byte.is_ascii_digit());
            keys.insert(digits.fold(0, |number, digit| number * 10 + u64::from(digit - b'0')));
        }
    }
    keys
}
