//! One encrypted connection: bytes in, bytes out.

use std::fmt;
use std::io::{Read as _, Write as _};

use rustls::ClientConnection;

use super::{TlsClient, TlsError};
use crate::{DriverError, Endpoint};

/// How much plain text is read from the library at once: one record.
const READ_BYTES: usize = 16 << 10;

/// Size to which each of the layer's buffers shrinks: sessions are many, large statements and
/// replies are rare.
const BUFFER_BYTES_KEPT: usize = 16 << 10;

/// The TLS of one connection, between the socket's bytes and the session's.
///
/// The session never writes to the buffer that goes to the socket: its output is kept in a buffer
/// of the layer until it is encrypted, and is dropped if the session fails.
///
/// About 20 KB: box it if sessions are many.
pub struct TlsLayer {
    connection: ClientConnection,
    /// Received and decrypted.
    heard: Vec<u8>,
    /// To be encrypted.
    said: Vec<u8>,
}

impl TlsLayer {
    /// Begins the handshake: appends to `out` what must be sent first. `endpoint` has the name that
    /// the certificate must be for.
    pub fn client(
        client: &TlsClient,
        endpoint: &Endpoint,
        out: &mut Vec<u8>,
    ) -> Result<Self, DriverError> {
        let name = client.server_name(endpoint)?;
        let mut connection =
            ClientConnection::new(client.config.clone(), name).map_err(TlsError::of_rustls)?;
        // One statement is in flight: it bounds the bytes that wait for encryption, which must not
        // be cut off.
        connection.set_buffer_limit(None);
        let mut layer = Self { connection, heard: Vec::new(), said: Vec::new() };
        layer.take_encrypted(out);
        Ok(layer)
    }

    /// The handshake is not over yet.
    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// Takes all bytes received from the socket, which may be cut anywhere. `answer` gets the
    /// decrypted bytes, and appends the reply; see [`TlsLayer::append_encrypted`]. Appends to `out`
    /// what must be sent now.
    pub fn on_bytes<T>(
        &mut self,
        cipher: &[u8],
        out: &mut Vec<u8>,
        answer: impl FnOnce(&[u8], &mut Vec<u8>) -> Result<T, DriverError>,
    ) -> Result<T, DriverError> {
        let mut heard = std::mem::take(&mut self.heard);
        let opened = self.open(cipher, &mut heard, out);
        let answered =
            opened.and_then(|()| self.append_encrypted(out, |said| answer(&heard, said)));
        self.heard = heard;
        empty(&mut self.heard);
        answered
    }

    /// Encrypts what `say` appends, and appends the result to `out`. If `say` fails, nothing of it
    /// is sent.
    pub fn append_encrypted<T, E>(
        &mut self,
        out: &mut Vec<u8>,
        say: impl FnOnce(&mut Vec<u8>) -> Result<T, E>,
    ) -> Result<T, E> {
        let outcome = say(&mut self.said);
        if outcome.is_ok() && !self.said.is_empty() {
            // Writing to memory without a limit cannot fail.
            let _ = self.connection.writer().write_all(&self.said);
            self.take_encrypted(out);
        }
        empty(&mut self.said);
        outcome
    }

    /// Appends the goodbye of TLS.
    pub fn close(&mut self, out: &mut Vec<u8>) {
        self.connection.send_close_notify();
        self.take_encrypted(out);
    }

    fn open(
        &mut self,
        mut cipher: &[u8],
        plain: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<(), DriverError> {
        while !cipher.is_empty() {
            // Reading from memory cannot fail; the library refuses more only while plain text
            // waits, which is taken in each turn.
            let taken = self
                .connection
                .read_tls(&mut cipher)
                .map_err(|error| TlsError::Other(error.to_string()))?;
            let state = self.connection.process_new_packets();
            // Also on errors: an error has an alert, which informs the server.
            self.take_encrypted(out);
            let state = state.map_err(TlsError::of_rustls)?;
            self.take_plain(state.plaintext_bytes_to_read(), plain);
            if state.peer_has_closed() || taken == 0 {
                break;
            }
        }
        Ok(())
    }

    fn take_plain(&mut self, bytes: usize, plain: &mut Vec<u8>) {
        let mut left = bytes;
        while left > 0 {
            let start = plain.len();
            plain.resize(start + left.min(READ_BYTES), 0);
            let read = self.connection.reader().read(&mut plain[start..]).unwrap_or(0);
            plain.truncate(start + read);
            left = if read == 0 { 0 } else { left - read };
        }
    }

    fn take_encrypted(&mut self, out: &mut Vec<u8>) {
        while self.connection.wants_write() {
            if self.connection.write_tls(out).is_err() {
                break;
            }
        }
    }
}

/// Appends what `say` appends, unencrypted, for a session without TLS; appends nothing if `say`
/// fails.
pub(crate) fn say_plain<T, E>(
    out: &mut Vec<u8>,
    say: impl FnOnce(&mut Vec<u8>) -> Result<T, E>,
) -> Result<T, E> {
    let from = out.len();
    let outcome = say(out);
    if outcome.is_err() {
        out.truncate(from);
    }
    outcome
}

fn empty(buffer: &mut Vec<u8>) {
    buffer.clear();
    buffer.shrink_to(BUFFER_BYTES_KEPT);
}

/// Neither received nor sent data belong in a log.
impl fmt::Debug for TlsLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsLayer").field("connection", &self.connection).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
