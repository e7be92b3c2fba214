//! A session with prepared statements, driven by blocking reads: what the engine does, one client
//! at a time.

use std::io::{Read, Write};
use std::sync::Arc;

use truetps_driver::{
    Connector, DriverError, Params, Reply, Session, SessionEvent, Socket, Statement, Target,
};

use super::SOON;

pub(crate) struct Prepared {
    socket: Socket,
    session: Box<dyn Session>,
    out: Vec<u8>,
}

impl Prepared {
    pub(crate) fn connect(target: &Target, statements: &[&str]) -> Result<Self, DriverError> {
        let statement = |sql: &&str| match *sql {
            "BEGIN" | "COMMIT" => Statement::text_only(*sql),
            sql => Statement::new(sql).unwrap(),
        };
        let statements: Arc<[_]> = statements.iter().map(statement).collect();
        let connector = Connector::new(target.clone(), statements, true)?;
        let socket = Socket::connect(connector.address(0), SOON)?;
        socket.set_timeout(SOON)?;
        let mut prepared = Self { socket, session: connector.session(0), out: Vec::new() };
        prepared.session.start_login(&mut prepared.out);
        assert_eq!(prepared.exchange()?, SessionEvent::Ready);
        Ok(prepared)
    }

    pub(crate) fn execute(
        &mut self,
        statement: usize,
        fill: impl FnOnce(&mut Params),
    ) -> Result<Reply, DriverError> {
        let mut params = Params::default();
        fill(&mut params);
        self.session.send(statement, &params, &mut self.out);
        match self.exchange()? {
            SessionEvent::Reply(reply) => Ok(reply),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn run(&mut self, sql: &str) -> Result<Reply, DriverError> {
        self.session.send_sql(sql, &mut self.out);
        match self.exchange()? {
            SessionEvent::Reply(reply) => Ok(reply),
            other => panic!("{other:?}"),
        }
    }

    fn exchange(&mut self) -> Result<SessionEvent, DriverError> {
        // Odd, so that records and packets are cut in many places.
        let mut input = [0; 16_383];
        loop {
            (&self.socket).write_all(&self.out)?;
            self.out.clear();
            let length = (&self.socket).read(&mut input)?;
            if length == 0 {
                return Err(self.session.closed());
            }
            match self.session.on_bytes(&input[..length], &mut self.out)? {
                SessionEvent::Pending => {}
                event => return Ok(event),
            }
        }
    }
}
