//! The TLS of one session, and the buffer of what it has decrypted.

use crate::{DriverError, Endpoint, TlsClient, TlsLayer};

/// A buffer that has grown beyond this for one read is given back.
const BUFFER_BYTES_KEPT: usize = 16 << 10;

#[derive(Debug)]
pub(super) struct Encryption {
    layer: TlsLayer,
    plain: Vec<u8>,
}

impl Encryption {
    /// Begins the handshake; its first bytes are appended to `out`.
    pub(super) fn begin(client: &TlsClient, endpoint: &Endpoint, out: &mut Vec<u8>) -> Result<Self, DriverError> {
        Ok(Self { layer: TlsLayer::client(client, endpoint, out)?, plain: Vec::new() })
    }

    pub(super) fn is_handshaking(&self) -> bool {
        self.layer.is_handshaking()
    }

    /// What the server said with these bytes. The buffer is given back with [`Encryption::give_back`].
    pub(super) fn open(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<Vec<u8>, DriverError> {
        let mut plain = std::mem::take(&mut self.plain);
        self.layer.on_bytes(bytes, &mut plain, out)?;
        Ok(plain)
    }

    pub(super) fn give_back(&mut self, mut plain: Vec<u8>) {
        if plain.capacity() <= BUFFER_BYTES_KEPT {
            plain.clear();
            self.plain = plain;
        }
    }

    /// Encrypts what was appended to `out` from `from` on.
    pub(super) fn seal(&mut self, out: &mut Vec<u8>, from: usize) {
        self.layer.seal(out, from);
    }

    pub(super) fn close(&mut self, out: &mut Vec<u8>) {
        self.layer.close(out);
    }
}
