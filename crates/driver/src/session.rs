//! The interface of a session with any kind of server: a state machine without I/O.

use std::time::Duration;

use crate::{DriverError, Params, QueryResult, ResultSets, ServerError};

/// How one statement ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    pub affected_rows: u64,
    /// Number of rows; they are kept only on request.
    pub rows: u64,
    /// The statement failed; the session remains usable.
    pub error: Option<ServerError>,
    /// An HTTP service that refuses a request may say when to send it again.
    pub retry_after: Option<Duration>,
    /// Set if the session keeps rows: see [`Session::keep_rows`].
    pub result: Option<Box<QueryResult>>,
    /// The buffer lent with [`Session::collect`]. If one of several statements in a text failed, it
    /// has the results of the statements before.
    pub sets: Option<Box<ResultSets>>,
}

/// A statement that has been prepared by [`Session::prepare`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prepared {
    /// The session's own number for it. It may be reused once the statement is closed.
    pub handle: u32,
    /// Number of values that an execution needs.
    pub params: u16,
    /// Columns of its rows; 0 if it has none, or if they are known only after the execution.
    pub columns: u16,
}

/// The event that the received bytes have led to.
#[derive(Debug, PartialEq, Eq)]
pub enum SessionEvent {
    /// More bytes are needed; there may be something to send.
    Pending,
    /// Logged in, set up and prepared: statements may be sent.
    Ready,
    /// The statement has ended; or a prepare was refused, and the error has the reason.
    Reply(Reply),
    /// The statement of [`Session::prepare`] may be executed.
    Prepared(Prepared),
}

/// The type of a parameter: an OID of PostgreSQL's `pg_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParamType(pub u32);

impl ParamType {
    /// The server infers it.
    pub const UNKNOWN: Self = Self(0);
    pub const CHAR: Self = Self(18);
    pub const INT8: Self = Self(20);
    pub const TEXT: Self = Self(25);
    pub const FLOAT8: Self = Self(701);
    pub const VARCHAR: Self = Self(1043);
    pub const DATE: Self = Self(1082);
    pub const TIME: Self = Self(1083);
    pub const TIMESTAMP: Self = Self(1114);
}

/// The transaction status that the server sends with every reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionStatus {
    Idle,
    InTransaction,
    /// A statement of the transaction failed: only ROLLBACK is accepted.
    Failed,
}

impl TransactionStatus {
    pub(crate) fn from_byte(status: u8) -> Result<Self, DriverError> {
        match status {
            b'I' => Ok(Self::Idle),
            b'T' => Ok(Self::InTransaction),
            b'E' => Ok(Self::Failed),
            _ => Err(DriverError::Protocol("an unknown transaction status")),
        }
    }
}

/// A session with any kind of server. One statement is in flight at a time, so that one call yields
/// at most one event.
///
/// There are two ways to use it. Measured statements are a fixed list, prepared at login:
/// [`Session::send`]. All others are ad hoc: text with [`Session::send_bytes`], or
/// [`Session::prepare`] and [`Session::execute`] at any time. A mistake of an ad-hoc caller (a
/// handle that is not open, a command while another one is in flight) is [`DriverError::Misuse`]:
/// nothing was appended to `out`, and the session remains usable.
pub trait Session: Send {
    /// Appends the client's first message to `out`, if the client speaks first. Called once, when
    /// the socket is open.
    fn start_login(&mut self, out: &mut Vec<u8>);

    /// Whether there is no login: the session is ready as soon as its socket is connected.
    fn is_ready_when_connected(&self) -> bool {
        false
    }

    /// Takes all received bytes; appends to `out` what must be sent now.
    ///
    /// On an error, only TLS may append to `out`: pending messages of the session itself are not
    /// sent.
    fn on_bytes(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<SessionEvent, DriverError>;

    /// Appends the statement with this index to `out`.
    fn send(&mut self, statement: usize, params: &Params, out: &mut Vec<u8>);

    /// Appends a statement that is not in the list, as text: ROLLBACK, and all statements that are
    /// not measured.
    fn send_sql(&mut self, sql: &str, out: &mut Vec<u8>) {
        self.send_bytes(sql.as_bytes(), out);
    }

    /// Appends SQL text, which need not be UTF-8 and may be several statements with `;` between
    /// them. Nothing may be in flight.
    fn send_bytes(&mut self, sql: &[u8], out: &mut Vec<u8>);

    /// Prepares a statement that is not in the list: leads to [`SessionEvent::Prepared`], or to
    /// [`SessionEvent::Reply`] with the error if the server refuses it.
    ///
    /// Each `?` outside of quotes is a parameter. PostgreSQL receives `$1`, `$2`..., with `types`;
    /// missing types at the end are inferred by the server. MySQL receives `?` unchanged, and no
    /// types.
    fn prepare(
        &mut self,
        sql: &[u8],
        types: &[ParamType],
        out: &mut Vec<u8>,
    ) -> Result<(), DriverError>;

    /// Executes the statement of this handle, with as many values as it has parameters. The values
    /// are sent in binary to MySQL and as text to PostgreSQL, always separate from the statement.
    fn execute(
        &mut self,
        handle: u32,
        params: &Params,
        out: &mut Vec<u8>,
    ) -> Result<(), DriverError>;

    /// Closes the statement of this handle. There is no reply and no event. MySQL receives it at
    /// once, with the bytes appended to `out`; PostgreSQL receives it together with the next
    /// command.
    fn close_statement(&mut self, handle: u32, out: &mut Vec<u8>) -> Result<(), DriverError>;

    /// Lends the session a buffer for the results of the next command: it is cleared, filled with
    /// text, and returned as [`Reply::sets`]. A prepare has no results, and leaves the buffer to
    /// the next command.
    ///
    /// A statement whose results exceed [`COLLECTED_BYTES_MAX`](crate::COLLECTED_BYTES_MAX) fails
    /// on the client's side: its results are skipped, and the session remains usable.
    ///
    /// Until the first byte of the reply has arrived, another buffer may be lent; the earlier one
    /// is returned. So a caller with thousands of statements in flight needs large buffers only for
    /// the replies that it is reading.
    fn collect(&mut self, into: Box<ResultSets>) -> Option<Box<ResultSets>>;

    /// From now on rows are returned with the reply, as text: for the few queries of a control
    /// connection. Rows taken by [`Session::collect`] are not kept here.
    fn keep_rows(&mut self);

    /// Whether a file that the server has asked for is being sent: the rest of it comes from
    /// [`Session::put_more`].
    fn has_more_to_send(&self) -> bool {
        false
    }

    /// Appends the next piece, of some 64 KB, once all earlier bytes were sent.
    fn put_more(&mut self, _out: &mut Vec<u8>) {}

    /// The version that the server reports; empty before the login has ended.
    fn server_version(&self) -> &str;

    /// The transaction status as of the last reply. `None`: the server does not report it (MySQL).
    fn transaction_status(&self) -> Option<TransactionStatus> {
        None
    }

    /// Appends the goodbye.
    fn quit(&mut self, out: &mut Vec<u8>);

    /// The server has closed the connection: an error, unless this ends a reply.
    fn on_close(&mut self) -> Result<SessionEvent, DriverError> {
        Err(self.closed())
    }

    /// Whether the server closes the connection after the reply that has just ended.
    fn is_closing(&self) -> bool {
        false
    }

    /// The meaning of a connection that the server closes now.
    fn closed(&self) -> DriverError {
        DriverError::Closed
    }
}
