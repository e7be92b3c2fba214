//! The rows of a crash in the server's binlog: what a replica would have.
//!
//! The files are read and not the server's answers: after a crash the last file may end in the
//! middle of an event, at which MariaDB answers with an error instead of the events before it.

use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use truetps_binlog::{WalkStop, events, file_number};
use truetps_driver::{Client, DriverError};
use truetps_files::OpenFolder;
use truetps_record::{BinlogDifference, SqlDialect};

use super::clients::TABLE;
use crate::trial::setting::quoted;

/// Types of events, by the binlog formats of MySQL and MariaDB.
mod event {
    pub(super) const QUERY: u8 = 2;
    /// The server stops.
    pub(super) const STOP: u8 = 3;
    /// The next file follows.
    pub(super) const ROTATE: u8 = 4;
    pub(super) const XID: u8 = 16;
    /// MySQL: the statement of the rows that follow.
    pub(super) const ROWS_QUERY: u8 = 29;
    /// MySQL: a transaction begins, with a GTID of its own.
    pub(super) const MYSQL_GTID: u8 = 33;
    /// MySQL: a transaction begins, without one.
    pub(super) const ANONYMOUS: u8 = 34;
    /// MySQL: a compressed transaction.
    pub(super) const PAYLOAD: u8 = 40;
    /// MariaDB: the statement of the rows that follow.
    pub(super) const ANNOTATE_ROWS: u8 = 160;
    /// MariaDB: a transaction begins.
    pub(super) const MARIADB_GTID: u8 = 162;
    /// MariaDB: a compressed statement.
    pub(super) const QUERY_COMPRESSED: u8 = 165;
}

/// A server ends a binlog at 1 GiB at the latest, and with the transaction that reaches it.
const FILE_BYTES_MAX: u64 = 2 << 30;
/// Where the event of a GTID has the number: MySQL after flags and server, MariaDB first.
const MYSQL_NUMBER_AT: usize = 17;
const MARIADB_NUMBER_AT: usize = 0;

/// Folder and name of the server's binlogs, without the number. `None`: it has none.
pub(crate) fn binlog_basename(client: &mut Client) -> Result<Option<PathBuf>, DriverError> {
    if client.dialect() == SqlDialect::Postgres {
        return Ok(None);
    }
    Ok(client.query_value("SELECT @@GLOBAL.log_bin_basename")?.map(PathBuf::from))
}

/// Compares the rows of a crash in the table with its transactions in the binlog, and removes the
/// files that were read. `None`: the server has no binlog, or an encrypted or compressed one.
pub(crate) fn compare_binlog(
    client: &mut Client,
    present: &[u64],
    first_key: u64,
    end_key: u64,
) -> Result<Option<BinlogDifference>, DriverError> {
    let Some(base) = binlog_basename(client)? else { return Ok(None) };
    let Ok(folder) = OpenFolder::open_named(base.parent().unwrap_or(Path::new("/"))) else {
        return Ok(None);
    };
    let rows = client.query("SHOW BINARY LOGS")?.rows.into_iter();
    let names: Vec<_> = rows.filter_map(|row| row.into_iter().next().flatten()).collect();
    let Some(newest) = names.last() else { return Ok(None) };
    let mut found = BinlogContent::default();
    for name in &names {
        let read = read_binlog(&folder, &base, name);
        if read.and_then(|bytes| found.add_file(&bytes, name == newest)).is_none() {
            return Ok(None);
        }
    }
    client.execute(&format!("PURGE BINARY LOGS TO {}", quoted(newest)))?;
    let present: BTreeSet<_> = present.iter().copied().collect();
    let keys: BTreeSet<_> =
        found.committed.into_iter().filter(|key| (first_key..end_key).contains(key)).collect();
    Ok(Some(BinlogDifference {
        rows: keys.len() as u64,
        binlog_only: keys.difference(&present).count() as u64,
        table_only: present.difference(&keys).count() as u64,
        torn_files: found.torn_files,
        gtid_gaps: found.gtids.windows(2).filter(|pair| pair[1] != pair[0] + 1).count() as u64,
    }))
}

/// A file that the server has named, read as the folder's owner. `None`: it cannot be read.
fn read_binlog(folder: &OpenFolder, base: &Path, name: &str) -> Option<Vec<u8>> {
    file_number(base.file_name()?.as_bytes(), name.as_bytes())?;
    let file = folder.as_owner(|| folder.file(name.as_ref())).flatten().ok()?;
    let mut bytes = Vec::new();
    let read = file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).ok()?;
    (read as u64 <= FILE_BYTES_MAX).then_some(bytes)
}

/// What was found in the files so far.
#[derive(Debug, Default)]
struct BinlogContent {
    /// Keys of all transactions whose end is there, and the transactions' numbers.
    committed: Vec<u64>,
    gtids: Vec<u64>,
    torn_files: u64,
}

impl BinlogContent {
    /// `None`: the file cannot be read.
    fn add_file(&mut self, file: &[u8], is_newest: bool) -> Option<()> {
        let (walk, events) = events(file);
        match walk.stop {
            WalkStop::Encrypted => return None,
            WalkStop::EndOfFile => {}
            // The newest one may be preallocated.
            WalkStop::Zeros if is_newest => {}
            _ => self.torn_files += 1,
        }
        // A crash leaves a transaction without its end only at the end of a file, and its number is
        // used again.
        let (mut pending, mut gtid) = (Vec::new(), None);
        for (kind, body) in events {
            let next_gtid = match kind {
                event::MARIADB_GTID => number_at(body, MARIADB_NUMBER_AT),
                event::MYSQL_GTID => number_at(body, MYSQL_NUMBER_AT),
                event::XID | event::ANONYMOUS | event::STOP | event::ROTATE => None,
                event::QUERY | event::ROWS_QUERY | event::ANNOTATE_ROWS => {
                    pending.extend(inserted_key(body));
                    continue;
                }
                event::PAYLOAD | event::QUERY_COMPRESSED => return None,
                _ => continue,
            };
            self.gtids.extend(std::mem::replace(&mut gtid, next_gtid));
            if kind == event::XID {
                self.committed.append(&mut pending);
            }
            pending.clear();
        }
        Some(())
    }
}

fn number_at(body: &[u8], at: usize) -> Option<u64> {
    body.get(at..)?.first_chunk().copied().map(u64::from_le_bytes)
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

    const HEADER_BYTES: usize = 19;
    const START_ENCRYPTION: u8 = 164;

    fn event(kind: u8, body: &[u8]) -> Vec<u8> {
        let size = (HEADER_BYTES + body.len()) as u32;
        let mut event = vec![0, 0, 0, 0, kind, 1, 0, 0, 0];
        event.extend(size.to_le_bytes());
        event.extend([0; 6]);
        event.extend(body);
        event
    }

    fn insert(kind: u8, key: u64) -> Vec<u8> {
        event(kind, format!("schema\0INSERT INTO {TABLE} VALUES ({key}, 'x')").as_bytes())
    }

    fn xid() -> Vec<u8> {
        event(event::XID, b"12345678")
    }

    fn gtid(number: u64) -> Vec<u8> {
        event(event::MARIADB_GTID, &number.to_le_bytes())
    }

    /// A binlog of a server without checksums.
    fn file(events: &[Vec<u8>]) -> Vec<u8> {
        let mut description = b"\x04\x005.5.5".to_vec();
        description.resize(57, 0);
        [b"\xfebin".to_vec(), event(15, &description), events.concat()].concat()
    }

    fn content(files: &[&[u8]]) -> Option<BinlogContent> {
        let mut content = BinlogContent::default();
        for (at, file) in files.iter().enumerate() {
            content.add_file(file, at + 1 == files.len())?;
        }
        Some(content)
    }

    fn committed(file: &[u8]) -> Option<Vec<u64>> {
        content(&[file]).map(|content| content.committed)
    }

    #[test]
    fn only_binlogs_of_the_basename_are_read() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("binlog.000001"), "content").unwrap();
        std::os::unix::fs::symlink("binlog.000001", dir.path().join("binlog.000002")).unwrap();
        std::fs::write(dir.path().join("other"), "content").unwrap();
        let folder = OpenFolder::open(dir.path()).unwrap();
        let read = |name: &str| read_binlog(&folder, &dir.path().join("binlog"), name);
        assert_eq!(read("binlog.000001").as_deref(), Some(&b"content"[..]));
        for name in [
            "binlog.000002",
            "other",
            "../other",
            "binlog.000001/../other",
            "/etc/passwd",
            "binlog.000003",
        ] {
            assert_eq!(read(name), None, "{name}");
        }
    }

    #[test]
    fn only_transactions_with_their_end_count() {
        let events = [
            gtid(1),
            insert(event::QUERY, 7),
            xid(),
            gtid(2),
            insert(event::ANNOTATE_ROWS, 8),
            xid(),
        ];
        assert_eq!(committed(&file(&events)), Some(vec![7, 8]));
        let unfinished = [&events[..], &[gtid(3), insert(event::ROWS_QUERY, 9)]].concat();
        assert_eq!(committed(&file(&unfinished)), Some(vec![7, 8]));
        let rolled_back = [
            gtid(1),
            insert(event::QUERY, 7),
            event(event::ANONYMOUS, b""),
            insert(event::ROWS_QUERY, 9),
            xid(),
        ];
        assert_eq!(committed(&file(&rolled_back)), Some(vec![9]));
    }

    #[test]
    fn a_file_that_was_cut_off_is_read_to_its_last_whole_event() {
        let whole = file(&[insert(event::QUERY, 7), xid(), insert(event::QUERY, 8), xid()]);
        for length in 0..whole.len() {
            let keys = committed(&whole[..length]).unwrap();
            assert!(keys.is_empty() || keys == [7], "{length}: {keys:?}");
        }
        let zeros = [&whole[..], &[0; 4096]].concat();
        assert_eq!(committed(&zeros), Some(vec![7, 8]));
        let torn = |files: &[&[u8]]| content(files).unwrap().torn_files;
        assert_eq!(
            (torn(&[&whole, &zeros]), torn(&[&zeros, &whole]), torn(&[&whole[..200], &whole])),
            (0, 1, 1)
        );
    }

    #[test]
    fn numbers_of_transactions_follow_each_other_over_files() {
        let mysql =
            |number: u64| event(event::MYSQL_GTID, &[&[0; 17][..], &number.to_le_bytes()].concat());
        let next_file = || event(event::ROTATE, b"binlog.000002");
        let files = [file(&[gtid(4), gtid(5), xid(), next_file()]), file(&[gtid(6), next_file()])];
        let last = file(&[mysql(7), insert(event::QUERY, 7), xid()]);
        assert_eq!(content(&[&files[0], &files[1], &last]).unwrap().gtids, [4, 5, 6, 7]);
        let without_end = file(&[gtid(6), insert(event::QUERY, 7)]);
        assert_eq!(content(&[&files[0], &without_end, &files[1]]).unwrap().gtids, [4, 5, 6]);
    }

    #[test]
    fn what_cannot_be_read_is_not_compared() {
        assert_eq!(committed(b"\xfdbin encrypted"), None);
        assert_eq!(committed(&file(&[event(event::PAYLOAD, b"zstd")])), None);
        assert_eq!(committed(&file(&[event(START_ENCRYPTION, b"")])), None);
    }
}
