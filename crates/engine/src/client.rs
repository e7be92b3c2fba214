//! One simulated user: its connection, its stream of transactions, and where it is in the one that it runs.

use std::time::Duration;

use truetps_driver::Link;
use truetps_workload::ClientStream;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientState {
    /// Connecting or logging in.
    Connecting,
    /// Without a transaction.
    Idle,
    /// A statement of its transaction is at the server.
    InFlight,
    /// A statement failed inside a transaction, which is being rolled back.
    RollingBack,
    /// Its connection broke; it will try again.
    Away,
    /// It has nothing more to do, and stays connected until the end.
    Done,
    /// Without a connection, for good.
    Lost,
}

/// An error that ended an attempt.
#[derive(Debug)]
pub(crate) struct AttemptFailure {
    pub(crate) class: String,
    pub(crate) code: u16,
    pub(crate) message: String,
}

/// The time without a connection: it broke, or is being renewed. How long the client tries to make a new one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Absence {
    pub(crate) ends_ns: u64,
    pub(crate) back_off: Duration,
    /// When there is something to do: the next attempt, or the end of the one that is under way.
    pub(crate) wakes_ns: u64,
    /// The client itself has closed the connection, to make a new one.
    pub(crate) is_planned: bool,
    /// A renewal that a full server has refused: until when that is no failure.
    pub(crate) full_until_ns: Option<u64>,
}

pub(crate) struct EngineClient {
    pub(crate) number: u32,
    pub(crate) state: ClientState,
    pub(crate) link: Option<Link>,
    pub(crate) stream: Box<dyn ClientStream>,
    /// Of the transaction that runs: when it was to start (in a closed loop: when it did).
    pub(crate) scheduled_ns: u64,
    /// When its first attempt started.
    pub(crate) started_ns: u64,
    /// Attempts after the first.
    pub(crate) retries: u32,
    /// Rows that this attempt has changed so far.
    pub(crate) rows_changed: u64,
    /// The statement in flight is the transaction's first one, or its last one.
    pub(crate) at_first: bool,
    pub(crate) at_last: bool,
    /// Why the transaction is being rolled back.
    pub(crate) failure: Option<Box<AttemptFailure>>,
    /// When the transaction before it ended.
    pub(crate) free_since_ns: u64,
    pub(crate) absence: Option<Box<Absence>>,
    /// Transactions that it still has to end, where it has a share of its own.
    pub(crate) share_left: Option<u64>,
    /// It has ended a transaction in the measure phase, well or not.
    pub(crate) has_finished: bool,
    /// Transactions that ended on this connection; counted where connections are renewed.
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
            failure: None,
            free_since_ns: 0,
            absence: None,
            share_left: None,
            has_finished: false,
            on_connection: 0,
        }
    }

    /// A transaction is under way.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self.state, ClientState::InFlight | ClientState::RollingBack)
    }

    /// Its connection is gone for good.
    pub(crate) fn give_up(&mut self) {
        self.link = None;
        self.absence = None;
        self.state = ClientState::Lost;
    }
}
