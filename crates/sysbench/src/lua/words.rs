//! The names that a script's texts have, to tell which options it can never read.

use std::collections::BTreeMap;

use truetps_record::near_matches;

/// A text beyond this is not looked at.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// An option by a name that a script makes as it runs.
const BY_ANY_NAME: [&[u8]; 6] =
    [b"sysbench.opt[", b"pairs(sysbench.opt)", b"pairs( sysbench.opt )", b"next(sysbench.opt", b"_G[", b"pairs(_G)"];

/// Names, with how often they occur outside of comments.
#[derive(Debug, Default)]
pub(super) struct Words {
    counts: BTreeMap<String, u32>,
    /// Names that are called or defined as functions.
    functions: Vec<String>,
    /// Something was loaded that has other ways to options than their names.
    is_opaque: bool,
}

/// An option that was given, and that the script never reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unread {
    pub(crate) name: String,
    /// A name in the script that is like it.
    pub(crate) near: Option<String>,
}

impl Words {
    /// `None`: a library, or byte code.
    pub(super) fn add(&mut self, text: Option<&[u8]>) {
        let Some(text) = text.filter(|text| text.len() <= TEXT_BYTES_MAX) else {
            self.is_opaque = true;
            return;
        };
        self.is_opaque |= BY_ANY_NAME.iter().any(|way| text.windows(way.len()).any(|part| part == *way));
        let mut rest = text;
        while let Some(first) = rest.first() {
            let bytes = match rest {
                [b'-', b'-', ..] => comment_bytes(rest),
                _ if first.is_ascii_alphabetic() || *first == b'_' => self.add_word(rest),
                _ => 1,
            };
            rest = &rest[bytes..];
        }
    }

    fn add_word(&mut self, rest: &[u8]) -> usize {
        let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let bytes = rest.iter().position(|byte| !is_of_word(byte)).unwrap_or(rest.len());
        let word = String::from_utf8_lossy(&rest[..bytes]).into_owned();
        if rest.get(bytes) == Some(&b'(') && !self.functions.contains(&word) {
            self.functions.push(word.clone());
        }
        *self.counts.entry(word).or_default() += 1;
        bytes
    }

    /// Of options that were given, those that are never read. `occurs` says how often a name occurs without being read:
    /// once, where the script declares it.
    pub(super) fn unread(&self, given: &[(String, u32)]) -> Vec<Unread> {
        if self.is_opaque {
            return Vec::new();
        }
        let count = |name: &str| self.counts.get(name).copied().unwrap_or(0);
        let unread = given.iter().filter(|(name, declared)| count(name) <= *declared);
        // One that the script declares is spelled as it should be.
        let near = |name: &str, declared: u32| if declared == 0 { self.near(name) } else { None };
        unread.map(|(name, declared)| Unread { name: name.clone(), near: near(name, *declared) }).collect()
    }

    /// A name that has this one in it, `oltp_table_size` for `table_size`, or else one that is spelled alike.
    fn near(&self, name: &str) -> Option<String> {
        const LETTERS_MIN: usize = 4;
        if name.len() < LETTERS_MIN {
            return None;
        }
        let candidates = || {
            let all = self.counts.keys().map(String::as_str);
            all.filter(|word| word.len() >= LETTERS_MIN && !self.functions.iter().any(|one| one == word))
        };
        let part = format!("_{name}_");
        let longer = candidates().filter(|word| format!("_{word}_").contains(&part));
        let shortest = longer.min_by_key(|word| word.len()).map(str::to_owned);
        shortest.or_else(|| near_matches(name, candidates()).into_iter().next())
    }
}

fn comment_bytes(rest: &[u8]) -> usize {
    let level = rest[2..].strip_prefix(b"[").map(|rest| rest.iter().take_while(|byte| **byte == b'=').count());
    let level = level.filter(|level| rest.get(3 + level) == Some(&b'['));
    let Some(level) = level else { return rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()) };
    let end = [&b"]"[..], &b"=".repeat(level)[..], b"]"].concat();
    rest.windows(end.len()).position(|part| part == end).map_or(rest.len(), |at| at + end.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unread(text: &str, given: &[(&str, u32)]) -> Vec<(String, Option<String>)> {
        let mut words = Words::default();
        words.add(Some(text.as_bytes()));
        let given: Vec<_> = given.iter().map(|(name, declared)| ((*name).to_owned(), *declared)).collect();
        words.unread(&given).into_iter().map(|one| (one.name, one.near)).collect()
    }

    #[test]
    fn options_that_no_line_reads_are_named() {
        let old = "-- tables\n--[[ table_size\n rows ]] function prepare() create_tables(oltp_tables_count or 1)\n\
                   rows = oltp_table_size or 10000 end";
        let near = |name: &str, near: &str| (name.to_owned(), Some(near.to_owned()));
        assert_eq!(
            unread(old, &[("tables", 0), ("table_size", 0), ("rows", 0), ("oltp_table_sice", 0)]),
            [
                near("tables", "oltp_tables_count"),
                near("table_size", "oltp_table_size"),
                near("oltp_table_sice", "oltp_table_size"),
            ]
        );
        let declared = "sysbench.cmdline.options = { a1 = {'x', 1}, b1 = {'y', 2} } print(sysbench.opt.a1)";
        assert_eq!(unread(declared, &[("a1", 1), ("b1", 1)]), [("b1".to_owned(), None)]);
    }

    #[test]
    fn a_script_that_may_read_any_option_is_not_blamed() {
        assert!(unread("for k in pairs(sysbench.opt) do end", &[("x", 0)]).is_empty());
        let mut words = Words::default();
        words.add(None);
        assert!(words.unread(&[("x".to_owned(), 0)]).is_empty());
    }
}
