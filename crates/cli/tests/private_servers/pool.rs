//! `truetps pool` on real servers: it ends and goes on, and its answer can be read again in all
//! forms. What it advises on a busy machine is not asserted: `truetps-pool` proves that.

use rustix::process::Signal;
use serde_json::Value;

use crate::browser::check_document_page;
use crate::common::{Place, Ran, SMALL_REDO, has_server, signal};

const SEARCH: [&str; 9] = [
    "pool",
    "insert",
    "--quick",
    "--most=4",
    "--measure=0.3",
    "--warm-up=0.1",
    "--table-rows=1000",
    "--set=wait_timeout=90",
    SMALL_REDO,
];

fn document(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}{}", ran.stdout, ran.stderr))
}

fn connections_of_trials(document: &Value) -> Vec<u64> {
    let trials = document["trials"].as_array().unwrap();
    trials.iter().map(|trial| trial["connections"].as_u64().unwrap()).collect()
}

#[test]
fn a_search_advises_and_its_answer_can_be_read_again() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    let ran = place
        .run(&[&SEARCH[..], &["--current=3", "--rate=10", "--p99=1m", "--format=json"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let answer = document(&ran);
    assert_eq!(answer["findings"]["outcome"], "advised");
    assert_eq!(answer["pool"]["current"], 3);
    let advice = answer["findings"]["advice"].as_u64().unwrap();
    assert!((1..=4).contains(&advice), "{advice}");
    let trials = connections_of_trials(&answer);
    assert_eq!(trials[..2], [1, 2], "the climb comes first");
    assert!(
        trials.contains(&3) && trials.iter().all(|number| (1..=4).contains(number)),
        "{trials:?}"
    );
    // The server's own limit, read from its variables.
    let parameters = &answer["parameters"];
    // Ten a second are far below what three connections carry: they stay.
    assert_eq!(
        (&answer["rate"]["current"], &answer["rate"]["connections"]),
        (&"carries".into(), &3.into())
    );
    assert_eq!(
        (&parameters["size"], &parameters["max_lifetime_s"]),
        (&Value::from(3), &Value::from(60))
    );
    assert_eq!(answer["libraries"].as_array().unwrap().len(), 7);
    assert!(place.servers().is_empty());

    assert_eq!(document(&place.good(&["report", "--format", "json"])), answer);
    for (args, words) in [
        (
            &["report"][..],
            &[
                "Answer    Yes: 3 connections carry 10 a second",
                "For the most throughput: ",
                "initial = least = most = 3",
            ][..],
        ),
        (
            &["report", "--full"],
            &["HikariCP", "maximumPoolSize=", "SetMaxOpenConns(", "wait_timeout of 90 s"],
        ),
        (
            &["report", "--format", "md"],
            &["# insert: how many connections does it need?", "maximumPoolSize="],
        ),
    ] {
        let ran = place.good(args);
        for word in words {
            assert!(ran.stdout.contains(word), "{args:?} should say {word:?}:\n{}", ran.stdout);
        }
    }
    let page = std::fs::read_to_string(place.latest().join("report.html")).unwrap();
    assert!(page.contains("</html>") && page.contains("maximumPoolSize="));
    check_document_page(&place, "The pool's parameters");
}

#[test]
fn a_search_goes_on_where_ctrl_c_ended_it() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    place.good(&["sweep", "insert", "-c", "1,8", "--save-plan", "mine.toml"]);
    let search = [&["pool", "./mine.toml"], &SEARCH[2..]].concat();
    let child = place.start(&search);
    place.wait_for_interval("trial-0002");
    signal(child.id(), Signal::INT);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    let said = "interrupted: what was measured is kept\nNext   truetps pool --resume ";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    let before = place.run(&["report", "--format", "json"]);
    assert_eq!(
        (before.code, &document(&before)["findings"]["outcome"]),
        (Some(3), &Value::from("unfinished"))
    );
    let measured = document(&before)["trials"].clone();

    // What was asked is recorded: the words of the command line may have another meaning now.
    let path = place.latest().join("experiment.json");
    let mut experiment: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    experiment["command"] = serde_json::json!(["truetps", "pool", "--renamed"]);
    std::fs::write(&path, experiment.to_string()).unwrap();
    // The folder has its own plan.
    std::fs::remove_file(place.path().join("mine.toml")).unwrap();
    let ran = place.run(&["pool", "--resume", "--format", "json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let answer = document(&ran);
    assert_eq!(answer["findings"]["outcome"], "advised");
    assert_eq!(answer["pool"]["asked"], Value::Null, "how to go on is no answer");
    let (measured, trials) = (measured.as_array().unwrap(), answer["trials"].as_array().unwrap());
    assert!(
        !measured.is_empty() && trials.starts_with(measured),
        "what was measured is not measured again"
    );
    assert!(place.servers().is_empty());
}
