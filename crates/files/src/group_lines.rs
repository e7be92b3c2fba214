//! Lines of `my.cnf`, byte by byte as servers read them: whatever their encoding, these have the
//! white space of Latin-1.

use crate::option_line::{OptionLine, text_of};

/// Servers before MySQL 9 read the rest of a longer line as another line.
const LINE_BYTES_MAX: usize = 4093;

pub(crate) fn read(line: &[u8]) -> Option<OptionLine> {
    if line.len() > LINE_BYTES_MAX {
        return Some(OptionLine::Cut("is longer than 4093 bytes, where servers cut it"));
    }
    let line = without_blanks_before(line);
    match line.first() {
        None | Some(b'#' | b';') => None,
        Some(b'!') => Some(directive(without_blanks_before(&line[1..]))),
        Some(b'[') => Some(group(&line[1..])),
        Some(_) => Some(setting(without_comment(line))),
    }
}

/// Servers pass over an unknown one.
fn directive(text: &[u8]) -> OptionLine {
    let end = text.iter().position(|byte| is_blank(*byte)).unwrap_or(text.len());
    let (how, path) = (&text[..end], without_blanks(&text[end..]));
    if path.is_empty() && [&b"include"[..], b"includedir"].contains(&how) {
        return OptionLine::Fault("includes nothing: it names no file");
    }
    OptionLine::Include { how: text_of(how), path: text_of(path) }
}

/// Blanks before the name are part of it.
fn group(text: &[u8]) -> OptionLine {
    match text.iter().position(|byte| *byte == b']') {
        Some(end) => OptionLine::Group(text_of(without_blanks_behind(&text[..end]))),
        None => OptionLine::Fault("begins a group without `]`"),
    }
}

fn setting(line: &[u8]) -> OptionLine {
    let Some(end) = line.iter().position(|byte| *byte == b'=') else {
        return OptionLine::Setting { name: text_of(without_blanks_behind(line)), value: None };
    };
    if end == 0 {
        return OptionLine::Fault("has no name before its `=`");
    }
    let value = unescaped(unquoted(without_blanks(&line[end + 1..])));
    OptionLine::Setting {
        name: text_of(without_blanks_behind(&line[..end])),
        value: Some(text_of(&value)),
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c | 0xa0)
}

fn without_blanks_before(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|byte| !is_blank(*byte)).unwrap_or(text.len());
    &text[start..]
}

fn without_blanks_behind(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| !is_blank(*byte)).map_or(0, |last| last + 1);
    &text[..end]
}

fn without_blanks(text: &[u8]) -> &[u8] {
    without_blanks_behind(without_blanks_before(text))
}

/// `#` outside of quotes begins a comment.
fn without_comment(line: &[u8]) -> &[u8] {
    let (mut quote, mut is_escaped) = (None, false);
    for (at, byte) in line.iter().enumerate() {
        match quote {
            None if *byte == b'#' => return &line[..at],
            None if matches!(byte, b'\'' | b'"') => quote = Some(byte),
            Some(open) if byte == open && !is_escaped => quote = None,
            _ => {}
        }
        is_escaped = quote.is_some() && *byte == b'\\' && !is_escaped;
    }
    line
}

fn unquoted(value: &[u8]) -> &[u8] {
    match value {
        [first @ (b'"' | b'\''), inner @ .., last] if first == last => inner,
        _ => value,
    }
}

fn unescaped(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    let mut bytes = value.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next() {
            Some(b'n') => out.push(b'\n'),
            Some(b't') => out.push(b'\t'),
            Some(b'r') => out.push(b'\r'),
            Some(b'b') => out.push(0x08),
            Some(b's') => out.push(b' '),
            Some(quote @ (b'"' | b'\'')) => out.push(quote),
            Some(b'\\') | None => out.push(b'\\'),
            Some(other) => out.extend([b'\\', other]),
        }
    }
    out
}
