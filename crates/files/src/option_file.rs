//! The lines of an option file. Which files and groups apply is decided by the caller.

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionStyle {
    /// `my.cnf`: `[group]`, `name = value`, `!include file`.
    Groups,
    /// `postgresql.conf`: no groups, `name value`, `include 'file'`.
    Plain,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionLine {
    Group(String),
    /// A name as it is written; no value where there is no `=`.
    Setting {
        name: String,
        value: Option<String>,
    },
    /// `include`, `includedir`, `include_dir`, `include_if_exists`, and what it names.
    Include {
        how: String,
        path: String,
    },
}

impl OptionStyle {
    /// The style of a text: `Groups` if it has a group or a `!include` line.
    pub fn of(text: &str) -> Self {
        if text.lines().any(|line| without_mark(line).starts_with(['[', '!'])) { Self::Groups } else { Self::Plain }
    }

    /// Each line that is not empty or a comment, with its number, in the order in which a server reads them.
    pub fn lines(self, text: &str) -> impl Iterator<Item = (usize, OptionLine)> {
        let lines = text.lines().enumerate();
        lines.filter_map(move |(n, line)| {
            let line = without_mark(line);
            let read = if self == Self::Groups { grouped(line) } else { plain(line) };
            read.map(|read| (n + 1, read))
        })
    }
}

/// Some editors write a byte order mark before the first line.
fn without_mark(line: &str) -> &str {
    line.trim_start_matches('\u{feff}').trim()
}

fn grouped(line: &str) -> Option<OptionLine> {
    if line.starts_with(['#', ';']) {
        return None;
    }
    if let Some(directive) = line.strip_prefix('!') {
        let (how, path) = directive.split_once(char::is_whitespace).unwrap_or((directive, ""));
        return Some(OptionLine::Include { how: how.to_owned(), path: path.trim().to_owned() });
    }
    if let Some(group) = line.strip_prefix('[') {
        return Some(OptionLine::Group(group.split(']').next().unwrap_or_default().trim().to_owned()));
    }
    let line = without_comment(line);
    let setting = match line.split_once('=') {
        Some((name, value)) => {
            OptionLine::Setting { name: name.trim().to_owned(), value: Some(unescaped(unquoted(value.trim()))) }
        }
        None => OptionLine::Setting { name: line.to_owned(), value: None },
    };
    (!line.is_empty()).then_some(setting)
}

/// `#` outside of quotes begins a comment.
fn without_comment(line: &str) -> &str {
    let (mut quote, mut is_escaped) = (None, false);
    for (at, c) in line.char_indices() {
        match quote {
            None if c == '#' => return line[..at].trim_end(),
            None if matches!(c, '\'' | '"') => quote = Some(c),
            Some(open) if c == open && !is_escaped => quote = None,
            _ => {}
        }
        is_escaped = quote.is_some() && c == '\\' && !is_escaped;
    }
    line
}

fn unquoted(value: &str) -> &str {
    let inner = |quote| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(value)
}

fn unescaped(value: &str) -> String {
    let mut out = String::new();
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('b') => out.push('\u{8}'),
            Some('s') => out.push(' '),
            Some(quote @ ('"' | '\'')) => out.push(quote),
            Some('\\') | None => out.push('\\'),
            Some(other) => out.extend(['\\', other]),
        }
    }
    out
}

/// `name = value`, `name value`, with or without quotes.
fn plain(line: &str) -> Option<OptionLine> {
    let end = line.find(|c: char| c.is_whitespace() || "=#".contains(c)).unwrap_or(line.len());
    let (name, rest) = (line[..end].to_owned(), line[end..].trim_start());
    let rest = rest.strip_prefix('=').unwrap_or(rest).trim_start();
    let value = match rest.strip_prefix('\'') {
        Some(quoted) => plain_quoted(quoted),
        None => rest.split('#').next().unwrap_or_default().trim_end().to_owned(),
    };
    match name.to_ascii_lowercase().as_str() {
        "" => None,
        how @ ("include" | "include_dir" | "include_if_exists") => {
            Some(OptionLine::Include { how: how.to_owned(), path: value })
        }
        _ if value.is_empty() && !rest.starts_with('\'') => Some(OptionLine::Setting { name, value: None }),
        _ => Some(OptionLine::Setting { name, value: Some(value) }),
    }
}

/// Up to the quote that ends it; `''` and `\'` are one.
fn plain_quoted(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' if chars.peek() == Some(&'\'') => out.extend(chars.next()),
            '\'' => break,
            '\\' => out.extend(chars.next()),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(style: OptionStyle, text: &str) -> Vec<(String, Option<String>)> {
        let setting = |(_, line)| match line {
            OptionLine::Setting { name, value } => Some((name, value)),
            _ => None,
        };
        style.lines(text).filter_map(setting).collect()
    }

    #[test]
    fn lines_with_groups() {
        let text = "\u{feff}# head\n[ mysqld ] # rest\n;x\n a = 1 # c\nb\n!include  x y.cnf\n\n";
        assert_eq!(OptionStyle::of(text), OptionStyle::Groups);
        assert_eq!(OptionStyle::of("# of Ubuntu\n!includedir /etc/mysql/conf.d/\n"), OptionStyle::Groups);
        let lines: Vec<_> = OptionStyle::Groups.lines(text).collect();
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
        check(OptionStyle::Plain, "a", None);
        let lines: Vec<_> = OptionStyle::Plain.lines("include_dir 'conf.d'\n#x\n").collect();
        let include = OptionLine::Include { how: "include_dir".to_owned(), path: "conf.d".to_owned() };
        assert_eq!(lines, [(1, include)]);
    }
}
