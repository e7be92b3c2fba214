//! One encrypted connection, as bytes in and bytes out.

use std::io::{Read as _, Write as _};

use rustls::ClientConnection;

use super::{TlsClient, TlsError};
use crate::{DriverError, Endpoint};

/// How much plain text is taken from the library at once: one record's worth.
const READ_BYTES: usize = 16 << 10;

/// The TLS of one connection, between the socket's bytes and the session's.
///
/// About 20 KB: it lives in a box where sessions are many.
#[derive(Debug)]
pub struct TlsLayer {
    connection: ClientConnection,
}

impl TlsLayer {
    /// Begins the handshake: appends to `out` what must be sent first. `endpoint` has the name that the certificate is
    /// checked for.
    pub fn client(client: &TlsClient, endpoint: &Endpoint, out: &mut Vec<u8>) -> Result<Self, DriverError> {
        let name = client.server_name(endpoint)?;
        let mut connection = ClientConnection::new(client.config().clone(), name).map_err(TlsError::of_rustls)?;
        // One statement is in flight: what waits to be encrypted is bounded by it, and must not be cut off.
        connection.set_buffer_limit(None);
        let mut layer = Self { connection };
        layer.take_encrypted(out);
        Ok(layer)
    }

    /// The handshake is not over yet.
    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// Takes all bytes that came from the socket. Appends to `plain` what the server said, and to `out` what must be
    /// sent now. Records may be cut anywhere.
    pub fn on_bytes(&mut self, mut cipher: &[u8], plain: &mut Vec<u8>, out: &mut Vec<u8>) -> Result<(), DriverError> {
        while !cipher.is_empty() {
            // Reads from memory do not fail; the library refuses more only while plain text waits, which is taken
            // each time round.
            let taken = self.connection.read_tls(&mut cipher).map_err(|error| TlsError::Other(error.to_string()))?;
            let state = self.connection.process_new_packets();
            // In any case: an error has an alert, which tells the server why.
            self.take_encrypted(out);
            let state = state.map_err(TlsError::of_rustls)?;
            self.take_plain(state.plaintext_bytes_to_read(), plain);
            if state.peer_has_closed() || taken == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Encrypts `plain` and appends it to `out`.
    pub fn write(&mut self, plain: &[u8], out: &mut Vec<u8>) {
        // Into memory without a limit: it cannot fail.
        let _ = self.connection.writer().write_all(plain);
        self.take_encrypted(out);
    }

    /// Encrypts what was appended to `out` from `from` on, in its place.
    pub fn seal(&mut self, out: &mut Vec<u8>, from: usize) {
        if out.len() == from {
            return;
        }
        let _ = self.connection.writer().write_all(&out[from..]);
        out.truncate(from);
        self.take_encrypted(out);
    }

    /// Appends the goodbye of TLS.
    pub fn close(&mut self, out: &mut Vec<u8>) {
        self.connection.send_close_notify();
        self.take_encrypted(out);
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

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
