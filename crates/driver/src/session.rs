//! What a session of any kind of server looks like: a state machine without I/O.

use crate::{DriverError, Params, QueryResult, ServerError};

/// How one statement ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    pub affected_rows: u64,
    /// Rows that came; they are kept only where the session was told to.
    pub rows: u64,
    /// The statement failed; the session goes on.
    pub error: Option<ServerError>,
    /// Set where the session keeps rows: see [`Session::keep_rows`].
    pub result: Option<Box<QueryResult>>,
}

/// What the bytes that came have led to.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// More bytes are needed; there may be something to send.
    Pending,
    /// Logged in and prepared: statements may be sent.
    Ready,
    /// The statement that was sent has ended.
    Reply(Reply),
}

/// A session of any kind of server. One statement is in flight at a time, so that one call yields one event at most.
pub trait Session: Send {
    /// Appends to `out` what the client says first, where it is the client that speaks first. Called once, when the
    /// socket is open.
    fn begin(&mut self, out: &mut Vec<u8>);

    /// Takes all bytes that came; appends to `out` what must be sent now.
    fn on_bytes(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<Event, DriverError>;

    /// Appends the statement with this index to `out`.
    fn send(&mut self, statement: usize, params: &Params, out: &mut Vec<u8>);

    /// Appends a statement that is not in the list, as text: ROLLBACK, and all that is not measured.
    fn send_sql(&mut self, sql: &str, out: &mut Vec<u8>);

    /// From now on rows come with the reply, as text.
    fn keep_rows(&mut self);

    /// Appends the goodbye.
    fn quit(&mut self, out: &mut Vec<u8>);

    /// What it means that the server has closed the connection now.
    fn closed(&self) -> DriverError {
        DriverError::Closed
    }
}
