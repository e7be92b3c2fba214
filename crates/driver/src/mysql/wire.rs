//! Packets, and the integers and strings inside them. Every read is checked: a malformed packet is
//! an error, not a panic.

use crate::DriverError;

/// A payload of this length is continued in the next packet.
pub(crate) const CHUNK_BYTES_MAX: usize = 0x00ff_ffff;
pub(crate) const HEADER_BYTES: usize = 4;

const TRUNCATED: DriverError = DriverError::Protocol("a packet that is shorter than it announces");

/// Reads a payload from its front.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PayloadReader<'a> {
    rest: &'a [u8],
}

impl<'a> PayloadReader<'a> {
    pub(crate) fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload }
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn bytes(&mut self, n: usize) -> Result<&'a [u8], DriverError> {
        let (front, rest) = self.rest.split_at_checked(n).ok_or(TRUNCATED)?;
        self.rest = rest;
        Ok(front)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, DriverError> {
        Ok(self.bytes(1)?[0])
    }

    /// Little-endian integer of `n` ≤ 8 bytes.
    pub(crate) fn uint(&mut self, n: usize) -> Result<u64, DriverError> {
        let bytes = self.bytes(n)?;
        Ok(bytes.iter().rev().fold(0, |value, byte| (value << 8) | u64::from(*byte)))
    }

    /// Text up to a zero byte, which is skipped; up to the end if there is none.
    pub(crate) fn text_to_zero(&mut self) -> &'a [u8] {
        let end = self.rest.iter().position(|byte| *byte == 0).unwrap_or(self.rest.len());
        let text = &self.rest[..end];
        self.rest = &self.rest[(end + 1).min(self.rest.len())..];
        text
    }

    /// Length-encoded integer; `None` is the NULL marker.
    pub(crate) fn lenenc(&mut self) -> Result<Option<u64>, DriverError> {
        match self.u8()? {
            small @ 0..=0xfa => Ok(Some(small.into())),
            0xfb => Ok(None),
            0xfc => self.uint(2).map(Some),
            0xfd => self.uint(3).map(Some),
            0xfe => self.uint(8).map(Some),
            0xff => Err(DriverError::Protocol("0xff where a length is expected")),
        }
    }

    /// Length-encoded string; `None` is NULL.
    pub(crate) fn lenenc_bytes(&mut self) -> Result<Option<&'a [u8]>, DriverError> {
        let Some(length) = self.lenenc()? else { return Ok(None) };
        let length = usize::try_from(length).map_err(|_| TRUNCATED)?;
        self.bytes(length).map(Some)
    }
}

/// Appends a length-encoded integer.
pub(crate) fn put_lenenc(out: &mut Vec<u8>, value: u64) {
    match value {
        0..=0xfa => out.push(value as u8),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&value.to_le_bytes()[..2]);
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&value.to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&value.to_le_bytes());
        }
    }
}

/// Appends one command or reply as packets, numbered from `sequence`. `fill` appends the payload.
///
/// Returns the sequence number of the next packet of the exchange.
pub(crate) fn put_packets(out: &mut Vec<u8>, sequence: u8, fill: impl FnOnce(&mut Vec<u8>)) -> u8 {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER_BYTES]);
    fill(out);
    let length = out.len() - start - HEADER_BYTES;
    if length < CHUNK_BYTES_MAX {
        write_header(&mut out[start..start + HEADER_BYTES], length, sequence);
        return sequence.wrapping_add(1);
    }
    let payload = out.split_off(start + HEADER_BYTES);
    out.truncate(start);
    split_payload(out, sequence, &payload)
}

/// A payload of 16 MB or more is sent in chunks; the last one is shorter than a full one, if need
/// be empty.
fn split_payload(out: &mut Vec<u8>, mut sequence: u8, payload: &[u8]) -> u8 {
    let mut rest = payload;
    loop {
        let (chunk, next) = rest.split_at(rest.len().min(CHUNK_BYTES_MAX));
        let mut header = [0; HEADER_BYTES];
        write_header(&mut header, chunk.len(), sequence);
        out.extend_from_slice(&header);
        out.extend_from_slice(chunk);
        sequence = sequence.wrapping_add(1);
        rest = next;
        if chunk.len() < CHUNK_BYTES_MAX {
            return sequence;
        }
    }
}

fn write_header(header: &mut [u8], length: usize, sequence: u8) {
    header[..3].copy_from_slice(&(length as u32).to_le_bytes()[..3]);
    header[3] = sequence;
}

/// Length and sequence number of the packet that starts here.
pub(crate) fn read_header(header: &[u8]) -> (usize, u8) {
    (usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16, header[3])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lenenc_round_trip() {
        for value in [0, 250, 251, 255, 65_535, 65_536, 0xff_ffff, 0x100_0000, u64::MAX] {
            let mut bytes = Vec::new();
            put_lenenc(&mut bytes, value);
            let mut reader = PayloadReader::new(&bytes);
            assert_eq!(reader.lenenc().unwrap(), Some(value));
            assert!(reader.rest().is_empty());
        }
        assert!(PayloadReader::new(&[0xfe, 1, 2]).lenenc().is_err());
        assert!(PayloadReader::new(&[0xff]).lenenc().is_err());
        assert!(PayloadReader::new(&[5, b'a']).lenenc_bytes().is_err());
    }

    #[test]
    fn a_payload_over_16_mb_travels_in_chunks() {
        let mut out = Vec::new();
        let next =
            put_packets(&mut out, 0, |out| out.resize(out.len() + CHUNK_BYTES_MAX + 10, b'x'));
        assert_eq!(next, 2);
        assert_eq!(read_header(&out), (CHUNK_BYTES_MAX, 0));
        assert_eq!(read_header(&out[HEADER_BYTES + CHUNK_BYTES_MAX..]), (10, 1));
        assert_eq!(out.len(), 2 * HEADER_BYTES + CHUNK_BYTES_MAX + 10);

        let mut exact = Vec::new();
        put_packets(&mut exact, 3, |out| out.resize(out.len() + CHUNK_BYTES_MAX, b'x'));
        assert_eq!(read_header(&exact[HEADER_BYTES + CHUNK_BYTES_MAX..]), (0, 4));
    }
}
