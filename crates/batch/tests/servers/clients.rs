//! Clients that retry until their rows have a final answer, and the check of all answers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use truetps_batch::{CommitAnswer, CommitQueue, RowReply};

use crate::SOON;
use crate::tables::TestServer;

/// The way back to a client that waits on a channel.
pub(crate) struct TestReply(SyncSender<CommitAnswer>);

impl TestReply {
    pub(crate) fn new(sender: SyncSender<CommitAnswer>) -> Self {
        Self(sender)
    }
}

impl RowReply for TestReply {
    fn is_abandoned(&self) -> bool {
        false
    }

    fn answer(self, answer: CommitAnswer) {
        let _ = self.0.send(answer);
    }
}

/// The queue of one gateway.
pub(crate) type TestQueue = Arc<CommitQueue<TestReply>>;

/// Sends one row, as JSON, and waits for its answer. `None`: the queue refused it.
pub(crate) fn send(queue: &TestQueue, json: &str, wait: Duration) -> Option<CommitAnswer> {
    Some(receive(&start(queue, json, wait)?))
}

/// Sends one row without waiting.
pub(crate) fn start(
    queue: &TestQueue,
    json: &str,
    wait: Duration,
) -> Option<std::sync::mpsc::Receiver<CommitAnswer>> {
    let row = queue
        .columns()
        .read_row(json.as_bytes(), None)
        .unwrap_or_else(|error| panic!("{json}: {error}"));
    let (sender, receiver) = sync_channel(1);
    queue.push(row, TestReply::new(sender), 0, wait).ok()?;
    Some(receiver)
}

pub(crate) fn receive(receiver: &std::sync::mpsc::Receiver<CommitAnswer>) -> CommitAnswer {
    receiver.recv_timeout(SOON).expect("each row has an answer")
}

/// Sends all rows at once, so that they are in one batch if a connection is busy, and returns their
/// answers.
pub(crate) fn send_all(queue: &TestQueue, rows: &[String]) -> Vec<CommitAnswer> {
    let started: Vec<_> =
        rows.iter().map(|json| start(queue, json, SOON).expect("there is room")).collect();
    started.iter().map(receive).collect()
}

pub(crate) const NEW: CommitAnswer = CommitAnswer::Stored { is_duplicate: Some(false) };

pub(crate) fn is_stored(answer: &CommitAnswer) -> bool {
    matches!(answer, CommitAnswer::Stored { .. })
}

/// Row number `seq` of a client: its text follows from the key, so that the check knows it.
pub(crate) fn row(client: usize, seq: u64) -> String {
    format!(r#"{{"client":{client},"seq":{seq},"text":"{}"}}"#, text(client, seq))
}

fn text(client: usize, seq: u64) -> String {
    format!("{client}-{}", seq * 31 % 977)
}

/// Clients on one or more gateways, each in a thread.
pub(crate) struct Load {
    threads: Vec<thread::JoinHandle<ClientLog>>,
    stop: Arc<AtomicBool>,
    acknowledged: Arc<AtomicU64>,
}

/// What one client knows.
#[derive(Debug, Default)]
pub(crate) struct ClientLog {
    /// Rows that are acknowledged: all below.
    pub(crate) acknowledged: u64,
    pub(crate) sent_again: u64,
    pub(crate) unknown: u64,
}

impl Load {
    /// Each client sends a row, again and again to the next gateway until it is acknowledged, then
    /// the next row.
    pub(crate) fn start(queues: &[TestQueue], clients: usize) -> Self {
        let (stop, acknowledged) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let spawn = |client| {
            let (queues, stop, acknowledged) =
                (queues.to_vec(), Arc::clone(&stop), Arc::clone(&acknowledged));
            thread::spawn(move || run_client(client, &queues, &stop, &acknowledged))
        };
        Self { threads: (0..clients).map(spawn).collect(), stop, acknowledged }
    }

    /// Waits until so many more rows are acknowledged.
    pub(crate) fn wait_for(&self, more: u64) {
        self.wait_for_within(more, SOON);
    }

    pub(crate) fn wait_for_within(&self, more: u64, time: Duration) {
        let until = self.acknowledged.load(Ordering::Relaxed) + more;
        let end = std::time::Instant::now() + time;
        while self.acknowledged.load(Ordering::Relaxed) < until {
            assert!(std::time::Instant::now() < end, "no row is acknowledged any more");
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Lets all clients finish their rows.
    pub(crate) fn end(self) -> Vec<ClientLog> {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    }
}

fn run_client(
    client: usize,
    queues: &[TestQueue],
    stop: &AtomicBool,
    acknowledged: &AtomicU64,
) -> ClientLog {
    let mut log = ClientLog::default();
    let mut turn = client;
    while !stop.load(Ordering::Relaxed) {
        let json = row(client, log.acknowledged);
        loop {
            let answer = send(&queues[turn % queues.len()], &json, Duration::from_secs(2));
            match answer {
                Some(CommitAnswer::Stored { .. }) => break,
                Some(CommitAnswer::Unknown) => log.unknown += 1,
                Some(CommitAnswer::NotStored(_)) | None => {}
                Some(answer) => panic!("{json}: {answer:?}"),
            }
            log.sent_again += 1;
            turn += 1;
            thread::sleep(Duration::from_millis(5));
        }
        log.acknowledged += 1;
        acknowledged.fetch_add(1, Ordering::Relaxed);
    }
    log
}

/// The table has exactly the acknowledged rows: each client ended with an acknowledged one.
pub(crate) fn check_table(server: &TestServer, logs: &[ClientLog]) {
    let found = server
        .client()
        .query("SELECT client, seq, text FROM rows_in ORDER BY client, seq")
        .unwrap();
    let mut rows = BTreeMap::<usize, u64>::new();
    for row in found.rows {
        let [client, seq, value] = &row[..] else { panic!("{row:?}") };
        let (client, seq) = (
            client.as_ref().unwrap().parse().unwrap(),
            seq.as_ref().unwrap().parse::<u64>().unwrap(),
        );
        let expected = rows.entry(client).or_default();
        assert_eq!(seq, *expected, "client {client} has lost a row, or has one twice");
        assert_eq!(*value, Some(text(client, seq)));
        *expected += 1;
    }
    for (client, log) in logs.iter().enumerate() {
        assert_eq!(rows.get(&client).copied().unwrap_or(0), log.acknowledged, "client {client}");
    }
}
