//! Outcomes of statements, and their times by kind.

use truetps_record::{Histogram, new_histogram};

/// The outcome of a statement, with the numbers of `sb_counter_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Counter {
    Other = 0,
    Read = 1,
    Write = 2,
    Event = 3,
    Error = 4,
    Reconnect = 5,
}

impl Counter {
    pub(super) const COUNT: usize = 6;
}

/// Kinds of statements whose times are kept apart, by their first word.
const STATEMENT_KINDS: [&str; 10] = [
    "select", "insert", "update", "delete", "replace", "begin", "commit", "rollback", "ddl",
    "other",
];

/// The kind of a statement, as an index of [`STATEMENT_KINDS`].
pub(crate) fn statement_kind(sql: &[u8]) -> usize {
    let sql = sql.trim_ascii_start();
    let word = sql.split(|byte| !byte.is_ascii_alphabetic()).next().unwrap_or_default();
    match word.first().map(u8::to_ascii_lowercase) {
        Some(b's') if is_one_of(word, &["select"]) => 0,
        Some(b'i') if is_one_of(word, &["insert"]) => 1,
        Some(b'u') if is_one_of(word, &["update"]) => 2,
        Some(b'd') if is_one_of(word, &["delete"]) => 3,
        Some(b'r') if is_one_of(word, &["replace"]) => 4,
        Some(b'b' | b's') if is_one_of(word, &["begin", "start"]) => 5,
        Some(b'c') if is_one_of(word, &["commit"]) => 6,
        Some(b'r') if is_one_of(word, &["rollback"]) => 7,
        _ if is_one_of(word, &["create", "drop", "alter", "truncate", "rename"]) => 8,
        _ => 9,
    }
}

fn is_one_of(word: &[u8], names: &[&str]) -> bool {
    names.iter().any(|name| word.eq_ignore_ascii_case(name.as_bytes()))
}

/// Times of statements by kind. A histogram is made when the first statement of its kind ends.
#[derive(Debug, Default)]
pub(crate) struct StatementTimes {
    by_kind: [Option<Box<Histogram>>; STATEMENT_KINDS.len()],
}

impl StatementTimes {
    pub(crate) fn record(&mut self, kind: usize, length_ns: u64) {
        let histogram = self.by_kind[kind].get_or_insert_with(|| Box::new(new_histogram()));
        histogram.saturating_record(length_ns);
    }

    /// Moves everything that is in `other` here.
    pub(crate) fn drain_from(&mut self, other: &mut Self) {
        for (ours, theirs) in self.by_kind.iter_mut().zip(&mut other.by_kind) {
            let Some(theirs) = theirs.as_mut().filter(|theirs| !theirs.is_empty()) else {
                continue;
            };
            let ours = ours.get_or_insert_with(|| Box::new(new_histogram()));
            ours.add(&**theirs).expect("all histograms have the same bounds");
            theirs.reset();
        }
    }

    pub(crate) fn clear(&mut self) {
        self.by_kind.iter_mut().flatten().for_each(|histogram| histogram.reset());
    }

    /// Kinds that occurred, with their times in nanoseconds.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, &Histogram)> {
        let all = STATEMENT_KINDS.iter().zip(&self.by_kind);
        all.filter_map(|(name, histogram)| {
            histogram.as_deref().filter(|h| !h.is_empty()).map(|h| (*name, h))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_statements() {
        let kind = |sql: &str| STATEMENT_KINDS[statement_kind(sql.as_bytes())];
        for (sql, expect) in [
            ("SELECT 1", "select"),
            ("  insert into t", "insert"),
            ("START TRANSACTION", "begin"),
            ("BEGIN", "begin"),
            ("rollback", "rollback"),
            ("REPLACE INTO", "replace"),
            ("CREATE TABLE", "ddl"),
            ("(SELECT 1)", "other"),
            ("", "other"),
            ("selection", "other"),
        ] {
            assert_eq!(kind(sql), expect, "{sql}");
        }
    }
}
