//! Rows whose answers are kept: what an answer means, when a row is sent again, and when waiting
//! for it ends.

use std::io;
use std::time::Duration;

use truetps_driver::{DriverError, Link};
use truetps_measure::{AttemptFailure, ns};
use truetps_record::{AnsweredRow, ErrorClass, RowAnswer};

use super::Drive;
use crate::client::ClientState;
use crate::reconnect::spread;
use crate::rows::{AnswerWriter, RowAttempts};
use crate::worker::LOOK;

/// Pause before a row is sent again, if the service does not ask for one; each further pause is
/// twice as long.
const RESEND_PAUSE: Duration = Duration::from_millis(50);
const RESEND_PAUSE_MAX: Duration = Duration::from_secs(5);

impl Drive<'_, '_> {
    /// The row in this slot has its final answer.
    pub(super) fn row_ended(&mut self, slot: usize, answer: RowAnswer, code: u16, now_ns: u64) {
        let Some(rows) = &mut self.rows else { return };
        let client = &mut self.worker.clients[slot];
        let Some(row) = client.stream.row() else { return };
        let answer = match answer {
            RowAnswer::Refused if client.row.may_be_saved => RowAnswer::Unknown,
            other => other,
        };
        rows.writer.add(&AnsweredRow {
            client: client.number,
            seq: row.seq,
            digest: row.digest,
            answer,
            code,
            attempts: client.retries + 1,
            at_ms: now_ns / 1_000_000,
        });
    }

    /// The answers so far are kept, before anything else happens.
    pub(super) fn write_answers(&mut self) {
        self.with_writer(|writer| writer.write());
    }

    fn with_writer(&mut self, write: impl FnOnce(&mut dyn AnswerWriter) -> io::Result<()>) {
        let Some(rows) = self.rows.as_mut().filter(|rows| !rows.has_failed) else { return };
        if let Err(error) = write(&mut *rows.writer) {
            rows.has_failed = true;
            // Another worker may have been the first.
            let _ = self
                .worker
                .shared
                .fatal
                .set(format!("the log of answers cannot be written: {error}"));
            self.timeline.end_now();
        }
    }

    /// The load is over: rows without an answer are unknown.
    pub(super) fn end_rows(&mut self) {
        let now_ns = self.timeline.now_ns();
        for slot in 0..self.worker.clients.len() {
            if self.worker.clients[slot].is_busy() {
                self.row_ended(slot, RowAnswer::Unknown, 0, now_ns);
            }
        }
        self.with_writer(|writer| writer.finish());
    }

    /// A row was refused, or answered with an error that leaves open whether it was saved.
    pub(super) fn settle_row(&mut self, slot: usize, failure: &AttemptFailure, now_ns: u64) {
        let answer = RowAnswer::of_failure(failure.class, failure.code);
        if answer == RowAnswer::Unknown && self.plan_resend(slot, failure, now_ns) {
            let client = &mut self.worker.clients[slot];
            client.state = ClientState::Paused;
            if client.link.as_ref().is_some_and(Link::is_closing) {
                self.renew(slot, now_ns);
            }
            return;
        }
        self.recorder.tally.failed(failure, false);
        self.row_ended(slot, answer, failure.code, now_ns);
        self.transaction_ended(slot, now_ns);
    }

    /// Notes that an attempt may have saved its row; returns whether the row will be sent again.
    pub(super) fn plan_resend(
        &mut self,
        slot: usize,
        failure: &AttemptFailure,
        now_ns: u64,
    ) -> bool {
        let Some(rows) = &self.rows else { return false };
        let client = &mut self.worker.clients[slot];
        client.row.may_be_saved = true;
        if client.retries >= rows.spec.resends || now_ns >= self.timeline.end_ns() {
            return false;
        }
        let own = RESEND_PAUSE.saturating_mul(1 << client.retries.min(10)).min(RESEND_PAUSE_MAX);
        let pause_ns = client.row.retry_after.take().map_or_else(|| spread(own, client.number), ns);
        client.row.resend_ns = Some(now_ns.saturating_add(pause_ns));
        client.retries += 1;
        client.stream.rewind();
        self.recorder.tally.retried(failure);
        true
    }

    /// Sends rows again that are due, and gives up connections whose answer is overdue.
    pub(super) fn look_at_rows(&mut self, now_ns: u64) {
        let Some(rows) = self.rows.as_mut().filter(|rows| rows.next_look_ns <= now_ns) else {
            return;
        };
        rows.next_look_ns = now_ns + ns(LOOK);
        let timeout = rows.spec.answer_timeout;
        for slot in 0..self.worker.clients.len() {
            let client = &mut self.worker.clients[slot];
            let RowAttempts { sent_ns, resend_ns, .. } = client.row;
            match client.state {
                ClientState::InFlight if now_ns.saturating_sub(sent_ns) > ns(timeout) => {
                    let text = format!("no answer within {} s", timeout.as_secs_f64());
                    self.lose(slot, io::Error::new(io::ErrorKind::TimedOut, text).into());
                }
                ClientState::Paused if resend_ns.is_some_and(|at_ns| at_ns <= now_ns) => {
                    client.row.resend_ns = None;
                    client.row.sent_ns = now_ns;
                    self.send_next(slot);
                }
                _ => {}
            }
        }
    }

    /// No row is sent again any more.
    pub(super) fn abandon_resends(&mut self) {
        for slot in 0..self.worker.clients.len() {
            self.abandon_resend(slot);
        }
    }

    /// A row that was to be sent again is not: it remains unknown.
    pub(super) fn abandon_resend(&mut self, slot: usize) {
        let client = &mut self.worker.clients[slot];
        if client.row.resend_ns.take().is_none() {
            return;
        }
        if client.state == ClientState::Paused {
            client.state = ClientState::Idle;
        }
        // It was not sent in this attempt.
        client.retries -= 1;
        let message = "the run ended before the row was sent again".to_owned();
        let failure = AttemptFailure { class: ErrorClass::ConnectionLost, code: 0, message };
        self.recorder.tally.failed(&failure, false);
        let now_ns = self.timeline.now_ns();
        self.row_ended(slot, RowAnswer::Unknown, 0, now_ns);
        self.count_down(slot, now_ns);
    }

    /// The connection of a row in flight broke; returns whether the row will be sent again.
    pub(super) fn row_lost(
        &mut self,
        slot: usize,
        failure: &AttemptFailure,
        error: &DriverError,
        now_ns: u64,
    ) -> bool {
        if self.plan_resend(slot, failure, now_ns) {
            return true;
        }
        self.row_ended(slot, RowAnswer::Unknown, error.code(), now_ns);
        false
    }
}
