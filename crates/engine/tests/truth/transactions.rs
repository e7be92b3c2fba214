//! Transactions of several statements: retried or rolled back as a whole.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use truetps_driver::{Params, Statement, Value};
use truetps_engine::{LoadSpec, Quota, RunEnding, RunOutcome};
use truetps_plan::ErrorPolicy;
use truetps_record::ErrorClass;
use truetps_workload::{ClientStream, NextStatement, Table, Workload};

use crate::fake_server::{Act, FakeServer, Welcome};
use crate::support::{Kept, check_equations, drive_workload, load};

/// BEGIN; two updates with the transaction's number; COMMIT.
struct Numbered;

struct NumberedClient {
    transaction: i64,
    step: usize,
}

impl Workload for Numbered {
    fn name(&self) -> &'static str {
        "numbered"
    }

    fn statements(&self) -> Arc<[Statement]> {
        let update = Statement::new("UPDATE t SET n = ?").unwrap();
        [Statement::text_only("BEGIN"), update, Statement::text_only("COMMIT")].into()
    }

    fn client(&self, _: u32) -> Box<dyn ClientStream> {
        Box::new(NumberedClient { transaction: 0, step: 0 })
    }

    fn tables(&self) -> Vec<Table> {
        Vec::new()
    }
}

impl ClientStream for NumberedClient {
    fn next_transaction(&mut self) {
        self.transaction += 1;
        self.step = 0;
    }

    fn next_statement(&mut self, params: &mut Params) -> NextStatement {
        let statement = [0, 1, 1, 2][self.step];
        self.step += 1;
        if statement == 1 {
            params.push_int(self.transaction);
            assert_eq!(params.values(), [Value::Int(self.transaction)]);
        }
        NextStatement { statement, is_last: self.step == 4 }
    }

    fn rewind(&mut self) {
        self.step = 0;
    }
}

type Seen = Arc<Mutex<Vec<String>>>;

/// A server that fails the `fails`-th statement with this error, and what it was sent.
fn failing(fails: usize, code: u16) -> (FakeServer, Seen) {
    let seen = Seen::default();
    let log = Arc::clone(&seen);
    let server = FakeServer::start(
        |_| Welcome::Greet,
        move |_, n, command| {
            log.lock().unwrap().push(String::from_utf8_lossy(&command[1..]).into_owned());
            if n == fails { Act::Error { code, message: "as the test wants it" } } else { Act::Ok }
        },
    );
    (server, seen)
}

fn drive(server: &FakeServer, errors: ErrorPolicy) -> RunOutcome {
    let mut kept = Kept::default();
    let load = LoadSpec { errors, quota: Some(Quota::Together(3)), ..load(1, 20_000) };
    let load = LoadSpec { warm_up: std::time::Duration::ZERO, ..load };
    let outcome =
        drive_workload(server, &load, &Numbered, false, &AtomicBool::new(false), &mut kept);
    check_equations(&outcome, &kept);
    outcome
}

#[test]
fn a_deadlock_is_rolled_back_and_sent_again_as_a_whole() {
    let (server, seen) = failing(2, 1213);
    let outcome = drive(&server, ErrorPolicy::default());
    let seen = seen.lock().unwrap();
    let (one, two) = ("UPDATE t SET n = 1", "UPDATE t SET n = 2");
    assert_eq!(
        seen[..12],
        ["BEGIN", one, one, "ROLLBACK", "BEGIN", one, one, "COMMIT", "BEGIN", two, two, "COMMIT"],
        "the same values, from the beginning"
    );
    let counts = outcome.measured.as_ref().unwrap().counts;
    assert_eq!((counts.failed, counts.retried), (0, 1));
    let error = &outcome.measured.as_ref().unwrap().errors[0];
    assert_eq!((error.class, error.count, error.retried), (ErrorClass::Deadlock, 0, 1));
    assert_eq!(error.first_message, "as the test wants it");
}

/// TiDB and OceanBase report a conflict at COMMIT, Galera a deadlock.
#[test]
fn a_conflict_at_commit_is_sent_again() {
    for (code, class) in [(9007, ErrorClass::SerializationFailure), (1213, ErrorClass::Deadlock)] {
        let (server, seen) = failing(3, code);
        let outcome = drive(&server, ErrorPolicy::default());
        let seen = seen.lock().unwrap();
        assert_eq!(seen[3..6], ["COMMIT", "ROLLBACK", "BEGIN"], "{code}");
        assert_eq!(
            (&seen[6], &seen[8]),
            (&"UPDATE t SET n = 1".to_owned(), &"COMMIT".to_owned()),
            "{code}"
        );
        let counts = outcome.measured.as_ref().unwrap().counts;
        assert_eq!(
            (counts.failed, counts.retried, outcome.measured.as_ref().unwrap().errors[0].class),
            (0, 1, class),
            "{code}"
        );
    }
}

#[test]
fn an_error_that_is_not_retried_is_rolled_back_and_the_next_transaction_comes() {
    let (server, seen) = failing(3, 1062);
    let outcome = drive(&server, ErrorPolicy::default());
    let seen = seen.lock().unwrap();
    assert_eq!(seen[3..7], ["COMMIT", "ROLLBACK", "BEGIN", "UPDATE t SET n = 2"]);
    let counts = outcome.measured.as_ref().unwrap().counts;
    assert_eq!((counts.failed, counts.ignored, counts.retried), (1, 0, 0));
    assert_eq!(outcome.measured.as_ref().unwrap().errors[0].class, ErrorClass::DuplicateKey);
}

#[test]
fn retries_have_a_bound() {
    let server = FakeServer::start(
        |_| Welcome::Greet,
        |_, _, command| {
            let is_update = command[1..].starts_with(b"UPDATE");
            if is_update { Act::Error { code: 1213, message: "always" } } else { Act::Ok }
        },
    );
    let outcome = drive(&server, ErrorPolicy { retries_max: 4, ..ErrorPolicy::default() });
    let counts = outcome.measured.as_ref().unwrap().counts;
    assert!(counts.ok == 0 && counts.failed >= 3, "{counts:?}");
    assert!(counts.retried.abs_diff(counts.failed * 4) <= 4, "{counts:?}");
    let error = &outcome.measured.as_ref().unwrap().errors[0];
    assert_eq!((error.count, error.retried), (counts.failed, counts.retried));
}

#[test]
fn an_ignored_error_is_a_failed_transaction_that_is_forgiven() {
    let (server, _) = failing(1, 1114);
    let ignore = vec![ErrorClass::of_code(1114)];
    let outcome = drive(&server, ErrorPolicy { ignore, ..ErrorPolicy::default() });
    let counts = outcome.measured.as_ref().unwrap().counts;
    assert_eq!((counts.failed, counts.ignored), (1, 1));
}

#[test]
fn a_fatal_error_ends_the_run() {
    let (server, _) = failing(1, 1062);
    let fatal = vec![ErrorClass::DuplicateKey];
    let outcome = drive(&server, ErrorPolicy { fatal, ..ErrorPolicy::default() });
    assert_eq!(outcome.ending, RunEnding::Fatal("duplicate_key: as the test wants it".to_owned()));
}
