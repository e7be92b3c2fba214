//! Binlog preallocation through the whole program: the factor of a sweep, and `truetps prealloc` on
//! a server's files. That the library itself is right is proven in `crates/prealloc/tests`.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::process::geteuid;
use rustix::thread::{Uid, set_thread_res_uid};
use serde_json::Value;
use truetps_sandbox::ServerUser;
use truetps_testkit::private_postgres;

use crate::common::{Place, SMALL_REDO, has_server};

const SHORT: [&str; 10] =
    ["--table-rows", "200", "-c", "4", "--measure", "0.4", "--warm-up", "0.1", "--blocks", "2"];

#[test]
fn levels_are_switched_on_one_process_and_files_end_with_their_content() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    let args = [
        &["sweep", "insert", "--vary", "prealloc=0,ahead", SMALL_REDO, "--format", "json"][..],
        &SHORT,
    ]
    .concat();
    let ran = place.run(&args);
    assert!(
        ran.stderr.contains("log_bin = ON was added: prealloc has no effect"),
        "{}",
        ran.stderr
    );
    let document: Value = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|_| panic!("{}{}", ran.stdout, ran.stderr));
    assert_eq!(
        document["analysis"]["trials_valid"], document["analysis"]["trials_planned"],
        "{}",
        ran.stderr
    );
    // A trial whose binlog was not as its level says would be invalid. One process: no trial waited
    // for a start.
    let logs: Vec<_> = fs::read_dir(place.latest())
        .unwrap()
        .flatten()
        .map(|entry| entry.path().join("server/error.log"))
        .collect();
    let starts = logs
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok())
        .filter(|log| log.contains("truetps"));
    assert!(starts.count() > 0, "the library says in the server's log that it is there");
    assert!(place.servers().is_empty() && place.leftovers().is_empty(), "{:?}", place.leftovers());
}

#[test]
fn modes_are_compared_and_a_binlog_is_needed() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    let sweep = |vary: &str, more: &[&str]| {
        place.run(&[&["sweep", "insert", "--vary", vary, SMALL_REDO][..], &SHORT, more].concat())
    };
    let ran = sweep("prealloc=2,ahead", &["--format", "json"]);
    let document: Value = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|_| panic!("{}{}", ran.stdout, ran.stderr));
    assert_eq!(
        document["analysis"]["trials_valid"], document["analysis"]["trials_planned"],
        "{}",
        ran.stderr
    );
    let ran = sweep("prealloc=0,ahead", &["--set", "log_bin=OFF"]);
    assert!(
        ran.code == Some(2) && ran.stderr.contains("log_bin is off"),
        "{:?} {}",
        ran.code,
        ran.stderr
    );
    if let Some(postgres) = private_postgres("modes_are_compared_and_a_binlog_is_needed") {
        let ran =
            sweep("prealloc=0,ahead", &["--basedir", &postgres.basedir.display().to_string()]);
        assert!(
            ran.code == Some(2) && ran.stderr.contains("has no binlog"),
            "{:?} {}",
            ran.code,
            ran.stderr
        );
    }
}

/// Before each start of a server its drop-in runs `trim`. A bit that was flipped on the disk long
/// ago makes the length of an event wrong: the events behind it were committed, and replicas are to
/// find the error, not a gap.
#[test]
fn an_old_binlog_with_a_flipped_bit_is_named_and_not_cut() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    place.good(&["server", "add", "old"]);
    place.good(&["server", "start", "old", "--set", "log_bin=binlog"]);
    for sql in [
        "create schema s",
        "create table s.t (a int)",
        "insert into s.t values (1)",
        "flush binary logs",
    ] {
        place.good(&["server", "sql", "old", sql]);
    }
    place.good(&["server", "stop", "old"]);
    let data = place.home().join("named/old/data");
    let path = data.join("binlog.000001");
    let mut file = fs::read(&path).unwrap();
    let length_at = |event: usize| event + 9;
    let length_of = |event: usize| {
        u32::from_le_bytes(file[length_at(event)..][..4].try_into().unwrap()) as usize
    };
    let third = (0..3).fold(4, |event, _| event + length_of(event));
    file[length_at(third) + 3] ^= 0x20;
    fs::write(&path, &file).unwrap();
    let ran = place.run(&["prealloc", "trim", data.join("binlog").to_str().unwrap()]);
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stdout
            .contains(&format!("binlog.000001: left as it is: the event at {third} is damaged")),
        "{}",
        ran.stdout
    );
    assert!(fs::read(&path).unwrap() == file);
}

/// The server's user waits for the library in each folder of a private server, to put a link to a
/// file of root's in its place: root would make that file readable for all.
#[test]
fn the_servers_user_cannot_lead_root_to_another_file() {
    if !has_server() || !geteuid().is_root() {
        return;
    }
    let place = Place::with_templates();
    let secret = tempfile::NamedTempFile::new().unwrap();
    let mode = || fs::metadata(secret.path()).unwrap().mode() & 0o777;
    assert_eq!(mode(), 0o600);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let attack = scope.spawn(|| attack(&place.home().join("servers"), secret.path(), &is_over));
        let ran = place.run(
            &[&["sweep", "insert", "--vary", "prealloc=0,ahead", SMALL_REDO][..], &SHORT].concat(),
        );
        is_over.store(true, Ordering::Relaxed);
        assert!(attack.join().unwrap() > 100, "{}", ran.stderr);
        assert_eq!(mode(), 0o600, "{}", ran.stderr);
        assert!(ran.code == Some(0) || ran.code == Some(3), "{:?} {}", ran.code, ran.stderr);
    });
}

/// Returns how often it looked at a datadir.
fn attack(servers: &Path, secret: &Path, is_over: &AtomicBool) -> u32 {
    let user = ServerUser::choose();
    let mut looks = 0;
    while !is_over.load(Ordering::Relaxed) {
        for server in fs::read_dir(servers).into_iter().flatten().flatten() {
            // The ids of this thread only.
            set_thread_res_uid(None, Uid::from_raw(user.uid), None).unwrap();
            for folder in [server.path().join("data"), server.path()] {
                looks += u32::from(folder.ends_with("data") && folder.exists());
                let library = folder.join("libtruetps_prealloc.so");
                if library.symlink_metadata().is_ok_and(|facts| facts.is_file()) {
                    let link = folder.join(".link");
                    let _ = symlink(secret, &link);
                    let _ = fs::rename(&link, &library);
                }
            }
            set_thread_res_uid(None, Uid::ROOT, None).unwrap();
        }
    }
    looks
}
