//! The output of a program while the picture is shown: scripts, and programs that they start, print
//! to the same terminal.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::sync::Mutex;

use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, fstat, memfd_create};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::stdio::{dup2_stderr, dup2_stdout, stderr, stdout};
use rustix::termios::isatty;
use truetps_report::format;

use crate::ui::held::held;

/// More than a terminal's history shows; older output would only take memory.
const NEWEST_BYTES: u64 = 1 << 20;
const FIRST_FREE: i32 = 3;

/// Output that goes to a file in memory, until it is printed at the end. By default nothing is held
/// back.
#[derive(Default)]
pub(crate) struct HeldOutput(Mutex<Option<Redirected>>);

struct Redirected {
    file: NewestOutput,
    stderr: OwnedFd,
    /// `None`: the standard output goes elsewhere, and was left alone.
    stdout: Option<OwnedFd>,
}

impl HeldOutput {
    /// From now on, what goes to the terminal of stderr is held back.
    pub(crate) fn hold(&self) -> io::Result<()> {
        let file = NewestOutput::new()?;
        let is_same = isatty(stdout()) && fstat(stdout())?.st_rdev == fstat(stderr())?.st_rdev;
        let redirected = Redirected {
            stderr: fcntl_dupfd_cloexec(stderr(), FIRST_FREE)?,
            stdout: if is_same { Some(fcntl_dupfd_cloexec(stdout(), FIRST_FREE)?) } else { None },
            file,
        };
        if redirected.stdout.is_some() {
            dup2_stdout(&redirected.file.file)?;
        }
        dup2_stderr(&redirected.file.file)?;
        *held(&self.0) = Some(redirected);
        Ok(())
    }

    /// Frees the memory of all but the newest output.
    pub(crate) fn trim(&self) {
        if let Some(redirected) = &mut *held(&self.0) {
            redirected.file.trim();
        }
    }

    /// Prints what was held back, and holds nothing further.
    pub(crate) fn release(&self) {
        let Some(redirected) = held(&self.0).take() else { return };
        let _ = dup2_stderr(&redirected.stderr);
        // Flushed only where it is held back: elsewhere a thread may wait for its reader, and have
        // its lock.
        if let Some(own) = &redirected.stdout {
            let _ = io::stdout().flush();
            let _ = dup2_stdout(own);
        }
        // A write to a terminal that is gone is ignored.
        if let Ok(bytes) = redirected.file.into_text() {
            let _ = File::from(redirected.stderr).write_all(&bytes);
        }
    }
}

/// A file in memory that others append to, and from whose start pages are freed.
struct NewestOutput {
    file: File,
    /// The start of what is still there.
    from: u64,
}

impl NewestOutput {
    fn new() -> io::Result<Self> {
        Ok(Self { file: memfd_create("truetps-output", MemfdFlags::CLOEXEC)?.into(), from: 0 })
    }

    fn trim(&mut self) {
        let length = self.file.metadata().map_or(0, |file| file.len());
        let from = length.saturating_sub(NEWEST_BYTES);
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        // From the start: only whole pages are freed, and the last hole may have ended within one.
        if from > self.from && fallocate(&self.file, hole, 0, from).is_ok() {
            self.from = from;
        }
    }

    /// The newest output, from the start of a line; before it a line about the rest.
    fn into_text(mut self) -> io::Result<Vec<u8>> {
        self.trim();
        self.file.seek(SeekFrom::Start(self.from))?;
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes)?;
        if self.from > 0 {
            let line_start = bytes.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            let left_out = format::bytes(self.from + line_start as u64);
            let note =
                format!("truetps: {left_out} of earlier output left out; --ui keeps the newest\n");
            bytes.splice(..line_start, note.into_bytes());
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn little_output_is_kept_whole() {
        let mut output = NewestOutput::new().unwrap();
        output.file.write_all(b"one\ntwo").unwrap();
        output.trim();
        assert_eq!(output.into_text().unwrap(), b"one\ntwo");
    }

    #[test]
    fn memory_has_a_limit_and_the_newest_output_stays() {
        let mut output = NewestOutput::new().unwrap();
        for part in 0..80 {
            for line in 0..10_000 {
                writeln!(output.file, "line {part} {line}").unwrap();
            }
            output.trim();
            let held_bytes = output.file.metadata().unwrap().blocks() * 512;
            assert!(held_bytes <= NEWEST_BYTES + (8 << 10), "{held_bytes} bytes are held");
        }
        let text = String::from_utf8(output.into_text().unwrap()).unwrap();
        let (note, rest) = text.split_once('\n').unwrap();
        assert!(note.starts_with("truetps: 8.7 MiB of earlier output left out"), "{note}");
        assert!(
            rest.starts_with("line ") && rest.ends_with("line 79 9999\n") && !rest.contains('\0')
        );
        assert!(rest.len() as u64 > NEWEST_BYTES - 100);
    }
}
