//! Lines of `postgresql.conf`, by the tokens of the server's own reader: the longest one at each
//! place.

use crate::option_line::{OptionLine, text_of};

const WRONG: OptionLine = OptionLine::Fault(
    "is neither a setting nor a comment of a postgresql.conf, and there is no group of a my.cnf",
);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlainToken<'a> {
    /// `work_mem`, and `app.x` where `is_qualified`.
    Name {
        text: &'a [u8],
        is_qualified: bool,
    },
    /// A number, or a word with `-`, `.`, `:` or `/`.
    Word(&'a [u8]),
    /// Between quotes, with them.
    Quoted(&'a [u8]),
    Equals,
    Wrong,
}

/// `name = value`, `name value`, with or without quotes.
pub(crate) fn read(line: &[u8]) -> Option<OptionLine> {
    let mut rest = line;
    let name = match next(&mut rest)? {
        PlainToken::Name { text, .. } => text_of(text),
        _ => return Some(WRONG),
    };
    let value = match next(&mut rest) {
        Some(PlainToken::Equals) => next(&mut rest),
        other => other,
    };
    let value = match value {
        Some(PlainToken::Name { text, is_qualified: false } | PlainToken::Word(text)) => {
            text_of(text)
        }
        Some(PlainToken::Quoted(text)) => text_of(&unescaped(text)),
        _ => return Some(WRONG),
    };
    if next(&mut rest).is_some() {
        return Some(WRONG);
    }
    Some(match name.to_ascii_lowercase().as_str() {
        how @ ("include" | "include_dir" | "include_if_exists") => {
            OptionLine::Include { how: how.to_owned(), path: value }
        }
        _ => OptionLine::Setting { name, value: Some(value) },
    })
}

/// The next token; `None` at the end of the line.
fn next<'a>(rest: &mut &'a [u8]) -> Option<PlainToken<'a>> {
    let start = rest.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\r'))?;
    let text = &rest[start..];
    if text[0] == b'#' {
        return None;
    }
    let candidates = [
        (name_length(text), PlainToken::Name { text, is_qualified: false }),
        (qualified_length(text), PlainToken::Name { text, is_qualified: true }),
        (quoted_length(text), PlainToken::Quoted(text)),
        (word_length(text), PlainToken::Word(text)),
        (integer_length(text), PlainToken::Word(text)),
        (real_length(text), PlainToken::Word(text)),
        (usize::from(text[0] == b'='), PlainToken::Equals),
    ];
    // Of two that are equally long the first one holds.
    let (length, token) = candidates.into_iter().rev().max_by_key(|(length, _)| *length)?;
    *rest = &text[length.max(1)..];
    let text = &text[..length];
    Some(match token {
        _ if length == 0 => PlainToken::Wrong,
        PlainToken::Name { is_qualified, .. } => PlainToken::Name { text, is_qualified },
        PlainToken::Word(_) => PlainToken::Word(text),
        PlainToken::Quoted(_) => PlainToken::Quoted(text),
        other => other,
    })
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn count(text: &[u8], fits: impl Fn(u8) -> bool) -> usize {
    text.iter().position(|byte| !fits(*byte)).unwrap_or(text.len())
}

fn name_length(text: &[u8]) -> usize {
    if is_letter(text[0]) {
        count(text, |byte| is_letter(byte) || byte.is_ascii_digit())
    } else {
        0
    }
}

fn qualified_length(text: &[u8]) -> usize {
    let first = name_length(text);
    match text[first..].split_first() {
        Some((b'.', second)) if first > 0 && !second.is_empty() => match name_length(second) {
            0 => 0,
            second => first + 1 + second,
        },
        _ => 0,
    }
}

fn word_length(text: &[u8]) -> usize {
    if !is_letter(text[0]) {
        return 0;
    }
    count(text, |byte| is_letter(byte) || byte.is_ascii_digit() || b"-._:/".contains(&byte))
}

fn sign_length(text: &[u8]) -> usize {
    usize::from(matches!(text.first(), Some(b'-' | b'+')))
}

/// With the letters of a unit.
fn integer_length(text: &[u8]) -> usize {
    let sign = sign_length(text);
    let digits = &text[sign..];
    let hex = digits
        .strip_prefix(b"0x")
        .map_or(0, |digits| count(digits, |byte| byte.is_ascii_hexdigit()));
    let length = if hex > 0 { 2 + hex } else { count(digits, |byte| byte.is_ascii_digit()) };
    if length == 0 {
        0
    } else {
        sign + length + count(&digits[length..], |byte| byte.is_ascii_alphabetic())
    }
}

fn real_length(text: &[u8]) -> usize {
    let whole = sign_length(text) + count(&text[sign_length(text)..], |byte| byte.is_ascii_digit());
    let Some((b'.', behind)) = text[whole..].split_first() else { return 0 };
    let length = whole + 1 + count(behind, |byte| byte.is_ascii_digit());
    match text[length..].split_first() {
        Some((b'e' | b'E', power)) => {
            let digits = count(&power[sign_length(power)..], |byte| byte.is_ascii_digit());
            length + if digits == 0 { 0 } else { 1 + sign_length(power) + digits }
        }
        _ => length,
    }
}

/// Up to the quote that ends it; `''` and `\'` are one.
fn quoted_length(text: &[u8]) -> usize {
    let Some((b'\'', mut inner)) = text.split_first() else { return 0 };
    // Where the text ends before the quote does, the first of the last two quotes ended it.
    let mut end = 0;
    loop {
        inner = match inner {
            [b'\'', b'\'', rest @ ..] => {
                end = text.len() - inner.len() + 1;
                rest
            }
            [b'\'', ..] => return text.len() - inner.len() + 1,
            [b'\\', _, rest @ ..] | [_, rest @ ..] => rest,
            [] => return end,
        };
    }
}

fn unescaped(quoted: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(quoted.len());
    let mut inner = &quoted[1..quoted.len() - 1];
    loop {
        inner = match inner {
            [b'\\', b'0'..=b'7', ..] => {
                let digits = count(&inner[1..], |byte| (b'0'..=b'7').contains(&byte)).min(3);
                out.push(
                    inner[1..=digits]
                        .iter()
                        .fold(0_u8, |octal, digit| (octal << 3) | (digit - b'0')),
                );
                &inner[1 + digits..]
            }
            [b'\\', escaped, rest @ ..] => {
                out.push(match escaped {
                    b'b' => 0x08,
                    b'f' => 0x0c,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    other => *other,
                });
                rest
            }
            [b'\'', b'\'', rest @ ..] => {
                out.push(b'\'');
                rest
            }
            [byte, rest @ ..] => {
                out.push(*byte);
                rest
            }
            [] => return out,
        };
    }
}
