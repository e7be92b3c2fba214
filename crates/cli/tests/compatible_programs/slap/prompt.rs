//! The password that is asked for on the terminal: whatever ends the question, the terminal is as
//! it was.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use rustix::termios::{LocalModes, Termios, tcgetattr};

use crate::common::{Place, open_terminal, signal, wait_until};

struct Terminal {
    person: File,
    program: File,
}

impl Terminal {
    fn new() -> Self {
        let (person, program) = open_terminal();
        Self { person: person.into(), program: program.into() }
    }

    fn modes(&self) -> Termios {
        tcgetattr(&self.program).unwrap()
    }

    fn echoes(&self) -> bool {
        self.modes().local_modes.contains(LocalModes::ECHO)
    }

    fn types(&self, keys: &str) {
        (&self.person).write_all(keys.as_bytes()).unwrap();
    }

    /// Starts a test without typing an answer, and waits until it asks for the password.
    fn asked(&self, place: &Place) -> Child {
        self.asked_by(
            place,
            &["slap", "--no-defaults", "--socket=/nowhere", "-a", "-p", "--runs=none"],
        )
    }

    fn asked_by(&self, place: &Place, words: &[&str]) -> Child {
        let words = [&["--ctty", env!("CARGO_BIN_EXE_truetps")], words].concat();
        let mut command = place.program(Path::new("setsid"), &words);
        command
            .stdin(self.program.try_clone().unwrap())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let mut question = [0; 16];
        (&self.person).read_exact(&mut question).unwrap();
        assert_eq!(&question, b"Enter password: ");
        wait_until("no echo", || !self.echoes());
        child
    }
}

#[test]
fn whatever_ends_the_question_the_terminal_echoes_again() {
    let place = Place::new();
    for (keys, code, said) in [
        ("\x03", 130, "mysqlslap: interrupted\n"),
        ("abc\x03\x03", 130, "mysqlslap: interrupted\n"),
        ("\x1c", 130, "mysqlslap: interrupted\n"),
        ("\x1asecret\n", 1, "cannot connect to /nowhere"),
        ("secret\r", 1, "cannot connect to /nowhere"),
    ] {
        let terminal = Terminal::new();
        let before = terminal.modes().local_modes;
        let child = terminal.asked(&place);
        terminal.types(keys);
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{keys:?}: {text}");
        assert!(text.contains(said), "{keys:?}: {text}");
        assert_eq!(terminal.modes().local_modes, before, "{keys:?}");
    }
}

#[test]
fn a_signal_ends_the_question() {
    let place = Place::new();
    for (which, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
        let terminal = Terminal::new();
        let child = terminal.asked(&place);
        let began = Instant::now();
        signal(child.id(), which);
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(code),
            "{which:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(terminal.echoes() && began.elapsed() < Duration::from_secs(30), "{which:?}");
    }
}

#[test]
fn a_signal_ends_the_question_for_the_account_of_a_dsn() {
    let place = Place::new();
    // Its backlog takes a connection that is never answered.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let dsn = format!("mysql://me@{}", silent.local_addr().unwrap());
    let capture = ["server", "capture", &dsn, "--ask-password"];
    for words in [&capture[..], &["run", "insert", "--dsn", &dsn, "--ask-password"]] {
        for (which, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
            let terminal = Terminal::new();
            let child = terminal.asked_by(&place, words);
            signal(child.id(), which);
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{words:?} {which:?}: {said}");
            assert!(
                terminal.echoes() && said.contains("interrupted at the password"),
                "{words:?} {which:?}: {said}"
            );
        }
    }
    // After the answer a signal does what it did before the question.
    let terminal = Terminal::new();
    let mut child = terminal.asked_by(&place, &capture);
    terminal.types("secret\n");
    let _connected = silent.accept().unwrap();
    signal(child.id(), Signal::TERM);
    wait_until("the end", || child.try_wait().unwrap().is_some());
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    assert!(terminal.echoes());
}
