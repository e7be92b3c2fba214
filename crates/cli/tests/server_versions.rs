//! Every server that could be fetched, from MySQL 5.5 on: a private one whose redo log's size is a factor, and one that
//! belongs to somebody, by TCP and with a password.
//!
//! `TRUETPS_TEST_SERVERS="mysql-5.7 mysql-8.0"` names a few of them.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test may panic, and says loudly what it skips")]

mod common;
mod support;

use common::{Place, Ran};
use support::{Owned, run_with_password, short_run, valid_trial};
use truetps_sandbox::ServerVersion;
use truetps_testkit::mysql_family::{FetchedServer, fetched};

#[test]
fn every_server_is_measured() {
    for server in fetched("every_server_is_measured") {
        eprintln!("{}", server.name);
        a_private_one(&server);
        one_of_somebody(&server);
    }
}

fn a_private_one(server: &FetchedServer) {
    let place = Place::new();
    let redo = support::redo_setting(&server.binary);
    place.write(
        "redo.toml",
        &format!(
            "name = \"redo\"\nabout = \"a test\"\n\
             [workload]\nname = \"insert\"\ntable_rows = 500\n\
             [load]\nwarm_up_s = 0.1\nmeasure_s = 0.3\n\
             [server.settings]\nlog_bin = true\nsync_binlog = 1\n\
             [factors]\nconnections = [2]\n{redo} = [\"16M\", \"32M\"]\n\
             [design]\nblocks = 1\naa_pair = false\n"
        ),
    );
    let ran = place.run(&["sweep", "./redo.toml", "--basedir", server.basedir.to_str().unwrap()]);
    // 3: one block decides nothing.
    assert!([Some(0), Some(3)].contains(&ran.code), "{}", ran.stderr);
    for trial in ["trial-0001", "trial-0002"] {
        let trial = place.run_json(trial);
        assert_eq!(trial["validity"]["state"], "valid", "{trial}");
        assert_eq!(trial["server"]["flavour"], server.binary.flavour.to_string().as_str(), "{trial}");
    }
    assert!(place.servers().is_empty());
}

fn one_of_somebody(server: &FetchedServer) {
    // Without keys a password that MySQL has not seen before cannot come by TCP, from 8.0 on.
    let keys = ["auto_generate_certs", "caching_sha2_password_auto_generate_rsa_keys"].map(|name| (name, "ON"));
    let has_keys = !server.binary.is_mariadb() && server.binary.version >= ServerVersion::new(8, 0, 11);
    let owned = Owned::start(&server.binary, if has_keys { &keys } else { &[] });
    let before = owned.belongings();
    let place = Place::new();
    // MySQL 8.0.15 has no cipher that is spoken here; without TLS the password goes by RSA.
    let dsn = format!("{}/?tls=off", owned.tcp_dsn());
    let ran: Ran = run_with_password(&place, &short_run("insert", &dsn, &["--table-rows=500"]));
    valid_trial(&place, &ran);
    assert_eq!(owned.belongings(), before);
}
