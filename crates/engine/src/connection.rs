//! One client's socket and session.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

use truetps_driver::{DriverError, Event, Params, Session, Socket};
use truetps_workload::ClientStream;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Connecting,
    Idle,
    InFlight,
}

pub(crate) struct Connection {
    socket: Socket,
    session: Box<dyn Session>,
    stream: Box<dyn ClientStream>,
    pub(crate) state: State,
    /// Start of the transaction in flight.
    pub(crate) started_ns: u64,
    /// Bytes that the socket did not take yet.
    unsent: Vec<u8>,
}

/// Buffers that all connections of a worker share.
pub(crate) struct Scratch {
    input: Box<[u8]>,
    output: Vec<u8>,
    params: Params,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        const INPUT_BYTES: usize = 64 << 10;
        Self { input: vec![0; INPUT_BYTES].into(), output: Vec::new(), params: Params::default() }
    }
}

impl Connection {
    pub(crate) fn new(socket: Socket, session: Box<dyn Session>, stream: Box<dyn ClientStream>) -> Self {
        Self { socket, session, stream, state: State::Connecting, started_ns: 0, unsent: Vec::new() }
    }

    /// Says what the client says first. A socket that is not connected yet takes it later.
    pub(crate) fn begin(&mut self, scratch: &mut Scratch) -> Result<(), DriverError> {
        scratch.output.clear();
        self.session.begin(&mut scratch.output);
        self.write(&scratch.output)
    }

    /// Reads what came. `None`: nothing that matters yet.
    pub(crate) fn receive(&mut self, scratch: &mut Scratch) -> Result<Option<Event>, DriverError> {
        if !self.unsent.is_empty() {
            self.flush()?;
        }
        loop {
            let length = match (&self.socket).read(&mut scratch.input) {
                Ok(0) => return Err(DriverError::Closed),
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            scratch.output.clear();
            let event = self.session.on_bytes(&scratch.input[..length], &mut scratch.output)?;
            self.write(&scratch.output)?;
            if event != Event::Pending {
                return Ok(Some(event));
            }
            if length < scratch.input.len() {
                return Ok(None);
            }
        }
    }

    /// Sends the client's next transaction.
    pub(crate) fn start(&mut self, now_ns: u64, scratch: &mut Scratch) -> Result<(), DriverError> {
        scratch.params.clear();
        scratch.output.clear();
        self.stream.next_transaction();
        let statement = self.stream.next_statement(&mut scratch.params).statement;
        self.session.send(statement, &scratch.params, &mut scratch.output);
        self.state = State::InFlight;
        self.started_ns = now_ns;
        self.write(&scratch.output)
    }

    /// Says goodbye. The server closes the connection; an error now is of no interest.
    pub(crate) fn quit(mut self, scratch: &mut Scratch) {
        scratch.output.clear();
        self.session.quit(&mut scratch.output);
        let _ = self.write(&scratch.output);
    }

    /// Bytes wait for room in the socket.
    pub(crate) fn wants_to_write(&self) -> bool {
        !self.unsent.is_empty()
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), DriverError> {
        if !self.unsent.is_empty() {
            self.unsent.extend_from_slice(bytes);
            return self.flush();
        }
        let sent = write_some(&self.socket, bytes)?;
        self.unsent.extend_from_slice(&bytes[sent..]);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), DriverError> {
        let sent = write_some(&self.socket, &self.unsent)?;
        self.unsent.drain(..sent);
        Ok(())
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Writes as much as the socket takes without blocking.
fn write_some(mut socket: &Socket, bytes: &[u8]) -> io::Result<usize> {
    let mut sent = 0;
    while sent < bytes.len() {
        match socket.write(&bytes[sent..]) {
            Ok(n) => sent += n,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(sent)
}
