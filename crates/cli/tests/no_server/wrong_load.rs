//! Wrong rates, objectives, cores, error classes and addresses. Nothing is started for any of them.

use std::time::{Duration, Instant};

use crate::common::{Place, Ran};

/// Far more than a program needs to say no, also on a busy machine.
const SOON: Duration = Duration::from_secs(30);

/// Runs `truetps run insert` with the flags of each line: it says no, with these words, and leaves
/// nothing behind.
fn check(table: &[(&[&str], &[&str])]) {
    let place = Place::new();
    for (flags, words) in table {
        let args = [&["run", "insert"], *flags].concat();
        let began = Instant::now();
        let Ran { code, stdout, stderr } = place.run(&args);
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{args:?}\n{stderr}");
        assert!(began.elapsed() < SOON, "{args:?} took {:?}", began.elapsed());
        for word in *words {
            assert!(stderr.contains(word), "{args:?} should say {word:?}:\n{stderr}");
        }
        assert!(!place.path().join("runs").exists(), "{args:?} left a record");
    }
    assert!(place.servers().is_empty());
}

#[test]
fn rates_that_cannot_be() {
    check(&[
        (&["--rate", "0"], &["--rate", "more than 0"]),
        (&["--rate=-1"], &["--rate", "more than 0"]),
        (&["--rate", "nan"], &["--rate", "more than 0"]),
        (&["--rate", "inf"], &["--rate", "more than 0"]),
        (&["--rate", "1/d"], &["--rate", "`d` is none of the units s, min, h"]),
        (&["--rate", "fast"], &["--rate", "`fast` is not a number"]),
        (&["--rate="], &["--rate", "is not a number"]),
        (&["--rate", "1e9"], &["`--rate`: 1000000000 is not between"]),
        (&["--rate", "0.00001"], &["`--rate`: 0.00001 is not between"]),
        (&["--rate-per-client", "1e9"], &["`--rate-per-client`: 1000000000 is not between"]),
        (
            &["--rate-per-client", "1e5", "--clients", "1000"],
            &["`--rate-per-client`", "for 1000 clients together"],
        ),
        (
            &["--rate", "5", "--rate-per-client", "1"],
            &["--rate", "--rate-per-client", "cannot be used with"],
        ),
        (&["--ramp-to", "10"], &["`--ramp-to`: needs `--rate` or `--rate-per-client`"]),
        (&["--rate", "5", "--ramp-to", "1e9"], &["`--ramp-to`: 1000000000 is not between"]),
        (&["--rate", "5", "--arrivals", "uniform"], &["--arrivals", "poisson"]),
        (
            &["--latency-limit", "10ms"],
            &["`--latency-limit`: needs `--rate` or `--rate-per-client`"],
        ),
        (
            &["--rate", "5", "--latency-limit", "0s"],
            &["`--latency-limit`: 0 is not between", " ms"],
        ),
        (&["--rate", "5", "--latency-limit", "10"], &["--latency-limit", "10"]),
    ]);
}

#[test]
fn searches_that_cannot_be() {
    check(&[
        (&["--find-max", "--slo", "fast"], &["--slo", "`fast` is not of the form FIGURE<LIMIT"]),
        (
            &["--find-max", "--slo", "p98<1s"],
            &["--slo", "`p98` is none of the figures", "did you mean"],
        ),
        (&["--find-max", "--slo", "p99<1"], &["--slo", "`1` in `p99<1` is not a time"]),
        (&["--find-max", "--slo", "failed<1s"], &["--slo", "is not a share"]),
        (&["--find-max", "--slo", "p99>1s"], &["--slo", "FIGURE<LIMIT"]),
        (&["--find-max", "--slo", ""], &["--slo"]),
        (&["--slo", "p99<1s"], &["--find-max"]),
        (&["--find-max", "--mode", "blocking"], &["--mode blocking: not with --find-max"]),
        (&["--find-max", "--rate", "5"], &["--find-max", "cannot be used with", "--rate"]),
        (
            &["--find-max", "--rate-per-client", "5"],
            &["--find-max", "cannot be used with", "--rate-per-client"],
        ),
        (&["--find-max", "--ramp-to", "5"], &["--find-max", "cannot be used with", "--ramp-to"]),
        (
            &["--find-max", "--transactions", "5"],
            &["--find-max", "cannot be used with", "--transactions"],
        ),
    ]);
}

#[test]
fn cores_and_modes_that_cannot_be() {
    check(&[
        (&["--pin", "99999"], &["--pin 99999", "this process may not use core 99999"]),
        (&["--pin", "x"], &["--pin x", "is not the number of a core"]),
        (&["--pin", "1-0"], &["--pin 1-0", "is not a range of cores"]),
        (&["--mode", "threads"], &["--mode", "multiplexed"]),
        (&["--workers", "0"], &["--workers"]),
    ]);
    // All cores for the generator: none is left for the server.
    let cores = std::fs::read_to_string("/proc/self/status").expect("Linux has /proc");
    let cores = cores
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .expect("a line of every status");
    check(&[(&["--pin", cores.trim()], &["--pin", "both generator and server need at least one"])]);
}

#[test]
fn error_classes_that_cannot_be() {
    check(&[
        (
            &["--retry", "dedlock"],
            &["--retry", "`dedlock` is not an error class (did you mean `deadlock`?)"],
        ),
        (&["--ignore", "1062"], &["--ignore", "`1062` is not an error class", "`other(NUMBER)`"]),
        (&["--fatal", "other(toolong)"], &["--fatal", "is not an error class"]),
        (&["--retry", "connection_lost"], &["`--retry`", "whether its transaction was committed"]),
        (&["--retry", "deadlock,deadlock"], &["`--retry`", "is in `--retry` already"]),
        (
            &["--ignore", "read_only", "--fatal", "read_only"],
            &["`--fatal`", "is in `--ignore` already"],
        ),
        (
            &["--retries-max", "99999999"],
            &["`--retries-max`: 99999999 is not between 0 and 1000000"],
        ),
        (&["--reconnect=-1"], &["`--reconnect`: -1 is not between"]),
    ]);
}

#[test]
fn keys_of_a_plan_that_cannot_be() {
    let plan = "name = \"small\"\nabout = \"a test\"\n[workload]\nname = \
                \"insert\"\n[factors]\nconnections = [1]\n";
    let place = Place::new();
    let check = |section: &str, words: &[&str]| {
        place.write("plan.toml", &format!("{plan}{section}\n"));
        let ran = place.run(&["sweep", "./plan.toml"]);
        assert_eq!(ran.code, Some(2), "{section}: {}", ran.stderr);
        for word in words.iter().chain(&["plan.toml"]) {
            assert!(ran.stderr.contains(word), "{section:?} should say {word:?}:\n{}", ran.stderr);
        }
    };
    check("rate = [0]", &["`factors.rate`: 0 is not between"]);
    check("rate = [\"fast\"]", &["`factors.rate`: `fast` is not a number"]);
    check("rate = [10, 10]", &["`factors.rate`: names a level twice"]);
    check("rate = [10]\n[load]\nrate = 5", &["`load.rate`: `rate` is a factor too"]);
    check("[load]\nrate = 5\nrate_per_client = 1", &["`load.rate_per_client`: `rate` is set too"]);
    check("[load]\nrat = 5", &["unknown key `rat` in `load`", "did you mean `rate`"]);
    check("[load]\nrate = \"5/s\"", &["rate", "5/s"]);
    check("[load]\narrivals = \"regular\"", &["arrivals", "regular"]);
    check("[load]\nmode = \"threads\"", &["mode", "threads"]);
    check(
        "[load.errors]\nretries = 5",
        &["unknown key `retries` in `load.errors`", "did you mean `retries_max`"],
    );
    check(
        "[load.errors]\nignore = [\"dedlock\"]",
        &["`load.errors.ignore`", "did you mean `deadlock`?"],
    );
    assert!(!place.path().join("runs").exists());
}

#[test]
fn addresses_that_cannot_be() {
    check(&[
        (&["--dsn", "localhost"], &["--dsn: not the address of a server", "hint:"]),
        (&["--dsn", "msql://h"], &["--dsn: unknown scheme `msql` (did you mean `mysql`?)"]),
        (&["--dsn", "redis://h"], &["--dsn: unknown scheme `redis`", "`postgresql`"]),
        (&["--dsn", "mysql://h?timeout=1"], &["--dsn: unknown option `timeout`", "`socket`"]),
        (&["--dsn", "mysql://h?tls=sometimes"], &["--dsn: unknown tls mode `sometimes`"]),
        (&["--dsn", "mysql://h:0"], &["--dsn: the port is not a number from 1 to 65535"]),
        (&["--dsn", "mysql://h:65536"], &["--dsn: the port is not a number from 1 to 65535"]),
        (&["--dsn", "mysql://"], &["--dsn: no server is given"]),
        (&["--dsn", "mysql://root@/db"], &["--dsn: no server is given"]),
        (&["--dsn", "mysql://h?socket=/s"], &["--dsn: both a socket and the host `h` are given"]),
        (&["--dsn", ""], &["--dsn"]),
        (
            &["--dsn", "mysql://h", "--schema", "My Data"],
            &["--schema My Data", "lower-case letters"],
        ),
        (&["--dsn", "mysql://h", "--schema", "a`b"], &["--schema a`b", "lower-case letters"]),
        (&["--dsn", "mysql://h", "--schema", ""], &["--schema"]),
        (&["--schema", "other"], &["--dsn"]),
        (&["--dsn", "mysql://h", "--basedir", "/"], &["--dsn", "cannot be used with", "--basedir"]),
    ]);
}

/// An address may be typed where a file, a name or nothing is expected.
#[test]
fn an_address_in_a_wrong_place_is_printed_without_its_password() {
    let (place, dsn) = (Place::new(), "mysql://u:topsecret@127.0.0.1:1/db");
    for words in [
        &["explain", dsn, "defaults"][..],
        &["diff", "u:topsecret@tcp(127.0.0.1:1)/db", "a.cnf"],
        &["compare", dsn, dsn],
        &["report", dsn],
        &["run", dsn],
        &["run", "insert", "--part", dsn],
        &["run", "insert", "--server", dsn],
        &["sweep", dsn],
        &["server", "sql", dsn],
        &["doctor", dsn],
        &["config", "show", "jdbc:mysql://h/db?user=u&password=topsecret"],
        &["sysbench", "--mysql-host", dsn, "run"],
        &["prealloc", "status", dsn],
    ] {
        let ran = place.run(words);
        let shown = format!("{}{}", ran.stdout, ran.stderr);
        assert!(
            ran.code != Some(0) && shown.contains("***") && !shown.contains("topsecret"),
            "{words:?}: {shown}"
        );
    }
}

/// A letter that has an invalid percent escape breaks a DSN in two: no half of the password is
/// printed.
#[test]
fn a_password_that_breaks_its_address_is_not_printed() {
    let place = Place::new();
    for dsn in [
        "mysql://u:top/secret@h/db",
        "mysql://u:top?secret@h",
        "mysql://u:top%secret@h",
        "mysql://u:top/sec?ret@h",
        "mysql://u:12/secret@h",
        "postgresql://u:top?tls=secret@h",
        "mysl://u:top@secret@h",
        "mysql:/u:top@secret",
    ] {
        let ran = place.run(&["run", "insert", "--dsn", dsn]);
        assert_eq!(ran.code, Some(2), "{dsn}: {}", ran.stderr);
        let leaked = ["top", "sec", "ret"]
            .iter()
            .any(|part| ran.stderr.contains(part) || ran.stdout.contains(part));
        assert!(ran.stderr.contains("--dsn") && !leaked, "{dsn}: {}", ran.stderr);
    }
}
