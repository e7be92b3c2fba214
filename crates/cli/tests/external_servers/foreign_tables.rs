//! Tables of other users in the schema of a run: they stay, and what is the run's goes.

use rustix::process::Signal;
use truetps_testkit::mysql_family::mariadb;
use truetps_testkit::{PostgresOptions, PostgresServer};

use super::external_trouble::{killed, start};
use crate::common::{Place, Ran, signal, wait_until};
use crate::support::external::{schemas, server};
use crate::support::{Owned, short_run, valid_trial};

#[test]
#[expect(clippy::too_many_lines, reason = "one journey")]
fn a_schema_of_the_run_with_a_table_of_another_user() {
    let Some(binary) = mariadb("a_schema_of_the_run_with_a_table_of_another_user") else { return };
    let owned = server(&binary);
    let (place, dsn) = (Place::new(), owned.socket_dsn());
    let child = start(&place, &dsn, &[]);
    place.wait_for_interval("trial-0001");
    owned.execute(&[
        "CREATE TABLE truetps.theirs (id INT)",
        "INSERT INTO truetps.theirs VALUES (7)",
    ]);
    killed(&place, child);
    let ran = place.run(&["server", "restore"]);
    assert!(ran.code == Some(0) && ran.stdout.contains("theirs"), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(
        owned.admin().query_value("SELECT id FROM truetps.theirs").unwrap().as_deref(),
        Some("7")
    );
    assert_eq!(owned.admin().query("SHOW TABLES FROM truetps").unwrap().rows.len(), 1);
    // Whenever the run ends: here while it fills its tables.
    for how in [Signal::INT, Signal::KILL] {
        owned.execute(&["DROP DATABASE truetps"]);
        let place = Place::new();
        let child = place.start(&["run", "insert", "--dsn", &dsn, "--table-rows=2000000"]);
        wait_until("rows", || {
            owned.admin().query_value("SELECT 1 FROM truetps.sbtest1 LIMIT 1").is_ok()
        });
        owned.execute(&[
            "CREATE TABLE truetps.theirs (id INT)",
            "INSERT INTO truetps.theirs VALUES (7)",
        ]);
        signal(child.id(), how);
        let ran: Ran = child.wait_with_output().unwrap().into();
        let ran = if how == Signal::KILL { place.run(&["server", "restore"]) } else { ran };
        assert!(
            format!("{}{}", ran.stdout, ran.stderr).contains("theirs"),
            "{how:?} {}{}",
            ran.stdout,
            ran.stderr
        );
        assert_eq!(
            owned.admin().query_value("SELECT id FROM truetps.theirs").unwrap().as_deref(),
            Some("7")
        );
        assert_eq!(
            owned.admin().query("SHOW TABLES FROM truetps").unwrap().rows.len(),
            1,
            "{}",
            ran.stderr
        );
    }
    // A view and a table that the workload makes are no other user's.
    owned.execute(&["DROP DATABASE truetps"]);
    let place = Place::new();
    let plan = "name = 'view'\nabout = 'a test'\n[workload]\nname = 'sql'\nsql = 'INSERT INTO t \
                VALUES (1)'\n\
                create = 'CREATE TABLE t (id INT); CREATE VIEW v AS SELECT id FROM \
                t'\n[factors]\nconnections = [1]\n\
                [load]\nwarm_up_s = 0.1\nmeasure_s = 0.5\n[design]\nblocks = 1\naa_pair = false\n";
    place.write("view.toml", plan);
    let ran = place.run(&["sweep", "./view.toml", "--dsn", &dsn]);
    assert!(!ran.stderr.contains("not created by truetps"), "{}", ran.stderr);
    assert!(!schemas(&owned).contains(&"truetps".to_owned()), "{}", ran.stderr);
    // They go where the schema has to stay.
    let place = Place::new();
    place.write("view.toml", &plan.replace("0.2", "60"));
    let child = place.start(&["sweep", "./view.toml", "--dsn", &dsn]);
    place.wait_for_interval("trial-0001");
    owned.execute(&[
        "CREATE TABLE truetps.theirs (id INT)",
        "CREATE VIEW truetps.their_view AS SELECT id FROM truetps.theirs",
    ]);
    signal(child.id(), Signal::INT);
    let ran: Ran = child.wait_with_output().unwrap().into();
    let left = owned.admin().query("SHOW TABLES FROM truetps").unwrap().rows;
    let left: Vec<_> = left.iter().filter_map(|row| row[0].as_deref()).collect();
    assert_eq!(left, ["their_view", "theirs"], "{}", ran.stderr);
}

#[test]
fn a_schema_of_its_owner_after_a_kill() {
    let Some(binary) = mariadb("a_schema_of_its_owner_after_a_kill") else { return };
    // Names in small letters: `Mine` is `mine`.
    let owned = Owned::start(&binary, &[("lower_case_table_names", "1")]);
    owned.execute(&[
        "CREATE DATABASE `app-1`",
        "CREATE TABLE `app-1`.sbtest (id INT)",
        "INSERT INTO `app-1`.sbtest VALUES (7)",
    ]);
    let tables = || owned.admin().query("SHOW TABLES FROM `app-1`").unwrap().rows;
    let (before, dsn) = (tables(), owned.socket_dsn());
    let flags = ["--schema=app-1", "--i-own-this-schema"];
    for state in ["truetps_owner", "sbtest1", "interval"] {
        let place = Place::new();
        let mut child = start(&place, &dsn, &flags);
        if state == "interval" {
            place.wait_for_interval("trial-0001");
        } else {
            wait_until(state, || tables().iter().any(|row| row[0].as_deref() == Some(state)));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let is_replaced = state == "interval";
        if is_replaced {
            // The owner keeps the run's table, and creates another one of that name.
            owned.execute(&[
                "RENAME TABLE `app-1`.sbtest1 TO `app-1`.kept",
                "CREATE TABLE `app-1`.sbtest1 (id INT)",
                "INSERT INTO `app-1`.sbtest1 VALUES (8)",
            ]);
        }
        let ran = place.run(&["server", "restore"]);
        assert_eq!(ran.code, Some(0), "{state}: {}", ran.stderr);
        if is_replaced {
            assert!(
                ran.stdout.contains("but not created by it; left unchanged: sbtest1"),
                "{}",
                ran.stdout
            );
            let row = owned.admin().query_value("SELECT id FROM `app-1`.sbtest1").unwrap();
            assert_eq!(row.as_deref(), Some("8"));
            owned.execute(&["DROP TABLE `app-1`.sbtest1, `app-1`.kept"]);
        }
        assert_eq!(tables(), before, "{state}: {}", ran.stdout);
    }
    // A name that is there in other letters, and statements that would touch or leave something
    // else.
    owned.execute(&["CREATE TABLE `app-1`.Goods (id INT)"]);
    let place = Place::new();
    let plan = |create: &str| {
        format!(
            "name = 'own'\nabout = 'a test'\n[workload]\nname = 'sql'\nsql = 'INSERT INTO GOODS \
             VALUES (1)'\ncreate = '{create}'\n\
             [factors]\nconnections = [1]\n[load]\nwarm_up_s = 0.1\nmeasure_s = \
             0.5\n[design]\nblocks = 1\naa_pair = false\n"
        )
    };
    for (create, word) in [
        ("CREATE TABLE GOODS (id INT)", "has a table"),
        ("CREATE TABLE GOODS (id INT); CREATE VIEW v AS SELECT 1", "only tables of the workload"),
        ("CREATE TABLE IF NOT EXISTS GOODS (id INT)", "only tables of the workload"),
    ] {
        place.write("own.toml", &plan(create));
        let args = [&["sweep", "./own.toml", "--dsn", &dsn][..], &flags].concat();
        let ran = place.run(&args);
        assert!(ran.code == Some(2) && ran.stderr.contains(word), "{create}: {}", ran.stderr);
    }
    assert_eq!(
        owned.admin().query_value("SELECT COUNT(*) FROM `app-1`.goods").unwrap().as_deref(),
        Some("0")
    );
}

/// In each text one statement, and of those one kind: also of the texts that are sent again before
/// each trial.
#[test]
fn a_schema_of_its_owner_gets_nothing_but_tables() {
    let test = "a_schema_of_its_owner_gets_nothing_but_tables";
    let (Some(binary), Some(postgres)) =
        (mariadb(test), PostgresServer::start(test, &PostgresOptions::default()))
    else {
        return;
    };
    let owned = server(&binary);
    let theirs = ["CREATE TABLE customers (id INT)", "INSERT INTO customers VALUES (7)"];
    owned.execute(&["CREATE DATABASE app", &theirs[0].replace("customers", "app.customers")]);
    let mut root = postgres.connect().unwrap();
    for sql in theirs {
        root.execute(sql).unwrap();
    }
    let place = Place::new();
    let dsns = [
        owned.socket_dsn(),
        format!("postgresql://truetps@/postgres?socket={}", postgres.socket().display()),
    ];
    for (dsn, schema) in dsns.iter().zip(["--schema=app", "--schema=postgres"]) {
        for (create, after) in [
            ("CREATE TABLE orders (id INT); DROP TABLE customers", "ALTER TABLE orders ADD x INT"),
            ("CREATE TABLE orders (id INT)", "DROP TABLE customers"),
            ("CREATE TABLE orders (id INT)", "ALTER TABLE customers ADD x INT"),
        ] {
            place.write(
                "own.toml",
                &format!(
                    "name = 'own'\nabout = 'a test'\n[workload]\nname = \
                     'custom'\n[[workload.table]]\nname = 'orders'\n\
                     create = ['{create}']\nafter_load = ['{after}']\n[[workload.statements]]\nsql \
                     = 'SELECT 1'\n\
                     [factors]\nconnections = [1]\n[load]\nwarm_up_s = 0.1\nmeasure_s = \
                     0.5\n[design]\nblocks = 1\n\
                     aa_pair = false\n"
                ),
            );
            let ran =
                place.run(&["sweep", "./own.toml", "--dsn", dsn, schema, "--i-own-this-schema"]);
            let is_refused =
                ran.code == Some(2) && ran.stderr.contains("only tables of the workload");
            assert!(is_refused, "{create}, {after}: {}", ran.stderr);
        }
    }
    owned.execute(&["SELECT x.id FROM app.customers x"]);
    assert_eq!(root.query_value("SELECT id::text FROM customers").unwrap().as_deref(), Some("7"));
}

#[test]
fn a_database_of_its_owner_in_postgresql() {
    let test = "a_database_of_its_owner_in_postgresql";
    let Some(server) = PostgresServer::start(test, &PostgresOptions::default()) else { return };
    let mut root = server.connect().unwrap();
    // A table of the load's name that a search path would find.
    for sql in [
        "CREATE SCHEMA mine",
        "CREATE TABLE public.sbtest1 (id int)",
        "INSERT INTO public.sbtest1 VALUES (7)",
        "ALTER ROLE truetps SET search_path = mine, public",
    ] {
        root.execute(sql).unwrap();
    }
    let dsn = format!("postgresql://truetps@/postgres?socket={}", server.socket().display());
    let tables = || {
        let sql = "SELECT table_schema || '.' || table_name FROM information_schema.tables \
                   WHERE table_schema IN ('mine', 'public') ORDER BY 1";
        server.connect().unwrap().query(sql).unwrap().rows
    };
    let before = tables();
    let flags = ["--schema=postgres", "--i-own-this-schema"];
    let place = Place::new();
    valid_trial(
        &place,
        &place.run(&short_run("insert", &dsn, &[&flags[..], &["--table-rows=300"]].concat())),
    );
    assert_eq!(tables(), before);
    let place = Place::new();
    killed(&place, start(&place, &dsn, &flags));
    assert_ne!(tables(), before);
    // The restore has another search path; and the owner renamed a table and created another of
    // that name.
    for sql in [
        "ALTER ROLE truetps SET search_path = public",
        "ALTER TABLE mine.sbtest1 RENAME TO kept",
        "CREATE TABLE mine.sbtest1 (id int)",
    ] {
        root.execute(sql).unwrap();
    }
    let ran = place.run(&["server", "restore"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("left unchanged: sbtest1"), "{}", ran.stdout);
    root.execute("DROP TABLE mine.sbtest1, mine.kept").unwrap();
    assert_eq!(tables(), before, "{}", ran.stdout);
    assert_eq!(
        root.query_value("SELECT id::text FROM public.sbtest1").unwrap().as_deref(),
        Some("7")
    );
    root.execute("CREATE ROLE guest LOGIN").unwrap();
    let guest = dsn.replace("truetps@", "guest@");
    let ran = place.run(&short_run("insert", &guest, &flags));
    assert!(ran.code == Some(2) && ran.stderr.contains("may not create tables"), "{}", ran.stderr);
}
