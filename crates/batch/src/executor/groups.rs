//! Rows without an answer, in groups: each is inserted by one statement.

/// How often a row that a message names is taken out of one group. With more bad rows, halves need fewer statements.
const ROWS_TAKEN_OUT_MAX: u8 = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InsertGroup {
    /// In ascending order, never empty.
    pub(super) rows: Vec<usize>,
    /// A statement with these rows has an unknown outcome.
    pub(super) may_be_stored: bool,
    /// Rows that were taken out because a message named them.
    taken_out: u8,
}

/// The groups of a batch; the last one is next.
#[derive(Debug)]
pub(super) struct InsertGroups(Vec<InsertGroup>);

impl InsertGroups {
    pub(super) fn of_batch(rows: usize) -> Self {
        let all = InsertGroup { rows: (0..rows).collect(), may_be_stored: false, taken_out: 0 };
        Self(if rows > 0 { vec![all] } else { Vec::new() })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn top(&self) -> &InsertGroup {
        self.0.last().expect("a statement has a group")
    }

    pub(super) fn top_mut(&mut self) -> &mut InsertGroup {
        self.0.last_mut().expect("a statement has a group")
    }

    pub(super) fn pop(&mut self) -> InsertGroup {
        self.0.pop().expect("a statement has a group")
    }

    /// Divides the next group: `bad`, a number in the group, is left alone for the time after all others; without it,
    /// the halves are tried.
    pub(super) fn divide(&mut self, bad: Option<usize>) {
        let mut group = self.pop();
        let bad = bad.filter(|bad| *bad < group.rows.len() && group.taken_out < ROWS_TAKEN_OUT_MAX);
        let other_rows = if let Some(bad) = bad {
            group.taken_out += 1;
            vec![group.rows.remove(bad)]
        } else {
            group.taken_out = 0;
            group.rows.split_off(group.rows.len() / 2)
        };
        let other = InsertGroup { rows: other_rows, may_be_stored: group.may_be_stored, taken_out: 0 };
        self.0.push(other);
        self.0.push(group);
    }

    /// Removes rows whose time is over, and groups in which all rows are late or answered. Returns the rows with whether
    /// they may be stored. Late rows of a group that may be stored stay in it as long as the group does.
    pub(super) fn remove_late(
        &mut self,
        is_late: impl Fn(usize) -> bool,
        is_answered: impl Fn(usize) -> bool,
    ) -> Vec<(usize, bool)> {
        let mut late = Vec::new();
        self.0.retain_mut(|group| {
            let may_be_stored = group.may_be_stored;
            late.extend(group.rows.iter().filter(|row| is_late(**row)).map(|row| (*row, may_be_stored)));
            if !may_be_stored {
                group.rows.retain(|row| !is_late(*row));
            }
            !group.rows.iter().all(|row| is_late(*row) || is_answered(*row))
        });
        late
    }
}
