//! One connection to an HTTP service as a state machine without I/O.

use std::convert::Infallible;
use std::sync::Arc;

use super::response::{Response, ResponseReader};
use super::template::HttpTarget;
use crate::{
    DriverError, ParamType, Params, Reply, ResultSets, ServerError, Session, SessionEvent,
    TlsClient, TlsLayer,
};

/// A connection to a service: its only statement is the request of the template.
pub struct HttpSession {
    target: Arc<HttpTarget>,
    reader: ResponseReader,
    encryption: HttpEncryption,
    /// A request was sent, and its response has not ended.
    is_waiting: bool,
    closes: bool,
}

enum HttpEncryption {
    Off,
    Wanted(TlsClient),
    On(Box<TlsLayer>),
}

impl HttpSession {
    pub fn new(target: Arc<HttpTarget>, tls: Option<TlsClient>) -> Self {
        let encryption = tls.map_or(HttpEncryption::Off, HttpEncryption::Wanted);
        Self {
            target,
            reader: ResponseReader::default(),
            encryption,
            is_waiting: false,
            closes: false,
        }
    }

    fn on_plain(
        reader: &mut ResponseReader,
        is_waiting: bool,
        bytes: &[u8],
    ) -> Result<Option<Response>, DriverError> {
        match reader.on_bytes(bytes)? {
            Some(_) if !is_waiting => Err(DriverError::Protocol("a response without a request")),
            response => Ok(response),
        }
    }

    fn event(&mut self, response: Option<Response>) -> SessionEvent {
        let Some(response) = response else { return SessionEvent::Pending };
        self.is_waiting = false;
        self.closes |= response.closes;
        SessionEvent::Reply(reply(response))
    }
}

fn reply(response: Response) -> Reply {
    if response.is_good() {
        return Reply { affected_rows: 1, ..Reply::default() };
    }
    let Response { status, reason, sample, retry_after, .. } = response;
    let body = String::from_utf8_lossy(&sample);
    let body: String = body.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let colon = if body.is_empty() { "" } else { ": " };
    let message = format!("HTTP {status} {reason}{colon}{body}");
    let error = ServerError { code: status, sqlstate: String::new(), message, position: 0 };
    Reply { error: Some(error), retry_after, ..Reply::default() }
}

impl Session for HttpSession {
    fn start_login(&mut self, out: &mut Vec<u8>) {
        if let HttpEncryption::Wanted(client) = &self.encryption
            // An error is one of the host's name, which was checked with the first connection.
            && let Ok(layer) = TlsLayer::client(client, &self.target.endpoint, out)
        {
            self.encryption = HttpEncryption::On(Box::new(layer));
        }
    }

    fn is_ready_when_connected(&self) -> bool {
        matches!(self.encryption, HttpEncryption::Off)
    }

    fn on_bytes(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<SessionEvent, DriverError> {
        let Self { reader, encryption, is_waiting, .. } = self;
        let is_waiting = *is_waiting;
        let mut has_begun = false;
        let response = match encryption {
            HttpEncryption::Off => Self::on_plain(reader, is_waiting, bytes)?,
            HttpEncryption::Wanted(_) => return Err(DriverError::Protocol("TLS could not begin")),
            HttpEncryption::On(layer) => {
                let was_handshaking = layer.is_handshaking();
                let response = layer
                    .on_bytes(bytes, out, |plain, _| Self::on_plain(reader, is_waiting, plain))?;
                has_begun = was_handshaking && !layer.is_handshaking();
                response
            }
        };
        Ok(if has_begun { SessionEvent::Ready } else { self.event(response) })
    }

    fn on_close(&mut self) -> Result<SessionEvent, DriverError> {
        match self.reader.on_close() {
            Some(response) if self.is_waiting => Ok(self.event(Some(response))),
            _ => Err(self.closed()),
        }
    }

    fn is_closing(&self) -> bool {
        self.closes
    }

    fn send(&mut self, _statement: usize, params: &Params, out: &mut Vec<u8>) {
        self.is_waiting = true;
        let Self { target, encryption, .. } = self;
        match encryption {
            HttpEncryption::On(layer) => {
                let Ok(()) = layer.append_encrypted(out, |out| {
                    target.template.put(params, out);
                    Ok::<_, Infallible>(())
                });
            }
            HttpEncryption::Off | HttpEncryption::Wanted(_) => target.template.put(params, out),
        }
    }

    /// There is no SQL: nothing is sent.
    fn send_bytes(&mut self, _sql: &[u8], _out: &mut Vec<u8>) {}

    fn prepare(
        &mut self,
        _sql: &[u8],
        _types: &[ParamType],
        _out: &mut Vec<u8>,
    ) -> Result<(), DriverError> {
        Err(NO_STATEMENTS)
    }

    fn execute(
        &mut self,
        _handle: u32,
        _params: &Params,
        _out: &mut Vec<u8>,
    ) -> Result<(), DriverError> {
        Err(NO_STATEMENTS)
    }

    fn close_statement(&mut self, _handle: u32, _out: &mut Vec<u8>) -> Result<(), DriverError> {
        Err(NO_STATEMENTS)
    }

    fn collect(&mut self, into: Box<ResultSets>) -> Option<Box<ResultSets>> {
        Some(into)
    }

    fn keep_rows(&mut self) {}

    #[expect(clippy::unnecessary_literal_bound, reason = "the trait's signature")]
    fn server_version(&self) -> &str {
        ""
    }

    fn quit(&mut self, out: &mut Vec<u8>) {
        if let HttpEncryption::On(layer) = &mut self.encryption {
            layer.close(out);
        }
    }

    fn closed(&self) -> DriverError {
        match &self.encryption {
            HttpEncryption::On(layer) if layer.is_handshaking() => DriverError::ClosedEarly {
                when: "during the TLS handshake",
                likely: "the service may not speak TLS at this port: try http://",
            },
            _ => DriverError::Closed,
        }
    }
}

const NO_STATEMENTS: DriverError = DriverError::Misuse("an HTTP service has no statements");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HttpTemplate;

    fn session() -> HttpSession {
        let target = HttpTemplate::target("http://h/", "POST", &[], "{a}", &["a"]).unwrap();
        HttpSession::new(Arc::new(target), None)
    }

    fn send(session: &mut HttpSession) -> String {
        let (mut params, mut out) = (Params::default(), Vec::new());
        params.push_int(7);
        session.send(0, &params, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_request_has_one_reply() {
        let mut session = session();
        assert!(session.is_ready_when_connected());
        assert!(send(&mut session).ends_with("Content-Length: 1\r\n\r\n7"));
        let event = session.on_bytes(b"HTTP/1.1 200 OK\r\nContent-Le", &mut Vec::new()).unwrap();
        assert_eq!(event, SessionEvent::Pending);
        let event = session.on_bytes(b"ngth: 2\r\n\r\nok", &mut Vec::new()).unwrap();
        assert_eq!(event, SessionEvent::Reply(Reply { affected_rows: 1, ..Reply::default() }));
        assert!(!session.is_closing());
        let unasked =
            session.on_bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", &mut Vec::new());
        assert_eq!(
            unasked.unwrap_err().to_string(),
            "the server broke the protocol: a response without a request"
        );
    }

    #[test]
    fn a_status_is_an_error_with_its_text() {
        let mut session = session();
        send(&mut session);
        let text = b"HTTP/1.1 429 Slow\r\nRetry-After: 2\r\nConnection: close\r\nContent-Length: \
                     6\r\n\r\nno\n\x1bx!";
        let SessionEvent::Reply(reply) = session.on_bytes(text, &mut Vec::new()).unwrap() else {
            panic!("no reply")
        };
        let error = reply.error.unwrap();
        assert_eq!((error.code, error.message.as_str()), (429, "HTTP 429 Slow: no  x!"));
        assert_eq!(error.class(), truetps_record::ErrorClass::Overloaded);
        assert_eq!(reply.retry_after, Some(std::time::Duration::from_secs(2)));
        assert!(session.is_closing());
    }

    #[test]
    fn a_connection_that_ends_in_a_response_is_lost_and_one_that_ends_a_response_is_not() {
        let mut session = session();
        send(&mut session);
        session
            .on_bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", &mut Vec::new())
            .unwrap();
        assert!(matches!(session.on_close(), Err(DriverError::Closed)));
        let mut old = self::session();
        send(&mut old);
        old.on_bytes(b"HTTP/1.0 200 OK\r\n\r\nab", &mut Vec::new()).unwrap();
        assert!(matches!(old.on_close(), Ok(SessionEvent::Reply(Reply { error: None, .. }))));
    }
}
