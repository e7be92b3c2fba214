//! A terminal for the programs that draw on one.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use super::{Place, open_terminal, wait_until};

pub(crate) const ENTER: &str = "\x1b[?1049h";
pub(crate) const LEAVE: &str = "\x1b[?1049l";

/// A terminal with a run on it.
pub(crate) struct Terminal {
    person: File,
    pub(crate) program: File,
    seen: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    pub(crate) fn new() -> Self {
        let (person, program) = open_terminal();
        tcsetwinsize(&program, Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 })
            .unwrap();
        let (person, seen) = (File::from(person), Arc::new(Mutex::new(Vec::new())));
        let (mut reads, keeps) = (person.try_clone().unwrap(), Arc::clone(&seen));
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count) = reads.read(&mut bytes) {
                keeps.lock().unwrap().extend(&bytes[..count]);
            }
        });
        Self { person, program: program.into(), seen }
    }

    /// Its own session has this terminal, so that its keys are signals. The standard output is the
    /// caller's.
    pub(crate) fn start(&self, place: &Place, words: &[&str]) -> Child {
        self.command(place, words).stdout(Stdio::piped()).spawn().unwrap()
    }

    pub(crate) fn command(&self, place: &Place, words: &[&str]) -> Command {
        let all = [&["--ctty", env!("CARGO_BIN_EXE_truetps")], words].concat();
        let mut command = place.program(Path::new("setsid"), &all);
        command.stdin(self.program.try_clone().unwrap()).stderr(self.program.try_clone().unwrap());
        command.env("TERM", "xterm");
        command
    }

    pub(crate) fn types(&self, keys: &str) {
        (&self.person).write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().unwrap()).into_owned()
    }

    pub(crate) fn is_raw(&self) -> bool {
        !tcgetattr(&self.program)
            .unwrap()
            .local_modes
            .contains(LocalModes::ICANON | LocalModes::ECHO)
    }

    /// Waits until the run measures.
    pub(crate) fn wait_for_measuring(&self) {
        wait_until("the picture of a run that measures", || self.text().contains("measuring"));
        assert!(self.is_raw());
    }

    /// Checks that the terminal is as before; returns the output since the picture ended.
    pub(crate) fn is_left(&self, what: &str) -> String {
        wait_until("the last letters", || self.text().contains(LEAVE));
        let text = self.text();
        assert!(!self.is_raw(), "{what}");
        assert_eq!(text.matches(ENTER).count(), text.matches(LEAVE).count(), "{what}: {text:?}");
        let hidden = text.rfind("\x1b[?25l").unwrap();
        let (shown, left) = (text.rfind("\x1b[?25h").unwrap(), text.rfind(LEAVE).unwrap());
        assert!(hidden < shown && shown < left, "{what}: {text:?}");
        let rest = text[left + LEAVE.len()..].to_owned();
        assert!(!rest.contains('\x1b'), "{what}: {rest:?}");
        rest
    }
}
