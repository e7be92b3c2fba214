//! What the user wants of the picture: keys, and the signals of job control.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGCONT, SIGQUIT, SIGTSTP};
use signal_hook::flag;
use signal_hook::low_level::emulate_default_handler;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// End the run; a second one: at once.
    Stop,
    Freeze,
    Zoom,
    Help,
    Back,
    /// Draw everything.
    Anew,
}

/// What was typed at once. Keys that are more than one byte (arrows, letters of other scripts) mean nothing.
pub(crate) fn wish(bytes: &[u8]) -> Vec<Wish> {
    const ESCAPE: u8 = 0x1b;
    const CTRL_L: u8 = 0x0c;
    const CTRL_C: u8 = 0x03;
    if bytes == [ESCAPE] {
        return vec![Wish::Back];
    }
    let typed = bytes.iter().take_while(|byte| **byte != ESCAPE);
    let wishes = typed.filter_map(|byte| match byte {
        b'q' | b'Q' | &CTRL_C => Some(Wish::Stop),
        b'p' | b'P' | b' ' => Some(Wish::Freeze),
        b's' | b'S' => Some(Wish::Zoom),
        b'?' | b'h' | b'H' => Some(Wish::Help),
        &CTRL_L => Some(Wish::Anew),
        _ => None,
    });
    wishes.collect()
}

/// Signals that stop and continue the program, or end it with a core dump. The terminal is given back before they do what
/// they do; once it is left for good, they do it by themselves.
pub(crate) struct Jobs {
    stop: Arc<AtomicBool>,
    go_on: Arc<AtomicBool>,
    quit: Arc<AtomicBool>,
}

impl Jobs {
    pub(crate) fn register(gone: &Arc<AtomicBool>) -> io::Result<Self> {
        let jobs = Self { stop: Arc::default(), go_on: Arc::default(), quit: Arc::default() };
        for (signal, raised) in [(SIGTSTP, &jobs.stop), (SIGQUIT, &jobs.quit)] {
            flag::register_conditional_default(signal, Arc::clone(gone))?;
            flag::register(signal, Arc::clone(raised))?;
        }
        flag::register(SIGCONT, Arc::clone(&jobs.go_on))?;
        Ok(jobs)
    }

    pub(crate) fn suspended(&self) -> bool {
        self.stop.swap(false, Ordering::Relaxed)
    }

    pub(crate) fn resumed(&self) -> bool {
        self.go_on.swap(false, Ordering::Relaxed)
    }

    pub(crate) fn quit(&self) -> bool {
        self.quit.swap(false, Ordering::Relaxed)
    }
}

/// Stops the whole program, and comes back when it goes on.
pub(crate) fn suspend() {
    // It fails for unknown signals only.
    let _ = emulate_default_handler(SIGTSTP);
}

/// Ends the program, with a core dump where the user wants one.
pub(crate) fn end() {
    let _ = emulate_default_handler(SIGQUIT);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys() {
        let check = |bytes: &[u8], expect: &[Wish]| assert_eq!(wish(bytes), expect, "{bytes:?}");
        check(b"q", &[Wish::Stop]);
        check(b"qq", &[Wish::Stop, Wish::Stop]);
        check(b" p", &[Wish::Freeze, Wish::Freeze]);
        check(b"?", &[Wish::Help]);
        check(b"\x1b", &[Wish::Back]);
        // An arrow, and a letter with q in its bytes nowhere.
        check(b"\x1b[A", &[]);
        check(b"\x1bOq", &[]);
        check("ä".as_bytes(), &[]);
    }
}
