//! What is counted, and the equations that the counts obey.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ErrorClass;

/// Transactions of one period (an interval, or the whole measure phase).
///
/// Equations, asserted by [`Counts::assert_consistent`]:
/// - `carried_in + started = ok + failed + in_flight`
/// - `carried_in` of an interval = `in_flight` of the one before it
///
/// *failed* counts transactions that ended with an error of the server or of the connection.
/// `ignored` counts the failed ones whose error the plan ignores. A transaction that succeeded
/// after a retry is *ok*: its repeated attempts are only in `retried`, as statements of an
/// unfinished transaction are only in `statements`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// In flight when the stretch began.
    pub carried_in: u64,
    pub started: u64,
    pub ok: u64,
    pub failed: u64,
    /// In flight when the stretch ended.
    pub in_flight: u64,
    /// Statements answered, with or without an error.
    pub statements: u64,
    /// Attempts that ended with an error and were retried.
    #[serde(default)]
    pub retried: u64,
    /// Failed transactions whose error the plan ignores.
    #[serde(default)]
    pub ignored: u64,
    /// Rows changed by the transactions that succeeded, as the server counts them. Omitted if 0:
    /// runs of scripts do not count them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rows_changed: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Counts {
    /// Adds what another worker counted over the same stretch of time.
    pub fn merge_worker(&mut self, other: &Self) {
        self.carried_in += other.carried_in;
        self.in_flight += other.in_flight;
        self.add_flow(other);
    }

    /// Appends the stretch that follows this one.
    pub fn append(&mut self, next: &Self) {
        self.in_flight = next.in_flight;
        self.add_flow(next);
    }

    fn add_flow(&mut self, other: &Self) {
        self.started += other.started;
        self.ok += other.ok;
        self.failed += other.failed;
        self.statements += other.statements;
        self.retried += other.retried;
        self.ignored += other.ignored;
        self.rows_changed += other.rows_changed;
    }

    /// Panics if an equation does not hold: that is a bug in the engine, not the user's error.
    pub fn assert_consistent(&self) {
        assert_eq!(
            self.carried_in + self.started,
            self.ok + self.failed + self.in_flight,
            "counts must obey carried_in + started = ok + failed + in_flight: {self:?}"
        );
        assert!(self.ignored <= self.failed, "ignored transactions are failed ones: {self:?}");
    }
}

/// One error class with its count and the first message seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorCount {
    pub class: ErrorClass,
    /// The server's error number; 0 where the error is not the server's.
    pub code: u16,
    /// Transactions that failed with it.
    pub count: u64,
    /// Attempts that ended with it and were retried.
    #[serde(default)]
    pub retried: u64,
    pub first_message: String,
}

/// Errors by class. Bounded by the number of error numbers that exist (a `u16`), one message each.
#[derive(Debug, Clone, Default)]
pub struct ErrorTally {
    by_key: BTreeMap<(u16, ErrorClass), ErrorCount>,
}

impl ErrorTally {
    /// Longest message kept, in bytes: enough for any server message, and bounded.
    const MESSAGE_BYTES_MAX: usize = 512;

    /// A transaction failed, or a client could not connect.
    pub fn add(&mut self, class: ErrorClass, code: u16, message: &str) {
        self.entry(class, code, message).count += 1;
    }

    /// An attempt failed and is retried.
    pub fn add_retried(&mut self, class: ErrorClass, code: u16, message: &str) {
        self.entry(class, code, message).retried += 1;
    }

    fn entry(&mut self, class: ErrorClass, code: u16, message: &str) -> &mut ErrorCount {
        self.by_key.entry((code, class)).or_insert_with(|| {
            let mut first_message = message.to_owned();
            first_message.truncate(first_message.floor_char_boundary(Self::MESSAGE_BYTES_MAX));
            ErrorCount { class, code, count: 0, retried: 0, first_message }
        })
    }

    pub fn merge(&mut self, other: &Self) {
        self.append(other.by_key.values());
    }

    /// Adds errors that were counted elsewhere. A class that is already there keeps its first
    /// message.
    pub fn append<'a>(&mut self, errors: impl IntoIterator<Item = &'a ErrorCount>) {
        for theirs in errors {
            let ours = self.entry(theirs.class, theirs.code, &theirs.first_message);
            ours.count += theirs.count;
            ours.retried += theirs.retried;
        }
    }

    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Most frequent first.
    pub fn into_sorted(self) -> Vec<ErrorCount> {
        let mut list: Vec<_> = self.by_key.into_values().collect();
        list.sort_by(|a, b| {
            (b.count, b.retried).cmp(&(a.count, a.retried)).then(a.code.cmp(&b.code))
        });
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appended_stretches_keep_the_equation() {
        let mut total = Counts {
            carried_in: 0,
            started: 10,
            ok: 7,
            failed: 1,
            in_flight: 2,
            statements: 8,
            ..Counts::default()
        };
        total.assert_consistent();
        let next = Counts {
            carried_in: 2,
            started: 5,
            ok: 6,
            failed: 0,
            in_flight: 1,
            statements: 6,
            ..Counts::default()
        };
        next.assert_consistent();
        total.append(&next);
        total.assert_consistent();
        assert_eq!((total.started, total.ok, total.in_flight, total.statements), (15, 13, 1, 14));
    }

    #[test]
    fn workers_add_up() {
        let one = Counts {
            carried_in: 1,
            started: 10,
            ok: 9,
            failed: 1,
            in_flight: 1,
            statements: 10,
            ..Counts::default()
        };
        let mut sum = one;
        sum.merge_worker(&one);
        sum.assert_consistent();
        assert_eq!((sum.carried_in, sum.ok, sum.failed, sum.in_flight), (2, 18, 2, 2));
    }

    #[test]
    fn tally_keeps_the_first_message_and_sorts_by_count() {
        let mut tally = ErrorTally::default();
        tally.add(ErrorClass::of_code(1213), 1213, "first");
        tally.add(ErrorClass::of_code(1114), 1114, "full");
        let mut second = ErrorTally::default();
        second.add(ErrorClass::of_code(1114), 1114, "again");
        second.add(ErrorClass::of_code(1114), 1114, &"é".repeat(600));
        tally.merge(&second);
        let list = tally.into_sorted();
        assert_eq!(
            (list[0].code, list[0].count, list[0].first_message.as_str()),
            (1114, 3, "full")
        );
        assert_eq!(list[1].class, ErrorClass::Deadlock);
    }
}
