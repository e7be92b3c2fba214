//! A password from the terminal.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// Asks on the terminal of the program, whatever its streams are connected to. Nothing is shown of what is typed.
pub(crate) fn ask_password() -> Result<String, String> {
    let problem = |error: std::io::Error| format!("a password cannot be asked for without a terminal: {error}");
    let terminal = File::options().read(true).write(true).open("/dev/tty").map_err(problem)?;
    let before = tcgetattr(&terminal).map_err(|error| problem(error.into()))?;
    let mut hidden = before.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    let _shown_again = Restore { terminal: &terminal, modes: before };
    tcsetattr(&terminal, OptionalActions::Flush, &hidden).map_err(|error| problem(error.into()))?;
    (&terminal).write_all(b"Enter password: ").map_err(problem)?;
    let mut line = String::new();
    BufReader::new(&terminal).read_line(&mut line).map_err(problem)?;
    let _ = (&terminal).write_all(b"\n");
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
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
