//! Where the program's output goes.

use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::io::Errno;
use truetps_record::printable_text;

use crate::interrupt::Interrupt;
use crate::options::{OptionRefusal, OutputStream, RunSettings, SysbenchFormat};
use crate::output::{MessageLevel, MessageLog};

/// Messages and lists of options, which may contain text of scripts, files and servers.
pub(super) fn write_to(stream: OutputStream, bytes: &[u8]) {
    let text = printable_text(&String::from_utf8_lossy(bytes));
    let bytes = text.as_bytes();
    // A closed reader is not an error of truetps.
    let _ = match stream {
        OutputStream::Stdout => {
            std::io::stdout().write_all(bytes).and_then(|()| std::io::stdout().flush())
        }
        OutputStream::Stderr => std::io::stderr().write_all(bytes),
    };
}

/// Prints why nothing is run. Returns the exit status.
pub(super) fn refuse(refusal: &OptionRefusal) -> u8 {
    for notice in &refusal.notices {
        write_to(notice.stream, &notice.text);
    }
    write_to(refusal.stream, &refusal.text);
    refusal.exit
}

/// Unbuffered: lines keep their order with output of scripts.
struct Unbuffered<F>(F);

impl<F: AsFd> Write for Unbuffered<F> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Ok(rustix::io::write(&self.0, bytes)?)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The standard output, whose reader ends the program by closing it (`| head`).
struct StandardOutput(Interrupt);

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = rustix::io::write(rustix::stdio::stdout(), bytes);
        if written == Err(Errno::PIPE) {
            self.0.reader_has_left();
        }
        Ok(written?)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

pub(super) fn make_log(settings: &RunSettings, interrupt: &Interrupt) -> Arc<MessageLog> {
    let level = MessageLevel::from_number(settings.verbosity.into()).unwrap_or(MessageLevel::Debug);
    let document =
        if settings.ours.format == SysbenchFormat::Json { stdout_of_our_own() } else { None };
    Arc::new(match document {
        Some(document) => {
            let aside = Box::new(Unbuffered(rustix::stdio::stderr()));
            MessageLog::new(level, Box::new(Unbuffered(document)), Some(aside))
        }
        None => MessageLog::new(level, Box::new(StandardOutput(interrupt.clone())), None),
    })
}

/// Reserves the standard output for one document. All other output, including output of scripts and
/// their C functions, goes to the standard error from here on. `None`: the system has no file
/// descriptor left.
fn stdout_of_our_own() -> Option<OwnedFd> {
    const FIRST_FREE: i32 = 3;
    let own = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), FIRST_FREE).ok()?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr()).ok()?;
    Some(own)
}
