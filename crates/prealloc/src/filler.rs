//! The background thread: decides about new files, writes zeros ahead of the server, obeys the
//! control words, and keeps the state page current.
//!
//! Zeros go through the page cache and not past it (`O_DIRECT`): the server's small writes then
//! find their pages in memory, where they would otherwise read each one from the disk first, in a
//! commit. Each step is written out before the next, so that a sync of the server never has more
//! than one step to write.

use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use truetps_binlog::state::{PreallocCondition, RefusalReason, StatusWord};
use truetps_binlog::{BinlogChecksum, HEAD_BYTES, head, is_tested};

use crate::config::FillMode;
use crate::files::{self, BinlogFile, FileProgress, FillVerdict, NO_END};
use crate::library::PreallocLibrary;
use crate::pool::{STEP_BYTES, ZEROS};
use crate::{changes, next, notes, pool, status};

/// The first filling of a file that may stay small.
const AHEAD_MIN: u64 = 1 << 20;
/// Control words are read this often. A switch takes this, the step of zeros in progress, and the
/// truncation.
const CONTROL_PERIOD: Duration = Duration::from_millis(10);
/// Counters go to the page this often; other changes at once.
const PAGE_PERIOD: Duration = Duration::from_millis(200);
/// After the floor of free space was reached.
const FLOOR_PAUSE: Duration = Duration::from_secs(1);

static WAKE: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());

/// Starts the thread, once. `false`: it cannot be started.
pub(crate) fn start(library: &'static PreallocLibrary) -> bool {
    if library.has_thread.swap(true, Ordering::AcqRel) {
        return true;
    }
    let builder = thread::Builder::new().name("prealloc".to_owned()).stack_size(256 << 10);
    let started = next::without_signals(|| builder.spawn(move || Filler::new(library).run()));
    if started.is_err() {
        library.has_thread.store(false, Ordering::Release);
        status::refuse(RefusalReason::Thread);
        notes::write_note("Warning", &format!("off: {}", RefusalReason::Thread.text()));
    }
    started.is_ok()
}

pub(crate) fn wake() {
    let mut is_awake = WAKE.0.lock().unwrap_or_else(PoisonError::into_inner);
    if !*is_awake {
        *is_awake = true;
        WAKE.1.notify_one();
    }
}

fn wait(at_most: Duration) {
    let lock = WAKE.0.lock().unwrap_or_else(PoisonError::into_inner);
    let waited = WAKE.1.wait_timeout_while(lock, at_most, |is_awake| !*is_awake);
    *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
}

pub(crate) struct Filler {
    library: &'static PreallocLibrary,
    /// By the rate, and after the floor of free space.
    next_step: Instant,
    control_read: Instant,
    page_written: Instant,
}

impl Filler {
    fn new(library: &'static PreallocLibrary) -> Self {
        let now = Instant::now();
        Self { library, next_step: now, control_read: now, page_written: now }
    }

    fn run(mut self) {
        loop {
            if self.control_read.elapsed() >= CONTROL_PERIOD {
                self.obey();
                self.control_read = Instant::now();
            }
            let mut has_news = false;
            for file in files::in_use() {
                has_news |= finish_closed(file) | self.judge(file);
            }
            let may_step = Instant::now() >= self.next_step;
            let has_stepped =
                may_step && (files::in_use().any(|file| self.fill_step(file)) || self.pool_step());
            self.show(has_news);
            if !has_stepped {
                // By the rate it may be time sooner.
                let left = self.next_step.saturating_duration_since(Instant::now());
                wait(if left.is_zero() { CONTROL_PERIOD } else { left.min(CONTROL_PERIOD) });
            }
        }
    }

    /// Does what the control words want.
    fn obey(&self) {
        let Some((is_on, request)) = status::read_control() else { return };
        if is_on == self.library.is_on() && request == status::get(StatusWord::acted_request) {
            return;
        }
        self.library.set_on(is_on);
        if !is_on {
            files::in_use().for_each(give_back);
        }
        status::set(StatusWord::acted_wanted, is_on.into());
        status::set(StatusWord::acted_request, request);
        status::set(StatusWord::acted_ns, next::wall_ns());
        status::set(StatusWord::marker, pool::marker());
        if status::refusal().is_none() {
            let is_live = files::in_use().any(|file| file.lock().verdict == FillVerdict::Fill);
            status::set_condition(match (is_on, is_live) {
                (false, _) => PreallocCondition::Paused,
                (true, true) => PreallocCondition::Live,
                (true, false) => PreallocCondition::Undecided,
            });
        }
        status::write_page();
    }

    /// Decides about a new file, once its first two events are there.
    fn judge(&self, file: &'static BinlogFile) -> bool {
        let own_fd = match file.lock() {
            progress if progress.verdict == FillVerdict::Open && progress.own_fd >= 0 => {
                progress.own_fd
            }
            _ => return false,
        };
        let mut bytes = [0; HEAD_BYTES];
        let known = (file.logical_end().min(HEAD_BYTES as u64)) as usize;
        let count = next::pread_bytes(own_fd, bytes.get_mut(..known).unwrap_or_default(), 0);
        let bytes = bytes.get(..usize::try_from(count).unwrap_or(0)).unwrap_or_default();
        let refusal = match head(bytes) {
            Ok(None) => return false,
            Err(_) => Some(RefusalReason::NotABinlog),
            Ok(Some(head)) => {
                status::set_version(&head.server_version);
                let is_wanted = self.library.config.is_forced || is_tested(&head.server_version);
                match head.checksum {
                    _ if head.is_encrypted => Some(RefusalReason::Encrypted),
                    BinlogChecksum::None | BinlogChecksum::Unknown(_) => {
                        Some(RefusalReason::NoChecksums)
                    }
                    BinlogChecksum::Crc32 if !is_wanted => Some(RefusalReason::UntestedServer),
                    BinlogChecksum::Crc32 => None,
                }
            }
        };
        self.take_verdict(file, refusal);
        true
    }

    fn take_verdict(&self, file: &'static BinlogFile, refusal: Option<RefusalReason>) {
        let is_first = status::condition() != PreallocCondition::Live;
        match refusal {
            None => {
                status::clear_refusal();
                let condition = if self.library.is_on() {
                    PreallocCondition::Live
                } else {
                    PreallocCondition::Paused
                };
                status::set_condition(condition);
                if is_first && condition == PreallocCondition::Live {
                    notes::leave_note("Note", &self.live_note());
                }
                pool::allow(true);
                file.low_bytes.store(self.target(file, 0) / 2, Ordering::Relaxed);
            }
            Some(reason) => {
                if status::refusal() != Some(reason) {
                    notes::leave_note("Warning", &format!("off: {}", reason.text()));
                }
                status::refuse(reason);
                pool::allow(false);
                give_back(file);
            }
        }
        let verdict = if refusal.is_none() { FillVerdict::Fill } else { FillVerdict::Never };
        let mut progress = file.lock();
        if progress.verdict == FillVerdict::Open {
            progress.verdict = verdict;
        }
    }

    fn live_note(&self) -> String {
        match self.library.config.mode {
            FillMode::Ahead => {
                format!(
                    "live: binlogs are filled up to {} MiB ahead",
                    self.library.config.ahead_bytes >> 20
                )
            }
            FillMode::Pool { files, file_bytes } => {
                format!("live: {files} binlogs of {} MiB are prepared", file_bytes >> 20)
            }
        }
    }

    /// How much there should be ahead of the server: all of it in files that become large; little
    /// in small ones.
    fn target(&self, file: &BinlogFile, logical: u64) -> u64 {
        let ahead = match self.library.config.mode {
            FillMode::Ahead => self.library.config.ahead_bytes,
            FillMode::Pool { .. } => 0,
        };
        let expected = files::LAST_BYTES.load(Ordering::Relaxed) / 2;
        let target = logical.max(expected).max(AHEAD_MIN).min(ahead);
        file.low_bytes.store(target / 2, Ordering::Relaxed);
        target
    }

    /// One step of zeros. `false`: nothing is to be done for this file.
    fn fill_step(&mut self, file: &'static BinlogFile) -> bool {
        if !self.library.is_on() || self.library.config.mode != FillMode::Ahead {
            return false;
        }
        let mut progress = file.lock();
        let logical = file.logical_end();
        if progress.verdict != FillVerdict::Fill || progress.is_closed || logical == NO_END {
            return false;
        }
        let (own_fd, from) = (progress.own_fd, progress.filled.max(logical));
        let target = self.target(file, logical);
        if progress.round_end == 0 {
            if from.saturating_sub(logical) >= target / 2 {
                return false;
            }
            progress.round_end = logical.saturating_add(target).next_multiple_of(STEP_BYTES as u64);
        }
        if progress.round_end <= from {
            end_round(&mut progress);
            drop(progress);
            // Otherwise the server's next sync would commit the file's new size.
            next::fdatasync(own_fd);
            return true;
        }
        drop(progress);
        if !file.is_exposed.swap(true, Ordering::AcqRel) {
            status::set(StatusWord::marker, pool::marker());
            if !status::write_page_durably() {
                file.lock().verdict = FillVerdict::Never;
                return true;
            }
        }
        self.write_zeros(file, own_fd)
    }

    fn write_zeros(&mut self, file: &'static BinlogFile, own_fd: i32) -> bool {
        if self.is_at_floor(own_fd, STEP_BYTES as u64) {
            end_round(&mut file.lock());
            return false;
        }
        let (from, count) = {
            let mut progress = file.lock();
            if progress.verdict != FillVerdict::Fill || progress.is_closed {
                return false;
            }
            let from = progress.filled.max(file.logical_end());
            // Up to the next multiple: later steps have whole pages.
            let to = from.saturating_add(1).next_multiple_of(STEP_BYTES as u64);
            progress.filling_from = from;
            (from, to.saturating_sub(from))
        };
        let zeros = ZEROS.get(..count as usize).unwrap_or_default();
        let written = next::pwrite_bytes(own_fd, zeros, from);
        let error = next::errno();
        let mut progress = file.lock();
        progress.filling_from = NO_END;
        if let Ok(written) = u64::try_from(written) {
            let filled = from.saturating_add(written);
            file.set_filled(&mut progress, filled);
            drop(progress);
            file.wake_writers();
            status::add(StatusWord::zero_bytes, written);
            next::write_out(own_fd, from, written);
            self.pace(written);
        } else {
            progress.verdict = FillVerdict::Never;
            changes::cut_to_content(file, &mut progress, own_fd);
            drop(progress);
            file.wake_writers();
            status::add(StatusWord::errors, 1);
            notes::leave_note(
                "Warning",
                &format!("this binlog is not filled further: error {error}"),
            );
        }
        true
    }

    fn pool_step(&mut self) -> bool {
        let FillMode::Pool { files, file_bytes } = self.library.config.mode else { return false };
        let Some(written) = pool::step(self.library, files, file_bytes) else { return false };
        status::add(StatusWord::zero_bytes, written);
        self.pace(written);
        true
    }

    fn pace(&mut self, written: u64) {
        let rate = self.library.config.rate_bytes;
        let ns =
            u128::from(written).saturating_mul(1_000_000_000).checked_div(rate.into()).unwrap_or(0);
        let pause = Duration::from_nanos(u64::try_from(ns).unwrap_or(0));
        let now = Instant::now();
        self.next_step = self.next_step.max(now.checked_sub(CONTROL_PERIOD).unwrap_or(now));
        self.next_step = self.next_step.checked_add(pause).unwrap_or(now);
    }

    fn is_at_floor(&mut self, fd: i32, wanted: u64) -> bool {
        let floor = self.library.config.free_floor_bytes.saturating_add(wanted);
        let is_low = next::free_bytes(fd).is_some_and(|free| free < floor);
        if is_low {
            status::add(StatusWord::floor_stops, 1);
            let now = Instant::now();
            self.next_step = now.checked_add(FLOOR_PAUSE).unwrap_or(now);
        }
        is_low
    }

    fn show(&mut self, has_news: bool) {
        if !has_news && self.page_written.elapsed() < PAGE_PERIOD {
            return;
        }
        self.page_written = Instant::now();
        let active = status::get(StatusWord::active_file);
        let file = files::in_use().find(|file| file.number.load(Ordering::Relaxed) == active);
        if let Some(file) = file {
            status::set(StatusWord::logical_end, file.logical_end());
            status::set(StatusWord::filled_end, file.filled_shown.load(Ordering::Relaxed));
        }
        status::set(StatusWord::marker, pool::marker());
        status::write_page();
    }
}

/// Makes the end of a file durable that the server has closed, and leaves it.
fn finish_closed(file: &'static BinlogFile) -> bool {
    let own_fd = {
        let mut progress = file.lock();
        if !progress.is_closed || progress.own_fd < 0 {
            return false;
        }
        std::mem::replace(&mut progress.own_fd, -1)
    };
    next::fdatasync(own_fd);
    files::close_own(own_fd);
    file.release();
    true
}

fn end_round(progress: &mut FileProgress) {
    if progress.round_end > 0 {
        progress.round_end = 0;
        status::add(StatusWord::chunks, 1);
    }
}

/// Cuts an open file to its content.
fn give_back(file: &'static BinlogFile) {
    let mut progress = file.lock();
    let own_fd = progress.own_fd;
    if own_fd >= 0 && !progress.is_closed && changes::cut_to_content(file, &mut progress, own_fd) {
        file.is_exposed.store(false, Ordering::Release);
    }
}
