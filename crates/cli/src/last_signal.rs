//! The last signal that came, and the exit code of a command that it has ended.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use signal_hook::consts::SIGINT;
use signal_hook::flag;

/// What shells add to the number of a signal that ended a program.
pub(crate) const SIGNAL_BASE: i32 = 128;

/// 0: none came.
static HEARD: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// From now on, the signal is remembered when it comes.
pub(crate) fn note(signal: i32) -> io::Result<()> {
    flag::register_usize(signal, Arc::clone(&HEARD), signal as usize).map(drop)
}

/// A user's wish to stop is as Ctrl-C.
pub(crate) fn last_signal() -> i32 {
    match HEARD.load(Ordering::Relaxed) {
        0 => SIGINT,
        signal => signal as i32,
    }
}

/// The exit code of a command that a signal has ended: 130, 143 or 129, as a shell has it of a
/// program that the signal kills.
pub(crate) fn interrupted_code() -> u8 {
    (SIGNAL_BASE + last_signal()) as u8
}
