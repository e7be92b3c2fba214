//! One measured session as a state machine without I/O.

use std::convert::Infallible;
use std::sync::Arc;

use super::ad_hoc::{MysqlPrepareEnd, MysqlPreparing, MysqlStatements, parse_prepared};
use super::command::{
    put_close, put_execute, put_prepare, put_query, put_quit, put_text_statement,
};
use super::error_packet::parse_error;
use super::handshake::{Greeting, NOT_A_GREETING, parse_greeting, put_tls_request};
use super::local_file::LocalFiles;
use super::login::{LoginExchange, LoginStep};
use super::packets::{PAYLOAD_BYTES_MAX, Packet, PacketWanted, Packets};
use super::reply::{MysqlReplyReader, PacketOutcome};
use super::wire::put_packets;
use crate::tls::say_plain;
use crate::{
    DriverError, Endpoint, ParamType, Params, Reply, ResultSets, Session, SessionEvent, Statement,
    Target, TlsClient, TlsError, TlsLayer,
};

/// Servers have some twenty, with the names of their builds.
const VERSION_CHARS_MAX: usize = 200;

#[derive(Debug)]
enum MysqlPhase {
    Greeting,
    Login(Box<LoginExchange>),
    /// Waiting for the reply to the target's setup statement with this index.
    SetUp(usize),
    /// Waiting for the answer to the prepare of statement `ids.len()`; `left` packets describe its
    /// parameters and columns.
    Prepare {
        left: Option<u32>,
    },
    Idle,
    InFlight,
    /// A statement that is not in the list is being prepared.
    PrepareOne(MysqlPreparing),
}

/// A session of a MySQL-family server. A few hundred bytes: thousands are cheap.
pub struct MysqlSession {
    target: Arc<Target>,
    statements: Arc<[Statement]>,
    prepared: bool,
    phase: MysqlPhase,
    packets: Packets,
    ids: Vec<u32>,
    reply: MysqlReplyReader,
    keeps_rows: bool,
    /// If the target allows it.
    files: Option<Box<LocalFiles>>,
    ad_hoc: MysqlStatements,
    version: Box<str>,
    /// The client's number, which selects one of the target's endpoints.
    client: u32,
    tls_client: Option<TlsClient>,
    /// Set once the server agrees to TLS.
    encryption: Option<Box<TlsLayer>>,
}

impl MysqlSession {
    /// `prepared`: statements are prepared at login and executed with binary values; otherwise each
    /// is sent as text.
    ///
    /// A target with TLS also needs [`MysqlSession::for_client`].
    pub fn new(target: Arc<Target>, statements: Arc<[Statement]>, prepared: bool) -> Self {
        Self {
            files: target.sends_local_files.then(Box::default),
            target,
            statements,
            prepared,
            phase: MysqlPhase::Greeting,
            packets: Packets::default(),
            ids: Vec::new(),
            reply: MysqlReplyReader::default(),
            keeps_rows: false,
            ad_hoc: MysqlStatements::default(),
            version: Box::default(),
            client: 0,
            tls_client: None,
            encryption: None,
        }
    }

    /// Sets the client's number, and the target's TLS as made by [`TlsClient::new`].
    #[must_use]
    pub fn for_client(mut self, client: u32, tls: Option<TlsClient>) -> Self {
        (self.client, self.tls_client) = (client, tls);
        self
    }

    fn endpoint(&self) -> &Endpoint {
        self.target.endpoint(self.client)
    }

    /// Takes packets until there is an event; returns the remaining bytes, which belong to TLS if
    /// it has just been agreed on.
    fn on_plain<'a>(
        &mut self,
        mut bytes: &'a [u8],
        out: &mut Vec<u8>,
    ) -> Result<(&'a [u8], SessionEvent), DriverError> {
        let was_encrypted = self.encryption.is_some();
        while let Some(packet) = self.packets.next(&mut bytes, self.packet_wanted())? {
            let event = match packet {
                Packet::Here(payload) => self.packet(payload, out)?,
                Packet::Skimmed => self.skimmed(out),
                Packet::Stored => {
                    let payload = self.packets.take_stored();
                    let event = self.packet(&payload, out);
                    self.packets.give_back(payload);
                    event?
                }
            };
            if !matches!(event, SessionEvent::Pending) {
                self.packets.rest();
                return if bytes.is_empty() || closes_session(bytes) {
                    Ok((&[], event))
                } else {
                    Err(MORE_THAN_A_REPLY)
                };
            }
            if self.encryption.is_some() != was_encrypted {
                return Ok((bytes, SessionEvent::Pending));
            }
        }
        Ok((bytes, SessionEvent::Pending))
    }

    fn on_encrypted(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<SessionEvent, DriverError> {
        let Some(mut layer) = self.encryption.take() else { return Ok(SessionEvent::Pending) };
        let event = layer
            .on_bytes(bytes, out, |plain, said| self.on_plain(plain, said).map(|(_, event)| event));
        self.encryption = Some(layer);
        event
    }

    /// Appends what `say` appends, encrypted once TLS is agreed on; appends nothing if `say` fails.
    #[inline]
    fn append_sealed<T, E>(
        &mut self,
        out: &mut Vec<u8>,
        say: impl FnOnce(&mut Self, &mut Vec<u8>) -> Result<T, E>,
    ) -> Result<T, E> {
        let Some(mut layer) = self.encryption.take() else {
            return say_plain(out, |out| say(self, out));
        };
        let outcome = layer.append_encrypted(out, |said| say(self, said));
        self.encryption = Some(layer);
        outcome
    }

    /// [`Self::append_sealed`] for a `say` that cannot fail.
    #[inline]
    fn say_all(&mut self, out: &mut Vec<u8>, say: impl FnOnce(&mut Self, &mut Vec<u8>)) {
        let Ok(()) = self.append_sealed(out, |session, out| {
            say(session, out);
            Ok::<_, Infallible>(())
        });
    }

    #[inline]
    fn packet_wanted(&self) -> PacketWanted {
        match self.phase {
            MysqlPhase::InFlight | MysqlPhase::SetUp(_) => self.reply.packet_wanted(),
            MysqlPhase::Prepare { left: Some(_) }
            | MysqlPhase::PrepareOne(MysqlPreparing::Described { .. }) => PacketWanted::Kind,
            _ => PacketWanted::Whole(PAYLOAD_BYTES_MAX),
        }
    }

    #[inline]
    fn packet(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<SessionEvent, DriverError> {
        if self.has_more_to_send() {
            return Err(DriverError::Protocol(
                "a reply before the end of the file that the server asked for",
            ));
        }
        match self.phase {
            MysqlPhase::InFlight => match self.reply.packet(payload)? {
                PacketOutcome::More => Ok(SessionEvent::Pending),
                PacketOutcome::Done(reply) => {
                    self.phase = MysqlPhase::Idle;
                    Ok(SessionEvent::Reply(reply))
                }
                PacketOutcome::FileWanted(name) => Ok(self.file_wanted(&name, out)),
            },
            MysqlPhase::Greeting => self.greeting(payload, out),
            MysqlPhase::Login(ref mut login) => match login.packet(payload, &self.target)? {
                LoginStep::LoggedIn => Ok(self.set_up(0, out)),
                LoginStep::Wait => Ok(SessionEvent::Pending),
                LoginStep::Answer(answer) => Ok(self.answer(&answer, out)),
            },
            MysqlPhase::SetUp(index) => self.setting_up(index, payload, out),
            MysqlPhase::PrepareOne(ref mut preparing) => match preparing.packet(payload)? {
                None => Ok(SessionEvent::Pending),
                Some(event) => Ok(self.prepared_one(event)),
            },
            // To an idle client, this is the server's reason to close the connection.
            MysqlPhase::Prepare { .. } | MysqlPhase::Idle if payload.first() == Some(&0xff) => {
                Err(parse_error(payload)?.into())
            }
            MysqlPhase::Prepare { left: None } => self.prepared_ok(payload, out),
            MysqlPhase::Prepare { left: Some(_) } => Ok(self.skimmed(out)),
            MysqlPhase::Idle => Err(DriverError::Protocol("an unexpected reply")),
        }
    }

    /// Takes a packet that was skipped.
    fn skimmed(&mut self, out: &mut Vec<u8>) -> SessionEvent {
        let left = match &mut self.phase {
            MysqlPhase::Prepare { left: Some(left) } => left,
            MysqlPhase::PrepareOne(preparing) => {
                let event = preparing.described();
                return event.map_or(SessionEvent::Pending, |event| self.prepared_one(event));
            }
            _ => {
                self.reply.skimmed();
                return SessionEvent::Pending;
            }
        };
        *left -= 1;
        if *left == 0 { self.prepare_next(out) } else { SessionEvent::Pending }
    }

    /// Answers with the login, or with a request for TLS, after whose handshake the login follows.
    fn greeting(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<SessionEvent, DriverError> {
        let greeting = parse_greeting(payload)?;
        self.version = version(&greeting.version);
        if let Some(connections) = &self.target.connections {
            connections.add(greeting.connection);
        }
        if self.encrypts(greeting.offers_tls())? {
            let mut request = Vec::new();
            put_tls_request(&mut request, &self.target, &greeting);
            self.answer(&request, out);
            if let Some(client) = &self.tls_client {
                self.encryption = Some(Box::new(TlsLayer::client(client, self.endpoint(), out)?));
            }
        }
        let is_encrypted = self.encryption.is_some();
        self.append_sealed(out, |session, out| session.log_in(&greeting, is_encrypted, out))?;
        Ok(SessionEvent::Pending)
    }

    fn log_in(
        &mut self,
        greeting: &Greeting,
        is_encrypted: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), DriverError> {
        let mut payload = Vec::new();
        let login = LoginExchange::begin(
            &self.target,
            self.endpoint(),
            is_encrypted,
            greeting,
            &mut payload,
        )?;
        self.answer(&payload, out);
        self.phase = MysqlPhase::Login(Box::new(login));
        Ok(())
    }

    /// Appends the next packet of an exchange.
    fn answer(&mut self, payload: &[u8], out: &mut Vec<u8>) -> SessionEvent {
        self.packets.sequence =
            put_packets(out, self.packets.sequence, |out| out.extend_from_slice(payload));
        SessionEvent::Pending
    }

    fn encrypts(&self, is_offered: bool) -> Result<bool, DriverError> {
        match &self.tls_client {
            Some(_) if is_offered => Ok(true),
            Some(client) if client.mode.is_required() => Err(TlsError::NotOffered.into()),
            None if self.target.tls.mode.is_required() => {
                Err(TlsError::Other("this session was made without the target's TLS".to_owned())
                    .into())
            }
            _ => Ok(false),
        }
    }

    /// Sends the setup statement with this index; after the last one, statements are prepared.
    fn set_up(&mut self, index: usize, out: &mut Vec<u8>) -> SessionEvent {
        let Some(sql) = self.target.setup.get(index) else { return self.prepare_next(out) };
        self.packets.sequence = put_query(out, sql.as_bytes());
        self.phase = MysqlPhase::SetUp(index);
        self.reply.expect_reply(false, false);
        SessionEvent::Pending
    }

    fn setting_up(
        &mut self,
        index: usize,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<SessionEvent, DriverError> {
        match self.reply.packet(payload)? {
            PacketOutcome::More => Ok(SessionEvent::Pending),
            PacketOutcome::Done(Reply { error: Some(error), .. }) => {
                Err(DriverError::setup(&self.target.setup[index], error))
            }
            PacketOutcome::Done(_) => Ok(self.set_up(index + 1, out)),
            PacketOutcome::FileWanted(name) => Ok(self.file_wanted(&name, out)),
        }
    }

    /// The server asks for a file of this machine, which [`Session::put_more`] sends if the
    /// statement names it.
    fn file_wanted(&mut self, name: &[u8], out: &mut Vec<u8>) -> SessionEvent {
        match LocalFiles::open(self.files.as_deref_mut(), name) {
            Ok(()) => SessionEvent::Pending,
            Err(problem) => {
                self.reply.file_failed(problem);
                self.answer(&[], out)
            }
        }
    }

    /// Appends the next piece of the file. An empty packet ends it, also where it cannot be read
    /// any more.
    fn put_piece(&mut self, out: &mut Vec<u8>) {
        let Some(files) = &mut self.files else { return };
        let mut read = Ok(());
        self.packets.sequence =
            put_packets(out, self.packets.sequence, |out| read = files.read(out));
        if let Err(problem) = read {
            self.reply.file_failed(problem);
        }
    }

    /// This text is sent: only files that it names may be asked for.
    #[inline]
    fn offer_files(&mut self, sql: &[u8]) {
        if let Some(files) = &mut self.files {
            files.offer(sql);
        }
    }

    fn prepare_next(&mut self, out: &mut Vec<u8>) -> SessionEvent {
        // Each statement has a slot in the list, so that both have the same index.
        while self.statements.get(self.ids.len()).is_some_and(Statement::is_text_only) {
            self.ids.push(0);
        }
        let next = self.statements.get(self.ids.len()).filter(|_| self.prepared);
        let Some(statement) = next else {
            self.phase = MysqlPhase::Idle;
            return SessionEvent::Ready;
        };
        self.packets.sequence = put_prepare(out, statement.sql().as_bytes());
        self.phase = MysqlPhase::Prepare { left: None };
        SessionEvent::Pending
    }

    fn prepared_ok(
        &mut self,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<SessionEvent, DriverError> {
        let (statement, packets) = parse_prepared(payload)?;
        if usize::from(statement.params) != self.statements[self.ids.len()].param_count() {
            return Err(DriverError::Protocol(
                "the prepared statement has a different number of parameters",
            ));
        }
        self.ids.push(statement.id);
        match packets {
            0 => Ok(self.prepare_next(out)),
            left => {
                self.phase = MysqlPhase::Prepare { left: Some(left) };
                Ok(SessionEvent::Pending)
            }
        }
    }

    /// The prepare of one statement has ended.
    fn prepared_one(&mut self, event: MysqlPrepareEnd) -> SessionEvent {
        self.phase = MysqlPhase::Idle;
        match event {
            Ok(statement) => SessionEvent::Prepared(self.ad_hoc.insert(statement)),
            Err(error) => SessionEvent::Reply(self.reply.refusal(error)),
        }
    }

    fn check_idle(&self) -> Result<(), DriverError> {
        if matches!(self.phase, MysqlPhase::Idle) { Ok(()) } else { Err(DriverError::NOT_IDLE) }
    }

    /// A command was sent; its reply follows.
    fn sent(&mut self, is_binary: bool) {
        self.phase = MysqlPhase::InFlight;
        self.reply.expect_reply(is_binary, self.keeps_rows);
    }
}

/// The version in the greeting, without the prefix that MariaDB adds for old replicas.
fn version(text: &str) -> Box<str> {
    let text = text
        .strip_prefix("5.5.5-")
        .filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        .unwrap_or(text);
    text.chars().take(VERSION_CHARS_MAX).collect()
}

/// A server's unsolicited message before it ends a session: it is shutting down, or the session was
/// killed. The packets of a reply are numbered from 1; this one is 0. The next command on the
/// session fails.
fn closes_session(bytes: &[u8]) -> bool {
    matches!(bytes, [_, _, _, 0, 0xff, ..])
}

const MORE_THAN_A_REPLY: DriverError = DriverError::Protocol("more packets than the reply has");

impl Session for MysqlSession {
    /// The server speaks first.
    fn start_login(&mut self, _out: &mut Vec<u8>) {}

    #[inline]
    fn on_bytes(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<SessionEvent, DriverError> {
        if self.encryption.is_some() {
            return self.on_encrypted(bytes, out);
        }
        match say_plain(out, |out| self.on_plain(bytes, out)) {
            Ok(([], event)) => Ok(event),
            // They arrived with the greeting, before TLS: they are not trusted.
            Ok((rest, _)) => self.on_encrypted(rest, out),
            Err(DriverError::Protocol(_)) if matches!(self.phase, MysqlPhase::Greeting) => {
                Err(NOT_A_GREETING)
            }
            Err(error) => Err(error),
        }
    }

    fn send(&mut self, statement: usize, params: &Params, out: &mut Vec<u8>) {
        let is_text = !self.prepared || self.statements[statement].is_text_only();
        if let Some(files) = &mut self.files {
            files.offer(if is_text { self.statements[statement].sql().as_bytes() } else { b"" });
        }
        self.say_all(out, |session, out| {
            session.packets.sequence = if is_text {
                put_text_statement(out, &session.statements[statement], params)
            } else {
                put_execute(out, session.ids[statement], params)
            };
        });
        self.sent(!is_text);
    }

    fn send_bytes(&mut self, sql: &[u8], out: &mut Vec<u8>) {
        self.offer_files(sql);
        self.say_all(out, |session, out| session.packets.sequence = put_query(out, sql));
        self.sent(false);
    }

    fn prepare(
        &mut self,
        sql: &[u8],
        _types: &[ParamType],
        out: &mut Vec<u8>,
    ) -> Result<(), DriverError> {
        self.check_idle()?;
        self.say_all(out, |session, out| session.packets.sequence = put_prepare(out, sql));
        self.phase = MysqlPhase::PrepareOne(MysqlPreparing::Asked);
        Ok(())
    }

    fn execute(
        &mut self,
        handle: u32,
        params: &Params,
        out: &mut Vec<u8>,
    ) -> Result<(), DriverError> {
        self.check_idle()?;
        let id = self.ad_hoc.id(handle, params)?;
        // The client libraries send no file for an execution, either.
        self.offer_files(b"");
        self.say_all(out, |session, out| session.packets.sequence = put_execute(out, id, params));
        self.sent(true);
        Ok(())
    }

    fn close_statement(&mut self, handle: u32, out: &mut Vec<u8>) -> Result<(), DriverError> {
        self.check_idle()?;
        let id = self.ad_hoc.close(handle)?;
        self.say_all(out, |_, out| put_close(out, id));
        Ok(())
    }

    fn collect(&mut self, into: Box<ResultSets>) -> Option<Box<ResultSets>> {
        self.reply.collect(into)
    }

    fn has_more_to_send(&self) -> bool {
        self.files.as_deref().is_some_and(LocalFiles::is_sending)
    }

    fn put_more(&mut self, out: &mut Vec<u8>) {
        if self.has_more_to_send() {
            self.say_all(out, Self::put_piece);
        }
    }

    fn server_version(&self) -> &str {
        &self.version
    }

    fn keep_rows(&mut self) {
        self.keeps_rows = true;
    }

    fn quit(&mut self, out: &mut Vec<u8>) {
        self.say_all(out, |_, out| put_quit(out));
        if let Some(layer) = &mut self.encryption {
            layer.close(out);
        }
    }

    fn closed(&self) -> DriverError {
        let (when, likely) = match &self.phase {
            MysqlPhase::Greeting => (
                "before it sent anything",
                "it may be shutting down, refuse this address, or not be a server of the MySQL \
                 family",
            ),
            MysqlPhase::Login(_)
                if self
                    .encryption
                    .as_ref()
                    .is_some_and(|encryption| encryption.is_handshaking()) =>
            {
                (
                    "during the TLS handshake",
                    "its TLS may be set up wrongly, or too old; its error log may say more. \
                     tls=off connects without",
                )
            }
            MysqlPhase::Login(_) => (
                "during the login",
                "it may be shutting down or at a limit of its own (connect_timeout, a proxy's \
                 number of connections)",
            ),
            MysqlPhase::SetUp(_) => (
                "while setup statements ran",
                "one of them may have ended the connection; its error log may say more",
            ),
            MysqlPhase::Prepare { .. } => (
                "while statements were prepared",
                "it may have crashed or been stopped; its error log may say more",
            ),
            MysqlPhase::Idle | MysqlPhase::InFlight | MysqlPhase::PrepareOne(_) => {
                return DriverError::Closed;
            }
        };
        DriverError::ClosedEarly { when, likely }
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
