//! Measures a real disk, and makes a profile of it.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use serde::Serialize;

use crate::error::DiskError;
use crate::flush_times::{FlushTimes, flush_times};
use crate::profile::{DiskProfile, Geometry};

const PAGE_BYTES: usize = 4096;
/// Size of a sequential write.
const CHUNK_BYTES: usize = 1 << 20;
/// The file that is written: larger than what a disk prefetches, small enough to fill at once.
const FILE_BYTES: u64 = 64 << 20;
/// Requests at the same time, one thread each.
const DEPTHS: [u32; 3] = [1, 8, 32];
const LENGTH: Duration = Duration::from_secs(1);
/// A disk that flushes faster keeps what it has acknowledged.
const VOLATILE_FLUSH_US: f64 = 100.0;
/// A page in a growing file takes this many revolutions on a spinning disk, and a page in place
/// one.
const APPEND_TURNS: std::ops::Range<f64> = 1.8..3.5;
/// Slower than any disk without moving parts, faster than any with.
const TURN_US: std::ops::Range<f64> = 3_500.0..15_000.0;

/// What a disk was measured to take.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DiskMeasurement {
    pub flush: FlushTimes,
    /// By the number of requests at the same time.
    pub writes: Vec<WriteTimes>,
    pub bandwidth_mb_s: f64,
}

/// Writes of 4 KiB at random places, past the page cache.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct WriteTimes {
    pub depth: u32,
    pub latency_us_p50: f64,
    pub latency_us_p99: f64,
    pub iops: f64,
}

/// Measures the disk of this folder, in a file that is removed afterwards. Takes about six seconds.
pub fn measure_disk(folder: &Path) -> Result<DiskMeasurement, DiskError> {
    let path = folder.join(".truetps-disk-measure");
    let measured = measure(folder, &path).map_err(DiskError::io("measure a disk with", &path));
    // A file that was never created is none to remove.
    let _ = fs::remove_file(&path);
    measured
}

fn measure(folder: &Path, path: &Path) -> io::Result<DiskMeasurement> {
    let flush = flush_times(folder, &mut || Ok(0)).map_err(io::Error::other)?;
    let file = direct_file(path)?;
    // Filled first: a write into a hole costs the file system more than one in place.
    let bandwidth_mb_s = sequential_mb_s(&file)?;
    let writes = DEPTHS.map(|depth| random_writes(&file, depth));
    Ok(DiskMeasurement {
        flush,
        writes: writes.into_iter().collect::<io::Result<_>>()?,
        bandwidth_mb_s,
    })
}

/// Opened so that each write goes to the disk.
fn direct_file(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::DIRECT | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?))
}

/// Runs `write` on a part of a buffer whose address is a multiple of a page.
fn with_aligned<T>(bytes: usize, write: impl FnOnce(&[u8]) -> io::Result<T>) -> io::Result<T> {
    let buffer = vec![0x5a; bytes + PAGE_BYTES];
    let skipped = buffer.as_ptr().align_offset(PAGE_BYTES);
    write(&buffer[skipped..skipped + bytes])
}

fn sequential_mb_s(file: &File) -> io::Result<f64> {
    with_aligned(CHUNK_BYTES, |chunk| {
        let (began, mut written) = (Instant::now(), 0_u64);
        while written < FILE_BYTES || began.elapsed() < LENGTH {
            file.write_all_at(chunk, written % FILE_BYTES)?;
            written += CHUNK_BYTES as u64;
        }
        file.sync_data()?;
        Ok(written as f64 / began.elapsed().as_secs_f64() / 1e6)
    })
}

fn random_writes(file: &File, depth: u32) -> io::Result<WriteTimes> {
    let began = Instant::now();
    let times: io::Result<Vec<Vec<f64>>> = thread::scope(|scope| {
        let threads: Vec<_> =
            (0..depth).map(|number| scope.spawn(move || writes_of_thread(file, number))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a writer does not panic")).collect()
    });
    let length_s = began.elapsed().as_secs_f64();
    let mut all_us: Vec<f64> = times?.concat();
    all_us.sort_by(f64::total_cmp);
    Ok(WriteTimes {
        depth,
        latency_us_p50: quantile(&all_us, 0.5),
        latency_us_p99: quantile(&all_us, 0.99),
        iops: all_us.len() as f64 / length_s,
    })
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share) as usize]
}

fn writes_of_thread(file: &File, number: u32) -> io::Result<Vec<f64>> {
    let mut random = truetps_random::RandomStream::new(1, u64::from(number));
    with_aligned(PAGE_BYTES, |page| {
        let (began, mut times_us) = (Instant::now(), Vec::new());
        while began.elapsed() < LENGTH {
            let offset = random.below(FILE_BYTES / PAGE_BYTES as u64) * PAGE_BYTES as u64;
            let write = Instant::now();
            file.write_all_at(page, offset)?;
            times_us.push(write.elapsed().as_secs_f64() * 1e6);
        }
        Ok(times_us)
    })
}

impl DiskMeasurement {
    /// A profile of this disk. The position of data counts where flushes take revolutions.
    pub fn profile(&self, name: &str) -> DiskProfile {
        let FlushTimes { overwrite_us_p50, append_us_p50, .. } = self.flush;
        let (first, last) = (self.writes[0], self.writes[self.writes.len() - 1]);
        let is_rotating = TURN_US.contains(&overwrite_us_p50)
            && APPEND_TURNS.contains(&(append_us_p50 / overwrite_us_p50));
        let flush_us = (overwrite_us_p50 - first.latency_us_p50).max(0.0);
        let is_volatile = is_rotating || flush_us > VOLATILE_FLUSH_US;
        DiskProfile {
            name: name.to_owned(),
            about: format!(
                "A measured disk: a page written and flushed takes {:.2} ms.",
                overwrite_us_p50 / 1e3
            ),
            volatile_cache_mb: if is_volatile { 64 } else { 0 },
            flush_lies: false,
            read_us: first.latency_us_p50 as u32,
            write_us: first.latency_us_p50 as u32,
            flush_us: if is_rotating { 0 } else { flush_us as u32 },
            jitter: ((first.latency_us_p99 / first.latency_us_p50).ln() / 2.326).clamp(0.0, 1.0),
            queue_depth: if is_rotating { 0 } else { last.depth },
            iops: if is_rotating { 0 } else { last.iops as u32 },
            bandwidth_mb_s: if is_rotating { 0 } else { self.bandwidth_mb_s as u32 },
            rotating: is_rotating.then(|| self.geometry()),
        }
    }

    /// A short seek takes more than half a revolution: so that a growing file takes what was
    /// measured.
    fn geometry(&self) -> Geometry {
        let turn_us = self.flush.overwrite_us_p50;
        Geometry {
            rpm: (60e6 / turn_us).round() as u32,
            track_kb: (self.bandwidth_mb_s * turn_us / 1024.0).clamp(64.0, 16_384.0) as u32,
            seek_near_us: (turn_us * 0.54) as u32,
            seek_full_us: (turn_us * 1.92) as u32,
            full_stroke_gb: 1000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_measured_and_left_as_it_was() {
        // On the disk of the build: tmpfs has no direct writes.
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let found = measure_disk(folder.path()).unwrap();
        assert_eq!(found.writes.iter().map(|one| one.depth).collect::<Vec<_>>(), DEPTHS);
        assert!(found.bandwidth_mb_s > 0.0 && found.flush.overwrite_us_p50 > 0.0, "{found:?}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let profile = found.profile("here");
        assert_eq!(DiskProfile::parse(&profile.to_toml()).unwrap(), profile);
    }

    #[test]
    fn revolutions_make_a_spinning_disk() {
        let measurement = |overwrite_us_p50, append_us_p50| DiskMeasurement {
            flush: FlushTimes {
                overwrite_us_p50,
                overwrite_us_p99: overwrite_us_p50,
                append_us_p50,
                append_us_p99: append_us_p50,
                overwrite_flushes: 0.0,
                append_flushes: 0.0,
            },
            writes: vec![WriteTimes {
                depth: 1,
                latency_us_p50: 60.0,
                latency_us_p99: 90.0,
                iops: 15_000.0,
            }],
            bandwidth_mb_s: 126.0,
        };
        let spinning = measurement(8340.0, 25_100.0).profile("x");
        assert_eq!(spinning.rotating.map(|geometry| geometry.rpm), Some(7194));
        let ssd = measurement(1700.0, 3500.0).profile("x");
        assert_eq!((ssd.rotating, ssd.flush_us, ssd.volatile_cache_mb), (None, 1640, 64));
        assert_eq!(measurement(110.0, 200.0).profile("x").volatile_cache_mb, 0);
    }
}
