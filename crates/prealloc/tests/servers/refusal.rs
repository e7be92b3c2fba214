//! Cases in which the library leaves binlogs alone, and says so.

use std::fs;

use truetps_binlog::state::{PreallocCondition, RefusalReason, StatusWord};
use truetps_testkit::mysql_family::FetchedServer;

use crate::common::{Bench, SOON};
use crate::load::make_table;

fn assert_not_ahead(bench: &Bench) {
    std::thread::sleep(std::time::Duration::from_millis(300));
    for file in bench.files() {
        let bytes = fs::read(&file).unwrap();
        assert!(bytes.last().is_none_or(|_| bytes.len() < 100_000), "{} has {}", file.display(), bytes.len());
    }
}

pub(crate) fn files_without_checksums_are_left_alone(server: &FetchedServer) {
    let mut bench = Bench::new(server);
    bench.set("binlog_checksum", "NONE");
    let running = bench.start(true);
    let mut client = running.connect(SOON).unwrap();
    make_table(&mut client);
    bench.wait_for(StatusWord::reason, |reason| reason == RefusalReason::NoChecksums as u64);
    assert_not_ahead(&bench);
    client.execute("INSERT INTO t.k VALUES (1, 'x')").unwrap();
    assert!(bench.log().contains("off: binlog_checksum is NONE"), "{}", bench.log());
    client.execute("SET GLOBAL binlog_checksum = CRC32").unwrap();
    bench.wait_for(StatusWord::condition, |condition| condition == PreallocCondition::Live as u64);
    bench.wait_until_ahead();
    client.execute("SET GLOBAL binlog_checksum = NONE").unwrap();
    bench.wait_for(StatusWord::reason, |reason| reason == RefusalReason::NoChecksums as u64);
    drop(client);
    assert!(running.stop(SOON).unwrap().clean);
    bench.assert_all_sound();
}

pub(crate) fn a_bad_configuration_and_a_busy_state_file_are_reported(server: &FetchedServer) {
    let mut bench = Bench::new(server);
    bench.options = "mode=fast";
    let running = bench.start(true);
    make_table(&mut running.connect(SOON).unwrap());
    assert!(running.stop(SOON).unwrap().clean);
    let page = bench.basename.with_extension("prealloc");
    assert!(!page.exists());

    bench.options = "free_floor_mib=64";
    let other = fs::File::create(&page).unwrap();
    let user = bench.home.home().user();
    std::os::unix::fs::chown(&page, Some(user.uid), Some(user.gid)).unwrap();
    rustix::fs::flock(&other, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let running = bench.start(true);
    running.connect(SOON).unwrap().execute("INSERT INTO t.k VALUES (1, 'x')").unwrap();
    assert_not_ahead(&bench);
    assert_eq!(fs::metadata(&page).unwrap().len(), 0, "it is the other server's");
    assert!(bench.log().contains("off: another server uses these binlogs"), "{}", bench.log());
    assert!(running.stop(SOON).unwrap().clean);

    drop(other);
    fs::remove_file(&page).unwrap();
    fs::create_dir(&page).unwrap();
    let running = bench.start(true);
    running.connect(SOON).unwrap().execute("INSERT INTO t.k VALUES (2, 'x')").unwrap();
    assert_not_ahead(&bench);
    assert!(bench.log().contains("off: the state file"), "{}", bench.log());
    assert!(running.stop(SOON).unwrap().clean);
    bench.assert_all_sound();
}

/// With the plugin of MariaDB only: MySQL needs a component and a file in its program's folder for it.
pub(crate) fn encrypted_files_are_left_alone(server: &FetchedServer) {
    let mut bench = Bench::new(server);
    let folders = [server.basedir.join("lib/mysql/plugin"), "/usr/lib/mysql/plugin".into()];
    let folders = &folders[..if server.name == "mariadb-10.11" { 2 } else { 1 }];
    if !folders.iter().any(|folder| folder.join("file_key_management.so").exists()) {
        eprintln!("SKIPPED encryption with {}: it has no plugin for keys", server.name);
        return;
    }
    let keys = bench.home.folder().join("keys");
    fs::write(&keys, "1;770A8A65DA156D24EE2A093277530142\n").unwrap();
    bench.set("plugin_load_add", "file_key_management");
    bench.set("file_key_management_filename", &keys.display().to_string());
    bench.set("encrypt_binlog", "ON");
    let running = bench.start(true);
    let mut client = running.connect(SOON).unwrap();
    make_table(&mut client);
    bench.wait_for(StatusWord::reason, |reason| reason == RefusalReason::Encrypted as u64);
    client.execute("INSERT INTO t.k VALUES (1, 'x')").unwrap();
    assert_not_ahead(&bench);
    assert!(bench.log().contains("off: binlogs are encrypted"), "{}", bench.log());
    drop(client);
    running.kill().unwrap();
    let running = bench.start(true);
    let rows = running.connect(SOON).unwrap().query_value("SELECT COUNT(*) FROM t.k").unwrap();
    assert_eq!(rows.as_deref(), Some("1"));
    assert!(running.stop(SOON).unwrap().clean);
}
