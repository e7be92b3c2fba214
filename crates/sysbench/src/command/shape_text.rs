//! The shape of a statement: its text with literals replaced by `?`, so that statements that differ
//! only in their values have the same shape. It runs for each statement in a text, and reads every
//! byte at most once.
//!
//! - A number after the name of a table becomes `N`: `sbtest1` and `sbtest2` have the same shape.
//! - Equal consecutive lists, like the rows of an INSERT, are written once, and so are the values
//!   of IN.
//! - Comments are omitted, except those that a server reads (`/*!`, `/*+`).
//! - White space is omitted if it has no effect.

use truetps_record::SqlDialect;

/// Longest shape in bytes: the rest is ignored.
const SHAPE_BYTES_MAX: usize = 1000;
/// Bytes of a statement that are read: they suffice for the shape of a bulk INSERT of half a
/// megabyte.
const READ_BYTES_MAX: usize = 16 << 10;
/// Nested lists that are distinguished.
const DEPTH_MAX: usize = 16;
const MORE: &str = "…";

/// Replaces `out` by the shape of a statement.
pub(crate) fn put_shape(sql: &[u8], dialect: SqlDialect, out: &mut Vec<u8>) {
    out.clear();
    let is_cut = sql.len() > READ_BYTES_MAX;
    let mut writer = Writer {
        dialect,
        out,
        lists: [0; DEPTH_MAX],
        depth: 0,
        last: [None; DEPTH_MAX],
        names_table: false,
        after_table: false,
    };
    writer.read(&sql[..sql.len().min(READ_BYTES_MAX)]);
    writer.end(is_cut);
}

/// A list that has ended: its beginning and end, and the end of the text that stands for its
/// repetitions.
#[derive(Clone, Copy)]
struct List {
    begin: usize,
    end: usize,
    end_of_all: usize,
}

struct Writer<'a> {
    dialect: SqlDialect,
    out: &'a mut Vec<u8>,
    /// Where the open lists begin.
    lists: [usize; DEPTH_MAX],
    depth: usize,
    /// The list that has ended last, at each depth.
    last: [Option<List>; DEPTH_MAX],
    /// The next name is the name of a table.
    names_table: bool,
    /// The last one was, or the name of its schema.
    after_table: bool,
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

impl Writer<'_> {
    fn read(&mut self, sql: &[u8]) {
        let mut at = 0;
        while at < sql.len() && self.out.len() <= SHAPE_BYTES_MAX {
            at += self.token(&sql[at..]).max(1);
        }
    }

    /// Writes what a text begins with; how many bytes that was.
    fn token(&mut self, rest: &[u8]) -> usize {
        let next = rest.get(1).copied().unwrap_or(0);
        match rest[0] {
            byte if byte.is_ascii_whitespace() => {
                self.space();
                1
            }
            b'0'..=b'9' => self.number(rest),
            b'.' if next.is_ascii_digit() && !self.ends_with_name() => self.number(rest),
            b'-' | b'+' if next.is_ascii_digit() && self.awaits_value() => {
                1 + self.number(&rest[1..])
            }
            b'\'' => self.literal(quoted_bytes(rest, self.dialect == SqlDialect::Mysql)),
            b'"' if self.dialect == SqlDialect::Mysql => self.literal(quoted_bytes(rest, true)),
            b'"' | b'`' => {
                let bytes = quoted_bytes(rest, false);
                self.name(&rest[..bytes]);
                bytes
            }
            b'?' => self.literal(1),
            b'$' if self.dialect == SqlDialect::Postgres => self.dollar(rest),
            b'#' if self.dialect == SqlDialect::Mysql => line_bytes(rest),
            b'-' if next == b'-' && self.is_dash_comment(rest) => line_bytes(rest),
            b'/' if next == b'*' && !matches!(rest.get(2), Some(b'!' | b'+')) => {
                self.space();
                let end = rest.windows(2).skip(2).position(|two| two == b"*/");
                end.map_or(rest.len(), |end| end + 4)
            }
            b'(' => self.open(),
            b')' => self.close(),
            byte if is_name_byte(byte) => self.word(rest),
            byte => self.sign(byte),
        }
    }

    fn is_dash_comment(&self, rest: &[u8]) -> bool {
        self.dialect == SqlDialect::Postgres || rest.get(2).is_none_or(u8::is_ascii_whitespace)
    }

    /// One blank, unless the byte before it needs none.
    fn space(&mut self) {
        if self.out.last().is_some_and(|last| !b" (=<>!+-%".contains(last)) {
            self.out.push(b' ');
        }
    }

    fn no_space(&mut self) {
        if self.out.last() == Some(&b' ') {
            self.out.pop();
        }
    }

    fn ends_with_name(&self) -> bool {
        self.out.last().is_some_and(|byte| is_name_byte(*byte) || b"`\"".contains(byte))
    }

    /// Whether a sign here belongs to the number after it.
    fn awaits_value(&self) -> bool {
        let mut before = self.out.iter().rev().filter(|byte| **byte != b' ');
        before.next().is_none_or(|byte| b"(,=<>+-*/%".contains(byte))
    }

    fn sign(&mut self, byte: u8) -> usize {
        if b",=<>!+-%;".contains(&byte) {
            self.no_space();
        }
        self.out.push(byte);
        self.names_table = byte == b'.' && self.after_table;
        if byte == b',' {
            self.out.push(b' ');
        }
        1
    }

    /// A literal of so many bytes.
    fn literal(&mut self, bytes: usize) -> usize {
        self.out.push(b'?');
        bytes
    }

    fn number(&mut self, rest: &[u8]) -> usize {
        let end = (1..rest.len()).find(|at| match rest[*at] {
            b'.' => false,
            b'+' | b'-' => !matches!(rest[at - 1], b'e' | b'E') || rest.starts_with(b"0x"),
            byte => !byte.is_ascii_alphanumeric(),
        });
        self.literal(end.unwrap_or(rest.len()))
    }

    /// `$1`, or a text between two `$tag$`.
    fn dollar(&mut self, rest: &[u8]) -> usize {
        if rest.get(1).is_some_and(u8::is_ascii_digit) {
            let digits = rest[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            return self.literal(1 + digits);
        }
        let Some(tag) = rest[1..].iter().position(|byte| !is_name_byte(*byte) || *byte == b'$')
        else {
            return self.sign(b'$');
        };
        let tag = &rest[..tag + 2];
        if !tag.ends_with(b"$") {
            return self.sign(b'$');
        }
        let end = rest[tag.len()..].windows(tag.len()).position(|part| part == tag);
        self.literal(end.map_or(rest.len(), |end| end + 2 * tag.len()))
    }

    fn word(&mut self, rest: &[u8]) -> usize {
        let bytes = rest.iter().position(|byte| !is_name_byte(*byte)).unwrap_or(rest.len());
        let word = &rest[..bytes];
        if rest.get(bytes) == Some(&b'\'') && bytes == 1 && b"xXbBnNeE".contains(&word[0]) {
            let has_backslashes =
                self.dialect == SqlDialect::Mysql || word.eq_ignore_ascii_case(b"e");
            return self.literal(bytes + quoted_bytes(&rest[bytes..], has_backslashes));
        }
        let is_first = self.out.is_empty();
        self.name(word);
        let is = |name: &[u8]| word.eq_ignore_ascii_case(name);
        self.names_table = match bytes {
            4 => is(b"from") || is(b"into") || is(b"join"),
            5 => is(b"table"),
            // Excludes ON DUPLICATE KEY UPDATE and FOR UPDATE.
            6 => is_first && is(b"update"),
            _ => false,
        };
        bytes
    }

    /// A name or an SQL keyword. A number at the end of a table's name is omitted.
    fn name(&mut self, name: &[u8]) {
        self.after_table = std::mem::take(&mut self.names_table);
        if !self.after_table {
            self.out.extend_from_slice(name);
            return;
        }
        let (inner, quote) = match name {
            [first @ (b'`' | b'"'), inner @ .., _] => (inner, Some(*first)),
            _ => (name, None),
        };
        let digits = inner.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        self.out.extend(quote);
        self.out.extend_from_slice(&inner[..inner.len() - digits]);
        if digits > 0 {
            self.out.push(b'N');
        }
        self.out.extend(quote);
    }

    fn open(&mut self) -> usize {
        // Between rows of an INSERT the blank behind the comma stays.
        if !self.out.ends_with(b", ") {
            self.no_space();
        }
        if let Some(start) = self.lists.get_mut(self.depth) {
            *start = self.out.len();
        }
        self.depth += 1;
        if let Some(last) = self.last.get_mut(self.depth) {
            *last = None;
        }
        self.out.push(b'(');
        1
    }

    fn close(&mut self) -> usize {
        self.no_space();
        self.out.push(b')');
        self.depth = self.depth.saturating_sub(1);
        let depth = self.depth;
        let Some(begin) = self.lists.get(depth).copied().filter(|begin| *begin < self.out.len())
        else {
            return 1;
        };
        self.shorten_in(begin);
        let list = List { begin, end: self.out.len(), end_of_all: self.out.len() };
        self.last[depth] = Some(match self.last[depth] {
            Some(last) if self.repeats(last, begin) => {
                self.out.truncate(last.end_of_all);
                if last.end_of_all == last.end {
                    self.out.extend_from_slice(b", ");
                    self.out.extend_from_slice(MORE.as_bytes());
                }
                List { end_of_all: self.out.len(), ..last }
            }
            _ => list,
        });
        1
    }

    /// Whether the list that begins there repeats the last one, after a comma.
    fn repeats(&self, last: List, begin: usize) -> bool {
        begin > last.end_of_all
            && self.out[last.end_of_all..begin] == *b", "
            && self.out[last.begin..last.end] == self.out[begin..]
    }

    /// `IN(?, ?, ?)` becomes `IN(?, …)`.
    fn shorten_in(&mut self, begin: usize) {
        let (before, list) = self.out.split_at(begin);
        let is_in = before.len() > 2 && before[before.len() - 2..].eq_ignore_ascii_case(b"in");
        let is_in = is_in && !is_name_byte(before[before.len() - 3]);
        if is_in && list.len() > 3 && list.iter().all(|byte| b"(?, )".contains(byte)) {
            self.out.truncate(begin);
            self.out.extend_from_slice("(?, …)".as_bytes());
        }
    }

    fn end(&mut self, is_cut: bool) {
        let is_long = self.out.len() > SHAPE_BYTES_MAX;
        if let Some(last) = self.last[0].filter(|last| is_cut && last.end_of_all > last.end) {
            // What was read ends with a part of one more row.
            self.out.truncate(last.end_of_all);
        } else if is_cut || is_long {
            self.out.truncate(SHAPE_BYTES_MAX);
            self.out.extend_from_slice(MORE.as_bytes());
        }
        while self.out.last().is_some_and(|byte| b" ;".contains(byte)) {
            self.out.pop();
        }
    }
}

/// Bytes of the quoted text that a text begins with; all where the quote is not closed.
fn quoted_bytes(rest: &[u8], has_backslashes: bool) -> usize {
    let quote = rest[0];
    let mut at = 1;
    loop {
        let found = rest[at..]
            .iter()
            .position(|byte| *byte == quote || (has_backslashes && *byte == b'\\'));
        let Some(found) = found else { return rest.len() };
        at += found;
        if rest[at] == b'\\' || rest.get(at + 1) == Some(&quote) {
            at = (at + 2).min(rest.len());
        } else {
            return at + 1;
        }
    }
}

fn line_bytes(rest: &[u8]) -> usize {
    rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(sql: &[u8], dialect: SqlDialect) -> String {
        let mut out = b"what was there before".to_vec();
        put_shape(sql, dialect, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn literals_are_left_out_and_names_stay() {
        let check = |sql: &str, expect: &str| {
            assert_eq!(shape(sql.as_bytes(), SqlDialect::Mysql), expect, "{sql}");
        };
        check("SELECT c FROM sbtest1 WHERE id=5", "SELECT c FROM sbtestN WHERE id=?");
        check("SELECT  c FROM sbtest12\n WHERE id = 4711 ;", "SELECT c FROM sbtestN WHERE id=?");
        check(
            "SELECT c1, c2 FROM d1.t1 a1 JOIN `d2`.`t22` b",
            "SELECT c1, c2 FROM dN.tN a1 JOIN `dN`.`tN` b",
        );
        check(
            "INSERT INTO sbtest3 (id,k) VALUES (0, -7,'it''s \\' x', \"y\")",
            "INSERT INTO sbtestN(id, k) VALUES(?, ?, ?, ?)",
        );
        check(
            "INSERT INTO t VALUES (NULL, 1e-5, 0x1F, .5, X'00', ?)",
            "INSERT INTO t VALUES(NULL, ?, ?, ?, ?, ?)",
        );
        check(
            "UPDATE t SET k=k-1, c = c + 2 WHERE a.b > -3",
            "UPDATE t SET k=k-?, c=c+? WHERE a.b>?",
        );
        check("SELECT 1 /* 77 */ + 2 -- 3\n, 4 # 5", "SELECT ?+?, ?");
        check(
            "SELECT /*+ MAX_EXECUTION_TIME(9) */ COUNT(*)",
            "SELECT /*+MAX_EXECUTION_TIME(?) */ COUNT(*)",
        );
        check("SELECT c FROM t WHERE id IN (1,2, 3)", "SELECT c FROM t WHERE id IN(?, …)");
        check("SELECT c FROM t WHERE id in(1)", "SELECT c FROM t WHERE id in(?)");
        check("SELECT 'open", "SELECT ?");
        check("", "");
        check("BEGIN", "BEGIN");
    }

    #[test]
    fn dialects_have_quotes_of_their_own() {
        let check = |sql: &str, expect: &str| {
            assert_eq!(shape(sql.as_bytes(), SqlDialect::Postgres), expect, "{sql}");
        };
        check("SELECT \"a b\", 'x\\', $1 FROM \"t7\" --'\n", "SELECT \"a b\", ?, ? FROM \"tN\"");
        check("SELECT E'a\\'b', $$it's$$, $q$ $$ $q$, a$b", "SELECT ?, ?, ?, a$b");
    }

    #[test]
    fn rows_of_an_insert_are_one_whatever_their_number() {
        let rows = |n: usize| {
            format!("INSERT INTO t1(a,b) VALUES {}", vec!["(1,NOW(), 'x')"; n].join(","))
        };
        let one = shape(rows(1).as_bytes(), SqlDialect::Mysql);
        assert_eq!(one, "INSERT INTO tN(a, b) VALUES(?, NOW(), ?)");
        let many = format!("{one}, …");
        for n in [2, 3, 500, 20_000] {
            assert_eq!(shape(rows(n).as_bytes(), SqlDialect::Mysql), many, "{n}");
        }
        let then = format!("{} ON DUPLICATE KEY UPDATE a=1", rows(3));
        assert_eq!(
            shape(then.as_bytes(), SqlDialect::Mysql),
            format!("{many} ON DUPLICATE KEY UPDATE a=?")
        );
    }

    #[test]
    fn no_text_is_too_odd() {
        let long =
            format!("SELECT {}", (0..5000).map(|n| format!("c{n}x")).collect::<Vec<_>>().join(","));
        assert!(shape(long.as_bytes(), SqlDialect::Mysql).len() < SHAPE_BYTES_MAX + 10);
        assert_eq!(shape(b"SELECT '\xff\xfe' AS \xff", SqlDialect::Mysql), "SELECT ? AS \u{fffd}");
        // Every beginning of texts with everything in them.
        let odd = b"x/*!1*/ ((\"`'a\\'' -- \n$1 $t$ $ ) )) `t` E'\\' /* 'x 0x.1e+-5 #\n\xc3";
        for dialect in [SqlDialect::Mysql, SqlDialect::Postgres] {
            for from in 0..odd.len() {
                for to in from..=odd.len() {
                    shape(&odd[from..to], dialect);
                }
            }
        }
        let deep = "(".repeat(100) + &")".repeat(120);
        assert!(shape(deep.as_bytes(), SqlDialect::Mysql).len() >= 100);
    }
}
