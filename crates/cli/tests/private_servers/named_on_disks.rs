//! Named servers on emulated disks: from the first start to the removal, and what is left by kills.

use std::fs::{self, File};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use crate::common::{Ends, Place, has_disks, has_server, mounts_below, signal, wait_until};

impl Place {
    fn status(&self) -> String {
        self.run(&["server", "status", "slow"]).stdout
    }

    fn disk_pid(&self) -> u32 {
        let status = self.status();
        status
            .split_once("emulated by process ")
            .unwrap()
            .1
            .lines()
            .next()
            .unwrap()
            .parse()
            .unwrap()
    }

    fn rows(&self) -> String {
        let answer = self.good(&["server", "sql", "slow", "SELECT COUNT(*) FROM x.t"]).stdout;
        answer.lines().last().unwrap_or_default().to_owned()
    }

    fn is_unmounted(&self) -> bool {
        mounts_below(&self.home()).is_empty()
    }
}

/// One test at a time: each has a server on a disk, and time limits are for one.
static QUIET: Mutex<()> = Mutex::new(());

fn quiet(test: &str) -> Option<MutexGuard<'static, ()>> {
    (has_server() && has_disks(test)).then(|| QUIET.lock().unwrap_or_else(PoisonError::into_inner))
}

#[test]
fn the_life_of_a_named_server_on_a_disk() {
    let Some(_quiet) = quiet("the_life_of_a_named_server_on_a_disk") else { return };
    let place = Place::with_templates();
    let _ends = Ends(&place);
    place.good(&["server", "add", "slow"]);
    it_keeps_its_data_on_any_profile(&place);
    a_killed_helper_is_a_crash_of_its_host(&place);
    it_ends_in_each_way_and_is_unmounted(&place);
    place.good(&["server", "start", "slow"]);
    place.good(&["server", "remove", "slow", "--force"]);
    assert!(place.servers().is_empty() && place.leftovers().is_empty() && place.is_unmounted());
}

fn it_keeps_its_data_on_any_profile(place: &Place) {
    let started = place.good(&["server", "start", "slow", "--disk", "sata-ssd"]);
    assert!(
        started.stderr.contains("disk sata-ssd: overwrite ")
            && started.stderr.contains(", append "),
        "{started:?}"
    );
    assert!(started.stdout.contains("sata-ssd, emulated by process"), "{started:?}");
    assert!(place.good(&["server", "list"]).stdout.contains("  on sata-ssd  "));
    place.good(&[
        "server",
        "sql",
        "slow",
        "CREATE DATABASE x; CREATE TABLE x.t (a INT)",
        "INSERT x.t VALUES (1)",
    ]);
    place.good(&["server", "stop", "slow"]);
    assert!(
        place.is_unmounted() && place.status().contains("sata-ssd, emulated, not mounted"),
        "{}",
        place.status()
    );
    // Cleaning is about killed processes.
    place.good(&["server", "clean"]);
    let again = place.good(&["server", "start", "slow"]);
    assert!(again.stderr.contains("disk sata-ssd: ") && place.rows() == "1", "{again:?}");
    place.refused(&["server", "start", "slow", "--disk", "nvme"], &["server `slow` runs"]);
    assert!(place.status().contains("sata-ssd, emulated by process"), "its disk is left alone");
    place.good(&["server", "stop", "slow"]);
    place.good(&["server", "start", "slow", "--disk", "nvme"]);
    assert!(place.rows() == "1" && place.status().contains("nvme, emulated by process"));
    place.refused(&["server", "add", "slow", "/nowhere", "--replace"], &["/nowhere"]);
}

fn a_killed_helper_is_a_crash_of_its_host(place: &Place) {
    place.good(&["server", "sql", "slow", "INSERT x.t VALUES (2)"]);
    signal(place.disk_pid(), Signal::KILL);
    wait_until("the end of a server without its disk", || place.servers().is_empty());
    assert!(place.status().contains("nvme, emulated, not mounted") && !place.is_unmounted());
    let cleaned = place.good(&["server", "clean"]);
    assert!(
        cleaned.stdout.contains("its process was killed") && place.is_unmounted(),
        "{cleaned:?}"
    );
    place.good(&["server", "start", "slow"]);
    assert_eq!(place.rows(), "2");
    // Without a cleaning in between.
    signal(place.disk_pid(), Signal::KILL);
    wait_until("the end of a server without its disk", || place.servers().is_empty());
    place.good(&["server", "start", "slow"]);
    assert_eq!(place.rows(), "2");
}

fn it_ends_in_each_way_and_is_unmounted(place: &Place) {
    place.good(&["server", "stop", "slow", "--kill"]);
    assert!(place.is_unmounted());
    place.good(&["server", "start", "slow"]);
    let server = place.servers()[0];
    signal(server, Signal::TERM);
    wait_until("the end of a server", || place.servers().is_empty());
    assert!(!place.is_unmounted(), "nothing has unmounted it yet");
    place.refused(&["server", "stop", "slow"], &["it has ended"]);
    assert!(place.is_unmounted());
    place.good(&["server", "start", "slow"]);
    // A file that another process has open: SIGTERM ends the helper once it is closed.
    let open = File::open(place.home().join("named/slow/disk/files")).unwrap();
    let helper = place.disk_pid();
    let stopped = place.run(&["server", "stop", "slow"]);
    assert!(
        stopped.code == Some(4) && stopped.stderr.contains("could not be unmounted"),
        "{stopped:?}"
    );
    assert!(
        stopped.stderr.contains("fuser") && stopped.stderr.contains(&helper.to_string()),
        "{stopped:?}"
    );
    drop(open);
    wait_until("an unmount", || place.is_unmounted());
}

#[test]
fn data_on_the_disk_of_the_host_stay_there() {
    let Some(_quiet) = quiet("data_on_the_disk_of_the_host_stay_there") else { return };
    let place = Place::with_templates();
    let _ends = Ends(&place);
    place.good(&["server", "add", "slow"]);
    place.good(&["server", "start", "slow"]);
    place.good(&["server", "stop", "slow"]);
    place.refused(
        &["server", "start", "slow", "--disk", "nvme"],
        &["are on the disk of this host", "truetps server remove slow"],
    );
    place.refused(
        &["server", "start", "slow", "--disk", "nvmee"],
        &["there is no disk profile `nvmee`"],
    );
    assert!(!place.home().join("named/slow/disk").exists());
    place.good(&["server", "start", "slow"]);
}

#[test]
fn a_disk_too_slow_for_a_start_is_named() {
    let Some(_quiet) = quiet("a_disk_too_slow_for_a_start_is_named") else { return };
    let place = Place::with_templates();
    let _ends = Ends(&place);
    let profile = "name = \"tape\"\nabout = \"\"\nvolatile_cache_mb = 1\nflush_us = 250000\n";
    let profile = place.write("tape.toml", profile);
    place.good(&["server", "add", "slow"]);
    let ran =
        place.run(&["server", "start", "slow", "--wait", "1", "--disk", profile.to_str().unwrap()]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    for words in [
        "was not ready after 1 s on the emulated disk `tape`",
        "takes 250.0 ms on this disk",
        "--wait",
    ] {
        assert!(ran.stderr.contains(words), "{}\nshould contain {words}", ran.stderr);
    }
    assert!(place.servers().is_empty() && place.is_unmounted());
    // The data are whole, and a faster disk gets them.
    place.good(&["server", "start", "slow", "--disk", "native"]);
}

/// A start that is killed at any moment leaves a server and its disk, or nothing that disturbs the
/// next start.
#[test]
fn a_killed_start_disturbs_no_later_one() {
    let Some(_quiet) = quiet("a_killed_start_disturbs_no_later_one") else { return };
    let place = Place::with_templates();
    let _ends = Ends(&place);
    place.good(&["server", "add", "slow"]);
    for delay_ms in [300, 900, 1500, 2100, 2700] {
        let mut child = place.start(&["server", "start", "slow", "--disk", "nvme"]);
        thread::sleep(Duration::from_millis(delay_ms));
        signal(child.id(), Signal::KILL);
        child.wait().unwrap();
        // A process that makes a template also has a datadir, and dies with the start.
        if place.status().contains("slow runs") {
            // A MariaDB 10.11 that gets SIGTERM before `init_slave` waits in it for ever: it is
            // killed after the wait.
            place.good(&["server", "stop", "slow", "--wait=20"]);
        } else {
            place.good(&["server", "clean"]);
            wait_until("the end of a disk without owner", || place.is_unmounted());
        }
        assert!(place.is_unmounted());
    }
    place.good(&["server", "start", "slow", "--disk", "nvme"]);
    place.good(&["server", "remove", "slow", "--force"]);
    assert!(
        place.is_unmounted() && fs::read_dir(place.home().join("named")).unwrap().next().is_none()
    );
}
