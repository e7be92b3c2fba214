//! Errors that may be the server's fault or one row's. A trigger may report any error for a row, so
//! no list of codes decides whose fault it is: it is tried out.

use std::collections::BTreeSet;

use truetps_driver::ServerError;

use super::{BatchExecutor, ExecutorState, LOGIN_PAUSE, RETRY_PAUSE, Refusal, StatementOutcome};
use crate::fault::{has_waited, may_be_committed};
use crate::{FaultClass, NotStored};

/// If rows of so many clients fail alone, and none succeeds, the server fails.
const LONE_SOURCES_MAX: usize = 4;
/// If so many rows of the same clients fail alone, and none succeeds, the server fails, too.
const LONE_FAILURES_MAX: u32 = 16;
/// A table that cannot be written is given up after so many rows, of which the last ones were
/// chosen at random.
const PROBES_MAX: u32 = 10;

/// What speaks for the server's fault.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "signs that do not exclude each other")]
pub(super) struct ServerDoubt {
    /// Statements that have succeeded, of this batch or beside it.
    pub(super) successes: u64,
    /// Statements of this batch alone that have succeeded.
    pub(super) own_successes: u64,
    /// Clients of rows that failed alone since the last success.
    pub(super) lone_sources: BTreeSet<u64>,
    lone_failures: u32,
    /// Nothing succeeds: rows wait.
    is_server: bool,
    /// Rows of several clients have failed alone, and no statement has succeeded.
    pub(super) is_server_failing: bool,
    pub(super) has_no_connection: bool,
    has_recovered: bool,
    /// The table is not the one that the rows were read for, or cannot be read.
    pub(super) is_table_other: bool,
    /// The error whose cause is looked for in the table's definition.
    error: Option<ServerError>,
}

impl ServerDoubt {
    pub(super) fn note_success(&mut self) {
        self.own_successes += 1;
        self.note_success_elsewhere();
    }

    pub(super) fn note_success_elsewhere(&mut self) {
        self.successes += 1;
        self.has_recovered |= std::mem::take(&mut self.is_server);
        self.lone_sources.clear();
        self.lone_failures = 0;
    }
}

impl BatchExecutor {
    /// The statement of the next group failed: the server or a row of the group is to blame.
    pub(super) fn doubt(&mut self, error: ServerError) {
        let class = FaultClass::of(&error);
        self.note_uncertain(may_be_committed(&error));
        self.counts.retries += 1;
        self.last_fault = Some(error.clone());
        let successes = self.doubt.successes;
        let group = self.groups.top_mut();
        group.failures += 1;
        let was_doubted = std::mem::replace(&mut group.is_doubted, true);
        if group.rows.len() == 1 {
            if successes > *group.failed_alone_at.get_or_insert(successes) {
                return self.blame_the_row(&error);
            }
            self.set_aside();
            return self.wait_or_go_on(class, error);
        }
        match class {
            FaultClass::Configuration if !was_doubted => self.inspect_because_of(error),
            // It may have passed a moment later. A wait for a lock that one row needs costs all of
            // them much time.
            _ if class.passes() && !was_doubted && !has_waited(&error) => self.wait(class),
            _ => self.divide_in_doubt(),
        }
    }

    fn divide_in_doubt(&mut self) {
        self.counts.divisions += 1;
        self.groups.divide(None);
    }

    /// Others are stored, and this row is not.
    fn blame_the_row(&mut self, error: &ServerError) {
        self.last_fault = None;
        let group = self.groups.pop();
        for row in group.rows {
            if FaultClass::of(error).passes() {
                self.blamed.push(row);
                self.answer_not_stored(
                    row,
                    group.may_be_stored,
                    NotStored::ServerFault(error.clone()),
                );
            } else {
                self.refuse(row, Refusal::Error(error.clone()));
            }
        }
    }

    /// The row that failed alone, and all of its client, come after the others.
    fn set_aside(&mut self) {
        let row = self.groups.top().rows[0];
        let source = self.rows[row].source;
        self.doubt.lone_sources.insert(source);
        self.doubt.lone_failures += 1;
        let rows = &self.rows;
        self.groups.set_aside(|row| rows[row].source == source);
    }

    fn wait_or_go_on(&mut self, class: FaultClass, error: ServerError) {
        let is_proven = self.doubt.lone_sources.len() >= LONE_SOURCES_MAX
            || self.doubt.lone_failures >= LONE_FAILURES_MAX
            || self.groups.have_all_failed();
        self.doubt.is_server |= is_proven;
        match class {
            _ if !is_proven => {}
            FaultClass::Configuration if self.doubt.error.is_none() => {
                self.inspect_because_of(error);
            }
            // It does not pass by itself.
            FaultClass::Configuration if self.doubt.lone_failures >= PROBES_MAX => {
                self.give_up(error);
            }
            _ => self.wait(class),
        }
    }

    fn wait(&mut self, class: FaultClass) {
        let is_short = matches!(class, FaultClass::Transient | FaultClass::Configuration);
        self.pause_for(
            if is_short { RETRY_PAUSE } else { LOGIN_PAUSE },
            class == FaultClass::ReadOnly,
        );
    }

    fn give_up(&mut self, error: ServerError) {
        self.blame_the_server(error);
    }

    /// Rows that failed alone may be to blame after all: if they are sent again, they do not go
    /// beside others at once.
    pub(super) fn blame_lone_sources(&mut self) {
        let sources = std::mem::take(&mut self.doubt.lone_sources);
        self.doubt.is_server_failing |= sources.len() > 1;
        let rows = self.rows.iter().enumerate().filter(|(_, row)| sources.contains(&row.source));
        self.blamed.extend(rows.map(|(row, _)| row).collect::<Vec<_>>());
    }

    fn inspect_because_of(&mut self, error: ServerError) {
        self.doubt.error = Some(error);
        self.state = ExecutorState::ToInspect;
    }

    /// Whether an ALTER TABLE explains the error.
    pub(super) fn error_inspected(&mut self, outcome: &StatementOutcome) {
        self.state = ExecutorState::Ready;
        let error = self.doubt.error.clone();
        match (outcome, error) {
            (StatementOutcome::Inspected { has_changed: false }, _)
                if self.groups.top().rows.len() > 1 =>
            {
                self.divide_in_doubt();
            }
            (StatementOutcome::Inspected { has_changed: false }, _) => {
                self.wait(FaultClass::Configuration);
            }
            (StatementOutcome::Lost { .. }, _) => self.lost(false),
            (_, Some(error)) => {
                self.doubt.is_table_other = true;
                self.give_up(error);
            }
            (_, None) => {}
        }
    }

    /// The pause is over: rows that have not been tried, or one of all, show whether the server
    /// still fails.
    pub(super) fn paused(&mut self, then_connect: bool) {
        self.state = if then_connect { ExecutorState::ToConnect } else { ExecutorState::Ready };
        if self.doubt.is_server {
            let jitter = &mut self.jitter;
            self.groups.choose_one(|below| jitter.below(below as u64) as usize);
        }
    }

    pub(super) fn join_after_recovery(&mut self) {
        if std::mem::take(&mut self.doubt.has_recovered) {
            self.groups.join();
        }
    }
}
