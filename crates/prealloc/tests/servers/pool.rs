//! Mode `pool`: prepared files take the names of new ones.

use std::fs;
use std::os::unix::fs::MetadataExt;

use truetps_binlog::state::StatusWord;
use truetps_testkit::mysql_family::FetchedServer;

use crate::common::{Bench, SOON};
use crate::load::{Load, keys_in_binlogs, keys_in_table, make_table};

fn pool_files(bench: &Bench) -> Vec<String> {
    let names = fs::read_dir(bench.folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("binlog.prealloc-")).collect()
}

pub(crate) fn prepared_files_are_used_and_survive_kills(server: &FetchedServer) {
    let mut bench = Bench::new(server);
    bench.options = "mode=pool;files=2;file_mib=6;free_floor_mib=64";
    let mut acknowledged = std::collections::BTreeSet::new();
    let mut running = bench.start(true);
    make_table(&mut running.connect(SOON).unwrap());
    for round in 0..3 {
        bench.wait_for(StatusWord::pool_ready, |ready| ready == 2);
        assert_eq!(pool_files(&bench).len(), 2);
        let mut client = running.connect(SOON).unwrap();
        let first = fs::metadata(bench.file(bench.word(StatusWord::active_file))).unwrap();
        client.execute("FLUSH BINARY LOGS").unwrap();
        bench.wait_for(StatusWord::rotations_ready, |ready| ready > 0);
        let active = fs::metadata(bench.file(bench.word(StatusWord::active_file))).unwrap();
        assert_eq!(
            (active.len(), active.mode(), active.uid()),
            (6 << 20, first.mode(), first.uid())
        );
        bench.assert_sizes_are_real(&mut client);
        let load = Load::start(&running, 1 + round * 1_000_000);
        for _ in 0..20 {
            std::thread::sleep(std::time::Duration::from_millis(20));
            client.execute("FLUSH BINARY LOGS").unwrap();
        }
        running.kill().unwrap();
        acknowledged.extend(load.end());
        running = bench.start(true);
        let mut client = running.connect(SOON).unwrap();
        let table = keys_in_table(&mut client);
        assert_eq!(acknowledged.difference(&table).count(), 0, "{}", bench.log());
        assert_eq!(table, keys_in_binlogs(&bench));
        bench.assert_sizes_are_real(&mut client);
    }
    let page = bench.page();
    assert_eq!(
        (page.word(StatusWord::errors), page.word(StatusWord::untrimmed)),
        (0, 0),
        "{}",
        bench.log()
    );
    assert!(running.stop(SOON).unwrap().clean);
    // A stock server ignores what is left of the pool.
    let running = bench.start(false);
    running.connect(SOON).unwrap().execute("INSERT INTO t.k VALUES (77777777, 'x')").unwrap();
    assert!(running.stop(SOON).unwrap().clean);
    bench.assert_all_sound();
}
