//! Data of the mounted file system: what is in the page cache, what is in the device's cache, and
//! what is durable. The backing folder always has the newest content; what a crash takes back is
//! kept beside it.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fuser::Errno;
use rustix::fs::{FallocateFlags, fallocate};

use super::journal::{FileJournal, SyncedFile};
use super::nodes::{FileContent, FileNode, NodeTable};
use super::placement::NodeId;
use super::placement::{CHUNK_BLOCKS, DeviceChunks, merged_ranges};
use crate::device::{DeviceState, DiskCrash, DoneAt};
use crate::model::DiskRequest;
use crate::profile::DiskProfile;
use crate::undo::{BLOCK_BYTES, block_content};

/// Blocks that are written and not synced, 1 GiB: a kernel would write them out, too.
const DIRTY_BLOCKS_MAX: usize = 262_144;
const ZEROS: [u8; BLOCK_BYTES as usize] = [0; BLOCK_BYTES as usize];

pub(super) type SharedState = Arc<Mutex<FileSystemState>>;

pub(super) fn locked(state: &SharedState) -> MutexGuard<'_, FileSystemState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) struct FileSystemState {
    pub(super) device: DeviceState,
    pub(super) nodes: NodeTable,
    pub(super) chunks: DeviceChunks,
    pub(super) journal: FileJournal,
    dirty_blocks: usize,
    /// Whether the device has a cache that a power cut empties.
    is_volatile: bool,
}

impl FileSystemState {
    pub(super) fn new(
        backing: OwnedFd,
        bytes: u64,
        profile: &DiskProfile,
        seed: u64,
    ) -> io::Result<Self> {
        Ok(Self {
            device: DeviceState::new(profile, seed),
            nodes: NodeTable::new(backing)?,
            chunks: DeviceChunks::new(bytes),
            journal: FileJournal::new(),
            dirty_blocks: 0,
            is_volatile: profile.cache_bytes() > 0,
        })
    }

    /// Reads at most so many bytes. Only what is on the device takes its time.
    pub(super) fn read(
        &mut self,
        id: NodeId,
        offset: u64,
        size: u32,
    ) -> Result<(Vec<u8>, DoneAt), Errno> {
        let node = self.nodes.get(id)?;
        let data = node.data()?;
        let mut found = vec![0; size as usize];
        let length = read_up_to(&data, &mut found, offset)?;
        found.truncate(length);
        let content = &node.content;
        let blocks = blocks_of(offset, length as u64);
        let on_device = blocks.filter(|block| {
            content.places.is_written(*block) && !content.dirty.contains_key(block)
        });
        let ranges =
            merged_ranges(on_device.filter_map(|block| content.places.device_block(block)));
        let times = ranges.into_iter().map(|range| self.device.done_at(DiskRequest::Read(range)));
        Ok((found, times.max().unwrap_or(DoneAt::Now)))
    }

    /// A write into the page cache.
    pub(super) fn write_buffered(
        &mut self,
        id: NodeId,
        offset: u64,
        new: &[u8],
    ) -> Result<(), Errno> {
        let blocks = blocks_of(offset, new.len() as u64);
        let data = self.place(id, &blocks)?;
        self.keep_dirty(id, &data, blocks)?;
        data.write_all_at(new, offset)?;
        self.note_change(id, false)?;
        while self.dirty_blocks > DIRTY_BLOCKS_MAX {
            self.write_back_largest()?;
        }
        Ok(())
    }

    /// A write past the page cache, to the device. What the page cache has of these blocks is
    /// written with it, as the kernel does.
    pub(super) fn write_direct(
        &mut self,
        id: NodeId,
        offset: u64,
        new: &[u8],
    ) -> Result<DoneAt, Errno> {
        let blocks = blocks_of(offset, new.len() as u64);
        let data = self.place(id, &blocks)?;
        let node = self.nodes.get_mut(id)?;
        let (mut device_blocks, mut has_grown) = (Vec::new(), false);
        for block in blocks {
            let Some(device_block) = node.content.places.device_block(block) else {
                return Err(Errno::EIO);
            };
            let dirty = node.content.dirty.remove(&block);
            self.dirty_blocks -= usize::from(dirty.is_some());
            if !node.is_unlinked && self.device.undo().needs(device_block) {
                let before = match dirty {
                    Some(before) => before,
                    None if node.content.places.is_written(block) => {
                        block_content(&read_block(&data, block)?)
                    }
                    None => None,
                };
                self.device.undo().keep(device_block, before.as_deref().unwrap_or(&ZEROS));
            }
            has_grown |= node.content.places.set_written(block);
            device_blocks.push(device_block);
        }
        data.write_all_at(new, offset)?;
        let end = offset + new.len() as u64;
        has_grown |= end > node.content.device_size;
        node.content.device_size = node.content.device_size.max(end);
        self.note_change(id, has_grown)?;
        let ranges = merged_ranges(device_blocks);
        let times = ranges.into_iter().map(|range| self.device.done_at(DiskRequest::Write(range)));
        Ok(times.max().unwrap_or(DoneAt::Now))
    }

    /// Something of a file has changed; `is_metadata`: its size, its blocks or its name.
    pub(super) fn note_change(&mut self, id: NodeId, is_metadata: bool) -> Result<(), Errno> {
        let commit = self.journal.running();
        let node = self.nodes.get_mut(id)?;
        node.any_change = commit;
        node.is_flushed = false;
        if is_metadata {
            node.metadata_change = commit;
        }
        Ok(())
    }

    /// A sync begins: what the page cache has of the file goes to the device.
    pub(super) fn begin_sync(
        &mut self,
        id: NodeId,
        is_data_only: bool,
    ) -> Result<SyncedFile, Errno> {
        self.write_back(id)?;
        let node = self.nodes.get(id)?;
        let change = if is_data_only { node.metadata_change } else { node.any_change };
        let needs_commit = !self.journal.is_committed(change);
        Ok(SyncedFile { node: id, size: node.content.device_size, needs_commit })
    }

    /// The sizes of these files are durable.
    pub(super) fn end_sync(&mut self, files: &[SyncedFile]) {
        for file in files {
            if let Ok(node) = self.nodes.get_mut(file.node) {
                let FileContent { device_size, durable_size, .. } = &mut node.content;
                *durable_size = (*durable_size).max(file.size).min(*device_size);
            }
        }
    }

    fn place(&mut self, id: NodeId, blocks: &Range<u64>) -> Result<Arc<File>, Errno> {
        let node = self.nodes.get_mut(id)?;
        let is_placed = node.content.places.place(&mut self.chunks, id, blocks.start, blocks.end);
        if is_placed { Ok(node.data()?) } else { Err(Errno::ENOSPC) }
    }

    /// Keeps what these blocks hold on the device.
    fn keep_dirty(&mut self, id: NodeId, data: &File, blocks: Range<u64>) -> Result<(), Errno> {
        let node = self.nodes.get_mut(id)?;
        for block in blocks {
            if !node.content.dirty.contains_key(&block) {
                let is_kept = !node.is_unlinked && node.content.places.is_written(block);
                let before = if is_kept { block_content(&read_block(data, block)?) } else { None };
                node.content.dirty.insert(block, before);
                self.dirty_blocks += 1;
            }
        }
        Ok(())
    }

    fn write_back_largest(&mut self) -> Result<(), Errno> {
        let largest = self.nodes.iter_mut().max_by_key(|(_, node)| node.content.dirty.len());
        let (id, _) = largest.ok_or(Errno::EIO)?;
        self.write_back(id)
    }

    fn write_back(&mut self, id: NodeId) -> Result<(), Errno> {
        let node = self.nodes.get_mut(id)?;
        let dirty = std::mem::take(&mut node.content.dirty);
        self.dirty_blocks -= dirty.len();
        let (mut device_blocks, mut has_grown) = (Vec::with_capacity(dirty.len()), false);
        for (block, before) in dirty {
            let Some(device_block) = node.content.places.device_block(block) else { continue };
            if !node.is_unlinked && self.device.undo().needs(device_block) {
                self.device.undo().keep(device_block, before.as_deref().unwrap_or(&ZEROS));
            }
            has_grown |= node.content.places.set_written(block);
            device_blocks.push(device_block);
        }
        let size = node.size()?;
        if has_grown || size > node.content.device_size {
            node.metadata_change = self.journal.running();
            node.any_change = node.metadata_change;
        }
        node.content.device_size = size;
        for range in merged_ranges(device_blocks) {
            let _ = self.device.inner_done_at(DiskRequest::Write(range));
        }
        Ok(())
    }

    /// Sets the size, which is durable at once, as all metadata.
    pub(super) fn truncate(&mut self, id: NodeId, size: u64) -> Result<(), Errno> {
        let node = self.nodes.get_mut(id)?;
        let is_shrunk = size < node.size()?;
        node.data_for_restore()?.set_len(size)?;
        if is_shrunk {
            self.forget_content(id, size..u64::MAX)?;
            let node = self.nodes.get_mut(id)?;
            let chunks = node
                .content
                .places
                .release(&mut self.chunks, size.div_ceil(BLOCK_BYTES).div_ceil(CHUNK_BLOCKS));
            self.device.undo().forget_blocks(|block| chunks.contains(&(block / CHUNK_BLOCKS)));
        }
        self.set_durable_size(id, size)?;
        self.note_change(id, true)
    }

    fn set_durable_size(&mut self, id: NodeId, size: u64) -> Result<(), Errno> {
        let content = &mut self.nodes.get_mut(id)?.content;
        (content.device_size, content.durable_size) = (size, size);
        Ok(())
    }

    /// Allocates, or makes a hole. Both are metadata, and durable at once.
    pub(super) fn allocate(
        &mut self,
        id: NodeId,
        offset: u64,
        length: u64,
        mode: u32,
    ) -> Result<(), Errno> {
        let flags = FallocateFlags::from_bits_retain(mode);
        let is_hole = flags == FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        if !is_hole && !(FallocateFlags::KEEP_SIZE.contains(flags)) {
            return Err(Errno::EOPNOTSUPP);
        }
        let end = offset.checked_add(length).ok_or(Errno::EFBIG)?;
        let data = if is_hole {
            self.nodes.get(id)?.data()?
        } else {
            self.place(id, &blocks_of(offset, length))?
        };
        fallocate(&data, flags, offset, length).map_err(super::nodes::errno)?;
        if is_hole {
            self.forget_content(id, offset..end)?;
        } else if flags.is_empty() {
            let content = &self.nodes.get(id)?.content;
            if end > content.device_size.max(content.durable_size) {
                self.set_durable_size(id, end)?;
            }
        }
        self.note_change(id, true)
    }

    /// These bytes are zeros from now on, also after a crash.
    fn forget_content(&mut self, id: NodeId, bytes: Range<u64>) -> Result<(), Errno> {
        let content = &mut self.nodes.get_mut(id)?.content;
        let whole = bytes.start.div_ceil(BLOCK_BYTES)..bytes.end / BLOCK_BYTES;
        let dirty = content.dirty.len();
        content.dirty.retain(|block, _| !whole.contains(block));
        self.dirty_blocks -= dirty - content.dirty.len();
        if whole.start < whole.end {
            let cleared: std::collections::BTreeSet<_> =
                content.places.clear(whole.start, whole.end).into_iter().collect();
            self.device.undo().forget_blocks(|block| cleared.contains(&block));
        }
        // The first block is kept up to here. The end of a hole within its last block comes back: a
        // hole is whole blocks.
        let (block, from) = (bytes.start / BLOCK_BYTES, (bytes.start % BLOCK_BYTES) as usize);
        if from > 0 {
            if let Some(Some(before)) = content.dirty.get_mut(&block) {
                before[from..].fill(0);
            }
            if let Some(device_block) = content.places.device_block(block) {
                self.device.undo().cut_block(device_block, from);
            }
        }
        Ok(())
    }

    /// A file without a name: nothing of it is left after a crash.
    pub(super) fn note_links(&mut self, id: NodeId) {
        let Ok(node) = self.nodes.get_mut(id) else { return };
        if node.is_unlinked || node.stat().is_ok_and(|stat| stat.st_nlink > 0) {
            return;
        }
        node.is_unlinked = true;
        node.content.dirty.values_mut().for_each(|before| *before = None);
        let chunks = node.content.places.numbers();
        self.device.undo().forget_blocks(|block| chunks.contains(&(block / CHUNK_BLOCKS)));
    }

    /// Nothing refers to the file any more.
    pub(super) fn remove_node(&mut self, id: NodeId) {
        if let Some(mut node) = self.nodes.remove(id) {
            self.dirty_blocks -= node.content.dirty.len();
            node.content.places.release(&mut self.chunks, 0);
        }
    }

    /// The host crashes: from now on nothing reaches the disk. Returns the blocks that the device's
    /// cache lost.
    pub(super) fn cut(&mut self, crash: DiskCrash) -> io::Result<u64> {
        if self.device.is_cut() {
            return Ok(0);
        }
        let lost = self.device.cut(crash);
        let keeps_cache = crash == DiskCrash::Os || !self.is_volatile;
        for (_, node) in self.nodes.iter_mut().filter(|(_, node)| !node.is_unlinked) {
            self.dirty_blocks -= node.content.dirty.len();
            lose_page_cache(node)?;
        }
        for lost in &lost {
            if let Some((id, block)) = self.chunks.owner_of(lost.block)
                && let Ok(node) = self.nodes.get_mut(id)
            {
                let data = node.data_for_restore()?;
                lost.restore(&data, block * BLOCK_BYTES)?;
            }
        }
        for (_, node) in self.nodes.iter_mut().filter(|(_, node)| !node.is_unlinked) {
            restore_size(node, keeps_cache)?;
        }
        Ok(lost.len() as u64)
    }

    /// The host starts again, and mounts the file system anew.
    pub(super) fn restore_power(&mut self) {
        self.nodes.forget_all().into_iter().for_each(|id| self.remove_node(id));
        self.device.restore_power();
    }
}

fn lose_page_cache(node: &mut FileNode) -> io::Result<()> {
    let dirty = std::mem::take(&mut node.content.dirty);
    if dirty.is_empty() {
        return Ok(());
    }
    let data = node.data_for_restore()?;
    for (block, before) in dirty {
        data.write_all_at(before.as_deref().unwrap_or(&ZEROS), block * BLOCK_BYTES)?;
    }
    Ok(())
}

/// The size is the newest that the device or, without its cache, a commit has. Only regular files
/// have content.
fn restore_size(node: &mut FileNode, keeps_cache: bool) -> io::Result<()> {
    let stat = node.stat()?;
    if rustix::fs::FileType::from_raw_mode(stat.st_mode) != rustix::fs::FileType::RegularFile {
        return Ok(());
    }
    let content = &mut node.content;
    let size = if keeps_cache { content.device_size } else { content.durable_size };
    (content.device_size, content.durable_size) = (size, size);
    if stat.st_size as u64 != size {
        node.data_for_restore()?.set_len(size)?;
    }
    Ok(())
}

fn blocks_of(offset: u64, length: u64) -> Range<u64> {
    offset / BLOCK_BYTES..(offset + length).div_ceil(BLOCK_BYTES)
}

/// A block, with zeros behind the end of the file.
fn read_block(data: &File, block: u64) -> io::Result<[u8; BLOCK_BYTES as usize]> {
    let mut content = ZEROS;
    read_up_to(data, &mut content, block * BLOCK_BYTES)?;
    Ok(content)
}

/// Reads until the buffer is full or the file ends.
fn read_up_to(data: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match data.read_at(&mut buffer[length..], offset + length as u64) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}
