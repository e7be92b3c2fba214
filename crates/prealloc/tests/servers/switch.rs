//! The switch between both arms of a comparison, in one server process.

use std::time::Duration;

use truetps_binlog::state::StatusWord;
use truetps_testkit::mysql_family::FetchedServer;

use crate::common::{Bench, SOON};
use crate::load::{Load, keys_in_binlogs, keys_in_table, make_table};

pub(crate) fn the_switch_is_safe_under_load(server: &FetchedServer) {
    let mut bench = Bench::new(server);
    bench.set("max_binlog_size", "64M");
    let running = bench.start(true);
    let mut client = running.connect(SOON).unwrap();
    make_table(&mut client);
    bench.wait_until_ahead();
    let load = Load::start(&running, 1);
    let mut delays = Vec::new();
    for round in 0..100_u64 {
        let is_on = round % 2 == 1;
        delays.push(bench.switch(is_on));
        assert_eq!(bench.word(StatusWord::acted_wanted), u64::from(is_on));
        std::thread::sleep(Duration::from_millis(round * 7 % 40));
    }
    let rows = load.count();
    let acknowledged = load.end();
    delays.sort();
    assert!(
        delays[50] < Duration::from_millis(100),
        "half of the switches took longer than {:?}",
        delays[50]
    );
    assert_eq!(acknowledged.difference(&keys_in_table(&mut client)).count(), 0);
    drop(client);
    assert!(running.stop(SOON).unwrap().clean);
    bench.assert_all_sound();
    assert_eq!(acknowledged.difference(&keys_in_binlogs(&bench)).count(), 0);
    assert!(
        rows > 100 && bench.word(StatusWord::truncations) >= 50,
        "{rows} rows, {:?}",
        bench.page()
    );
    assert_eq!(bench.word(StatusWord::errors), 0);
    eprintln!("{}: {rows} rows, median {:?}, longest {:?}", server.name, delays[50], delays[99]);
}
