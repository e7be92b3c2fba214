//! The lines of an option file. Which files and groups apply is decided by the caller.

use crate::option_line::OptionLine;
use crate::{group_lines, plain_lines};

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionStyle {
    /// `my.cnf`: `[group]`, `name = value`, `!include file`.
    Groups,
    /// `postgresql.conf`: no groups, `name value`, `include 'file'`.
    Plain,
}

/// A text with one is in another encoding, or no text.
const NUL: OptionLine =
    OptionLine::Cut("has a NUL byte, where servers cut it: save the file as UTF-8");

impl OptionStyle {
    /// The style of a text: `Groups` if it has a group or a `!include` line.
    pub fn of(text: &[u8]) -> Self {
        let mut lines = text.split(|byte| *byte == b'\n');
        if lines
            .any(|line| matches!(without_mark(line).trim_ascii_start().first(), Some(b'[' | b'!')))
        {
            Self::Groups
        } else {
            Self::Plain
        }
    }

    /// Each line that is not empty or a comment, with its number, in the order in which a server
    /// reads them.
    pub fn lines(self, text: &[u8]) -> impl Iterator<Item = (usize, OptionLine)> {
        let lines = without_mark(text).split(|byte| *byte == b'\n').enumerate();
        lines.filter_map(move |(n, line)| {
            let read = if self == Self::Groups { group_lines::read } else { plain_lines::read };
            let read = if line.contains(&0) { Some(NUL) } else { read(line) };
            read.map(|read| (n + 1, read))
        })
    }
}

/// The byte order mark that some editors write before the first line.
const MARK: &[u8] = "\u{feff}".as_bytes();

fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(MARK).unwrap_or(text)
}

/// Whether a text begins with a byte order mark, which no server knows.
pub(crate) fn has_mark(text: &[u8]) -> bool {
    text.starts_with(MARK)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(style: OptionStyle, text: &str) -> Vec<(String, Option<String>)> {
        let setting = |(_, line)| match line {
            OptionLine::Setting { name, value } => Some((name, value)),
            _ => None,
        };
        style.lines(text.as_bytes()).filter_map(setting).collect()
    }

    #[test]
    fn lines_with_groups() {
        let text = "\u{feff}# head\n[mysqld ] # rest\n;x\n a = 1 # c\nb\n!include  x y.cnf\n\n";
        assert_eq!(OptionStyle::of(text.as_bytes()), OptionStyle::Groups);
        assert_eq!(
            OptionStyle::of(b"# of Ubuntu\n!includedir /etc/mysql/conf.d/\n"),
            OptionStyle::Groups
        );
        let lines: Vec<_> = OptionStyle::Groups.lines(text.as_bytes()).collect();
        let expected = [
            (2, OptionLine::Group("mysqld".to_owned())),
            (4, OptionLine::Setting { name: "a".to_owned(), value: Some("1".to_owned()) }),
            (5, OptionLine::Setting { name: "b".to_owned(), value: None }),
            (6, OptionLine::Include { how: "include".to_owned(), path: "x y.cnf".to_owned() }),
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn values() {
        let check = |style: OptionStyle, line: &str, expect: Option<&str>| {
            let found = settings(style, line);
            assert_eq!(found, [("a".to_owned(), expect.map(str::to_owned))], "{line}");
        };
        let grouped = |line: &str, expect: &str| check(OptionStyle::Groups, line, Some(expect));
        grouped("a=x#y", "x");
        grouped("a = \"x # y\" # c", "x # y");
        grouped("a='it\"s'", "it\"s");
        grouped("a=/x\\sy\\\\\\q", "/x y\\\\q");
        grouped("a=\"x\\\"#y\" # it's", "x\"#y");
        grouped("a=", "");
        check(OptionStyle::Groups, "a # c", None);
        let plain = |line: &str, expect: &str| check(OptionStyle::Plain, line, Some(expect));
        plain("a 128MB # c", "128MB");
        plain("a= 'it''s # \\'x' # c", "it's # 'x");
        plain("a=''", "");
        plain("a'x\\051\\n'#c", "x)\n");
        plain("a -1.5e3", "-1.5e3");
        // By what a PostgreSQL 15 says of each.
        for wrong in [
            "a",
            "a = 1 2",
            "a = 128 MB",
            "a = 1.5GB",
            "a = 10%",
            "a = /x",
            "a-b = 1",
            "a = 'x",
            "= 1",
            "a == 1",
        ] {
            let lines: Vec<_> = OptionStyle::Plain.lines(wrong.as_bytes()).collect();
            assert!(matches!(lines[..], [(1, OptionLine::Fault(_))]), "{wrong}: {lines:?}");
        }
        let lines: Vec<_> = OptionStyle::Plain.lines(b"include_dir 'conf.d'\n#x\n").collect();
        let include =
            OptionLine::Include { how: "include_dir".to_owned(), path: "conf.d".to_owned() };
        assert_eq!(lines, [(1, include)]);
    }
}
