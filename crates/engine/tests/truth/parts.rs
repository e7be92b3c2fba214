//! Several generators that make one load send what one would send.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use truetps_engine::{
    LoadSpec, Observer, OpenPacing, Pacing, Quota, Rate, RateOf, RunEnding, RunOutcome,
};
use truetps_record::{DriveMode, Histogram, Interval, Part, Phase, Spacing};

use crate::fake_server::{Act, FakeServer, Welcome};
use crate::support::{drive_simply, load};

type Statements = Arc<Mutex<Vec<Vec<u8>>>>;

/// A server that keeps what it hears.
fn keeping(sent: &Statements) -> FakeServer {
    let kept = Arc::clone(sent);
    let keep = move |_, _, command: &[u8]| {
        kept.lock().unwrap().push(command.to_vec());
        Act::Ok
    };
    FakeServer::start(|_| Welcome::Greet, keep)
}

/// What all parts of a load send, in the order of their texts, and their outcomes.
fn sent_by(parts: u32, load: &LoadSpec) -> (Vec<Vec<u8>>, Vec<RunOutcome>) {
    let sent: Statements = Arc::default();
    let mut outcomes = Vec::new();
    for index in 0..parts {
        let server = keeping(&sent);
        let part = Part { index, of: parts };
        let (outcome, _) = drive_simply(&server, &LoadSpec { part, ..load.clone() });
        assert_eq!(outcome.ending, RunEnding::Complete, "{outcome:?}");
        outcomes.push(outcome);
    }
    let mut sent = std::mem::take(&mut *sent.lock().unwrap());
    sent.sort();
    (sent, outcomes)
}

fn ok(outcomes: &[RunOutcome]) -> u64 {
    outcomes.iter().map(|outcome| outcome.measured.as_ref().unwrap().counts.ok).sum()
}

/// Each client has its own stream of keys and values: no key is sent twice, none is left out.
#[test]
fn parts_of_a_closed_loop_send_the_same_statements() {
    for (mode, workers) in [(DriveMode::Multiplexed, 3), (DriveMode::Blocking, 1)] {
        let whole = LoadSpec {
            mode,
            workers,
            warm_up: Duration::ZERO,
            quota: Some(Quota::Each(77)),
            ..load(7, 20_000)
        };
        let (one, _) = sent_by(1, &whole);
        for parts in [2, 4, 7] {
            let (all, outcomes) = sent_by(parts, &whole);
            assert_eq!(ok(&outcomes), 77);
            assert_eq!(all, one, "{parts} parts, {mode:?}");
        }
    }
}

/// One schedule for all clients, and one for each: the parts together have every start of it.
#[test]
fn parts_of_an_open_loop_make_every_start() {
    for of in [RateOf::All, RateOf::EachClient] {
        let rate = if of == RateOf::All { Rate::constant(1_500.0) } else { Rate::constant(250.0) };
        let open = OpenPacing { rate, of, spacing: Spacing::Poisson, latency_limit: None, seed: 4 };
        let whole = LoadSpec {
            warm_up: Duration::ZERO,
            workers: 2,
            pacing: Pacing::Open(open),
            ..load(6, 400)
        };
        let scheduled = |outcomes: &[RunOutcome]| -> u64 {
            outcomes
                .iter()
                .map(|outcome| {
                    outcome.measured.as_ref().unwrap().open_loop.unwrap().starts.scheduled
                })
                .sum()
        };
        let (_, one) = sent_by(1, &whole);
        for parts in [2, 4] {
            let (_, all) = sent_by(parts, &whole);
            assert_eq!(scheduled(&all), scheduled(&one), "{parts} parts, {of:?}");
        }
        assert!(scheduled(&one) > 300);
    }
}

#[test]
fn a_number_of_transactions_is_of_all_parts() {
    let (rate, of) = (Rate::constant(2_000.0), RateOf::All);
    let pacing = Pacing::Open(OpenPacing {
        rate,
        of,
        spacing: Spacing::Constant,
        latency_limit: None,
        seed: 4,
    });
    let quota = Some(Quota::Together(103));
    let (_, outcomes) =
        sent_by(4, &LoadSpec { warm_up: Duration::ZERO, quota, pacing, ..load(8, 20_000) });
    let each: Vec<_> =
        outcomes.iter().map(|outcome| outcome.measured.as_ref().unwrap().counts.ok).collect();
    assert_eq!(each, [26, 26, 26, 25]);
}

struct Gate {
    at: Result<Option<Instant>, String>,
    zero: Option<Instant>,
}

impl Observer for Gate {
    fn start(&mut self) -> Result<Option<Instant>, String> {
        self.at.clone()
    }

    fn clock(&mut self, zero: Instant) {
        self.zero = Some(zero);
    }

    fn phase(&mut self, _: Phase) {}

    fn interval(&mut self, _: &Interval, _: &Histogram) -> Result<(), String> {
        Ok(())
    }
}

#[test]
fn a_load_starts_when_its_observer_says_or_not_at_all() {
    use std::sync::atomic::AtomicBool;
    use truetps_driver::{Connector, Target};
    use truetps_record::SqlDialect;
    use truetps_workload::{Workload, insert};

    let sent: Statements = Arc::default();
    let server = keeping(&sent);
    let workload = insert(SqlDialect::Mysql, 1, 1000, 7);
    let target = Target::mysql_unix(server.socket(), "root", None);
    let connector = Connector::new(target, workload.statements(), false).unwrap();
    let drive = |at| {
        let mut gate = Gate { at, zero: None };
        let spec = LoadSpec { warm_up: Duration::ZERO, ..load(3, 50) };
        let outcome =
            truetps_engine::run(&spec, &connector, &workload, &AtomicBool::new(false), &mut gate)
                .unwrap();
        (outcome, gate.zero)
    };
    let (refused, zero) = drive(Err("part 2 did not come".to_owned()));
    assert_eq!(
        (refused.ending, zero),
        (RunEnding::NotStarted("part 2 did not come".to_owned()), None)
    );
    assert_eq!(
        (refused.measured.is_none(), sent.lock().unwrap().len()),
        (true, 0),
        "nothing was sent"
    );
    let at = Instant::now() + Duration::from_millis(200);
    let (outcome, zero) = drive(Ok(Some(at)));
    assert_eq!((outcome.ending, zero), (RunEnding::Complete, Some(at)));
}
