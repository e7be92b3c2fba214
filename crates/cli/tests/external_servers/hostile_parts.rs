//! `--part` beside an account that may do everything in the schema where the parts meet: it can
//! keep them from their load, and nothing else.

use std::fs::File;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use truetps_driver::{Client, Target};
use truetps_record::fnv1a;
use truetps_testkit::mysql_family::mariadb;
use truetps_testkit::{PostgresOptions, PostgresServer};

use super::parts::{Load, good, insert, json, ran};
use crate::common::{Place, Ran, reason_of, signal, wait_until};
use crate::support::Owned;

/// Parts that lose each other end within this time.
const END_MAX: Duration = Duration::from_mins(1);

/// The table as parts make it.
const TABLE: &str = "CREATE TABLE truetps_parts (part INT NOT NULL PRIMARY KEY, round INT NOT \
     NULL, phase VARCHAR(16) NOT NULL, start_us BIGINT NOT NULL, note MEDIUMTEXT NOT NULL, judged \
     INT NOT NULL, verdict MEDIUMTEXT NOT NULL, serial BIGINT NOT NULL, number VARCHAR(32) NOT \
     NULL, proof VARCHAR(64) NOT NULL, invitation MEDIUMTEXT NOT NULL, answer VARCHAR(64) NOT NULL)";
/// With the rights of the reader.
const FUNCTION: &str = "CREATE FUNCTION f() RETURNS INT SQL SECURITY INVOKER BEGIN \
     UPDATE precious.letters SET line = 'changed'; RETURN 1; END";
const VIEW: &str =
    "CREATE SQL SECURITY INVOKER VIEW truetps_parts AS SELECT * FROM parts WHERE f() = 1";

/// A server with such an account.
fn server() -> Option<Owned> {
    let owned = Owned::start(&mariadb("hostile_parts")?, &[]);
    owned.execute(&[
        "CREATE USER mallory@'%' IDENTIFIED BY 'm'",
        "GRANT ALL ON truetps.* TO mallory@'%'",
        "CREATE DATABASE mallory",
        "GRANT ALL ON mallory.* TO mallory@'%'",
    ]);
    Some(owned)
}

fn mallory(owned: &Owned) -> Client {
    let target = Target::parse(&format!("mysql://mallory:m@127.0.0.1:{}", owned.port)).unwrap();
    Client::connect(&target, Duration::from_secs(20)).unwrap()
}

fn execute(client: &mut Client, statements: &[&str]) {
    for sql in statements {
        client.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

/// Takes the place of part 0, in a schema of her own.
fn enter_as_part_0(mallory: &mut Client, statements: &[&str]) {
    execute(
        mallory,
        &["DROP DATABASE IF EXISTS truetps", "CREATE DATABASE truetps", "USE truetps"],
    );
    let lock = format!("SELECT GET_LOCK('truetps.part.0.{:016x}', 0)", fnv1a(b"truetps"));
    assert_eq!(mallory.query_value(&lock).unwrap().as_deref(), Some("1"));
    execute(mallory, statements);
}

fn precious(owned: &Owned) -> Option<String> {
    owned.admin().query_value("SELECT GROUP_CONCAT(line) FROM precious.letters").unwrap()
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

#[test]
fn parts_without_a_secret_do_not_start() {
    let Some(owned) = server() else { return };
    let place = Place::new();
    let dsn = owned.socket_dsn();
    let args = [&insert(&dsn)[..], &["--part=0/2", "--part-wait=1s"]].concat();
    place.refused(&args, &["TRUETPS_PARTS_SECRET is needed", "openssl rand -hex 16"]);
    let mut short = place.command(&args);
    let short = Ran::from(short.env("TRUETPS_PARTS_SECRET", "fifteen letters").output().unwrap());
    assert_eq!(short.code, Some(2), "{}", short.stderr);
    assert!(short.stderr.contains("TRUETPS_PARTS_SECRET has 15 characters"), "{}", short.stderr);

    // Parts with different ones do not meet, and say why.
    let load = Load { place: &place, args: insert(&dsn), of: 2 };
    let first = load.start(0);
    let args = [&load.args[..], &["--part=1/2", "--part-wait=20s", "--runs=other"]].concat();
    let mut other = place.command(&args);
    let other =
        Ran::from(other.env("TRUETPS_PARTS_SECRET", "another one than part 0").output().unwrap());
    assert_eq!(other.code, Some(4), "{}", other.stderr);
    let expect = "no part of this load wrote the row of part 0 in `truetps_parts`: parts have \
                  different secrets";
    assert!(other.stderr.contains(expect), "{}", other.stderr);
    signal(first.id(), Signal::INT);
    ran(first);
}

#[test]
fn another_account_that_takes_the_place_of_part_0_invites_nobody() {
    let Some(owned) = server() else { return };
    let place = Place::new();
    let dsn = owned.socket_dsn();
    let load = Load { place: &place, args: insert(&dsn), of: 2 };
    let mut mallory = mallory(&owned);
    let row = |invitation: &str| {
        let (number, proof, note) = ("ab".repeat(16), "cd".repeat(32), hex("CREATE USER evil"));
        format!(
            "INSERT INTO truetps_parts VALUES (0, 1, 'prepared', 0, '{note}', 0, '', 1, \
             '{number}', '{proof}', '{invitation}', '')"
        )
    };
    let no_proof = "no part of this load wrote the row of part 0 in `truetps_parts`";
    let table = TABLE.replace("truetps_parts", "parts");
    let (plain, huge) = (row(&hex("{}")), row(&"7b".repeat(4 << 20)));
    let cases: [(&[&str], &str); 5] = [
        (&[TABLE, &plain], no_proof),
        (&[TABLE, &huge], no_proof),
        (
            &[TABLE, &plain, "UPDATE truetps_parts SET round = -1, start_us = 9223372036854775807"],
            no_proof,
        ),
        (
            &[
                TABLE,
                &plain,
                "ALTER TABLE truetps_parts MODIFY number TEXT",
                "UPDATE truetps_parts SET number = ''",
            ],
            no_proof,
        ),
        (
            &[&table, FUNCTION, VIEW],
            "`truetps_parts` in the schema `truetps` is a VIEW, and no table",
        ),
    ];
    for (statements, expect) in cases {
        enter_as_part_0(&mut mallory, statements);
        let began = Instant::now();
        let victim = ran(load.start(1));
        assert_eq!(victim.code, Some(4), "{statements:?}: {}", victim.stderr);
        assert!(victim.stderr.contains(expect), "{expect}: {}", victim.stderr);
        assert!(began.elapsed() < Duration::from_secs(20), "it does not wait");
        assert!(!load.folder(1).exists(), "no folder has been made");
    }
    assert_eq!(
        precious(&owned).as_deref(),
        Some("one,two,three"),
        "no function was run with the part's rights"
    );
}

/// Each part sets the settings of its sessions by its own plan.
#[test]
fn sessions_of_all_parts_have_the_settings_of_the_plan() {
    let Some(owned) = server() else { return };
    let place = Place::new();
    let dsn = owned.socket_dsn();
    let args = [&insert(&dsn)[..], &["--set=sort_buffer_size=300032"]].concat();
    let load = Load { place: &place, args, of: 2 };
    good(load.start_all());
    for part in [0, 1] {
        let variables = json(&load.folder(part).join("trial-0001/server/variables.json"));
        assert_eq!(variables["sort_buffer_size"], "300032", "part {part}");
    }
}

/// In PostgreSQL, reading a view and writing to a table run the owner's functions with the rights
/// of the session.
#[test]
fn a_database_of_another_role_is_not_read() {
    let Some(server) =
        PostgresServer::start("a_database_of_another_role", &PostgresOptions::default())
    else {
        return;
    };
    let place = Place::new();
    let mut admin = server.connect().unwrap();
    execute(
        &mut admin,
        &["CREATE ROLE mallory LOGIN CREATEDB", "SET ROLE mallory", "CREATE DATABASE truetps"],
    );
    let target = Target::postgres_unix(server.socket(), "mallory", "truetps");
    let mut mallory = Client::connect(&target, Duration::from_secs(20)).unwrap();
    let steal = "LANGUAGE plpgsql AS $$ BEGIN ALTER ROLE mallory SUPERUSER; RETURN 1; END $$";
    execute(
        &mut mallory,
        &[
            &format!("CREATE FUNCTION f() RETURNS int {steal}"),
            // Also what a session calls without a name of a schema.
            "CREATE SCHEMA evil",
            &format!(
                "CREATE FUNCTION evil.current_database() RETURNS name {}",
                steal.replace("RETURN 1", "RETURN 'x'")
            ),
            &format!("CREATE FUNCTION evil.pg_try_advisory_lock(int, int) RETURNS int {steal}"),
            "ALTER DATABASE truetps SET search_path = evil, public, pg_catalog",
            "CREATE VIEW truetps_parts AS SELECT f() AS part, f() AS round, 'joined'::text AS \
             phase, 0 AS start_us, ''::text AS note, 0 AS judged, ''::text AS verdict, 0 AS \
             serial, ''::text AS number, ''::text AS proof, ''::text AS invitation, ''::text AS \
             answer",
        ],
    );
    execute(&mut admin, &["RESET ROLE"]);
    let is_super = "SELECT rolsuper::text FROM pg_roles WHERE rolname = 'mallory'";
    let dsn = format!("postgresql://truetps@/postgres?socket={}", server.socket().display());
    let load = Load { place: &place, args: insert(&dsn), of: 2 };
    let victim = ran(load.start(1));
    assert_eq!(victim.code, Some(4), "{}", victim.stderr);
    let expect = "the database `truetps` belongs to `mallory`, and not to this part's account";
    assert!(victim.stderr.contains(expect), "{}", victim.stderr);
    assert_eq!(admin.query_value(is_super).unwrap().as_deref(), Some("false"));
}

/// A part's folder comes from another host, which may have changed it.
#[test]
fn a_merge_takes_nothing_but_the_files_of_its_parts() {
    let Some(owned) = server() else { return };
    let place = Place::new();
    let dsn = owned.socket_dsn();
    let load = Load { place: &place, args: insert(&dsn), of: 2 };
    good(load.start_all());
    let secret = place.write("secret", "a secret of this host");
    let before = names_below(&place);
    let part = load.folder(0).canonicalize().unwrap();
    let check = |name: &str, change: &dyn Fn(&Path), expect: &str| {
        let path = part.join(name);
        let kept = path.with_extension("kept");
        std::fs::rename(&path, &kept).unwrap();
        change(&path);
        let merged = load.merge(&[0, 1]);
        assert_ne!(merged.code, Some(0), "{name}: {}", merged.stdout);
        assert!(merged.stderr.contains(expect), "{name}: {}", merged.stderr);
        if path.is_dir() && !path.is_symlink() {
            std::fs::remove_dir_all(&path).unwrap();
        } else {
            std::fs::remove_file(&path).unwrap();
        }
        std::fs::rename(&kept, &path).unwrap();
        assert_eq!(names_below(&place), before, "{name}: nothing is left");
    };
    let link = |path: &Path| symlink(&secret, path).unwrap();
    let link_to_kept = |path: &Path| symlink(path.with_extension("kept"), path).unwrap();
    for name in [
        "experiment.json",
        "plan.toml",
        "trial-0001",
        "trial-0001/server",
        "trial-0001/intervals.jsonl",
    ] {
        check(
            name,
            &link_to_kept,
            "is a symbolic link: no file of a run folder is read through one",
        );
    }
    check("trial-0001/server/variables.json", &link, "is a symbolic link");
    let sparse = |path: &Path| File::create(path).unwrap().set_len(3 << 30).unwrap();
    check("trial-0001/server/variables.json", &sparse, "is larger than 67108864 bytes");
    check("trial-0001/probe.jsonl", &sparse, "is larger than 1073741824 bytes");
    check("trial-0001/intervals.jsonl", &sparse, "line 1 is longer than 8388608 bytes");
    let with = |from: &'static str, to: &'static str| {
        move |path: &Path| {
            let text = std::fs::read_to_string(path.with_extension("kept")).unwrap();
            assert!(text.contains(from), "{from}: {text}");
            std::fs::write(path, text.replacen(from, to, 1)).unwrap();
        }
    };
    let name = with("\"name\": \"run-insert\"", "\"name\": \"./../evil\"");
    check("experiment.json", &name, "name: `./../evil` cannot be the name of a folder");
    let of = with("\"of\": 2", "\"of\": 4294967295");
    check("experiment.json", &of, "part: 0/4294967295: between 1 and 1000 parts are possible");
    let clients = with("\"clients\": 4", "\"clients\": 4294967295");
    check(
        "trial-0001/run.json",
        &clients,
        "engine.clients is 4294967295: more than 1000000, the limit",
    );
    assert_eq!(load.merge(&[0, 1]).code, Some(0), "unchanged, they are merged");
}

/// What is beside the folders of the runs, and in the folder of merged runs.
fn names_below(place: &Place) -> Vec<String> {
    let names = ["", "runs"]
        .into_iter()
        .flat_map(|folder| std::fs::read_dir(place.path().join(folder)).into_iter());
    let mut names: Vec<_> =
        names.flatten().flatten().map(|entry| entry.path().display().to_string()).collect();
    names.retain(|name| !name.ends_with("/runs"));
    names.sort();
    names
}

/// Records each row that is written from now on, in order.
const RECORDER: &str = "CREATE TRIGGER truetps.recorder AFTER UPDATE ON truetps.truetps_parts FOR \
     EACH ROW INSERT INTO mallory.recorded VALUES (NULL, NEW.part, NEW.round, NEW.phase, \
     NEW.start_us, NEW.note, NEW.judged, NEW.verdict, NEW.serial, NEW.number, NEW.proof, \
     NEW.invitation, NEW.answer)";

#[test]
fn rows_of_an_earlier_run_start_nothing() {
    let Some(owned) = server() else { return };
    let place = Place::new();
    let dsn = owned.socket_dsn();
    let load = Load { place: &place, args: insert(&dsn), of: 2 };
    let mut mallory = mallory(&owned);
    let table = TABLE.replace(
        "truetps_parts (part INT NOT NULL PRIMARY KEY",
        "mallory.recorded (id SERIAL, part INT",
    );
    execute(&mut mallory, &[&table]);
    let children = load.start_all();
    wait_until("the table", || mallory.execute(RECORDER).is_ok());
    wait_until("the load's table", || {
        mallory.execute("CREATE TABLE mallory.sbtest1 LIKE truetps.sbtest1").is_ok()
    });
    good(children);
    let replay = |phase: &str| {
        let columns = "part, round, phase, start_us, note, judged, verdict, serial, number, proof, \
                       invitation, answer";
        format!(
            "REPLACE INTO truetps_parts SELECT {columns} FROM mallory.recorded WHERE part = 0 AND \
             phase = '{phase}' LIMIT 1"
        )
    };
    enter_as_part_0(
        &mut mallory,
        &[TABLE, &replay("prepared"), "CREATE TABLE sbtest1 LIKE mallory.sbtest1"],
    );
    let victim = load.start_with(1, &["--runs=replayed"]);
    let mut wait_for = |phase: &str, next: &str| {
        let found =
            format!("SELECT COUNT(*) FROM truetps_parts WHERE part = 1 AND phase = '{phase}'");
        wait_until(phase, || mallory.query_value(&found).unwrap().as_deref() == Some("1"));
        execute(&mut mallory, &[&replay(next)]);
    };
    wait_for("ready", "started");
    wait_for("failed", "done");
    let victim = ran(victim);
    assert_eq!(victim.code, Some(4), "{}{}", victim.stdout, victim.stderr);
    let trial = json(&place.path().join("replayed/latest/trial-0001/run.json"));
    let reason = reason_of(&trial);
    assert!(
        reason.contains(
            "`truetps_parts` has no answer of part 0 to part 1/2: its rows are of another run"
        ),
        "{reason}"
    );
    assert!(trial["measured"].is_null(), "no load was sent: {trial}");
}

/// What is done to the table of a load of two parts, when part 1 is in this phase, or before it
/// starts; and the words of a part that then ends, or none if the load is good.
struct Attack {
    phase: &'static str,
    sql: Vec<String>,
    expect: Option<&'static str>,
}

/// In place of a phase: part 0 waits for part 1.
const BEFORE_PART_1: &str = "";

fn attack(phase: &'static str, sql: &[&str], expect: Option<&'static str>) -> Attack {
    Attack { phase, sql: sql.iter().map(|sql| (*sql).to_owned()).collect(), expect }
}

fn check_attack(owned: &Owned, attack: &Attack) {
    let place = Place::new();
    let dsn = owned.socket_dsn();
    let load = Load { place: &place, args: insert(&dsn), of: 2 };
    let mut mallory = mallory(owned);
    let began = Instant::now();
    let mut children = vec![load.start(0)];
    let is_before = attack.phase == BEFORE_PART_1;
    if !is_before {
        children.push(load.start(1));
    }
    let (part, phase) = if is_before { (0, "prepared") } else { (1, attack.phase) };
    let found = format!(
        "SELECT COUNT(*) FROM truetps.truetps_parts WHERE part = {part} AND phase = '{phase}'"
    );
    wait_until(phase, || {
        mallory.query_value(&found).is_ok_and(|found| found.as_deref() == Some("1"))
    });
    execute(&mut mallory, &["USE truetps"]);
    let sql: Vec<_> = attack.sql.iter().map(String::as_str).collect();
    execute(&mut mallory, &sql);
    if is_before {
        children.push(load.start(1));
    }
    let ended: Vec<_> = children.into_iter().map(ran).collect();
    let shown: Vec<_> =
        ended.iter().map(|part| format!("{}{}", part.stdout, part.stderr)).collect();
    let shown = format!("{:?}\n{}", attack.sql, shown.join("\n---\n"));
    assert!(began.elapsed() < END_MAX, "{:?}: {shown}", began.elapsed());
    match attack.expect {
        None => assert!(ended.iter().all(|part| part.code == Some(0)), "{shown}"),
        Some(words) => {
            assert!(
                ended.iter().any(|part| part.code != Some(0)) && shown.contains(words),
                "{words}: {shown}"
            );
            assert!(ended.iter().all(|part| part.code != Some(101)), "{shown}");
        }
    }
    execute(&mut mallory, &["DROP DATABASE IF EXISTS truetps"]);
    assert_eq!(precious(owned).as_deref(), Some("one,two,three"), "{shown}");
}

#[test]
fn changed_rows_end_a_load_and_other_changes_do_not_matter() {
    let Some(owned) = server() else { return };
    let no_proof = Some("no part of this load wrote the row of part");
    // The rows that parts write from now on are other rows: a trigger has the rights of its maker.
    let changed = |change: &str| {
        let sql =
            format!("CREATE TRIGGER t BEFORE UPDATE ON truetps_parts FOR EACH ROW SET {change}");
        attack(BEFORE_PART_1, &[&sql], no_proof)
    };
    let attacks = [
        changed("NEW.note = HEX('another')"),
        changed("NEW.note = REPEAT('00', 4000000)"),
        changed("NEW.round = -1"),
        changed("NEW.round = 4000000"),
        changed("NEW.start_us = 1"),
        changed("NEW.start_us = 9223372036854775807"),
        changed("NEW.phase = 'done', NEW.judged = NEW.round"),
        changed("NEW.serial = 0"),
        changed("NEW.number = REPEAT('ab', 16)"),
        changed("NEW.proof = ''"),
        // Only the phases of one part go back.
        attack(
            "ready",
            &["CREATE TRIGGER t BEFORE UPDATE ON truetps_parts FOR EACH ROW SET NEW.phase = \
                 IF(NEW.part = 1, 'joined', NEW.phase)"],
            Some("no part of this load wrote the row of part 1"),
        ),
        attack(
            BEFORE_PART_1,
            &["CREATE TRIGGER t BEFORE INSERT ON truetps_parts FOR EACH ROW SET NEW.part = \
                 NEW.part + 7"],
            Some("part 1/2 did not come within 20 s"),
        ),
        // Rows of no part, columns that parts do not read, another collation.
        attack(
            BEFORE_PART_1,
            &[
                "INSERT INTO truetps_parts SELECT seq, 1, 'failed', 0, '', 0, '', 1, '', '', '', \
                 '' FROM seq_2_to_300000",
                "ALTER TABLE truetps_parts ADD COLUMN more INT NOT NULL DEFAULT 1 INVISIBLE",
                "ALTER TABLE truetps_parts CONVERT TO CHARACTER SET latin1 COLLATE \
                 latin1_german2_ci",
            ],
            None,
        ),
        attack(BEFORE_PART_1, &["DROP TABLE truetps_parts"], Some("truetps_parts")),
        attack(BEFORE_PART_1, &["DROP DATABASE truetps"], Some("truetps")),
    ];
    for attack in &attacks {
        check_attack(&owned, attack);
    }
}
