//! Each decision on its own; `tests/simulation` has all of them together, with faults.

use super::*;

const MS: Duration = Duration::from_millis(1);
const DEADLINE: Duration = Duration::from_secs(10);

fn error(code: u16, message: &str) -> ServerError {
    ServerError { code, sqlstate: "HY000".to_owned(), message: message.to_owned(), position: 0 }
}

fn refused(code: u16, message: &str) -> StatementOutcome {
    StatementOutcome::Refused(error(code, message))
}

fn executor(rows: usize) -> BatchExecutor {
    BatchExecutor::new(vec![ExecutorRow { deadline: DEADLINE }; rows], true, true, 1)
}

/// The rows of the insert that must come next.
#[track_caller]
fn inserts(executor: &mut BatchExecutor) -> Vec<usize> {
    assert_eq!(executor.next_action(MS), ExecutorAction::Insert);
    executor.group().to_vec()
}

/// Inserts into a table that refuses these rows, until all rows are answered. Returns the number of statements.
fn run(executor: &mut BatchExecutor, bad: &[(usize, u16)], names_row: bool) -> u64 {
    while executor.next_action(MS) == ExecutorAction::Insert {
        let group = executor.group().to_vec();
        let first_bad = group
            .iter()
            .enumerate()
            .find_map(|(at, row)| bad.iter().find(|(bad, _)| bad == row).map(|(_, code)| (at, *code)));
        executor.record(match first_bad {
            Some((at, code)) if names_row => refused(code, &format!("wrong value at row {}", at + 1)),
            Some((_, code)) => refused(code, "wrong value"),
            None => StatementOutcome::Inserted { new_rows: group.len() as u64 },
        });
    }
    executor.counts().statements
}

/// The table is as it was.
fn inspect(executor: &mut BatchExecutor) {
    assert_eq!(executor.next_action(MS), ExecutorAction::Inspect);
    executor.record(StatementOutcome::Inspected { has_changed: false });
    assert_eq!(executor.next_action(MS), ExecutorAction::Done);
}

fn answers(executor: &mut BatchExecutor) -> Vec<CommitAnswer> {
    let mut answers = executor.take_answers();
    answers.sort_by_key(|(row, _)| *row);
    assert!(answers.iter().enumerate().all(|(n, (row, _))| n == *row), "one answer for each row");
    answers.into_iter().map(|(_, answer)| answer).collect()
}

const NEW: CommitAnswer = CommitAnswer::Stored { is_duplicate: Some(false) };

#[test]
fn a_batch_is_one_statement() {
    let mut executor = executor(3);
    assert_eq!(run(&mut executor, &[], true), 1);
    assert_eq!(answers(&mut executor), [NEW, NEW, NEW]);
}

#[test]
fn a_bad_row_costs_only_its_own_client() {
    for names_row in [true, false] {
        for bad in 0..100 {
            let mut executor = executor(100);
            let statements = run(&mut executor, &[(bad, 1406)], names_row);
            inspect(&mut executor);
            let answers = answers(&mut executor);
            assert!(answers.iter().enumerate().all(|(row, answer)| match answer {
                CommitAnswer::Refused(error) => row == bad && error.code == 1406,
                answer => row != bad && *answer == NEW,
            }));
            let most = if names_row { 3 } else { 16 };
            assert!(statements <= most, "{statements} statements for row {bad}");
        }
    }
}

#[test]
fn many_bad_rows_are_found_by_halves() {
    let bad: Vec<_> = (0..64).filter(|row| row % 2 == 0).map(|row| (row, 1366)).collect();
    let mut executor = executor(64);
    let statements = run(&mut executor, &bad, true);
    inspect(&mut executor);
    let refused = answers(&mut executor).iter().filter(|answer| matches!(answer, CommitAnswer::Refused(_))).count();
    assert_eq!(refused, 32);
    assert!(statements < 128, "{statements}");
}

#[test]
fn a_wrong_row_number_refuses_no_good_row() {
    let mut executor = executor(4);
    while executor.next_action(MS) == ExecutorAction::Insert {
        let group = executor.group().to_vec();
        // Row 2 is bad, and the message always names the first row.
        let bad = group.contains(&2);
        let stored = StatementOutcome::Inserted { new_rows: group.len() as u64 };
        executor.record(if bad { refused(1406, "too long at row 1") } else { stored });
    }
    inspect(&mut executor);
    let answers = answers(&mut executor);
    assert!(matches!(&answers[..], [NEW, NEW, CommitAnswer::Refused(_), NEW]), "{answers:?}");
}

#[test]
fn before_rows_are_refused_the_table_is_inspected() {
    let all: Vec<_> = (0..5).map(|row| (row, 1364)).collect();
    let check = |outcome, is_fault: bool| {
        let mut executor = executor(5);
        run(&mut executor, &all, false);
        assert_eq!(executor.next_action(MS), ExecutorAction::Inspect);
        executor.record(outcome);
        let as_expected = |answer: &CommitAnswer| match answer {
            CommitAnswer::NotStored(NotStored::ServerFault(_)) => is_fault,
            answer => matches!(answer, CommitAnswer::Refused(_)) && !is_fault,
        };
        assert!(answers(&mut executor).iter().all(as_expected));
        assert_eq!(executor.next_action(MS), ExecutorAction::Done);
    };
    check(StatementOutcome::Inspected { has_changed: true }, true);
    check(StatementOutcome::Inspected { has_changed: false }, false);
    // It is not known: the rows may be sent again.
    check(StatementOutcome::Lost { was_sent: true }, true);
    check(refused(1142, "SELECT command denied"), true);
}

#[test]
fn an_unknown_outcome_is_sent_again_unchanged() {
    let mut executor = executor(3);
    assert_eq!(inserts(&mut executor), [0, 1, 2]);
    executor.record(StatementOutcome::Lost { was_sent: true });
    assert_eq!(executor.next_action(MS), ExecutorAction::Connect);
    executor.record(StatementOutcome::ConnectFailed);
    assert!(matches!(executor.next_action(MS), ExecutorAction::Pause(_)));
    executor.record(StatementOutcome::Paused);
    assert_eq!(executor.next_action(MS), ExecutorAction::Connect);
    executor.record(StatementOutcome::Connected);
    assert_eq!(inserts(&mut executor), [0, 1, 2]);
    executor.record(StatementOutcome::Inserted { new_rows: 0 });
    assert_eq!(executor.next_action(MS), ExecutorAction::Compare);
    executor.record(StatementOutcome::Compared { different: vec![1] });
    let stored = CommitAnswer::Stored { is_duplicate: None };
    assert_eq!(answers(&mut executor), [stored.clone(), CommitAnswer::KeyConflict, stored]);
    assert_eq!(executor.next_action(MS), ExecutorAction::Done);
    let counts = executor.counts();
    assert_eq!((counts.statements, counts.replays, counts.unknown_outcomes, counts.logins), (2, 1, 1, 2));
}

#[test]
fn a_duplicate_is_named_where_it_is_certain() {
    let mut executor = executor(2);
    inserts(&mut executor);
    executor.record(StatementOutcome::Inserted { new_rows: 0 });
    assert_eq!(executor.next_action(MS), ExecutorAction::Compare);
    executor.record(StatementOutcome::Compared { different: Vec::new() });
    let duplicate = CommitAnswer::Stored { is_duplicate: Some(true) };
    assert_eq!(answers(&mut executor), [duplicate.clone(), duplicate]);
}

#[test]
fn an_error_that_passes_is_retried_until_the_deadline() {
    let mut executor = executor(2);
    let mut pauses = Vec::new();
    for _ in 0..12 {
        inserts(&mut executor);
        executor.record(refused(1213, "Deadlock found"));
        let ExecutorAction::Pause(pause) = executor.next_action(MS) else { panic!("no pause") };
        pauses.push(pause);
        executor.record(StatementOutcome::Paused);
    }
    assert!(pauses[0] <= 2 * MS && pauses[11] >= 500 * MS && pauses[11] <= 1000 * MS, "{pauses:?}");
    assert_eq!(executor.next_action(DEADLINE), ExecutorAction::Done);
    assert_eq!(answers(&mut executor), vec![CommitAnswer::NotStored(NotStored::Expired); 2]);
}

#[test]
fn late_rows_whose_outcome_is_unknown_are_not_promised_anything() {
    let rows = [DEADLINE, 2 * DEADLINE].map(|deadline| ExecutorRow { deadline });
    let mut executor = BatchExecutor::new(rows.to_vec(), true, true, 1);
    inserts(&mut executor);
    executor.record(StatementOutcome::Lost { was_sent: true });
    assert_eq!(executor.next_action(DEADLINE), ExecutorAction::Connect);
    assert_eq!(executor.take_answers(), [(0, CommitAnswer::Unknown)]);
    executor.record(StatementOutcome::Connected);
    // The statement stays the same.
    assert_eq!(inserts(&mut executor), [0, 1]);
    executor.record(StatementOutcome::Inserted { new_rows: 2 });
    assert_eq!(executor.take_answers(), [(1, NEW)]);
}

#[test]
fn a_changed_table_refuses_no_row() {
    let mut executor = executor(4);
    inserts(&mut executor);
    executor.record(refused(1406, "too long at row 2"));
    inserts(&mut executor);
    executor.record(refused(1054, "Unknown column"));
    assert_eq!(executor.next_action(MS), ExecutorAction::Done);
    let answers = answers(&mut executor);
    assert!(answers.iter().all(|answer| matches!(answer, CommitAnswer::NotStored(NotStored::ServerFault(_)))));
}

#[test]
fn a_statement_that_is_too_long_is_halved() {
    let mut executor = executor(4);
    while executor.next_action(MS) == ExecutorAction::Insert {
        let group = executor.group().to_vec();
        let stored = StatementOutcome::Inserted { new_rows: group.len() as u64 };
        let is_long = group.len() > 2 || group.contains(&3);
        executor.record(if is_long {
            refused(1153, "Got a packet bigger than 'max_allowed_packet' bytes")
        } else {
            stored
        });
    }
    assert_eq!(answers(&mut executor), [NEW, NEW, NEW, CommitAnswer::TooLong]);
}

#[test]
fn a_read_only_server_is_left_for_its_successor() {
    let mut executor = executor(1);
    inserts(&mut executor);
    executor.record(refused(1290, "--read-only"));
    assert!(matches!(executor.next_action(MS), ExecutorAction::Pause(_)));
    executor.record(StatementOutcome::Paused);
    assert_eq!(executor.next_action(MS), ExecutorAction::Connect);
    executor.record(StatementOutcome::Connected);
    assert_eq!(executor.last_fault().unwrap().code, 1290);
    inserts(&mut executor);
    executor.record(StatementOutcome::Inserted { new_rows: 1 });
    assert_eq!(executor.last_fault(), None);
    assert_eq!(answers(&mut executor), [NEW]);
}
