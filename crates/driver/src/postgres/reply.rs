//! Replies to statements: tags, rows, errors, up to the message that the server is ready for the
//! next statement.

use super::report::parse_report;
use super::wire::BodyReader;
use crate::query_result::{cell_text, kept_bytes};
use crate::{COLLECTED_BYTES_MAX, DriverError, QueryResult, Reply, ResultSets, ServerError};

/// Size limit of a result that is kept, all its rows together. Results that are kept are settings
/// and counters, and a server must not be able to exhaust the memory of truetps.
const RESULT_BYTES_MAX: usize = 256 << 20;

/// Reads the messages of one reply. Rows are counted, and kept on request.
#[derive(Debug, Default)]
pub(crate) struct PostgresReplyReader {
    reply: Reply,
    /// A statement of the reply has ended, successfully or not.
    has_end: bool,
    /// The server waits for COPY data, or sends some; both are refused.
    has_copy: bool,
    kept_bytes: usize,
    /// Number of columns of rows whose description was not requested.
    columns: u16,
    pub(crate) keeps_rows: bool,
}

/// The result of a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MessageOutcome {
    Pending,
    /// The server waits for data.
    RefuseCopy,
    /// The server is ready, with this transaction status.
    Done {
        reply: Reply,
        status: u8,
    },
}

impl PostgresReplyReader {
    /// A statement was sent. `columns`: number of its rows' columns, if known and not described
    /// again.
    pub(crate) fn expect_reply(&mut self, columns: u16) {
        self.columns = columns;
    }

    /// Stores the next statement's results in this buffer; returns the buffer lent before.
    pub(crate) fn collect(&mut self, mut into: Box<ResultSets>) -> Option<Box<ResultSets>> {
        into.clear();
        self.reply.sets.replace(into)
    }

    pub(crate) fn collects(&self) -> bool {
        self.reply.sets.is_some()
    }

    /// Whether the contents of a row are read.
    pub(crate) fn wants_rows(&self) -> bool {
        self.reply.sets.as_ref().map_or(self.keeps_rows, |sets| !sets.has_overflown)
    }

    pub(crate) fn wants_columns(&self) -> bool {
        self.keeps_rows || self.collects()
    }

    /// A reply that consists only of this error.
    pub(crate) fn refusal(&mut self, error: ServerError) -> Reply {
        Reply { error: Some(error), ..std::mem::take(&mut self.reply) }
    }

    /// Takes the next message, except for messages that may arrive at any time.
    pub(crate) fn message(&mut self, kind: u8, body: &[u8]) -> Result<MessageOutcome, DriverError> {
        match kind {
            b'D' => self.row(body)?,
            b'C' => self.command_complete(body)?,
            b'T' => self.columns(body)?,
            // EmptyQueryResponse
            b'I' => {
                self.has_end = true;
                self.set_ended(0);
            }
            b'E' => {
                let report = parse_report(body)?;
                if report.is_fatal {
                    return Err(report.error.into());
                }
                self.fail(report.error);
            }
            // BindComplete, CloseComplete, NoData, CopyData, CopyDone
            b'2' | b'3' | b'n' | b'd' | b'c' => {}
            // CopyInResponse
            b'G' if self.has_copy => {
                return Err(DriverError::Protocol("a COPY after one that was refused"));
            }
            b'G' => {
                self.has_copy = true;
                return Ok(MessageOutcome::RefuseCopy);
            }
            // CopyOutResponse: the data are skipped.
            b'H' => self.fail(ServerError {
                code: 0,
                sqlstate: "0A000".to_owned(),
                message: "truetps does not accept COPY data".to_owned(),
                position: 0,
            }),
            b'Z' => return self.ready(body),
            _ => return Err(DriverError::Protocol("an unexpected message in a reply")),
        }
        Ok(MessageOutcome::Pending)
    }

    fn fail(&mut self, error: ServerError) {
        self.has_end = true;
        if let Some(sets) = &mut self.reply.sets {
            sets.abandon_open();
        }
        // The first error is the cause.
        self.reply.error.get_or_insert(error);
    }

    fn ready(&mut self, body: &[u8]) -> Result<MessageOutcome, DriverError> {
        if !std::mem::take(&mut self.has_end) {
            return Err(DriverError::Protocol(
                "ready for the next statement before this one has ended",
            ));
        }
        (self.has_copy, self.kept_bytes) = (false, 0);
        match &self.reply.sets {
            Some(sets) if sets.has_overflown => self.fail(overflow()),
            None if self.keeps_rows => drop(self.reply.result.get_or_insert_default()),
            _ => {}
        }
        self.has_end = false;
        Ok(MessageOutcome::Done {
            reply: std::mem::take(&mut self.reply),
            status: BodyReader::new(body).u8()?,
        })
    }

    fn command_complete(&mut self, body: &[u8]) -> Result<(), DriverError> {
        self.has_end = true;
        let changed = affected_rows(BodyReader::new(body).string()?)?;
        self.reply.affected_rows = self.reply.affected_rows.saturating_add(changed);
        self.set_ended(changed);
        Ok(())
    }

    /// A statement has ended successfully.
    fn set_ended(&mut self, affected_rows: u64) {
        // The end of a refused statement is ignored.
        let Some(sets) = self.reply.sets.as_mut().filter(|_| self.reply.error.is_none()) else {
            return;
        };
        if sets.open_columns().is_some() {
            sets.close(affected_rows);
        } else {
            sets.push_empty(self.columns.into(), affected_rows);
        }
    }

    /// RowDescription: a new result begins. The last result is kept.
    fn columns(&mut self, body: &[u8]) -> Result<(), DriverError> {
        if let Some(sets) = &mut self.reply.sets {
            sets.open(BodyReader::new(body).u16()?.into());
            return Ok(());
        }
        if !self.keeps_rows {
            return Ok(());
        }
        self.kept_bytes = 0;
        let mut reader = BodyReader::new(body);
        let count = reader.u16()?;
        self.keep(body.len(), count)?;
        let mut columns = Vec::with_capacity(count.into());
        for _ in 0..count {
            columns.push(text(reader.string()?));
            // Table, number in it, type, its size and modifier, format
            reader.bytes(4 + 2 + 4 + 2 + 4 + 2)?;
        }
        self.reply.result = Some(Box::new(QueryResult { columns, ..QueryResult::default() }));
        Ok(())
    }

    fn row(&mut self, body: &[u8]) -> Result<(), DriverError> {
        self.reply.rows += 1;
        if let Some(sets) = &mut self.reply.sets {
            return collect_row(sets, body);
        }
        if !self.keeps_rows {
            return Ok(());
        }
        let mut reader = BodyReader::new(body);
        let count = reader.u16()?;
        self.keep(body.len(), count)?;
        let mut row = Vec::with_capacity(count.into());
        for _ in 0..count {
            row.push(reader.value()?.map(cell_text));
        }
        self.reply.result.get_or_insert_default().rows.push(row);
        Ok(())
    }

    fn keep(&mut self, bytes: usize, cells: u16) -> Result<(), DriverError> {
        self.kept_bytes = self.kept_bytes.saturating_add(kept_bytes(bytes, cells.into()));
        if self.kept_bytes > RESULT_BYTES_MAX {
            return Err(DriverError::Protocol("a result that is larger than allowed here"));
        }
        Ok(())
    }
}

fn collect_row(sets: &mut ResultSets, body: &[u8]) -> Result<(), DriverError> {
    if sets.has_overflown {
        return Ok(());
    }
    let mut reader = BodyReader::new(body);
    let count = reader.u16()?;
    if sets.open_columns().is_none() {
        sets.open(count.into());
    }
    if sets.open_columns() != Some(count.into()) {
        return Err(DriverError::Protocol("a row whose number of cells differs from its columns"));
    }
    // Lengths have the same size in the message and in the buffer.
    sets.row(body.len());
    if sets.has_overflown {
        return Ok(());
    }
    for _ in 0..count {
        sets.value(reader.value()?);
    }
    if reader.rest().is_empty() {
        Ok(())
    } else {
        Err(DriverError::Protocol("a row that is longer than its cells"))
    }
}

/// The error of a server that is out of memory.
fn overflow() -> ServerError {
    let message = format!("results exceed the limit of {} MiB", COLLECTED_BYTES_MAX >> 20);
    ServerError { code: 0, sqlstate: "53200".to_owned(), message, position: 0 }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Number of changed rows, from the statement's tag: `INSERT 0 1`, `UPDATE 3`, `SELECT 5`.
fn affected_rows(tag: &[u8]) -> Result<u64, DriverError> {
    let mut words = tag.split(|byte| *byte == b' ');
    let rows = match words.next() {
        Some(b"INSERT") => words.nth(1),
        Some(b"UPDATE" | b"DELETE" | b"MERGE") => words.next(),
        _ => return Ok(0),
    };
    // A rewrite rule can leave a tag without a number.
    let Some(digits) = rows else { return Ok(0) };
    let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
    number.ok_or(DriverError::Protocol("a command tag with an invalid number of rows"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(reader: &mut PostgresReplyReader, messages: &[(u8, &[u8])]) -> Reply {
        let (last, front) = messages.split_last().unwrap();
        for (kind, body) in front {
            assert_eq!(reader.message(*kind, body).unwrap(), MessageOutcome::Pending);
        }
        match reader.message(last.0, last.1).unwrap() {
            MessageOutcome::Done { reply, status: b'I' } => reply,
            step => panic!("{step:?}"),
        }
    }

    const READY: (u8, &[u8]) = (b'Z', b"I");
    const COLUMN: &[u8] = b"\0\x01name\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0";

    #[test]
    fn tags() {
        let check =
            |tag: &str, expect| assert_eq!(affected_rows(tag.as_bytes()).unwrap(), expect, "{tag}");
        check("INSERT 0 12", 12);
        check("UPDATE 3", 3);
        check("DELETE 18446744073709551615", u64::MAX);
        check("MERGE 4", 4);
        check("SELECT 5", 0);
        check("CREATE TABLE", 0);
        check("INSERT", 0);
        check("", 0);
        for tag in ["UPDATE x", "INSERT 0 -1", "DELETE 99999999999999999999"] {
            assert!(affected_rows(tag.as_bytes()).is_err(), "{tag}");
        }
    }

    #[test]
    fn several_results_and_the_last_one_kept() {
        let mut reader = PostgresReplyReader { keeps_rows: true, ..PostgresReplyReader::default() };
        let row = (b'D', &b"\0\x01\0\0\0\x01a"[..]);
        let null = (b'D', &b"\0\x01\xff\xff\xff\xff"[..]);
        let (insert, select) = ((b'C', &b"INSERT 0 2\0"[..]), (b'C', &b"SELECT 1\0"[..]));
        let columns = (b'T', COLUMN);
        let reply =
            read(&mut reader, &[insert, columns, row, select, columns, row, null, select, READY]);
        assert_eq!((reply.affected_rows, reply.rows), (2, 3));
        let result = reply.result.unwrap();
        assert_eq!(
            (result.columns, result.rows),
            (vec!["name".to_owned()], vec![vec![Some("a".to_owned())], vec![None]])
        );
        assert_eq!(read(&mut reader, &[(b'I', b""), READY]).rows, 0);
    }

    #[test]
    fn the_first_error_is_the_reply_s_and_the_next_reply_has_none() {
        let mut reader = PostgresReplyReader::default();
        let error = (b'E', &b"VERROR\0C40P01\0Mdeadlock\0\0"[..]);
        let second = (b'E', &b"VERROR\0C25P02\0Maborted\0\0"[..]);
        let reply = read(&mut reader, &[(b'C', b"INSERT 0 1\0"), error, second, READY]);
        assert_eq!(reply.error.unwrap().sqlstate, "40P01");
        assert_eq!(read(&mut reader, &[(b'2', b""), (b'C', b"UPDATE 1\0"), READY]).error, None);
    }

    #[test]
    fn copy_is_refused_in_both_directions() {
        let mut reader = PostgresReplyReader::default();
        assert_eq!(reader.message(b'G', b"\0\0\0").unwrap(), MessageOutcome::RefuseCopy);
        assert!(reader.message(b'G', b"\0\0\0").is_err());
        let mut reader = PostgresReplyReader::default();
        let reply = read(
            &mut reader,
            &[(b'H', b"\0\0\0"), (b'd', b""), (b'c', b""), (b'C', b"COPY 1\0"), READY],
        );
        assert_eq!(reply.error.unwrap().sqlstate, "0A000");
    }

    type Values<'a> = Vec<Option<&'a [u8]>>;

    /// Affected rows, columns and values of each result.
    fn seen(reply: &Reply) -> Vec<(u64, u32, Values<'_>)> {
        let sets = reply.sets.as_ref().unwrap();
        sets.iter().map(|set| (set.affected_rows, set.columns, set.values().collect())).collect()
    }

    #[test]
    fn results_are_collected() {
        let mut reader = PostgresReplyReader::default();
        let row = (b'D', &b"\0\x01\0\0\0\x01a"[..]);
        let null = (b'D', &b"\0\x01\xff\xff\xff\xff"[..]);
        let (insert, select) = ((b'C', &b"INSERT 0 2\0"[..]), (b'C', &b"SELECT 1\0"[..]));
        let (columns, empty) = ((b'T', COLUMN), (b'I', &b""[..]));
        reader.collect(Box::default());
        reader.expect_reply(0);
        let reply =
            read(&mut reader, &[insert, columns, row, null, select, columns, select, empty, READY]);
        let expect =
            [(2, 0, vec![]), (0, 1, vec![Some(&b"a"[..]), None]), (0, 1, vec![]), (0, 0, vec![])];
        assert_eq!(seen(&reply), expect);
        // Without a description: the rows say how many columns there are, or else the caller.
        for (rows, expect) in [(&[row][..], vec![Some(&b"a"[..])]), (&[], vec![])] {
            reader.collect(Box::default());
            reader.expect_reply(1);
            let reply = read(&mut reader, &[rows, &[select, READY]].concat());
            assert_eq!(seen(&reply), [(0, 1, expect)]);
        }
        let error = (b'E', &b"VERROR\0C22012\0Mdivision\0\0"[..]);
        reader.collect(Box::default());
        reader.expect_reply(0);
        let reply = read(&mut reader, &[insert, columns, row, error, READY]);
        assert_eq!(
            (seen(&reply), reply.error.as_ref().unwrap().sqlstate.as_str()),
            (vec![(2, 0, vec![])], "22012")
        );
        assert_eq!(read(&mut reader, &[insert, READY]).sets, None, "nothing was lent");
    }

    #[test]
    fn hostile_rows_are_not_collected() {
        for body in [
            &b""[..],
            b"\0",
            b"\0\0",
            b"\0\x02\0\0\0\x01a\0\0\0\x01a",
            b"\0\x01",
            b"\0\x01\0\0\0\x02a",
            b"\0\x01\0\0\0\x01ab",
            b"\0\x01\x7f\xff\xff\xffa",
            b"\0\x01\xff\xff\xff\xfea",
        ] {
            let mut reader = PostgresReplyReader::default();
            reader.collect(Box::default());
            reader.expect_reply(0);
            reader.message(b'T', COLUMN).unwrap();
            assert!(reader.message(b'D', body).is_err(), "{body:?}");
        }
    }

    #[test]
    fn what_is_kept_is_counted() {
        for cell in [&b"\0\0\0\x01a"[..], b"\xff\xff\xff\xff", b"\0\0\0\x04\xff\xff\xff\xff"] {
            let row = [b"\0\x14", &cell.repeat(20)[..]].concat();
            let mut reader =
                PostgresReplyReader { keeps_rows: true, ..PostgresReplyReader::default() };
            let measured = allocation_counter::measure(|| {
                for _ in 0..1100 {
                    reader.message(b'D', &row).unwrap();
                }
            });
            let counted = reader.kept_bytes as i64;
            assert!(measured.bytes_current <= counted, "{} of {counted}", measured.bytes_current);
        }
    }

    #[test]
    fn hostile_messages_are_errors() {
        let check = |kind: u8, body: &[u8]| {
            let mut reader =
                PostgresReplyReader { keeps_rows: true, ..PostgresReplyReader::default() };
            assert!(reader.message(kind, body).is_err(), "{kind} {body:?}");
        };
        check(b'Z', b"I"); // nothing has ended
        check(b'C', b"UPDATE 1");
        check(b'T', b"\xff\xff");
        check(b'D', b"\0\x02\0\0\0\x01a");
        check(b'D', b"\0\x01\x7f\xff\xff\xffa");
        check(b'W', b"");
        check(b'E', b"VFATAL\0C57P01\0Mbye\0\0");
        let mut reader = PostgresReplyReader::default();
        reader.message(b'I', b"").unwrap();
        assert!(reader.message(b'Z', b"").is_err());
    }
}
