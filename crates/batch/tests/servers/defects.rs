//! Defects of the program that embeds the commit connections.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};

use truetps_batch::{BatchLimits, CommitAnswer, CommitQueue, CommitThreads, QueueLimits, RowReply};

use crate::SOON;
use crate::clients::{NEW, row};
use crate::tables::TestServer;

/// A way back that is defective for one row.
struct DefectiveReply(Option<SyncSender<CommitAnswer>>);

impl RowReply for DefectiveReply {
    fn is_abandoned(&self) -> bool {
        false
    }

    fn answer(self, answer: CommitAnswer) {
        self.0.expect("the defect").send(answer).unwrap();
    }
}

#[test]
fn a_panic_ends_neither_the_table_nor_its_connections() {
    let Some(server) = TestServer::mariadb("a panic in a commit thread") else { return };
    let settings = server.settings();
    let limits = QueueLimits {
        rows: 100,
        peer_rows: 100,
        bytes: 1 << 20,
        wait: SOON,
        batch: BatchLimits { rows: 10, bytes: 1 << 20 },
    };
    let queue = Arc::new(CommitQueue::new(
        settings.inspect().unwrap().columns,
        limits,
        settings.connections,
    ));
    let threads = CommitThreads::start(&settings, &queue).unwrap();
    let read = |seq| queue.columns().read_row(row(1, seq).as_bytes(), None).unwrap();
    for seq in [0, 2, 4] {
        queue.push(read(seq), DefectiveReply(None), 0, SOON).unwrap();
        let (sender, receiver) = sync_channel(1);
        // It may be in the batch of the defect; then its way back is dropped, and its client sends
        // it again.
        queue.push(read(seq + 1), DefectiveReply(Some(sender)), 0, SOON).unwrap();
        let answer = receiver.recv_timeout(SOON).or_else(|_| {
            let (sender, receiver) = sync_channel(1);
            queue.push(read(seq + 1), DefectiveReply(Some(sender)), 0, SOON).unwrap();
            receiver.recv_timeout(SOON)
        });
        assert!(matches!(&answer, Ok(CommitAnswer::Stored { .. })), "{answer:?}");
    }
    assert_eq!(server.count("client = 1"), 6);
    let (sender, receiver) = sync_channel(1);
    queue.push(read(9), DefectiveReply(Some(sender)), 0, SOON).unwrap();
    assert_eq!(receiver.recv_timeout(SOON).unwrap(), NEW);
    assert!(!threads.have_ended());
    queue.close();
    threads.join();
}
