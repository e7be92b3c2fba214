//! A Lua text as words, literals and signs: enough to see how it reaches a name.

/// One part of a text. Comments and blanks are skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Word(&'a [u8]),
    /// The content of quotation marks or brackets.
    Literal(&'a [u8]),
    /// Any other byte.
    Sign(u8),
}

#[derive(Debug, Clone)]
pub(super) struct LuaTokens<'a>(pub(super) &'a [u8]);

impl<'a> LuaTokens<'a> {
    fn take(&mut self, bytes: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(bytes);
        self.0 = rest;
        taken
    }
}

impl<'a> Iterator for LuaTokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            let text = self.0;
            match text {
                [] => return None,
                [b'-', b'-', rest @ ..] => {
                    let bytes =
                        long_bracket(rest).map_or_else(|| line_bytes(rest), |(bytes, _)| bytes);
                    self.take(2 + bytes);
                }
                [first, ..] if first.is_ascii_whitespace() => drop(self.take(1)),
                [first, ..] if is_of_word(*first) => {
                    return Some(Token::Word(self.take(word_bytes(text))));
                }
                [quote @ (b'"' | b'\''), rest @ ..] => {
                    let bytes = quoted_bytes(rest, *quote);
                    let inner = &self.take(1 + bytes)[1..];
                    // A literal that ends with its line has no closing quotation mark.
                    return Some(Token::Literal(inner.strip_suffix(&[*quote]).unwrap_or(inner)));
                }
                _ => {
                    let Some((bytes, inner)) = long_bracket(text) else {
                        return Some(Token::Sign(self.take(1)[0]));
                    };
                    self.take(bytes);
                    return Some(Token::Literal(inner));
                }
            }
        }
    }
}

/// The words of any text.
pub(super) fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| !is_of_word(*byte)).filter(|word| !word.is_empty())
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn word_bytes(text: &[u8]) -> usize {
    text.iter().position(|byte| !is_of_word(*byte)).unwrap_or(text.len())
}

fn line_bytes(text: &[u8]) -> usize {
    text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len())
}

/// Length up to and including the closing quotation mark, or to the end of the line.
fn quoted_bytes(text: &[u8], quote: u8) -> usize {
    let mut bytes = 0;
    while let Some(byte) = text.get(bytes) {
        match *byte {
            b'\\' => bytes += 2,
            b'\n' => return bytes,
            byte if byte == quote => return bytes + 1,
            _ => bytes += 1,
        }
    }
    text.len()
}

/// `[[…]]` or `[=[…]=]`: its length, and its content. `None` if the text begins otherwise.
fn long_bracket(text: &[u8]) -> Option<(usize, &[u8])> {
    let level = text.strip_prefix(b"[")?.iter().take_while(|byte| **byte == b'=').count();
    let begin = level + 2;
    if text.get(begin - 1) != Some(&b'[') {
        return None;
    }
    let end = [&b"]"[..], &b"=".repeat(level)[..], b"]"].concat();
    let inner = &text[begin..];
    let found = inner.windows(end.len()).position(|part| part == end);
    Some(found.map_or((text.len(), inner), |at| (begin + at + end.len(), &inner[..at])))
}

#[cfg(test)]
mod tests {
    use super::Token::{Literal, Sign, Word};
    use super::*;

    #[test]
    fn a_text_is_taken_apart() {
        let text = "a.b1 -- c\n--[[ d\n]] \"e \\\" -- f\" [=[ g ]] ]=] h[1] 'i\nj --[==[ k";
        let expect = [
            Word(b"a"),
            Sign(b'.'),
            Word(b"b1"),
            Literal(b"e \\\" -- f"),
            Literal(b" g ]] "),
            Word(b"h"),
            Sign(b'['),
            Word(b"1"),
            Sign(b']'),
            Literal(b"i"),
            Word(b"j"),
        ];
        assert_eq!(LuaTokens(text.as_bytes()).collect::<Vec<_>>(), expect);
        for end in ["\"a\\", "'", "[[", "[==", "--[", "\\"] {
            assert!(LuaTokens(end.as_bytes()).count() <= 4, "{end}");
        }
    }
}
