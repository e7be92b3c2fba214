//! Which statement comes next. Input: the outcomes of statements; output: the next action, and
//! answers to rows.
//!
//! Rows that are not answered are in groups, each inserted by one statement that commits. All
//! outcomes lead to one of these:
//!
//! - stored: the rows of the group are answered;
//! - a key is stored already: the stored rows of the group are looked for. Only a row that was
//!   *seen*, equal to what was sent, is acknowledged as a duplicate; the others are inserted again
//!   without it;
//! - a bad row: the group is divided until the row stands alone. Only a row that was refused
//!   *alone* is refused for good, so a wrong row number in a message costs two statements and never
//!   an answer;
//! - an error that may be the server's or a row's: the same group again, then its halves (`doubt`).
//!   If other rows are stored meanwhile, the row that fails alone is to blame; if none is, the
//!   server is, and rows wait for it;
//! - unknown: the same group again after a new login. The unique key makes that harmless;
//! - not these rows' fault: all are answered that they may be sent again.
//!
//! Before rows are refused for good, they are looked for, because a trigger may refuse what is
//! stored, and the table is inspected: after an ALTER TABLE no client may lose a row that was
//! correct when it was read.

mod doubt;
mod groups;

use std::time::Duration;

use truetps_driver::ServerError;
use truetps_random::RandomStream;

use crate::fault::row_in_message;
use crate::{CommitAnswer, FaultClass, NotStored};
use doubt::ServerDoubt;
use groups::InsertGroups;

/// Shortest and longest pause before the same statement is sent again.
const RETRY_PAUSE: (Duration, Duration) = (Duration::from_millis(2), Duration::from_secs(1));
/// Shortest and longest pause before a login, and if the server can store nothing.
const LOGIN_PAUSE: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(2));

/// Properties of a row that decide about it.
#[derive(Debug, Clone, Copy)]
pub struct ExecutorRow {
    pub deadline: Duration,
    /// Rows of one client have the same number: their faults are alike.
    pub source: u64,
}

/// The next action; statements are for the rows in [`BatchExecutor::group`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecutorAction {
    /// Insert the rows with one statement, and commit.
    Insert,
    /// Look for the rows in the table, and compare their values.
    Compare,
    /// Find out whether the table is still as it was when the rows were read.
    Inspect,
    /// Make a new connection.
    Connect,
    Pause(Duration),
    /// Each row has its answer.
    Done,
}

/// How the last action ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatementOutcome {
    /// Committed, with so many new rows. `told`: rows that are stored differently from what was
    /// sent, as their answers show it.
    Inserted {
        new_rows: u64,
        told: Vec<(usize, String)>,
    },
    /// Not committed: the table would keep these rows differently, in these columns, or not at all.
    Changed {
        rows: Vec<(usize, Option<String>)>,
    },
    /// These rows were found in the table.
    Compared {
        found: Vec<SeenRow>,
    },
    /// Instead of an insert, the rows were not sent: the table is not the one that they were read
    /// for, or it cannot be read whether it is.
    Inspected {
        has_changed: bool,
    },
    /// The server refused the statement.
    Refused(ServerError),
    /// The connection is unusable, or no reply arrived in time. `was_sent`: the statement may have
    /// been executed.
    Lost {
        was_sent: bool,
    },
    Connected,
    ConnectFailed,
    /// The pause is over.
    Paused,
}

/// A stored row with the key of a row of the group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenRow {
    /// Its number in the batch.
    pub row: usize,
    pub verdict: FoundVerdict,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundVerdict {
    /// It has the values that were sent.
    Equal,
    /// It has others.
    Differs,
    /// It has others, perhaps of the same row; the client decides.
    Told(String),
}

/// What happened in one batch. `statements` = all inserts; each replay, retry and division is one
/// of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BatchCounts {
    pub statements: u64,
    /// Inserts after an unknown outcome.
    pub replays: u64,
    /// Rows that replays found in the table: their commit succeeded, and its reply was lost.
    pub found_rows: u64,
    /// Statements whose outcome was unknown.
    pub unknown_outcomes: u64,
    /// Inserts after an error that passes.
    pub retries: u64,
    /// Groups that were divided because of a row in them.
    pub divisions: u64,
    pub logins: u64,
}

impl BatchCounts {
    pub fn merge(&mut self, other: &Self) {
        let Self { statements, replays, found_rows, unknown_outcomes, retries, divisions, logins } =
            other;
        self.statements += statements;
        self.replays += replays;
        self.found_rows += found_rows;
        self.unknown_outcomes += unknown_outcomes;
        self.retries += retries;
        self.divisions += divisions;
        self.logins += logins;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExecutorState {
    /// The next group is to be inserted, or looked for.
    Ready,
    Inserting,
    ToCompare,
    Comparing,
    /// After an error that may be due to an ALTER TABLE.
    ToInspect,
    InspectingError,
    /// Before rows are refused.
    InspectingRefusal,
    ToConnect,
    Connecting,
    Pausing {
        then_connect: bool,
    },
}

/// Why a row will be refused.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Refusal {
    Error(ServerError),
    Changed(Option<String>),
}

/// One batch, from its first statement to the answer of its last row.
#[derive(Debug)]
pub struct BatchExecutor {
    rows: Vec<ExecutorRow>,
    is_answered: Vec<bool>,
    answers: Vec<(usize, CommitAnswer)>,
    groups: InsertGroups,
    /// Rows that were refused alone. They are answered at the end.
    refused: Vec<(usize, Refusal)>,
    were_refused_sought: bool,
    /// Why rows of the next group are looked for.
    conflict: Option<ServerError>,
    state: ExecutorState,
    doubt: ServerDoubt,
    /// Failures since the last success: pauses grow with them.
    failures: u32,
    pause: Duration,
    jitter: RandomStream,
    counts: BatchCounts,
    last_fault: Option<ServerError>,
    /// Rows that cost others time: refused, in conflict, or to blame for an error.
    blamed: Vec<usize>,
}

impl BatchExecutor {
    /// `is_connected`: whether there is a connection at first. `repeated`: rows whose keys are in
    /// the batch before; they are inserted later, so that the first statement succeeds.
    pub fn new(rows: Vec<ExecutorRow>, repeated: &[usize], is_connected: bool, seed: u64) -> Self {
        let mut groups = InsertGroups::default();
        groups.push_rows(repeated.to_vec());
        groups.push_rows(
            (0..rows.len()).filter(|row| repeated.binary_search(row).is_err()).collect(),
        );
        Self {
            is_answered: vec![false; rows.len()],
            answers: Vec::new(),
            groups,
            refused: Vec::new(),
            were_refused_sought: false,
            conflict: None,
            state: if is_connected { ExecutorState::Ready } else { ExecutorState::ToConnect },
            doubt: ServerDoubt::default(),
            failures: 0,
            pause: Duration::ZERO,
            jitter: RandomStream::new(seed, 0),
            counts: BatchCounts::default(),
            last_fault: None,
            blamed: Vec::new(),
            rows,
        }
    }

    /// Adds rows while the others wait for the server: they show whether it still fails.
    pub fn add_rows(&mut self, rows: impl Iterator<Item = ExecutorRow>) {
        let first = self.rows.len();
        self.rows.extend(rows);
        self.is_answered.resize(self.rows.len(), false);
        self.groups.push_rows((first..self.rows.len()).collect());
        if self.state == (ExecutorState::Pausing { then_connect: false }) {
            self.state = ExecutorState::Ready;
        }
    }

    pub fn counts(&self) -> &BatchCounts {
        &self.counts
    }

    /// The last error that was no row's fault, until a statement succeeds.
    pub fn last_fault(&self) -> Option<&ServerError> {
        self.last_fault.as_ref()
    }

    /// Whether the rows wait for the server: nothing has succeeded since the last failure.
    pub fn is_waiting(&self) -> bool {
        self.failures > 0 && matches!(self.state, ExecutorState::Pausing { .. })
    }

    /// Whether the server fails, and not only rows of one client.
    pub fn is_server_failing(&self) -> bool {
        let doubt = &self.doubt;
        doubt.has_no_connection
            || doubt.is_table_other
            || doubt.is_server_failing
            || doubt.lone_sources.len() > 1
    }

    /// Whether the server has done what a statement of this batch asked for.
    pub fn has_succeeded(&self) -> bool {
        self.doubt.own_successes > 0
    }

    /// Rows of other batches were stored meanwhile: the server works.
    pub fn note_success_elsewhere(&mut self) {
        self.doubt.note_success_elsewhere();
    }

    /// Answers since the last call.
    pub fn take_answers(&mut self) -> Vec<(usize, CommitAnswer)> {
        std::mem::take(&mut self.answers)
    }

    /// Rows since the last call that cost others time.
    pub fn take_blamed(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.blamed)
    }

    /// The next action; its end is recorded by [`BatchExecutor::record`].
    pub fn next_action(&mut self, now: Duration) -> ExecutorAction {
        self.give_up_late_rows(now);
        if self.groups.is_empty() {
            return self.finish();
        }
        match self.state {
            ExecutorState::Ready | ExecutorState::Inserting if !self.groups.top().is_refused => {
                self.state = ExecutorState::Inserting;
                self.counts.statements += 1;
                self.counts.replays += u64::from(self.groups.top().may_be_stored);
                ExecutorAction::Insert
            }
            ExecutorState::Ready
            | ExecutorState::Inserting
            | ExecutorState::ToCompare
            | ExecutorState::Comparing => {
                self.state = ExecutorState::Comparing;
                ExecutorAction::Compare
            }
            ExecutorState::ToInspect | ExecutorState::InspectingError => {
                self.state = ExecutorState::InspectingError;
                ExecutorAction::Inspect
            }
            // It begins when no group is left.
            ExecutorState::InspectingRefusal => self.finish(),
            ExecutorState::ToConnect | ExecutorState::Connecting => {
                self.state = ExecutorState::Connecting;
                self.counts.logins += 1;
                ExecutorAction::Connect
            }
            ExecutorState::Pausing { .. } => {
                ExecutorAction::Pause(self.pause_within_deadlines(now))
            }
        }
    }

    /// The rows of the current statement: numbers in the batch, in ascending order.
    pub fn group(&self) -> &[usize] {
        &self.groups.top().rows
    }

    /// Takes the outcome of the last action.
    pub fn record(&mut self, outcome: StatementOutcome) {
        match (self.state, outcome) {
            (ExecutorState::Inserting, StatementOutcome::Inserted { new_rows, told }) => {
                self.inserted(new_rows, &told);
            }
            (ExecutorState::Inserting, StatementOutcome::Changed { rows }) => self.changed(rows),
            (ExecutorState::Comparing, StatementOutcome::Compared { found }) => {
                self.compared(&found);
            }
            (ExecutorState::Inserting, StatementOutcome::Refused(error)) => {
                self.insert_refused(error);
            }
            (ExecutorState::Inserting, StatementOutcome::Inspected { .. }) => self.table_is_other(),
            (ExecutorState::Comparing, StatementOutcome::Refused(error)) => {
                self.compare_refused(error);
            }
            (ExecutorState::InspectingError, outcome) => self.error_inspected(&outcome),
            (ExecutorState::InspectingRefusal, outcome) => {
                self.answer_refused(outcome != StatementOutcome::Inspected { has_changed: false });
                self.state = ExecutorState::Ready;
            }
            (ExecutorState::Connecting, StatementOutcome::Connected) => {
                self.doubt.has_no_connection = false;
                self.state = ExecutorState::Ready;
            }
            (ExecutorState::Connecting, outcome) => {
                if let StatementOutcome::Refused(error) = outcome {
                    self.last_fault = Some(error);
                }
                self.doubt.has_no_connection = true;
                self.pause_for(LOGIN_PAUSE, true);
            }
            (ExecutorState::Pausing { then_connect }, _) => self.paused(then_connect),
            (_, StatementOutcome::Lost { was_sent }) => self.lost(was_sent),
            (state, outcome) => debug_assert!(false, "{outcome:?} is not an outcome of {state:?}"),
        }
    }

    fn inserted(&mut self, new_rows: u64, told: &[(usize, String)]) {
        self.succeeded();
        if new_rows != self.groups.top().rows.len() as u64 {
            // Something in the database stores rows elsewhere, or not at all: which rows are in the
            // table?
            self.groups.top_mut().may_be_stored = true;
            self.conflict = None;
            self.state = ExecutorState::ToCompare;
            return;
        }
        for row in self.groups.pop().rows {
            let is_duplicate = Some(false);
            let shown = told.iter().find(|(of, _)| *of == row).map(|(_, shown)| shown.clone());
            self.answer(
                row,
                match shown {
                    Some(shown) => CommitAnswer::StoredAs { is_duplicate, row: shown },
                    None => CommitAnswer::Stored { is_duplicate },
                },
            );
        }
        self.join_after_recovery();
    }

    /// The statement was taken back because of these rows.
    fn changed(&mut self, rows: Vec<(usize, Option<String>)>) {
        self.succeeded();
        let mut group = self.groups.pop();
        group.rows.retain(|row| !rows.iter().any(|(changed, _)| changed == row));
        self.groups.push(group);
        for (row, column) in rows {
            self.refuse(row, Refusal::Changed(column));
        }
    }

    /// Rows of the group were looked for: after a conflict, before they are refused, or because
    /// fewer rows than sent were stored.
    fn compared(&mut self, found: &[SeenRow]) {
        self.succeeded();
        let mut group = self.groups.pop();
        let conflict = self.conflict.take();
        let is_duplicate = (conflict.is_some() && !group.may_be_stored).then_some(true);
        let rows = std::mem::take(&mut group.rows);
        let (found_rows, absent): (Vec<_>, Vec<_>) =
            rows.into_iter().partition(|row| found.iter().any(|found| found.row == *row));
        self.counts.found_rows += if group.may_be_stored { found_rows.len() as u64 } else { 0 };
        for row in &found_rows {
            let verdict = found.iter().find(|found| found.row == *row).map(|found| &found.verdict);
            self.answer_found(*row, verdict, is_duplicate, group.is_refused);
        }
        if group.is_refused {
            return;
        }
        let Some(error) = conflict else {
            for row in absent {
                self.refuse(row, Refusal::Changed(None));
            }
            return;
        };
        let is_alone = found_rows.is_empty() && absent.len() == 1;
        group.rows = absent;
        self.groups.push(group);
        match found_rows.is_empty() {
            // Another session may have removed the row meanwhile: only a second conflict is one.
            true if is_alone && self.groups.top().failures == 0 => {
                self.groups.top_mut().failures = 1;
            }
            true => self.divide(error),
            false => self.groups.forget_failures(),
        }
    }

    fn answer_found(
        &mut self,
        row: usize,
        verdict: Option<&FoundVerdict>,
        is_duplicate: Option<bool>,
        is_refused: bool,
    ) {
        let answer = match verdict {
            Some(FoundVerdict::Equal) => CommitAnswer::Stored { is_duplicate },
            Some(FoundVerdict::Told(shown)) => {
                CommitAnswer::StoredAs { is_duplicate, row: shown.clone() }
            }
            // It is refused for the first reason.
            _ if is_refused => return,
            _ => {
                self.blamed.push(row);
                CommitAnswer::KeyConflict
            }
        };
        self.refused.retain(|(refused, _)| *refused != row);
        self.answer(row, answer);
    }

    fn succeeded(&mut self) {
        self.failures = 0;
        self.last_fault = None;
        self.state = ExecutorState::Ready;
        self.doubt.note_success();
    }

    fn insert_refused(&mut self, error: ServerError) {
        self.state = ExecutorState::Ready;
        match FaultClass::of(&error) {
            FaultClass::Conflict => {
                self.conflict = Some(error);
                self.state = ExecutorState::ToCompare;
            }
            FaultClass::BadRow => self.divide(error),
            FaultClass::TooLong => self.halve(),
            _ => self.doubt(error),
        }
    }

    /// Whether the rows are stored is not known.
    fn compare_refused(&mut self, error: ServerError) {
        self.state = ExecutorState::Ready;
        if self.groups.top().is_refused {
            return self.refused_not_found(error);
        }
        let conflict = self.conflict.take();
        match (FaultClass::of(&error), conflict) {
            // A value of one of the rows cannot be compared: it cannot be stored, either.
            (FaultClass::BadRow | FaultClass::Conflict, Some(conflict)) => self.divide(conflict),
            (FaultClass::TooLong, _) if self.groups.top().rows.len() > 1 => self.halve(),
            (_, conflict) => {
                self.note_uncertain(true);
                self.conflict = conflict;
                self.doubt(error);
            }
        }
    }

    /// Rows that were refused alone could not be looked for. A value of one of them may be none for
    /// the server: then that row is not stored, whatever the look-up would say.
    fn refused_not_found(&mut self, error: ServerError) {
        let is_of_values = matches!(
            FaultClass::of(&error),
            FaultClass::BadRow | FaultClass::Conflict | FaultClass::Other
        );
        if is_of_values && self.groups.top().rows.len() > 1 {
            self.groups.divide(None);
            return;
        }
        self.groups.pop();
        if !is_of_values {
            self.last_fault = Some(error);
            self.answer_unjudged();
        }
    }

    fn lost(&mut self, was_sent: bool) {
        let was_inserting = self.state == ExecutorState::Inserting && was_sent;
        self.counts.unknown_outcomes += u64::from(was_inserting);
        // A row that was compared is stored, unless the new server is another one.
        self.note_uncertain(was_sent || self.state == ExecutorState::Comparing);
        if self.failures == 0 {
            self.failures = 1;
            self.state = ExecutorState::ToConnect;
        } else {
            self.pause_for(LOGIN_PAUSE, true);
        }
    }

    fn note_uncertain(&mut self, may_be_stored: bool) {
        self.groups.top_mut().may_be_stored |= may_be_stored;
    }

    /// A row of the group is bad.
    fn divide(&mut self, error: ServerError) {
        if let [row] = self.groups.top().rows[..] {
            self.groups.pop();
            self.refuse(row, Refusal::Error(error));
            return;
        }
        self.counts.divisions += 1;
        self.groups.divide(row_in_message(&error.message));
    }

    /// The statement is too long.
    fn halve(&mut self) {
        if let [row] = self.groups.top().rows[..] {
            self.groups.pop();
            self.answer(row, CommitAnswer::TooLong);
            return;
        }
        self.counts.divisions += 1;
        self.groups.divide(None);
    }

    /// No row is to blame: all that are left may be sent again.
    fn blame_the_server(&mut self, error: ServerError) {
        self.last_fault = Some(error.clone());
        self.store_none(&NotStored::ServerFault(error));
    }

    /// Rows that were read for another table must not be sent. None of them is to blame, whatever
    /// has failed before.
    fn table_is_other(&mut self) {
        self.doubt.is_table_other = true;
        self.state = ExecutorState::Ready;
        self.store_none(&NotStored::OtherColumns);
    }

    fn store_none(&mut self, why: &NotStored) {
        while !self.groups.is_empty() {
            let group = self.groups.pop();
            for row in group.rows {
                self.answer_not_stored(row, group.may_be_stored, why.clone());
            }
        }
    }

    fn answer_not_stored(&mut self, row: usize, may_be_stored: bool, why: NotStored) {
        self.answer(
            row,
            if may_be_stored { CommitAnswer::Unknown } else { CommitAnswer::NotStored(why) },
        );
    }

    /// All rows have their answers, except those that were refused alone.
    fn finish(&mut self) -> ExecutorAction {
        if self.refused.is_empty() {
            self.blame_lone_sources();
            return ExecutorAction::Done;
        }
        if !matches!(self.state, ExecutorState::Ready | ExecutorState::InspectingRefusal) {
            // There is no connection to look for them.
            self.answer_unjudged();
            return ExecutorAction::Done;
        }
        if !std::mem::replace(&mut self.were_refused_sought, true) {
            let mut rows: Vec<_> = self.refused.iter().map(|(row, _)| *row).collect();
            rows.sort_unstable();
            self.groups.push_refused(rows);
            self.state = ExecutorState::Comparing;
            return ExecutorAction::Compare;
        }
        self.state = ExecutorState::InspectingRefusal;
        ExecutorAction::Inspect
    }

    fn refuse(&mut self, row: usize, refusal: Refusal) {
        self.refused.push((row, refusal));
        self.were_refused_sought = false;
    }

    /// Answers the rows that were refused alone, and are not stored.
    fn answer_refused(&mut self, has_table_changed: bool) {
        for (row, refusal) in std::mem::take(&mut self.refused) {
            self.blamed.push(row);
            self.answer(
                row,
                match refusal {
                    Refusal::Error(error) if has_table_changed => {
                        CommitAnswer::NotStored(NotStored::ServerFault(error))
                    }
                    Refusal::Error(error) => CommitAnswer::Refused(error),
                    Refusal::Changed(_) if has_table_changed => {
                        CommitAnswer::NotStored(NotStored::OtherColumns)
                    }
                    Refusal::Changed(column) => CommitAnswer::Changed { column },
                },
            );
        }
    }

    /// The rows that were refused alone could not be looked for: a trigger may have refused what is
    /// stored.
    fn answer_unjudged(&mut self) {
        for (row, _) in std::mem::take(&mut self.refused) {
            self.answer(row, CommitAnswer::Unknown);
        }
    }

    /// Answers rows whose time is over. Those that may be stored stay in their group: it is sent
    /// again unchanged, as long as a client waits for a row of it.
    fn give_up_late_rows(&mut self, now: Duration) {
        if matches!(self.state, ExecutorState::ToCompare) {
            return;
        }
        let (rows, is_answered) = (&self.rows, &self.is_answered);
        let late = self.groups.remove_late(|row| rows[row].deadline <= now, |row| is_answered[row]);
        for (row, may_be_stored) in late {
            let answer = if may_be_stored {
                CommitAnswer::Unknown
            } else {
                CommitAnswer::NotStored(NotStored::Expired)
            };
            self.answer(row, answer);
        }
    }

    /// The pause doubles with each failure, and half of it is random: many gateways must not retry
    /// together.
    fn pause_for(&mut self, (shortest, longest): (Duration, Duration), then_connect: bool) {
        let full = shortest.saturating_mul(1 << self.failures.min(16)).min(longest);
        self.pause = full / 2 + (full / 2).mul_f64(self.jitter.open_unit());
        self.failures += 1;
        self.state = ExecutorState::Pausing { then_connect };
    }

    /// Until the next row's time is over, so that it is answered then.
    fn pause_within_deadlines(&self, now: Duration) -> Duration {
        let deadlines = self.rows.iter().zip(&self.is_answered).filter(|(_, answered)| !**answered);
        let first = deadlines.map(|(row, _)| row.deadline).min();
        first.map_or(self.pause, |first| self.pause.min(first.saturating_sub(now)))
    }

    fn answer(&mut self, row: usize, answer: CommitAnswer) {
        if !std::mem::replace(&mut self.is_answered[row], true) {
            self.answers.push((row, answer));
        }
    }
}

#[cfg(test)]
mod tests;
