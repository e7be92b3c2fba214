//! What a flush really takes on a file system: by overwriting, and by appending.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::error::DiskError;
use crate::lab::LabLevel;

const PAGE: [u8; 4096] = [0x5a; 4096];
/// The first ones find caches and journals in another state than the others.
const LEFT_OUT: usize = 5;
const TIMES: usize = 35;
/// Time limit for each of the two operations: a disk that takes seconds for a flush is measured
/// with fewer of them.
const TIME_LIMIT: Duration = Duration::from_secs(5);

/// What a write of 4 KiB and an fdatasync take together, one client, and the flushes that each
/// needed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FlushTimes {
    /// Duration for a page that was written before.
    pub overwrite_us_p50: f64,
    pub overwrite_us_p99: f64,
    /// Duration for a page at the end of a file that grows.
    pub append_us_p50: f64,
    pub append_us_p99: f64,
    pub overwrite_flushes: f64,
    pub append_flushes: f64,
}

/// How many flushes a disk had so far.
pub(crate) type FlushCount<'a> = &'a mut dyn FnMut() -> io::Result<u64>;

/// More is no property of the host, but of other work on it.
const HOST_US_MAX: f64 = 150.0;

impl FlushTimes {
    /// What the host adds to a request, measured on a disk that takes no time: a write and a flush
    /// each, or, where writes are cached, the flush alone.
    pub(crate) fn host_us(&self, level: LabLevel) -> f64 {
        let requests = match level {
            LabLevel::Block => 2.0,
            LabLevel::FileSystem => 1.0,
        };
        (self.overwrite_us_p50 / requests).min(HOST_US_MAX)
    }
}

/// Measures the file system of this folder.
pub(crate) fn flush_times(folder: &Path, flushes: FlushCount<'_>) -> Result<FlushTimes, DiskError> {
    let path = folder.join(".truetps-flush-times");
    let failed = |error| DiskError::io("write", &path)(error);
    // A killed process leaves it on a disk whose image is kept.
    let _ = fs::remove_file(&path);
    let file =
        File::options().read(true).write(true).create_new(true).open(&path).map_err(failed)?;
    let measured = measure(&file, flushes).map_err(failed);
    fs::remove_file(&path).map_err(failed)?;
    measured
}

fn measure(file: &File, flushes: FlushCount<'_>) -> io::Result<FlushTimes> {
    for _ in 0..4 {
        (&*file).write_all(&PAGE)?;
    }
    file.sync_all()?;
    let overwrite = repeated(flushes, || {
        file.write_all_at(&PAGE, 0)?;
        file.sync_data()
    })?;
    let append = repeated(flushes, || {
        (&*file).write_all(&PAGE)?;
        file.sync_data()
    })?;
    Ok(FlushTimes {
        overwrite_us_p50: overwrite.us_p50,
        overwrite_us_p99: overwrite.us_p99,
        append_us_p50: append.us_p50,
        append_us_p99: append.us_p99,
        overwrite_flushes: overwrite.flushes,
        append_flushes: append.flushes,
    })
}

/// Durations of one of the two operations.
struct RepeatedTimes {
    us_p50: f64,
    us_p99: f64,
    flushes: f64,
}

fn repeated(
    flushes: FlushCount<'_>,
    mut operation: impl FnMut() -> io::Result<()>,
) -> io::Result<RepeatedTimes> {
    let end = Instant::now() + TIME_LIMIT;
    let mut left_out = 0;
    while left_out < LEFT_OUT && Instant::now() < end {
        operation()?;
        left_out += 1;
    }
    let first = flushes()?;
    let mut all_us = Vec::with_capacity(TIMES);
    while all_us.is_empty() || all_us.len() < TIMES && Instant::now() < end {
        let began = Instant::now();
        operation()?;
        all_us.push(began.elapsed().as_secs_f64() * 1e6);
    }
    let times = all_us.len();
    let each = (flushes()? - first) as f64 / times as f64;
    all_us.sort_by(f64::total_cmp);
    Ok(RepeatedTimes { us_p50: all_us[times / 2], us_p99: all_us[times - 1], flushes: each })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_file_system_is_measured_and_left_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let found = flush_times(folder.path(), &mut || Ok(7)).unwrap();
        assert!(found.overwrite_us_p50 > 0.0 && found.append_us_p50 > 0.0, "{found:?}");
        assert!(found.append_flushes < 1e-9);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
