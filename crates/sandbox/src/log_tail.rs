//! The end of a server's log, bounded.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Lines of a log that an error message carries.
pub(crate) const ERROR_LINES: usize = 12;
const TAIL_BYTES_MAX: u64 = 64 << 10;

/// The last `lines` lines of a file, of what was written after the first `from` bytes. Empty where there is none.
pub(crate) fn tail(path: &Path, from: u64, lines: usize) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        // A log that became shorter was begun anew.
        let from = if from > length { 0 } else { from };
        file.seek(SeekFrom::Start(from.max(length.saturating_sub(TAIL_BYTES_MAX))))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES_MAX).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    last_lines(&text, lines)
}

pub(crate) fn last_lines(text: &str, lines: usize) -> String {
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
}
