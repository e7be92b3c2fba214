//! Requests of the user to the picture: keys, and signals of job control.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGCONT, SIGQUIT, SIGTSTP};
use signal_hook::flag;
use signal_hook::low_level::emulate_default_handler;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UserRequest {
    /// End the run; a second one: at once.
    Stop,
    Freeze,
    Zoom,
    Help,
    Back,
    /// Draw everything.
    Anew,
}

/// What was typed at once. Keys that are more than one byte (arrows, letters of other scripts) mean
/// nothing.
pub(crate) fn wish(bytes: &[u8]) -> Vec<UserRequest> {
    const CTRL_C: u8 = 0x03;
    const CTRL_L: u8 = 0x0c;
    const ESCAPE: u8 = 0x1b;
    let mut wishes = Vec::new();
    let mut rest = bytes;
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        wishes.extend(match *byte {
            b'q' | b'Q' | CTRL_C => Some(UserRequest::Stop),
            b'p' | b'P' | b' ' => Some(UserRequest::Freeze),
            b's' | b'S' => Some(UserRequest::Zoom),
            b'?' | b'h' | b'H' => Some(UserRequest::Help),
            CTRL_L => Some(UserRequest::Anew),
            ESCAPE if behind.is_empty() => Some(UserRequest::Back),
            ESCAPE => {
                rest = after_sequence(behind);
                None
            }
            _ => None,
        });
    }
    wishes
}

/// The bytes after a key's escape sequence: `[`, parameters and a letter, or one letter after
/// another.
fn after_sequence(bytes: &[u8]) -> &[u8] {
    let length = match bytes {
        [b'[', parameters @ ..] => {
            parameters.iter().position(|byte| (0x40..0x7f).contains(byte)).map(|at| at + 2)
        }
        [b'O', ..] => Some(2),
        _ => Some(1),
    };
    length.and_then(|length| bytes.get(length..)).unwrap_or_default()
}

/// Signals that stop and continue the program, or end it with a core dump. The terminal is given
/// back before they do what they do; once it is left for good, they do it by themselves.
pub(crate) struct Jobs([(i32, Arc<AtomicBool>); 3]);

impl Jobs {
    pub(crate) fn register(gone: &Arc<AtomicBool>) -> io::Result<Self> {
        let jobs = Self([SIGTSTP, SIGQUIT, SIGCONT].map(|signal| (signal, Arc::default())));
        for (signal, raised) in &jobs.0 {
            if *signal != SIGCONT {
                flag::register_conditional_default(*signal, Arc::clone(gone))?;
            }
            flag::register(*signal, Arc::clone(raised))?;
        }
        Ok(jobs)
    }

    /// Whether the signal came since the last look.
    pub(crate) fn came(&self, wanted: i32) -> bool {
        self.0
            .iter()
            .any(|(signal, raised)| *signal == wanted && raised.swap(false, Ordering::Relaxed))
    }
}

/// Does what the signal does to a program that does not listen: suspends it until it resumes, or
/// ends it, with a core dump where the user wants one.
pub(crate) fn obey(signal: i32) {
    // It fails for unknown signals only.
    let _ = emulate_default_handler(signal);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys() {
        let check =
            |bytes: &[u8], expect: &[UserRequest]| assert_eq!(wish(bytes), expect, "{bytes:?}");
        check(b"q", &[UserRequest::Stop]);
        check(b"qq", &[UserRequest::Stop, UserRequest::Stop]);
        check(b" p", &[UserRequest::Freeze, UserRequest::Freeze]);
        check(b"?", &[UserRequest::Help]);
        check(b"\x1b", &[UserRequest::Back]);
        // An arrow, and a letter with q in its bytes nowhere.
        check(b"\x1b[A", &[]);
        check(b"\x1bOq", &[]);
        check(b"\x1b[1;5Hp\x1b[Aq", &[UserRequest::Freeze, UserRequest::Stop]);
        check(b"\x1b[", &[]);
        check(b"\x1bq?", &[UserRequest::Help]);
        check("ä".as_bytes(), &[]);
    }
}
