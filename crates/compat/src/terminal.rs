//! Asks for a password on the terminal.

use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

/// Why there is no password.
#[derive(Debug)]
pub enum NoPassword {
    /// The user has interrupted.
    Interrupted,
    /// The program has no terminal: a service, a cron job, `setsid`.
    NoTerminal(io::Error),
    Problem(io::Error),
}

/// The program's controlling terminal, whatever its streams are connected to.
const TERMINAL: &str = "/dev/tty";

impl From<io::Error> for NoPassword {
    fn from(error: io::Error) -> Self {
        Self::Problem(error)
    }
}

/// Asks on the program's terminal, whatever its streams are connected to. The typed text is not
/// shown.
///
/// Keys that would end or suspend the program, and leave the terminal without echo, are ordinary
/// keys during the input; `stop` is set by a signal from elsewhere.
pub fn ask_password(stop: &AtomicBool) -> Result<String, NoPassword> {
    let terminal = File::options().read(true).write(true).open(TERMINAL).map_err(|error| {
        NoPassword::NoTerminal(io::Error::new(error.kind(), format!("{TERMINAL}: {error}")))
    })?;
    let before = tcgetattr(&terminal).map_err(io::Error::from)?;
    let mut hidden = before.clone();
    hidden
        .local_modes
        .remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG | LocalModes::IEXTEN);
    hidden.special_codes[SpecialCodeIndex::VMIN] = 1;
    hidden.special_codes[SpecialCodeIndex::VTIME] = 0;
    let mut line = TerminalLine::of(&before);
    let _shown_again = Restore { terminal: &terminal, modes: before };
    tcsetattr(&terminal, OptionalActions::Flush, &hidden).map_err(io::Error::from)?;
    (&terminal).write_all(b"Enter password: ")?;
    let ended = read(&terminal, &mut line, stop);
    let _ = (&terminal).write_all(b"\n");
    ended?;
    String::from_utf8(line.text).map_err(|_| io::Error::other("the typed text is not UTF-8").into())
}

fn read(terminal: &File, line: &mut TerminalLine, stop: &AtomicBool) -> Result<(), NoPassword> {
    /// How soon a signal received by another thread is noticed.
    const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
    let mut bytes = [0; 64];
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(NoPassword::Interrupted);
        }
        match poll(&mut [PollFd::new(terminal, PollFlags::IN)], Some(&LOOK)) {
            Ok(0) | Err(Errno::INTR) => continue,
            Ok(_) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
        let mut terminal = terminal;
        let count = match terminal.read(&mut bytes) {
            // The terminal is gone.
            Ok(0) => return Err(NoPassword::Interrupted),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        for byte in &bytes[..count] {
            match line.key(*byte) {
                KeyEffect::Taken => {}
                KeyEffect::End => return Ok(()),
                KeyEffect::Interrupt => return Err(NoPassword::Interrupted),
            }
        }
    }
}

/// The meaning of a key.
#[derive(Debug, PartialEq, Eq)]
enum KeyEffect {
    Taken,
    End,
    Interrupt,
}

/// The typed text, with the terminal's editing and interrupt keys.
#[derive(Debug, Default)]
struct TerminalLine {
    text: Vec<u8>,
    interrupt: [u8; 2],
    suspend: u8,
    end: u8,
    erase: u8,
    kill: u8,
}

impl TerminalLine {
    fn of(modes: &Termios) -> Self {
        let codes = &modes.special_codes;
        Self {
            text: Vec::new(),
            interrupt: [codes[SpecialCodeIndex::VINTR], codes[SpecialCodeIndex::VQUIT]],
            suspend: codes[SpecialCodeIndex::VSUSP],
            end: codes[SpecialCodeIndex::VEOF],
            erase: codes[SpecialCodeIndex::VERASE],
            kill: codes[SpecialCodeIndex::VKILL],
        }
    }

    fn key(&mut self, byte: u8) -> KeyEffect {
        match byte {
            b'\n' | b'\r' => return KeyEffect::End,
            // A key that the terminal does not have is 0, and so cannot be typed.
            0 => {}
            _ if byte == self.end => return KeyEffect::End,
            _ if self.interrupt.contains(&byte) => return KeyEffect::Interrupt,
            _ if byte == self.suspend => {}
            _ if byte == self.kill => self.text.clear(),
            _ if byte == self.erase || byte == 8 || byte == 127 => self.erase(),
            _ => self.text.push(byte),
        }
        KeyEffect::Taken
    }

    /// Takes the last letter away, with all its bytes.
    fn erase(&mut self) {
        while let Some(byte) = self.text.pop() {
            if byte & 0xc0 != 0x80 {
                break;
            }
        }
    }
}

/// Gives the terminal its modes back, whatever happens.
struct Restore<'a> {
    terminal: &'a File,
    modes: Termios,
}

impl Drop for Restore<'_> {
    fn drop(&mut self) {
        let _ = tcsetattr(self.terminal, OptionalActions::Flush, &self.modes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_change_the_line_or_end_it() {
        let typed = |bytes: &[u8]| {
            let mut line = TerminalLine {
                interrupt: [3, 28],
                suspend: 26,
                end: 4,
                erase: 127,
                kill: 21,
                ..TerminalLine::default()
            };
            let last = bytes.iter().map(|byte| line.key(*byte)).last().unwrap();
            (String::from_utf8(line.text).unwrap(), last)
        };
        assert_eq!(
            typed(b"wrong\x15se\xc3\xa4\x7fc\x1ar\0et\n"),
            ("secret".to_owned(), KeyEffect::End)
        );
        assert_eq!(typed(b"x\x7f\x7f\x04"), (String::new(), KeyEffect::End));
        assert_eq!(
            (typed(b"x\x03").1, typed(b"\x1c").1),
            (KeyEffect::Interrupt, KeyEffect::Interrupt)
        );
    }
}
