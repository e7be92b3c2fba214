//! The rows of a crash in the server's binlog: what a replica would have.
//!
//! The files are read and not the server's answers: after a crash the last file may end in the middle of an event, at which
//! MariaDB answers with an error instead of the events before it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use truetps_driver::{Client, DriverError};
use truetps_record::{BinlogDifference, SqlDialect};

use super::clients::TABLE;

const MAGIC: &[u8] = b"\xfebin";
const HEADER_BYTES: usize = 19;
/// Where an event's header has its type, and its size.
const TYPE_AT: usize = 4;
const SIZE_AT: usize = 9;

/// Types of events, by the binlog formats of MySQL and MariaDB.
mod event {
    pub(super) const QUERY: u8 = 2;
    pub(super) const XID: u8 = 16;
    /// MySQL: the statement of the rows that follow.
    pub(super) const ROWS_QUERY: u8 = 29;
    /// MySQL: a transaction begins, with and without a GTID of its own.
    pub(super) const GTIDS: [u8; 2] = [33, 34];
    /// MySQL: a compressed transaction.
    pub(super) const PAYLOAD: u8 = 40;
    /// MariaDB: the statement of the rows that follow.
    pub(super) const ANNOTATE_ROWS: u8 = 160;
    /// MariaDB: a transaction begins.
    pub(super) const GTID: u8 = 162;
    /// MariaDB: everything behind it is encrypted.
    pub(super) const START_ENCRYPTION: u8 = 164;
    /// MariaDB: a compressed statement.
    pub(super) const QUERY_COMPRESSED: u8 = 165;
}

/// Compares the rows of a crash in the table with its transactions in the binlog, and removes the files that were read. `None`: the server has no binlog, or an encrypted or compressed one.
pub(crate) fn compare_binlog(
    client: &mut Client,
    present: &[u64],
    first_key: u64,
    end_key: u64,
) -> Result<Option<BinlogDifference>, DriverError> {
    if client.dialect() == SqlDialect::Postgres {
        return Ok(None);
    }
    let text = |row: Vec<Option<String>>| row.into_iter().next().flatten();
    let base = client.query("SELECT @@GLOBAL.log_bin_basename")?.rows.into_iter().find_map(text);
    let Some(folder) = base.as_deref().and_then(|base| Path::new(base).parent()) else { return Ok(None) };
    let names: Vec<_> = client.query("SHOW BINARY LOGS")?.rows.into_iter().filter_map(text).collect();
    let Some(newest) = names.last() else { return Ok(None) };
    let mut keys = BTreeSet::new();
    for name in &names {
        let read = fs::read(folder.join(name)).ok();
        let Some(committed) = read.and_then(|bytes| committed_keys(&bytes)) else { return Ok(None) };
        keys.extend(committed.into_iter().filter(|key| (first_key..end_key).contains(key)));
    }
    client.execute(&format!("PURGE BINARY LOGS TO '{newest}'"))?;
    let present: BTreeSet<_> = present.iter().copied().collect();
    Ok(Some(BinlogDifference {
        rows: keys.len() as u64,
        binlog_only: keys.difference(&present).count() as u64,
        table_only: present.difference(&keys).count() as u64,
    }))
}

/// The keys of all transactions whose end is in the file. `None`: it cannot be read.
fn committed_keys(bytes: &[u8]) -> Option<Vec<u64>> {
    let mut rest = bytes.strip_prefix(MAGIC)?;
    let (mut committed, mut pending) = (Vec::new(), Vec::new());
    while let Some((kind, body, behind)) = next_event(rest) {
        match kind {
            event::QUERY | event::ROWS_QUERY | event::ANNOTATE_ROWS => pending.extend(inserted_key(body)),
            event::XID => committed.append(&mut pending),
            event::GTID => pending.clear(),
            kind if event::GTIDS.contains(&kind) => pending.clear(),
            event::PAYLOAD | event::START_ENCRYPTION | event::QUERY_COMPRESSED => return None,
            _ => {}
        }
        rest = behind;
    }
    Some(committed)
}

/// The type and the body of the first event, and what is behind it. `None`: there is no whole one.
fn next_event(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let kind = *bytes.get(TYPE_AT)?;
    let size = u32::from_le_bytes(bytes.get(SIZE_AT..SIZE_AT + 4)?.try_into().ok()?) as usize;
    let body = bytes.get(HEADER_BYTES..size)?;
    Some((kind, body, &bytes[size..]))
}

fn inserted_key(body: &[u8]) -> Option<u64> {
    let words = format!("INSERT INTO {TABLE} VALUES (");
    let at = body.windows(words.len()).position(|window| window == words.as_bytes())? + words.len();
    let digits = body[at..].iter().take_while(|byte| byte.is_ascii_digit());
    digits.map(|digit| u64::from(digit - b'0')).reduce(|number, digit| number * 10 + digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: u8, body: &str) -> Vec<u8> {
        let size = (HEADER_BYTES + body.len()) as u32;
        let mut event = vec![0, 0, 0, 0, kind, 1, 0, 0, 0];
        event.extend(size.to_le_bytes());
        event.extend([0; 6]);
        event.extend(body.as_bytes());
        event
    }

    fn insert(kind: u8, key: u64) -> Vec<u8> {
        event(kind, &format!("schema\0INSERT INTO {TABLE} VALUES ({key}, 'x')"))
    }

    fn file(events: &[Vec<u8>]) -> Vec<u8> {
        [MAGIC.to_vec(), events.concat()].concat()
    }

    #[test]
    fn only_transactions_with_their_end_count() {
        let xid = || event(event::XID, "12345678");
        let gtid = || event(event::GTID, "");
        let events = [gtid(), insert(event::QUERY, 7), xid(), gtid(), insert(event::ANNOTATE_ROWS, 8), xid()];
        assert_eq!(committed_keys(&file(&events)), Some(vec![7, 8]));
        let unfinished = [&events[..], &[gtid(), insert(event::ROWS_QUERY, 9)]].concat();
        assert_eq!(committed_keys(&file(&unfinished)), Some(vec![7, 8]));
        let rolled_back = [gtid(), insert(event::QUERY, 7), event(33, ""), insert(event::ROWS_QUERY, 9), xid()];
        assert_eq!(committed_keys(&file(&rolled_back)), Some(vec![9]));
    }

    #[test]
    fn a_file_that_was_cut_off_is_read_to_its_last_whole_event() {
        let whole =
            file(&[insert(event::QUERY, 7), event(event::XID, ""), insert(event::QUERY, 8), event(event::XID, "")]);
        for length in 0..whole.len() {
            let keys = committed_keys(&whole[..length]).unwrap_or_default();
            assert!(keys.is_empty() || keys == [7], "{length}: {keys:?}");
        }
        let mut zeros = whole.clone();
        zeros.extend([0; 4096]);
        assert_eq!(committed_keys(&zeros), Some(vec![7, 8]));
    }

    #[test]
    fn what_cannot_be_read_is_not_compared() {
        assert_eq!(committed_keys(b""), None);
        assert_eq!(committed_keys(b"\xfdbin encrypted"), None);
        assert_eq!(committed_keys(&file(&[event(event::PAYLOAD, "zstd")])), None);
        assert_eq!(committed_keys(&file(&[event(event::START_ENCRYPTION, "")])), None);
    }
}
