//! The server is killed under load, again and again.

use std::thread::sleep;
use std::time::Duration;

use truetps_binlog::state::StatusWord;
use truetps_testkit::mysql_family::FetchedServer;

use crate::common::{Bench, SOON};
use crate::load::{Load, keys_in_binlogs, keys_in_table, make_table};

fn kills() -> u64 {
    std::env::var("TRUETPS_TEST_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(4)
}

pub(crate) fn no_acknowledged_row_is_lost_by_kills(server: &FetchedServer) {
    let bench = Bench::new(server);
    let mut acknowledged = std::collections::BTreeSet::new();
    let (mut first, mut trims, mut tails) = (1, 0, 0);
    let mut running = bench.start(true);
    make_table(&mut running.connect(SOON).unwrap());
    for round in 0..kills() {
        bench.wait_until_ahead();
        let load = Load::start(&running, first);
        // From the first group on to some rotations: the numbers only have to differ.
        sleep(Duration::from_millis(30 + first.wrapping_mul(0x9E37_79B9) % 700));
        running.kill().unwrap();
        acknowledged.extend(load.end());
        first += 1_000_000;
        tails += u64::from(bench.files().iter().any(|file| std::fs::metadata(file).unwrap().len() % 4096 == 0));
        // With the library, and without it after the trim of the command line.
        let has_library = round % 3 != 2;
        if !has_library {
            bench.trim_offline();
        }
        running = bench.start(has_library);
        let mut client = running.connect(SOON).unwrap();
        let (table, binlog) = (keys_in_table(&mut client), keys_in_binlogs(&bench));
        let lost: Vec<_> = acknowledged.difference(&table).take(5).collect();
        assert!(lost.is_empty(), "kill {round}: lost {lost:?}\n{}", bench.log());
        let differ: Vec<_> = table.symmetric_difference(&binlog).take(5).collect();
        assert!(differ.is_empty(), "kill {round}: table and binlog differ: {differ:?}\n{}", bench.log());
        for file in bench.files() {
            let name = file.file_name().unwrap().to_str().unwrap().to_owned();
            client.query(&format!("SHOW BINLOG EVENTS IN '{name}' LIMIT 100000")).unwrap();
        }
        bench.assert_sizes_are_real(&mut client);
        if has_library {
            trims += bench.word(StatusWord::trims);
            assert_eq!((bench.word(StatusWord::untrimmed), bench.word(StatusWord::errors)), (0, 0), "{}", bench.log());
        } else {
            drop(client);
            assert!(running.stop(SOON).unwrap().clean);
            bench.assert_all_sound();
            running = bench.start(true);
        }
    }
    assert!(
        acknowledged.len() as u64 > kills() && tails > 0 && trims > 0,
        "{} rows, {tails} tails, {trims} trims",
        acknowledged.len()
    );
    eprintln!("{}: {} kills, {} rows, {tails} tails, {trims} trims", server.name, kills(), acknowledged.len());
    assert!(running.stop(SOON).unwrap().clean);
    bench.assert_all_sound();
    assert_eq!(bench.page().marker(), None);
}
