//! Messages, and the integers and strings inside them. Every read is checked: a malformed message
//! is an error, not a panic.

use crate::DriverError;

/// One byte for the message's type, then its length, which includes itself.
pub(crate) const HEADER_BYTES: usize = 5;
const LENGTH_BYTES: usize = 4;

const TRUNCATED: DriverError = DriverError::Protocol("a message that is shorter than it announces");

/// Reads a message's body from its front. Integers are big-endian.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyReader<'a> {
    rest: &'a [u8],
}

impl<'a> BodyReader<'a> {
    pub(crate) fn new(body: &'a [u8]) -> Self {
        Self { rest: body }
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

    pub(crate) fn u16(&mut self) -> Result<u16, DriverError> {
        Ok(self.bytes(2)?.iter().fold(0, |value, byte| value << 8 | u16::from(*byte)))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, DriverError> {
        Ok(self.bytes(4)?.iter().fold(0, |value, byte| value << 8 | u32::from(*byte)))
    }

    /// The string up to a zero byte, which must be there and is skipped.
    pub(crate) fn string(&mut self) -> Result<&'a [u8], DriverError> {
        let end = self.rest.iter().position(|byte| *byte == 0).ok_or(TRUNCATED)?;
        let text = self.bytes(end)?;
        self.u8()?;
        Ok(text)
    }

    /// A value of a row; `None` is NULL, which has the length -1.
    pub(crate) fn value(&mut self) -> Result<Option<&'a [u8]>, DriverError> {
        match self.u32()? as i32 {
            -1 => Ok(None),
            length => self.bytes(usize::try_from(length).map_err(|_| TRUNCATED)?).map(Some),
        }
    }
}

/// Type of a message and the length of its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: u8,
    pub(crate) body_bytes: usize,
}

/// The header of the message that starts here; `None` if it is incomplete.
pub(crate) fn read_header(bytes: &[u8]) -> Result<Option<Header>, DriverError> {
    if bytes.len() < HEADER_BYTES {
        return Ok(None);
    }
    let mut reader = BodyReader::new(bytes);
    let kind = reader.u8()?;
    let length = i32::try_from(reader.u32()?).ok().and_then(|length| usize::try_from(length).ok());
    match length.and_then(|length| length.checked_sub(LENGTH_BYTES)) {
        Some(body_bytes) => Ok(Some(Header { kind, body_bytes })),
        None => Err(DriverError::Protocol("a message with an impossible length")),
    }
}

/// Appends one message; `fill` appends its body.
pub(crate) fn put_message(out: &mut Vec<u8>, kind: u8, fill: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    put_counted(out, LENGTH_BYTES, fill);
}

/// Appends a length and what `fill` appends. `own_bytes`: how many of its own bytes the length
/// includes.
pub(crate) fn put_counted(out: &mut Vec<u8>, own_bytes: usize, fill: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; LENGTH_BYTES]);
    fill(out);
    // A message of 4 GB is impossible: values are counted in 32 bits, and servers refuse more than
    // 1 GB.
    let length = (out.len() - start - LENGTH_BYTES + own_bytes) as u32;
    out[start..start + LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_count_themselves_in_messages_and_not_in_values() {
        let mut out = Vec::new();
        put_message(&mut out, b'Q', |out| put_counted(out, 0, |out| out.extend_from_slice(b"ab")));
        assert_eq!(out, b"Q\0\0\0\x0a\0\0\0\x02ab");
        assert_eq!(read_header(&out).unwrap(), Some(Header { kind: b'Q', body_bytes: 6 }));
        assert_eq!(read_header(&out[..4]).unwrap(), None);
    }

    #[test]
    fn impossible_lengths_are_errors() {
        for length in [0_i32, 3, -1, i32::MIN] {
            let mut header = vec![b'D'];
            header.extend_from_slice(&length.to_be_bytes());
            assert!(read_header(&header).is_err(), "{length}");
        }
        for value in [&b"\0\0\0\x03ab"[..], b"\xff\xff\xff\xfe", b"\x7f\xff\xff\xff", b"\0\0"] {
            assert!(BodyReader::new(value).value().is_err(), "{value:?}");
        }
        assert!(BodyReader::new(b"\xff\xff\xff\xff").value().unwrap().is_none());
        assert!(BodyReader::new(b"no end").string().is_err());
    }
}
