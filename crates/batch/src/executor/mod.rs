//! Which statement comes next. Input: the outcomes of statements; output: the next action, and answers to rows.
//!
//! Rows that are not answered are in groups, each inserted by one statement that commits. All outcomes lead to one of
//! these:
//!
//! - stored: the rows of the group are answered. If some were in the table before, their values are compared first;
//! - a bad row: the group is divided until the row stands alone. Only a row that was refused *alone* is refused for
//!   good, so a wrong row number in a message costs two statements and never an answer;
//! - not now: the same group again, after a pause, until the deadlines of its rows;
//! - unknown: the same group again after a new login. The unique key makes that harmless;
//! - not these rows' fault: all are answered that they may be sent again. Before a row is refused
//!   for good, the table is inspected: after an ALTER TABLE no client may lose a row that was correct when it was read.

mod groups;

use std::time::Duration;

use truetps_driver::ServerError;
use truetps_random::RandomStream;

use crate::fault::{may_be_committed, row_in_message};
use crate::{CommitAnswer, FaultClass, NotStored};
use groups::{InsertGroup, InsertGroups};

/// Shortest and longest pause before the same statement is sent again.
const RETRY_PAUSE: (Duration, Duration) = (Duration::from_millis(2), Duration::from_secs(1));
/// The same before a login, and if the server can store nothing.
const LOGIN_PAUSE: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(2));

/// Properties of a row that decide about it.
#[derive(Debug, Clone, Copy)]
pub struct ExecutorRow {
    pub deadline: Duration,
}

/// The next action; statements are for the rows in [`BatchExecutor::group`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecutorAction {
    /// Insert the rows with one statement, and commit.
    Insert,
    /// Find out which of the rows, all stored, have other values than were sent.
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
    /// Committed. `new_rows` were not in the table before.
    Inserted {
        new_rows: u64,
    },
    /// These rows of the group are stored with other values: numbers in the batch.
    Compared {
        different: Vec<usize>,
    },
    Inspected {
        has_changed: bool,
    },
    /// The server refused the statement.
    Refused(ServerError),
    /// The connection is unusable, or no reply arrived in time. `was_sent`: the statement may have been executed.
    Lost {
        was_sent: bool,
    },
    Connected,
    ConnectFailed,
    /// The pause is over.
    Paused,
}

/// What happened in one batch. `statements` = all inserts; each replay, retry and division is one of them.
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
        let Self { statements, replays, found_rows, unknown_outcomes, retries, divisions, logins } = other;
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
    /// The next group is to be inserted.
    Ready,
    Inserting,
    /// Committed; `new_rows` of the group are new.
    ToCompare,
    Comparing,
    Inspecting,
    ToConnect,
    Connecting,
    Pausing {
        then_connect: bool,
    },
}

/// One batch, from its first statement to the answer of its last row.
#[derive(Debug)]
pub struct BatchExecutor {
    rows: Vec<ExecutorRow>,
    is_answered: Vec<bool>,
    answers: Vec<(usize, CommitAnswer)>,
    groups: InsertGroups,
    /// Rows that were refused alone. They are answered at the end, when the table has been inspected.
    refused: Vec<(usize, ServerError)>,
    state: ExecutorState,
    new_rows: u64,
    /// Failures since the last success: pauses grow with them.
    failures: u32,
    pause: Duration,
    compares: bool,
    jitter: RandomStream,
    counts: BatchCounts,
    last_fault: Option<ServerError>,
}

impl BatchExecutor {
    /// `is_connected`: whether there is a connection at first. `compares`: whether duplicates are compared.
    pub fn new(rows: Vec<ExecutorRow>, is_connected: bool, compares: bool, seed: u64) -> Self {
        Self {
            is_answered: vec![false; rows.len()],
            answers: Vec::new(),
            groups: InsertGroups::of_batch(rows.len()),
            refused: Vec::new(),
            state: if is_connected { ExecutorState::Ready } else { ExecutorState::ToConnect },
            new_rows: 0,
            failures: 0,
            pause: Duration::ZERO,
            compares,
            jitter: RandomStream::new(seed, 0),
            counts: BatchCounts::default(),
            last_fault: None,
            rows,
        }
    }

    pub fn counts(&self) -> &BatchCounts {
        &self.counts
    }

    /// The last error that was no row's fault, until a statement succeeds.
    pub fn last_fault(&self) -> Option<&ServerError> {
        self.last_fault.as_ref()
    }

    /// Whether the database fails: nothing has succeeded since the last failure that was no row's fault.
    pub fn is_failing(&self) -> bool {
        self.failures > 0
    }

    /// Answers since the last call.
    pub fn take_answers(&mut self) -> Vec<(usize, CommitAnswer)> {
        std::mem::take(&mut self.answers)
    }

    /// The next action; its end is recorded by [`BatchExecutor::record`].
    pub fn next_action(&mut self, now: Duration) -> ExecutorAction {
        self.give_up_late_rows(now);
        match self.state {
            _ if self.groups.is_empty() => self.finish(),
            ExecutorState::Ready | ExecutorState::Inserting => {
                self.state = ExecutorState::Inserting;
                self.counts.statements += 1;
                self.counts.replays += u64::from(self.groups.top().may_be_stored);
                ExecutorAction::Insert
            }
            ExecutorState::ToCompare | ExecutorState::Comparing => {
                self.state = ExecutorState::Comparing;
                ExecutorAction::Compare
            }
            // It begins when no group is left.
            ExecutorState::Inspecting => self.finish(),
            ExecutorState::ToConnect | ExecutorState::Connecting => {
                self.state = ExecutorState::Connecting;
                self.counts.logins += 1;
                ExecutorAction::Connect
            }
            ExecutorState::Pausing { .. } => ExecutorAction::Pause(self.pause_within_deadlines(now)),
        }
    }

    /// The rows of the current statement: numbers in the batch, in ascending order.
    pub fn group(&self) -> &[usize] {
        &self.groups.top().rows
    }

    /// Takes the outcome of the last action.
    pub fn record(&mut self, outcome: StatementOutcome) {
        let state = self.state;
        match (state, outcome) {
            (ExecutorState::Inserting, StatementOutcome::Inserted { new_rows }) => self.inserted(new_rows),
            (ExecutorState::Comparing, StatementOutcome::Compared { different }) => self.compared(&different),
            (ExecutorState::Inspecting, outcome) => {
                self.answer_refused(outcome != StatementOutcome::Inspected { has_changed: false });
                self.state = ExecutorState::Ready;
            }
            (ExecutorState::Inserting, StatementOutcome::Refused(error)) => self.refused(error),
            (ExecutorState::Comparing, StatementOutcome::Refused(error)) => self.compare_refused(error),
            (ExecutorState::Connecting, StatementOutcome::Connected) => self.state = ExecutorState::Ready,
            (ExecutorState::Connecting, StatementOutcome::Refused(error)) => {
                self.last_fault = Some(error);
                self.pause_before_login();
            }
            (ExecutorState::Connecting, _) => self.pause_before_login(),
            (ExecutorState::Pausing { then_connect }, _) => {
                self.state = if then_connect { ExecutorState::ToConnect } else { ExecutorState::Ready };
            }
            (_, StatementOutcome::Lost { was_sent }) => self.lost(was_sent),
            (state, outcome) => debug_assert!(false, "{outcome:?} is no outcome of {state:?}"),
        }
    }

    fn inserted(&mut self, new_rows: u64) {
        self.succeeded();
        self.new_rows = new_rows;
        let group = self.groups.top();
        if group.may_be_stored {
            self.counts.found_rows += (group.rows.len() as u64).saturating_sub(new_rows);
        }
        if new_rows < group.rows.len() as u64 && self.compares {
            self.state = ExecutorState::ToCompare;
            return;
        }
        self.compared(&[]);
    }

    fn compared(&mut self, different: &[usize]) {
        let group = self.groups.pop();
        let is_duplicate = match (self.new_rows, group.rows.len() as u64) {
            (new, all) if new == all => Some(false),
            (0, _) if !group.may_be_stored => Some(true),
            _ => None,
        };
        for row in group.rows {
            if different.contains(&row) {
                self.answer(row, CommitAnswer::KeyConflict);
            } else {
                self.answer(row, CommitAnswer::Stored { is_duplicate });
            }
        }
        self.succeeded();
    }

    fn succeeded(&mut self) {
        self.failures = 0;
        self.last_fault = None;
        self.state = ExecutorState::Ready;
    }

    fn refused(&mut self, error: ServerError) {
        self.state = ExecutorState::Ready;
        let class = FaultClass::of(&error);
        match class {
            FaultClass::BadRow | FaultClass::Conflict => self.divide(error),
            FaultClass::TooLong => self.halve(),
            FaultClass::Transient | FaultClass::Down => {
                let uncertain = may_be_committed(&error);
                self.note_uncertain(uncertain);
                self.last_fault = Some(error);
                self.counts.retries += 1;
                let pause = if class == FaultClass::Down { LOGIN_PAUSE } else { RETRY_PAUSE };
                self.pause_for(pause, false);
            }
            FaultClass::ReadOnly => {
                self.last_fault = Some(error);
                self.counts.retries += 1;
                self.pause_before_login();
            }
            FaultClass::Configuration => self.blame_the_server(error),
        }
    }

    /// The rows are stored, but whether their values are the sent ones is not known.
    fn compare_refused(&mut self, error: ServerError) {
        match FaultClass::of(&error) {
            FaultClass::Transient | FaultClass::Down | FaultClass::ReadOnly => self.refused(error),
            _ => {
                self.note_uncertain(true);
                self.blame_the_server(error);
            }
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
            self.pause_before_login();
        }
    }

    fn note_uncertain(&mut self, may_be_stored: bool) {
        self.groups.top_mut().may_be_stored |= may_be_stored;
    }

    /// A row of the group is bad.
    fn divide(&mut self, error: ServerError) {
        if let [row] = self.groups.top().rows[..] {
            self.groups.pop();
            self.refused.push((row, error));
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
        while !self.groups.is_empty() {
            let InsertGroup { rows, may_be_stored, .. } = self.groups.pop();
            for row in rows {
                let not_stored = CommitAnswer::NotStored(NotStored::ServerFault(error.clone()));
                self.answer(row, if may_be_stored { CommitAnswer::Unknown } else { not_stored });
            }
        }
        self.last_fault = Some(error);
    }

    /// All rows have their answers, except those that were refused alone.
    fn finish(&mut self) -> ExecutorAction {
        if self.refused.is_empty() {
            return ExecutorAction::Done;
        }
        if !matches!(self.state, ExecutorState::Ready | ExecutorState::Inspecting) {
            // There is no connection to inspect the table with.
            self.answer_refused(true);
            return ExecutorAction::Done;
        }
        self.state = ExecutorState::Inspecting;
        ExecutorAction::Inspect
    }

    /// Answers the rows that were refused alone.
    fn answer_refused(&mut self, has_table_changed: bool) {
        for (row, error) in std::mem::take(&mut self.refused) {
            let fault = |error| CommitAnswer::NotStored(NotStored::ServerFault(error));
            self.answer(row, if has_table_changed { fault(error) } else { CommitAnswer::Refused(error) });
        }
    }

    /// Answers rows whose time is over. Those that may be stored stay in their group: it is sent again unchanged, as long
    /// as a client waits for a row of it.
    fn give_up_late_rows(&mut self, now: Duration) {
        if matches!(self.state, ExecutorState::ToCompare) {
            return;
        }
        let (rows, is_answered) = (&self.rows, &self.is_answered);
        let late = self.groups.remove_late(|row| rows[row].deadline <= now, |row| is_answered[row]);
        for (row, may_be_stored) in late {
            let answer =
                if may_be_stored { CommitAnswer::Unknown } else { CommitAnswer::NotStored(NotStored::Expired) };
            self.answer(row, answer);
        }
    }

    fn pause_before_login(&mut self) {
        self.pause_for(LOGIN_PAUSE, true);
    }

    /// The pause doubles with each failure, and half of it is random: many gateways must not retry together.
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
