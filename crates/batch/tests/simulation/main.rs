//! Thousands of short lives of a gateway with faults at every step, each from one seed: replicas,
//! their commit connections, clients that retry, and a model of the table. Time is simulated, and
//! nothing runs in parallel, so a seed that fails fails again: `TRUETPS_SIMULATION_SEED=17 cargo
//! test -p truetps-batch --test simulation`.
//!
//! What must hold at each moment and at the end is in `ledger`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may panic, and says loudly what it skips"
)]

mod clients;
mod ledger;
mod table;
mod world;

use std::ops::Range;

use ledger::Seen;

/// Without `TRUETPS_SIMULATION_SEEDS`.
const SEEDS: u64 = 10_000;

fn seeds() -> Range<u64> {
    let number = |name| std::env::var(name).ok().map(|text| text.parse::<u64>().expect(name));
    match number("TRUETPS_SIMULATION_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("TRUETPS_SIMULATION_SEEDS").unwrap_or(SEEDS),
    }
}

#[test]
fn every_row_is_answered_and_every_answer_is_true() {
    let seeds = seeds();
    let mut all = Seen::default();
    for seed in seeds.clone() {
        let seen = std::panic::catch_unwind(|| world::live(seed));
        match seen {
            Ok(seen) => all.add(&seen),
            Err(panic) => {
                eprintln!("the seed is {seed}");
                std::panic::resume_unwind(panic);
            }
        }
    }
    if seeds.end - seeds.start >= SEEDS {
        all.assert_that_nothing_is_missing();
    }
    eprintln!("{} seeds: {all:?}", seeds.end - seeds.start);
}
