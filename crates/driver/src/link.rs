//! One socket with its session: bytes in, events out.
//!
//! There are two ways to use it. A thread with many links waits for their sockets on epoll and
//! calls [`Link::receive`] for each readable one. A thread with one link calls [`Link::wait`],
//! which sleeps until an event arrives; or [`Link::sleep_beside`], and then [`Link::receive`].

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::{Alarm, DriverError, ParamType, Params, ResultSets, Session, SessionEvent, Socket};

/// Reads in one call of [`Link::receive`], of 64 KB each: a large result must not keep a thread
/// from its other clients, its clock and its end.
const READS_MAX: usize = 16;

/// Longer than any wait.
const LONG: Timespec = Timespec { tv_sec: 1 << 31, tv_nsec: 0 };

/// Buffers that all links of a thread share: about 64 KB, plus the longest statement.
#[derive(Debug)]
pub struct Scratch {
    input: Box<[u8]>,
    output: Vec<u8>,
    /// Values for the next statement.
    pub params: Params,
}

impl Default for Scratch {
    fn default() -> Self {
        const INPUT_BYTES: usize = 64 << 10;
        Self { input: vec![0; INPUT_BYTES].into(), output: Vec::new(), params: Params::default() }
    }
}

/// One client's connection. The socket must not block.
pub struct Link {
    socket: Socket,
    session: Box<dyn Session>,
    /// Bytes that the socket did not accept yet.
    unsent: Vec<u8>,
    /// Why a write failed. The server may have sent its reason before it closed the connection, so
    /// that is read first.
    hung_up: Option<io::Error>,
    has_more: bool,
    /// The session is ready as soon as the socket is connected, and it is not known to be.
    awaits_connection: bool,
}

impl Link {
    /// `socket` is as [`Socket::start_connecting`] makes it; it may still be connecting.
    pub fn new(socket: Socket, session: Box<dyn Session>) -> Self {
        let awaits_connection = session.is_ready_when_connected();
        Self {
            socket,
            session,
            unsent: Vec::new(),
            hung_up: None,
            has_more: false,
            awaits_connection,
        }
    }

    /// Sends the client's first message, if any. A socket that is still connecting sends it later.
    pub fn start_login(&mut self, scratch: &mut Scratch) -> Result<(), DriverError> {
        scratch.output.clear();
        self.session.start_login(&mut scratch.output);
        self.write(&scratch.output)
    }

    /// Sends a statement with the values that are in `scratch`.
    pub fn send(&mut self, statement: usize, scratch: &mut Scratch) -> Result<(), DriverError> {
        scratch.output.clear();
        self.session.send(statement, &scratch.params, &mut scratch.output);
        self.write(&scratch.output)
    }

    /// Sends one statement as text.
    pub fn send_sql(&mut self, sql: &str, scratch: &mut Scratch) -> Result<(), DriverError> {
        self.send_bytes(sql.as_bytes(), scratch)
    }

    /// Sends SQL text; see [`Session::send_bytes`].
    pub fn send_bytes(&mut self, sql: &[u8], scratch: &mut Scratch) -> Result<(), DriverError> {
        scratch.output.clear();
        self.session.send_bytes(sql, &mut scratch.output);
        self.write(&scratch.output)
    }

    /// Prepares a statement; see [`Session::prepare`].
    pub fn prepare(
        &mut self,
        sql: &[u8],
        types: &[ParamType],
        scratch: &mut Scratch,
    ) -> Result<(), DriverError> {
        scratch.output.clear();
        self.session.prepare(sql, types, &mut scratch.output)?;
        self.write(&scratch.output)
    }

    /// Executes what was prepared, with the values that are in `scratch`; see [`Session::execute`].
    pub fn execute(&mut self, handle: u32, scratch: &mut Scratch) -> Result<(), DriverError> {
        scratch.output.clear();
        self.session.execute(handle, &scratch.params, &mut scratch.output)?;
        self.write(&scratch.output)
    }

    /// Closes what was prepared; there is no event. See [`Session::close_statement`].
    pub fn close_statement(
        &mut self,
        handle: u32,
        scratch: &mut Scratch,
    ) -> Result<(), DriverError> {
        scratch.output.clear();
        self.session.close_statement(handle, &mut scratch.output)?;
        self.write(&scratch.output)
    }

    /// Lends a buffer for the results of the next command; see [`Session::collect`].
    pub fn collect(&mut self, into: Box<ResultSets>) -> Option<Box<ResultSets>> {
        self.session.collect(into)
    }

    /// The session, for its state: the server's version, the transaction status.
    pub fn session(&self) -> &dyn Session {
        &*self.session
    }

    /// Sleeps until there is an event, at most until `deadline`.
    ///
    /// An error of the kind [`DriverError::Io`] with [`io::ErrorKind::TimedOut`] is the deadline;
    /// the connection is unchanged, and can be waited for again. After any other error it is
    /// unusable.
    pub fn wait(
        &mut self,
        scratch: &mut Scratch,
        deadline: Option<Instant>,
    ) -> Result<SessionEvent, DriverError> {
        loop {
            self.sleep(deadline)?;
            if let Some(event) = self.receive(scratch)? {
                return Ok(event);
            }
        }
    }

    /// Waits until the socket is readable, or writable if there are bytes to send.
    fn sleep(&self, deadline: Option<Instant>) -> io::Result<()> {
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let timeout = left.map(|left| Timespec::try_from(left).unwrap_or(LONG));
            match poll(&mut [self.poll_fd()], timeout.as_ref()) {
                Ok(0) if left.is_some() => {
                    return Err(io::Error::new(
                        io::ErrorKind::TimedOut,
                        "the server did not answer in time",
                    ));
                }
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits for the socket in the same way, until the alarm expires, and at most for `limit`.
    /// Returns whether [`Link::receive`] has something to do.
    ///
    /// A read that sleeps would take one system call less, but through a unix socket it is woken
    /// twice: when the server takes the statement, and when it answers.
    pub fn sleep_beside(&self, alarm: &Alarm, limit: Option<Duration>) -> io::Result<bool> {
        let timeout = limit.map(|limit| Timespec::try_from(limit).unwrap_or(LONG));
        let mut waits = [self.poll_fd(), PollFd::new(alarm, PollFlags::IN)];
        match poll(&mut waits, timeout.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        if !waits[1].revents().is_empty() {
            alarm.acknowledge();
        }
        Ok(!waits[0].revents().is_empty())
    }

    fn poll_fd(&self) -> PollFd<'_> {
        let for_room = if self.wants_to_write() { PollFlags::OUT } else { PollFlags::empty() };
        PollFd::new(self, PollFlags::IN | for_room)
    }

    /// Reads available bytes, up to 1 MB. `None`: no event yet; see [`Link::has_more`].
    pub fn receive(&mut self, scratch: &mut Scratch) -> Result<Option<SessionEvent>, DriverError> {
        if self.awaits_connection {
            return self.look_for_connection();
        }
        if !self.unsent.is_empty() {
            self.flush()?;
        }
        self.send_more(scratch)?;
        self.has_more = false;
        for _ in 0..READS_MAX {
            let length = match (&self.socket).read(&mut scratch.input) {
                Ok(0) => {
                    let refused = self
                        .hung_up
                        .take()
                        .filter(|error| error.kind() == io::ErrorKind::ConnectionRefused);
                    return refused.map_or_else(
                        || self.session.on_close().map(Some),
                        |error| Err(error.into()),
                    );
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
            self.send_more(scratch)?;
            if !matches!(event, SessionEvent::Pending) {
                return Ok(Some(event));
            }
            if length < scratch.input.len() {
                return Ok(None);
            }
        }
        self.has_more = true;
        Ok(None)
    }

    /// Sends more of a file that the server has asked for, as the socket accepts it, and not
    /// without end: the thread has other clients.
    fn send_more(&mut self, scratch: &mut Scratch) -> Result<(), DriverError> {
        for _ in 0..READS_MAX {
            if !self.unsent.is_empty() || !self.session.has_more_to_send() {
                break;
            }
            scratch.output.clear();
            self.session.put_more(&mut scratch.output);
            self.write(&scratch.output)?;
        }
        Ok(())
    }

    fn look_for_connection(&mut self) -> Result<Option<SessionEvent>, DriverError> {
        let is_connected = self.socket.is_connected()?;
        self.awaits_connection = !is_connected;
        Ok(is_connected.then_some(SessionEvent::Ready))
    }

    /// The last [`Link::receive`] may have left bytes in the socket: a caller with edge-triggered
    /// events must arm its wait again.
    pub fn has_more(&self) -> bool {
        self.has_more
    }

    /// Sends the goodbye. The server closes the connection; errors are ignored.
    pub fn quit(mut self, scratch: &mut Scratch) {
        scratch.output.clear();
        self.session.quit(&mut scratch.output);
        let _ = self.write(&scratch.output);
    }

    /// Whether bytes wait for room in the socket, there is more of a file to send, or nothing can
    /// be written because it is not connected yet.
    pub fn wants_to_write(&self) -> bool {
        !self.unsent.is_empty() || self.awaits_connection || self.session.has_more_to_send()
    }

    /// Whether the server closes the connection, so that nothing may be sent any more.
    pub fn is_closing(&self) -> bool {
        self.session.is_closing()
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
        if sent < unsent.len() {
            self.unsent = unsent;
            self.unsent.drain(..sent);
        }
        Ok(())
    }

    /// Writes as much as the socket accepts without blocking. A socket that is still connecting
    /// accepts nothing; one that the server has closed accepts everything, and the following read
    /// returns the error.
    fn write_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        use io::ErrorKind::{
            BrokenPipe, ConnectionRefused, ConnectionReset, Interrupted, NotConnected, WouldBlock,
        };
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

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    /// Wants ever more, and lets the server send it.
    struct Endless {
        server: UnixStream,
        reads: usize,
    }

    impl Session for Endless {
        fn start_login(&mut self, _: &mut Vec<u8>) {}

        fn on_bytes(&mut self, bytes: &[u8], _: &mut Vec<u8>) -> Result<SessionEvent, DriverError> {
            self.reads += 1;
            assert!(self.reads <= READS_MAX, "a thread that never comes back");
            self.server.write_all(bytes)?;
            Ok(SessionEvent::Pending)
        }

        fn send(&mut self, _: usize, _: &Params, _: &mut Vec<u8>) {}

        fn send_bytes(&mut self, _: &[u8], _: &mut Vec<u8>) {}

        fn prepare(
            &mut self,
            _: &[u8],
            _: &[ParamType],
            _: &mut Vec<u8>,
        ) -> Result<(), DriverError> {
            Ok(())
        }

        fn execute(&mut self, _: u32, _: &Params, _: &mut Vec<u8>) -> Result<(), DriverError> {
            Ok(())
        }

        fn close_statement(&mut self, _: u32, _: &mut Vec<u8>) -> Result<(), DriverError> {
            Ok(())
        }

        fn collect(&mut self, _: Box<ResultSets>) -> Option<Box<ResultSets>> {
            None
        }

        fn keep_rows(&mut self) {}

        #[expect(clippy::unnecessary_literal_bound, reason = "the trait's signature")]
        fn server_version(&self) -> &str {
            ""
        }

        fn quit(&mut self, _: &mut Vec<u8>) {}
    }

    #[test]
    fn a_wait_ends_with_bytes_or_the_alarm_or_its_limit() {
        let (server, client) = UnixStream::pair().unwrap();
        client.set_nonblocking(true).unwrap();
        let session = Endless { server: server.try_clone().unwrap(), reads: 0 };
        let link = Link::new(Socket::from(client), Box::new(session));
        let never = Alarm::every(Duration::from_hours(1)).unwrap();
        assert!(!link.sleep_beside(&never, Some(Duration::from_millis(1))).unwrap());
        // It expires again and again.
        let alarm = Alarm::every(Duration::from_millis(1)).unwrap();
        for _ in 0..3 {
            assert!(!link.sleep_beside(&alarm, None).unwrap());
        }
        (&server).write_all(b"x").unwrap();
        assert!(link.sleep_beside(&never, None).unwrap());
    }

    #[test]
    fn a_result_without_end_does_not_keep_the_thread() {
        let (server, client) = UnixStream::pair().unwrap();
        client.set_nonblocking(true).unwrap();
        let mut scratch = Scratch::default();
        (&server).write_all(&vec![0; scratch.input.len()]).unwrap();
        let session = Endless { server: server.try_clone().unwrap(), reads: 0 };
        let mut link = Link::new(Socket::from(client), Box::new(session));
        assert_eq!(link.receive(&mut scratch).unwrap(), None);
        assert!(link.has_more());
    }
}
