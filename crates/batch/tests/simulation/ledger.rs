//! What clients were answered, checked against the table.

use std::collections::BTreeMap;

use truetps_batch::{BatchCounts, CommitAnswer};

use crate::table::{ModelRow, ModelTable};

/// How often each thing happened, so that a simulation that does not simulate is noticed.
#[derive(Debug, Default)]
pub(crate) struct Seen(BTreeMap<&'static str, u64>);

impl Seen {
    pub(crate) fn count(&mut self, what: &'static str, times: u64) {
        *self.0.entry(what).or_default() += times;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        other.0.iter().for_each(|(what, times)| self.count(what, *times));
    }

    pub(crate) fn add_batch(&mut self, counts: &BatchCounts) {
        let BatchCounts {
            statements,
            replays,
            found_rows,
            unknown_outcomes,
            retries,
            divisions,
            logins,
        } = *counts;
        self.count("statements", statements);
        self.count("replays", replays);
        self.count("rows that replays found", found_rows);
        self.count("unknown outcomes", unknown_outcomes);
        self.count("retries", retries);
        self.count("divisions", divisions);
        self.count("logins", logins);
    }

    pub(crate) fn assert_that_nothing_is_missing(&self) {
        const ALL: [&str; 23] = [
            "joined",
            "changed",
            "conflict of another key",
            "statements",
            "replays",
            "rows that replays found",
            "unknown outcomes",
            "retries",
            "divisions",
            "logins",
            "stored",
            "duplicate named",
            "refused",
            "key conflict",
            "not stored",
            "unknown",
            "busy",
            "down",
            "abandoned",
            "gateway killed",
            "committed and lost",
            "committed late",
            "gave up waiting",
        ];
        for what in ALL {
            assert!(
                self.0.get(what).is_some_and(|times| *times > 100),
                "{what}: {:?}",
                self.0.get(what)
            );
        }
    }
}

/// All final answers.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    stored: Vec<ModelRow>,
    refused: Vec<ModelRow>,
    pub(crate) seen: Seen,
}

impl Ledger {
    /// Checks an answer at the moment of its arrival. Returns whether the client sends the row
    /// again.
    pub(crate) fn answer(
        &mut self,
        row: ModelRow,
        answer: &CommitAnswer,
        table: &ModelTable,
    ) -> bool {
        let stored = table.rows.get(&row.key);
        let word = match answer {
            CommitAnswer::Stored { is_duplicate } => {
                assert_eq!(
                    stored,
                    Some(&row.value),
                    "{row:?} was acknowledged and is not in the table"
                );
                self.seen.count("duplicate named", u64::from(*is_duplicate == Some(true)));
                self.stored.push(row);
                "stored"
            }
            CommitAnswer::Refused(error) if error.code == 1062 => {
                assert!(row.unique > 0 && stored.is_none(), "{row:?} has no conflict");
                self.refused.push(row);
                "conflict of another key"
            }
            CommitAnswer::Refused(error) => {
                assert_eq!(
                    error.code, row.bad,
                    "{row:?} was refused with the error of another row"
                );
                self.refused.push(row);
                "refused"
            }
            CommitAnswer::Changed { .. } => {
                assert!(row.is_changed && table.reads_back, "{row:?} is not changed");
                self.refused.push(row);
                "changed"
            }
            CommitAnswer::StoredAs { .. } => panic!("no client of the model wants the differences"),
            CommitAnswer::KeyConflict => {
                assert!(
                    stored.is_some_and(|value| *value != row.value),
                    "{row:?} has no conflict with {stored:?}"
                );
                "key conflict"
            }
            CommitAnswer::TooLong => panic!("no row of the model is too long"),
            CommitAnswer::NotStored(_) => {
                self.seen.count("not stored", 1);
                return true;
            }
            CommitAnswer::Unknown => {
                self.seen.count("unknown", 1);
                return true;
            }
        };
        self.seen.count(word, 1);
        false
    }

    /// Checks all answers against the table at the end.
    pub(crate) fn check(&self, table: &ModelTable) {
        for row in &self.stored {
            assert_eq!(
                table.rows.get(&row.key),
                Some(&row.value),
                "{row:?} was acknowledged and is lost"
            );
        }
        for row in &self.refused {
            assert_eq!(table.rows.get(&row.key), None, "{row:?} was refused and is stored");
        }
    }
}
