//! `--config-file`: options in a file.

use std::io;

use super::given::{GivenOption, GivenOptions, Origin};
use crate::output::system_words;

/// Reads lines of `name = value`.
///
/// `#` starts a comment at the start of a line or after a blank; a value may be in quotes of either
/// kind, and so may each part of a list; a name without `=` is an option without a value; a leading
/// `--` of a name is ignored.
///
/// This accepts more than sysbench, which keeps the blanks around `=` in names and values and loses
/// options that a test declares later (its issues 228 and 498): here the file may contain every
/// option, including the test's own, and the command line takes precedence, wherever
/// `--config-file` is on it.
pub(super) fn read(file: &[u8]) -> GivenOptions {
    let mut given = GivenOptions::default();
    for line in file.split(|byte| *byte == b'\n') {
        let line = without_comment(line).trim_ascii();
        if line.is_empty() {
            continue;
        }
        let (name, text) = super::given::name_and_text(line);
        let name = name.trim_ascii();
        let name = name.strip_prefix(b"--").unwrap_or(name).to_vec();
        given.put(GivenOption {
            name,
            text: text.map(|text| unquoted(text.trim_ascii())),
            origin: Origin::ConfigFile,
        });
    }
    given
}

/// The error for the file, in the words of the C library.
pub(super) fn problem(path: &[u8], error: &io::Error) -> Vec<u8> {
    [path, b": ", system_words(error).as_bytes()].concat()
}

fn without_comment(line: &[u8]) -> &[u8] {
    let mut quote = None;
    let mut before = b' ';
    for (index, byte) in line.iter().enumerate() {
        match (quote, byte) {
            (None, b'#') if before.is_ascii_whitespace() => return &line[..index],
            // An apostrophe inside a word is not a quote.
            (None, b'"' | b'\'')
                if before.is_ascii_whitespace() || before == b'=' || before == b',' =>
            {
                quote = Some(byte);
            }
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
        before = *byte;
    }
    line
}

/// The value without its quotes. If a part between commas is quoted, each part is unquoted
/// separately.
fn unquoted(text: &[u8]) -> Vec<u8> {
    if let Some(inner) = in_quotes(text) {
        return inner.to_vec();
    }
    let parts: Vec<_> = text.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).collect();
    if parts.iter().any(|part| in_quotes(part).is_some()) {
        let parts: Vec<_> = parts.into_iter().map(|part| in_quotes(part).unwrap_or(part)).collect();
        return parts.join(&b',');
    }
    text.to_vec()
}

fn in_quotes(text: &[u8]) -> Option<&[u8]> {
    let [open @ (b'"' | b'\''), inner @ .., close] = text else { return None };
    (open == close && !inner.contains(open)).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(file: &str) -> Vec<String> {
        read(file.as_bytes())
            .iter()
            .map(|entry| String::from_utf8(entry.as_typed()).unwrap())
            .collect()
    }

    #[test]
    fn lines_are_options() {
        let file = "# a comment\nthreads=3\n time = 7 \r\n\nhosts = h1,h2 # \
                    two\n--dashes=1\nbare\nempty=\na_b=1\na-b=2";
        assert_eq!(
            typed(file),
            [
                "--threads=3",
                "--time=7",
                "--hosts=h1,h2",
                "--dashes=1",
                "--bare",
                "--empty=",
                "--a_b=1",
                "--a-b=2"
            ]
        );
        assert_eq!(typed(""), Vec::<String>::new());
        assert_eq!(typed("#x=1"), Vec::<String>::new());
    }

    #[test]
    fn quotes_are_taken_off() {
        for (line, value) in [
            ("x = \"a b\"", "a b"),
            ("x = 'a # b' # c", "a # b"),
            ("x = \"a\", 'b',c", "a,b,c"),
            ("x = hello, world", "hello, world"),
            ("x = it's", "it's"),
            ("x = it's # a comment", "it's"),
            ("x = a#b", "a#b"),
            ("x = \"\"", ""),
            ("x = \"", "\""),
            ("x = \"a'", "\"a'"),
            ("x = a=b", "a=b"),
        ] {
            assert_eq!(typed(line), [format!("--x={value}")], "{line}");
        }
    }

    #[test]
    fn problems_are_worded_as_by_the_c_library() {
        let error = std::fs::read("/there/is/no/such/file").unwrap_err();
        assert_eq!(problem(b"nope", &error), b"nope: No such file or directory");
    }
}
