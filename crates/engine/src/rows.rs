//! Loads that save rows: the answer to each row is kept before it counts.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use truetps_record::AnsweredRow;

/// Each transaction saves one row ([`ClientStream::row`](truetps_workload::ClientStream::row)), and
/// may be sent again unchanged.
#[derive(Debug, Clone)]
pub struct LoggedRows {
    pub log: Arc<dyn AnswerLog>,
    /// After this time without an answer the client gives its connection up.
    pub answer_timeout: Duration,
    /// How often a row without a clear answer is sent again.
    pub resends: u32,
}

/// Keeps the answers of all workers.
pub trait AnswerLog: fmt::Debug + Send + Sync {
    /// The part of this worker.
    fn writer(&self, worker: usize) -> io::Result<Box<dyn AnswerWriter>>;
}

/// Keeps the answers of one worker.
pub trait AnswerWriter {
    /// Takes the final answer to a row.
    fn add(&mut self, row: &AnsweredRow);

    /// Writes what was added. No interval that counts a row ends before.
    fn write(&mut self) -> io::Result<()>;

    /// Writes the rest: every row that was sent has been added.
    fn finish(&mut self) -> io::Result<()>;
}

/// The attempts of a client's current row.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RowAttempts {
    /// When the last one was sent.
    pub(crate) sent_ns: u64,
    /// One of them may have saved the row.
    pub(crate) may_be_saved: bool,
    /// The row is sent again at this time.
    pub(crate) resend_ns: Option<u64>,
    /// The pause that the service asked for.
    pub(crate) retry_after: Option<Duration>,
}

/// The rows of one worker.
pub(crate) struct RowKeeper<'a> {
    pub(crate) spec: &'a LoggedRows,
    pub(crate) writer: Box<dyn AnswerWriter>,
    /// Nothing is written after the first error, which ends the run.
    pub(crate) has_failed: bool,
    pub(crate) next_look_ns: u64,
}

impl<'a> RowKeeper<'a> {
    pub(crate) fn new(spec: &'a LoggedRows, worker: usize) -> io::Result<Self> {
        Ok(Self { spec, writer: spec.log.writer(worker)?, has_failed: false, next_look_ns: 0 })
    }
}
