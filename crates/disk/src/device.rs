//! An emulated disk: its data in a sparse file, what a power cut takes of it, and when each request
//! is done.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, fchmod};
use serde::{Deserialize, Serialize};

use crate::error::DiskError;
use crate::model::{DeviceModel, DiskRange, DiskRequest};
use crate::profile::DiskProfile;
use crate::undo::{BLOCK_BYTES, FlushNumber, LostBlock, UndoLog};

/// How the power fails.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "crash", rename_all = "snake_case")]
pub enum DiskCrash {
    /// The operating system dies: what the disk has in its cache is kept.
    Os,
    /// The power fails: the cache is lost, but for sectors that survive with this probability.
    Power { survival: f64, seed: u64 },
}

/// When a request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DoneAt {
    Now,
    At(Instant),
}

/// What both labs have in common: when a request is done, what a power cut takes back, and whether
/// the power is off. Where the data is, the labs know.
pub(crate) struct DeviceState {
    model: DeviceModel,
    /// The zero of the model's clock.
    epoch: Instant,
    undo: UndoLog,
    flush_lies: bool,
    /// Whether requests take the time of the profile.
    is_timed: bool,
    /// What the host adds to each request: answers are given so much sooner.
    host_ns: u64,
    /// From a crash until its end, nothing that the host writes reaches the disk.
    is_cut: bool,
    /// Crashes of the host so far.
    crashes: u64,
    /// Flushes since the disk was made.
    pub(crate) flushes: u64,
}

impl DeviceState {
    pub(crate) fn new(profile: &DiskProfile, seed: u64) -> Self {
        Self {
            model: DeviceModel::new(profile, seed),
            epoch: Instant::now(),
            undo: UndoLog::new(profile.cache_bytes()),
            flush_lies: profile.flush_lies,
            is_timed: false,
            host_ns: 0,
            is_cut: false,
            crashes: 0,
            flushes: 0,
        }
    }

    pub(crate) fn set_timed(&mut self, is_timed: bool) {
        self.is_timed = is_timed;
    }

    /// Sets what the host adds to a request. It does not matter to a spinning disk: the platter
    /// decides.
    pub(crate) fn set_host_ns(&mut self, host_ns: u64) {
        self.host_ns = if self.model.is_rotating() { 0 } else { host_ns };
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// What a power cut takes back.
    pub(crate) fn undo(&mut self) -> &mut UndoLog {
        &mut self.undo
    }

    /// A flush that is done is reported with [`flush_done`](Self::flush_done), before it is
    /// answered.
    pub(crate) fn flush(&mut self) -> (Option<FlushNumber>, DoneAt) {
        if self.is_cut {
            return (None, DoneAt::Now);
        }
        (self.flush_begins(), self.done_at(DiskRequest::Flush))
    }

    /// A flush of which the host sees nothing, because another request follows it.
    pub(crate) fn inner_flush(&mut self) -> (Option<FlushNumber>, DoneAt) {
        (self.flush_begins(), self.inner_done_at(DiskRequest::Flush))
    }

    fn flush_begins(&mut self) -> Option<FlushNumber> {
        self.flushes += 1;
        (!self.flush_lies).then(|| self.undo.flush_begins())
    }

    pub(crate) fn flush_done(&mut self, flush: FlushNumber) {
        if !self.is_cut {
            self.undo.flush_done(flush);
        }
    }

    /// From now on nothing reaches the disk. Processes that write to it and live get answers that
    /// are not true. Returns the blocks of which the cache lost something; a disk that is cut
    /// already loses nothing more.
    pub(crate) fn cut(&mut self, crash: DiskCrash) -> Vec<LostBlock> {
        let was_cut = std::mem::replace(&mut self.is_cut, true);
        match crash {
            DiskCrash::Power { survival, seed } if !was_cut => {
                self.undo.power_fails(survival, seed)
            }
            DiskCrash::Power { .. } | DiskCrash::Os => Vec::new(),
        }
    }

    /// The host starts again.
    pub(crate) fn restore_power(&mut self) {
        self.is_cut = false;
        self.crashes += 1;
    }

    /// Crashes of the host so far: what was opened before the last one belongs to a host that is
    /// dead.
    pub(crate) fn crashes(&self) -> u64 {
        self.crashes
    }

    /// When a request is answered to the host.
    pub(crate) fn done_at(&mut self, request: DiskRequest) -> DoneAt {
        self.done_before(request, self.host_ns)
    }

    /// When the disk is done with a request of which the host sees nothing.
    pub(crate) fn inner_done_at(&mut self, request: DiskRequest) -> DoneAt {
        self.done_before(request, 0)
    }

    fn done_before(&mut self, request: DiskRequest, host_ns: u64) -> DoneAt {
        if !self.is_timed {
            return DoneAt::Now;
        }
        let now_ns = self.epoch.elapsed().as_nanos() as u64;
        match self.model.done_ns(now_ns, request).saturating_sub(host_ns) {
            done_ns if done_ns <= now_ns => DoneAt::Now,
            done_ns => DoneAt::At(self.epoch + Duration::from_nanos(done_ns)),
        }
    }
}

/// Opens a file of a disk, which only its owner may read and write, whatever the umask is. One of
/// an earlier version, which others could read, is closed to them.
pub(crate) fn open_private(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?;
    fchmod(&file, Mode::RUSR | Mode::WUSR)?;
    Ok(file.into())
}

/// A disk whose data is in one file.
pub(crate) struct EmulatedDevice {
    data: File,
    bytes: u64,
    pub(crate) state: DeviceState,
}

impl EmulatedDevice {
    /// Opens the sparse file of the disk's data, or creates it, for this user only: it holds whole
    /// datadirs. A file that was kept stays as large as it is.
    pub(crate) fn open(
        path: &Path,
        bytes: u64,
        profile: &DiskProfile,
        seed: u64,
    ) -> Result<Self, DiskError> {
        let data = open_private(path).map_err(DiskError::io("open", path))?;
        if length(&data, path)? == 0 {
            data.set_len(bytes).map_err(DiskError::io("size", path))?;
        }
        let bytes = length(&data, path)?;
        Ok(Self { data, bytes, state: DeviceState::new(profile, seed) })
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn read(&mut self, offset: u64, length: u32) -> io::Result<(Vec<u8>, DoneAt)> {
        let length = u64::from(length).min(self.bytes.saturating_sub(offset));
        let mut content = vec![0; length as usize];
        self.data.read_exact_at(&mut content, offset)?;
        let done = self.state.done_at(DiskRequest::Read(DiskRange { offset, length }));
        Ok((content, done))
    }

    pub(crate) fn write(&mut self, offset: u64, content: &[u8]) -> io::Result<DoneAt> {
        let length = content.len() as u64;
        if offset.checked_add(length).is_none_or(|end| end > self.bytes) {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        if self.state.is_cut() {
            return Ok(DoneAt::Now);
        }
        self.keep_before(offset, length)?;
        self.data.write_all_at(content, offset)?;
        Ok(self.state.done_at(DiskRequest::Write(DiskRange { offset, length })))
    }

    fn keep_before(&mut self, offset: u64, length: u64) -> io::Result<()> {
        let mut content = [0; BLOCK_BYTES as usize];
        for block in offset / BLOCK_BYTES..(offset + length).div_ceil(BLOCK_BYTES) {
            if self.state.undo.needs(block) {
                let at = block * BLOCK_BYTES;
                let there = &mut content[..BLOCK_BYTES.min(self.bytes - at) as usize];
                self.data.read_exact_at(there, at)?;
                self.state.undo.keep(block, there);
            }
        }
        Ok(())
    }

    /// From now on nothing reaches the disk. Returns the blocks that its cache lost.
    pub(crate) fn cut(&mut self, crash: DiskCrash) -> io::Result<u64> {
        let lost = self.state.cut(crash);
        lost.iter().try_for_each(|lost| lost.restore(&self.data, lost.block * BLOCK_BYTES))?;
        Ok(lost.len() as u64)
    }
}

fn length(data: &File, path: &Path) -> Result<u64, DiskError> {
    Ok(data.metadata().map_err(DiskError::io("examine", path))?.len())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_file_of_a_disk_is_for_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let [image, old, link] = ["image", "old", "link"].map(|name| dir.path().join(name));
        fs::write(&old, "of an earlier version").unwrap();
        fs::set_permissions(&old, Permissions::from_mode(0o644)).unwrap();
        for path in [&image, &old] {
            open_private(path).unwrap();
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        symlink(&old, &link).unwrap();
        assert!(open_private(&link).is_err());
    }
}
