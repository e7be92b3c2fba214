//! One simulated user: its connection, its stream of transactions, and its position in the current
//! one.

use std::time::Duration;

use truetps_driver::Link;
use truetps_measure::AttemptFailure;
use truetps_workload::ClientStream;

use crate::rows::RowAttempts;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientState {
    /// Connecting or logging in.
    Connecting,
    /// Without a transaction.
    Idle,
    /// The server is executing a statement of its transaction.
    InFlight,
    /// Its row is sent again after a pause.
    Paused,
    /// A statement failed inside a transaction, which is being rolled back.
    RollingBack,
    /// Its connection broke; it will retry.
    Away,
    /// Finished; it stays connected until the end.
    Done,
    /// Permanently without a connection.
    Lost,
}

/// The period without a connection: it broke, or is being renewed. How long the client tries to
/// reconnect.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Absence {
    pub(crate) ends_ns: u64,
    pub(crate) back_off: Duration,
    /// Time of the next action: the next attempt, or the timeout of the current one.
    pub(crate) wakes_ns: u64,
    /// The client itself closed the connection, to renew it.
    pub(crate) is_planned: bool,
    /// A full server has refused the renewal: until this time that is not a failure.
    pub(crate) full_until_ns: Option<u64>,
}

impl Absence {
    pub(crate) fn new(ends_ns: u64, back_off: Duration, is_planned: bool) -> Self {
        Self { ends_ns, back_off, wakes_ns: u64::MAX, is_planned, full_until_ns: None }
    }
}

pub(crate) struct EngineClient {
    pub(crate) number: u32,
    pub(crate) state: ClientState,
    pub(crate) link: Option<Link>,
    pub(crate) stream: Box<dyn ClientStream>,
    /// Scheduled start of the current transaction (in a closed loop: its actual start).
    pub(crate) scheduled_ns: u64,
    /// When its first attempt started.
    pub(crate) started_ns: u64,
    /// Attempts after the first.
    pub(crate) retries: u32,
    /// Rows that this attempt has changed so far.
    pub(crate) rows_changed: u64,
    /// Whether the statement in flight is the transaction's first one, or its last one.
    pub(crate) at_first: bool,
    pub(crate) at_last: bool,
    /// Attempts to save its row, if answers are kept.
    pub(crate) row: RowAttempts,
    /// Why the transaction is being rolled back.
    pub(crate) failure: Option<Box<AttemptFailure>>,
    /// When the previous transaction ended.
    pub(crate) free_since_ns: u64,
    pub(crate) absence: Option<Box<Absence>>,
    /// Transactions that it still has to end, if it has its own share.
    pub(crate) share_left: Option<u64>,
    /// Whether it has ended a transaction in the measure phase, successfully or not.
    pub(crate) has_finished: bool,
    /// Transactions that ended on this connection; counted only if connections are renewed.
    pub(crate) on_connection: u64,
}

impl EngineClient {
    pub(crate) fn new(number: u32, link: Option<Link>, stream: Box<dyn ClientStream>) -> Self {
        Self {
            number,
            state: if link.is_some() { ClientState::Connecting } else { ClientState::Lost },
            link,
            stream,
            scheduled_ns: 0,
            started_ns: 0,
            retries: 0,
            rows_changed: 0,
            at_first: true,
            at_last: true,
            row: RowAttempts::default(),
            failure: None,
            free_since_ns: 0,
            absence: None,
            share_left: None,
            has_finished: false,
            on_connection: 0,
        }
    }

    /// Whether a transaction is running.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self.state, ClientState::InFlight | ClientState::RollingBack)
    }

    /// Its connection is permanently lost.
    pub(crate) fn give_up(&mut self) {
        self.link = None;
        self.absence = None;
        self.state = ClientState::Lost;
    }
}
