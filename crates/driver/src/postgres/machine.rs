//! How a session handles each message, from the login to the replies.

use std::sync::Arc;

use super::ad_hoc::{PostgresPrepareEnd, PostgresStatements, PrepareOne};
use super::authentication::Authentication;
use super::command::{
    Name, PARAMETERS_MAX, put_copy_fail, put_execute, put_parse, put_query, put_sync,
    put_text_statement,
};
use super::framer::{Framer, LOGIN_MESSAGE_BYTES_MAX, MESSAGE_BYTES_MAX, Message, Wants};
use super::reply::{MessageOutcome, PostgresReplyReader};
use super::report::parse_report;
use super::wire::BodyReader;
use crate::{
    COLLECTED_BYTES_MAX, DriverError, ParamType, Params, Reply, ServerError, SessionEvent,
    Statement, Target, TlsMode, TransactionStatus,
};

const CLOSED_LOGIN_HINT: &str = "it may be shutting down, at a limit (authentication_timeout, a \
     proxy's number of connections), or not be PostgreSQL";

/// Servers have some twenty, with the names of their builds.
const VERSION_CHARS_MAX: usize = 200;

enum PostgresPhase {
    Login(Authentication),
    /// Logged in; the server sends its settings.
    Settings,
    /// The target's setup statement with this index was sent.
    SetUp(usize),
    Prepare(PostgresPreparing),
    Idle,
    /// `extended`: with the protocol of prepared statements.
    InFlight {
        extended: bool,
    },
    /// A statement that is not in the list is being prepared.
    PrepareOne(PrepareOne),
}

/// All statements are being prepared at once.
#[derive(Default)]
struct PostgresPreparing {
    done: usize,
}

/// The session behind the framing, separate so that a message can stay in the framer while it is
/// handled.
pub(crate) struct Machine {
    pub(crate) target: Arc<Target>,
    statements: Arc<[Statement]>,
    prepared: bool,
    /// Only the server can read what is sent: a unix socket, or TLS with a verified certificate.
    is_private: bool,
    phase: PostgresPhase,
    pub(crate) reply: PostgresReplyReader,
    ad_hoc: PostgresStatements,
    pub(crate) transaction: TransactionStatus,
    pub(crate) version: Box<str>,
    /// Arrived right after a reply: kept for the next call, so that the reply is not lost.
    closing_error: Option<ServerError>,
}

impl Machine {
    pub(crate) fn new(
        target: Arc<Target>,
        statements: Arc<[Statement]>,
        prepared: bool,
        is_private: bool,
    ) -> Self {
        Self {
            target,
            statements,
            prepared,
            is_private,
            phase: PostgresPhase::Login(Authentication::default()),
            reply: PostgresReplyReader::default(),
            ad_hoc: PostgresStatements::default(),
            transaction: TransactionStatus::Idle,
            version: Box::default(),
            closing_error: None,
        }
    }

    /// Whether no message of the server has arrived.
    pub(crate) fn has_heard_nothing(&self) -> bool {
        matches!(self.phase, PostgresPhase::Login(Authentication::Open))
    }

    /// All further bytes are encrypted.
    pub(crate) fn becomes_encrypted(&mut self) {
        // With an unverified certificate, the peer may be an attacker in the middle who asks for
        // the password that the server itself would never receive.
        self.is_private =
            matches!(self.target.tls.mode, TlsMode::VerifyCa | TlsMode::VerifyIdentity);
    }

    /// The meaning of a connection that the server closes now.
    pub(crate) fn closed(&self) -> DriverError {
        if let Some(error) = &self.closing_error {
            return error.clone().into();
        }
        let (when, likely) = match self.phase {
            PostgresPhase::Login(_) | PostgresPhase::Settings => {
                ("during the login", CLOSED_LOGIN_HINT)
            }
            PostgresPhase::SetUp(_) => (
                "while setup statements ran",
                "one of them may have ended the connection; its log may say more",
            ),
            PostgresPhase::Prepare(_) => ("while statements were prepared", "its log says why"),
            PostgresPhase::Idle | PostgresPhase::InFlight { .. } | PostgresPhase::PrepareOne(_) => {
                return DriverError::Closed;
            }
        };
        DriverError::ClosedEarly { when, likely }
    }

    /// Takes the received bytes, through the framer.
    pub(crate) fn on_bytes(
        &mut self,
        framer: &mut Framer,
        mut bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<SessionEvent, DriverError> {
        if let Some(error) = self.closing_error.take() {
            return Err(error.into());
        }
        let mut event = SessionEvent::Pending;
        while let Some(message) = framer.next(&mut bytes, self.wants())? {
            if event == SessionEvent::Pending {
                event = self.message(message, out)?;
            } else {
                self.message_behind(message)?;
            }
            if self.closing_error.is_some() {
                // The session is over, and further bytes are ignored.
                break;
            }
        }
        if event != SessionEvent::Pending {
            framer.rest();
        }
        Ok(event)
    }

    pub(crate) fn send(&mut self, index: usize, params: &Params, out: &mut Vec<u8>) {
        let statement = &self.statements[index];
        let extended = self.prepared && !statement.is_text_only();
        self.ad_hoc.put_off(out);
        if extended {
            put_execute(out, Name::Listed(index), params, self.reply.wants_columns());
        } else {
            put_text_statement(out, statement, params);
        }
        self.sent(extended, 0);
    }

    pub(crate) fn send_bytes(&mut self, sql: &[u8], out: &mut Vec<u8>) {
        self.ad_hoc.put_off(out);
        put_query(out, sql);
        self.sent(false, 0);
    }

    pub(crate) fn prepare(
        &mut self,
        sql: &[u8],
        types: &[ParamType],
        out: &mut Vec<u8>,
    ) -> Result<(), DriverError> {
        self.check_idle()?;
        self.ad_hoc.prepare(sql, types, out)?;
        self.phase = PostgresPhase::PrepareOne(PrepareOne::default());
        Ok(())
    }

    pub(crate) fn execute(
        &mut self,
        handle: u32,
        params: &Params,
        out: &mut Vec<u8>,
    ) -> Result<(), DriverError> {
        self.check_idle()?;
        let columns = self.ad_hoc.columns(handle, params)?;
        self.ad_hoc.put_off(out);
        put_execute(out, Name::AdHoc(handle), params, self.reply.keeps_rows);
        self.sent(true, columns);
        Ok(())
    }

    pub(crate) fn close_statement(&mut self, handle: u32) -> Result<(), DriverError> {
        self.check_idle()?;
        self.ad_hoc.close(handle)
    }

    /// A statement was sent. `columns`: number of its rows' columns, if known.
    fn sent(&mut self, extended: bool, columns: u16) {
        self.phase = PostgresPhase::InFlight { extended };
        self.reply.expect_reply(columns);
    }

    fn check_idle(&self) -> Result<(), DriverError> {
        if matches!(self.phase, PostgresPhase::Idle) { Ok(()) } else { Err(DriverError::NOT_IDLE) }
    }

    fn wants(&self) -> Wants {
        let (settings, is_prepared) = (
            matches!(self.phase, PostgresPhase::Settings),
            matches!(self.phase, PostgresPhase::PrepareOne(_)),
        );
        let body_bytes_max = match self.phase {
            PostgresPhase::Login(_) | PostgresPhase::Settings => LOGIN_MESSAGE_BYTES_MAX,
            PostgresPhase::InFlight { .. } if self.reply.collects() => COLLECTED_BYTES_MAX,
            _ => MESSAGE_BYTES_MAX,
        };
        let (rows, columns) = (self.reply.wants_rows(), self.reply.wants_columns() || is_prepared);
        Wants { rows, columns, settings, body_bytes_max }
    }

    fn message(
        &mut self,
        message: Message<'_>,
        out: &mut Vec<u8>,
    ) -> Result<SessionEvent, DriverError> {
        let Message { kind, body } = message;
        match self.phase {
            PostgresPhase::Settings if kind == b'S' => self.setting(body),
            // NoticeResponse, ParameterStatus and NotificationResponse may come at any time.
            _ if matches!(kind, b'N' | b'S' | b'A') => Ok(SessionEvent::Pending),
            PostgresPhase::InFlight { extended } => self.in_flight(kind, body, extended, out),
            PostgresPhase::SetUp(index) => self.setting_up(index, kind, body, out),
            PostgresPhase::Prepare(ref mut preparing) => {
                match preparing.message(kind, body, &self.statements)? {
                    Some(status) => self.ready(status),
                    None => Ok(SessionEvent::Pending),
                }
            }
            PostgresPhase::PrepareOne(ref mut preparing) => {
                match preparing.message(kind, body, &mut self.ad_hoc)? {
                    Some((end, status)) => self.prepared_one(end, status),
                    None => Ok(SessionEvent::Pending),
                }
            }
            _ if kind == b'E' => Err(parse_report(body)?.error.into()),
            PostgresPhase::Login(ref mut authentication) => match kind {
                b'R' => {
                    if authentication.message(body, &self.target.login, self.is_private, out)? {
                        self.phase = PostgresPhase::Settings;
                    }
                    Ok(SessionEvent::Pending)
                }
                // NegotiateProtocolVersion: the server supports less than requested, and continues
                // with that.
                b'v' => Ok(SessionEvent::Pending),
                _ => Err(DriverError::Protocol("an unexpected message during the login")),
            },
            PostgresPhase::Settings => match kind {
                b'Z' => self.set_up(0, BodyReader::new(body).u8()?, out),
                // BackendKeyData: for cancelling, which is not implemented.
                b'K' => Ok(SessionEvent::Pending),
                _ => Err(DriverError::Protocol("an unexpected message during the login")),
            },
            PostgresPhase::Idle => Err(DriverError::Protocol("an unexpected reply")),
        }
    }

    /// ParameterStatus, of which one is used.
    fn setting(&mut self, body: &[u8]) -> Result<SessionEvent, DriverError> {
        let mut reader = BodyReader::new(body);
        if reader.string()? == b"server_version" {
            self.version =
                String::from_utf8_lossy(reader.string()?).chars().take(VERSION_CHARS_MAX).collect();
        }
        Ok(SessionEvent::Pending)
    }

    fn prepared_one(
        &mut self,
        end: PostgresPrepareEnd,
        status: u8,
    ) -> Result<SessionEvent, DriverError> {
        self.ready(status)?;
        Ok(match end {
            Ok(prepared) => SessionEvent::Prepared(prepared),
            Err(error) => SessionEvent::Reply(self.reply.refusal(error)),
        })
    }

    /// The server is ready, with this transaction status: sends the setup statement with this
    /// index. After the last one, statements are prepared.
    fn set_up(
        &mut self,
        index: usize,
        status: u8,
        out: &mut Vec<u8>,
    ) -> Result<SessionEvent, DriverError> {
        let Some(sql) = self.target.setup.get(index) else { return self.prepare_all(status, out) };
        put_query(out, sql.as_bytes());
        self.phase = PostgresPhase::SetUp(index);
        self.reply.expect_reply(0);
        Ok(SessionEvent::Pending)
    }

    fn setting_up(
        &mut self,
        index: usize,
        kind: u8,
        body: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<SessionEvent, DriverError> {
        match self.reply.message(kind, body) {
            Ok(MessageOutcome::Pending) => Ok(SessionEvent::Pending),
            Ok(MessageOutcome::RefuseCopy) => {
                put_copy_fail(out);
                Ok(SessionEvent::Pending)
            }
            Ok(MessageOutcome::Done { reply: Reply { error: Some(error), .. }, .. })
            | Err(DriverError::Server(error)) => {
                Err(DriverError::setup(&self.target.setup[index], error))
            }
            Ok(MessageOutcome::Done { status, .. }) => self.set_up(index + 1, status, out),
            Err(error) => Err(error),
        }
    }

    /// Logged in and set up: all statements are prepared in one round trip.
    fn prepare_all(&mut self, status: u8, out: &mut Vec<u8>) -> Result<SessionEvent, DriverError> {
        if !self.prepared || self.statements.iter().all(Statement::is_text_only) {
            return self.ready(status);
        }
        for (index, statement) in self.statements.iter().enumerate() {
            if statement.is_text_only() {
                continue;
            }
            check_parameters(statement)?;
            put_parse(out, index, statement);
        }
        put_sync(out);
        self.phase = PostgresPhase::Prepare(PostgresPreparing::default());
        Ok(SessionEvent::Pending)
    }

    fn ready(&mut self, status: u8) -> Result<SessionEvent, DriverError> {
        self.transaction = TransactionStatus::from_byte(status)?;
        self.phase = PostgresPhase::Idle;
        Ok(SessionEvent::Ready)
    }

    fn in_flight(
        &mut self,
        kind: u8,
        body: &[u8],
        extended: bool,
        out: &mut Vec<u8>,
    ) -> Result<SessionEvent, DriverError> {
        match self.reply.message(kind, body)? {
            MessageOutcome::Pending => Ok(SessionEvent::Pending),
            MessageOutcome::RefuseCopy => {
                put_copy_fail(out);
                if extended {
                    // While the server waits for data, it ignores the Sync that was sent with the
                    // statement.
                    put_sync(out);
                }
                Ok(SessionEvent::Pending)
            }
            MessageOutcome::Done { reply, status } => {
                self.transaction = TransactionStatus::from_byte(status)?;
                self.phase = PostgresPhase::Idle;
                Ok(SessionEvent::Reply(reply))
            }
        }
    }

    /// A message right after one that made an event. Only messages that need no answer may follow
    /// there.
    fn message_behind(&mut self, message: Message<'_>) -> Result<(), DriverError> {
        match message.kind {
            b'N' | b'S' | b'A' => Ok(()),
            b'E' => {
                self.closing_error = Some(parse_report(message.body)?.error);
                Ok(())
            }
            _ => Err(DriverError::Protocol("more messages than the reply has")),
        }
    }
}

impl PostgresPreparing {
    /// Takes the next message; `Some` is the transaction status at the end.
    fn message(
        &mut self,
        kind: u8,
        body: &[u8],
        statements: &[Statement],
    ) -> Result<Option<u8>, DriverError> {
        match kind {
            b'1' => self.done += 1,
            b'E' => {
                let mut error = parse_report(body)?.error;
                let refused =
                    statements.iter().filter(|statement| !statement.is_text_only()).nth(self.done);
                if let Some(statement) = refused {
                    error.message.push_str("; statement: ");
                    error.message.push_str(statement.sql());
                }
                return Err(error.into());
            }
            b'Z' if self.done
                == statements.iter().filter(|statement| !statement.is_text_only()).count() =>
            {
                return BodyReader::new(body).u8().map(Some);
            }
            _ => return Err(DriverError::Protocol("an unexpected message during a prepare")),
        }
        Ok(None)
    }
}

/// A number that does not fit its field must not be sent truncated.
fn check_parameters(statement: &Statement) -> Result<(), DriverError> {
    let count = statement.param_count();
    if count <= PARAMETERS_MAX {
        return Ok(());
    }
    let message = format!(
        "a prepared statement with {count} parameters: the protocol takes {PARAMETERS_MAX}"
    );
    Err(ServerError { code: 0, sqlstate: "54023".to_owned(), message, position: 0 }.into())
}
