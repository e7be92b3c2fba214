//! How much filling the tables of an external server writes to its binlog and redo log.

use std::time::{Duration, Instant};

use truetps_driver::Client;
use truetps_record::LogVolume;

use crate::trial::log_reader::LogReader;
use crate::trial::tables::Filled;

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
            "filling the tables {verb} {} to the server's logs; {trials} refills them, which \
             writes about {}, in addition to what the load itself writes (estimated when it runs; \
             the report has the total)",
            volume_text(&once.times(COPIES)),
            volume_text(once)
        )
    }
}

/// Bytes written by one copy of all rows, given the inserted rows and the bytes written. Copied
/// rows are logged like inserted ones.
fn once(so_far: &LogVolume, filled: &Filled) -> LogVolume {
    so_far.times(filled.of as f64 / (filled.rows + filled.copied) as f64)
}

/// `12.0 MiB of binlog and 30.5 MiB of redo log`.
pub(super) fn volume_text(volume: &LogVolume) -> String {
    let redo = part_text(volume.redo_bytes, "redo log or WAL");
    if volume.binlog_bytes == Some(0) {
        redo
    } else {
        format!("{} and {redo}", part_text(volume.binlog_bytes, "binlog"))
    }
}

fn part_text(bytes: Option<u64>, what: &str) -> String {
    match bytes {
        Some(bytes) => format!("{} of {what}", size_text(bytes)),
        None => format!("an unknown volume of {what}"),
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
}
