//! One session as a state machine without I/O: TLS if requested, then the framing, then the
//! messages.

use std::convert::Infallible;
use std::sync::Arc;
use truetps_record::SqlDialect;

use super::command::put_terminate;
use super::framer::Framer;
use super::machine::Machine;
use super::startup::{put_ssl_request, put_startup};
use crate::tls::say_plain;
use crate::{
    DriverError, Endpoint, ParamType, Params, ResultSets, Session, SessionEvent, Statement, Target,
    TlsClient, TlsError, TlsLayer, TransactionStatus,
};

/// A session of a PostgreSQL server. A few hundred bytes without TLS: thousands are cheap.
pub struct PgSession {
    framer: Framer,
    machine: Machine,
    encryption: Encryption,
}

enum Encryption {
    Off,
    /// TLS to be requested, or already requested.
    Wanted(TlsWanted),
    On(Box<TlsLayer>),
}

struct TlsWanted {
    client: TlsClient,
    endpoint: Endpoint,
}

impl PgSession {
    /// A session of client number `client`. `prepared`: statements are prepared at login and
    /// executed with separate values; otherwise each is sent as text that contains the values.
    ///
    /// `tls` applies to TCP: PostgreSQL has no TLS on unix sockets, whatever its clients request.
    pub fn new(
        target: Arc<Target>,
        statements: Arc<[Statement]>,
        prepared: bool,
        tls: Option<TlsClient>,
        client: u32,
    ) -> Self {
        let endpoint = target.endpoint(client);
        let is_local = matches!(endpoint, Endpoint::Unix(_));
        let encryption = match tls {
            Some(client) if !is_local => {
                Encryption::Wanted(TlsWanted { client, endpoint: endpoint.clone() })
            }
            _ => Encryption::Off,
        };
        Self {
            framer: Framer::default(),
            machine: Machine::new(target, statements, prepared, is_local),
            encryption,
        }
    }

    /// Appends what `say` appends, encrypted if TLS is on; appends nothing if `say` fails.
    #[inline]
    fn append_sealed<T, E>(
        &mut self,
        out: &mut Vec<u8>,
        say: impl FnOnce(&mut Machine, &mut Vec<u8>) -> Result<T, E>,
    ) -> Result<T, E> {
        let Self { machine, encryption, .. } = self;
        match encryption {
            Encryption::Off => say_plain(out, |out| say(machine, out)),
            Encryption::On(layer) => layer.append_encrypted(out, |said| say(machine, said)),
            // The request for TLS was not answered, or was refused: nothing may be sent.
            Encryption::Wanted(_) => say(machine, &mut Vec::new()),
        }
    }

    /// [`Self::append_sealed`] for a `say` that cannot fail.
    #[inline]
    fn say_all(&mut self, out: &mut Vec<u8>, say: impl FnOnce(&mut Machine, &mut Vec<u8>)) {
        let Ok(()) = self.append_sealed(out, |machine, out| {
            say(machine, out);
            Ok::<_, Infallible>(())
        });
    }
}

impl TlsWanted {
    /// Handles the server's answer to the request for TLS: `Some` is the TLS that it agreed to;
    /// `None`: it has none, and none is required.
    fn on_answer(&self, bytes: &[u8], out: &mut Vec<u8>) -> Result<Option<TlsLayer>, DriverError> {
        match bytes {
            b"S" => TlsLayer::client(&self.client, &self.endpoint, out).map(Some),
            b"N" if self.client.mode.is_required() => Err(TlsError::NotOffered.into()),
            b"N" => Ok(None),
            _ if is_greeting_of_mysql(bytes) => {
                Err(DriverError::OtherFamily { is: SqlDialect::Mysql })
            }
            // This includes bytes after the answer: an attacker in the middle may have inserted
            // them, to be taken for the server's own once TLS has begun (CVE-2021-23222).
            _ => Err(DriverError::Protocol("an invalid answer to the request for TLS")),
        }
    }
}

/// One complete packet, the first of a connection: a greeting, or an error instead.
fn is_greeting_of_mysql(bytes: &[u8]) -> bool {
    let [low, middle, high, 0, 9 | 10 | 0xff, rest @ ..] = bytes else { return false };
    u32::from_le_bytes([*low, *middle, *high, 0]) as usize == rest.len() + 1
}

impl Session for PgSession {
    fn start_login(&mut self, out: &mut Vec<u8>) {
        match self.encryption {
            Encryption::Wanted(_) => put_ssl_request(out),
            _ => put_startup(out, &self.machine.target),
        }
    }

    fn on_bytes(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<SessionEvent, DriverError> {
        let Self { framer, machine, encryption } = self;
        match encryption {
            Encryption::Off if machine.has_heard_nothing() && is_greeting_of_mysql(bytes) => {
                Err(DriverError::OtherFamily { is: SqlDialect::Mysql })
            }
            Encryption::Off => say_plain(out, |out| machine.on_bytes(framer, bytes, out)),
            Encryption::On(layer) => {
                layer.on_bytes(bytes, out, |plain, said| machine.on_bytes(framer, plain, said))
            }
            Encryption::Wanted(_) if bytes.is_empty() => Ok(SessionEvent::Pending),
            Encryption::Wanted(wanted) => {
                *encryption = match wanted.on_answer(bytes, out)? {
                    Some(layer) => {
                        machine.becomes_encrypted();
                        Encryption::On(Box::new(layer))
                    }
                    None => Encryption::Off,
                };
                self.say_all(out, |machine, out| put_startup(out, &machine.target));
                Ok(SessionEvent::Pending)
            }
        }
    }

    fn send(&mut self, statement: usize, params: &Params, out: &mut Vec<u8>) {
        self.say_all(out, |machine, out| machine.send(statement, params, out));
    }

    fn send_bytes(&mut self, sql: &[u8], out: &mut Vec<u8>) {
        self.say_all(out, |machine, out| machine.send_bytes(sql, out));
    }

    fn prepare(
        &mut self,
        sql: &[u8],
        types: &[ParamType],
        out: &mut Vec<u8>,
    ) -> Result<(), DriverError> {
        self.append_sealed(out, |machine, out| machine.prepare(sql, types, out))
    }

    fn execute(
        &mut self,
        handle: u32,
        params: &Params,
        out: &mut Vec<u8>,
    ) -> Result<(), DriverError> {
        self.append_sealed(out, |machine, out| machine.execute(handle, params, out))
    }

    fn close_statement(&mut self, handle: u32, _out: &mut Vec<u8>) -> Result<(), DriverError> {
        self.machine.close_statement(handle)
    }

    fn collect(&mut self, into: Box<ResultSets>) -> Option<Box<ResultSets>> {
        self.machine.reply.collect(into)
    }

    fn server_version(&self) -> &str {
        &self.machine.version
    }

    fn transaction_status(&self) -> Option<TransactionStatus> {
        Some(self.machine.transaction)
    }

    fn keep_rows(&mut self) {
        self.machine.reply.keeps_rows = true;
    }

    fn quit(&mut self, out: &mut Vec<u8>) {
        self.say_all(out, |_, out| put_terminate(out));
        if let Encryption::On(layer) = &mut self.encryption {
            layer.close(out);
        }
    }

    fn closed(&self) -> DriverError {
        let (when, likely) = match &self.encryption {
            Encryption::Wanted(_) => {
                ("before it sent anything", "it may be shutting down, or not be PostgreSQL")
            }
            Encryption::On(layer) if layer.is_handshaking() => (
                "during the TLS handshake",
                "its TLS may be set up wrongly, or too old; its log may say more. tls=off connects \
                 without",
            ),
            _ => return self.machine.closed(),
        };
        DriverError::ClosedEarly { when, likely }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Tls, TlsMode};

    #[test]
    fn a_server_of_the_mysql_family_is_recognised() {
        for first in [&b"\x0b\0\0\0\x0a9.7.4\0\x01\0\0\0"[..], b"\x08\0\0\0\xff\x10\x04Too m"] {
            for tls in [TlsMode::Off, TlsMode::Preferred] {
                let tls = TlsClient::new(&Tls { mode: tls, ..Tls::default() }).unwrap();
                let mut target = Target::postgres_unix("/s", "u", "d");
                target.endpoints = vec![Endpoint::Tcp { host: "db".to_owned(), port: 1 }];
                let mut session = PgSession::new(Arc::new(target), Arc::new([]), false, tls, 0);
                let error = session.on_bytes(first, &mut Vec::new()).unwrap_err();
                assert_eq!(error.to_string(), "the server is of the MySQL family, not PostgreSQL");
                assert!(error.hint().unwrap().contains("mysql://"));
            }
        }
    }

    #[test]
    fn a_session_is_small() {
        assert!(size_of::<PgSession>() <= 512, "{}", size_of::<PgSession>());
    }
}
