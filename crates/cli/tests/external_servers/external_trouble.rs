//! Failures on an external server during a run: another server at its address, a revoked privilege,
//! a variable that changes another one.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Child;

use rustix::process::Signal;
use truetps_testkit::mysql_family::mariadb;

use crate::common::{Place, Ran, signal, wait_until};
use crate::support::external::{PLAN, globals, journals, schemas, server};
use crate::support::relay::Relay;
use crate::support::{ACCOUNT, Owned, PASSWORD, run_with_password, short_run, valid_trial};

const LONG: [&str; 3] = ["--rate=50", "--measure=60", "--table-rows=300"];

pub(crate) fn start(place: &Place, dsn: &str, flags: &[&str]) -> Child {
    let args = [&["run", "insert", "--dsn", dsn][..], &LONG, flags].concat();
    let piped = || std::process::Stdio::piped();
    let mut command = place.command(&args);
    // The owner has none.
    if dsn.contains(ACCOUNT) {
        command.env("TRUETPS_PASSWORD", PASSWORD);
    }
    command.stdout(piped()).stderr(piped()).spawn().unwrap()
}

pub(crate) fn killed(place: &Place, mut child: Child) {
    place.wait_for_interval("trial-0001");
    child.kill().unwrap();
    child.wait().unwrap();
}

fn journal(place: &Place) -> String {
    let path = place.path().join("state/truetps/journals").join(&journals(place)[0]);
    path.to_str().unwrap().to_owned()
}

fn may_do_all(owned: &Owned) {
    owned.execute(&[&format!("GRANT ALL ON *.* TO {ACCOUNT}@'%'")]);
}

#[test]
fn another_server_at_the_same_address_is_not_touched() {
    let Some(binary) = mariadb("another_server_at_the_same_address_is_not_touched") else { return };
    let (first, other) = (server(&binary), server(&binary));
    [&first, &other].into_iter().for_each(may_do_all);
    let before = (globals(&first), globals(&other), schemas(&first), schemas(&other));
    let relay = Relay::to(first.port);
    let place = Place::new();
    let dsn = format!("mysql://{ACCOUNT}@127.0.0.1:{}", relay.port);
    let child = start(&place, &dsn, &["--set=sync_binlog=0"]);
    place.wait_for_interval("trial-0001");
    assert_eq!(globals(&first)["sync_binlog"], "0");
    // So that the other one has what looks like ours.
    other.execute(&["SET GLOBAL sync_binlog = 0"]);
    relay.lead_to(other.port);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("another server") && ran.stderr.contains("server restore"),
        "{}",
        ran.stderr
    );
    assert_eq!(globals(&other)["sync_binlog"], "0", "{}", ran.stderr);
    assert_eq!(schemas(&other), before.3);
    // The journal still belongs to the first server, which can be restored.
    let ran = run_with_password(&place, &["server", "restore", "--dsn", &other.tcp_dsn()]);
    assert!(ran.code == Some(2) && ran.stderr.contains("skipped"), "{}", ran.stderr);
    let ran = run_with_password(&place, &["server", "restore", "--dsn", &first.tcp_dsn()]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!((globals(&first), schemas(&first)), (before.0, before.2), "{}", ran.stdout);
    assert!(journals(&place).is_empty());
}

/// Another server's session may have the number of ours: numbers begin at 1 with each server.
#[test]
fn a_session_of_the_same_number_proves_nothing() {
    let Some(binary) = mariadb("a_session_of_the_same_number_proves_nothing") else { return };
    let (first, other) = (server(&binary), server(&binary));
    [&first, &other].into_iter().for_each(may_do_all);
    // So that the other one has not come as far.
    (0..60).for_each(|_| drop(first.admin()));
    let relay = Relay::to(first.port);
    let place = Place::new();
    let dsn = format!("mysql://{ACCOUNT}@127.0.0.1:{}", relay.port);
    let plan = PLAN
        .replace("measure_s = 0.5", "measure_s = 20")
        .replace("[1, 2, 0]", "[1]")
        .replace("[2]", "[1]");
    place.write("levels.toml", &plan);
    let args = ["sweep", "./levels.toml", "--dsn", &dsn];
    let piped = std::process::Stdio::piped;
    let mut command = place.command(&args);
    let child =
        command.env("TRUETPS_PASSWORD", PASSWORD).stdout(piped()).stderr(piped()).spawn().unwrap();
    place.wait_for_interval("trial-0001");
    // As a replica would have it.
    let mark = first.admin().query_value("SELECT id FROM truetps.truetps_owner").unwrap().unwrap();
    other.execute(&[
        "CREATE DATABASE truetps",
        "CREATE TABLE truetps.truetps_owner (id VARCHAR(64) PRIMARY KEY)",
        &format!("INSERT INTO truetps.truetps_owner VALUES ('{mark}')"),
    ]);
    let before = globals(&other);
    let kept: serde_json::Value =
        serde_json::from_slice(&fs::read(journal(&place)).unwrap()).unwrap();
    let number = kept["session"].as_u64().unwrap();
    let last = || {
        other
            .admin()
            .query_value("SELECT CONNECTION_ID()")
            .unwrap()
            .unwrap()
            .parse::<u64>()
            .unwrap()
    };
    assert!(last() + 2 < number, "the other one has come further");
    // The first one looks at the server after the trial, the second one begins the next.
    wait_until("the other one to come as far", || last() + 2 >= number);
    relay.lead_to(other.port);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert_eq!(globals(&other), before, "{}", ran.stderr);
    let ran = run_with_password(&place, &["server", "restore", "--dsn", &first.tcp_dsn()]);
    assert_eq!(
        (ran.code, globals(&first)["sync_binlog"].as_str()),
        (Some(0), "3"),
        "{}",
        ran.stderr
    );
}

/// Between the questions and the first table.
#[test]
fn another_server_gets_no_table_of_ours() {
    let Some(binary) = mariadb("another_server_gets_no_table_of_ours") else { return };
    let servers = [server(&binary), server(&binary)];
    for owned in &servers {
        may_do_all(owned);
        owned.execute(&["CREATE DATABASE app"]);
    }
    let (relay, place) = (Relay::to(servers[0].port), Place::new());
    relay.lead_to_after("SELECT CONNECTION_ID()", servers[1].port);
    let dsn = format!("mysql://{ACCOUNT}@127.0.0.1:{}", relay.port);
    let flags = ["--schema=app", "--i-own-this-schema", "--table-rows=300"];
    let ran = run_with_password(&place, &short_run("insert", &dsn, &flags));
    assert!(ran.code == Some(2) && ran.stderr.contains("another server"), "{}", ran.stderr);
    for owned in &servers {
        assert!(
            owned.admin().query("SHOW TABLES FROM app").unwrap().rows.is_empty(),
            "{}",
            ran.stderr
        );
    }
    assert!(journals(&place).is_empty());
}

/// Between the question whether the lock is free and the lock.
#[test]
fn a_run_that_comes_second_has_nothing_to_restore() {
    let Some(binary) = mariadb("a_run_that_comes_second_has_nothing_to_restore") else { return };
    let owned = server(&binary);
    may_do_all(&owned);
    let (relay, place) = (Relay::to(owned.port), Place::new());
    let dsn = format!("mysql://{ACCOUNT}@127.0.0.1:{}", relay.port);
    let (mut rival, held) = (owned.admin(), std::sync::mpsc::channel());
    relay.before("SELECT GET_LOCK", move || {
        rival.execute("SELECT GET_LOCK('truetps.settings', 0)").unwrap();
        held.0.send(rival).unwrap();
    });
    let args = short_run("insert", &dsn, &["--set=sync_binlog=0", "--table-rows=300"]);
    let ran = run_with_password(&place, &args);
    assert!(
        ran.code == Some(2) && ran.stderr.contains("of another user or host"),
        "{}",
        ran.stderr
    );
    assert!(journals(&place).is_empty());
    drop(held.1.recv().unwrap());
    valid_trial(&place, &run_with_password(&place, &args));
}

/// A missing answer of the server does not count as a no.
#[test]
fn an_account_that_may_not_look_does_not_call_it_another_user_s() {
    let Some(binary) = mariadb("an_account_that_may_not_look_does_not_call_it_another_user_s")
    else {
        return;
    };
    let owned = server(&binary);
    let before = schemas(&owned);
    for right in ["SELECT", "ALL"] {
        let place = Place::new();
        killed(&place, start(&place, &owned.tcp_dsn(), &[]));
        owned.execute(&[&format!("REVOKE {right} ON `truetps%`.* FROM {ACCOUNT}@'%'")]);
        let ran = run_with_password(&place, &["server", "restore"]);
        assert!(
            ran.code == Some(4) && ran.stderr.contains("SELECT command denied"),
            "{right}: {}",
            ran.stderr
        );
        assert_eq!(journals(&place).len(), 1, "{right}");
        owned.execute(&[&format!("GRANT ALL ON `truetps%`.* TO {ACCOUNT}@'%'")]);
        let ran = run_with_password(&place, &["server", "restore"]);
        assert_eq!(
            (ran.code, schemas(&owned)),
            (Some(0), before.clone()),
            "{right}: {}",
            ran.stderr
        );
    }
    // Without the mark nothing is dropped, and all that looks like the run's is named.
    owned.execute(&["CREATE DATABASE app"]);
    for (schema, flags) in [("truetps", &[][..]), ("app", &["--schema=app", "--i-own-this-schema"])]
    {
        let place = Place::new();
        killed(&place, start(&place, &owned.socket_dsn(), flags));
        owned.execute(&[&format!("DROP TABLE {schema}.truetps_owner")]);
        let ran = place.run(&["server", "restore"]);
        assert!(
            ran.code == Some(0) && ran.stdout.contains("sbtest1"),
            "{schema}: {}{}",
            ran.stdout,
            ran.stderr
        );
        assert!(journals(&place)[0].contains(".left"), "{schema}");
        owned.execute(&[&format!("SELECT 1 FROM {schema}.sbtest1 LIMIT 1")]);
    }
}

#[test]
fn one_password_is_not_shown_to_every_server_of_a_journal() {
    let Some(binary) = mariadb("one_password_is_not_shown_to_every_server_of_a_journal") else {
        return;
    };
    let (first, other) = (server(&binary), server(&binary));
    let mut places = [Place::new(), Place::new()];
    for (place, owned) in places.iter().zip([&first, &other]) {
        killed(place, start(place, &owned.tcp_dsn(), &[]));
    }
    let from = journal(&places[1]);
    let [place, _] = &mut places;
    let name = from.rsplit('/').next().unwrap().to_owned();
    fs::copy(&from, place.path().join("state/truetps/journals").join(name)).unwrap();
    let ran = run_with_password(place, &["server", "restore"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("of several servers"), "{}", ran.stderr);
    assert!(!ran.stderr.contains(PASSWORD));
    let ran = place.run(&["server", "restore", "--defaults-file=/dev/null"]);
    assert!(
        ran.code == Some(2) && ran.stderr.contains("--defaults-file is for one server"),
        "{}",
        ran.stderr
    );
    // --same-server for another server is refused: the run left nothing there.
    let wrong =
        ["server", "restore", "--journal", &from, "--same-server", "--dsn", &first.tcp_dsn()];
    let ran = run_with_password(place, &wrong);
    assert!(ran.code == Some(2) && ran.stderr.contains("is not here"), "{}", ran.stderr);
    // A journal names its server, whatever the environment does.
    let mut command = place.command(&["server", "restore", "--journal", &from]);
    let ran = command
        .env("TRUETPS_PASSWORD", PASSWORD)
        .env("TRUETPS_DSN", first.tcp_dsn())
        .output()
        .unwrap();
    let ran: crate::common::Ran = ran.into();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    // A damaged one keeps no other waiting, and is not forgotten.
    fs::write(place.path().join("state/truetps/journals/0.json"), "{").unwrap();
    let ran = run_with_password(place, &["server", "restore", "--dsn", &first.tcp_dsn()]);
    assert!(ran.code == Some(4) && ran.stderr.contains("0.json"), "{}", ran.stderr);
    assert!(!schemas(&first).contains(&"truetps".to_owned()), "{}", ran.stdout);
    // There is no terminal.
    let ran = place.run(&["server", "restore", "--ask-password"]);
    assert_ne!(ran.code, Some(0), "{}", ran.stderr);
}

#[test]
fn a_value_of_ours_after_a_restart_is_for_its_owner_to_decide() {
    let Some(binary) = mariadb("a_value_of_ours_after_a_restart_is_for_its_owner_to_decide") else {
        return;
    };
    let place = Place::new();
    let owned = Owned::start(&binary, &[("log_bin", "ON"), ("sync_binlog", "3")]);
    killed(&place, start(&place, &owned.socket_dsn(), &["--set=sync_binlog=7"]));
    // Another user has made the current value permanent, and has changed the server's number.
    let owned =
        owned.restarted(&binary, &[("log_bin", "ON"), ("sync_binlog", "7"), ("server_id", "9")]);
    let (dsn, file) = (owned.socket_dsn(), journal(&place));
    let ran = place.run(&["server", "restore"]);
    let is_reported = ran.stderr.contains("server_id 9 (in the journal 1)")
        && ran.stderr.contains("--same-server");
    assert!(ran.code == Some(2) && is_reported, "{}", ran.stderr);
    let ran = place.run(&short_run("insert", &dsn, &[]));
    assert!(
        ran.code == Some(2) && ran.stderr.contains(&file),
        "whose schema that is: {}",
        ran.stderr
    );
    assert!(schemas(&owned).contains(&"truetps".to_owned()));
    let ran = place.run(&["server", "restore", "--journal", &file, "--dsn", &dsn, "--same-server"]);
    assert!(!schemas(&owned).contains(&"truetps".to_owned()), "{}", ran.stderr);
    // A restart undoes what a run sets: there is nothing left to restore, and the journal is kept
    // for its owner.
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stdout.contains("sync_binlog is 7") && ran.stdout.contains("it was 3"),
        "{}",
        ran.stdout
    );
    let kept = journals(&place);
    assert!(
        globals(&owned)["sync_binlog"] == "7" && kept.len() == 1 && kept[0].contains(".left"),
        "{kept:?}"
    );
    let ran = place.run(&["server", "restore"]);
    assert!(ran.code == Some(0) && ran.stderr.contains("no killed run"), "{}", ran.stderr);
    valid_trial(
        &place,
        &place.run(&short_run("insert", &dsn, &["--set=sync_binlog=0", "--table-rows=300"])),
    );
    assert_eq!(globals(&owned)["sync_binlog"], "7");
}

#[test]
fn behind_a_proxy_nothing_is_set() {
    let Some(binary) = mariadb("behind_a_proxy_nothing_is_set") else { return };
    let owned = server(&binary);
    may_do_all(&owned);
    let before = globals(&owned);
    let relay = Relay::to(owned.port);
    relay.renumber(true);
    let place = Place::new();
    let dsn = format!("mysql://{ACCOUNT}@127.0.0.1:{}", relay.port);
    let ran = run_with_password(&place, &short_run("insert", &dsn, &["--set=sync_binlog=0"]));
    assert!(ran.code == Some(2) && ran.stderr.contains("is not one server"), "{}", ran.stderr);
    assert_eq!((globals(&owned), journals(&place).len()), (before, 0));
    // How many clients it takes is the proxy's to know, and else the server's.
    let many = ["--connections=50000", "--dry-run"];
    for (dsn, code) in [(dsn, 0), (owned.tcp_dsn(), 2)] {
        let ran = run_with_password(&place, &short_run("insert", &dsn, &many));
        let is_refused = ran.stderr.contains("clients would use all sessions");
        assert_eq!((ran.code, is_refused), (Some(code), code == 2), "{}", ran.stderr);
    }
    // Two addresses of one server are fine without a proxy; two servers are not.
    let other = server(&binary);
    may_do_all(&other);
    let two = |port: u16| format!("mysql://{ACCOUNT}@127.0.0.1:{},127.0.0.1:{port}", owned.port);
    let ran =
        run_with_password(&place, &short_run("insert", &two(other.port), &["--set=sync_binlog=0"]));
    assert!(ran.code == Some(2) && ran.stderr.contains("on one only"), "{}", ran.stderr);
    relay.renumber(false);
    let flags = ["--set=sync_binlog=0", "--table-rows=300"];
    valid_trial(&place, &run_with_password(&place, &short_run("insert", &two(relay.port), &flags)));
}

#[test]
fn without_a_privilege_the_rest_is_restored_and_the_exit_code_is_4() {
    let Some(binary) = mariadb("without_a_privilege_the_rest_is_restored_and_the_exit_code_is_4")
    else {
        return;
    };
    let owned = server(&binary);
    may_do_all(&owned);
    let (before, schemas_before) = (globals(&owned), schemas(&owned));
    let place = Place::new();
    let flags = [
        "--set=sync_binlog=0",
        "--set=innodb_flush_log_at_trx_commit=2",
        "--set=innodb_flush_log_at_timeout=5",
    ];
    let child = start(&place, &owned.tcp_dsn(), &flags);
    place.wait_for_interval("trial-0001");
    // One of the two may still be set by a new session, and the schema may be dropped.
    let revoke = format!("REVOKE BINLOG ADMIN, SUPER ON *.* FROM {ACCOUNT}@'%'");
    owned.execute(&["SET GLOBAL innodb_flush_log_at_timeout = 9"]);
    owned.execute(&[&revoke, &format!("KILL USER {ACCOUNT}")]);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert!(ran.stderr.contains("could not be restored"), "{}", ran.stderr);
    assert!(ran.stderr.contains("truetps server restore --journal"), "{}", ran.stderr);
    assert_eq!(
        schemas(&owned),
        schemas_before,
        "the schema goes, whatever becomes of a variable: {}",
        ran.stderr
    );
    assert_eq!(globals(&owned)["sync_binlog"], "0");
    let left = fs::read_to_string(journal(&place)).unwrap();
    assert!(left.contains("\"name\": \"sync_binlog\""), "{left}");
    // A value set by another session stays, and its original value is kept as long as the journal.
    assert!(left.contains("\"name\": \"innodb_flush_log_at_timeout\""), "{left}");
    let ran = run_with_password(&place, &["server", "restore"]);
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert!(ran.stderr.contains("sync_binlog = 3"), "{}", ran.stderr);
    may_do_all(&owned);
    let ran = run_with_password(&place, &["server", "restore"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let text = format!(
        "innodb_flush_log_at_timeout was changed to 9 by another session; left unchanged; before \
         the run it was {}",
        before["innodb_flush_log_at_timeout"]
    );
    assert!(ran.stdout.contains(&text), "{}", ran.stdout);
    assert!(fs::read_to_string(journal(&place)).unwrap().contains("innodb_flush_log_at_timeout"));
    owned.execute(&["SET GLOBAL innodb_flush_log_at_timeout = 1"]);
    assert_eq!(globals(&owned), before, "{}", ran.stdout);
}

/// Waits for a line of a run that goes on.
fn wait_for_line(lines: &mut impl Iterator<Item = std::io::Result<String>>, word: &str) {
    assert!(
        lines.any(|line| line.unwrap().contains(word)),
        "the run ended without a word of: {word}"
    );
}

/// Longer than any recovery takes, and no longer than the user wants.
#[test]
fn a_server_that_stays_away_is_waited_for_until_the_user_has_had_enough() {
    let Some(binary) = mariadb("a_server_that_stays_away_is_waited_for") else { return };
    let owned = server(&binary);
    may_do_all(&owned);
    let before = globals(&owned);
    let (relay, place) = (Relay::to(owned.port), Place::new());
    let dsn = format!("mysql://{ACCOUNT}@127.0.0.1:{}", relay.port);
    let mut child = start(&place, &dsn, &["--set=sync_binlog=0"]);
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    place.wait_for_interval("trial-0001");
    // No server listens there.
    relay.lead_to(1);
    wait_for_line(&mut lines, "waiting up to 10 min for the server to come back");
    // The trial is given up; the restore is not.
    signal(child.id(), Signal::INT);
    wait_for_line(&mut lines, "restoring the original settings; Ctrl-C again");
    wait_for_line(&mut lines, "waiting up to 10 min for the server to come back");
    signal(child.id(), Signal::INT);
    let journal = journal(&place);
    wait_for_line(
        &mut lines,
        &format!("not restored; run: truetps server restore --journal '{journal}'"),
    );
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(globals(&owned)["sync_binlog"], "0");
    relay.lead_to(owned.port);
    let ran = run_with_password(&place, &["server", "restore", "--journal", &journal]);
    assert_eq!((ran.code, journals(&place).len()), (Some(0), 0), "{}", ran.stderr);
    assert_eq!(globals(&owned), before, "{}", ran.stdout);
}

#[test]
fn companions_of_a_setting_are_restored_with_it() {
    let Some(binary) = mariadb("companions_of_a_setting_are_restored_with_it") else { return };
    let owned =
        Owned::start(&binary, &[("innodb_io_capacity", "200"), ("innodb_io_capacity_max", "400")]);
    let (before, place, dsn) = (globals(&owned), Place::new(), owned.socket_dsn());
    let set = ["--set=innodb_io_capacity=5000", "--table-rows=300"];
    valid_trial(&place, &place.run(&short_run("insert", &dsn, &set)));
    assert_eq!(globals(&owned), before);
    let both =
        ["--set=innodb_io_capacity=5000", "--set=innodb_io_capacity_max=6000", "--table-rows=300"];
    valid_trial(&place, &place.run(&short_run("insert", &dsn, &both)));
    assert_eq!(globals(&owned), before);
    let place = Place::new();
    killed(&place, start(&place, &dsn, &set[..1]));
    assert_ne!(globals(&owned)["innodb_io_capacity_max"], "400");
    let ran = place.run(&["server", "restore"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(globals(&owned), before, "{}", ran.stdout);
}

#[test]
fn session_settings_do_not_reach_other_sessions() {
    let Some(binary) = mariadb("session_settings_do_not_reach_other_sessions") else { return };
    let owned = server(&binary);
    let (before, place, dsn) = (globals(&owned), Place::new(), owned.socket_dsn());
    let mut child = start(&place, &dsn, &["--set=innodb_lock_wait_timeout=7"]);
    place.wait_for_interval("trial-0001");
    assert_eq!(globals(&owned), before, "not even while it runs");
    child.kill().unwrap();
    child.wait().unwrap();
    let ran = place.run(&["server", "restore"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    valid_trial(
        &place,
        &place.run(&short_run(
            "insert",
            &dsn,
            &["--set=innodb_lock_wait_timeout=7", "--table-rows=300"],
        )),
    );
    let path = place.latest().join("trial-0001/server/variables.json");
    let had: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    assert_eq!(had["innodb_lock_wait_timeout"], "7");
    assert!(had.get("report_password").is_none(), "secrets stay in the server");
}

#[test]
fn who_is_setting_it_already_is_waited_for() {
    let Some(binary) = mariadb("who_is_setting_it_already_is_waited_for") else { return };
    let owned = server(&binary);
    let (before, place, dsn) = (globals(&owned), Place::new(), owned.socket_dsn());
    let child = start(&place, &dsn, &["--set=sync_binlog=0"]);
    place.wait_for_interval("trial-0001");
    // Of the same user, and of a user that sees no journal of the first.
    let set = ["--schema=other", "--set=sync_binlog=1"];
    let ran = place.run(&short_run("insert", &dsn, &set));
    assert!(ran.code == Some(2) && ran.stderr.contains("is using this server"), "{}", ran.stderr);
    let elsewhere = Place::new();
    let ran = elsewhere.run(&short_run("insert", &dsn, &set));
    assert!(
        ran.code == Some(2) && ran.stderr.contains("of another user or host"),
        "{}",
        ran.stderr
    );
    // Without settings the runs do not conflict.
    let without = ["--schema=other", "--table-rows=300"];
    valid_trial(&elsewhere, &elsewhere.run(&short_run("insert", &dsn, &without)));
    let ran = place.run(&["server", "restore", "--journal", &journal(&place)]);
    assert!(ran.code == Some(2) && ran.stderr.contains("is using this server"), "{}", ran.stderr);
    let ran = place.run(&["server", "restore"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("in use by a live run"), "{}", ran.stderr);
    killed(&place, child);
    assert_eq!(place.run(&["server", "restore"]).code, Some(0));
    assert_eq!(globals(&owned), before);
}

#[test]
fn what_no_set_takes_back_is_refused() {
    let Some(binary) = mariadb("what_no_set_takes_back_is_refused") else { return };
    let owned = server(&binary);
    let (before, place, dsn) = (globals(&owned), Place::new(), owned.socket_dsn());
    for (set, word) in [
        ("--set=expire_logs_days=1", "cannot be restored"),
        ("--set=max_connections=10", "limits the connections of other clients"),
        ("--set=read_only=1", "refuse work"),
        ("--set=init_connect=x", "who may log in"),
        ("--set=stored_program_cache=300", "whether it can be restored is unknown"),
    ] {
        let ran = place.run(&short_run("insert", &dsn, &[set]));
        assert!(ran.code == Some(2) && ran.stderr.contains(word), "{set}: {}", ran.stderr);
    }
    // A run does not start without a folder for its journal, or for its records.
    let mut command = place.command(&short_run("insert", &dsn, &["--set=sync_binlog=0"]));
    let ran: Ran = command.env("XDG_STATE_HOME", "/dev/null/state").output().unwrap().into();
    assert!(ran.code == Some(2) && ran.stderr.contains("XDG_STATE_HOME"), "{}", ran.stderr);
    let ran = place.run(&short_run("insert", &dsn, &["--runs=/dev/null/runs"]));
    assert!(ran.code == Some(2) && ran.stderr.contains("--runs"), "{}", ran.stderr);
    assert_eq!((globals(&owned), journals(&place).len()), (before, 0));
    // The effect of levels on all sessions is reported before they are set.
    let ran = place.run(&short_run(
        "insert",
        &dsn,
        &["--set=innodb_flush_log_at_trx_commit=0", "--dry-run"],
    ));
    assert!(
        ran.code == Some(0) && ran.stderr.contains("commits of all sessions"),
        "{}",
        ran.stderr
    );
}
