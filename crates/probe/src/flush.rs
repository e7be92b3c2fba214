//! The cost of making a small write durable on this host: the physical minimum for every durable
//! commit.

use std::fs::{File, OpenOptions, remove_file};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use thiserror::Error;
use truetps_record::FlushProbe;

const BLOCK_BYTES: usize = 4096;
const BLOCKS: u64 = 64;
const WRITES_MAX: usize = 400;
/// A slow disk completes fewer writes in this time, which suffices to show that it is slow.
const TIME_MAX: Duration = Duration::from_millis(1500);

#[derive(Debug, Error)]
#[error("measuring a flush in {}: {source}", dir.display())]
pub struct FlushProbeError {
    dir: PathBuf,
    source: io::Error,
}

/// Overwrites blocks of a file and flushes after each, like the writes to an existing redo log. The
/// blocks are written and flushed once before, so that no flush has to allocate space.
pub fn probe_flush(dir: &Path) -> Result<FlushProbe, FlushProbeError> {
    let path = dir.join(format!(".flush-probe-{}", std::process::id()));
    let result =
        OpenOptions::new().write(true).create_new(true).open(&path).and_then(|file| measure(&file));
    // A test file that cannot be removed is no reason to fail; the folder is truetps's own.
    let _ = remove_file(&path);
    result.map_err(|source| FlushProbeError { dir: dir.to_owned(), source })
}

fn measure(file: &File) -> io::Result<FlushProbe> {
    let block = [0x5a_u8; BLOCK_BYTES];
    for n in 0..BLOCKS {
        file.write_all_at(&block, n * BLOCK_BYTES as u64)?;
    }
    file.sync_all()?;
    let began = Instant::now();
    let mut us = Vec::with_capacity(WRITES_MAX);
    while us.len() < WRITES_MAX && began.elapsed() < TIME_MAX {
        let start = Instant::now();
        file.write_all_at(&block, us.len() as u64 % BLOCKS * BLOCK_BYTES as u64)?;
        file.sync_data()?;
        us.push(start.elapsed().as_secs_f64() * 1e6);
    }
    us.sort_by(f64::total_cmp);
    let [us_p50, us_p99, us_max] = [0.5, 0.99, 1.0]
        .map(|quantile: f64| us[((us.len() - 1) as f64 * quantile).round() as usize]);
    Ok(FlushProbe { writes: us.len() as u32, us_p50, us_p99, us_max })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probe_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let probe = probe_flush(dir.path()).unwrap();
        assert!(probe.writes > 0 && probe.us_p50 <= probe.us_p99 && probe.us_p99 <= probe.us_max);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        let error = probe_flush(&dir.path().join("missing")).unwrap_err().to_string();
        assert!(error.contains("missing"), "{error}");
    }
}
