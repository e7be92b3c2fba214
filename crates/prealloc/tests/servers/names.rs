//! New binlogs and their index keep their names in a crash of the system.
//!
//! A commit of a growing binlog also commits to the journal what happened before in the same file
//! system, and servers rely on that: MySQL renames a new index without a sync of the folder. A
//! commit into zeros commits nothing of that.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::chown;

use truetps_binlog::state::StatusWord;
use truetps_testkit::mysql_family::FetchedServer;

use crate::common::{Bench, SOON};
use crate::load::{keys_in_binlogs, keys_in_table, make_table};
use crate::loop_disk::{LoopDisk, LoopFileSystem};

pub(crate) fn a_new_binlog_is_durable_before_its_first_commit(server: &FetchedServer) {
    for kind in LoopFileSystem::ALL {
        crash_behind_a_rotation(Bench::new(server), kind);
    }
}

/// The sync of an index on another file system does nothing for the binlogs' names.
pub(crate) fn a_new_binlog_is_durable_with_its_index_elsewhere(server: &FetchedServer) {
    for kind in LoopFileSystem::ALL {
        let mut bench = Bench::new(server);
        let folder = bench.home.folder().join("index");
        fs::create_dir(&folder).unwrap();
        let user = bench.home.home().user();
        chown(&folder, Some(user.uid), Some(user.gid)).unwrap();
        bench.set("log_bin_index", &folder.join("binlog.index").display().to_string());
        crash_behind_a_rotation(bench, kind);
    }
}

/// A prepared file is used, one row is acknowledged, and the system crashes. The next file is
/// prepared so slowly that nothing of this library syncs in between.
fn crash_behind_a_rotation(mut bench: Bench, kind: LoopFileSystem) {
    let Some(mut disk) = LoopDisk::for_binlogs(&mut bench, kind, 128) else { return };
    bench.options = "mode=pool;files=1;file_mib=16;rate_mib=8;free_floor_mib=16";
    let running = bench.start(true);
    let mut client = running.connect(SOON).unwrap();
    make_table(&mut client);
    client.execute("INSERT INTO t.k VALUES (1, 'x')").unwrap();
    bench.wait_for(StatusWord::pool_ready, |ready| ready == 1);
    client.execute("FLUSH BINARY LOGS").unwrap();
    client.execute("INSERT INTO t.k VALUES (2, 'x')").unwrap();
    disk.keep_device();
    assert_eq!(bench.word(StatusWord::rotations_ready), 1, "{:?}", bench.page());
    assert_eq!(bench.word(StatusWord::pool_ready), 0, "nothing was synced in between");
    drop(client);
    running.kill().unwrap();
    disk.crash_to_kept();
    let running = bench.start(true);
    let mut client = running.connect(SOON).unwrap();
    // The disk of the tables did not crash.
    assert_eq!(keys_in_table(&mut client), BTreeSet::from([1, 2]), "{}", bench.log());
    assert_eq!(keys_in_binlogs(&bench), BTreeSet::from([1, 2]), "{}", bench.log());
    let names = client.query("SHOW BINARY LOGS").unwrap().rows;
    assert_eq!(
        names.len(),
        bench.files().len(),
        "each is in the index: {names:?} {:?}",
        bench.files()
    );
    drop(client);
    assert!(running.stop(SOON).unwrap().clean);
    bench.assert_all_sound();
}
