//! A small blocking client for all work that is not measured: settings, loading, counters.

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::retry_on_intr;
use truetps_record::SqlDialect;

use crate::postgres::put_ssl_request;
use crate::session::{Reply, Session, SessionEvent};
use crate::{Address, Connector, DriverError, QueryResult, Socket, Target};

/// How long a client waits for a connection, and then for the end of its login. A server whose
/// reverse DNS lookup of the client fails needs ten seconds for it.
pub const LOGIN_TIMEOUT: Duration = Duration::from_secs(20);

/// A server of the MySQL family speaks first, and at once. A server that stays silent may be
/// PostgreSQL, which waits for the client.
const SILENCE: Duration = Duration::from_secs(1);

pub struct Client {
    dialect: SqlDialect,
    socket: Socket,
    session: Box<dyn Session>,
    out: Vec<u8>,
    input: Box<[u8]>,
    /// A reply is missing: it may still arrive, and be mistaken for the reply to another statement.
    is_lost: bool,
    traffic: Traffic,
    login: Option<LoginInTime>,
}

/// A login that has not ended.
struct LoginInTime {
    ends: Instant,
    /// Checked once, when the server is silent.
    other_family: Option<Address>,
}

/// Bytes that a client has exchanged with its server, including its login.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    pub sent_bytes: u64,
    pub received_bytes: u64,
}

impl Client {
    /// Connects and logs in. Each step may take [`Target::connect_timeout`], or [`LOGIN_TIMEOUT`]
    /// by default, or `timeout` if it is shorter. `timeout` bounds each read and write from then
    /// on.
    pub fn connect(target: &Target, timeout: Duration) -> Result<Self, DriverError> {
        const INPUT_BYTES: usize = 64 << 10;
        let connector = Connector::new(target.clone(), Arc::new([]), false)?;
        let limit = target.connect_timeout.unwrap_or(LOGIN_TIMEOUT).min(timeout);
        let socket = Socket::connect(connector.address(0), limit)
            .map_err(|source| connector.not_connected(0, source))?;
        let other_family =
            (target.dialect == SqlDialect::Mysql).then(|| connector.address(0).clone());
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
            login: Some(LoginInTime { ends: Instant::now() + limit, other_family }),
        };
        client.session.start_login(&mut client.out);
        let event = client.exchange().map_err(|error| match error {
            DriverError::Io(source) if source.kind() == io::ErrorKind::TimedOut => {
                connector.not_connected(0, client.login_took_too_long(limit))
            }
            other => other,
        });
        client.login = None;
        client.socket.set_timeout(timeout)?;
        match event? {
            SessionEvent::Ready => Ok(client),
            SessionEvent::Pending | SessionEvent::Reply(_) | SessionEvent::Prepared(_) => {
                Err(DriverError::Protocol("a reply instead of a greeting"))
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

    pub fn dialect(&self) -> SqlDialect {
        self.dialect
    }

    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Bounds each read and write from now on.
    pub fn set_timeout(&mut self, timeout: Duration) -> Result<(), DriverError> {
        Ok(self.socket.set_timeout(timeout)?)
    }

    /// The process that listens on a unix socket, as reported by the kernel. `None` over TCP, and
    /// for a process of another pid namespace.
    pub fn peer_pid(&self) -> Option<u32> {
        self.socket.peer_pid()
    }

    /// Runs a statement and returns the number of rows that it changed.
    pub fn execute(&mut self, sql: &str) -> Result<u64, DriverError> {
        self.query(sql).map(|result| result.affected_rows)
    }

    /// Runs one statement and returns its rows. After a timeout the client cannot be used any more.
    pub fn query(&mut self, sql: &str) -> Result<QueryResult, DriverError> {
        if self.is_lost {
            return Err(DriverError::Closed);
        }
        self.out.clear();
        self.session.send_sql(sql, &mut self.out);
        let event = self.exchange();
        self.is_lost = event.is_err();
        match event? {
            SessionEvent::Reply(Reply { error: Some(error), .. }) => Err(error.into()),
            SessionEvent::Reply(Reply { result, affected_rows, .. }) => {
                let result = result.map(|result| *result).unwrap_or_default();
                Ok(QueryResult { affected_rows, ..result })
            }
            SessionEvent::Ready | SessionEvent::Pending | SessionEvent::Prepared(_) => {
                Err(DriverError::Protocol("a greeting instead of a reply"))
            }
        }
    }

    /// First column of the first row, as text.
    pub fn query_value(&mut self, sql: &str) -> Result<Option<String>, DriverError> {
        let result = self.query(sql)?;
        Ok(result.rows.into_iter().next().and_then(|row| row.into_iter().next().flatten()))
    }

    /// Sends the pending bytes and receives until there is an event.
    fn exchange(&mut self) -> Result<SessionEvent, DriverError> {
        let statement_bytes = self.out.len();
        loop {
            let sent = (&self.socket).write_all(&self.out);
            self.traffic.sent_bytes += self.out.len() as u64;
            self.out.clear();
            if sent.is_ok() && self.session.has_more_to_send() {
                self.session.put_more(&mut self.out);
                continue;
            }
            let event = match sent {
                Ok(()) => self.receive(),
                // The server may have said why, before it closed the connection.
                Err(error) => match self.receive() {
                    Err(said @ DriverError::Server(_)) => Err(said),
                    Ok(event @ SessionEvent::Reply(Reply { error: Some(_), .. })) => {
                        return Ok(event);
                    }
                    _ => Err(in_time(error).into()),
                },
            };
            match event {
                Ok(SessionEvent::Pending) => {}
                Ok(event) => return Ok(event),
                Err(error) => return Err(lost_sending(error, statement_bytes)),
            }
        }
    }

    /// The error of a login that timed out.
    fn login_took_too_long(&self, limit: Duration) -> io::Error {
        let waited_for = match (self.traffic.received_bytes, self.dialect) {
            (0, SqlDialect::Mysql) => "it accepts connections but sends no greeting",
            (0, SqlDialect::Postgres) => "it accepts connections but does not answer",
            _ => "it answered, but the login did not finish",
        };
        let message = format!("no login within {} s: {waited_for}", limit.as_secs_f64());
        io::Error::new(io::ErrorKind::TimedOut, message)
    }

    /// Limits the next read to the time that is left for the login. A server that sends a byte from
    /// time to time gets no extra time.
    fn bound_login(&mut self) -> Result<(), DriverError> {
        let Some(login) = &self.login else { return Ok(()) };
        let left = login.ends.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::from(io::ErrorKind::TimedOut).into());
        }
        let may_be_other = self.traffic.received_bytes == 0 && login.other_family.is_some();
        Ok(self.socket.set_timeout(if may_be_other { left.min(SILENCE) } else { left })?)
    }

    /// A read has timed out: whether to read again. The server may be of the other family.
    fn waits_on(&mut self) -> Result<bool, DriverError> {
        let Some(login) = &mut self.login else { return Ok(false) };
        let other_family = login.other_family.take().filter(|_| self.traffic.received_bytes == 0);
        if other_family.is_some_and(|address| is_postgres(&address, &self.socket, login.ends)) {
            return Err(DriverError::OtherFamily { is: SqlDialect::Postgres });
        }
        Ok(Instant::now() < login.ends)
    }

    /// Reads once.
    fn receive(&mut self) -> Result<SessionEvent, DriverError> {
        loop {
            self.bound_login()?;
            return match (&self.socket).read(&mut self.input) {
                Ok(0) => Err(self.session.closed()),
                Ok(length) => {
                    self.traffic.received_bytes += length as u64;
                    let event = self.session.on_bytes(&self.input[..length], &mut self.out);
                    if event.is_err() {
                        // TLS may send the reason to the server; a session that fails sends nothing
                        // itself. Whether the server receives it does not matter.
                        let _ = (&self.socket).write_all(&self.out);
                    }
                    event
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && self.waits_on()? => {
                    continue;
                }
                Err(error) => Err(in_time(error).into()),
            };
        }
    }
}

/// Requests TLS as PostgreSQL clients do, on a separate connection. The answer is one letter, and a
/// busy server may take long to send it: waits until `ends`, or until the first connection has
/// something to read.
fn is_postgres(address: &Address, first: &Socket, ends: Instant) -> bool {
    asks_and_is_postgres(address, first, ends).unwrap_or(false)
}

fn asks_and_is_postgres(address: &Address, first: &Socket, ends: Instant) -> io::Result<bool> {
    let socket = Socket::connect(address, SILENCE)?;
    socket.set_timeout(SILENCE)?;
    let (mut request, mut answer) = (Vec::new(), [0; 2]);
    put_ssl_request(&mut request);
    (&socket).write_all(&request)?;
    let mut either = [first, &socket].map(|socket| PollFd::new(socket, PollFlags::IN));
    let left = ends.saturating_duration_since(Instant::now());
    retry_on_intr(|| poll(&mut either, left.try_into().ok().as_ref()))?;
    if either[1].revents().is_empty() {
        return Ok(false);
    }
    let length = (&socket).read(&mut answer)?;
    Ok(matches!(answer[..length], [b'S' | b'N']))
}

/// The system's message for a socket timeout is about a temporarily unavailable resource.
fn in_time(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => {
            io::Error::new(io::ErrorKind::TimedOut, "the server did not answer in time")
        }
        _ => error,
    }
}

/// Adds the length of the statement if it may explain the lost connection: servers close it on a
/// statement that is longer than their `max_allowed_packet`, and their error message is often lost.
fn lost_sending(error: DriverError, statement_bytes: usize) -> DriverError {
    const LONG_BYTES: usize = 512 << 10;
    match error {
        DriverError::Io(source)
            if statement_bytes >= LONG_BYTES && source.kind() != io::ErrorKind::TimedOut =>
        {
            DriverError::LostSending { statement_bytes, problem: source.to_string() }
        }
        DriverError::Closed if statement_bytes >= LONG_BYTES => {
            DriverError::LostSending { statement_bytes, problem: "the server closed it".to_owned() }
        }
        other => other,
    }
}

impl Drop for Client {
    /// Sends the goodbye, so that the server logs no aborted connection. It is not sent on a lost
    /// connection.
    fn drop(&mut self) {
        self.out.clear();
        self.session.quit(&mut self.out);
        let _ = (&self.socket).write_all(&self.out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result of a login at a server that answers each of its connections with `serve`.
    fn failed_login(
        dialect: SqlDialect,
        timeout: Duration,
        serve: impl Fn(std::net::TcpStream) + Send + Sync + Copy + 'static,
    ) -> (String, Duration) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                std::thread::spawn(move || serve(stream.unwrap()));
            }
        });
        let mut target = Target { dialect, ..Target::mysql_unix("/s", "u", None) };
        target.endpoints = vec![crate::Endpoint::Tcp { host: "127.0.0.1".to_owned(), port }];
        let began = Instant::now();
        let error = Client::connect(&target, timeout).err().unwrap();
        (error.to_string(), began.elapsed())
    }

    #[test]
    fn a_postgresql_where_a_mysql_was_meant_is_recognised_also_when_it_is_busy() {
        let (text, took) = failed_login(SqlDialect::Mysql, Duration::from_mins(1), |mut stream| {
            let mut request = [0; 8];
            // As it waits for its client, the first connection gets nothing.
            if stream.read_exact(&mut request).is_ok() && request[4..] == [4, 210, 22, 47] {
                std::thread::sleep(SILENCE * 2);
                stream.write_all(b"N").unwrap();
            }
        });
        assert_eq!(text, "the server is PostgreSQL, not of the MySQL family");
        assert!(took < Duration::from_secs(15), "{took:?}");
    }

    #[test]
    fn a_login_ends_in_time_whatever_comes_of_it() {
        let limit = Duration::from_secs(2);
        for dialect in [SqlDialect::Mysql, SqlDialect::Postgres] {
            let (text, took) = failed_login(dialect, limit, |stream| {
                std::thread::sleep(Duration::from_secs(30));
                drop(stream);
            });
            assert!(text.contains("no login within 2 s: it accepts connections but"), "{text}");
            assert!(took < Duration::from_secs(15), "{took:?}");
            // One long message, a byte at a time.
            let (text, took) = failed_login(dialect, limit, move |mut stream| {
                let begin =
                    if dialect == SqlDialect::Mysql { [0, 16, 0, 0] } else { [b'N', 0, 0, 16] };
                stream.write_all(&begin).unwrap();
                while stream.write_all(&[0]).is_ok() {
                    std::thread::sleep(Duration::from_millis(300));
                }
            });
            assert!(text.contains("no login within 2 s: it answered"), "{text}");
            assert!(took < Duration::from_secs(15), "{took:?}");
        }
    }
}
