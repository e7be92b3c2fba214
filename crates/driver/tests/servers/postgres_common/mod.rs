//! What the tests against a real PostgreSQL share.

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test program uses a part of it, and may panic"
)]

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use truetps_driver::{
    Client, Connector, DriverError, Params, Reply, Session, SessionEvent, Socket, Statement, Target,
};

pub(crate) const TIMEOUT: Duration = Duration::from_mins(1);

/// A session as the engine has it, driven by hand and with a socket that blocks.
pub(crate) struct Driven {
    socket: Socket,
    session: Box<dyn Session>,
    out: Vec<u8>,
}

impl Driven {
    pub(crate) fn log_in(
        target: &Target,
        statements: &[&str],
        prepared: bool,
    ) -> Result<Self, DriverError> {
        let statements = statements.iter().map(|sql| Statement::new(*sql).unwrap()).collect();
        Self::with_statements(target, statements, prepared)
    }

    pub(crate) fn with_statements(
        target: &Target,
        statements: Arc<[Statement]>,
        prepared: bool,
    ) -> Result<Self, DriverError> {
        let connector = Connector::new(target.clone(), statements, prepared)?;
        let socket = Socket::connect(connector.address(0), TIMEOUT).unwrap();
        socket.set_timeout(TIMEOUT).unwrap();
        let mut driven = Self { socket, session: connector.session(0), out: Vec::new() };
        driven.session.start_login(&mut driven.out);
        match driven.event()? {
            SessionEvent::Ready => Ok(driven),
            event => panic!("{event:?}"),
        }
    }

    /// Sends what there is and waits for what comes of it.
    pub(crate) fn event(&mut self) -> Result<SessionEvent, DriverError> {
        let mut input = vec![0; 10_000];
        loop {
            (&self.socket).write_all(&self.out)?;
            self.out.clear();
            let length = (&self.socket).read(&mut input)?;
            if length == 0 {
                return Err(DriverError::Closed);
            }
            match self.session.on_bytes(&input[..length], &mut self.out)? {
                SessionEvent::Pending => {}
                event => return Ok(event),
            }
        }
    }

    pub(crate) fn reply(&mut self) -> Reply {
        match self.event().unwrap() {
            SessionEvent::Reply(reply) => reply,
            event => panic!("{event:?}"),
        }
    }

    pub(crate) fn keep_rows(&mut self) {
        self.session.keep_rows();
    }

    pub(crate) fn execute(&mut self, statement: usize, fill: impl FnOnce(&mut Params)) -> Reply {
        let mut params = Params::default();
        fill(&mut params);
        self.session.send(statement, &params, &mut self.out);
        self.reply()
    }

    /// Sends without waiting for the reply.
    pub(crate) fn begin_sql(&mut self, sql: &str) {
        self.session.send_sql(sql, &mut self.out);
        (&self.socket).write_all(&self.out).unwrap();
        self.out.clear();
    }

    pub(crate) fn sql(&mut self, sql: &str) -> Reply {
        self.begin_sql(sql);
        self.reply()
    }

    /// The SQLSTATE that a statement fails with, and the class of it.
    pub(crate) fn trouble(&mut self, sql: &str) -> (String, String) {
        let error = self.sql(sql).error.unwrap();
        (error.sqlstate.clone(), error.class().to_string())
    }
}

pub(crate) fn client(target: &Target) -> Result<Client, DriverError> {
    Client::connect(target, TIMEOUT)
}

/// The text of the error and the class of it.
pub(crate) fn refusal(target: &Target) -> (String, String) {
    let error = client(target).map(drop).unwrap_err();
    (error.to_string(), error.class().to_string())
}
