//! The search for the highest rate, on a real server: it ends, keeps every trial, and can be
//! interrupted. What it finds on a busy machine is not asserted.

use std::fs;

use rustix::process::Signal;
use serde_json::Value;
use truetps_testkit::mysql_family::mariadb;

use crate::common::{Place, Ran, SMALL_REDO, has_server, signal};
use crate::support::{ACCOUNT, Owned, run_with_password};

const SEARCH: [&str; 7] = [
    "run",
    "insert",
    "--find-max",
    "--connections=2",
    "--measure=0.5",
    "--warm-up=0.1",
    "--table-rows=1000",
];

fn experiment(place: &Place) -> Value {
    serde_json::from_slice(&fs::read(place.latest().join("experiment.json")).unwrap()).unwrap()
}

#[test]
fn a_search_ends_and_keeps_every_trial() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    let ran = place.run(
        &[&SEARCH[..], &["--slo", "p99<1s,failed<1%", "--format", "json", SMALL_REDO]].concat(),
    );
    // Trials of half a second on a busy machine may contradict each other for ever: this is
    // reported, and is no answer.
    let is_undecided = ran.code == Some(4) && ran.stderr.contains("the search found no rate");
    assert!(ran.code == Some(0) || is_undecided, "{:?}: {}", ran.code, ran.stderr);
    let _: Value = serde_json::from_str(&ran.stdout).expect("one JSON document on stdout");

    let experiment = experiment(&place);
    assert_eq!(experiment["slo"], "p99<1s,failed<1%");
    let schedule = experiment["schedule"].as_array().unwrap();
    assert!((2..=31).contains(&schedule.len()), "{} trials", schedule.len());
    assert_eq!(schedule[0]["role"], "pilot");
    assert_eq!(schedule[0]["configuration"]["rate"], Value::Null, "a closed loop comes first");
    let plan = fs::read_to_string(place.latest().join("plan.toml")).unwrap();
    for scheduled in schedule {
        let trial = place.run_json(scheduled["name"].as_str().unwrap());
        assert_eq!(trial["validity"]["state"], "valid", "{trial}");
        let is_open = scheduled["role"] == "cell";
        assert_eq!(trial["measured"]["sustained"].is_boolean(), is_open, "{trial}");
        if is_open {
            let rate = scheduled["configuration"]["rate"].to_string();
            assert!(plan.contains(&rate), "{rate} is a level in\n{plan}");
        }
    }
    assert!(place.servers().is_empty());
    for format in ["text", "json", "csv", "md"] {
        let report = place.run(&["report", "--format", format]);
        assert_eq!(report.code, Some(0), "{format}: {}", report.stderr);
    }
    assert!(fs::read_to_string(place.latest().join("report.html")).unwrap().contains("</html>"));
}

#[test]
fn ctrl_c_ends_a_search_with_what_it_has() {
    let Some(binary) = mariadb("ctrl_c_ends_a_search") else { return };
    let (owned, place) = (Owned::start(&binary, &[]), Place::with_templates());
    let before = owned.belongings();
    let dsn = owned.socket_dsn();
    let child = place.start(&[&SEARCH[..], &["--dsn", &dsn]].concat());
    place.wait_for_interval("trial-0002");
    signal(child.id(), Signal::INT);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    assert_eq!(place.run_json("trial-0001")["validity"]["state"], "valid");
    let last = experiment(&place)["schedule"].as_array().unwrap().last().unwrap().clone();
    let last = place.run_json(last["name"].as_str().unwrap());
    assert!(
        last["validity"]["state"] == "partial" || last["validity"]["state"] == "valid",
        "{last}"
    );
    assert_eq!(owned.belongings(), before);
    let report = place.run(&["report", "--format", "json"]);
    assert!(matches!(report.code, Some(0 | 3)), "{}", report.stderr);
}

/// After Ctrl-C, and after a kill in the middle of a trial: what was measured counts, and leads to
/// the trials after it.
#[test]
fn a_search_goes_on_where_it_was_ended() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    for (trial, end) in [("trial-0002", Signal::INT), ("trial-0004", Signal::KILL)] {
        let child = if end == Signal::INT {
            place.start(&[&SEARCH[..], &[SMALL_REDO]].concat())
        } else {
            place.start(&["sweep", "--resume"])
        };
        place.wait_for_interval(trial);
        signal(child.id(), end);
        let ran: Ran = child.wait_with_output().unwrap().into();
        if end == Signal::INT {
            assert_eq!(ran.code, Some(130), "{}", ran.stderr);
            assert!(ran.stderr.contains("truetps sweep --resume "), "{}", ran.stderr);
        }
    }
    let before = experiment(&place)["schedule"].as_array().unwrap().clone();
    let measured: Vec<_> = [1, 2, 3].map(|n| place.run_json(&format!("trial-000{n}"))).into();
    assert!(measured.iter().all(|trial| trial["validity"]["state"] == "valid"), "{measured:?}");

    let ran = place.run(&["sweep", "--resume", "--format", "json"]);
    // On a busy machine trials may contradict each other for ever.
    let is_undecided = ran.code == Some(4) && ran.stderr.contains("the search found no rate");
    assert!(ran.code == Some(0) || is_undecided, "{:?}: {}", ran.code, ran.stderr);
    let after = experiment(&place)["schedule"].as_array().unwrap().clone();
    assert!(after.starts_with(&before) && after.len() >= 5, "{before:?} {after:?}");
    assert_eq!(
        [1, 2, 3].map(|n| place.run_json(&format!("trial-000{n}"))).to_vec(),
        measured,
        "what was measured is kept"
    );
    let killed = place.latest().join("trial-0004.attempt-1/run.json");
    assert!(killed.exists(), "the trial that was killed is kept beside its repetition");
    place.refused(&["sweep", "--resume", "--blocks", "3"], &["is a rate search", "--blocks"]);
    assert!(place.servers().is_empty());
}

/// The closed loop that comes first measures nothing: there is no rate to begin with.
#[test]
fn a_search_without_a_beginning_says_why() {
    let Some(binary) = mariadb("a_search_without_a_beginning") else { return };
    let (owned, place) = (Owned::start(&binary, &[]), Place::with_templates());
    owned.execute(&[&format!("ALTER USER {ACCOUNT}@'%' WITH MAX_USER_CONNECTIONS 10")]);
    // Two addresses look like two servers, each of which would have room.
    let dsn = format!("mysql://{ACCOUNT}@127.0.0.1:{0},127.0.0.1:{0}", owned.port);
    let ran = run_with_password(
        &place,
        &[&SEARCH[..3], &["--dsn", &dsn, "--connections=16", "--table-rows=100"]].concat(),
    );
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("closed-loop trial before the search")
            && ran.stderr.contains("max_user_connections"),
        "{}",
        ran.stderr
    );
    assert_eq!(place.run_json("trial-0001")["validity"]["state"], "invalid");
}
