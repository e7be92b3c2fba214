//! One session as a state machine without I/O: TLS where it is wanted, then the framing, then the messages.

use std::sync::Arc;

use super::command::put_terminate;
use super::framer::Framer;
use super::machine::{Machine, TransactionStatus};
use super::startup::{put_ssl_request, put_startup};
use crate::{
    DriverError, Endpoint, Event, ParamType, Params, ResultSets, Session, Statement, Target, TlsClient, TlsError,
    TlsLayer,
};

/// What a session keeps of its buffer for plain text: sessions are many, large replies are rare.
const PLAIN_BYTES_KEPT: usize = 16 << 10;

/// A session of a PostgreSQL server. A few hundred bytes without TLS: thousands are cheap.
pub struct PgSession {
    framer: Framer,
    machine: Machine,
    encryption: Encryption,
}

enum Encryption {
    Off,
    /// To be asked for, or asked for.
    Wanted(Wanted),
    On(Box<Encrypted>),
}

struct Wanted {
    client: TlsClient,
    endpoint: Endpoint,
}

struct Encrypted {
    layer: TlsLayer,
    /// What came, decrypted.
    plain: Vec<u8>,
}

impl PgSession {
    /// A session of client number `client`. `prepared`: statements are prepared at login and executed with values
    /// apart from the text; otherwise each is sent as text with the values in it.
    ///
    /// `tls` is for TCP: PostgreSQL has none on unix sockets, whatever its clients ask for.
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
            Some(client) if !is_local => Encryption::Wanted(Wanted { client, endpoint: endpoint.clone() }),
            _ => Encryption::Off,
        };
        Self { framer: Framer::default(), machine: Machine::new(target, statements, prepared, is_local), encryption }
    }

    /// The server has answered to the request for TLS.
    fn on_tls_answer(&mut self, wanted: &Wanted, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), DriverError> {
        self.encryption = match bytes {
            b"S" => {
                let mut layer = TlsLayer::client(&wanted.client, &wanted.endpoint, out)?;
                let mut startup = Vec::new();
                put_startup(&mut startup, &self.machine.target().login);
                layer.write(&startup, out);
                self.machine.becomes_encrypted();
                Encryption::On(Box::new(Encrypted { layer, plain: Vec::new() }))
            }
            b"N" if wanted.client.is_required() => return Err(TlsError::NotOffered.into()),
            b"N" => {
                put_startup(out, &self.machine.target().login);
                Encryption::Off
            }
            // Above all, bytes behind the answer: somebody on the way may have put them there, to be taken for the
            // server's own once TLS has begun (CVE-2021-23222).
            _ => return Err(DriverError::Protocol("an answer to the request for TLS that is neither yes nor no")),
        };
        Ok(())
    }

    /// Appends what `say` appends, encrypted where that is on.
    fn say<T>(&mut self, out: &mut Vec<u8>, say: impl FnOnce(&mut Machine, &mut Vec<u8>) -> T) -> T {
        let from = out.len();
        let said = say(&mut self.machine, out);
        if let Encryption::On(encrypted) = &mut self.encryption {
            encrypted.layer.seal(out, from);
        }
        said
    }
}

impl Session for PgSession {
    fn begin(&mut self, out: &mut Vec<u8>) {
        match self.encryption {
            Encryption::Wanted(_) => put_ssl_request(out),
            _ => put_startup(out, &self.machine.target().login),
        }
    }

    fn on_bytes(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<Event, DriverError> {
        let Self { framer, machine, encryption } = self;
        match encryption {
            Encryption::Off => machine.on_bytes(framer, bytes, out),
            Encryption::On(encrypted) => {
                let Encrypted { layer, plain } = &mut **encrypted;
                layer.on_bytes(bytes, plain, out)?;
                let from = out.len();
                let event = machine.on_bytes(framer, plain, out)?;
                layer.seal(out, from);
                plain.clear();
                plain.shrink_to(PLAIN_BYTES_KEPT);
                Ok(event)
            }
            Encryption::Wanted(_) if bytes.is_empty() => Ok(Event::Pending),
            Encryption::Wanted(_) => {
                if let Encryption::Wanted(wanted) = std::mem::replace(encryption, Encryption::Off) {
                    self.on_tls_answer(&wanted, bytes, out)?;
                }
                Ok(Event::Pending)
            }
        }
    }

    fn send(&mut self, statement: usize, params: &Params, out: &mut Vec<u8>) {
        self.say(out, |machine, out| machine.send(statement, params, out));
    }

    fn send_bytes(&mut self, sql: &[u8], out: &mut Vec<u8>) {
        self.say(out, |machine, out| machine.send_bytes(sql, out));
    }

    fn prepare(&mut self, sql: &[u8], types: &[ParamType], out: &mut Vec<u8>) -> Result<(), DriverError> {
        self.say(out, |machine, out| machine.prepare(sql, types, out))
    }

    fn execute(&mut self, handle: u32, params: &Params, out: &mut Vec<u8>) -> Result<(), DriverError> {
        self.say(out, |machine, out| machine.execute(handle, params, out))
    }

    fn close_statement(&mut self, handle: u32, _out: &mut Vec<u8>) -> Result<(), DriverError> {
        self.machine.close_statement(handle)
    }

    fn collect(&mut self, into: Box<ResultSets>) -> Option<Box<ResultSets>> {
        self.machine.collect(into)
    }

    fn server_version(&self) -> &str {
        self.machine.version()
    }

    fn transaction_status(&self) -> Option<TransactionStatus> {
        Some(self.machine.transaction())
    }

    fn keep_rows(&mut self) {
        self.machine.keep_rows();
    }

    fn quit(&mut self, out: &mut Vec<u8>) {
        self.say(out, |_, out| put_terminate(out));
        if let Encryption::On(encrypted) = &mut self.encryption {
            encrypted.layer.close(out);
        }
    }

    fn closed(&self) -> DriverError {
        let (when, likely) = match &self.encryption {
            Encryption::Wanted(_) => ("before it said anything", "it may be shutting down, or be no PostgreSQL"),
            Encryption::On(encrypted) if encrypted.layer.is_handshaking() => (
                "in the middle of the TLS handshake",
                "its TLS may be set up wrongly, or too old; its log may say more. tls=off connects without",
            ),
            _ => return self.machine.closed(),
        };
        DriverError::ClosedEarly { when, likely }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_small() {
        assert!(size_of::<PgSession>() <= 512, "{}", size_of::<PgSession>());
    }
}
