//! When a server works at a step of its binlogs. The kernel reports what happens in their folder
//! (inotify), so that nothing of the server is changed; a report comes within a tenth of a
//! millisecond, and a sync on an emulated disk takes longer.

use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;
use truetps_binlog::file_number;
use truetps_record::{CrashStep, PreallocMode};

/// Every step comes again within a few transactions, where binlogs are small.
const STEP_WITHIN: Duration = Duration::from_secs(30);
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
const REPORTS_BYTES: usize = 16 << 10;
/// Zeros are written in whole pages, and transactions are not.
const PAGE_BYTES: u64 = 4096;

/// The newest binlog.
struct NewestFile {
    number: u64,
    bytes: u64,
    /// Nothing was written to it yet.
    is_blank: bool,
}

pub(crate) struct BinlogWatch {
    reports: OwnedFd,
    folder: PathBuf,
    base: Vec<u8>,
    mode: Option<PreallocMode>,
    newest: NewestFile,
}

impl BinlogWatch {
    /// `mode`: how the server's binlogs are preallocated.
    pub(crate) fn new(basename: &Path, mode: Option<PreallocMode>) -> io::Result<Self> {
        let folder = basename.parent().unwrap_or(Path::new("/")).to_owned();
        let base = basename.file_name().unwrap_or_default().as_bytes().to_vec();
        let reports = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let kinds = WatchFlags::CREATE
            | WatchFlags::MOVED_TO
            | WatchFlags::MODIFY
            | WatchFlags::CLOSE_WRITE;
        inotify::add_watch(&reports, &folder, kinds)?;
        let names = fs::read_dir(&folder)?.filter_map(|entry| Some(entry.ok()?.file_name()));
        let number =
            names.filter_map(|name| file_number(&base, name.as_bytes())).max().unwrap_or(0);
        let mut watch = Self {
            reports,
            folder,
            base,
            mode,
            newest: NewestFile { number, bytes: 0, is_blank: false },
        };
        watch.newest.bytes =
            watch.bytes_of(format!("{}.{number:06}", watch.base.escape_ascii()).as_bytes());
        Ok(watch)
    }

    /// Waits until the step has been seen `count` times. `false`: `is_over` became true before.
    pub(crate) fn wait(
        &mut self,
        step: CrashStep,
        mut count: u64,
        is_over: &dyn Fn() -> bool,
    ) -> io::Result<bool> {
        self.steps_seen()?;
        let end = Instant::now() + STEP_WITHIN;
        loop {
            let seen = self
                .steps_seen()?
                .into_iter()
                .filter(|seen| *seen == step || step == CrashStep::Recovery);
            count = count.saturating_sub(seen.count() as u64);
            if count == 0 {
                return Ok(true);
            }
            if is_over() {
                return Ok(false);
            }
            if Instant::now() >= end {
                return Err(io::ErrorKind::TimedOut.into());
            }
            match poll(&mut [PollFd::new(&self.reports, PollFlags::IN)], Some(&LOOK)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The steps since the last call.
    fn steps_seen(&mut self) -> io::Result<Vec<CrashStep>> {
        let (mut buffer, mut reports) = ([MaybeUninit::uninit(); REPORTS_BYTES], Vec::new());
        let mut reader = Reader::new(&self.reports, &mut buffer);
        loop {
            match reader.next() {
                Ok(report) => reports
                    .extend(report.file_name().map(|name| (report.events(), name.to_owned()))),
                Err(Errno::WOULDBLOCK) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(reports
            .into_iter()
            .filter_map(|(events, name)| self.step_of(events, name.to_bytes()))
            .collect())
    }

    fn step_of(&mut self, events: ReadFlags, name: &[u8]) -> Option<CrashStep> {
        let ending = name.strip_prefix(&self.base[..])?;
        if ending.starts_with(b".index") {
            return Some(CrashStep::Index);
        }
        if ending.starts_with(b".prealloc-") {
            return Some(CrashStep::Fill);
        }
        let number = file_number(&self.base, name)?;
        if events.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
            self.newest = NewestFile { number, bytes: self.bytes_of(name), is_blank: true };
            let is_renamed = events.contains(ReadFlags::MOVED_TO);
            return (is_renamed || !matches!(self.mode, Some(PreallocMode::Pool(_))))
                .then_some(CrashStep::Name);
        }
        if number != self.newest.number || events.contains(ReadFlags::CLOSE_WRITE) {
            return Some(CrashStep::Close);
        }
        let bytes = self.bytes_of(name);
        let before = std::mem::replace(&mut self.newest.bytes, bytes);
        Some(match std::mem::take(&mut self.newest.is_blank) {
            true => CrashStep::Header,
            false if bytes < before => CrashStep::Close,
            false if bytes > before && bytes.is_multiple_of(PAGE_BYTES) => CrashStep::Fill,
            false => CrashStep::Commit,
        })
    }

    fn bytes_of(&self, name: &[u8]) -> u64 {
        fs::metadata(self.folder.join(OsStr::from_bytes(name))).map_or(0, |facts| facts.len())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;

    use super::*;

    #[test]
    fn what_happens_to_files_is_a_step() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("binlog.000007"), "old").unwrap();
        let mut watch = BinlogWatch::new(&path("binlog"), Some(PreallocMode::Ahead)).unwrap();
        let mut seen = |action: &dyn Fn()| {
            action();
            watch.steps_seen().unwrap()
        };
        let append = |name: &str, bytes: &[u8]| {
            let mut file = File::options().append(true).open(path(name)).unwrap();
            file.write_all(bytes).unwrap();
            // Its close is no part of the step.
            std::mem::forget(file);
        };
        assert_eq!(seen(&|| append("binlog.000007", b"row")), [CrashStep::Commit]);
        assert_eq!(seen(&|| append("binlog.000007", &[0; 4096 - 6])), [CrashStep::Fill]);
        let cut = || {
            let file = File::options().write(true).open(path("binlog.000007")).unwrap();
            file.set_len(6).unwrap();
            std::mem::forget(file);
        };
        assert_eq!(seen(&cut), [CrashStep::Close]);
        assert_eq!(
            seen(&|| std::mem::forget(File::create(path("binlog.000008")).unwrap())),
            [CrashStep::Name]
        );
        assert_eq!(seen(&|| append("binlog.000008", b"first")), [CrashStep::Header]);
        assert_eq!(seen(&|| append("binlog.000008", b"second")), [CrashStep::Commit]);
        assert_eq!(seen(&|| fs::write(path("binlog.index~"), "").unwrap())[0], CrashStep::Index);
        assert_eq!(seen(&|| fs::write(path("relay-bin.000008"), "").unwrap()), []);
        assert_eq!(seen(&|| fs::write(path("binlog.prealloc"), "").unwrap()), []);
    }

    #[test]
    fn a_step_of_a_pool_is_a_rename_and_each_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let mut watch = BinlogWatch::new(&path("binlog"), Some(PreallocMode::Pool(2))).unwrap();
        assert!(!watch.wait(CrashStep::Name, 1, &|| true).unwrap());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 1..=3 {
                    std::thread::sleep(Duration::from_millis(30));
                    fs::write(path("binlog.prealloc-0"), [0; 9]).unwrap();
                    fs::rename(path("binlog.prealloc-0"), path(&format!("binlog.00000{number}")))
                        .unwrap();
                }
            });
            assert!(watch.wait(CrashStep::Name, 2, &|| false).unwrap());
            assert_eq!(watch.newest.number, 2);
        });
        watch.steps_seen().unwrap();
        fs::write(path("binlog.000009"), "made without the pool").unwrap();
        assert!(!watch.steps_seen().unwrap().contains(&CrashStep::Name));
    }
}
