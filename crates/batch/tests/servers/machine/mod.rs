//! A machine that tries to break the promise of the gateway (docs/reference/gateway-promise.md):
//! random tables with keys and columns of every type, triggers and partitions, random rows, clients
//! that send again and give up, sessions that are killed, servers that are killed, and ALTER TABLE
//! while rows come. The table is the oracle: each value is made together with the text that the
//! server must show for it, so that nothing of the gateway judges itself.
//!
//! `TRUETPS_MACHINE_SEED=17` lives one life again, `TRUETPS_MACHINE_SECONDS=3600` many:
//! `make test-promise`.

mod kinds;
mod life;
mod random_table;

use std::time::{Duration, Instant};

use truetps_record::Flavour;

use crate::tables::TestServer;
use life::LifeCounts;

/// For each family, without `TRUETPS_MACHINE_SECONDS`.
const SECONDS: u64 = 20;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect(name))
}

#[test]
fn acknowledged_rows_are_stored_once_as_they_were_sent() {
    let time = Duration::from_secs(number("TRUETPS_MACHINE_SECONDS").unwrap_or(SECONDS));
    for mut server in TestServer::of_each_family("the machine") {
        let version = server.client().query_value("SELECT VERSION()").unwrap().unwrap();
        let flavour = Flavour::from_version_text(&version);
        let first =
            number("TRUETPS_MACHINE_SEED").unwrap_or_else(|| u64::from(std::process::id()) << 20);
        let began = Instant::now();
        let mut all = LifeCounts::default();
        for seed in first.. {
            let lived = life::live(&mut server, flavour, seed);
            all.add(&lived);
            if began.elapsed() > time || number("TRUETPS_MACHINE_SEED").is_some() {
                eprintln!("{flavour:?}, seeds {first} to {seed}: {all:?}");
                break;
            }
        }
        if number("TRUETPS_MACHINE_SEED").is_none() {
            all.assert_that_much_happened();
        }
    }
}
