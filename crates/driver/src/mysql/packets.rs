//! Packets from a stream of bytes, complete or skimmed.
//!
//! A packet that arrived completely is read in place. A packet in pieces is assembled in a buffer,
//! or, if its contents are not needed (the rows of a measured statement), skipped as it arrives.
//! Memory is allocated only for bytes that have arrived, never for an announced length.

use super::error_packet::parse_error;
use super::wire::{CHUNK_BYTES_MAX, HEADER_BYTES, read_header};
use crate::DriverError;

/// Limit for everything but rows that are kept: greetings, errors, column names. Servers send some
/// hundred bytes.
pub(super) const PAYLOAD_BYTES_MAX: usize = 1 << 20;
/// A buffer that has grown beyond this for one packet is freed.
const BUFFER_BYTES_KEPT: usize = 64 << 10;
/// Its size between two commands: sessions are many, and most of them wait.
const IDLE_BYTES_KEPT: usize = 512;

/// What must be known of the next packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PacketWanted {
    /// All of it, up to this many bytes.
    Whole(usize),
    /// Whether it is an error or the end of data; the contents are not needed.
    Kind,
}

/// A packet.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Packet<'a> {
    /// In the received bytes.
    Here(&'a [u8]),
    /// In [`Packets::stored`].
    Stored,
    /// It was neither an error nor the end of data, and was skipped.
    Skimmed,
}

#[derive(Debug, Default)]
pub(super) struct Packets {
    /// Number of the packet that is expected next.
    pub(super) sequence: u8,
    stored: Vec<u8>,
    /// The part of a header that has arrived.
    header: [u8; HEADER_BYTES],
    header_bytes: u8,
    body: Body,
    is_out_of_order: bool,
}

/// Position of the stream in a payload.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Body {
    /// Before the first header.
    #[default]
    None,
    /// Before the header of a chunk that continues a payload.
    Between { skims: bool },
    /// `left` bytes of a chunk are missing, followed by another chunk if this one is full.
    Chunk { left: usize, is_last: bool, how: PacketHandling },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PacketHandling {
    Store,
    Skim,
    /// Its first byte decides.
    Unknown {
        length: usize,
    },
}

impl Packets {
    /// The next packet of `bytes`, which is advanced past it. `None`: more bytes are needed.
    #[inline]
    pub(super) fn next<'a>(
        &mut self,
        bytes: &mut &'a [u8],
        wanted: PacketWanted,
    ) -> Result<Option<Packet<'a>>, DriverError> {
        if self.body == Body::None && self.header_bytes == 0 && bytes.len() >= HEADER_BYTES {
            let (length, sequence) = read_header(bytes);
            // Longer packets are handled below.
            if sequence == self.sequence
                && length <= BUFFER_BYTES_KEPT
                && bytes.len() >= HEADER_BYTES + length
            {
                let payload = &bytes[HEADER_BYTES..HEADER_BYTES + length];
                *bytes = &bytes[HEADER_BYTES + length..];
                self.sequence = sequence.wrapping_add(1);
                return Ok(Some(Packet::Here(payload)));
            }
        }
        self.next_in_pieces(bytes, wanted)
    }

    /// The payload of the last [`Packet::Stored`]. The buffer is returned with
    /// [`Packets::give_back`].
    pub(super) fn take_stored(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.stored)
    }

    pub(super) fn give_back(&mut self, mut buffer: Vec<u8>) {
        if buffer.capacity() <= BUFFER_BYTES_KEPT {
            buffer.clear();
            self.stored = buffer;
        }
    }

    /// A reply has ended.
    #[inline]
    pub(super) fn rest(&mut self) {
        if self.stored.capacity() > IDLE_BYTES_KEPT && self.stored.is_empty() {
            self.stored = Vec::new();
        }
    }

    fn next_in_pieces<'a>(
        &mut self,
        bytes: &mut &'a [u8],
        wanted: PacketWanted,
    ) -> Result<Option<Packet<'a>>, DriverError> {
        loop {
            match self.body {
                Body::None | Body::Between { .. } => {
                    if !self.take_header(bytes, wanted)? {
                        return Ok(None);
                    }
                }
                Body::Chunk { left, is_last, how } => {
                    let Some(how) = decided(how, bytes) else { return Ok(None) };
                    let (piece, rest) = bytes.split_at(bytes.len().min(left));
                    *bytes = rest;
                    if how == PacketHandling::Store {
                        self.stored.extend_from_slice(piece);
                    }
                    let left = left - piece.len();
                    if left > 0 {
                        self.body = Body::Chunk { left, is_last, how };
                        return Ok(None);
                    }
                    let skims = how == PacketHandling::Skim;
                    self.body = if is_last { Body::None } else { Body::Between { skims } };
                    if is_last {
                        return self.ended(skims).map(Some);
                    }
                }
            }
        }
    }

    /// Whether the header of the next chunk is complete.
    fn take_header(
        &mut self,
        bytes: &mut &[u8],
        wanted: PacketWanted,
    ) -> Result<bool, DriverError> {
        let have = usize::from(self.header_bytes);
        let (piece, rest) = bytes.split_at(bytes.len().min(HEADER_BYTES - have));
        self.header[have..have + piece.len()].copy_from_slice(piece);
        *bytes = rest;
        self.header_bytes = (have + piece.len()) as u8;
        if usize::from(self.header_bytes) < HEADER_BYTES {
            return Ok(false);
        }
        self.header_bytes = 0;
        let (length, sequence) = read_header(&self.header);
        let is_first = self.body == Body::None;
        self.is_out_of_order |= sequence != self.sequence;
        self.sequence = sequence.wrapping_add(1);
        let how = match (self.body, wanted) {
            (Body::Between { skims: true }, _) => PacketHandling::Skim,
            (Body::None, PacketWanted::Kind) if length > 0 && !self.is_out_of_order => {
                PacketHandling::Unknown { length }
            }
            _ => PacketHandling::Store,
        };
        let bytes_max = match wanted {
            PacketWanted::Whole(bytes_max) if !self.is_out_of_order => bytes_max,
            _ => PAYLOAD_BYTES_MAX,
        };
        if self.is_out_of_order && !is_first {
            return Err(OUT_OF_ORDER);
        }
        if how == PacketHandling::Store && self.stored.len() + length > bytes_max {
            return Err(if self.is_out_of_order { OUT_OF_ORDER } else { TOO_LONG });
        }
        self.body = Body::Chunk { left: length, is_last: length < CHUNK_BYTES_MAX, how };
        Ok(true)
    }

    /// The only packet that a server sends out of order: why it is about to close the connection.
    fn ended<'a>(&mut self, skims: bool) -> Result<Packet<'a>, DriverError> {
        if self.is_out_of_order {
            let error = if self.stored.first() == Some(&0xff) {
                parse_error(&self.stored)?.into()
            } else {
                OUT_OF_ORDER
            };
            return Err(error);
        }
        Ok(if skims { Packet::Skimmed } else { Packet::Stored })
    }
}

/// Whether the payload is stored or skipped; `None` if its first byte is still missing.
fn decided(how: PacketHandling, bytes: &[u8]) -> Option<PacketHandling> {
    let PacketHandling::Unknown { length } = how else { return Some(how) };
    let is_of_interest = match bytes.first()? {
        0xff => true,
        0xfe => length < 9,
        _ => false,
    };
    Some(if is_of_interest && length <= PAYLOAD_BYTES_MAX {
        PacketHandling::Store
    } else {
        PacketHandling::Skim
    })
}

const OUT_OF_ORDER: DriverError = DriverError::Protocol("packets out of order");
const TOO_LONG: DriverError = DriverError::Protocol("a packet that is longer than allowed here");

#[cfg(test)]
mod tests {
    use super::super::wire::put_packets;
    use super::*;

    /// The result of `stream` in pieces.
    fn read(
        stream: &[u8],
        piece: usize,
        wanted: PacketWanted,
    ) -> Result<Vec<Option<Vec<u8>>>, String> {
        let (mut packets, mut found) = (Packets::default(), Vec::new());
        for mut bytes in stream.chunks(piece) {
            loop {
                match packets.next(&mut bytes, wanted).map_err(|error| error.to_string())? {
                    None => break,
                    Some(Packet::Here(payload)) => found.push(Some(payload.to_vec())),
                    Some(Packet::Skimmed) => found.push(None),
                    Some(Packet::Stored) => {
                        let payload = packets.take_stored();
                        found.push(Some(payload.clone()));
                        packets.give_back(payload);
                    }
                }
            }
            assert!(bytes.is_empty());
        }
        Ok(found)
    }

    fn stream(payloads: &[Vec<u8>]) -> Vec<u8> {
        let (mut out, mut sequence) = (Vec::new(), 0);
        for payload in payloads {
            sequence = put_packets(&mut out, sequence, |out| out.extend_from_slice(payload));
        }
        out
    }

    #[test]
    fn packets_of_all_lengths_in_all_pieces() {
        let payloads: Vec<_> = [0, 1, 3, 300, 70_000, 0, 5].map(|length| vec![b'x'; length]).into();
        let stream = stream(&payloads);
        for piece in [1, 2, 3, 4, 5, 7, 64, 65_536, stream.len()] {
            let found = read(&stream, piece, PacketWanted::Whole(1 << 20)).unwrap();
            assert_eq!(found, payloads.iter().cloned().map(Some).collect::<Vec<_>>(), "{piece}");
        }
    }

    #[test]
    fn long_payloads_are_put_together_or_passed_over() {
        let payloads = [
            vec![b'a'; CHUNK_BYTES_MAX],
            vec![b'b'; CHUNK_BYTES_MAX + 7],
            b"\xfe\0\0\0\0".to_vec(),
        ];
        let stream = stream(&payloads);
        for piece in [65_536, stream.len()] {
            let whole = read(&stream, piece, PacketWanted::Whole(1 << 30)).unwrap();
            assert!(whole == payloads.clone().map(Some));
            let skimmed = read(&stream, piece, PacketWanted::Kind).unwrap();
            assert_eq!(skimmed, [None, None, Some(payloads[2].clone())]);
            let error = read(&stream, piece, PacketWanted::Whole(1 << 20)).unwrap_err();
            assert!(error.contains("longer than"), "{error}");
        }
    }

    #[test]
    fn nothing_is_allocated_for_what_has_not_come() {
        let mut packets = Packets::default();
        let mut bytes = &b"\xff\xff\xff\0abc"[..];
        assert_eq!(packets.next(&mut bytes, PacketWanted::Whole(1 << 30)).unwrap(), None);
        assert!(packets.stored.capacity() < 100);
    }

    #[test]
    fn an_error_out_of_turn_is_reported() {
        for piece in [1, 100] {
            let error = read(b"\x0c\0\0\x07\xff\x1d\x04#08S01bye", piece, PacketWanted::Whole(100))
                .unwrap_err();
            assert_eq!(error, "bye (error 1053, SQLSTATE 08S01)", "{piece}");
            assert!(
                read(b"\x01\0\0\x07x", piece, PacketWanted::Whole(100))
                    .unwrap_err()
                    .contains("out of order")
            );
        }
    }
}
