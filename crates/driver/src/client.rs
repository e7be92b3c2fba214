//! A small blocking client for everything that is not measured: settings, loading, counters.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use crate::command::{put_query, put_quit};
use crate::handshake::{LoginStep, parse_greeting, parse_login_reply, put_login};
use crate::reply::{is_eof, parse_eof, parse_error};
use crate::wire::{CHUNK_BYTES_MAX, HEADER_BYTES, Reader, put_packets, read_header};
use crate::{DriverError, Login};

/// No answer that truetps asks for is larger.
const PAYLOAD_BYTES_MAX: usize = 64 << 20;

/// Rows of one query, as text. `None` is NULL.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueryResult {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Option<String>>>,
    pub affected_rows: u64,
    pub warnings: u16,
}

pub struct Client {
    stream: UnixStream,
    sequence: u8,
    out: Vec<u8>,
}

impl Client {
    /// Connects and logs in without a password. `timeout` bounds each read and write, now and later.
    pub fn connect_unix(
        socket: &Path,
        user: &str,
        database: Option<&str>,
        timeout: Duration,
    ) -> Result<Self, DriverError> {
        let failed = |source| DriverError::Connect { socket: socket.to_owned(), source };
        let stream = UnixStream::connect(socket).map_err(failed)?;
        let mut client = Self { stream, sequence: 0, out: Vec::new() };
        client.set_timeout(timeout)?;
        client.log_in(&Login { user: user.to_owned(), database: database.map(str::to_owned) })?;
        Ok(client)
    }

    /// Bounds each read and write from now on.
    pub fn set_timeout(&mut self, timeout: Duration) -> Result<(), DriverError> {
        self.stream.set_read_timeout(Some(timeout))?;
        self.stream.set_write_timeout(Some(timeout))?;
        Ok(())
    }

    /// The process that listens on the socket, as the kernel knows it.
    pub fn peer_pid(&self) -> Option<u32> {
        let credentials = rustix::net::sockopt::socket_peercred(&self.stream).ok()?;
        u32::try_from(credentials.pid.as_raw_nonzero().get()).ok()
    }

    fn log_in(&mut self, login: &Login) -> Result<(), DriverError> {
        let greeting = parse_greeting(&self.read_payload()?)?;
        self.out.clear();
        self.sequence = put_packets(&mut self.out, self.sequence, |out| put_login(out, login, &greeting));
        self.stream.write_all(&self.out)?;
        while parse_login_reply(&self.read_payload()?, &greeting)? == LoginStep::AnswerEmpty {
            self.out.clear();
            self.sequence = put_packets(&mut self.out, self.sequence, |_| {});
            self.stream.write_all(&self.out)?;
        }
        Ok(())
    }

    /// Runs a statement and returns the number of rows that it changed.
    pub fn execute(&mut self, sql: &str) -> Result<u64, DriverError> {
        self.query(sql).map(|result| result.affected_rows)
    }

    /// Runs one statement and returns its rows.
    pub fn query(&mut self, sql: &str) -> Result<QueryResult, DriverError> {
        self.out.clear();
        put_query(&mut self.out, sql.as_bytes());
        self.sequence = 1;
        self.stream.write_all(&self.out)?;
        let first = self.read_payload()?;
        let mut reader = Reader::new(&first);
        match first.first() {
            None => Err(DriverError::Protocol("an empty reply")),
            Some(0xff) => Err(parse_error(&first)?.into()),
            Some(0xfb) => Err(DriverError::Protocol("a request for a local file, which is never answered")),
            Some(0x00) => {
                reader.u8()?;
                let affected_rows = reader.lenenc()?.unwrap_or(0);
                let _last_insert_id = reader.lenenc()?;
                let _status = reader.uint(2)?;
                let warnings = reader.uint(2)? as u16;
                Ok(QueryResult { affected_rows, warnings, ..QueryResult::default() })
            }
            Some(_) => {
                let columns = reader.lenenc()?.unwrap_or(0);
                self.read_rows(columns)
            }
        }
    }

    fn read_rows(&mut self, columns: u64) -> Result<QueryResult, DriverError> {
        let mut result = QueryResult::default();
        for _ in 0..columns {
            result.columns.push(column_name(&self.read_payload()?)?);
        }
        parse_eof(&self.read_payload()?)?;
        loop {
            let payload = self.read_payload()?;
            if is_eof(&payload) {
                return Ok(result);
            }
            if payload.first() == Some(&0xff) {
                return Err(parse_error(&payload)?.into());
            }
            let mut reader = Reader::new(&payload);
            let cell = |_| reader.lenenc_bytes().map(|bytes| bytes.map(|b| String::from_utf8_lossy(b).into_owned()));
            result.rows.push((0..columns).map(cell).collect::<Result<_, _>>()?);
        }
    }

    /// First column of the first row, as text.
    pub fn query_value(&mut self, sql: &str) -> Result<Option<String>, DriverError> {
        let result = self.query(sql)?;
        Ok(result.rows.into_iter().next().and_then(|row| row.into_iter().next().flatten()))
    }

    fn read_payload(&mut self) -> Result<Vec<u8>, DriverError> {
        let mut payload = Vec::new();
        loop {
            let mut header = [0; HEADER_BYTES];
            self.read_exact(&mut header)?;
            let (length, sequence) = read_header(&header);
            if sequence != self.sequence {
                return Err(DriverError::Protocol("packets out of order"));
            }
            self.sequence = sequence.wrapping_add(1);
            let start = payload.len();
            if start + length > PAYLOAD_BYTES_MAX {
                return Err(DriverError::Protocol("an answer of more than 64 MB"));
            }
            payload.resize(start + length, 0);
            self.read_exact(&mut payload[start..])?;
            if length < CHUNK_BYTES_MAX {
                return Ok(payload);
            }
        }
    }

    fn read_exact(&mut self, buffer: &mut [u8]) -> Result<(), DriverError> {
        match self.stream.read_exact(buffer) {
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Err(DriverError::Closed),
            other => Ok(other?),
        }
    }
}

impl Drop for Client {
    /// Says goodbye, so that the server has nothing to complain about in its log. One that is gone needs none.
    fn drop(&mut self) {
        self.out.clear();
        put_quit(&mut self.out);
        let _ = self.stream.write_all(&self.out);
    }
}

/// The name in a column description: the fifth of its strings.
fn column_name(payload: &[u8]) -> Result<String, DriverError> {
    let mut reader = Reader::new(payload);
    for _ in 0..4 {
        reader.lenenc_bytes()?;
    }
    Ok(String::from_utf8_lossy(reader.lenenc_bytes()?.unwrap_or_default()).into_owned())
}
