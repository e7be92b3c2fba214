//! What `docs/method/disturbances.md` promises of a disturbed trial, on real servers.

use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;
use truetps_testkit::mysql_family::mariadb;
use truetps_testkit::take_machine;

use crate::common::{Place, Ran, signal, wait_until, with_small_redo};
use crate::with_server::LONG;

/// The server is stopped in one trial of several: it is measured again, and where the user ends the
/// repeat, the first attempt counts.
#[test]
fn a_trial_whose_server_was_stopped_is_measured_again() {
    let _machine = take_machine();
    let Some(binary) = mariadb("a_trial_whose_server_was_stopped_is_measured_again") else {
        return;
    };
    let basedir = binary.path.display().to_string();
    for ends_the_repeat in [false, true] {
        let place = Place::with_templates();
        place.write("repeated.toml", &with_small_redo(&LONG.replace("blocks = 3", "blocks = 6")));
        let mut command = place.command(&["sweep", "./repeated.toml", "--basedir", &basedir]);
        // Runs that are put beside each other on purpose are not repeated.
        command.env_remove("TRUETPS_PRESENCE").stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        place.wait_for_interval("trial-0005");
        let servers = place.servers();
        for server in &servers {
            signal(*server, Signal::STOP);
        }
        sleep(Duration::from_millis(1200));
        for server in &servers {
            signal(*server, Signal::CONT);
        }
        let kept = place.latest().join("trial-0005.attempt-1/run.json");
        if ends_the_repeat {
            wait_until("the first attempt is kept", || kept.is_file());
            place.wait_for_interval("trial-0005");
            signal(child.id(), Signal::INT);
        }
        let ran: Ran = child.wait_with_output().unwrap().into();
        let trial = place.run_json("trial-0005");
        assert_eq!(trial["validity"]["state"], "valid", "{}", ran.stderr);
        assert!(kept.is_file(), "{}", ran.stderr);
        let is_repeat = trial["repeated_after"].is_string();
        assert_eq!(is_repeat, !ends_the_repeat, "{trial}");
        assert_eq!(ran.code, Some(if ends_the_repeat { 130 } else { 0 }), "{}", ran.stderr);
    }
}
