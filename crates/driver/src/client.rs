//! A small blocking client for everything that is not measured: settings, loading, counters.

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::session::{Event, Reply, Session};
use crate::{Connector, Dialect, DriverError, Socket, Target};

/// Rows of one query, as text. `None` is NULL; bytes that are no UTF-8 are written in hexadecimal, `0x00FF`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueryResult {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Option<String>>>,
    pub affected_rows: u64,
    pub warnings: u16,
}

pub struct Client {
    dialect: Dialect,
    socket: Socket,
    session: Box<dyn Session>,
    out: Vec<u8>,
    input: Box<[u8]>,
    /// A reply is missing: it may still come, and be taken for that to another statement.
    is_lost: bool,
    traffic: Traffic,
}

/// Bytes that a client has exchanged with its server, its login among them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    pub sent_bytes: u64,
    pub received_bytes: u64,
}

impl Client {
    /// Connects and logs in. `timeout` bounds each read and write, now and later.
    pub fn connect(target: &Target, timeout: Duration) -> Result<Self, DriverError> {
        const INPUT_BYTES: usize = 64 << 10;
        let connector = Connector::new(target.clone(), Arc::new([]), false)?;
        let failed = |source| DriverError::Connect { endpoint: connector.endpoint(0).clone(), source };
        let socket = Socket::connect(connector.address(0), timeout).map_err(failed)?;
        socket.set_timeout(timeout)?;
        let mut session = connector.session(0);
        session.keep_rows();
        let mut client = Self {
            dialect: target.dialect,
            socket,
            session,
            out: Vec::new(),
            input: vec![0; INPUT_BYTES].into(),
            is_lost: false,
            traffic: Traffic::default(),
        };
        client.session.begin(&mut client.out);
        match client.exchange()? {
            Event::Ready => Ok(client),
            Event::Pending | Event::Reply(_) | Event::Prepared(_) => {
                Err(DriverError::Protocol("a reply in place of a greeting"))
            }
        }
    }

    /// Connects to a server of the MySQL family and logs in without a password.
    pub fn connect_unix(
        socket: &Path,
        user: &str,
        database: Option<&str>,
        timeout: Duration,
    ) -> Result<Self, DriverError> {
        Self::connect(&Target::mysql_unix(socket, user, database), timeout)
    }

    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Bounds each read and write from now on.
    pub fn set_timeout(&mut self, timeout: Duration) -> Result<(), DriverError> {
        Ok(self.socket.set_timeout(timeout)?)
    }

    /// The process that listens on a unix socket, as the kernel knows it. `None` over TCP.
    pub fn peer_pid(&self) -> Option<u32> {
        self.socket.peer_pid()
    }

    /// Runs a statement and returns the number of rows that it changed.
    pub fn execute(&mut self, sql: &str) -> Result<u64, DriverError> {
        self.query(sql).map(|result| result.affected_rows)
    }

    /// Runs one statement and returns its rows. A client that has waited for a reply in vain is of no more use.
    pub fn query(&mut self, sql: &str) -> Result<QueryResult, DriverError> {
        if self.is_lost {
            return Err(DriverError::Closed);
        }
        self.out.clear();
        self.session.send_sql(sql, &mut self.out);
        let event = self.exchange();
        self.is_lost = event.is_err();
        match event? {
            Event::Reply(Reply { error: Some(error), .. }) => Err(error.into()),
            Event::Reply(Reply { result, affected_rows, .. }) => {
                let result = result.map(|result| *result).unwrap_or_default();
                Ok(QueryResult { affected_rows, ..result })
            }
            Event::Ready | Event::Pending | Event::Prepared(_) => {
                Err(DriverError::Protocol("a greeting in place of a reply"))
            }
        }
    }

    /// First column of the first row, as text.
    pub fn query_value(&mut self, sql: &str) -> Result<Option<String>, DriverError> {
        let result = self.query(sql)?;
        Ok(result.rows.into_iter().next().and_then(|row| row.into_iter().next().flatten()))
    }

    /// Sends what there is to send until something has come of it.
    fn exchange(&mut self) -> Result<Event, DriverError> {
        let statement_bytes = self.out.len();
        loop {
            let sent = (&self.socket).write_all(&self.out);
            self.traffic.sent_bytes += self.out.len() as u64;
            self.out.clear();
            let event = match sent {
                Ok(()) => self.receive(),
                // The server may have said why, before it closed the connection.
                Err(error) => match self.receive() {
                    Err(said @ DriverError::Server(_)) => Err(said),
                    Ok(event @ Event::Reply(Reply { error: Some(_), .. })) => return Ok(event),
                    _ => Err(in_time(error).into()),
                },
            };
            match event {
                Ok(Event::Pending) => {}
                Ok(event) => return Ok(event),
                Err(error) => return Err(lost_sending(error, statement_bytes)),
            }
        }
    }

    /// Reads once.
    fn receive(&mut self) -> Result<Event, DriverError> {
        loop {
            return match (&self.socket).read(&mut self.input) {
                Ok(0) => Err(self.session.closed()),
                Ok(length) => {
                    self.traffic.received_bytes += length as u64;
                    let event = self.session.on_bytes(&self.input[..length], &mut self.out);
                    if event.is_err() {
                        // TLS tells the server why, if anything: a session that fails says nothing itself. It does not
                        // matter whether the server hears it.
                        let _ = (&self.socket).write_all(&self.out);
                    }
                    event
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => Err(in_time(error).into()),
            };
        }
    }
}

/// What a row (or a column's name) takes that is kept as text, at most: its bytes, of which those that are no text are
/// written with two letters each, and the places of its cells, with what the allocator adds to each.
pub(crate) fn kept_bytes(bytes: usize, cells: usize) -> usize {
    const ALLOCATION_BYTES: usize = 32;
    // A list of rows doubles when it is full.
    const ROW_BYTES: usize = 2 * size_of::<Vec<Option<String>>>() + ALLOCATION_BYTES;
    ROW_BYTES + 2 * bytes + cells * (size_of::<Option<String>>() + ALLOCATION_BYTES)
}

/// A value as text, and none of its bytes as another one: what is no text is shown as MySQL's client shows binary values.
pub(crate) fn cell_text(bytes: &[u8]) -> String {
    use std::fmt::Write;
    match str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => {
            let mut text = String::with_capacity(2 + 2 * bytes.len());
            text.push_str("0x");
            for byte in bytes {
                // Writing to a string does not fail.
                let _ = write!(text, "{byte:02X}");
            }
            text
        }
    }
}

/// The system's words for a socket whose time is over are about a resource.
fn in_time(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => io::Error::new(io::ErrorKind::TimedOut, "the server has not answered in time"),
        _ => error,
    }
}

/// Says how long the statement was, where that may be why the connection is gone: servers close it on one that is
/// longer than their `max_allowed_packet`, and what they say about it is often lost with it.
fn lost_sending(error: DriverError, statement_bytes: usize) -> DriverError {
    const LONG_BYTES: usize = 512 << 10;
    match error {
        DriverError::Io(source) if statement_bytes >= LONG_BYTES && source.kind() != io::ErrorKind::TimedOut => {
            DriverError::LostSending { statement_bytes, problem: source.to_string() }
        }
        DriverError::Closed if statement_bytes >= LONG_BYTES => {
            DriverError::LostSending { statement_bytes, problem: "the server closed it".to_owned() }
        }
        other => other,
    }
}

impl Drop for Client {
    /// Says goodbye, so that the server has nothing to complain about in its log. One that is gone needs none.
    fn drop(&mut self) {
        self.out.clear();
        self.session.quit(&mut self.out);
        let _ = (&self.socket).write_all(&self.out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_shown_in_hexadecimal() {
        assert_eq!(cell_text("naïve".as_bytes()), "naïve");
        assert_eq!(cell_text(&[0x00, 0xff, 0x80]), "0x00FF80");
    }
}
