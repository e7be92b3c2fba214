//! Rows without an answer, in groups: each is inserted by one statement.

/// How often a row that a message names is taken out of one group. With more bad rows, halves need
/// fewer statements.
const ROWS_TAKEN_OUT_MAX: u8 = 3;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct InsertGroup {
    /// In ascending order, never empty.
    pub(super) rows: Vec<usize>,
    /// A statement with these rows has an unknown outcome.
    pub(super) may_be_stored: bool,
    /// The rows are refused, and looked for before they are answered.
    pub(super) is_refused: bool,
    /// Statements of exactly these rows that failed with an error that may be the server's.
    pub(super) failures: u32,
    /// The rows, or a group with them, have failed with such an error before.
    pub(super) is_doubted: bool,
    /// Number of successes when a row that is alone first failed.
    pub(super) failed_alone_at: Option<u64>,
    /// Rows that were taken out because a message named them.
    taken_out: u8,
}

impl InsertGroup {
    fn new(rows: Vec<usize>) -> Self {
        Self { rows, ..Self::default() }
    }

    /// Some rows of this group, as a new one.
    fn part(&self, rows: Vec<usize>) -> Self {
        let Self { may_be_stored, is_refused, is_doubted, .. } = *self;
        Self { rows, may_be_stored, is_refused, is_doubted, ..Self::default() }
    }
}

/// The groups of a batch; the last one is next.
#[derive(Debug, Default)]
pub(super) struct InsertGroups(Vec<InsertGroup>);

impl InsertGroups {
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

    pub(super) fn push(&mut self, group: InsertGroup) {
        if !group.rows.is_empty() {
            self.0.push(group);
        }
    }

    /// Adds rows that are next.
    pub(super) fn push_rows(&mut self, rows: Vec<usize>) {
        self.push(InsertGroup::new(rows));
    }

    /// Refused rows, to be looked for.
    pub(super) fn push_refused(&mut self, rows: Vec<usize>) {
        self.push(InsertGroup { is_refused: true, may_be_stored: true, ..InsertGroup::new(rows) });
    }

    /// Divides the next group: `bad`, a number in the group, is left alone for the time after all
    /// others; without it, the halves are tried.
    pub(super) fn divide(&mut self, bad: Option<usize>) {
        let mut group = self.pop();
        let bad = bad.filter(|bad| *bad < group.rows.len() && group.taken_out < ROWS_TAKEN_OUT_MAX);
        let (other_rows, taken_out) = match bad {
            Some(bad) => (vec![group.rows.remove(bad)], group.taken_out + 1),
            None => (group.rows.split_off(group.rows.len() / 2), 0),
        };
        let rows = std::mem::take(&mut group.rows);
        let next = InsertGroup { taken_out, ..group.part(rows) };
        self.push(group.part(other_rows));
        self.push(next);
    }

    /// Leaves the next group, a row alone, for the time after all others, together with all rows
    /// that are `like` it.
    pub(super) fn set_aside(&mut self, like: impl Fn(usize) -> bool) {
        let lone = self.pop();
        let mut others = lone.part(Vec::new());
        for group in &mut self.0 {
            // Rows that have been alone stay so.
            if group.rows.len() > 1 {
                others.may_be_stored |=
                    group.may_be_stored && group.rows.iter().any(|row| like(*row));
                others.rows.extend(group.rows.extract_if(.., |row| like(*row)));
            }
        }
        self.0.retain(|group| !group.rows.is_empty());
        others.rows.sort_unstable();
        let aside = [lone, others].into_iter().filter(|group| !group.rows.is_empty());
        self.0.splice(0..0, aside);
    }

    /// Whether every group has failed as it is.
    pub(super) fn have_all_failed(&self) -> bool {
        self.0.iter().all(|group| group.failures > 0)
    }

    /// Makes rows that have never failed the next group, or else one row of one group. `choose`: a
    /// number below its argument.
    pub(super) fn choose_one(&mut self, mut choose: impl FnMut(usize) -> usize) {
        if let Some(untried) = self.0.iter().rposition(|group| !group.is_doubted) {
            let group = self.0.remove(untried);
            self.0.push(group);
            return;
        }
        let mut group = self.0.remove(choose(self.0.len()));
        if group.rows.len() > 1 {
            let row = group.rows.remove(choose(group.rows.len()));
            let one = group.part(vec![row]);
            self.0.push(group);
            group = one;
        }
        self.0.push(group);
    }

    /// The next group lost some of its rows: it is another one.
    pub(super) fn forget_failures(&mut self) {
        if let Some(group) = self.0.last_mut() {
            group.failures = 0;
        }
    }

    /// After the server has recovered: joins rows again that were divided while it failed, except
    /// those that failed alone.
    pub(super) fn join(&mut self) {
        let (mut kept, mut joined) = (Vec::new(), [None::<InsertGroup>, None]);
        for group in std::mem::take(&mut self.0) {
            if group.failed_alone_at.is_some() || group.is_refused {
                kept.push(group);
                continue;
            }
            match &mut joined[usize::from(group.may_be_stored)] {
                none @ None => *none = Some(group.part(group.rows.clone())),
                Some(of) => of.rows.extend(group.rows),
            }
        }
        for mut group in joined.into_iter().flatten() {
            group.rows.sort_unstable();
            kept.push(group);
        }
        self.0 = kept;
    }

    /// Removes rows whose time is over, and groups in which all rows are late or answered. Returns
    /// the rows with whether they may be stored. Late rows of a group that may be stored stay in it
    /// as long as the group does.
    pub(super) fn remove_late(
        &mut self,
        is_late: impl Fn(usize) -> bool,
        is_answered: impl Fn(usize) -> bool,
    ) -> Vec<(usize, bool)> {
        let mut late = Vec::new();
        self.0.retain_mut(|group| {
            let may_be_stored = group.may_be_stored;
            late.extend(
                group.rows.iter().filter(|row| is_late(**row)).map(|row| (*row, may_be_stored)),
            );
            if !may_be_stored {
                group.rows.retain(|row| !is_late(*row));
            }
            !group.rows.iter().all(|row| is_late(*row) || is_answered(*row))
        });
        late
    }
}
