//! The bytes that a floor client sends, ready before it starts, and how it counts the answers.

use std::cmp::Ordering;

use anyhow::{Context, bail};
use truetps_driver::{Connector, Params};
use truetps_workload::Workload;

/// Different rows, as few as stay in a cache beside everything else.
const READY_STATEMENTS: u32 = 64;
const HEADER_BYTES: usize = 4;
/// A header, and the byte that says what the packet is.
const HEAD_BYTES: usize = HEADER_BYTES + 1;
const OK: u8 = 0;

/// Packets of the workload, as its first clients send them.
pub(super) fn ready_statements(connector: &Connector, workload: &dyn Workload) -> Vec<Vec<u8>> {
    let mut params = Params::default();
    let statement = |client| {
        let (mut stream, mut session, mut bytes) = (workload.client(client), connector.session(client), Vec::new());
        stream.next_transaction();
        params.clear();
        let next = stream.next_statement(&mut params);
        session.send(next.statement, &params, &mut bytes);
        bytes
    };
    (0..READY_STATEMENTS).map(statement).collect()
}

/// `answered` is at most `sent`, and at the end of a limited run both are the limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct FloorCounts {
    pub(super) sent: u64,
    pub(super) answered: u64,
}

/// What a session does after bytes have arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextStep {
    /// The answer is incomplete.
    Receive,
    Send,
    /// The limit is reached.
    Rest,
}

/// The sessions of a client, each with at most one statement in flight.
pub(super) struct FloorTraffic {
    replies: Vec<FloorReply>,
    counts: FloorCounts,
    statements_max: u64,
}

impl FloorTraffic {
    pub(super) fn new(sessions: usize, statements_max: u64) -> Self {
        Self { replies: vec![FloorReply::default(); sessions], counts: FloorCounts::default(), statements_max }
    }

    /// Counts a statement of this session, which it then sends; `false`: the limit is reached.
    #[inline]
    pub(super) fn claim(&mut self, session: usize) -> bool {
        let may_send = self.counts.sent < self.statements_max;
        self.counts.sent += u64::from(may_send);
        self.replies[session].is_awaited = may_send;
        may_send
    }

    /// Takes what a session has received; nothing: the server has closed it.
    #[inline]
    pub(super) fn take(&mut self, session: usize, bytes: &[u8]) -> anyhow::Result<NextStep> {
        if !self.replies[session].take(bytes).with_context(|| format!("session {session}"))? {
            return Ok(NextStep::Receive);
        }
        self.counts.answered += 1;
        Ok(if self.claim(session) { NextStep::Send } else { NextStep::Rest })
    }

    pub(super) fn is_over(&self) -> bool {
        self.counts.answered == self.statements_max
    }

    pub(super) fn counts(&self) -> FloorCounts {
        self.counts
    }
}

/// The answer to the statement in flight: one OK packet, whose length depends on the server.
#[derive(Debug, Clone, Copy, Default)]
struct FloorReply {
    is_awaited: bool,
    /// Bytes that have arrived.
    seen: usize,
    /// The first of them.
    head: [u8; HEAD_BYTES],
}

impl FloorReply {
    /// Whether the answer is complete now.
    #[inline]
    fn take(&mut self, bytes: &[u8]) -> anyhow::Result<bool> {
        if bytes.is_empty() {
            bail!("closed by the server");
        }
        if !self.is_awaited {
            bail!("an answer without a statement");
        }
        for (place, byte) in self.head.iter_mut().skip(self.seen).zip(bytes) {
            *place = *byte;
        }
        self.seen += bytes.len();
        if self.seen < HEAD_BYTES {
            return Ok(false);
        }
        let [low, middle, high, _, kind] = self.head;
        if kind != OK {
            bail!("the server refused the statement: {}", String::from_utf8_lossy(bytes));
        }
        let packet_bytes = HEADER_BYTES + (usize::from(low) | usize::from(middle) << 8 | usize::from(high) << 16);
        match self.seen.cmp(&packet_bytes) {
            Ordering::Less => Ok(false),
            Ordering::Equal => {
                *self = Self::default();
                Ok(true)
            }
            Ordering::Greater => bail!("more than one answer to a statement"),
        }
    }
}

#[cfg(test)]
mod tests {
    use truetps_driver::Endpoint;
    use truetps_record::Protocol;

    use super::*;
    use crate::bench::client::connect_to;

    const ANSWER: [u8; 11] = [7, 0, 0, 1, 0, 1, 0, 2, 0, 0, 0];

    #[test]
    fn statements_are_packets_of_the_workload() {
        let (workload, connector) = connect_to(&Endpoint::Unix("/none".into()), Protocol::Text).unwrap();
        let statements = ready_statements(&connector, &*workload);
        assert_eq!(statements.len(), READY_STATEMENTS as usize);
        assert!(statements.iter().any(|one| *one != statements[0]));
        for statement in statements {
            let (header, payload) = statement.split_at(HEADER_BYTES);
            assert_eq!(header, [payload.len() as u8, 0, 0, 0]);
            let sql = String::from_utf8_lossy(&payload[1..]);
            assert_eq!(payload[0], 3);
            assert!(sql.starts_with("INSERT INTO sbtest1 (id, k, c, pad) VALUES (DEFAULT, "), "{sql}");
            assert_eq!(sql.matches('-').count(), 9 + 4, "{sql}");
        }
    }

    #[test]
    fn an_answer_counts_once_however_it_is_cut() {
        for cut in 1..ANSWER.len() {
            let mut traffic = FloorTraffic::new(1, 2);
            assert!(traffic.claim(0));
            assert_eq!(traffic.take(0, &ANSWER[..cut]).unwrap(), NextStep::Receive, "cut at {cut}");
            assert_eq!(traffic.take(0, &ANSWER[cut..]).unwrap(), NextStep::Send, "cut at {cut}");
            assert!(!traffic.is_over());
            assert_eq!(traffic.take(0, &ANSWER).unwrap(), NextStep::Rest);
            assert!(traffic.is_over());
            assert_eq!(traffic.counts(), FloorCounts { sent: 2, answered: 2 });
        }
    }

    #[test]
    fn a_limit_below_the_sessions_leaves_some_at_rest() {
        let mut traffic = FloorTraffic::new(3, 2);
        assert_eq!([0, 1, 2].map(|session| traffic.claim(session)), [true, true, false]);
        assert_eq!(traffic.counts().sent, 2);
    }

    #[test]
    fn wrong_answers_are_errors() {
        let check = |is_awaited: bool, bytes: &[u8], message: &str| {
            let mut traffic = FloorTraffic::new(2, u64::from(is_awaited));
            traffic.claim(1);
            let error = format!("{:#}", traffic.take(1, bytes).unwrap_err());
            assert!(error.starts_with("session 1: ") && error.contains(message), "{error}");
        };
        check(true, &[], "closed");
        check(false, &ANSWER, "without a statement");
        check(true, &ANSWER.repeat(2), "more than one");
        check(true, b"\x09\0\0\x01\xff\x15\x04#28000no", "refused the statement");
    }
}
