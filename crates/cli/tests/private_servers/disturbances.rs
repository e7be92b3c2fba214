//! What `docs/method/disturbances.md` promises of a disturbed trial, on real servers.

use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;
use truetps_testkit::mysql_family::mariadb;
use truetps_testkit::take_machine;

use crate::common::{Place, Ran, signal, wait_until, with_small_redo};
use crate::with_server::LONG;

/// How the repeat of a trial ends.
#[derive(Clone, Copy, PartialEq)]
enum RepeatEnd {
    Valid,
    Interrupted,
    Killed,
}

/// The server is stopped in one trial of several: it is measured again. Where the repeat is ended,
/// the first attempt counts: at once, or when the experiment is resumed.
#[test]
fn a_trial_whose_server_was_stopped_is_measured_again() {
    let _machine = take_machine();
    let Some(binary) = mariadb("a_trial_whose_server_was_stopped_is_measured_again") else {
        return;
    };
    let basedir = binary.path.display().to_string();
    for end in [RepeatEnd::Valid, RepeatEnd::Interrupted, RepeatEnd::Killed] {
        let place = Place::with_templates();
        place.write("repeated.toml", &with_small_redo(&LONG.replace("blocks = 3", "blocks = 6")));
        let child = spawn(&place, &["sweep", "./repeated.toml", "--basedir", &basedir]);
        place.wait_for_interval("trial-0005");
        let begun_at = place.run_json("trial-0005")["started_at"].clone();
        stop_servers(&place);
        let kept = place.latest().join("trial-0005.attempt-1/run.json");
        if end != RepeatEnd::Valid {
            wait_until("the first attempt is kept", || kept.is_file());
            place.wait_for_interval("trial-0005");
            let is_killed = end == RepeatEnd::Killed;
            signal(child.id(), if is_killed { Signal::KILL } else { Signal::INT });
        }
        let mut ran: Ran = child.wait_with_output().unwrap().into();
        if end == RepeatEnd::Killed {
            assert_eq!(place.run_json("trial-0005")["validity"]["state"], "partial");
            ran = spawn(&place, &["sweep", "--resume"]).wait_with_output().unwrap().into();
        }
        let trial = place.run_json("trial-0005");
        assert_eq!(trial["validity"]["state"], "valid", "{}", ran.stderr);
        assert!(kept.is_file(), "{}", ran.stderr);
        let is_repeat = trial["repeated_after"].is_string();
        assert_eq!(is_repeat, end == RepeatEnd::Valid, "{trial}");
        assert_eq!(trial["started_at"] == begun_at, end != RepeatEnd::Valid, "{trial}");
        let code = if end == RepeatEnd::Interrupted { 130 } else { 0 };
        assert_eq!(ran.code, Some(code), "{}", ran.stderr);
    }
}

/// Without the variable by which tests put their runs beside each other, and which ends repeats.
fn spawn(place: &Place, args: &[&str]) -> Child {
    let mut command = place.command(args);
    command.env_remove("TRUETPS_PRESENCE").stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn stop_servers(place: &Place) {
    let servers = place.servers();
    for server in &servers {
        signal(*server, Signal::STOP);
    }
    sleep(Duration::from_millis(1200));
    for server in &servers {
        signal(*server, Signal::CONT);
    }
}
