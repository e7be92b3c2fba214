//! The terminal while it shows a picture, and its restoration, however the program ends.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, TryLockError};
use std::time::{Duration, Instant};

use ratatui::layout::Rect;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::getpgrp;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp,
    tcgetwinsize, tcsetattr,
};

use crate::ui::held::held;

/// Another page of the terminal, empty, without a cursor.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[0m\x1b[2J\x1b[H\x1b[?25l";
const LEAVE: &[u8] = b"\x1b[0m\x1b[?25h\x1b[?1049l";
/// A terminal that takes nothing for so long is left as it is.
const PATIENCE: Duration = Duration::from_millis(500);
/// Interval at which a pending exit from the terminal is checked.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
const SMALLEST_LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// One terminal. It may be shown on and hidden from several times, and is left for good once.
pub(crate) struct TerminalScreen {
    terminal: OwnedFd,
    /// What the terminal was set to; there while the picture is on it.
    before: Mutex<Option<Termios>>,
    /// Locked by each write, so that nothing is written after the end.
    writing: Mutex<()>,
    gone: Arc<AtomicBool>,
}

impl TerminalScreen {
    /// The terminal that stderr is. It is not changed yet.
    pub(crate) fn of_stderr() -> io::Result<Self> {
        // Opened anew, so that not waiting for a slow terminal is this program's alone; another
        // user's cannot be.
        let flags = (OFlags::NOCTTY | OFlags::NONBLOCK).bits().cast_signed();
        let anew =
            File::options().read(true).write(true).custom_flags(flags).open("/proc/self/fd/2");
        let terminal = match anew {
            Ok(file) => file.into(),
            Err(_) => io::stderr().as_fd().try_clone_to_owned()?,
        };
        Self::on(terminal)
    }

    pub(crate) fn on(terminal: OwnedFd) -> io::Result<Self> {
        tcgetattr(&terminal)?;
        Ok(Self {
            terminal,
            before: Mutex::default(),
            writing: Mutex::default(),
            gone: Arc::default(),
        })
    }

    /// Puts the picture's page on the terminal, empty. `false`: truetps is in the background, or
    /// has left the terminal for good.
    pub(crate) fn show(&self) -> bool {
        let _writing = held(&self.writing);
        let mut before = held(&self.before);
        if before.is_some() {
            return true;
        }
        // The kernel stops a background process that writes to the terminal.
        if self.is_gone() || !self.in_foreground() {
            return false;
        }
        let Ok(modes) = tcgetattr(&self.terminal) else { return false };
        if tcsetattr(&self.terminal, OptionalActions::Now, &for_keys(&modes)).is_err() {
            return false;
        }
        *before = Some(modes);
        drop(before);
        // A terminal that does not take even this is found out by the first picture.
        let _ = self.send(ENTER, PATIENCE);
        true
    }

    /// Takes the picture away until it is shown again.
    pub(crate) fn hide(&self) {
        let _writing = held(&self.writing);
        self.restore();
    }

    /// Takes the picture away for good. It may come from any thread, twice, and while another one
    /// writes.
    pub(crate) fn leave(&self) {
        self.gone.store(true, Ordering::SeqCst);
        let begun = Instant::now();
        // Wait for a write in progress, for a limited time.
        let _writing = loop {
            match self.writing.try_lock() {
                Ok(guard) => break Some(guard),
                Err(TryLockError::Poisoned(poisoned)) => break Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) if begun.elapsed() < PATIENCE => {
                    std::thread::sleep(LOOK_AGAIN);
                }
                Err(TryLockError::WouldBlock) => break None,
            }
        };
        self.restore();
    }

    fn restore(&self) {
        if let Some(before) = held(&self.before).take() {
            // In the background it would stop the program, and the shell has set the terminal as it
            // likes it.
            if self.in_foreground() {
                let _ = tcsetattr(&self.terminal, OptionalActions::Now, &before);
            }
            let _ = self.send(LEAVE, PATIENCE);
        }
    }

    /// Writes what changes the picture. An error: the terminal is gone.
    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let _writing = held(&self.writing);
        if self.is_gone() || held(&self.before).is_none() {
            return Ok(());
        }
        self.send(bytes, Duration::MAX)
    }

    /// Returns without an error when the terminal accepts nothing for too long, or truetps leaves
    /// it.
    fn send(&self, mut bytes: &[u8], patience: Duration) -> io::Result<()> {
        let begun = Instant::now();
        while !bytes.is_empty() {
            match rustix::io::write(&self.terminal, bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    if begun.elapsed() >= patience || (patience == Duration::MAX && self.is_gone())
                    {
                        return Ok(());
                    }
                    match poll(
                        &mut [PollFd::new(&self.terminal, PollFlags::OUT)],
                        Some(&SMALLEST_LOOK),
                    ) {
                        Ok(_) | Err(Errno::INTR) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Whether a picture is on the terminal.
    pub(crate) fn is_shown(&self) -> bool {
        held(&self.before).is_some()
    }

    /// Whether it was left for good.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::SeqCst)
    }

    /// Raised when it is left for good.
    pub(crate) fn gone(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.gone)
    }

    pub(crate) fn size(&self) -> Rect {
        const USUAL: (u16, u16) = (80, 24);
        let size = tcgetwinsize(&self.terminal).map_or((0, 0), |size| (size.ws_col, size.ws_row));
        bounded(if size.0 == 0 || size.1 == 0 { USUAL } else { size })
    }

    /// What was typed since the last time; waits for it so long. `None`: nothing will ever be
    /// typed.
    pub(crate) fn typed(&self, wake: &impl AsFd, wait: Duration) -> Option<Vec<u8>> {
        let wait = Timespec { tv_sec: 0, tv_nsec: wait.subsec_nanos().into() };
        let mut both = [
            PollFd::new(&self.terminal, PollFlags::IN),
            PollFd::from_borrowed_fd(wake.as_fd(), PollFlags::IN),
        ];
        match poll(&mut both, Some(&wait)) {
            Ok(_) if !both[0].revents().is_empty() => {}
            _ => return Some(Vec::new()),
        }
        let mut bytes = [0; 64];
        match rustix::io::read(&self.terminal, &mut bytes) {
            Ok(0) => None,
            Ok(count) => Some(bytes[..count].to_vec()),
            Err(Errno::INTR | Errno::AGAIN) => Some(Vec::new()),
            Err(_) => None,
        }
    }

    /// A terminal of another session is drawn on, but its keys are not read.
    pub(crate) fn has_keys(&self) -> bool {
        tcgetpgrp(&self.terminal).is_ok()
    }

    fn in_foreground(&self) -> bool {
        tcgetpgrp(&self.terminal).map_or(true, |foreground| foreground == getpgrp())
    }
}

impl Drop for TerminalScreen {
    fn drop(&mut self) {
        self.leave();
    }
}

/// A terminal may claim any size, and each of its cells takes memory: beyond this it stays empty.
fn bounded((columns, rows): (u16, u16)) -> Rect {
    const MOST: (u16, u16) = (1000, 300);
    Rect::new(0, 0, columns.min(MOST.0), rows.min(MOST.1))
}

/// Keys come one by one and are not shown. Ctrl-C and Ctrl-Z stay the terminal's, so that they mean
/// what they mean without a picture; Ctrl-S would hold the picture, and Ctrl-\ end the program in
/// the middle of it.
fn for_keys(before: &Termios) -> Termios {
    let mut modes = before.clone();
    modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::IEXTEN);
    modes.local_modes.insert(LocalModes::ISIG);
    modes.input_modes.remove(InputModes::IXON);
    modes.special_codes[SpecialCodeIndex::VQUIT] = 0;
    modes.special_codes[SpecialCodeIndex::VMIN] = 1;
    modes.special_codes[SpecialCodeIndex::VTIME] = 0;
    modes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_of_any_size_takes_bounded_memory() {
        assert_eq!(bounded((u16::MAX, u16::MAX)), Rect::new(0, 0, 1000, 300));
        assert_eq!(bounded((80, 24)), Rect::new(0, 0, 80, 24));
    }
}
