//! Reads from an external server's own counters, over one session, how much it writes to its binlog and redo log.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use truetps_driver::{Client, DriverError};
use truetps_record::{LogVolume, SqlDialect};

use crate::server_status::{allowed, is_on, number, shown, status_value};
use crate::tables::Filled;

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
const INSTRUMENT: &str = "SELECT SUM_NUMBER_OF_BYTES_WRITE FROM performance_schema.file_summary_by_event_name \
                          WHERE EVENT_NAME = 'wait/io/file/sql/binlog'";
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

    /// The same, without a new starting point.
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
    Ok(answer.map(|answer| {
        let file = |row: Vec<Option<String>>| {
            let mut cells = row.into_iter().flatten();
            Some((cells.next()?, cells.next()?.parse().ok()?))
        };
        answer.rows.into_iter().filter_map(file).collect()
    }))
}

/// Reports, soon after filling starts, how much filling and all refills will write.
pub(crate) struct Filling<'a> {
    log: &'a mut LogReader,
    began: Instant,
    trials: usize,
    is_reported: bool,
}

/// Part of the filling that is measured before the rest is estimated.
const FIRST_LOOK: Duration = Duration::from_secs(1);
/// Tables are filled, and copied once.
const COPIES: f64 = 2.0;

impl<'a> Filling<'a> {
    pub(crate) fn new(log: &'a mut LogReader, trials: usize) -> Self {
        Self { log, began: Instant::now(), trials, is_reported: false }
    }

    pub(crate) fn look(&mut self, client: &mut Client, filled: &Filled) -> Option<String> {
        if self.is_reported || filled.rows == 0 || self.began.elapsed() < FIRST_LOOK {
            return None;
        }
        self.is_reported = true;
        let so_far = self.log.so_far(client).ok()?;
        Some(self.text(&once(&so_far, filled), "will write about"))
    }

    /// All rows are inserted: reports a filling that was too quick for an estimate.
    pub(crate) fn end(&mut self, client: &mut Client) -> Option<String> {
        if self.is_reported {
            return None;
        }
        let both = self.log.so_far(client).ok()?;
        Some(self.text(&both.times(1.0 / COPIES), "has written"))
    }

    /// `once`: one copy of all rows.
    fn text(&self, once: &LogVolume, verb: &str) -> String {
        let trials = if self.trials == 1 {
            "the trial".to_owned()
        } else {
            format!("each of {} trials", self.trials)
        };
        format!(
            "filling the tables {verb} {} to the server's logs; {trials} refills them, which writes about {}, in addition to what the \
             load itself writes (estimated when it runs; the report has the total)",
            volume_text(&once.times(COPIES)),
            volume_text(once)
        )
    }
}

/// Bytes written by one copy of all rows, given the inserted rows and the bytes written. Copied rows are logged like
/// inserted ones.
fn once(so_far: &LogVolume, filled: &Filled) -> LogVolume {
    so_far.times(filled.of as f64 / (filled.rows + filled.copied) as f64)
}

/// `12.0 MiB of binlog and 30.5 MiB of redo log`.
pub(super) fn volume_text(volume: &LogVolume) -> String {
    let text = |bytes: Option<u64>, what: &str| match bytes {
        Some(bytes) => format!("{} of {what}", size_text(bytes)),
        None => format!("an unknown volume of {what}"),
    };
    let redo = text(volume.redo_bytes, "redo log or WAL");
    if volume.binlog_bytes == Some(0) {
        redo
    } else {
        format!("{} and {redo}", text(volume.binlog_bytes, "binlog"))
    }
}

/// In the units of the report.
fn size_text(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let mut size = bytes as f64 / 1024.0;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        (size, unit) = (size / 1024.0, unit + 1);
    }
    format!("{size:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_in_words() {
        let volume = |binlog_bytes, redo_bytes| LogVolume { binlog_bytes, redo_bytes };
        assert_eq!(volume_text(&volume(Some(0), Some(61 << 19))), "30.5 MiB of redo log or WAL");
        assert_eq!(
            volume_text(&volume(None, Some(2 << 20))),
            "an unknown volume of binlog and 2.0 MiB of redo log or WAL"
        );
        assert_eq!(
            volume_text(&volume(Some(512), Some(3 << 30))),
            "0.5 KiB of binlog and 3.0 GiB of redo log or WAL"
        );
    }

    #[test]
    fn rows_that_are_in_twice_do_not_double_the_estimate() {
        let so_far = LogVolume { binlog_bytes: Some(2_000), redo_bytes: Some(4_000) };
        // One of two tables is filled and copied.
        let filled = Filled { rows: 10, copied: 10, of: 20 };
        assert_eq!(once(&so_far, &filled), so_far);
        assert_eq!(once(&so_far, &Filled { copied: 0, ..filled }), so_far.times(2.0));
    }

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
