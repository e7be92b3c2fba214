//! One socket with its session: bytes in, events out.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

use truetps_driver::{DriverError, Event, Params, Session, Socket};

/// Buffers that all clients of a worker share.
pub(crate) struct Scratch {
    input: Box<[u8]>,
    output: Vec<u8>,
    pub(crate) params: Params,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        const INPUT_BYTES: usize = 64 << 10;
        Self { input: vec![0; INPUT_BYTES].into(), output: Vec::new(), params: Params::default() }
    }
}

pub(crate) struct Link {
    socket: Socket,
    session: Box<dyn Session>,
    /// Bytes that the socket did not take yet.
    unsent: Vec<u8>,
    /// Why a write failed. The server may have said its reason before it hung up, so that it is read first.
    hung_up: Option<io::Error>,
}

impl Link {
    pub(crate) fn new(socket: Socket, session: Box<dyn Session>) -> Self {
        Self { socket, session, unsent: Vec::new(), hung_up: None }
    }

    /// Says what the client says first. A socket that is not connected yet takes it later.
    pub(crate) fn begin(&mut self, scratch: &mut Scratch) -> Result<(), DriverError> {
        scratch.output.clear();
        self.session.begin(&mut scratch.output);
        self.write(&scratch.output)
    }

    /// Sends a statement with the values that are in `scratch`.
    pub(crate) fn send(&mut self, statement: usize, scratch: &mut Scratch) -> Result<(), DriverError> {
        scratch.output.clear();
        self.session.send(statement, &scratch.params, &mut scratch.output);
        self.write(&scratch.output)
    }

    pub(crate) fn send_sql(&mut self, sql: &str, scratch: &mut Scratch) -> Result<(), DriverError> {
        scratch.output.clear();
        self.session.send_sql(sql, &mut scratch.output);
        self.write(&scratch.output)
    }

    /// Reads what came. `None`: nothing that matters yet.
    pub(crate) fn receive(&mut self, scratch: &mut Scratch) -> Result<Option<Event>, DriverError> {
        if !self.unsent.is_empty() {
            self.flush()?;
        }
        loop {
            let length = match (&self.socket).read(&mut scratch.input) {
                Ok(0) => {
                    let refused = self.hung_up.take().filter(|error| error.kind() == io::ErrorKind::ConnectionRefused);
                    return Err(refused.map_or_else(|| self.session.closed(), Into::into));
                }
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return self.hung_up.take().map_or(Ok(None), |error| Err(error.into()));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            scratch.output.clear();
            let event = self.session.on_bytes(&scratch.input[..length], &mut scratch.output)?;
            if !scratch.output.is_empty() {
                self.write(&scratch.output)?;
            }
            if event != Event::Pending {
                return Ok(Some(event));
            }
            if length < scratch.input.len() {
                return Ok(None);
            }
        }
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
        let sent = self.write_some(bytes)?;
        self.unsent.extend_from_slice(&bytes[sent..]);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), DriverError> {
        let unsent = std::mem::take(&mut self.unsent);
        let sent = self.write_some(&unsent)?;
        self.unsent = unsent;
        self.unsent.drain(..sent);
        Ok(())
    }

    /// Writes as much as the socket takes without blocking. One that is still connecting takes nothing; one that the
    /// server has left takes everything, and the read that follows says why.
    fn write_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        use io::ErrorKind::{BrokenPipe, ConnectionRefused, ConnectionReset, Interrupted, NotConnected, WouldBlock};
        let mut sent = 0;
        while sent < bytes.len() {
            match (&self.socket).write(&bytes[sent..]) {
                Ok(n) => sent += n,
                Err(error) => match error.kind() {
                    Interrupted => {}
                    WouldBlock | NotConnected => break,
                    BrokenPipe | ConnectionReset | ConnectionRefused => {
                        self.hung_up = Some(error);
                        return Ok(bytes.len());
                    }
                    _ => return Err(error),
                },
            }
        }
        Ok(sent)
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
