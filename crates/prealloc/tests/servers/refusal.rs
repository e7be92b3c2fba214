//! Cases in which the library leaves binlogs alone, and says so.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

use truetps_binlog::state::{PreallocCondition, RefusalReason, StatusWord};
use truetps_sandbox::{ServerUser, find};
use truetps_testkit::mysql_family::FetchedServer;

use crate::common::{Bench, SOON};
use crate::load::make_table;
use crate::paths::copy_program;

fn assert_not_ahead(bench: &Bench) {
    std::thread::sleep(std::time::Duration::from_millis(300));
    for file in bench.files() {
        let bytes = fs::read(&file).unwrap();
        assert!(
            bytes.last().is_none_or(|_| bytes.len() < 100_000),
            "{} has {}",
            file.display(),
            bytes.len()
        );
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

pub(crate) fn encrypted_files_are_left_alone(server: &FetchedServer) {
    let keys = tempfile::tempdir().unwrap();
    let Some((server, settings)) = with_keys(server, keys.path()) else {
        eprintln!("SKIPPED encryption with {}: it has no plugin for keys", server.name);
        return;
    };
    let mut bench = Bench::new(&server);
    for (name, value) in &settings {
        bench.set(name, value);
    }
    let running = bench.start(true);
    let mut client = running.connect(SOON).unwrap();
    make_table(&mut client);
    bench.wait_for(StatusWord::reason, |reason| reason == RefusalReason::Encrypted as u64);
    client.execute("INSERT INTO t.k VALUES (1, 'x')").unwrap();
    assert_not_ahead(&bench);
    assert!(bench.log().contains("off: binlogs are encrypted"), "{}", bench.log());
    let newest = fs::read(bench.files().last().unwrap()).unwrap();
    assert!(!newest.windows(6).any(|words| words == b"INSERT"), "it is encrypted");
    drop(client);
    running.kill().unwrap();
    let running = bench.start(true);
    let rows = running.connect(SOON).unwrap().query_value("SELECT COUNT(*) FROM t.k").unwrap();
    assert_eq!(rows.as_deref(), Some("1"));
    assert!(running.stop(SOON).unwrap().clean);
}

/// The server with keys in this folder, and the settings that encrypt its binlogs. `None`: it has
/// no plugin for keys.
fn with_keys(
    server: &FetchedServer,
    keys: &Path,
) -> Option<(FetchedServer, Vec<(&'static str, String)>)> {
    let user = ServerUser::choose();
    // The server's user must get through.
    fs::set_permissions(keys, fs::Permissions::from_mode(0o755)).unwrap();
    let file = keys.join("keys");
    if server.name == "mysql-9.7" {
        let server = with_keyring(server, keys, &user);
        return Some((server, vec![("binlog_encryption", "ON".to_owned())]));
    }
    let plugins = server.basedir.join("lib/mysql/plugin");
    let installed = Path::new("/usr/lib/mysql/plugin");
    let plugins =
        if server.name == "mariadb-10.11" && !plugins.is_dir() { installed } else { &plugins };
    plugins.join("file_key_management.so").exists().then(|| {
        fs::write(&file, "1;770A8A65DA156D24EE2A093277530142\n").unwrap();
        let settings = [
            ("plugin_load_add", "file_key_management".to_owned()),
            ("file_key_management_filename", file.display().to_string()),
            ("encrypt_binlog", "ON".to_owned()),
        ];
        (server.clone(), settings.to_vec())
    })
}

/// MySQL reads what component keeps its keys beside its program, and the component's settings
/// beside that: both folders are copied, and the rest is linked.
fn with_keyring(server: &FetchedServer, folder: &Path, user: &ServerUser) -> FetchedServer {
    let basedir = folder.join("usr");
    for parts in ["bin", "sbin", "lib/mysql/plugin"] {
        fs::create_dir_all(basedir.join(parts)).unwrap();
        for entry in fs::read_dir(server.basedir.join(parts)).unwrap().map(|entry| entry.unwrap()) {
            let is_needed = ["mysqld", "component_keyring_file.so"]
                .iter()
                .any(|name| entry.file_name() == *name);
            if is_needed {
                copy_program(entry.path(), &basedir.join(parts).join(entry.file_name()));
            }
        }
    }
    for link in ["lib/x86_64-linux-gnu", "share"] {
        symlink(server.basedir.join(link), basedir.join(link)).unwrap();
    }
    fs::write(basedir.join("sbin/mysqld.my"), r#"{"components": "file://component_keyring_file"}"#)
        .unwrap();
    let kept = folder.join("kept");
    fs::create_dir(&kept).unwrap();
    chown(&kept, Some(user.uid), Some(user.gid)).unwrap();
    let settings = format!(r#"{{"path": "{}/keys", "read_only": false}}"#, kept.display());
    fs::write(basedir.join("lib/mysql/plugin/component_keyring_file.cnf"), settings).unwrap();
    let binary = find(Some(&basedir), None, user).unwrap();
    FetchedServer { name: server.name, binary, basedir }
}
