//! Cuts the stream of bytes into messages.
//!
//! A message that arrived completely is passed on in place. One that arrived in pieces is
//! assembled, each byte copied once. Bodies that are not needed (a row that is only counted, a
//! notice) are skipped, so that a value of any size costs a measured session no memory.

use super::wire::{HEADER_BYTES, read_header};
use crate::DriverError;

/// More than the largest value that truetps writes; a server that announces more violates the
/// protocol.
pub(crate) const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// Limit before the login has ended: the server is not verified until then, and no message of a
/// login is long.
pub(crate) const LOGIN_MESSAGE_BYTES_MAX: usize = 64 << 10;

/// Size to which a session's buffer shrinks after its message: sessions are many, large messages
/// are rare.
const BUFFER_BYTES_KEPT: usize = 16 << 10;
/// Its size between two commands.
const IDLE_BYTES_KEPT: usize = 512;

/// One message of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Message<'a> {
    pub(crate) kind: u8,
    /// Empty if it is not needed.
    pub(crate) body: &'a [u8],
}

/// Which bodies are read, and their maximal length.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wants {
    pub(crate) rows: bool,
    /// RowDescription.
    pub(crate) columns: bool,
    /// ParameterStatus.
    pub(crate) settings: bool,
    pub(crate) body_bytes_max: usize,
}

impl Wants {
    fn body(self, kind: u8) -> bool {
        match kind {
            // NoticeResponse, NotificationResponse, BackendKeyData, CopyData
            b'N' | b'A' | b'K' | b'd' => false,
            b'S' => self.settings,
            // DataRow, RowDescription
            b'D' => self.rows,
            b'T' => self.columns,
            _ => true,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Framer {
    /// The beginning of an incomplete message; a complete message while it is being read.
    partial: Vec<u8>,
    is_done: bool,
    /// Missing bytes of a body that is skipped.
    skip: usize,
}

impl Framer {
    /// The reply has ended. Bytes after it have not been read yet.
    pub(crate) fn rest(&mut self) {
        if self.is_done && self.partial.capacity() > IDLE_BYTES_KEPT {
            (self.partial, self.is_done) = (Vec::new(), false);
        }
    }

    /// Takes the next message from the front of `bytes`. `None`: all were taken, and the message is
    /// incomplete.
    pub(crate) fn next<'m, 'b: 'm>(
        &'m mut self,
        bytes: &mut &'b [u8],
        wants: Wants,
    ) -> Result<Option<Message<'m>>, DriverError> {
        if std::mem::take(&mut self.is_done) {
            self.partial.clear();
            self.partial.shrink_to(BUFFER_BYTES_KEPT);
        }
        let skipped = self.skip.min(bytes.len());
        self.skip -= skipped;
        *bytes = &bytes[skipped..];
        if self.partial.is_empty() {
            self.next_in_place(bytes, wants)
        } else {
            self.next_in_pieces(bytes, wants)
        }
    }

    fn next_in_place<'b>(
        &mut self,
        bytes: &mut &'b [u8],
        wants: Wants,
    ) -> Result<Option<Message<'b>>, DriverError> {
        let Some(header) = read_header(bytes)? else {
            self.keep(bytes, usize::MAX);
            return Ok(None);
        };
        if !wants.body(header.kind) {
            let here = header.body_bytes.min(bytes.len() - HEADER_BYTES);
            self.skip = header.body_bytes - here;
            *bytes = &bytes[HEADER_BYTES + here..];
            return Ok(Some(Message { kind: header.kind, body: &[] }));
        }
        check_length(header.body_bytes, wants)?;
        let Some((message, rest)) = bytes.split_at_checked(HEADER_BYTES + header.body_bytes) else {
            self.keep(bytes, usize::MAX);
            return Ok(None);
        };
        *bytes = rest;
        Ok(Some(Message { kind: header.kind, body: &message[HEADER_BYTES..] }))
    }

    fn next_in_pieces(
        &mut self,
        bytes: &mut &[u8],
        wants: Wants,
    ) -> Result<Option<Message<'_>>, DriverError> {
        self.keep(bytes, HEADER_BYTES.saturating_sub(self.partial.len()));
        let Some(header) = read_header(&self.partial)? else { return Ok(None) };
        if !wants.body(header.kind) {
            // Only the header of such a message is kept.
            self.partial.clear();
            self.skip = header.body_bytes.min(bytes.len());
            *bytes = &bytes[self.skip..];
            self.skip = header.body_bytes - self.skip;
            return Ok(Some(Message { kind: header.kind, body: &[] }));
        }
        check_length(header.body_bytes, wants)?;
        let missing = HEADER_BYTES + header.body_bytes - self.partial.len();
        self.keep(bytes, missing);
        self.is_done = self.partial.len() == HEADER_BYTES + header.body_bytes;
        Ok(self.is_done.then(|| Message { kind: header.kind, body: &self.partial[HEADER_BYTES..] }))
    }

    /// Moves up to `most` bytes from the front of `bytes` to the partial message.
    fn keep(&mut self, bytes: &mut &[u8], most: usize) {
        let (front, rest) = bytes.split_at(most.min(bytes.len()));
        self.partial.extend_from_slice(front);
        *bytes = rest;
    }
}

fn check_length(body_bytes: usize, wants: Wants) -> Result<(), DriverError> {
    if body_bytes > wants.body_bytes_max {
        return Err(DriverError::Protocol("a message that is longer than allowed here"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTS: Wants =
        Wants { rows: false, columns: false, settings: false, body_bytes_max: 100 };

    fn all(framer: &mut Framer, mut bytes: &[u8], wants: Wants) -> Vec<(u8, Vec<u8>)> {
        let mut messages = Vec::new();
        while let Some(message) = framer.next(&mut bytes, wants).unwrap() {
            messages.push((message.kind, message.body.to_vec()));
        }
        messages
    }

    #[test]
    fn any_split_gives_the_same_messages() {
        let stream = b"C\0\0\0\x07abcN\0\0\0\x08skipZ\0\0\0\x05IN\0\0\0\x04D\0\0\0\x05xC\0\0\0\x04";
        for rows in [false, true] {
            let wants = Wants { rows, ..WANTS };
            let whole = all(&mut Framer::default(), stream, wants);
            let row = if rows { b"x".to_vec() } else { Vec::new() };
            assert_eq!(whole.len(), 6);
            assert_eq!((&whole[0], &whole[4]), (&(b'C', b"abc".to_vec()), &(b'D', row)));
            for size in 1..stream.len() {
                let mut framer = Framer::default();
                let pieces: Vec<_> =
                    stream.chunks(size).flat_map(|chunk| all(&mut framer, chunk, wants)).collect();
                assert_eq!(pieces, whole, "in pieces of {size}");
                assert!(framer.skip == 0 && (framer.is_done || framer.partial.is_empty()));
            }
        }
    }

    #[test]
    fn only_wanted_bodies_have_a_limit_and_a_place() {
        let mut framer = Framer::default();
        assert_eq!(all(&mut framer, b"D\x7f\xff\xff\xffxxx", WANTS).len(), 1);
        assert_eq!(all(&mut framer, &vec![b'x'; 1 << 16], WANTS), []);
        assert_eq!(framer.partial.capacity(), 0);
        let mut bytes = &b"E\0\0\0\x69"[..];
        assert!(Framer::default().next(&mut bytes, WANTS).is_err());
    }
}
