//! What is done about failed statements and broken connections, by the flags of `run`, on a server
//! that is made to fail.

use serde_json::Value;
use truetps_testkit::mysql_family::mariadb;

use crate::common::{Place, Ran, reason_of, wait_until};
use crate::support::{ACCOUNT, Owned, PASSWORD};

/// A trial with two clients, while `disturb` does something to the server in the measure phase.
fn disturbed(owned: &Owned, flags: &[&str], disturb: impl FnOnce()) -> (Place, Ran) {
    let place = Place::new();
    let dsn = owned.tcp_dsn();
    let args = [
        "run",
        "insert",
        "--dsn",
        &dsn,
        "--connections=2",
        "--warm-up=0",
        "--table-rows=500",
        "--rate=200",
    ];
    let mut command = place.command(&[&args[..], flags].concat());
    command.env("TRUETPS_PASSWORD", PASSWORD).stdout(std::process::Stdio::piped());
    let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    wait_until("the load", || {
        child.try_wait().unwrap().is_some() || rows(owned).is_some_and(|rows| rows > 510)
    });
    disturb();
    (place, child.wait_with_output().unwrap().into())
}

/// Rows under load, once the table is there.
fn rows(owned: &Owned) -> Option<u64> {
    let rows = owned.admin().query_value("SELECT COUNT(*) FROM truetps.sbtest1").ok()??;
    rows.parse().ok()
}

fn trial(place: &Place, ran: &Ran, code: i32, validity: &str) -> Value {
    assert_eq!(ran.code, Some(code), "{}", ran.stderr);
    let trial = place.run_json("trial-0001");
    assert_eq!(trial["validity"]["state"], validity, "{trial}");
    trial
}

fn count(trial: &Value, name: &str) -> u64 {
    trial["measured"][name].as_u64().unwrap()
}

/// The account of the load may not write to a read-only server.
#[test]
fn classes_are_ignored_retried_or_fatal() {
    let Some(binary) = mariadb("classes_are_ignored_retried_or_fatal") else { return };
    let owned = Owned::start(&binary, &[]);
    let close = || owned.execute(&["SET GLOBAL read_only = ON"]);
    let with = |flags: &[&str], code, validity| {
        let (place, ran) = disturbed(&owned, flags, close);
        // What cannot be dropped is not left without a word, nor with an exit code that sounds
        // well.
        assert!(ran.stderr.contains("the schema `truetps` could not be dropped"), "{}", ran.stderr);
        owned.execute(&["SET GLOBAL read_only = OFF", "DROP DATABASE truetps"]);
        trial(&place, &ran, code, validity)
    };
    let failed = with(&["--measure=1.5"], 4, "invalid");
    assert!(reason_of(&failed).contains("transactions failed"), "{failed}");
    assert_eq!(failed["measured"]["errors"][0]["class"], "read_only");
    assert_eq!((count(&failed, "retried"), count(&failed, "ignored")), (0, 0));

    let ignored = with(&["--measure=1.5", "--ignore", "read_only"], 4, "valid");
    assert_eq!(count(&ignored, "failed"), count(&ignored, "ignored"));
    assert!(count(&ignored, "ignored") > 0, "{ignored}");

    let retried =
        with(&["--measure=1.5", "--retry", "read_only", "--retries-max", "2"], 4, "invalid");
    assert!(count(&retried, "failed") > 0, "{retried}");
    // The last one may have been under way.
    assert!(count(&retried, "retried").abs_diff(2 * count(&retried, "failed")) <= 4, "{retried}");

    let fatal = with(&["--measure=60", "--fatal", "read_only"], 4, "invalid");
    let reason = reason_of(&fatal);
    assert!(reason.contains("calls fatal") && reason.contains("read"), "{reason}");
    assert!(fatal["measured"]["length_ms"].as_f64().unwrap() < 59_000.0, "{fatal}");
}

/// Ends the first session of the load's account (truetps's own) or the last one (a client's).
fn kill(owned: &Owned, order: &str) {
    let sessions = format!(
        "SELECT id FROM information_schema.processlist WHERE user = '{ACCOUNT}' ORDER BY id {order}"
    );
    let mut admin = owned.admin();
    let id = admin.query_value(&sessions).unwrap().unwrap();
    admin.execute(&format!("KILL {id}")).unwrap();
}

#[test]
fn a_broken_connection_is_made_again_or_is_not() {
    let Some(binary) = mariadb("a_broken_connection") else { return };
    let owned = Owned::start(&binary, &[]);
    let (place, ran) = disturbed(&owned, &["--measure=2"], || kill(&owned, "DESC"));
    let lost = trial(&place, &ran, 4, "invalid");
    assert!(reason_of(&lost).contains("lost their connection"), "{lost}");
    assert_eq!(
        (&lost["engine"]["clients_failed"], &lost["engine"]["reconnects"]),
        (&1.into(), &0.into())
    );

    let (place, ran) =
        disturbed(&owned, &["--measure=2", "--reconnect=30"], || kill(&owned, "DESC"));
    let back = trial(&place, &ran, 0, "valid");
    assert_eq!(
        (&back["engine"]["clients_failed"], &back["engine"]["reconnects"]),
        (&0.into(), &1.into()),
        "{back}"
    );
    assert!(count(&back, "failed") <= 1, "{back}");
}

/// Servers close sessions that are idle for long, and truetps's own one is idle for as long as a
/// trial.
#[test]
fn a_server_that_closes_idle_sessions_is_well() {
    let Some(binary) = mariadb("a_server_that_closes_idle_sessions") else { return };
    let owned = Owned::start(&binary, &[]);
    let (place, ran) = disturbed(&owned, &["--measure=1"], || kill(&owned, "ASC"));
    let well = trial(&place, &ran, 0, "valid");
    assert_eq!(count(&well, "failed"), 0);
    let variables = place.latest().join("trial-0001/server/variables.json");
    assert!(variables.is_file(), "the server was asked for its settings");
}
