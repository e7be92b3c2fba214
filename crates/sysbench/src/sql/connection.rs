//! One connection of a script.

use truetps_driver::{DriverError, Link, ResultSets, RowValues};

use super::bulk::Bulk;
use super::driver::SqlError;
use super::shapes::{ConnectionShape, LuaStructure, ResultShape};
use crate::command::{Counter, ShapeNumber};

/// What a connection waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ConnectionWait {
    /// Nothing: it accepts a command.
    Nothing,
    /// The server's answer to the login; or, without a link, the time of the next attempt.
    Connecting(ConnectReason),
    /// The reply to a text.
    Query,
    /// The reply to a statement that is prepared.
    Prepare {
        statement: u32,
        goal: Goal,
    },
    Execute {
        statement: u32,
    },
    /// The reply to ROLLBACK, which follows an error.
    RollBack,
}

/// Why a statement is prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goal {
    /// `con:prepare()`: the script gets an object for it.
    New,
    /// `stmt:bind_param()`: the types of its values are known.
    Bound,
    /// `stmt:execute()`.
    Execute,
}

/// Why a connection is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectReason {
    /// `drv:connect()`.
    First,
    /// `con:reconnect()`.
    Asked,
    /// It broke, with an error that the user ignores: it is reopened until that succeeds.
    Broken,
}

pub(crate) struct Connection {
    pub(crate) driver: usize,
    /// Number among all connections, which selects its server.
    pub(crate) number: u32,
    pub(crate) tid: u32,
    pub(crate) shape: LuaStructure<ConnectionShape>,
    pub(crate) result: LuaStructure<ResultShape>,
    /// `None`: closed, or not open yet.
    pub(crate) link: Option<Link>,
    /// Why the link is gone, if it broke while nothing was in flight: the next command fails with
    /// it.
    pub(crate) lost: Option<DriverError>,
    /// Pause between two attempts to reopen it.
    pub(crate) back_off_ns: u64,
    /// A dry connection, without a link: `--mysql-dry-run`.
    pub(crate) is_dry: bool,
    pub(crate) doing: ConnectionWait,
    /// A statement is in flight, and no buffer has been lent for its results.
    pub(crate) awaits_sets: bool,
    /// When the command was sent.
    pub(crate) sent_ns: u64,
    /// Kind of the statement that is in flight.
    pub(crate) kind: usize,
    /// … and its shape.
    pub(crate) shape_number: ShapeNumber,
    /// Text of the statement in flight, for messages.
    pub(crate) text: Vec<u8>,
    /// Time of the next action even without an answer; u64::MAX: never.
    pub(crate) wakes_ns: u64,
    /// When the attempts to connect end.
    pub(crate) gives_up_ns: u64,
    pub(crate) statements: Vec<u32>,
    pub(crate) sets: Option<Box<ResultSets>>,
    /// The result that is being read: its number, the position in its values, and the remaining
    /// rows.
    pub(crate) set: usize,
    pub(crate) offset: usize,
    pub(crate) rows_left: u64,
    pub(crate) bulk: Option<Bulk>,
}

impl Connection {
    pub(crate) fn new(
        driver: usize,
        number: u32,
        tid: u32,
        shape: LuaStructure<ConnectionShape>,
        result: LuaStructure<ResultShape>,
    ) -> Self {
        Self {
            driver,
            number,
            tid,
            shape,
            result,
            link: None,
            lost: None,
            back_off_ns: 0,
            is_dry: false,
            doing: ConnectionWait::Nothing,
            awaits_sets: false,
            sent_ns: 0,
            kind: 0,
            shape_number: ShapeNumber::default(),
            text: Vec::new(),
            wakes_ns: u64::MAX,
            gives_up_ns: u64::MAX,
            statements: Vec::new(),
            sets: None,
            set: 0,
            offset: 0,
            rows_left: 0,
            bulk: None,
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.link.is_some() || self.lost.is_some() || self.is_dry
    }

    pub(crate) fn is_connecting(&self) -> bool {
        matches!(self.doing, ConnectionWait::Connecting(_))
    }

    /// Shows the script that a statement succeeded.
    pub(crate) fn show_success(&self) {
        self.shape.with(|shape| {
            (shape.error, shape.sql_errno) = (0, 0);
            (shape.sql_state, shape.sql_errmsg) = (std::ptr::null(), std::ptr::null());
        });
    }

    /// Shows the script an error that the server did not report.
    pub(crate) fn show_failure(&self) {
        self.show_success();
        self.shape.with(|shape| shape.error = 2);
    }

    /// Shows the script an error: 1 is ignorable, 2 fatal.
    pub(crate) fn show_error(&mut self, severity: i32, error: &SqlError) {
        self.shape.with(|shape| {
            (shape.error, shape.sql_errno) = (severity, error.number);
            put_text(&mut shape.state_text, &error.state);
            put_text(&mut shape.message_text, &error.message);
            (shape.sql_state, shape.sql_errmsg) =
                (shape.state_text.as_ptr().cast(), shape.message_text.as_ptr().cast());
        });
    }

    /// A command of this kind and shape is sent now: returns the link to send it on. `None`: there
    /// is none.
    pub(crate) fn send_statement(
        &mut self,
        doing: ConnectionWait,
        text: &[u8],
        (kind, shape): (usize, ShapeNumber),
        now_ns: u64,
    ) -> Option<&mut Link> {
        let link = self.link.as_mut()?;
        (self.doing, self.kind, self.shape_number, self.sent_ns) = (doing, kind, shape, now_ns);
        self.text.clear();
        self.text.extend_from_slice(text);
        Some(link)
    }

    /// Begins to read a result of the last reply, which is counted by the returned counter:
    /// [`Counter::Read`] if it has columns.
    pub(crate) fn open_set(&mut self, number: usize) -> Counter {
        let set = self.sets.as_deref().and_then(|sets| sets.get(number));
        let (rows, columns, affected_rows) =
            set.map_or((0, 0, 0), |set| (set.rows, set.columns, set.affected_rows));
        let counter = match (columns, affected_rows) {
            (0, 0) => Counter::Other,
            (0, _) => Counter::Write,
            _ => Counter::Read,
        };
        (self.set, self.offset, self.rows_left) = (number, 0, rows);
        self.result.with(|shape| {
            (shape.rows, shape.fields, shape.counter) = (rows as u32, columns, counter as i32);
        });
        counter
    }

    pub(crate) fn has_more_sets(&self) -> bool {
        self.sets.as_deref().is_some_and(|sets| self.set + 1 < sets.len())
    }

    /// Reads the next row: `take` gets its number of columns and its values. `None`: there is none.
    pub(crate) fn next_row<R>(
        &mut self,
        take: impl FnOnce(u32, &mut RowValues<'_>) -> R,
    ) -> Option<R> {
        if self.rows_left == 0 {
            return None;
        }
        let set = self.sets.as_deref().and_then(|sets| sets.get(self.set))?;
        let mut values = RowValues::of(&set.data()[self.offset..]);
        let before = values.rest().len();
        let row = take(set.columns, &mut values);
        self.offset += before - values.rest().len();
        self.rows_left -= 1;
        Some(row)
    }
}

/// Copies as much of a text as fits, and terminates it.
fn put_text(field: &mut [u8], text: &str) {
    field.fill(0);
    let end = text.floor_char_boundary(field.len() - 1);
    for (byte, sent) in field.iter_mut().zip(text[..end].bytes()) {
        // A zero in the middle would end it there.
        *byte = if sent == 0 { b' ' } else { sent };
    }
}
