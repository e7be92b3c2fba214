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
    let rows: Vec<_> =
        (0..rows).map(|row| ExecutorRow { deadline: DEADLINE, source: row as u64 }).collect();
    BatchExecutor::new(rows, &[], true, 1)
}

/// All rows of the group are new.
fn inserted(rows: usize) -> StatementOutcome {
    StatementOutcome::Inserted { new_rows: rows as u64, told: Vec::new() }
}

fn found(rows: &[(usize, FoundVerdict)]) -> StatementOutcome {
    let found = rows.iter().map(|(row, verdict)| SeenRow { row: *row, verdict: verdict.clone() });
    StatementOutcome::Compared { found: found.collect() }
}

fn duplicate(key: &str) -> StatementOutcome {
    refused(1062, &format!("Duplicate entry '{key}' for key 'PRIMARY'"))
}

#[track_caller]
fn compares(executor: &mut BatchExecutor) -> Vec<usize> {
    assert_eq!(executor.next_action(MS), ExecutorAction::Compare);
    executor.group().to_vec()
}

/// The rows of the insert that must come next.
#[track_caller]
fn inserts(executor: &mut BatchExecutor) -> Vec<usize> {
    assert_eq!(executor.next_action(MS), ExecutorAction::Insert);
    executor.group().to_vec()
}

/// Inserts into a table that refuses these rows, until all rows are answered. Returns the number of
/// statements.
fn run(executor: &mut BatchExecutor, bad: &[(usize, u16)], names_row: bool) -> u64 {
    while executor.next_action(MS) == ExecutorAction::Insert {
        let group = executor.group().to_vec();
        let first_bad = group.iter().enumerate().find_map(|(at, row)| {
            bad.iter().find(|(bad, _)| bad == row).map(|(_, code)| (at, *code))
        });
        executor.record(match first_bad {
            Some((at, code)) if names_row => {
                refused(code, &format!("wrong value at row {}", at + 1))
            }
            Some((_, code)) => refused(code, "wrong value"),
            None => inserted(group.len()),
        });
    }
    executor.counts().statements
}

/// The refused rows are not in the table, and it is as it was.
#[track_caller]
fn inspect(executor: &mut BatchExecutor) {
    compares(executor);
    executor.record(found(&[]));
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
    let refused = answers(&mut executor)
        .iter()
        .filter(|answer| matches!(answer, CommitAnswer::Refused(_)))
        .count();
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
        let stored = inserted(group.len());
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
        assert_eq!(executor.group(), [0, 1, 2, 3, 4]);
        executor.record(found(&[]));
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
    executor.record(duplicate("1"));
    assert_eq!(compares(&mut executor), [0, 1, 2]);
    executor.record(found(&[
        (0, FoundVerdict::Equal),
        (1, FoundVerdict::Differs),
        (2, FoundVerdict::Equal),
    ]));
    let stored = CommitAnswer::Stored { is_duplicate: None };
    assert_eq!(answers(&mut executor), [stored.clone(), CommitAnswer::KeyConflict, stored]);
    assert_eq!(executor.next_action(MS), ExecutorAction::Done);
    let counts = executor.counts();
    assert_eq!(
        (counts.statements, counts.replays, counts.unknown_outcomes, counts.logins),
        (2, 1, 1, 2)
    );
}

#[test]
fn only_a_stored_row_that_was_seen_is_a_duplicate() {
    let mut executor = executor(3);
    inserts(&mut executor);
    executor.record(duplicate("1"));
    assert_eq!(compares(&mut executor), [0, 1, 2]);
    executor.record(found(&[(1, FoundVerdict::Equal)]));
    assert_eq!(executor.take_answers(), [(1, CommitAnswer::Stored { is_duplicate: Some(true) })]);
    // The others are new.
    assert_eq!(inserts(&mut executor), [0, 2]);
    executor.record(inserted(2));
    assert_eq!(executor.take_answers(), [(0, NEW), (2, NEW)]);
}

/// The value of another unique key: no row with the sent key is there.
#[test]
fn a_conflict_without_a_stored_row_is_refused_alone() {
    let mut executor = executor(2);
    let mut statements = 0;
    loop {
        match executor.next_action(MS) {
            ExecutorAction::Insert => {
                statements += 1;
                let group = executor.group().to_vec();
                executor.record(if group.contains(&1) {
                    duplicate("x")
                } else {
                    inserted(group.len())
                });
            }
            ExecutorAction::Compare => executor.record(found(&[])),
            ExecutorAction::Inspect => {
                executor.record(StatementOutcome::Inspected { has_changed: false });
            }
            ExecutorAction::Done => break,
            action => panic!("{action:?}"),
        }
    }
    let answers = answers(&mut executor);
    assert!(
        matches!(&answers[..], [NEW, CommitAnswer::Refused(error)] if error.code == 1062),
        "{answers:?}"
    );
    assert!(statements <= 4, "{statements}");
}

#[test]
fn rows_that_the_table_would_change_are_refused_and_the_others_stored() {
    let mut executor = executor(3);
    inserts(&mut executor);
    executor.record(StatementOutcome::Changed { rows: vec![(1, Some("a".to_owned()))] });
    assert_eq!(inserts(&mut executor), [0, 2]);
    executor.record(inserted(2));
    assert_eq!(executor.take_answers(), [(0, NEW), (2, NEW)]);
    inspect(&mut executor);
    assert_eq!(
        executor.take_answers(),
        [(1, CommitAnswer::Changed { column: Some("a".to_owned()) })]
    );
}

/// A trigger takes rows away without a word.
#[test]
fn fewer_rows_than_sent_are_looked_for() {
    let mut executor = executor(2);
    inserts(&mut executor);
    executor.record(inserted(1));
    assert_eq!(compares(&mut executor), [0, 1]);
    executor.record(found(&[(0, FoundVerdict::Equal)]));
    inspect(&mut executor);
    let stored = CommitAnswer::Stored { is_duplicate: None };
    assert_eq!(answers(&mut executor), [stored, CommitAnswer::Changed { column: None }]);
}

/// A trigger that refuses what is stored already: the first statement was committed, and its reply
/// was lost.
#[test]
fn a_refused_row_that_is_stored_is_acknowledged() {
    let mut executor = executor(1);
    inserts(&mut executor);
    executor.record(StatementOutcome::Lost { was_sent: true });
    executor.next_action(MS);
    executor.record(StatementOutcome::Connected);
    inserts(&mut executor);
    executor.record(refused(1644, "it is there already"));
    assert_eq!(compares(&mut executor), [0]);
    executor.record(found(&[(0, FoundVerdict::Equal)]));
    assert_eq!(answers(&mut executor), [CommitAnswer::Stored { is_duplicate: None }]);
    assert_eq!(executor.next_action(MS), ExecutorAction::Done);
}

#[test]
fn rows_with_the_key_of_another_row_come_later() {
    let rows = vec![ExecutorRow { deadline: DEADLINE, source: 1 }; 3];
    let mut executor = BatchExecutor::new(rows, &[1], true, 1);
    assert_eq!(inserts(&mut executor), [0, 2]);
    executor.record(inserted(2));
    assert_eq!(inserts(&mut executor), [1]);
    executor.record(duplicate("1"));
    compares(&mut executor);
    executor.record(found(&[(1, FoundVerdict::Differs)]));
    assert_eq!(answers(&mut executor), [NEW, CommitAnswer::KeyConflict, NEW]);
}

/// Drives a batch whose rows in `bad` fail with this error, whatever it is; others succeed. Returns
/// the answers and the number of statements.
fn poisoned(rows: usize, bad: &[usize], code: u16, sqlstate: &str) -> (Vec<CommitAnswer>, u64) {
    let mut executor = executor(rows);
    let mut beside = 0;
    loop {
        match executor.next_action(MS) {
            ExecutorAction::Insert => {
                let group = executor.group().to_vec();
                let is_bad = group.iter().any(|row| bad.contains(row));
                let error =
                    ServerError { sqlstate: sqlstate.to_owned(), ..error(code, "of a trigger") };
                executor.record(if is_bad {
                    StatementOutcome::Refused(error)
                } else {
                    inserted(group.len())
                });
            }
            ExecutorAction::Compare => executor.record(found(&[])),
            ExecutorAction::Inspect => {
                executor.record(StatementOutcome::Inspected { has_changed: false });
            }
            ExecutorAction::Connect => executor.record(StatementOutcome::Connected),
            ExecutorAction::Pause(_) => {
                beside += 1;
                assert!(beside < 50, "the batch waits although rows beside it are stored");
                executor.note_success_elsewhere();
                executor.record(StatementOutcome::Paused);
            }
            ExecutorAction::Done => break,
        }
    }
    let statements = executor.counts().statements;
    (answers(&mut executor), statements)
}

#[test]
fn whose_fault_an_error_is_does_not_depend_on_its_code() {
    let codes = [
        (1526, "HY000"),
        (1213, "40001"),
        (1290, "HY000"),
        (1114, "HY000"),
        (1146, "42S02"),
        (1053, "08S01"),
        (9999, "99999"),
    ];
    for (code, state) in codes {
        for bad in [&[0][..], &[7], &[99], &[3, 50], &[10, 11, 12, 13, 14, 15, 16, 17, 18, 19]] {
            let (answers, statements) = poisoned(100, bad, code, state);
            for (row, answer) in answers.iter().enumerate() {
                let is_blamed = matches!(
                    answer,
                    CommitAnswer::Refused(_) | CommitAnswer::NotStored(_) | CommitAnswer::Unknown
                );
                assert!(
                    if bad.contains(&row) { is_blamed } else { *answer == NEW },
                    "{code}: row {row} {answer:?}"
                );
            }
            assert!(statements < 30 + 12 * bad.len() as u64, "{code} {bad:?}: {statements}");
        }
    }
}

/// A row that failed alone while others were stored would be refused at its next error: this is
/// none.
#[test]
fn a_table_that_is_another_one_blames_no_row() {
    let mut executor = executor(1);
    inserts(&mut executor);
    executor.record(refused(1205, "lock wait timeout"));
    executor.note_success_elsewhere();
    while !matches!(executor.next_action(MS), ExecutorAction::Insert) {
        executor.record(StatementOutcome::Paused);
    }
    executor.record(StatementOutcome::Inspected { has_changed: true });
    assert_eq!(executor.next_action(MS), ExecutorAction::Done);
    assert_eq!(executor.take_answers(), [(0, CommitAnswer::NotStored(NotStored::OtherColumns))]);
    assert!(executor.is_server_failing() && executor.take_blamed().is_empty());
}

/// If every row fails, the server does, and rows wait for it.
#[test]
fn a_server_that_fails_blames_no_row() {
    for (code, state) in [(1114, "HY000"), (9999, "99999"), (1290, "HY000")] {
        let mut executor = executor(100);
        let mut statements = 0;
        while let action = executor.next_action(MS)
            && statements < 60
        {
            match action {
                ExecutorAction::Insert => {
                    statements += 1;
                    executor.record(StatementOutcome::Refused(ServerError {
                        sqlstate: state.to_owned(),
                        ..error(code, "full")
                    }));
                }
                ExecutorAction::Connect => executor.record(StatementOutcome::Connected),
                ExecutorAction::Pause(_) => executor.record(StatementOutcome::Paused),
                action => panic!("{action:?}"),
            }
        }
        assert!(executor.take_answers().is_empty() && executor.take_blamed().is_empty());
        assert!(executor.is_server_failing());
        // It has recovered: the rows are stored by few statements.
        let before = executor.counts().statements;
        loop {
            match executor.next_action(MS) {
                ExecutorAction::Insert => {
                    let rows = executor.group().len();
                    executor.record(inserted(rows));
                }
                ExecutorAction::Connect => executor.record(StatementOutcome::Connected),
                ExecutorAction::Pause(_) => executor.record(StatementOutcome::Paused),
                ExecutorAction::Done => break,
                action => panic!("{action:?}"),
            }
        }
        assert!(answers(&mut executor).iter().all(|answer| *answer == NEW));
        // Rows that were tried alone stay alone.
        let after = executor.counts().statements - before;
        assert!(after < 45, "{after}");
    }
}

/// Rows that come while a batch waits show that it is its own rows that fail.
#[test]
fn rows_that_join_a_waiting_batch_are_stored() {
    let mut executor = executor(1);
    inserts(&mut executor);
    executor.record(refused(1213, "of a trigger"));
    assert!(matches!(executor.next_action(MS), ExecutorAction::Pause(_)));
    assert!(executor.is_waiting() && !executor.is_server_failing());
    executor.add_rows([ExecutorRow { deadline: DEADLINE, source: 7 }].into_iter());
    assert_eq!(inserts(&mut executor), [1]);
    executor.record(inserted(1));
    assert_eq!(executor.take_answers(), [(1, NEW)]);
    assert_eq!(inserts(&mut executor), [0]);
    executor.record(refused(1213, "of a trigger"));
    assert!(matches!(
        executor.take_answers()[..],
        [(0, CommitAnswer::NotStored(NotStored::ServerFault(_)))]
    ));
    assert_eq!(executor.take_blamed(), [0]);
}

#[test]
fn an_error_that_passes_is_retried_until_the_deadline() {
    let mut executor = executor(1);
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
    assert_eq!(answers(&mut executor), [CommitAnswer::NotStored(NotStored::Expired)]);
}

#[test]
fn late_rows_whose_outcome_is_unknown_are_not_promised_anything() {
    let rows = [DEADLINE, 2 * DEADLINE].map(|deadline| ExecutorRow { deadline, source: 0 });
    let mut executor = BatchExecutor::new(rows.to_vec(), &[], true, 1);
    inserts(&mut executor);
    executor.record(StatementOutcome::Lost { was_sent: true });
    assert_eq!(executor.next_action(DEADLINE), ExecutorAction::Connect);
    assert_eq!(executor.take_answers(), [(0, CommitAnswer::Unknown)]);
    executor.record(StatementOutcome::Connected);
    // The statement stays the same.
    assert_eq!(inserts(&mut executor), [0, 1]);
    executor.record(inserted(2));
    assert_eq!(executor.take_answers(), [(1, NEW)]);
}

#[test]
fn a_changed_table_refuses_no_row() {
    let mut executor = executor(4);
    inserts(&mut executor);
    executor.record(refused(1406, "too long at row 2"));
    inserts(&mut executor);
    executor.record(refused(1054, "Unknown column"));
    assert_eq!(executor.next_action(MS), ExecutorAction::Inspect);
    executor.record(StatementOutcome::Inspected { has_changed: true });
    assert_eq!(executor.next_action(MS), ExecutorAction::Done);
    let answers = answers(&mut executor);
    assert!(
        answers
            .iter()
            .all(|answer| matches!(answer, CommitAnswer::NotStored(NotStored::ServerFault(_))))
    );
    assert!(executor.is_server_failing());
}

#[test]
fn a_statement_that_is_too_long_is_halved() {
    let mut executor = executor(4);
    while executor.next_action(MS) == ExecutorAction::Insert {
        let group = executor.group().to_vec();
        let stored = inserted(group.len());
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
    executor.record(inserted(1));
    assert_eq!(executor.last_fault(), None);
    assert_eq!(answers(&mut executor), [NEW]);
}

/// All rows of a batch wait for the lock that one of them needs: they are not sent together again.
#[test]
fn a_batch_that_waited_for_a_lock_is_divided_at_once() {
    let mut executor = executor(4);
    assert_eq!(inserts(&mut executor), [0, 1, 2, 3]);
    executor.record(refused(1205, "Lock wait timeout exceeded"));
    assert_eq!(inserts(&mut executor), [0, 1]);
    executor.record(inserted(2));
    assert_eq!(inserts(&mut executor), [2, 3]);
}

/// A look-up that is refused for a value shows only that this value is none: the other refused rows
/// are looked for.
#[test]
fn refused_rows_are_looked_for_apart_where_a_value_is_none() {
    let mut executor = executor(2);
    run(&mut executor, &[(0, 1366), (1, 1366)], false);
    assert_eq!(executor.group(), [0, 1]);
    executor.record(refused(1525, "Incorrect DATE value"));
    assert_eq!(compares(&mut executor), [0]);
    executor.record(refused(1525, "Incorrect DATE value"));
    assert_eq!(compares(&mut executor), [1]);
    executor.record(found(&[(1, FoundVerdict::Equal)]));
    assert_eq!(executor.next_action(MS), ExecutorAction::Inspect);
    executor.record(StatementOutcome::Inspected { has_changed: false });
    assert_eq!(executor.next_action(MS), ExecutorAction::Done);
    let answers = answers(&mut executor);
    assert!(
        matches!(&answers[..], [CommitAnswer::Refused(_), CommitAnswer::Stored { .. }]),
        "{answers:?}"
    );
    assert!(executor.last_fault().is_none(), "it is no fault of the server");
}
