//! `truetps verify` on a small HTTP service, honest and not, and on what is no service at all.

use std::io::Read;
use std::net::TcpListener;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use truetps_driver::Target;
use truetps_testkit::mysql_family::mariadb;

use crate::common::{Place, Ran, signal};
use crate::support::Owned;
use crate::support::row_service::{Deed, RowService};

/// Its key allows a second copy of a row.
const TABLE: &str = "CREATE TABLE shop.rows_of_clients (id BIGINT AUTO_INCREMENT PRIMARY KEY, \
                     client INT, seq BIGINT, payload VARCHAR(100))";
const NAME: &str = "shop.rows_of_clients";

fn shop(test: &str) -> Option<Owned> {
    let owned = Owned::start(&mariadb(test)?, &[]);
    owned.execute(&["CREATE DATABASE shop", TABLE]);
    Some(owned)
}

fn target(owned: &Owned) -> Target {
    Target::parse(&owned.socket_dsn()).unwrap()
}

/// Ten clients for a second, ten rows a second each.
fn verify(place: &Place, owned: &Owned, service: &str, flags: &[&str]) -> (Ran, Value) {
    let dsn = owned.socket_dsn();
    let mut args = vec!["verify", service, "--dsn", &dsn, "--clients=10", "--rate=10/s"];
    for default in ["--table=shop.rows_of_clients", "--measure=1", "--format=json"] {
        let flag = default.split('=').next().unwrap();
        args.extend((!flags.iter().any(|typed| typed.starts_with(flag))).then_some(default));
    }
    args.extend(flags);
    let ran = place.run(&args);
    let document = serde_json::from_str(&ran.stdout).unwrap_or_default();
    (ran, document)
}

fn empty(owned: &Owned) {
    owned.execute(&[&format!("TRUNCATE TABLE {NAME}")]);
}

#[test]
fn an_honest_service_is_accused_of_nothing_and_each_fault_is_found() {
    let Some(owned) = shop("an_honest_service_is_accused_of_nothing_and_each_fault_is_found")
    else {
        return;
    };
    let place = Place::new();
    let cases = [
        (Deed::Save, ""),
        (Deed::Refuse, ""),
        (Deed::Forget, "lost"),
        (Deed::RollBack, "lost"),
        (Deed::Double, "doubled"),
        (Deed::Alter, "changed"),
        (Deed::Add, "unexpected"),
        (Deed::RefuseAndSave, "refused_present"),
    ];
    for (deed, fault) in cases {
        empty(&owned);
        let service = RowService::start(target(&owned), NAME, move |client, seq, _| {
            if (client, seq) == (4, 5) { deed } else { Deed::Save }
        });
        let (ran, document) = verify(&place, &owned, &service.url, &[]);
        assert_eq!(
            ran.code,
            Some(i32::from(!fault.is_empty())),
            "{deed:?}: {}{}",
            ran.stdout,
            ran.stderr
        );
        let rows = &document["comparison"]["rows"];
        for name in ["lost", "doubled", "changed", "unexpected", "refused_present"] {
            assert_eq!(rows[name], u64::from(name == fault), "{deed:?}: {name}: {rows}");
        }
        let refused = u64::from(matches!(deed, Deed::Refuse | Deed::RefuseAndSave));
        assert_eq!(
            (rows["attempted"].as_u64(), rows["refused"].as_u64()),
            (Some(100), Some(refused)),
            "{rows}"
        );
        assert_eq!(document["comparison"]["log"]["is_complete"], true);
        let key = document["comparison"]["examples"][0]["key"].as_str().unwrap_or_default();
        let expect = match fault {
            "" => "",
            "unexpected" => "client 4, row 1000000",
            _ => "client 4, row 5",
        };
        assert_eq!(key, expect, "{deed:?}");
        assert_eq!(document["all_acknowledged_rows_kept"], fault.is_empty());
    }
}

#[test]
fn rows_without_an_answer_are_sent_again_and_saved_once_where_the_key_is_unique() {
    let Some(owned) =
        shop("rows_without_an_answer_are_sent_again_and_saved_once_where_the_key_is_unique")
    else {
        return;
    };
    let place = Place::new();
    let troubled = |_: u64, seq: u64, attempt: u32| match (seq, attempt) {
        (2, 0) => Deed::Fail(503),
        (3, 0) => Deed::SaveAndClose,
        (4, 0..2) => Deed::Close,
        (5, 0) => Deed::Fail(500),
        _ => Deed::Save,
    };
    // A service that saves each attempt.
    let service = RowService::start(target(&owned), NAME, troubled);
    let (ran, document) = verify(&place, &owned, &service.url, &["--retries=5", "--measure=3"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    let rows = &document["comparison"]["rows"];
    assert_eq!((rows["doubled"].as_u64(), rows["lost"].as_u64()), (Some(10), Some(0)), "{rows}");
    assert_eq!((rows["resent"].as_u64(), rows["unknown"].as_u64()), (Some(40), Some(0)), "{rows}");

    // The same into a table with a unique key: the second attempt finds its row, and the service
    // answers 500.
    owned.execute(&[
        &format!("TRUNCATE TABLE {NAME}"),
        &format!("ALTER TABLE {NAME} ADD UNIQUE KEY (client, seq)"),
    ]);
    let service = RowService::start(target(&owned), NAME, troubled);
    let (ran, document) = verify(&place, &owned, &service.url, &["--retries=2", "--measure=3"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let rows = &document["comparison"]["rows"];
    assert_eq!(
        (rows["doubled"].as_u64(), rows["unknown_present"].as_u64()),
        (Some(0), Some(10)),
        "{rows}"
    );
    let waited = document["measured"]["response_us_max"].as_f64().unwrap();
    assert!(waited >= 1e6, "Retry-After is obeyed, and is part of the response time: {waited}");
}

#[test]
fn keys_may_be_uuids_or_one_text() {
    let Some(owned) = shop("keys_may_be_uuids_or_one_text") else { return };
    let place = Place::new();
    owned.execute(&[
        "CREATE TABLE shop.by_uuid (id CHAR(36) PRIMARY KEY, payload VARCHAR(40))",
        "CREATE TABLE shop.by_text (id VARCHAR(40) PRIMARY KEY, payload VARCHAR(40))",
    ]);
    for (table, key, field) in
        [("shop.by_uuid", "--key=id=uuid", "uuid"), ("shop.by_text", "--key=id", "key")]
    {
        let service = RowService::start(target(&owned), table, |_, _, _| Deed::Save);
        let body = format!(r#"--body={{"id":"{{{field}}}","payload":"{{payload}}"}}"#);
        let named = format!("--table={table}");
        let flags = [named.as_str(), key, &body, "--payload-bytes=40"];
        let (ran, document) = verify(&place, &owned, &service.url, &flags);
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        assert_eq!(document["comparison"]["rows"]["acknowledged"], 100);
        assert_eq!(document["table"]["key_is_unique"], true);
        // A row that is gone, one that was changed and one of others are seen in a later
        // comparison.
        owned.execute(&[
            &format!("DELETE FROM {table} ORDER BY id LIMIT 1"),
            &format!("UPDATE {table} SET payload = 'other' ORDER BY id LIMIT 1"),
            &format!("INSERT INTO {table} VALUES ('another', 'row')"),
        ]);
        let again = place.run(&["verify", "--resume", "--format=json"]);
        assert_eq!(again.code, Some(1), "{}{}", again.stdout, again.stderr);
        let document: Value = serde_json::from_str(&again.stdout).unwrap();
        let rows = &document["comparison"]["rows"];
        for fault in ["lost", "changed", "unexpected"] {
            assert_eq!(rows[fault], 1, "{fault}: {rows}");
        }
    }
}

#[test]
fn a_run_that_was_killed_is_compared_from_its_log() {
    let Some(owned) = shop("a_run_that_was_killed_is_compared_from_its_log") else { return };
    let place = Place::new();
    let service = RowService::start(target(&owned), NAME, |_, _, _| Deed::Save);
    let dsn = owned.socket_dsn();
    let args = [
        "verify",
        &service.url,
        "--dsn",
        &dsn,
        "--table",
        NAME,
        "--clients=10",
        "--rate=50/s",
        "--measure=60",
    ];
    let mut child =
        place.command(&args).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(3));
    signal(child.id(), Signal::KILL);
    child.wait().unwrap();
    let shown = place.run(&["report", "--runs=runs"]);
    assert!(shown.stdout.contains("not compared"), "{}{}", shown.stdout, shown.stderr);
    let ran = place.run(&["verify", "--resume", "runs/latest", "--format=json"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let (rows, log) = (&document["comparison"]["rows"], &document["comparison"]["log"]);
    assert_eq!(log["is_complete"], false);
    assert!(rows["acknowledged"].as_u64().unwrap() > 100, "{rows}");
    assert!(
        rows["unknown"].as_u64().unwrap() <= 20,
        "a client has at most two rows without a record: {rows}"
    );
    // A row that no client sent is no row of the missing end of the log.
    owned.execute(&[&format!(
        "INSERT INTO {NAME} (client, seq, payload) VALUES (3, 100000, 'mine')"
    )]);
    let ran = place.run(&["verify", "--resume", "runs/latest", "--format=json"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn bad_services() {
    let Some(owned) = shop("bad_services") else { return };
    let place = Place::new();
    let check = |deed: Deed, flags: &[&str], code: i32, part: &str| {
        empty(&owned);
        let service = RowService::start(target(&owned), NAME, move |_, _, _| deed);
        let (ran, document) =
            verify(&place, &owned, &service.url, &[&["--format=text"], flags].concat());
        assert_eq!(ran.code, Some(code), "{deed:?}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains(part), "{deed:?}: {}", ran.stdout);
        document
    };
    check(Deed::Fail(500), &[], 4, "HTTP 500 Answer: ok");
    check(Deed::Hang, &["--answer-timeout=0.3"], 4, "no answer within 0.3 s");
    check(Deed::Close, &[], 4, "no row was acknowledged");
    check(Deed::Forget, &[], 1, "LOST 100 of 100 acknowledged rows");

    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (ran, _) = verify(&place, &owned, &format!("http://{unused}/"), &[]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("the service does not answer: cannot connect to 127.0.0.1:"),
        "{}",
        ran.stderr
    );

    // A server of another kind.
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in other.incoming() {
            std::thread::spawn(move || {
                use std::io::Write;
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n");
            });
        }
    });
    let (ran, _) = verify(&place, &owned, &format!("http://{address}/"), &["--format=text"]);
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("not a response of HTTP/1.1"), "{}", ran.stdout);
}

#[test]
fn tables_that_cannot_be_verified_are_refused_before_anything_starts() {
    let Some(owned) = shop("tables_that_cannot_be_verified_are_refused_before_anything_starts")
    else {
        return;
    };
    let place = Place::new();
    owned.execute(&[
        "CREATE TABLE shop.keyless (client INT, seq BIGINT, payload VARCHAR(100))",
        "CREATE TABLE shop.used (client INT, seq BIGINT, payload VARCHAR(100), PRIMARY KEY \
         (client, seq))",
        "INSERT INTO shop.used VALUES (0, 0, 'old')",
        "CREATE TABLE shop.narrow (client INT, seq BIGINT, payload VARCHAR(20), PRIMARY KEY \
         (client, seq))",
        "CREATE TABLE shop.odd (at DECIMAL(10, 3) PRIMARY KEY, client INT, seq BIGINT, payload \
         VARCHAR(100))",
    ]);
    let service = RowService::start(target(&owned), NAME, |_, _, _| Deed::Save);
    let check = |flags: &[&str], part: &str| {
        let (ran, _) = verify(&place, &owned, &service.url, flags);
        assert_eq!(ran.code, Some(2), "{flags:?}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains(part), "{flags:?}: {}", ran.stderr);
    };
    check(&["--table=shop.nothing"], "there is no table `shop.nothing`");
    check(&["--table=shop.keyless"], "`shop.keyless` has no primary key");
    check(&["--table=shop.used"], "`shop.used` is not empty");
    check(&["--table=shop.narrow"], "has room for 20 characters, and a payload has 100");
    check(&["--table=shop.odd"], "the column `at` of the type decimal");
    check(&["--payload=payolad"], "has no column `payolad` (did you mean `payload`?)");
    check(&["--key=device=client,seq=seq"], "has no column `device`");
    check(&["--key=client"], "no request has the field {key}");
    check(&["--body={client} {sequence} {payload}"], "`{sequence}` in the body is not a field");
    check(&["--header=X-Row"], "is not like Name: value");
    check(&["--kill=3"], "--kill needs a server that truetps has started");
    check(&["--set=sync_binlog=0"], "--set is for private servers");
    owned.execute(&[
        "CREATE USER stranger@localhost",
        "GRANT SELECT (client) ON shop.rows_of_clients TO stranger@localhost",
    ]);
    let dsn = owned.socket_dsn().replace("root@", "stranger@");
    let args = ["verify", &service.url, "--dsn", &dsn, "--table", NAME];
    let ran = place.run(&args);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("has no column `payload`") || ran.stderr.contains("may not read"),
        "{}",
        ran.stderr
    );
    assert!(!place.path().join("runs/latest").exists(), "nothing was recorded");
}

#[test]
fn rows_as_sql_into_a_table_of_the_user() {
    let Some(owned) = shop("rows_as_sql_into_a_table_of_the_user") else { return };
    let place = Place::new();
    let dsn = owned.socket_dsn();
    let args = [
        "verify",
        "--dsn",
        &dsn,
        "--table",
        NAME,
        "--clients=5",
        "--closed-loop",
        "--measure=1",
        "--format=json",
    ];
    let ran = place.run(&args);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert!(document["comparison"]["rows"]["acknowledged"].as_u64().unwrap() > 5);
    let ran = place.run(&["verify", "--dsn", &dsn]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("--dsn needs --table"), "{}", ran.stderr);
}
