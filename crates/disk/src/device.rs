//! An emulated disk: its data in a sparse file, what a power cut takes of it, and when each request is done.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::error::DiskError;
use crate::model::{DeviceModel, DiskRange, DiskRequest};
use crate::profile::DiskProfile;
use crate::undo::{BLOCK_BYTES, FlushNumber, UndoLog};

/// How the power fails.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "crash", rename_all = "snake_case")]
pub enum DiskCrash {
    /// The operating system dies: what the disk has in its cache is kept.
    Os,
    /// The power fails: the cache is lost, but for blocks that survive with this probability.
    Power { survival: f64, seed: u64 },
}

/// When a request is answered.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DoneAt {
    Now,
    At(Instant),
}

pub(crate) struct EmulatedDevice {
    data: File,
    bytes: u64,
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
    /// Flushes since the disk was made.
    pub(crate) flushes: u64,
}

impl EmulatedDevice {
    /// Opens the file of the disk's data, and creates it, sparse and of that size, if it is missing.
    pub(crate) fn open(path: &Path, bytes: u64, profile: &DiskProfile, seed: u64) -> Result<Self, DiskError> {
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        let data = options.open(path).map_err(DiskError::io("open", path))?;
        let length = |data: &File| Ok(data.metadata().map_err(DiskError::io("examine", path))?.len());
        if length(&data)? == 0 {
            data.set_len(bytes).map_err(DiskError::io("size", path))?;
        }
        let bytes = length(&data)?;
        Ok(Self {
            data,
            bytes,
            model: DeviceModel::new(profile, seed),
            epoch: Instant::now(),
            undo: UndoLog::new(profile.cache_bytes()),
            flush_lies: profile.flush_lies,
            is_timed: false,
            host_ns: 0,
            is_cut: false,
            flushes: 0,
        })
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn set_timed(&mut self, is_timed: bool) {
        self.is_timed = is_timed;
    }

    /// Sets what the host adds to a request. It does not matter to a spinning disk: the platter decides.
    pub(crate) fn set_host_ns(&mut self, host_ns: u64) {
        self.host_ns = if self.model.is_rotating() { 0 } else { host_ns };
    }

    pub(crate) fn read(&mut self, offset: u64, length: u32) -> io::Result<(Vec<u8>, DoneAt)> {
        let length = u64::from(length).min(self.bytes.saturating_sub(offset));
        let mut content = vec![0; length as usize];
        self.data.read_exact_at(&mut content, offset)?;
        let done = self.done_at(DiskRequest::Read(DiskRange { offset, length }));
        Ok((content, done))
    }

    pub(crate) fn write(&mut self, offset: u64, content: &[u8]) -> io::Result<DoneAt> {
        let length = content.len() as u64;
        if offset.checked_add(length).is_none_or(|end| end > self.bytes) {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        if self.is_cut {
            return Ok(DoneAt::Now);
        }
        self.keep_before(offset, length)?;
        self.data.write_all_at(content, offset)?;
        Ok(self.done_at(DiskRequest::Write(DiskRange { offset, length })))
    }

    fn keep_before(&mut self, offset: u64, length: u64) -> io::Result<()> {
        let mut content = [0; BLOCK_BYTES as usize];
        for block in offset / BLOCK_BYTES..(offset + length).div_ceil(BLOCK_BYTES) {
            if self.undo.needs(block) {
                let at = block * BLOCK_BYTES;
                let there = &mut content[..BLOCK_BYTES.min(self.bytes - at) as usize];
                self.data.read_exact_at(there, at)?;
                self.undo.keep(block, there);
            }
        }
        Ok(())
    }

    /// A flush that is done is reported with [`flush_done`](Self::flush_done), before it is answered.
    pub(crate) fn flush(&mut self) -> (Option<FlushNumber>, DoneAt) {
        if self.is_cut {
            return (None, DoneAt::Now);
        }
        self.flushes += 1;
        let number = (!self.flush_lies).then(|| self.undo.flush_begins());
        (number, self.done_at(DiskRequest::Flush))
    }

    pub(crate) fn flush_done(&mut self, flush: FlushNumber) {
        if !self.is_cut {
            self.undo.flush_done(flush);
        }
    }

    /// From now on nothing reaches the disk. The processes that write to it must be dead: they would get answers that
    /// are not true.
    pub(crate) fn cut(&mut self, crash: DiskCrash) -> io::Result<u64> {
        self.is_cut = true;
        let DiskCrash::Power { survival, seed } = crash else { return Ok(0) };
        let zeros = [0; BLOCK_BYTES as usize];
        let lost = self.undo.power_fails(survival, seed);
        for (block, content) in &lost {
            self.data.write_all_at(content.as_deref().unwrap_or(&zeros), block * BLOCK_BYTES)?;
        }
        Ok(lost.len() as u64)
    }

    /// The host starts again.
    pub(crate) fn restore_power(&mut self) {
        self.is_cut = false;
    }

    fn done_at(&mut self, request: DiskRequest) -> DoneAt {
        if !self.is_timed {
            return DoneAt::Now;
        }
        let now_ns = self.epoch.elapsed().as_nanos() as u64;
        match self.model.done_ns(now_ns, request).saturating_sub(self.host_ns) {
            done_ns if done_ns <= now_ns => DoneAt::Now,
            done_ns => DoneAt::At(self.epoch + Duration::from_nanos(done_ns)),
        }
    }
}
