//! Replies to commands: OK, error, result set.

use super::wire::Reader;
use crate::{DriverError, QueryResult, Reply, ServerError};

const MORE_RESULTS: u64 = 0x0008;

pub(crate) fn parse_error(payload: &[u8]) -> Result<ServerError, DriverError> {
    let mut reader = Reader::new(payload);
    reader.u8()?;
    let code = reader.uint(2)? as u16;
    let rest = reader.rest();
    // Before login the state marker may be missing.
    let (sqlstate, message) = match rest.first() {
        Some(b'#') if rest.len() >= 6 => (&rest[1..6], &rest[6..]),
        _ => (&b"HY000"[..], rest),
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(ServerError { code, sqlstate: text(sqlstate), message: text(message) })
}

/// What has been seen of the reply that is being read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Part {
    #[default]
    First,
    Columns {
        left: u64,
    },
    EndOfColumns,
    Rows,
}

/// Reads the packets of one reply. Rows are counted; they are kept where that is wanted.
#[derive(Debug, Default)]
pub(crate) struct ReplyReader {
    part: Part,
    reply: Reply,
    pub(crate) keeps_rows: bool,
}

impl ReplyReader {
    /// Takes the next packet. `Some` when the reply is complete, with all its results.
    pub(crate) fn packet(&mut self, payload: &[u8]) -> Result<Option<Reply>, DriverError> {
        if payload.first() == Some(&0xff) {
            self.part = Part::First;
            let mut reply = std::mem::take(&mut self.reply);
            reply.error = Some(parse_error(payload)?);
            return Ok(Some(reply));
        }
        match self.part {
            Part::First => self.first(payload),
            Part::Columns { left } => {
                if let Some(result) = &mut self.reply.result {
                    result.columns.push(column_name(payload)?);
                }
                self.part = if left > 1 { Part::Columns { left: left - 1 } } else { Part::EndOfColumns };
                Ok(None)
            }
            Part::EndOfColumns => {
                parse_eof(payload)?;
                self.part = Part::Rows;
                Ok(None)
            }
            Part::Rows if is_eof(payload) => {
                let status = parse_eof(payload)?;
                Ok(self.result_ended(status))
            }
            Part::Rows => {
                self.reply.rows += 1;
                if let Some(result) = &mut self.reply.result {
                    result.rows.push(text_row(payload, result.columns.len())?);
                }
                Ok(None)
            }
        }
    }

    fn first(&mut self, payload: &[u8]) -> Result<Option<Reply>, DriverError> {
        let mut reader = Reader::new(payload);
        match payload.first() {
            None => Err(DriverError::Protocol("an empty reply")),
            Some(0x00) => {
                reader.u8()?;
                self.reply.affected_rows += reader.lenenc()?.unwrap_or(0);
                let _last_insert_id = reader.lenenc()?;
                let status = reader.uint(2)?;
                if self.keeps_rows {
                    self.result().warnings = reader.uint(2)? as u16;
                }
                Ok(self.result_ended(status))
            }
            Some(0xfb) => Err(DriverError::Protocol("a request for a local file, which is never answered")),
            Some(_) => {
                let left = reader.lenenc()?.unwrap_or(0);
                if left == 0 {
                    return Err(DriverError::Protocol("a result without columns"));
                }
                if self.keeps_rows {
                    *self.result() = QueryResult::default();
                }
                self.part = Part::Columns { left };
                Ok(None)
            }
        }
    }

    /// The result that is being kept.
    fn result(&mut self) -> &mut QueryResult {
        self.reply.result.get_or_insert_default()
    }

    fn result_ended(&mut self, status: u64) -> Option<Reply> {
        self.part = Part::First;
        if status & MORE_RESULTS != 0 { None } else { Some(std::mem::take(&mut self.reply)) }
    }
}

/// The name in a column description: the fifth of its strings.
fn column_name(payload: &[u8]) -> Result<String, DriverError> {
    let mut reader = Reader::new(payload);
    for _ in 0..4 {
        reader.lenenc_bytes()?;
    }
    Ok(String::from_utf8_lossy(reader.lenenc_bytes()?.unwrap_or_default()).into_owned())
}

fn text_row(payload: &[u8], columns: usize) -> Result<Vec<Option<String>>, DriverError> {
    let mut reader = Reader::new(payload);
    let cell = |_| reader.lenenc_bytes().map(|bytes| bytes.map(|b| String::from_utf8_lossy(b).into_owned()));
    (0..columns).map(cell).collect()
}

pub(crate) fn is_eof(payload: &[u8]) -> bool {
    payload.first() == Some(&0xfe) && payload.len() < 9
}

/// Status flags of an end-of-columns or end-of-rows packet.
pub(crate) fn parse_eof(payload: &[u8]) -> Result<u64, DriverError> {
    if !is_eof(payload) {
        return Err(DriverError::Protocol("an end-of-data packet is missing"));
    }
    let mut reader = Reader::new(payload);
    reader.bytes(1 + 2)?;
    reader.uint(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OK: [u8; 7] = [0, 1, 0, 2, 0, 0, 0];
    const EOF: [u8; 5] = [0xfe, 0, 0, 2, 0];

    #[test]
    fn ok_and_error() {
        let mut reader = ReplyReader::default();
        assert_eq!(reader.packet(&OK).unwrap().unwrap().affected_rows, 1);
        let reply = reader.packet(b"\xff\xbd\x04#40001Deadlock").unwrap().unwrap();
        let error = reply.error.unwrap();
        assert_eq!((error.code, error.sqlstate.as_str(), error.message.as_str()), (1213, "40001", "Deadlock"));
        assert_eq!(reader.packet(&OK).unwrap().unwrap().error, None);
    }

    #[test]
    fn result_set_and_a_second_result() {
        let mut reader = ReplyReader::default();
        let more: [u8; 5] = [0xfe, 0, 0, 0x0a, 0];
        for packet in [&[1][..], b"column", &EOF, b"\x01a", b"\x01b", &more] {
            assert_eq!(reader.packet(packet).unwrap(), None);
        }
        let reply = reader.packet(&OK).unwrap().unwrap();
        assert_eq!((reply.rows, reply.affected_rows), (2, 1));
    }

    #[test]
    fn hostile_packets_are_errors() {
        for packet in [&[][..], &[0], &[0xfb, b'/'], &[0xff], &[0x00, 0xfe, 1]] {
            assert!(ReplyReader::default().packet(packet).is_err(), "{packet:?}");
        }
        let mut reader = ReplyReader::default();
        for packet in [&[1][..], b"column"] {
            assert!(reader.packet(packet).unwrap().is_none());
        }
        assert!(reader.packet(b"\x01a").is_err());
    }
}
