//! Replies to commands: OK, error, result set.

use super::collect;
use super::error_packet::{own_error, parse_error};
use super::packets::{PAYLOAD_BYTES_MAX, PacketWanted};
use super::wire::PayloadReader;
use crate::query_result::{cell_text, kept_bytes};
use crate::{COLLECTED_BYTES_MAX, DriverError, QueryResult, Reply, ResultSets, ServerError};

const MORE_RESULTS: u64 = 0x0008;
/// The prepared protocol counts columns in 16 bits; no server has more.
const COLUMNS_MAX: u64 = u16::MAX as u64;
/// Limit of the rows that are kept of one statement: the most that servers allow in a packet.
const KEPT_BYTES_MAX: usize = 1 << 30;
/// The number that MySQL's own client uses for a result that exceeds the memory.
const NO_MEMORY: u16 = 2008;

/// How far the reply has been read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ReplyPart {
    #[default]
    First,
    Columns {
        left: u32,
    },
    EndOfColumns,
    Rows,
}

/// The result of a packet.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PacketOutcome {
    More,
    /// The server requests this file. The statement's reply follows the file's last packet.
    FileWanted(Box<[u8]>),
    /// All results of the statement have arrived.
    Done(Reply),
}

/// How rows are handled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Rows {
    /// They are counted.
    #[default]
    Counted,
    /// They are kept in [`Reply::result`], if they are text.
    Kept,
    /// They are collected in [`Reply::sets`].
    Text,
    Binary,
}

/// Reads the packets of one reply. Rows are counted, and kept on request.
#[derive(Debug, Default)]
pub(super) struct MysqlReplyReader {
    part: ReplyPart,
    rows: Rows,
    kept_bytes: usize,
    reply: Reply,
    /// Why a file that the server requested was not sent, or not all of it.
    file_problem: Option<Box<ServerError>>,
}

impl MysqlReplyReader {
    /// A statement was sent. `is_binary`: it is an execution. `keeps_rows`: its rows are kept if
    /// they are text.
    pub(super) fn expect_reply(&mut self, is_binary: bool, keeps_rows: bool) {
        self.rows = match (self.reply.sets.is_some(), is_binary) {
            (true, false) => Rows::Text,
            (true, true) => Rows::Binary,
            (false, false) if keeps_rows => Rows::Kept,
            (false, _) => Rows::Counted,
        };
        self.kept_bytes = 0;
    }

    /// Stores the next statement's results in this buffer; returns the buffer lent before.
    pub(super) fn collect(&mut self, mut into: Box<ResultSets>) -> Option<Box<ResultSets>> {
        into.clear();
        self.reply.sets.replace(into)
    }

    /// The statement fails with this error, whatever the server makes of the rest of its file.
    pub(super) fn file_failed(&mut self, problem: ServerError) {
        self.file_problem = Some(Box::new(problem));
    }

    /// A reply that consists only of this error.
    pub(super) fn refusal(&mut self, error: ServerError) -> Reply {
        Reply { error: Some(error), ..std::mem::take(&mut self.reply) }
    }

    /// What must be known of the next packet.
    #[inline]
    pub(super) fn packet_wanted(&self) -> PacketWanted {
        match self.part {
            ReplyPart::First | ReplyPart::EndOfColumns => PacketWanted::Whole(PAYLOAD_BYTES_MAX),
            ReplyPart::Columns { .. } | ReplyPart::Rows if self.rows == Rows::Counted => {
                PacketWanted::Kind
            }
            ReplyPart::Columns { .. } | ReplyPart::Rows if self.rows == Rows::Kept => {
                PacketWanted::Whole(KEPT_BYTES_MAX / 2)
            }
            ReplyPart::Columns { .. } if self.rows == Rows::Binary => {
                PacketWanted::Whole(PAYLOAD_BYTES_MAX)
            }
            ReplyPart::Columns { .. } => PacketWanted::Kind,
            ReplyPart::Rows => PacketWanted::Whole(COLLECTED_BYTES_MAX),
        }
    }

    /// Takes the next packet.
    pub(super) fn packet(&mut self, payload: &[u8]) -> Result<PacketOutcome, DriverError> {
        if payload.first() == Some(&0xff) {
            let error = parse_error(payload)?;
            return Ok(self.failed(error));
        }
        match self.part {
            ReplyPart::First => self.first(payload),
            ReplyPart::Columns { left } => {
                self.column(payload)?;
                self.column_ended(left);
                Ok(PacketOutcome::More)
            }
            ReplyPart::EndOfColumns => {
                parse_eof(payload)?;
                self.part = ReplyPart::Rows;
                Ok(PacketOutcome::More)
            }
            ReplyPart::Rows if is_eof(payload) => {
                let (warnings, status) = parse_eof(payload)?;
                if self.rows == Rows::Kept {
                    self.result().warnings = warnings;
                }
                if let Some(sets) = &mut self.reply.sets {
                    sets.close(0);
                }
                Ok(self.result_ended(status))
            }
            ReplyPart::Rows => {
                self.reply.rows += 1;
                self.row(payload)?;
                Ok(PacketOutcome::More)
            }
        }
    }

    fn column(&mut self, payload: &[u8]) -> Result<(), DriverError> {
        match self.rows {
            Rows::Kept => {
                self.keep(payload.len(), 1)?;
                self.result().columns.push(column_name(payload)?);
            }
            Rows::Binary => {
                let column = collect::column(payload)?;
                if let Some(sets) = &mut self.reply.sets {
                    sets.columns.push(column);
                }
            }
            Rows::Counted | Rows::Text => {}
        }
        Ok(())
    }

    fn row(&mut self, payload: &[u8]) -> Result<(), DriverError> {
        match (self.rows, &mut self.reply.sets) {
            (Rows::Kept, _) => {
                let columns = self.result().columns.len();
                self.keep(payload.len(), columns)?;
                self.result().rows.push(text_row(payload, columns)?);
            }
            (Rows::Text | Rows::Binary, Some(sets)) => {
                match sets.open_columns() {
                    Some(columns) if self.rows == Rows::Text => {
                        collect::text_row(payload, columns, sets)?;
                    }
                    Some(_) => collect::binary_row(payload, sets)?,
                    None => {}
                }
                if sets.has_overflown {
                    self.rows = Rows::Counted;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Takes a packet that was skipped: a column or a row.
    pub(super) fn skimmed(&mut self) {
        match self.part {
            ReplyPart::Columns { left } => self.column_ended(left),
            ReplyPart::First | ReplyPart::EndOfColumns | ReplyPart::Rows => self.reply.rows += 1,
        }
    }

    fn column_ended(&mut self, left: u32) {
        self.part =
            if left > 1 { ReplyPart::Columns { left: left - 1 } } else { ReplyPart::EndOfColumns };
    }

    fn first(&mut self, payload: &[u8]) -> Result<PacketOutcome, DriverError> {
        let mut reader = PayloadReader::new(payload);
        match payload.first() {
            None => Err(DriverError::Protocol("an empty reply")),
            Some(0x00) => {
                reader.u8()?;
                let affected = reader.lenenc()?.unwrap_or(0);
                self.reply.affected_rows = self.reply.affected_rows.saturating_add(affected);
                let _last_insert_id = reader.lenenc()?;
                let status = reader.uint(2)?;
                if self.rows == Rows::Kept {
                    self.result().warnings = reader.uint(2)? as u16;
                }
                if let Some(sets) = &mut self.reply.sets {
                    sets.push_empty(0, affected);
                }
                Ok(self.result_ended(status))
            }
            Some(0xfb) => Ok(PacketOutcome::FileWanted(payload[1..].into())),
            Some(_) => {
                let left = match reader.lenenc()? {
                    Some(left @ 1..=COLUMNS_MAX) if reader.rest().is_empty() => left as u32,
                    _ => {
                        return Err(DriverError::Protocol(
                            "a result with an impossible number of columns",
                        ));
                    }
                };
                if self.rows == Rows::Kept {
                    *self.result() = QueryResult::default();
                }
                if let Some(sets) = &mut self.reply.sets {
                    sets.open(left);
                }
                self.part = ReplyPart::Columns { left };
                Ok(PacketOutcome::More)
            }
        }
    }

    /// The result that is being kept.
    fn result(&mut self) -> &mut QueryResult {
        self.reply.result.get_or_insert_default()
    }

    /// Counts data about to be kept: the number of the server's bytes, and of cells.
    fn keep(&mut self, bytes: usize, cells: usize) -> Result<(), DriverError> {
        self.kept_bytes = self.kept_bytes.saturating_add(kept_bytes(bytes, cells));
        if self.kept_bytes > KEPT_BYTES_MAX {
            return Err(DriverError::Protocol("a result of more than 1 GB, the limit"));
        }
        Ok(())
    }

    fn result_ended(&mut self, status: u64) -> PacketOutcome {
        self.part = ReplyPart::First;
        if status & MORE_RESULTS != 0 {
            return PacketOutcome::More;
        }
        if let Some(problem) = self.file_problem.take() {
            return self.failed(*problem);
        }
        if self.reply.sets.as_ref().is_some_and(|sets| sets.has_overflown) {
            let problem = format!("results exceed the limit of {} MiB", COLLECTED_BYTES_MAX >> 20);
            return self.failed(own_error(NO_MEMORY, problem));
        }
        PacketOutcome::Done(std::mem::take(&mut self.reply))
    }

    #[cold]
    fn failed(&mut self, error: ServerError) -> PacketOutcome {
        self.part = ReplyPart::First;
        let mut reply = std::mem::take(&mut self.reply);
        if let Some(sets) = &mut reply.sets {
            sets.abandon_open();
        }
        // It explains the server's error.
        reply.error = Some(self.file_problem.take().map_or(error, |problem| *problem));
        PacketOutcome::Done(reply)
    }
}

/// The name in a column description: the fifth of its strings.
fn column_name(payload: &[u8]) -> Result<String, DriverError> {
    let mut reader = PayloadReader::new(payload);
    for _ in 0..4 {
        reader.lenenc_bytes()?;
    }
    Ok(String::from_utf8_lossy(reader.lenenc_bytes()?.unwrap_or_default()).into_owned())
}

fn text_row(payload: &[u8], columns: usize) -> Result<Vec<Option<String>>, DriverError> {
    let mut reader = PayloadReader::new(payload);
    let mut row = Vec::with_capacity(columns);
    for _ in 0..columns {
        row.push(reader.lenenc_bytes()?.map(cell_text));
    }
    if !reader.rest().is_empty() {
        return Err(DriverError::Protocol("a row with more cells than columns"));
    }
    Ok(row)
}

pub(super) fn is_eof(payload: &[u8]) -> bool {
    payload.first() == Some(&0xfe) && payload.len() < 9
}

/// Warnings and status of an end-of-columns or end-of-rows packet.
fn parse_eof(payload: &[u8]) -> Result<(u16, u64), DriverError> {
    if !is_eof(payload) {
        return Err(DriverError::Protocol("an end-of-data packet is missing"));
    }
    let mut reader = PayloadReader::new(payload);
    reader.bytes(1)?;
    Ok((reader.uint(2)? as u16, reader.uint(2)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OK: [u8; 7] = [0, 1, 0, 2, 0, 0, 0];
    const EOF: [u8; 5] = [0xfe, 0, 0, 2, 0];

    fn done(outcome: Result<PacketOutcome, DriverError>) -> Reply {
        match outcome.unwrap() {
            PacketOutcome::Done(reply) => reply,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn ok_and_error() {
        let mut reader = MysqlReplyReader::default();
        assert_eq!(done(reader.packet(&OK)).affected_rows, 1);
        let error = done(reader.packet(b"\xff\xbd\x04#40001Deadlock")).error.unwrap();
        assert_eq!(
            (error.code, error.sqlstate.as_str(), error.message.as_str()),
            (1213, "40001", "Deadlock")
        );
        assert_eq!(done(reader.packet(&OK)).error, None);
    }

    #[test]
    fn result_set_and_a_second_result() {
        let mut reader = MysqlReplyReader::default();
        let more: [u8; 5] = [0xfe, 0, 0, 0x0a, 0];
        for packet in [&[1][..], b"column", &EOF, b"\x01a", b"\x01b", &more] {
            assert_eq!(reader.packet(packet).unwrap(), PacketOutcome::More);
        }
        let reply = done(reader.packet(&OK));
        assert_eq!((reply.rows, reply.affected_rows), (2, 1));
    }

    #[test]
    fn rows_are_kept_as_text() {
        let mut reader = MysqlReplyReader::default();
        reader.expect_reply(false, true);
        let end: [u8; 5] = [0xfe, 3, 0, 2, 0];
        for packet in [&[2][..], b"\0\0\0\0\x01a", b"\0\0\0\0\x01b", &EOF, b"\x011\xfb"] {
            assert_eq!(reader.packet(packet).unwrap(), PacketOutcome::More);
        }
        let result = done(reader.packet(&end)).result.unwrap();
        assert_eq!((result.columns, result.warnings), (vec!["a".to_owned(), "b".to_owned()], 3));
        assert_eq!(result.rows, [[Some("1".to_owned()), None]]);
    }

    #[test]
    fn what_is_kept_is_counted() {
        let rows: [&[u8]; 3] =
            [&b"\x01a".repeat(20), &[0xfb; 20], &b"\x05\xff\xff\xff\xff\xff".repeat(20)];
        for row in rows {
            let mut reader = MysqlReplyReader::default();
            let measured = allocation_counter::measure(|| {
                reader.expect_reply(false, true);
                reader.packet(&[20]).unwrap();
                for _ in 0..20 {
                    reader.packet(b"\0\0\0\0\x01a").unwrap();
                }
                reader.packet(&EOF).unwrap();
                for _ in 0..1100 {
                    reader.packet(row).unwrap();
                }
            });
            let counted = reader.kept_bytes as i64;
            assert!(measured.bytes_current <= counted, "{} of {counted}", measured.bytes_current);
        }
    }

    #[test]
    fn a_statement_whose_file_was_not_sent_has_failed() {
        for end in [&OK[..], b"\xff\xbd\x04#HY000no such file"] {
            let mut reader = MysqlReplyReader::default();
            assert_eq!(
                reader.packet(b"\xfb/etc/passwd").unwrap(),
                PacketOutcome::FileWanted((*b"/etc/passwd").into())
            );
            reader.file_failed(own_error(2068, "refused".to_owned()));
            let error = done(reader.packet(end)).error.unwrap();
            assert_eq!((error.code, error.message.as_str()), (2068, "refused"));
            assert_eq!(
                truetps_record::ErrorClass::of_code(error.code),
                truetps_record::ErrorClass::Protocol
            );
            assert_eq!(done(reader.packet(&OK)).error, None, "the session goes on");
        }
    }

    #[test]
    fn hostile_packets_are_errors() {
        let too_many_columns = b"\xfd\0\0\x01";
        for packet in [
            &[][..],
            &[0],
            &[0xff],
            b"\xff\xff\xff\x01\x01",
            &[0x00, 0xfe, 1],
            too_many_columns,
            &[1, 1],
        ] {
            assert!(MysqlReplyReader::default().packet(packet).is_err(), "{packet:?}");
        }
        let mut reader = MysqlReplyReader::default();
        for packet in [&[1][..], b"column"] {
            assert_eq!(reader.packet(packet).unwrap(), PacketOutcome::More);
        }
        assert!(reader.packet(b"\x01a").is_err());
        assert!(text_row(b"\x01a\x01b", 1).is_err());
    }
}
