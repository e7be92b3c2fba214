//! `truetps verify` on private servers that are killed: what they keep follows from their settings.

use serde_json::Value;
use truetps_testkit::mysql_family::mariadb;

use crate::common::{Place, SMALL_REDO};

fn verify(place: &Place, flags: &[&str]) -> (Option<i32>, Value, String) {
    let mut args = vec![
        "verify",
        "--clients=20",
        "--closed-loop",
        "--measure=6",
        "--kill=2",
        "--format=json",
        SMALL_REDO,
    ];
    args.extend(flags);
    let ran = place.run(&args);
    (ran.code, serde_json::from_str(&ran.stdout).unwrap_or_default(), ran.stderr)
}

#[test]
fn a_killed_server_keeps_what_it_flushes_and_loses_the_rest() {
    if mariadb("a_killed_server_keeps_what_it_flushes_and_loses_the_rest").is_none() {
        return;
    }
    let place = Place::with_templates();
    let (code, document, stderr) = verify(&place, &["--set=innodb_flush_log_at_trx_commit=1"]);
    let rows = &document["comparison"]["rows"];
    assert_eq!(code, Some(0), "{rows}{stderr}");
    assert_eq!(document["kills"].as_array().map(Vec::len), Some(2), "{document}");
    // Each kill leaves each client with a row without an answer.
    assert!(rows["unknown"].as_u64().unwrap() >= 20, "{rows}");
    assert_eq!((rows["lost"].as_u64(), rows["unexpected"].as_u64()), (Some(0), Some(0)), "{rows}");

    let (code, document, stderr) = verify(&place, &["--set=innodb_flush_log_at_trx_commit=0"]);
    let found = &document["comparison"];
    assert_eq!(code, Some(1), "{found}{stderr}");
    assert!(found["rows"]["lost"].as_u64().unwrap() > 0, "{found}");
    // It flushes once a second, and a busy machine takes its time.
    assert!(found["loss_window_ms"].as_u64().unwrap() < 4000, "{found}");

    // The folder is one like any other. On a busy machine its figures may be no evidence.
    for args in [&["report", "--format=csv"][..], &["stalls", "runs/latest"], &["report"]] {
        let ran = place.run(args);
        assert!(
            matches!(ran.code, Some(0 | 1 | 4)) && !ran.stdout.is_empty(),
            "{args:?}: {}{}",
            ran.stdout,
            ran.stderr
        );
    }
    let again = place.run(&["verify", "--resume"]);
    assert_eq!(again.code, Some(4), "{}", again.stderr);
    assert!(
        again.stderr.contains("in a private server, which ended with its run"),
        "{}",
        again.stderr
    );
}

#[test]
fn rows_that_are_sent_again_are_all_acknowledged() {
    if mariadb("rows_that_are_sent_again_are_all_acknowledged").is_none() {
        return;
    }
    let place = Place::with_templates();
    let (code, document, stderr) = verify(&place, &["--retries=100"]);
    let rows = &document["comparison"]["rows"];
    assert_eq!(code, Some(0), "{rows}{stderr}");
    assert!(rows["resent"].as_u64().unwrap() >= 20, "{rows}");
    assert_eq!(rows["attempted"], rows["acknowledged"], "no kill is at the end: {rows}");
}
