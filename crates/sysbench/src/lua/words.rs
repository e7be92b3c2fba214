//! The names in a script's texts, which show options that it can never read.

use std::collections::BTreeMap;

use truetps_record::near_matches;

use super::tokens::{LuaTokens, Token, words};

/// A longer text is not inspected.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// Functions and tables by which a script can reach a global whose name it computes, or run a
/// generated text.
const WAYS_TO_ANY_NAME: [&[u8]; 10] = [
    b"getfenv",
    b"setfenv",
    b"rawget",
    b"loadstring",
    b"load",
    b"debug",
    b"_ENV",
    b"_M",
    // `package.loaded` has the globals, `cmdline.argv` the command line.
    b"loaded",
    b"argv",
];

/// Names, with how often they occur outside of comments.
#[derive(Debug, Default)]
pub(super) struct ScriptWords {
    counts: BTreeMap<String, u32>,
    /// Names that are called or defined as functions.
    functions: Vec<String>,
    /// Whether a loaded text can reach options without their names.
    is_opaque: bool,
}

/// A given option that the script never reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnreadOption {
    pub(crate) name: String,
    /// A similar name in the script.
    pub(crate) near: Option<String>,
}

impl ScriptWords {
    /// `None`: a library, or byte code.
    pub(super) fn add(&mut self, text: Option<&[u8]>) {
        let Some(text) = text.filter(|text| text.len() <= TEXT_BYTES_MAX) else {
            self.is_opaque = true;
            return;
        };
        let mut tokens = LuaTokens(text);
        // The two tokens before: `opt` and `.` in `sysbench.opt.debug`.
        let mut before = [None, None];
        while let Some(token) = tokens.next() {
            match token {
                Token::Word(word) => {
                    self.is_opaque |= is_way_to_any_name(word, before, &tokens);
                    self.add_word(word, tokens.clone().next());
                }
                Token::Literal(text) => {
                    words(text).for_each(|word| self.add_word(word, None));
                    // The key of an option: `["sql-dir"]`.
                    if text.contains(&b'-')
                        && words(&underscored(text)).next() == Some(&*underscored(text))
                    {
                        self.add_word(&underscored(text), None);
                    }
                }
                Token::Sign(_) => {}
            }
            before = [before[1], Some(token)];
        }
    }

    fn add_word(&mut self, word: &[u8], next: Option<Token<'_>>) {
        let word = String::from_utf8_lossy(word).into_owned();
        if next == Some(Token::Sign(b'(')) && !self.functions.contains(&word) {
            self.functions.push(word.clone());
        }
        *self.counts.entry(word).or_default() += 1;
    }

    /// The given options that are never read. `occurs` is how often a name occurs without being
    /// read: once if the script declares it.
    pub(super) fn unread(&self, given: &[(String, u32)]) -> Vec<UnreadOption> {
        if self.is_opaque {
            return Vec::new();
        }
        let unread = given
            .iter()
            .filter(|(name, declared)| self.counts.get(name).copied().unwrap_or(0) <= *declared);
        unread
            .map(|(name, declared)| UnreadOption {
                name: name.clone(),
                // An option that the script declares is spelled correctly.
                near: if *declared == 0 { self.near(name) } else { None },
            })
            .collect()
    }

    /// A name that contains this one, `oltp_table_size` for `table_size`, or else one that is
    /// spelled similarly.
    fn near(&self, name: &str) -> Option<String> {
        const LETTERS_MIN: usize = 4;
        if name.len() < LETTERS_MIN {
            return None;
        }
        let all = self.counts.keys().map(String::as_str);
        let candidates = all.filter(|word| {
            word.len() >= LETTERS_MIN && !self.functions.iter().any(|one| one == word)
        });
        let part = format!("_{name}_");
        let longer = candidates.clone().filter(|word| format!("_{word}_").contains(&part));
        let shortest = longer.min_by_key(|word| word.len()).map(str::to_owned);
        shortest.or_else(|| near_matches(name, candidates).into_iter().next())
    }
}

fn underscored(text: &[u8]) -> Vec<u8> {
    text.iter().map(|c| if *c == b'-' { b'_' } else { *c }).collect()
}

/// Whether a word gives access to options whose names are not in the text: `sysbench.opt`,
/// `sysbench` and `_G` do if no field follows.
fn is_way_to_any_name(word: &[u8], before: [Option<Token<'_>>; 2], after: &LuaTokens<'_>) -> bool {
    match (before, word) {
        // An option of this name.
        ([Some(Token::Word(b"opt")), Some(Token::Sign(b'.'))], _) => false,
        (_, b"_G" | b"sysbench")
        | ([Some(Token::Word(b"sysbench")), Some(Token::Sign(b'.'))], b"opt") => {
            !is_field(after.clone())
        }
        _ => WAYS_TO_ANY_NAME.contains(&word),
    }
}

fn is_field(mut tokens: LuaTokens<'_>) -> bool {
    tokens.next() == Some(Token::Sign(b'.')) && matches!(tokens.next(), Some(Token::Word(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unread(text: &str, given: &[(&str, u32)]) -> Vec<(String, Option<String>)> {
        let mut words = ScriptWords::default();
        words.add(Some(text.as_bytes()));
        let given: Vec<_> =
            given.iter().map(|(name, declared)| ((*name).to_owned(), *declared)).collect();
        words.unread(&given).into_iter().map(|one| (one.name, one.near)).collect()
    }

    #[test]
    fn options_that_no_line_reads_are_named() {
        let old = "-- tables\n--[[ table_size\n rows ]] function prepare() \
                   create_tables(oltp_tables_count or 1)\n\
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
        // Names are the same with `-` and with `_`.
        let text = "sysbench.cmdline.options = { ['sql-dir'] = {'x', ''}, ['a-b'] = {'y', ''} } \
                    print(sysbench.opt.sql_dir)";
        assert_eq!(unread(text, &[("sql_dir", 1), ("a_b", 1)]), [("a_b".to_owned(), None)]);
        assert_eq!(unread("print(sysbench.opt['c-d'])", &[("c_d", 0)]), []);
        let declared =
            "sysbench.cmdline.options = { a1 = {'x', 1}, b1 = {'y', 2} } print(sysbench.opt.a1)";
        assert_eq!(unread(declared, &[("a1", 1), ("b1", 1)]), [("b1".to_owned(), None)]);
    }

    #[test]
    fn a_script_that_may_read_any_option_is_not_blamed() {
        for text in [
            "for k in pairs(sysbench.opt) do end",
            "local o = sysbench.opt\nprint(o[name])",
            "print(sysbench.opt[name])",
            "print(sysbench . opt --[[ by ]] [k])",
            "print(sysbench.opt [k])",
            "print(_G.sysbench.opt[k])",
            "read(sysbench.opt)",
            "local s = sysbench print(s.opt[name])",
            "print(sysbench['opt'][name])",
            "print(_G[name])",
            "local g = _G",
            "print(getfenv()[name])",
            "print(rawget(options, name))",
            "loadstring('print(sysbench.opt.' .. name .. ')')()",
            "load(parts)()",
            "print(_ENV[name])",
            "print(debug.getregistry())",
            "print(package.loaded._G[name])",
            "print(sysbench.cmdline.argv[1])",
            "for _, k in ipairs(list) do next(sysbench.opt, k) end",
        ] {
            assert!(unread(text, &[("x", 0)]).is_empty(), "{text}");
        }
        let mut words = ScriptWords::default();
        words.add(None);
        assert!(words.unread(&[("x".to_owned(), 0)]).is_empty());
    }

    #[test]
    fn fields_and_texts_leave_no_doubt() {
        let text = "-- sysbench.opt[k]\nprint('sysbench', sysbench.opt.debug, sysbench.opt.load, \
                    _G.rows, sysbench.tid)";
        assert_eq!(unread(text, &[("x", 0), ("rows", 0)]), [("x".to_owned(), None)]);
        // Two dashes inside a text literal do not start a comment.
        assert_eq!(unread("con:query('DELETE -- all' .. sysbench.opt.rows)", &[("rows", 0)]), []);
    }
}
