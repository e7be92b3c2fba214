//! What is printed, on stdout and stderr, and what `--quiet` leaves out.

use std::io::Write;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use truetps_record::without_logins;
use truetps_report::{format, printable, printable_lines, printable_text};

use crate::exit::Exit;

/// Tells the user something, on stderr: lines of text, in which names of a plan or words of a
/// server have no way to move a terminal's cursor, and addresses have no passwords.
pub(crate) fn print_message(text: &str) {
    say_raw(&printable_lines(&without_logins(text)));
}

/// Tells the user one line, on stderr: a text of a file or a server in it cannot begin another one.
pub(crate) fn print_line(text: &str) {
    say_raw(&(printable(&without_logins(text)) + "\n"));
}

/// Tells the user what `--quiet` leaves out: progress, and which command may come next.
pub(crate) fn print_progress(text: &str) {
    if !is_quiet() {
        print_message(text);
    }
}

/// Set once, before a command begins.
static QUIET: AtomicBool = AtomicBool::new(false);

pub(crate) fn set_quiet(is_quiet: bool) {
    QUIET.store(is_quiet, Ordering::Relaxed);
}

pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Writes a text to stderr with its terminal escape sequences. A closed stderr is not a failure:
/// the results are on disk.
pub(crate) fn say_raw(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Prints lines for people to stdout, without what a terminal obeys.
pub(crate) fn print_out(text: &str) -> Exit {
    print_made(&printable_text(text))
}

/// Prints to stdout what its format has made safe: a drawn report with its colours, JSON, CSV. A
/// reader that has closed the pipe (`| head`) is not a failure.
pub(crate) fn print_made(text: &str) -> Exit {
    match std::io::stdout().write_all(text.as_bytes()).and_then(|()| std::io::stdout().flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            print_message(&format!("error: cannot write the answer to stdout: {error}\n"));
            Exit::Failed
        }
        _ => Exit::Good,
    }
}

/// `None` where it is not a terminal, or one that does not know its size.
pub(crate) fn terminal_columns(file: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(file).ok()?;
    (size.ws_col > 0).then_some(size.ws_col.into())
}

/// The path as a user would write it: relative to the folder that they are in, where it is below
/// that.
pub(crate) fn shown(path: &Path) -> PathBuf {
    let here = std::env::current_dir().ok();
    let below = here.as_deref().and_then(|here| path.strip_prefix(here).ok());
    match below {
        Some(below) if below.as_os_str().is_empty() => PathBuf::from("."),
        _ => below.unwrap_or(path).to_owned(),
    }
}

/// The path as a word of a command that a user types: as [`shown`], and quoted for a shell.
pub(crate) fn shell_path(path: &Path) -> String {
    format::shell_word(&shown(path).display().to_string())
}
