//! Open loops through the whole program, on a real server: what is counted, and what overload and
//! Ctrl-C leave. No test asserts a figure of the server's.

use std::fs;

use rustix::process::Signal;
use serde_json::Value;
use truetps_testkit::mysql_family::mariadb;
use truetps_testkit::take_machine;

use crate::common::{Place, Ran, SMALL_REDO, has_server, signal, wait_until};
use crate::support::Owned;

const SHORT: [&str; 5] = ["run", "insert", "--warm-up=0.2", "--table-rows=500", "--format=json"];

/// Runs a trial that must be evidence, and gives its record.
fn trial(place: &Place, flags: &[&str]) -> Value {
    let ran = place.run(&[&SHORT, flags].concat());
    assert_eq!(ran.code, Some(0), "{flags:?}: {}", ran.stderr);
    let answer: Value = serde_json::from_str(&ran.stdout).expect("one JSON document on stdout");
    let trial = place.run_json("trial-0001");
    assert_eq!(trial["validity"]["state"], "valid", "{flags:?}: {trial}");
    assert_eq!(answer["trials"][0]["tps"], trial["measured"]["tps"]);
    check_counts(place, &trial);
    trial
}

fn count(of: &Value, name: &str) -> u64 {
    of[name].as_u64().unwrap_or_else(|| panic!("{name} in {of}"))
}

/// The equations of one stretch of time, and that each response time holds its service time.
fn check_stretch(stretch: &Value) {
    let open = &stretch["open_loop"];
    assert_eq!(
        count(open, "queued_in") + count(open, "scheduled"),
        count(stretch, "started") + count(open, "skipped") + count(open, "queued"),
        "{stretch}"
    );
    assert_eq!(
        count(stretch, "carried_in") + count(stretch, "started"),
        count(stretch, "ok") + count(stretch, "failed") + count(stretch, "in_flight"),
        "{stretch}"
    );
    for figure in ["p50", "p95", "p99", "max"] {
        let (response, service) =
            (&stretch[format!("response_us_{figure}")], &open[format!("service_us_{figure}")]);
        assert_eq!(response.is_null(), service.is_null(), "{stretch}");
        if let (Some(response), Some(service)) = (response.as_f64(), service.as_f64()) {
            // Histograms keep three digits.
            assert!(service <= response * 1.01, "{figure}: {service} of {response}");
        }
    }
}

/// Each interval by itself, each beside the one before it, and all of a phase together.
fn check_counts(place: &Place, trial: &Value) {
    let measured = &trial["measured"];
    check_stretch(measured);
    let text = fs::read_to_string(place.latest().join("trial-0001/intervals.jsonl")).unwrap();
    let intervals: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    intervals.iter().for_each(check_stretch);
    for pair in intervals.windows(2) {
        assert_eq!(pair[1]["open_loop"]["queued_in"], pair[0]["open_loop"]["queued"]);
        assert_eq!(pair[1]["carried_in"], pair[0]["in_flight"]);
    }
    let in_phase = || intervals.iter().filter(|interval| interval["phase"] == "measure");
    for name in ["started", "ok", "failed"] {
        assert_eq!(
            in_phase().map(|interval| count(interval, name)).sum::<u64>(),
            count(measured, name),
            "{name}"
        );
    }
    for name in ["scheduled", "skipped"] {
        let sum: u64 = in_phase().map(|interval| count(&interval["open_loop"], name)).sum();
        assert_eq!(sum, count(&measured["open_loop"], name), "{name}");
    }
}

fn assert_near(found: u64, expect: u64, tolerance: u64) {
    assert!(found.abs_diff(expect) <= tolerance, "{found} is not {expect} ± {tolerance}");
}

#[test]
fn a_rate_is_kept_and_recorded() {
    let Some(binary) = mariadb("a_rate_is_kept_and_recorded") else { return };
    let (owned, place) = (Owned::start(&binary, &[]), Place::with_templates());
    let dsn = owned.socket_dsn();
    let trial = |flags: &[&str]| trial(&place, &[&["--dsn", &dsn], flags].concat());
    let steady = trial(&["--rate", "200/s", "--connections", "4", "--measure=1.5"]);
    let open = &steady["measured"]["open_loop"];
    assert_near(count(open, "scheduled"), 300, 1);
    assert!(
        steady["measured"]["sustained"].is_boolean() && count(open, "skipped") == 0,
        "{steady}"
    );
    for name in ["lag_us_p50", "lag_us_p99", "lag_us_max"] {
        assert!(open[name].as_f64().unwrap() >= 0.0, "{name}");
    }
    let plan = fs::read_to_string(place.latest().join("plan.toml")).unwrap();
    assert!(plan.contains("rate = 200"), "{plan}");
    let report = place.run(&["report", "--format", "json"]);
    assert_eq!(report.code, Some(0), "{}", report.stderr);

    let ramp = trial(&["--rate=100", "--ramp-to=500", "--connections=4", "--measure=1"]);
    assert_near(count(&ramp["measured"]["open_loop"], "scheduled"), 300, 2);

    // Times between starts are drawn, from the seed: their number is near the rate, and the same
    // again.
    let poisson = || trial(&["--rate=400", "--arrivals=poisson", "--measure=1", "--connections=4"]);
    let [first, again] =
        [poisson(), poisson()].map(|trial| count(&trial["measured"]["open_loop"], "scheduled"));
    assert_near(first, 400, 140);
    assert_eq!(first, again);
}

#[test]
fn a_hundred_clients_each_at_their_own_rate() {
    let Some(binary) = mariadb("a_hundred_clients") else { return };
    let (owned, place) = (Owned::start(&binary, &[]), Place::with_templates());
    let trial = trial(
        &place,
        &["--dsn", &owned.socket_dsn(), "--clients=100", "--rate-per-client=1/s", "--measure=2"],
    );
    assert_eq!(
        (&trial["engine"]["clients"], &trial["engine"]["clients_failed"]),
        (&100.into(), &0.into())
    );
    assert_eq!(trial["engine"]["mode"], "multiplexed");
    // Each client has a phase of its own: two starts in two seconds, regardless of the phase.
    assert_eq!(count(&trial["measured"]["open_loop"], "scheduled"), 200);
    let plan = fs::read_to_string(place.latest().join("plan.toml")).unwrap();
    assert!(plan.contains("rate_per_client = 1"), "{plan}");
}

/// More than any server does: a result, and no failure.
#[test]
fn overload_is_a_result() {
    let _machine = take_machine();
    let Some(binary) = mariadb("overload_is_a_result") else { return };
    let (owned, place) = (Owned::start(&binary, &[]), Place::with_templates());
    let dsn = owned.socket_dsn();
    let trial = |flags: &[&str]| trial(&place, &[&["--dsn", &dsn], flags].concat());
    let queue = trial(&["--rate=500000", "--connections=2", "--measure=0.5"]);
    let measured = &queue["measured"];
    assert_eq!(measured["sustained"], false, "{queue}");
    assert!(
        count(&measured["open_loop"], "queued") > 0
            && count(&measured["open_loop"], "skipped") == 0,
        "{queue}"
    );
    // The wait for a client is in the response time, and the service time knows nothing of it.
    let (response, service) =
        (&measured["response_us_p50"], &measured["open_loop"]["service_us_p50"]);
    assert!(response.as_f64().unwrap() > 2.0 * service.as_f64().unwrap(), "{queue}");

    let skipping =
        trial(&["--rate=500000", "--connections=2", "--measure=0.5", "--latency-limit=20ms"]);
    let measured = &skipping["measured"];
    assert_eq!(measured["sustained"], false, "{skipping}");
    assert!(
        count(&measured["open_loop"], "skipped") > 0 && count(measured, "ok") > 0,
        "{skipping}"
    );
    // What had to wait longer than the limit was not sent. (Between the look at the clock and the
    // sending, a busy machine may pause the generator.)
    assert!(measured["open_loop"]["lag_us_p99"].as_f64().unwrap() <= 25_000.0, "{skipping}");
}

#[test]
fn ctrl_c_keeps_what_an_open_loop_has_measured() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    let child = place.start(
        &[&SHORT[..], &["--rate=100", "--connections=2", "--measure=60", SMALL_REDO]].concat(),
    );
    wait_until("an interval of the measure phase", || {
        let path = place.path().join("runs/latest/trial-0001/intervals.jsonl");
        fs::read_to_string(path)
            .is_ok_and(|text| text.lines().any(|line| line.contains("\"measure\"")))
    });
    signal(child.id(), Signal::INT);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    let trial = place.run_json("trial-0001");
    assert_eq!(trial["validity"]["state"], "partial", "{trial}");
    assert!(count(&trial["measured"], "ok") > 0, "{trial}");
    check_counts(&place, &trial);
    assert!(place.servers().is_empty());
}

#[test]
fn modes_are_those_that_were_asked_for() {
    let Some(binary) = mariadb("modes_are_those") else { return };
    let (owned, place) = (Owned::start(&binary, &[]), Place::with_templates());
    let dsn = owned.socket_dsn();
    let common = [
        "--dsn",
        &dsn,
        "--rate-per-client=30",
        "--connections=3",
        "--measure=0.5",
        "--workers=1",
        "--mode",
    ];
    for (mode, workers) in [("blocking", 3), ("multiplexed", 1)] {
        let trial = trial(&place, &[&common[..], &[mode]].concat());
        assert_eq!(trial["engine"]["mode"], mode, "{trial}");
        assert_eq!(trial["engine"]["workers"], workers, "{trial}");
        assert_eq!(trial["engine"]["pinned_to"], Value::Null);
    }
}

#[test]
fn generator_and_private_server_have_cores_of_their_own() {
    if !has_server() {
        return;
    }
    if std::thread::available_parallelism().unwrap().get() < 2 {
        eprintln!("SKIPPED: one core cannot be divided");
        return;
    }
    let place = Place::with_templates();
    let pinned =
        trial(&place, &["--rate=100", "--connections=3", "--measure=0.5", "--pin", SMALL_REDO]);
    assert!(!pinned["engine"]["pinned_to"].as_array().unwrap().is_empty(), "{pinned}");
    assert_eq!(pinned["engine"]["shares_cores"], false, "{pinned}");
}
