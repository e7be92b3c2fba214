//! Ctrl-C before anything is measured: all commands say the same, and leave nothing.

use std::fs;

use rustix::process::Signal;

use crate::common::{Place, Ran, SMALL_REDO, has_server, signal, wait_until, with_small_redo};

const CRASH_PLAN: &str = r#"name = "crash"
about = "Two settings."

[workload]
name = "insert"

[factors]
connections = [2]
innodb_flush_log_at_trx_commit = [1, 2]

[design]
blocks = 1
"#;

#[test]
fn ctrl_c_before_the_first_trial_leaves_nothing() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    place.write("crash.toml", &with_small_redo(CRASH_PLAN));
    let sides = ["defaults", "innodb_flush_log_at_trx_commit=2"];
    for args in [
        &["run", "insert", SMALL_REDO][..],
        &["run", "insert", "--find-max", SMALL_REDO],
        &["sweep", "insert", "--vary", "sync_binlog=1,0", SMALL_REDO],
        &["pool", SMALL_REDO],
        &["explain", sides[0], sides[1], SMALL_REDO],
        &["crash", "crash.toml", "--kinds", "kill"],
        &["verify", SMALL_REDO],
    ] {
        let child = place.start(args);
        wait_until("a server", || !place.servers().is_empty());
        signal(child.id(), Signal::INT);
        let ran: Ran = child.wait_with_output().unwrap().into();
        assert_eq!(ran.code, Some(130), "{args:?}: {ran:?}");
        let said = "interrupted before the first trial: nothing was measured\n";
        assert!(ran.stderr.ends_with(said), "{args:?}: {ran:?}");
        assert_eq!(ran.stdout, "", "{args:?}");
        let runs = fs::read_dir(place.path().join("runs")).into_iter().flatten();
        assert_eq!(runs.count(), 0, "{args:?}: a folder is left");
        assert!(place.servers().is_empty(), "{args:?}");
    }
}

#[test]
fn ctrl_c_before_the_first_row_is_no_failure() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    // The first row of each client is due within its period.
    let args = ["verify", SMALL_REDO, "--clients", "1", "--rate-per-client", "0.001/s"];
    let child = place.start(&args);
    wait_until("the load", || place.path().join("runs/latest/trial-0001").exists());
    signal(child.id(), Signal::INT);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert!(ran.stderr.contains("interrupted: "), "{ran:?}");
}
