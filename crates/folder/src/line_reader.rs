//! A file of lines, read piece by piece.

use std::io::{BufRead, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::error::FolderError;
use crate::run_file::{LINES_MAX, check_length, open_below};

const PIECE_BYTES: u64 = 32 << 10;
/// An interval has about 2 KB, and a histogram less than 1 MB.
const LINE_BYTES_MAX: usize = 8 << 20;

/// The whole lines of a file, of which only a piece is in memory. The file is open only while a
/// piece is read: the files of a thousand parts are read side by side.
pub(crate) struct LineReader {
    run: PathBuf,
    path: PathBuf,
    /// Where the next piece begins in the file.
    offset: u64,
    piece: Vec<u8>,
    /// Where the next line begins in the piece.
    at: usize,
    /// Lines that were read.
    lines: usize,
}

impl LineReader {
    /// Opens a file of lines of a run folder.
    pub(crate) fn open(run: PathBuf, path: PathBuf) -> Result<Self, FolderError> {
        let mut reader = Self { run, path, offset: 0, piece: Vec::new(), at: 0, lines: 0 };
        reader.read_piece()?;
        Ok(reader)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The next line without its end, with its number from 1. A last line that a kill has cut off
    /// is left out.
    pub(crate) fn next_line(&mut self) -> Result<Option<(usize, &[u8])>, FolderError> {
        let mut searched = self.at;
        let end = loop {
            if let Some(length) = line_length(&self.piece[searched..]) {
                break searched + length;
            }
            searched = self.piece.len() - self.at;
            if searched > LINE_BYTES_MAX {
                let problem =
                    format!("line {} is longer than {LINE_BYTES_MAX} bytes", self.lines + 1);
                return Err(FolderError::content(&self.path, problem));
            }
            if !self.read_piece()? {
                return Ok(None);
            }
        };
        let line = self.at..end;
        self.at = end + 1;
        self.lines += 1;
        Ok(Some((self.lines, &self.piece[line])))
    }

    /// Appends the next piece to what is left of this one; `false` at the end of the file.
    fn read_piece(&mut self) -> Result<bool, FolderError> {
        self.piece.drain(..self.at);
        self.at = 0;
        let mut file = open_below(&self.run, &self.path)?;
        let bytes = file
            .seek(SeekFrom::Start(self.offset))
            .and_then(|_| file.take(PIECE_BYTES).read_to_end(&mut self.piece))
            .map_err(FolderError::io(&self.path))? as u64;
        self.offset += bytes;
        check_length(&self.path, self.offset, LINES_MAX)?;
        Ok(bytes > 0)
    }
}

/// Without its end; `None` where it has none. The search of the standard library takes many bytes
/// at once.
fn line_length(bytes: &[u8]) -> Option<usize> {
    let skipped = { bytes }.skip_until(b'\n').unwrap_or(0);
    bytes[..skipped].ends_with(b"\n").then(|| skipped - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &[(usize, &str)]) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lines");
        std::fs::write(&path, text).unwrap();
        let mut reader = LineReader::open(dir.path().to_owned(), path).unwrap();
        for (number, line) in expect {
            assert_eq!(reader.next_line().unwrap(), Some((*number, line.as_bytes())));
        }
        assert_eq!(reader.next_line().unwrap(), None);
        assert_eq!(reader.next_line().unwrap(), None, "the end stays the end");
    }

    /// A file of zeros that takes no room on a disk would otherwise take 1 GB of memory.
    #[test]
    fn a_line_without_end_is_refused_before_it_fills_the_memory() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lines");
        std::fs::File::create(&path).unwrap().set_len(LINES_MAX).unwrap();
        let error = LineReader::open(dir.path().to_owned(), path)
            .unwrap()
            .next_line()
            .unwrap_err()
            .to_string();
        assert!(error.ends_with("line 1 is longer than 8388608 bytes"), "{error}");
    }

    #[test]
    fn lines_are_whole_whatever_piece_they_are_in() {
        check("", &[]);
        check("cut off", &[]);
        check("a\n\nb\ncut off", &[(1, "a"), (2, ""), (3, "b")]);
        let lengths = [1, 32 << 10, (32 << 10) - 1, 100_000, 0, 3];
        let lines: Vec<_> =
            lengths.iter().zip("abcdef".chars()).map(|(n, c)| c.to_string().repeat(*n)).collect();
        let numbered: Vec<_> =
            lines.iter().enumerate().map(|(at, line)| (at + 1, line.as_str())).collect();
        check(&(lines.join("\n") + "\n"), &numbered);
        check(&(lines.join("\n") + "\ncut off"), &numbered);
    }
}
