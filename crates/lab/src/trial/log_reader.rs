//! Reads from a server's own counters, over one session, how much it writes to its binlog and redo
//! log.

use std::collections::BTreeMap;

use truetps_driver::{Client, DriverError};
use truetps_record::{LogVolume, SqlDialect};

use crate::trial::server_status::{allowed, is_on, number, shown, status_value};

/// Where the volume of the binlog can be read.
#[derive(Debug, PartialEq, Eq)]
enum Binlog {
    /// There is none.
    Off,
    /// A status counter of MariaDB.
    Status,
    /// The sizes of its files, and their growth.
    Files { sizes: BTreeMap<String, u64>, grown: u64 },
    /// What `performance_schema` counts.
    Instrument,
    /// The account may read none of these.
    Unknown,
}

const STATUS: &str = "Binlog_bytes_written";
const INSTRUMENT: &str = "SELECT SUM_NUMBER_OF_BYTES_WRITE FROM \
                          performance_schema.file_summary_by_event_name WHERE EVENT_NAME = \
                          'wait/io/file/sql/binlog'";
const WAL: &str = "SELECT pg_catalog.pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::text";

/// Reads the counters of one server.
#[derive(Debug)]
pub(crate) struct LogReader {
    binlog: Binlog,
    /// The counters at the last reading.
    last: LogVolume,
}

impl LogReader {
    /// Finds out which counters the account may read; later volumes are counted from here.
    pub(crate) fn begin(client: &mut Client) -> Result<Self, DriverError> {
        let binlog =
            if client.dialect() == SqlDialect::Mysql { Binlog::find(client)? } else { Binlog::Off };
        let mut reader = Self { binlog, last: LogVolume::default() };
        reader.last = reader.counters(client)?;
        Ok(reader)
    }

    /// Bytes written since the last call.
    pub(crate) fn volume_since(&mut self, client: &mut Client) -> Result<LogVolume, DriverError> {
        let now = self.counters(client)?;
        let last = std::mem::replace(&mut self.last, now);
        Ok(now.since(&last))
    }

    /// Bytes written since then, without a new starting point.
    pub(crate) fn so_far(&mut self, client: &mut Client) -> Result<LogVolume, DriverError> {
        Ok(self.counters(client)?.since(&self.last))
    }

    fn counters(&mut self, client: &mut Client) -> Result<LogVolume, DriverError> {
        let binlog_bytes = self.binlog.read(client)?;
        let redo_bytes = match client.dialect() {
            SqlDialect::Mysql => allowed(status_value(client, "Innodb_os_log_written"))?.flatten(),
            SqlDialect::Postgres => number(client, WAL)?,
        };
        Ok(LogVolume { binlog_bytes, redo_bytes })
    }
}

impl Binlog {
    fn find(client: &mut Client) -> Result<Self, DriverError> {
        if !is_on(client, "log_bin")? {
            return Ok(Self::Off);
        }
        if shown(client, "STATUS", STATUS)?.is_some() {
            return Ok(Self::Status);
        }
        if let Some(sizes) = file_sizes(client)? {
            return Ok(Self::Files { sizes, grown: 0 });
        }
        Ok(if number(client, INSTRUMENT)?.is_some() { Self::Instrument } else { Self::Unknown })
    }

    fn read(&mut self, client: &mut Client) -> Result<Option<u64>, DriverError> {
        Ok(match self {
            Self::Off => Some(0),
            Self::Unknown => None,
            Self::Status => allowed(status_value(client, STATUS))?.flatten(),
            Self::Instrument => number(client, INSTRUMENT)?,
            Self::Files { sizes, grown } => file_sizes(client)?.map(|now| {
                *grown += growth(sizes, &now);
                *sizes = now;
                *grown
            }),
        })
    }
}

/// Growth of the files; new files count with their whole size. Purged files are ignored.
fn growth(before: &BTreeMap<String, u64>, now: &BTreeMap<String, u64>) -> u64 {
    now.iter().map(|(name, size)| size.saturating_sub(before.get(name).copied().unwrap_or(0))).sum()
}

fn file_sizes(client: &mut Client) -> Result<Option<BTreeMap<String, u64>>, DriverError> {
    let answer = allowed(client.query("SHOW BINARY LOGS"))?;
    let Some(answer) = answer else { return Ok(None) };
    let sizes = answer.rows.into_iter().filter_map(|row| {
        let mut cells = row.into_iter().flatten();
        Some((cells.next()?, cells.next()?.parse().ok()?))
    });
    Ok(Some(sizes.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_grow_and_are_purged() {
        let files = |list: &[(&str, u64)]| {
            list.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect()
        };
        let before = files(&[("b.1", 100), ("b.2", 50)]);
        assert_eq!(growth(&before, &files(&[("b.1", 100), ("b.2", 80)])), 30);
        assert_eq!(growth(&before, &files(&[("b.2", 90), ("b.3", 7)])), 47);
    }
}
