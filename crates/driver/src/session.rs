//! What a session of any kind of server looks like: a state machine without I/O.

use crate::{DriverError, Params, QueryResult, ResultSets, ServerError, TransactionStatus};

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
    /// What was lent with [`Session::collect`]. Where a text has several statements and one of them failed, it has the
    /// results of those before.
    pub sets: Option<Box<ResultSets>>,
}

/// A statement that has been prepared by [`Session::prepare`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prepared {
    /// The session's own number for it. It may be given out again once the statement is closed.
    pub handle: u32,
    /// Values that an execution needs.
    pub params: u16,
    /// Columns of its rows; 0 where it has none, or where only the execution will tell.
    pub columns: u16,
}

/// What the bytes that came have led to.
#[derive(Debug, PartialEq, Eq)]
pub enum SessionEvent {
    /// More bytes are needed; there may be something to send.
    Pending,
    /// Logged in, set up and prepared: statements may be sent.
    Ready,
    /// The statement that was sent has ended; or one was not prepared, and the error says why.
    Reply(Reply),
    /// The statement of [`Session::prepare`] may be executed.
    Prepared(Prepared),
}

/// The type of a parameter: an OID of PostgreSQL's `pg_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParamType(pub u32);

impl ParamType {
    /// The server finds it out.
    pub const UNKNOWN: Self = Self(0);
    pub const CHAR: Self = Self(18);
    pub const INT8: Self = Self(20);
    pub const INT2: Self = Self(21);
    pub const INT4: Self = Self(23);
    pub const TEXT: Self = Self(25);
    pub const FLOAT4: Self = Self(700);
    pub const FLOAT8: Self = Self(701);
    pub const VARCHAR: Self = Self(1043);
    pub const DATE: Self = Self(1082);
    pub const TIME: Self = Self(1083);
    pub const TIMESTAMP: Self = Self(1114);
}

/// A session of any kind of server. One statement is in flight at a time, so that one call yields one event at most.
///
/// There are two ways to use it. What is measured is a fixed list of statements, made ready at login: [`Session::send`].
/// Everything else is ad hoc: text with [`Session::send_bytes`], or [`Session::prepare`] and [`Session::execute`] at any
/// time. What an ad-hoc caller does wrong (a handle that is not open, a command while another one is in flight) is
/// [`DriverError::Misuse`]: nothing was appended to `out`, and the session goes on.
pub trait Session: Send {
    /// Appends to `out` what the client says first, where it is the client that speaks first. Called once, when the
    /// socket is open.
    fn begin(&mut self, out: &mut Vec<u8>);

    /// Takes all bytes that came; appends to `out` what must be sent now.
    ///
    /// With an error, that is what TLS has to say, if anything: of what the session itself was about to say, nothing
    /// is appended.
    fn on_bytes(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<SessionEvent, DriverError>;

    /// Appends the statement with this index to `out`.
    fn send(&mut self, statement: usize, params: &Params, out: &mut Vec<u8>);

    /// Appends a statement that is not in the list, as text: ROLLBACK, and all that is not measured.
    fn send_sql(&mut self, sql: &str, out: &mut Vec<u8>) {
        self.send_bytes(sql.as_bytes(), out);
    }

    /// Appends SQL text, which need not be UTF-8 and may be several statements with `;` between them. Nothing may be in
    /// flight.
    fn send_bytes(&mut self, sql: &[u8], out: &mut Vec<u8>);

    /// Prepares a statement that is not in the list: leads to [`SessionEvent::Prepared`], or to [`SessionEvent::Reply`] with the
    /// error where the server refuses it.
    ///
    /// Each `?` outside of quotes is a parameter. To PostgreSQL they go as `$1`, `$2`..., with `types`, of which any
    /// may be missing at the end: the server finds those out. MySQL takes `?` as it is, and looks at no types.
    fn prepare(&mut self, sql: &[u8], types: &[ParamType], out: &mut Vec<u8>) -> Result<(), DriverError>;

    /// Executes what was prepared under this handle, with as many values as it has parameters. The values go in binary
    /// to MySQL and as text to PostgreSQL, always apart from the statement.
    fn execute(&mut self, handle: u32, params: &Params, out: &mut Vec<u8>) -> Result<(), DriverError>;

    /// Closes what was prepared under this handle. There is no reply, and no event: MySQL is told at once, with what is
    /// appended to `out`; PostgreSQL together with the next command.
    fn close_statement(&mut self, handle: u32, out: &mut Vec<u8>) -> Result<(), DriverError>;

    /// Lends the session a place for the results of the command that is sent next: it is cleared, filled with text, and
    /// comes back as [`Reply::sets`]. A statement that is prepared has no results, and leaves it to the next command.
    ///
    /// A statement whose results are larger than [`COLLECTED_BYTES_MAX`](crate::COLLECTED_BYTES_MAX) has failed on this
    /// side: they are passed over, and the session goes on.
    ///
    /// Until the first byte of the reply has come, another place may be lent; the one before is returned. So a caller
    /// with thousands of statements in flight needs large places for the replies that it is reading only.
    fn collect(&mut self, into: Box<ResultSets>) -> Option<Box<ResultSets>>;

    /// From now on rows come with the reply, as text: for the few queries of a control connection. They are not kept
    /// where [`Session::collect`] takes them.
    fn keep_rows(&mut self);

    /// What the server says that its version is; empty before the login has ended.
    fn server_version(&self) -> &str;

    /// Where the server is with transactions, as of the last reply. `None`: it does not say (MySQL).
    fn transaction_status(&self) -> Option<TransactionStatus> {
        None
    }

    /// Appends the goodbye.
    fn quit(&mut self, out: &mut Vec<u8>);

    /// What it means that the server has closed the connection now.
    fn closed(&self) -> DriverError {
        DriverError::Closed
    }
}
