//! The end of a server's log, limited in length.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use truetps_files::open_no_link;

/// Lines of a log in an error message: this many errors, and this many last lines.
const EXCERPT_LINES: usize = 6;
const TAIL_BYTES_MAX: u64 = 64 << 10;

/// The last `lines` lines of a file after its first `from` bytes. Empty if there is no file.
pub(crate) fn tail(path: &Path, from: u64, lines: usize) -> String {
    last_lines(&tail_text(path, from), lines)
}

/// The part of a log shown in an error message: a server that shuts down cleanly logs the reason
/// before a dozen lines of notes.
pub(crate) fn excerpt(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let last = lines.len().saturating_sub(EXCERPT_LINES);
    let errors: Vec<_> = lines[..last].iter().copied().filter(|line| is_error(line)).collect();
    let errors = &errors[errors.len().saturating_sub(EXCERPT_LINES)..];
    [errors, &lines[last..]].concat().join("\n")
}

/// InnoDB of MySQL 5.5 and PostgreSQL use other prefixes.
fn is_error(line: &str) -> bool {
    ["[ERROR]", "InnoDB: Error", " FATAL:  ", " PANIC:  "].iter().any(|word| line.contains(word))
}

/// The end of a file, after its first `from` bytes.
pub(crate) fn tail_text(path: &Path, from: u64) -> String {
    String::from_utf8_lossy(&tail_bytes(path, from).unwrap_or_default()).into_owned()
}

fn tail_bytes(path: &Path, from: u64) -> io::Result<Vec<u8>> {
    let mut file = open_no_link(File::options().read(true), path)?;
    let length = file.metadata()?.len();
    // A log that became shorter was started anew.
    let from = if from > length { 0 } else { from };
    file.seek(SeekFrom::Start(from.max(length.saturating_sub(TAIL_BYTES_MAX))))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn last_lines(text: &str, lines: usize) -> String {
    let all: Vec<_> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_newest_part() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("error.log");
        std::fs::write(&path, "old\none\n\ntwo\nthree\n").unwrap();
        assert_eq!(tail(&path, 4, 2), "two\nthree");
        assert_eq!(tail(&path, 4, 9), "one\ntwo\nthree");
        assert_eq!(tail(&path, 999, 1), "three");
        assert_eq!(tail(&dir.path().join("none"), 0, 5), "");
        std::fs::write(&path, "x".repeat(200_000)).unwrap();
        assert_eq!(tail(&path, 0, 5).len() as u64, TAIL_BYTES_MAX);
    }

    #[test]
    fn an_excerpt_keeps_the_errors_that_notes_have_buried() {
        let notes = |n: usize| "1 [Note] bye\n".repeat(n);
        let text = format!("{}0 [ERROR] why\n{}", notes(20), notes(20));
        let lines = excerpt(&text);
        assert!(
            lines.starts_with("0 [ERROR] why\n1 [Note]") && lines.lines().count() == 7,
            "{lines}"
        );
        assert_eq!(excerpt("0 [ERROR] why\nbye\n"), "0 [ERROR] why\nbye", "once");
        assert_eq!(excerpt(""), "");
    }
}
