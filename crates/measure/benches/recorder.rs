//! What it costs to count one transaction: `cargo bench -p truetps-measure`. The aim is under 50
//! ns, clock included.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use truetps_measure::{Recorder, Timeline};

fn main() {
    divan::main();
}

fn timeline() -> Arc<Timeline> {
    Arc::new(Timeline::new(Instant::now(), Duration::ZERO, Duration::from_hours(1)))
}

/// Start, clock, end: everything that the engine adds to a transaction.
#[divan::bench]
fn one_transaction(bencher: divan::Bencher<'_, '_>) {
    let timeline = timeline();
    let (intervals_out, _intervals) = channel();
    let recorder = RefCell::new(Recorder::new(Arc::clone(&timeline), 0, false, intervals_out));
    let started_ns = std::cell::Cell::new(timeline.now_ns());
    bencher.bench_local(|| {
        let mut recorder = recorder.borrow_mut();
        let now_ns = timeline.now_ns();
        let started_ns = started_ns.replace(now_ns);
        recorder.tally.started(now_ns, started_ns, now_ns);
        recorder.tally.answered();
        recorder.tally.ok(started_ns, started_ns, now_ns, 1);
    });
}

/// The clock alone, which every load generator pays.
#[divan::bench]
fn clock_only(bencher: divan::Bencher<'_, '_>) {
    let timeline = timeline();
    bencher.bench_local(|| divan::black_box(timeline.now_ns()));
}
