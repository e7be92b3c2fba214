//! "Committed" means committed: whatever the server has set for sessions, each transaction of a
//! load is one of the server's.

use serde_json::Value;
use truetps_testkit::mysql_family::mariadb;
use truetps_testkit::{PostgresOptions, PostgresServer};

use crate::common::Place;
use crate::support::external::binaries;
use crate::support::{ACCOUNT, Owned, PASSWORD, run_with_password, short_run, valid_trial};

/// Transactions in the binlog of MariaDB, by its own count.
fn binlog_commits(owned: &Owned) -> u64 {
    let sql = "SELECT variable_value FROM information_schema.global_status WHERE variable_name = \
               'BINLOG_COMMITS'";
    owned.admin().query_value(sql).unwrap().unwrap().parse().unwrap()
}

#[test]
fn each_transaction_of_a_load_is_one_of_the_server() {
    let Some(binary) = mariadb("each_transaction_of_a_load_is_one_of_the_server") else { return };
    let owned = Owned::start(&binary, &[("log_bin", "ON")]);
    // An administrator's sessions do not run init_connect; the account of the load has no such
    // right.
    for defaults in [
        "init_connect = 'SET autocommit = 0'",
        "init_connect = 'START TRANSACTION'",
        "init_connect = 'SET completion_type = 1', autocommit = 0",
        "autocommit = 0, completion_type = 2",
    ] {
        owned.execute(&["SET GLOBAL init_connect = '', autocommit = 1, completion_type = 0"]);
        owned.execute(&[&format!("SET GLOBAL {}", defaults.replace(", ", ", GLOBAL "))]);
        let (place, before) = (Place::new(), binlog_commits(&owned));
        let dsn = owned.tcp_dsn();
        let ran = run_with_password(&place, &short_run("insert", &dsn, &["-c=2"]));
        let trial = valid_trial(&place, &ran);
        let rehearsed =
            run_with_password(&place, &short_run("insert", &dsn, &["-c=2", "--dry-run"]));
        assert_eq!(rehearsed.code, Some(0), "{defaults}: {}", rehearsed.stderr);
        let (committed, counted) =
            (trial["measured"]["ok"].as_u64().unwrap(), binlog_commits(&owned) - before);
        assert!(
            committed > 10 && counted >= committed,
            "{defaults}: {committed} by the clients, {counted} by the server"
        );
    }
}

/// `init_connect` runs after the login has chosen the schema.
#[test]
fn a_schema_that_init_connect_chooses_is_left_alone() {
    for (name, binary) in binaries("a_schema_that_init_connect_chooses_is_left_alone") {
        let owned = Owned::start(&binary, &[]);
        owned.execute(&[
            "CREATE DATABASE shop",
            "CREATE TABLE shop.sbtest1 (id INT PRIMARY KEY, k INT, c CHAR(120), pad CHAR(60))",
            "INSERT INTO shop.sbtest1 (id, c) VALUES (1, 'theirs')",
            "CREATE DATABASE own",
            &format!("GRANT ALL ON shop.* TO {ACCOUNT}@'%'"),
            &format!("GRANT ALL ON own.* TO {ACCOUNT}@'%'"),
            "SET GLOBAL init_connect = 'USE shop'",
        ]);
        let dsn = owned.socket_dsn().replace("//root@", &format!("//{ACCOUNT}@"));
        for schema in [&["--schema=truetps"][..], &["--schema=own", "--i-own-this-schema"]] {
            let place = Place::new();
            let ran = run_with_password(
                &place,
                &short_run("insert", &dsn, &[&["-c=2"], schema].concat()),
            );
            let trial = valid_trial(&place, &ran);
            assert!(trial["measured"]["ok"].as_u64().unwrap() > 10, "{name}: {}", ran.stderr);
            let theirs = "SELECT GROUP_CONCAT(id, c) FROM shop.sbtest1";
            assert_eq!(
                owned.admin().query_value(theirs).unwrap().as_deref(),
                Some("1theirs"),
                "{name}"
            );
            let left = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema IN \
                        ('shop', 'own', 'truetps')";
            assert_eq!(owned.admin().query_value(left).unwrap().as_deref(), Some("1"), "{name}");
        }
    }
}

#[test]
fn sessions_that_the_binlog_leaves_out_are_refused() {
    let Some(binary) = mariadb("sessions_that_the_binlog_leaves_out_are_refused") else { return };
    let (owned, place) = (Owned::start(&binary, &[("log_bin", "ON")]), Place::new());
    owned.execute(&["SET GLOBAL init_connect = 'SET sql_log_bin = 0'"]);
    owned.execute(&[&format!("GRANT BINLOG ADMIN ON *.* TO {ACCOUNT}@'%'")]);
    let ran = run_with_password(&place, &short_run("insert", &owned.tcp_dsn(), &["-c=2"]));
    assert!(
        ran.code == Some(2) && ran.stderr.contains("sql_log_bin = 0"),
        "{:?} {}",
        ran.code,
        ran.stderr
    );
}

#[test]
fn what_sessions_of_a_load_set_is_no_question() {
    let Some(binary) = mariadb("what_sessions_of_a_load_set_is_no_question") else { return };
    let (owned, place) = (Owned::start(&binary, &[]), Place::new());
    for question in ["autocommit=1,0", "completion_type=0,1", "sql_log_bin=1,0"] {
        let dsn = format!("--dsn={}", owned.tcp_dsn());
        let ran = run_with_password(
            &place,
            &["sweep", "insert", "--vary", question, "-c=1", "--quick", &dsn],
        );
        let name = question.split('=').next().unwrap();
        let reason = format!("`{name}` cannot be set here: sessions of a load set it themselves");
        assert!(
            ran.code == Some(2) && ran.stderr.contains(&reason),
            "{:?} {}",
            ran.code,
            ran.stderr
        );
        place.refused(&["sweep", "insert", "--vary", question, "-c=1", "--quick"], &[&reason]);
    }
}

#[test]
fn rows_of_verify_are_committed_and_not_reported_lost() {
    let Some(binary) = mariadb("rows_of_verify_are_committed_and_not_reported_lost") else {
        return;
    };
    let (owned, place) = (Owned::start(&binary, &[]), Place::new());
    owned.execute(&[
        "CREATE DATABASE shop",
        "CREATE TABLE shop.saved (client INT, seq BIGINT, payload VARCHAR(100), PRIMARY KEY \
         (client, seq))",
        &format!("GRANT ALL ON shop.* TO {ACCOUNT}@'%'"),
        "SET GLOBAL init_connect = 'START TRANSACTION'",
    ]);
    let dsn = format!("--dsn={}", owned.tcp_dsn());
    let load =
        ["--table=shop.saved", "--clients=5", "--closed-loop", "--measure=1", "--format=json"];
    let ran = run_with_password(&place, &[&["verify", &dsn][..], &load].concat());
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let acknowledged = document["comparison"]["rows"]["acknowledged"].as_u64().unwrap();
    let stored: u64 = owned
        .admin()
        .query_value("SELECT COUNT(*) FROM shop.saved")
        .unwrap()
        .unwrap()
        .parse()
        .unwrap();
    assert!(
        acknowledged > 5 && stored >= acknowledged,
        "{acknowledged} acknowledged, {stored} in the table"
    );
}

const OTHER_VALUES: &str = "the sessions of this account do not have the server's values: ";

#[test]
fn what_init_connect_sets_is_named() {
    for (name, binary) in binaries("what_init_connect_sets_is_named") {
        let (owned, place) = (Owned::start(&binary, &[]), Place::new());
        let dsn = owned.socket_dsn().replace("//root@", &format!("//{ACCOUNT}@"));
        let rehearse = || run_with_password(&place, &short_run("insert", &dsn, &["--dry-run"]));
        let ran = rehearse();
        assert!(
            ran.code == Some(0) && !ran.stderr.contains(OTHER_VALUES),
            "{name}: {}",
            ran.stderr
        );
        owned.execute(&[
            "SET GLOBAL init_connect = 'SET unique_checks = 0, innodb_lock_wait_timeout = 7'",
        ]);
        let ran = rehearse();
        let said = format!("{OTHER_VALUES}innodb_lock_wait_timeout = 7, unique_checks = OFF");
        assert!(ran.code == Some(0) && ran.stderr.contains(&said), "{name}: {}", ran.stderr);
        if name.contains("mariadb") {
            owned.execute(&["SET GLOBAL init_connect = 'SET skip_replication = 1'"]);
            let ran = rehearse();
            let said = format!("{OTHER_VALUES}skip_replication = ON");
            assert!(ran.code == Some(0) && ran.stderr.contains(&said), "{name}: {}", ran.stderr);
        }
    }
}

#[test]
fn what_a_role_sets_is_named() {
    let Some(server) =
        PostgresServer::start("what_a_role_sets_is_named", &PostgresOptions::default())
    else {
        return;
    };
    let mut root = server.connect().unwrap();
    root.execute(&format!("CREATE ROLE {ACCOUNT} LOGIN CREATEDB PASSWORD '{PASSWORD}'")).unwrap();
    let (place, dsn) = (
        Place::new(),
        format!("postgresql://{ACCOUNT}@/postgres?socket={}", server.socket().display()),
    );
    let rehearse = || run_with_password(&place, &short_run("insert", &dsn, &["--dry-run"]));
    let ran = rehearse();
    assert!(ran.code == Some(0) && !ran.stderr.contains(OTHER_VALUES), "{}", ran.stderr);
    root.execute(&format!("ALTER ROLE {ACCOUNT} SET synchronous_commit = off")).unwrap();
    let ran = rehearse();
    let said = format!("{OTHER_VALUES}synchronous_commit = off");
    assert!(ran.code == Some(0) && ran.stderr.contains(&said), "{}", ran.stderr);
}
