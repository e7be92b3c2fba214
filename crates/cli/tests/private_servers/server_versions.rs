//! Servers that were fetched, from MySQL 5.5 on: a private one whose redo log's size is a factor,
//! and an external one, by TCP and with a password. And two of them beside each other.
//!
//! Two of them are measured; `TRUETPS_TEST_SERVERS=all`, or names in its place, takes others.

use truetps_sandbox::{Home, ServerVersion};
use truetps_testkit::for_each_server;
use truetps_testkit::mysql_family::{FetchedServer, chosen_server, fetched_server};

use crate::common::{Ends, Place, Ran};
use crate::support::{Owned, run_with_password, short_run, valid_trial};

/// The oldest and the newest of those that `make test` fetches.
const USUAL: [&str; 2] = ["mysql-5.7", "mariadb-11.8"];

/// A test for each, so that they run beside each other.
macro_rules! measured {
    ($test:ident $name:literal) => {
        #[test]
        fn $test() {
            let Some(server) = chosen_server(stringify!($test), $name, &USUAL) else { return };
            let place = Place::with_templates();
            a_private_one(&place, &server);
            an_external_server(&place, &server);
        }
    };
}

for_each_server!(measured);

fn a_private_one(place: &Place, server: &FetchedServer) {
    let redo = crate::support::redo_setting(&server.binary);
    place.write(
        "redo.toml",
        &format!(
            "name = \"redo\"\nabout = \"a test\"\n\
             [workload]\nname = \"insert\"\ntable_rows = 500\n\
             [load]\nwarm_up_s = 0.1\nmeasure_s = 0.5\n\
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
        assert_eq!(
            trial["server"]["flavour"],
            server.binary.flavour.to_string().as_str(),
            "{trial}"
        );
    }
    assert!(place.servers().is_empty());
}

fn an_external_server(place: &Place, server: &FetchedServer) {
    // Without keys a password that MySQL has not seen before cannot come by TCP, from 8.0 on.
    let keys = ["auto_generate_certs", "caching_sha2_password_auto_generate_rsa_keys"]
        .map(|name| (name, "ON"));
    let has_keys =
        !server.binary.is_mariadb() && server.binary.version >= ServerVersion::new(8, 0, 11);
    // In the same folder, which has this server's template.
    let home = Home::open(Some(&place.home())).unwrap();
    let owned = Owned::start_in(&home, &server.binary, if has_keys { &keys } else { &[] });
    let before = owned.belongings();
    // MySQL 8.0.15 has no cipher that is spoken here; without TLS the password goes by RSA.
    let dsn = format!("{}/?tls=off", owned.tcp_dsn());
    let ran: Ran = run_with_password(place, &short_run("insert", &dsn, &["--table-rows=500"]));
    valid_trial(place, &ran);
    assert_eq!(owned.belongings(), before);
}

/// The capture of a server with only the paths of its files set.
fn captured(place: &Place, name: &str, server: &FetchedServer) {
    let run = |args: &[&str]| place.good(args).stdout;
    run(&["server", "add", name, server.basedir.to_str().unwrap()]);
    let started = run(&["server", "start", name]);
    let dsn = started
        .lines()
        .find_map(|line| line.strip_prefix("dsn"))
        .unwrap()
        .trim()
        .trim_matches('\'');
    run(&["server", "capture", dsn, "-o", &format!("{name}.json")]);
    // Any user of this host can connect to a port: only who has a password comes in.
    run(&["server", "stop", name]);
    let (port, _) = place.start_on_a_port(name);
    run(&["server", "sql", name, "CREATE USER app@'127.0.0.1' IDENTIFIED BY 'word'"]);
    let by_port = |account: &str| {
        place
            .run(&["server", "capture", &format!("mysql://{account}@127.0.0.1:{port}/?tls=off")])
            .code
    };
    assert_eq!((by_port("root"), by_port("app"), by_port("app:word")), (Some(2), Some(2), Some(0)));
    run(&["server", "remove", name, "--force"]);
}

#[test]
fn the_binlog_is_why_mysql_5_7_and_8_0_differ() {
    let server = |name| fetched_server("the_binlog_is_why_mysql_5_7_and_8_0_differ", name);
    let (Some(old), Some(new)) = (server("mysql-5.7"), server("mysql-8.0")) else { return };
    let place = Place::with_templates();
    let _ends = Ends(&place);
    captured(&place, "old", &old);
    captured(&place, "new", &new);
    let ran = place.run(&["diff", "old.json", "new.json", "--format", "json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let found: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let all = found["differences"].as_array().unwrap();
    let names =
        all.iter().filter(|one| one["folded"].is_null()).map(|one| one["name"].as_str().unwrap());
    let names: Vec<_> = names.take(5).collect();
    assert!(names.contains(&"log_bin") && names.contains(&"sync_binlog"), "{names:?}");
    assert!(all.len() as u64 + found["same"].as_u64().unwrap() > 400);
}

/// A server that runs takes DETECT_ONLY for ON, and neither OFF for ON nor the other way round.
#[test]
fn a_level_that_only_a_start_brings() {
    let Some(server) = fetched_server("a_level_that_only_a_start_brings", "mysql-9.7") else {
        return;
    };
    let place = Place::with_templates();
    place.write(
        "pages.toml",
        "name = \"pages\"\nabout = \"a test\"\n\
         [workload]\nname = \"insert\"\ntable_rows = 500\n\
         [load]\nwarm_up_s = 0.1\nmeasure_s = 0.5\n\
         [factors]\nconnections = [2]\ninnodb_doublewrite = [\"OFF\", \"ON\"]\n\
         [server.settings]\ninnodb_redo_log_capacity = \"32M\"\n[design]\nblocks = 1\naa_pair = \
         false\n",
    );
    let ran = place.run(&["sweep", "./pages.toml", "--basedir", server.basedir.to_str().unwrap()]);
    // 3: one block decides nothing.
    assert!([Some(0), Some(3)].contains(&ran.code), "{}", ran.stderr);
    for trial in ["trial-0001", "trial-0002"] {
        assert_eq!(place.run_json(trial)["validity"]["state"], "valid", "{trial}");
    }
    assert!(place.servers().is_empty());
}

/// A running MySQL changes gtid_mode in steps only, and a start takes each value.
#[test]
fn the_price_of_gtids_is_measured() {
    let Some(server) = fetched_server("the_price_of_gtids_is_measured", "mysql-9.7") else {
        return;
    };
    let place = Place::with_templates();
    let small = [
        "--set=innodb_redo_log_capacity=32M",
        "-c=1",
        "--blocks=1",
        "--measure=0.7",
        "--warm-up=0.1",
    ];
    let ran = place.run(
        &[&["sweep", "server-gtid", "--basedir", server.basedir.to_str().unwrap()][..], &small]
            .concat(),
    );
    assert!([Some(0), Some(3)].contains(&ran.code), "{}", ran.stderr);
    let modes = (1..=3).map(|n| {
        let path = place.latest().join(format!("trial-{n:04}/server/variables.json"));
        let variables: serde_json::Value =
            serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        variables["gtid_mode"].as_str().unwrap().to_owned()
    });
    let modes: std::collections::BTreeSet<_> = modes.collect();
    assert!(modes.contains("ON") && modes.contains("OFF"), "{modes:?}");
}
