//! Every workload through the whole program, on a real server. No test asserts a figure.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{Place, has_server};

/// Runs a trial of a third of a second with the arguments, and checks that it is evidence.
fn check(place: &Place, args: &[&str]) {
    let ran = place.run(args);
    assert!(matches!(ran.code, Some(0 | 3)), "{args:?}: {:?}\n{}", ran.code, ran.stderr);
    let trial = place.run_json("trial-0001");
    assert_eq!(trial["validity"]["state"], "valid", "{args:?}: {trial}");
    let count = |name: &str| trial["measured"][name].as_u64().unwrap();
    assert!(count("ok") > 0 && count("failed") * 100 <= count("ok"), "{args:?}: {trial}");
}

fn run(place: &Place, flags: &[&str]) {
    let mut args = vec!["run", "--connections", "3", "--warm-up", "0.1", "--measure", "0.3"];
    args.extend(flags);
    check(place, &args);
}

#[test]
fn every_built_in_workload_runs() {
    if !has_server() {
        return;
    }
    let place = Place::new();
    let small = ["--tables", "2", "--table-rows", "500"];
    let with = |flags: &[&str]| run(&place, &[flags, &small].concat());
    with(&["insert"]);
    with(&["bulk-insert", "--rows-per-insert", "10", "--text-protocol"]);
    with(&["update-index", "--distribution", "pareto:h=0.1"]);
    with(&["update-non-index", "--distribution", "zipfian:scrambled=true", "--text-protocol"]);
    run(&place, &["hot-row", "--hot-rows", "2"]);
}

#[test]
fn every_built_in_workload_of_several_statements_runs() {
    if !has_server() {
        return;
    }
    let place = Place::new();
    let with = |flags: &[&str]| run(&place, &[flags, &["--table-rows", "5000"]].concat());
    with(&["delete-insert"]);
    with(&["delete-insert", "--key", "random", "--text-protocol"]);
    with(&["delete-insert", "--key", "auto", "--distribution", "latest"]);
    with(&["read-write", "--mix", "point_selects=2", "--mix", "range_size=10"]);
}

/// Two tables, one of which refers to the other, and one transaction on both.
const CUSTOM: &str = include_str!("plans/orders.toml");

#[test]
fn a_custom_workload_runs_from_its_plan() {
    if !has_server() {
        return;
    }
    let place = Place::new();
    place.write("orders.toml", CUSTOM);
    check(&place, &["sweep", "./orders.toml"]);
    assert_eq!(place.run_json("trial-0002")["validity"]["state"], "valid", "the tables were refilled");
}
