//! `--ui` on a real terminal: whatever ends the run, the terminal is what it was.

use std::path::Path;
use std::process::{Child, Output, Stdio};

use rustix::process::Signal;
use rustix::termios::{Action, tcflow};

use crate::common::terminal::{ENTER, Terminal};
use crate::common::{Place, SMALL_REDO, has_server, signal, signal_taken, wait_until};

const SHORT: [&str; 9] = [
    "run",
    "insert",
    "--connections=2",
    "--warm-up=0.2",
    "--measure=1",
    "--table-rows=500",
    "--ui",
    "--seed=1",
    SMALL_REDO,
];
const LONG: [&str; 9] = [
    "run",
    "insert",
    "--connections=2",
    "--warm-up=0.2",
    "--measure=60",
    "--table-rows=500",
    "--ui",
    "--seed=1",
    SMALL_REDO,
];

fn ended(child: Child) -> Output {
    child.wait_with_output().unwrap()
}

#[test]
fn a_run_gives_its_answer_after_the_picture() {
    if !has_server() {
        return;
    }
    let (place, terminal) = (Place::with_templates(), Terminal::new());
    let child = terminal.start(&place, &[&SHORT[..], &["--format=json"]].concat());
    let output = ended(child);
    let rest = terminal.is_left("a good end");
    assert!(matches!(output.status.code(), Some(0 | 3)), "{:?}: {rest}", output.status);
    assert_eq!(
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()["schema_version"],
        2
    );
    wait_until("the last line", || terminal.text().contains("Next   open"));
    let text = terminal.text();
    assert!(text.contains("run-insert") && text.contains("\x1b[0;32m"), "{text:?}");
}

#[test]
fn the_end_of_a_run_restores_the_terminal() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    for keys in ["\x03", "\x03\x03", "qq", "?p\x1b[Aq"] {
        let terminal = Terminal::new();
        let child = terminal.start(&place, &LONG);
        terminal.wait_for_measuring();
        terminal.types(keys);
        let output = ended(child);
        let rest = terminal.is_left(keys);
        assert_eq!(output.status.code(), Some(130), "{keys:?}: {rest}");
        let is_kept = || terminal.text().contains("what was measured is kept");
        if !["\x03\x03", "qq"].contains(&keys) {
            wait_until("the last line", is_kept);
        }
    }
    wait_until("its servers to be gone", || place.servers().is_empty());
}

#[test]
fn signals_from_elsewhere_give_the_terminal_back() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    for (which, times) in [(Signal::TERM, 1), (Signal::TERM, 2), (Signal::QUIT, 1)] {
        let terminal = Terminal::new();
        let child = terminal.start(&place, &LONG);
        terminal.wait_for_measuring();
        for _ in 0..times {
            signal_taken(child.id(), which);
        }
        let output = ended(child);
        let rest = terminal.is_left(&format!("{which:?}"));
        let expect = (which != Signal::QUIT).then_some(143);
        assert_eq!(output.status.code(), expect, "{which:?}: {rest}");
    }
    wait_until("its servers to be gone", || place.servers().is_empty());
}

/// After the second signal the output that was held back is printed, however long the terminal
/// accepts nothing (Ctrl-S).
#[test]
fn a_further_signal_ends_a_program_whose_terminal_accepts_nothing() {
    let (place, terminal) = (Place::with_templates(), Terminal::new());
    place.write("idle.lua", "function event() end");
    let mut command = terminal.command(
        &place,
        &["sysbench", "./idle.lua", "--time=600", "--runs=none", "--ui", "--rate=10", "run"],
    );
    let mut child = command.stdout(terminal.program.try_clone().unwrap()).spawn().unwrap();
    terminal.wait_for_measuring();
    tcflow(&terminal.program, Action::OOff).unwrap();
    signal_taken(child.id(), Signal::TERM);
    wait_until("the program to leave", || {
        signal(child.id(), Signal::TERM);
        child.try_wait().unwrap().is_some()
    });
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

#[test]
fn a_suspended_run_lends_the_terminal_and_takes_it_again() {
    if !has_server() {
        return;
    }
    let (place, terminal) = (Place::with_templates(), Terminal::new());
    let child = terminal.start(&place, &LONG);
    terminal.wait_for_measuring();
    terminal.types("\x1a");
    let state = || {
        let stat =
            std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
        stat[stat.rfind(')').unwrap() + 2..].chars().next().unwrap()
    };
    wait_until("the run to be stopped", || state() == 'T');
    terminal.is_left("suspended");
    signal(child.id(), Signal::CONT);
    wait_until("the picture", || terminal.is_raw() && terminal.text().matches(ENTER).count() >= 2);
    terminal.types("q");
    assert_eq!(ended(child).status.code(), Some(130));
    terminal.is_left("ended");
}

#[test]
fn without_colour_there_is_none() {
    if !has_server() {
        return;
    }
    let (place, terminal) = (Place::with_templates(), Terminal::new());
    let all = [&["--ctty", env!("CARGO_BIN_EXE_truetps")], &SHORT[..]].concat();
    let mut command = place.program(Path::new("setsid"), &all);
    command
        .stdin(terminal.program.try_clone().unwrap())
        .stderr(terminal.program.try_clone().unwrap());
    let child =
        command.stdout(Stdio::null()).env("TERM", "xterm").env("NO_COLOR", "1").spawn().unwrap();
    assert!(matches!(ended(child).status.code(), Some(0 | 3)));
    terminal.is_left("a good end");
    let text = terminal.text();
    for colour in 31..38 {
        assert!(!text.contains(&format!(";{colour}m")), "{text:?}");
    }
}

#[test]
fn a_picture_needs_a_terminal_that_can_show_it() {
    let place = Place::with_templates();
    place.refused(&SHORT, &["--ui needs a terminal on stderr", "hint: leave --ui out"]);
    place.refused(&["sweep", "--quick", "--ui"], &["--ui needs a terminal on stderr"]);
    let terminal = Terminal::new();
    let mut command = place.command(&SHORT);
    let child =
        command.stderr(terminal.program.try_clone().unwrap()).env("TERM", "dumb").spawn().unwrap();
    assert_eq!(ended(child).status.code(), Some(2));
    wait_until("the error", || terminal.text().contains("TERM is not set, or `dumb`"));
    assert!(!terminal.text().contains('\x1b'));
}
