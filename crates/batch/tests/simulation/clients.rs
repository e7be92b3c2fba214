//! Clients that send their rows one after the other, and each again until it has a final answer.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use truetps_batch::{CommitAnswer, RowReply};
use truetps_random::RandomStream;

use crate::table::ModelRow;

/// Errors of bad rows; the last ones could be the server's fault, too.
const BAD: [u16; 8] = [1406, 1366, 1048, 1452, 1526, 1213, 1114, 1142];

/// Answers that have arrived: ticket and answer.
pub(crate) type Inbox = Rc<RefCell<Vec<(u64, CommitAnswer)>>>;

/// The way back to a client of the model. Dropping it without an answer is noticed.
pub(crate) struct ModelReply {
    pub(crate) ticket: u64,
    pub(crate) is_gone: Rc<Cell<bool>>,
    pub(crate) inbox: Inbox,
    pub(crate) gateway_lives: Rc<Cell<bool>>,
    pub(crate) has_answered: Cell<bool>,
}

impl RowReply for ModelReply {
    fn is_abandoned(&self) -> bool {
        self.is_gone.get()
    }

    fn answer(self, answer: CommitAnswer) {
        self.has_answered.set(true);
        self.inbox.borrow_mut().push((self.ticket, answer));
    }
}

impl Drop for ModelReply {
    fn drop(&mut self) {
        let may_drop = self.has_answered.get() || self.is_gone.get() || !self.gateway_lives.get();
        assert!(may_drop || std::thread::panicking(), "ticket {} has no answer", self.ticket);
    }
}

pub(crate) struct ModelClient {
    /// Still to be sent; the last one is next.
    pub(crate) rows: Vec<ModelRow>,
    /// The ticket that it waits for, and whether it has gone.
    pub(crate) waits: Option<(u64, Rc<Cell<bool>>)>,
    pub(crate) replica: usize,
}

/// Rows of all clients. Keys are mostly a client's own. Some rows are bad, some are sent by two
/// clients, and some keys are used again with another value.
pub(crate) fn clients(random: &mut RandomStream, replicas: u64) -> Vec<ModelClient> {
    let count = 1 + random.below(40);
    let bad_in_100 = [0, 1, 10, 50, 100][random.below(5) as usize];
    let shared_in_100 = [0, 5, 30][random.below(3) as usize];
    let mut clients: Vec<_> = (0..count)
        .map(|_| ModelClient {
            rows: Vec::new(),
            waits: None,
            replica: random.below(replicas) as usize,
        })
        .collect();
    for n in 0..clients.len() {
        for m in 0..=random.below(5) {
            let is_bad = random.below(100) < bad_in_100;
            let bad = if is_bad { BAD[random.below(BAD.len() as u64) as usize] } else { 0 };
            let unique = if random.below(20) == 0 { 1 + random.below(5) as u16 } else { 0 };
            let (key, value) = ((n as u64) << 32 | m, random.below(1000) as u32);
            let row = ModelRow { key, value, bad, unique, is_changed: random.below(20) == 0 };
            clients[n].rows.push(row);
            if random.below(100) < shared_in_100 {
                let value = if random.below(2) == 0 { row.value } else { row.value + 1 };
                let other = random.below(count) as usize;
                clients[other].rows.push(ModelRow { value, ..row });
            }
        }
    }
    clients
}
