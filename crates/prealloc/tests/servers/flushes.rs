//! The gain itself: flushes of the binlog's disk for each commit, which the kernel counts.

use truetps_testkit::mysql_family::FetchedServer;

use crate::common::{Bench, SOON};
use crate::load::make_table;
use crate::loop_disk::{LoopDisk, LoopFileSystem};

const COMMITS: u64 = 300;

pub(crate) fn a_commit_flushes_the_disk_once(server: &FetchedServer) {
    for kind in LoopFileSystem::ALL {
        count_flushes(server, kind);
    }
}

fn count_flushes(server: &FetchedServer, kind: LoopFileSystem) {
    let mut bench = Bench::new(server);
    let Some(disk) = LoopDisk::for_binlogs(&mut bench, kind, 256) else { return };
    bench.set("max_binlog_size", "1G");
    let running = bench.start(true);
    let mut client = running.connect(SOON).unwrap();
    make_table(&mut client);
    let mut key = 0;
    let mut per_commit = || {
        let before = disk.flushes();
        for _ in 0..COMMITS {
            key += 1;
            client
                .execute(&format!("INSERT INTO t.k VALUES ({key}, '{}')", "x".repeat(300)))
                .unwrap();
        }
        (disk.flushes() - before) as f64 / COMMITS as f64
    };
    let both = [false, true].map(|is_on| {
        bench.switch(is_on);
        if is_on {
            bench.wait_until_ahead();
        }
        per_commit()
    });
    let [without, with] = both;
    eprintln!(
        "{} on {kind:?}: {without:.2} flushes for each commit without zeros, {with:.2} with them",
        server.name
    );
    assert!(both[0] > 1.9 && both[1] < 1.15, "{both:?}");
    drop(client);
    assert!(running.stop(SOON).unwrap().clean);
    bench.assert_all_sound();
}
