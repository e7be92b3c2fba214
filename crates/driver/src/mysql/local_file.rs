//! `LOAD DATA LOCAL INFILE`: a server gets a file of this machine.
//!
//! A server may ask for any file, in reply to any statement. It gets a file only where the target
//! allows it, only while a statement is in flight that names this file itself, and once for each
//! time that it is named.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use truetps_files::open_regular;

use super::error_packet::own_error;
use crate::ServerError;

/// Bytes of one packet.
const PIECE_BYTES: u64 = 64 << 10;
/// The number that MySQL's own client uses for a file that it does not send.
const FILE_REFUSED: u16 = 2068;

/// What a session may send.
#[derive(Debug, Default)]
pub(super) struct LocalFiles {
    /// The files that the statement in flight names.
    named: Vec<Vec<u8>>,
    sending: Option<File>,
}

impl LocalFiles {
    /// This text is sent: files that an earlier one has named are not offered any more.
    #[inline]
    pub(super) fn offer(&mut self, sql: &[u8]) {
        self.named.clear();
        if has_infile(sql) {
            self.named = names_of(sql);
        }
    }

    /// The server asks for this file. Where it gets none, the error is the statement's.
    pub(super) fn open(files: Option<&mut Self>, name: &[u8]) -> Result<(), ServerError> {
        let shown = String::from_utf8_lossy(&name[..name.len().min(255)]);
        let named = files.and_then(|files| {
            let at = files.named.iter().position(|named| named == name)?;
            files.named.swap_remove(at);
            Some(files)
        });
        let Some(files) = named else {
            let message =
                format!("refused: the server asked for the file `{shown}` of this machine");
            return Err(own_error(FILE_REFUSED, message));
        };
        files.sending =
            Some(open_regular(Path::new(std::ffi::OsStr::from_bytes(name))).map_err(|error| {
                match error.raw_os_error().and_then(|number| u16::try_from(number).ok()) {
                    // Number and words are as in MariaDB's client library.
                    Some(number) => {
                        own_error(number, format!("File '{shown}' not found (Errcode: {number})"))
                    }
                    None => own_error(
                        FILE_REFUSED,
                        format!("File '{shown}' {error}: only such a file is sent"),
                    ),
                }
            })?);
        Ok(())
    }

    pub(super) fn is_sending(&self) -> bool {
        self.sending.is_some()
    }

    /// Appends the next piece; nothing at the end of the file, and if it cannot be read any more.
    pub(super) fn read(&mut self, out: &mut Vec<u8>) -> Result<(), ServerError> {
        let start = out.len();
        let read =
            self.sending.as_mut().map_or(Ok(0), |file| file.take(PIECE_BYTES).read_to_end(out));
        if read.is_err() {
            out.truncate(start);
        }
        if out.len() == start {
            self.sending = None;
        }
        read.map(|_| ()).map_err(|error| read_error(&error))
    }
}

fn read_error(error: &io::Error) -> ServerError {
    let number =
        error.raw_os_error().and_then(|number| u16::try_from(number).ok()).unwrap_or(FILE_REFUSED);
    own_error(number, format!("the file could not be read to its end: {error}"))
}

/// Whether the word is anywhere in the text: nearly no statement has it, and long ones have few
/// letters of its kind.
fn has_infile(sql: &[u8]) -> bool {
    sql.iter().enumerate().any(|(at, byte)| {
        byte | 0x20 == b'f'
            && sql
                .get(at.wrapping_sub(2)..at + 4)
                .is_some_and(|word| word.eq_ignore_ascii_case(b"infile"))
    })
}

/// The file names in a text: the literal behind each `LOCAL INFILE` that stands outside of quotes
/// and comments.
fn names_of(sql: &[u8]) -> Vec<Vec<u8>> {
    let (mut names, mut rest, mut before, mut last) = (Vec::new(), sql, &b""[..], &b""[..]);
    while let Some(&first) = rest.first() {
        match first {
            b'\'' | b'"' | b'`' => {
                let text = take_quoted(&mut rest, first);
                let is_name =
                    before.eq_ignore_ascii_case(b"local") && last.eq_ignore_ascii_case(b"infile");
                if is_name && first != b'`' {
                    names.push(text);
                }
                (before, last) = (b"", b"");
            }
            _ if is_of_word(first) => {
                let end = rest.iter().position(|byte| !is_of_word(*byte)).unwrap_or(rest.len());
                (before, last) = (last, &rest[..end]);
                rest = &rest[end..];
            }
            _ if first.is_ascii_whitespace() => rest = &rest[1..],
            _ => match comment_bytes(rest) {
                0 => {
                    (before, last) = (b"", b"");
                    rest = &rest[1..];
                }
                length => rest = &rest[length..],
            },
        }
    }
    names
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..)
}

/// Length of the comment that begins here, or of one end of a comment whose contents the server
/// executes.
fn comment_bytes(rest: &[u8]) -> usize {
    match rest {
        [b'#', ..] | [b'-', b'-', b' ' | b'\t' | b'\n', ..] => {
            rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1)
        }
        [b'/', b'*', b'M', b'!', after @ ..] => 4 + digits(after),
        [b'/', b'*', b'!', after @ ..] => 3 + digits(after),
        [b'/', b'*', after @ ..] => {
            2 + after.windows(2).position(|at| at == b"*/").map_or(after.len(), |at| at + 2)
        }
        [b'*', b'/', ..] => 2,
        _ => 0,
    }
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Takes a literal, whose first byte is its quote, and returns its value.
fn take_quoted(rest: &mut &[u8], quote: u8) -> Vec<u8> {
    let (bytes, mut at, mut text) = (*rest, 1, Vec::new());
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match (byte, bytes.get(at)) {
            (b'\\', Some(&next)) if quote != b'`' => {
                at += 1;
                text.push(unescaped(next));
            }
            (_, Some(&next)) if byte == quote && next == quote => {
                at += 1;
                text.push(quote);
            }
            _ if byte == quote => break,
            _ => text.push(byte),
        }
    }
    *rest = &bytes[at.min(bytes.len())..];
    text
}

fn unescaped(letter: u8) -> u8 {
    match letter {
        b'0' => 0,
        b'b' => 8,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'Z' => 26,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn names(sql: &str) -> Vec<String> {
        let mut files = LocalFiles::default();
        files.offer(sql.as_bytes());
        files.named.into_iter().map(|name| String::from_utf8(name).unwrap()).collect()
    }

    #[test]
    fn only_a_file_that_the_statement_itself_names_is_offered() {
        for (sql, expect) in [
            ("LOAD DATA LOCAL INFILE '/a' INTO TABLE t", &["/a"][..]),
            (
                "load /* 'x' */ data concurrent local -- local infile '/z'\n infile\"/a b\" into \
                 table t",
                &["/a b"],
            ),
            ("LOAD XML LOCAL INFILE '/a'; SELECT '?'; load data local infile '/b'", &["/a", "/b"]),
            (r"LOAD DATA /*!50000 LOCAL*/ INFILE '/a''b\'c\\' INTO", &[r"/a'b'c\"]),
            ("LOAD DATA INFILE '/a' INTO TABLE t", &[]),
            (
                r#"INSERT INTO t VALUES ('LOCAL INFILE ''/a''', "LOCAL INFILE '/a'", 'x\' LOCAL INFILE ', '/a')"#,
                &[],
            ),
            ("SELECT 1 /* LOCAL INFILE '/a' */ # LOCAL INFILE '/a'", &[]),
            ("LOCAL INFILE `/a`", &[]),
            ("LOCAL INFILE = '/a'", &[]),
            ("infile", &[]),
            ("LOCAL INFILE '/not closed", &["/not closed"]),
            ("", &[]),
        ] {
            assert_eq!(names(sql), expect, "{sql}");
        }
    }

    fn refusal(files: &mut LocalFiles, name: &Path) -> ServerError {
        LocalFiles::open(Some(files), name.as_os_str().as_bytes()).unwrap_err()
    }

    #[test]
    fn a_file_is_sent_once_in_pieces_and_none_that_a_later_statement_does_not_name() {
        let folder = tempfile::tempdir().unwrap();
        let [path, gone] = ["a", "gone"].map(|name| folder.path().join(name));
        fs::write(&path, vec![b'x'; PIECE_BYTES as usize + 1]).unwrap();
        let load = |path: &Path| {
            format!("LOAD DATA LOCAL INFILE '{}' INTO TABLE t", path.display()).into_bytes()
        };
        let mut files = LocalFiles::default();
        files.offer(&load(&path));
        LocalFiles::open(Some(&mut files), path.as_os_str().as_bytes()).unwrap();
        let mut lengths = Vec::new();
        while files.is_sending() {
            let mut out = b"head".to_vec();
            files.read(&mut out).unwrap();
            lengths.push(out.len() - 4);
        }
        assert_eq!(lengths, [PIECE_BYTES as usize, 1, 0]);
        assert!(refusal(&mut files, &path).message.starts_with("refused: "), "it was named once");
        files.offer(&load(&path));
        files.offer(b"DO 1");
        assert_eq!(refusal(&mut files, &path).code, FILE_REFUSED);
        assert_eq!(LocalFiles::open(None, b"/etc/passwd").unwrap_err().code, FILE_REFUSED);

        files.offer(&load(&gone));
        let missing = refusal(&mut files, &gone);
        assert_eq!(
            (missing.code, missing.message),
            (2, format!("File '{}' not found (Errcode: 2)", gone.display()))
        );
        files.offer(&load(folder.path()));
        assert!(refusal(&mut files, folder.path()).message.contains("is not a regular file"));
        assert!(!files.is_sending());
    }
}
