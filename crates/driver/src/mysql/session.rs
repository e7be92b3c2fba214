//! One measured session as a state machine without I/O.

use std::sync::Arc;

use super::command::{put_execute, put_prepare, put_query, put_quit, put_text_statement};
use super::handshake::{Greeting, LoginStep, parse_greeting, parse_login_reply, put_login};
use super::reply::{ReplyReader, parse_error};
use super::wire::{CHUNK_BYTES_MAX, HEADER_BYTES, Reader, put_packets, read_header};
use crate::{DriverError, Event, Params, Session, Statement, Target};

#[derive(Debug)]
enum Phase {
    Greeting,
    Login(Greeting),
    /// Waiting for the answer to the prepare of statement `ids.len()`; `left` packets describe its parameters and
    /// columns.
    Prepare {
        left: Option<u32>,
    },
    Ready,
}

/// A session of a MySQL-family server. A few hundred bytes: thousands are cheap.
pub struct MysqlSession {
    target: Arc<Target>,
    statements: Arc<[Statement]>,
    prepared: bool,
    phase: Phase,
    ids: Vec<u32>,
    reply: ReplyReader,
    /// The beginning of a packet whose end has not come yet.
    partial: Vec<u8>,
    /// The packet before was a full chunk: this one continues it.
    continues: bool,
    sequence: u8,
}

impl MysqlSession {
    /// `prepared`: statements are prepared at login and executed with binary values; otherwise each is sent as text.
    pub fn new(target: Arc<Target>, statements: Arc<[Statement]>, prepared: bool) -> Self {
        Self {
            target,
            statements,
            prepared,
            phase: Phase::Greeting,
            ids: Vec::new(),
            reply: ReplyReader::default(),
            partial: Vec::new(),
            continues: false,
            sequence: 0,
        }
    }

    /// Takes whole packets from the front of `bytes`; returns how many bytes are left over, and the event.
    fn take_packets(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) -> Result<(usize, Event), DriverError> {
        while bytes.len() >= HEADER_BYTES {
            let (length, sequence) = read_header(bytes);
            let Some(payload) = bytes.get(HEADER_BYTES..HEADER_BYTES + length) else { break };
            bytes = &bytes[HEADER_BYTES + length..];
            if sequence != self.sequence {
                return Err(DriverError::Protocol("packets out of order"));
            }
            self.sequence = sequence.wrapping_add(1);
            let is_continuation = std::mem::replace(&mut self.continues, length == CHUNK_BYTES_MAX);
            if is_continuation {
                continue;
            }
            match self.packet(payload, out)? {
                Event::Pending => {}
                event if bytes.is_empty() => return Ok((0, event)),
                _ => return Err(DriverError::Protocol("more packets than the reply has")),
            }
        }
        Ok((bytes.len(), Event::Pending))
    }

    fn packet(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<Event, DriverError> {
        match &mut self.phase {
            Phase::Ready => Ok(self.reply.packet(payload)?.map_or(Event::Pending, Event::Reply)),
            Phase::Greeting => {
                let greeting = parse_greeting(payload)?;
                let login = &self.target.login;
                self.sequence = put_packets(out, self.sequence, |out| put_login(out, login, &greeting));
                self.phase = Phase::Login(greeting);
                Ok(Event::Pending)
            }
            Phase::Login(greeting) => match parse_login_reply(payload, greeting)? {
                LoginStep::LoggedIn => Ok(self.prepare_next(out)),
                LoginStep::AnswerEmpty => {
                    self.sequence = put_packets(out, self.sequence, |_| {});
                    Ok(Event::Pending)
                }
            },
            Phase::Prepare { left: None } => self.prepared_ok(payload, out),
            Phase::Prepare { left: Some(left) } => {
                *left -= 1;
                if *left == 0 { Ok(self.prepare_next(out)) } else { Ok(Event::Pending) }
            }
        }
    }

    fn prepare_next(&mut self, out: &mut Vec<u8>) -> Event {
        // A place in the list for each statement, so that both have the same index.
        while self.statements.get(self.ids.len()).is_some_and(Statement::is_text_only) {
            self.ids.push(0);
        }
        let next = self.statements.get(self.ids.len()).filter(|_| self.prepared);
        let Some(statement) = next else {
            self.phase = Phase::Ready;
            return Event::Ready;
        };
        put_prepare(out, statement.sql());
        self.sequence = 1;
        self.phase = Phase::Prepare { left: None };
        Event::Pending
    }

    fn prepared_ok(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<Event, DriverError> {
        if payload.first() == Some(&0xff) {
            return Err(parse_error(payload)?.into());
        }
        let mut reader = Reader::new(payload);
        reader.u8()?;
        let id = reader.uint(4)? as u32;
        let columns = reader.uint(2)? as u32;
        let params = reader.uint(2)? as u32;
        if params as usize != self.statements[self.ids.len()].param_count() {
            return Err(DriverError::Protocol("the prepared statement has another number of parameters"));
        }
        self.ids.push(id);
        // Each of the two lists, where it is not empty, is followed by an end-of-data packet.
        let packets = |n: u32| if n > 0 { n + 1 } else { 0 };
        match packets(columns) + packets(params) {
            0 => Ok(self.prepare_next(out)),
            left => {
                self.phase = Phase::Prepare { left: Some(left) };
                Ok(Event::Pending)
            }
        }
    }
}

impl Session for MysqlSession {
    /// The server speaks first.
    fn begin(&mut self, _out: &mut Vec<u8>) {}

    fn on_bytes(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<Event, DriverError> {
        if self.partial.is_empty() {
            let (left, event) = self.take_packets(bytes, out)?;
            self.partial.extend_from_slice(&bytes[bytes.len() - left..]);
            return Ok(event);
        }
        let mut whole = std::mem::take(&mut self.partial);
        whole.extend_from_slice(bytes);
        let (left, event) = self.take_packets(&whole, out)?;
        whole.drain(..whole.len() - left);
        self.partial = whole;
        Ok(event)
    }

    fn send(&mut self, statement: usize, params: &Params, out: &mut Vec<u8>) {
        if self.prepared && !self.statements[statement].is_text_only() {
            put_execute(out, self.ids[statement], params);
        } else {
            put_text_statement(out, &self.statements[statement], params);
        }
        self.sequence = 1;
    }

    fn send_sql(&mut self, sql: &str, out: &mut Vec<u8>) {
        put_query(out, sql.as_bytes());
        self.sequence = 1;
    }

    fn keep_rows(&mut self) {
        self.reply.keeps_rows = true;
    }

    fn quit(&mut self, out: &mut Vec<u8>) {
        put_quit(out);
    }
}
