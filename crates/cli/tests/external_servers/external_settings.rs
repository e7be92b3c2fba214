//! Settings of external servers: they are set for trials, and are restored however a run ends,
//! including `kill -9`.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

use rustix::mount::{MountFlags, UnmountFlags};
use rustix::process::Signal;
use truetps_testkit::mysql_family::{fetched_server, mariadb};

use crate::common::{Place, Ran, reason_of, signal, wait_until};
use crate::support::external::{PLAN, binaries, globals, journals, schemas, server};
use crate::support::{
    ACCOUNT, Owned, PASSWORD, assert_secret, run_with_password, short_run, valid_trial,
};

/// MariaDB has a privilege for each kind of variable: the error names the one needed, and it is
/// enough.
#[test]
fn the_narrowest_right_to_a_setting_is_named_and_is_enough() {
    let test = "the_narrowest_right_to_a_setting";
    let fetched = fetched_server(test, "mariadb-11.8").map(|server| server.binary);
    for binary in mariadb(test).into_iter().chain(fetched) {
        let owned = Owned::start(&binary, &[("log_bin", "ON"), ("sync_binlog", "1")]);
        let place = Place::new();
        let dsn = owned.tcp_dsn();
        let args = short_run("insert", &dsn, &["--table-rows=300", "--set=sync_binlog=0"]);
        let ran = run_with_password(&place, &args);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains("GRANT BINLOG ADMIN ON *.* TO 'loader'@'%'"), "{}", ran.stderr);
        owned.execute(&[&format!("GRANT BINLOG ADMIN ON *.* TO {ACCOUNT}@'%'")]);
        valid_trial(&place, &run_with_password(&place, &args));
        assert_eq!(globals(&owned)["sync_binlog"], "1");
    }
}

#[test]
fn levels_are_set_and_restored() {
    for (name, binary) in binaries("levels_are_set_and_restored") {
        let owned = server(&binary);
        let (before, place) = (globals(&owned), Place::new());
        place.write("levels.toml", PLAN);
        let ran = place.run(&["sweep", "./levels.toml", "--dsn", &owned.socket_dsn()]);
        // One block decides no comparison.
        assert_eq!(ran.code, Some(3), "{name}: {}", ran.stderr);
        assert_eq!(globals(&owned), before, "{name}");
        assert!(!schemas(&owned).contains(&"truetps".to_owned()), "{name}");
        assert!(journals(&place).is_empty(), "{name}");
        for n in 1..=6 {
            let trial = place.run_json(&format!("trial-000{n}"));
            assert_eq!(trial["validity"]["state"], "valid", "{name}: {trial}");
            let path = place.latest().join(format!("trial-000{n}/server/variables.json"));
            let had: BTreeMap<String, String> =
                serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
            for (setting, level) in trial["configuration"].as_object().unwrap() {
                if setting != "connections" {
                    assert_eq!(had[setting], level.to_string(), "{name}: {setting}");
                }
            }
        }
        // Settings of the plan, and Ctrl-C.
        let dsn = owned.socket_dsn();
        let args = [
            "run",
            "insert",
            "--dsn",
            &dsn,
            "--set=sync_binlog=0",
            "--rate=50",
            "--measure=60",
            "--table-rows=300",
        ];
        let child = place.start(&args);
        place.wait_for_interval("trial-0001");
        wait_until("the setting", || globals(&owned)["sync_binlog"] == "0");
        signal(child.id(), Signal::INT);
        let ran: Ran = child.wait_with_output().unwrap().into();
        assert_eq!(ran.code, Some(130), "{name}: {}", ran.stderr);
        assert_eq!(globals(&owned), before, "{name}: Ctrl-C");
        // A level that the server makes another one: nothing is measured, and nothing stays.
        let ran = place.run(&short_run(
            "insert",
            &dsn,
            &["--set=sync_binlog=0", "--set=innodb_flush_log_at_timeout=99999999"],
        ));
        assert_eq!(ran.code, Some(2), "{name}: {}", ran.stderr);
        assert_eq!(
            (globals(&owned), journals(&place).len()),
            (before.clone(), 0),
            "{name}: a wrong level: {}",
            ran.stderr
        );
        // A word that is no level: it is nothing to be warned of, and the hint has some that are.
        let ran =
            place.run(&short_run("insert", &dsn, &["--set=innodb_flush_log_at_trx_commit=banana"]));
        assert!(
            ran.code == Some(2)
                && ran
                    .stderr
                    .contains("known values of innodb_flush_log_at_trx_commit: 0, 1, 2, 3"),
            "{name}: {}",
            ran.stderr
        );
        assert!(!ran.stderr.contains("commits of all sessions"), "{name}: {}", ran.stderr);
        // Numbers with a fraction, for all sessions and for one.
        let flags = [
            "--set=innodb_max_dirty_pages_pct=75.5",
            "--set=long_query_time=0.5",
            "--table-rows=300",
        ];
        valid_trial(&place, &place.run(&short_run("insert", &dsn, &flags)));
        assert_eq!((globals(&owned), journals(&place).len()), (before, 0), "{name}: a fraction");
    }
}

#[test]
fn what_others_have_set_is_left() {
    let Some(binary) = mariadb("what_others_have_set_is_left") else { return };
    let owned = server(&binary);
    let place = Place::new();
    let dsn = owned.socket_dsn();
    let mut child = place.start(&[
        "run",
        "insert",
        "--dsn",
        &dsn,
        "--set=sync_binlog=0",
        "--rate=50",
        "--measure=60",
        "--table-rows=300",
    ]);
    place.wait_for_interval("trial-0001");
    child.kill().unwrap();
    child.wait().unwrap();
    owned.execute(&["SET GLOBAL sync_binlog = 77"]);
    // A journal that others may have written to, and one that sets what no run does.
    let file = place.path().join("state/truetps/journals").join(&journals(&place)[0]);
    let edited = place.write(
        "edited.json",
        &fs::read_to_string(&file).unwrap().replace("\"sync_binlog\"", "\"read_only\""),
    );
    for (mode, word) in [(0o666, "others may write to it"), (0o600, "`read_only` is not changed")] {
        fs::set_permissions(&edited, fs::Permissions::from_mode(mode)).unwrap();
        let ran = place.run(&["server", "restore", "--journal", edited.to_str().unwrap()]);
        assert!(ran.code == Some(4) && ran.stderr.contains(word), "{}", ran.stderr);
    }
    let other = server(&binary);
    let ran = place.run(&[
        "server",
        "restore",
        "--journal",
        file.to_str().unwrap(),
        "--dsn",
        &other.socket_dsn(),
    ]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("another server"), "{}", ran.stderr);
    let ran = place.run(&["server", "restore"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stdout.contains("sync_binlog was changed to 77") && ran.stdout.contains("was 3"),
        "{}",
        ran.stdout
    );
    assert_eq!(globals(&owned)["sync_binlog"], "77");
    assert!(!schemas(&owned).contains(&"truetps".to_owned()));
}

/// A small disk for journals; `None` where the tests may mount none.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(place: &Place, size: &CStr) -> Option<Self> {
        let at = place.path().join("state/truetps/journals");
        fs::create_dir_all(&at).unwrap();
        match rustix::mount::mount("none", &at, "tmpfs", MountFlags::empty(), size) {
            Ok(()) => Some(Self(at)),
            Err(error) => {
                eprintln!("SKIPPED: a small file system cannot be mounted here: {error}");
                None
            }
        }
    }

    fn fill(&self) {
        let room_that_is_reserved =
            fs::read_dir(&self.0).unwrap().flatten().map(|entry| entry.path());
        for path in room_that_is_reserved
            .filter(|path| path.extension().is_some_and(|found| found == "spare"))
        {
            fs::remove_file(path).unwrap();
        }
        let mut file = fs::File::create(self.0.join("fill")).unwrap();
        while file.write_all(&[0; 1024]).is_ok() {}
    }

    fn remount(&self, flags: MountFlags) {
        rustix::mount::mount_remount(&self.0, flags, c"").unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(&self.0, UnmountFlags::DETACH);
    }
}

#[test]
fn a_journal_that_cannot_be_written_keeps_no_setting() {
    let Some(binary) = mariadb("a_journal_that_cannot_be_written_keeps_no_setting") else { return };
    let owned = server(&binary);
    let (before, dsn) = ((globals(&owned), schemas(&owned)), owned.socket_dsn());
    let flags = ["--set=sync_binlog=0", "--rate=50", "--measure=60", "--table-rows=300"];
    let args = [&["run", "insert", "--dsn", &dsn][..], &flags].concat();
    // Full: the journal can still be removed.
    let place = Place::new();
    let Some(disk) = SmallDisk::mount(&place, c"size=1m") else { return };
    let child = place.start(&args);
    place.wait_for_interval("trial-0001");
    disk.fill();
    signal(child.id(), Signal::INT);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!((globals(&owned), schemas(&owned)), before, "{}", ran.stderr);
    assert!(
        ran.code == Some(130) && ran.stderr.contains("the journal could not be written"),
        "{}",
        ran.stderr
    );
    assert!(journals(&place).is_empty());
    // Read-only: the server is as it was, and the journal says what is not true any more.
    let place = Place::new();
    let Some(disk) = SmallDisk::mount(&place, c"size=1m") else { return };
    let mut child = place.start(&args);
    place.wait_for_interval("trial-0001");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(globals(&owned)["sync_binlog"], "0");
    disk.remount(MountFlags::RDONLY);
    let ran = place.run(&["server", "restore"]);
    assert_eq!((globals(&owned), schemas(&owned)), before, "{}", ran.stderr);
    assert!(
        ran.code == Some(4) && ran.stderr.contains("its journal could not be removed"),
        "{}",
        ran.stderr
    );
    disk.remount(MountFlags::empty());
    let ran = place.run(&["server", "restore"]);
    assert_eq!((ran.code, journals(&place).len()), (Some(0), 0), "{}", ran.stderr);
    // Unmounted.
    let place = Place::new();
    let Some(disk) = SmallDisk::mount(&place, c"size=1m") else { return };
    let child = place.start(&args);
    place.wait_for_interval("trial-0001");
    drop(disk);
    signal(child.id(), Signal::INT);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!((globals(&owned), schemas(&owned)), before, "{}", ran.stderr);
    assert!(
        ran.code == Some(4) && ran.stderr.contains("its journal could not be removed"),
        "{}",
        ran.stderr
    );
    // Too little room for a journal: nothing is begun, however little it is.
    let place = Place::new();
    for size in [c"size=4k", c"size=8k", c"size=64k"] {
        let Some(disk) = SmallDisk::mount(&place, size) else { return };
        let ran = place.run(&args);
        assert!(
            ran.code == Some(2) && ran.stderr.contains("point XDG_STATE_HOME"),
            "{size:?}: {}",
            ran.stderr
        );
        assert_eq!(
            (globals(&owned), schemas(&owned), journals(&place).len()),
            (before.0.clone(), before.1.clone(), 0)
        );
        drop(disk);
    }
}

#[test]
fn what_is_refused_before_anything_is_made() {
    for (name, binary) in binaries("what_is_refused_before_anything_is_made") {
        let owned = server(&binary);
        owned.execute(&[
            "CREATE USER limited@localhost",
            "GRANT SELECT, CREATE ON `truetps%`.* TO limited@localhost",
        ]);
        let (before, schemas_before) = (globals(&owned), schemas(&owned));
        let place = Place::new();
        let dsn = owned.socket_dsn();
        let check = |ran: Ran, words: &[&str]| {
            assert_eq!(ran.code, Some(2), "{name}: {}", ran.stderr);
            for word in words {
                assert!(ran.stderr.contains(word), "{name} should say {word:?}:\n{}", ran.stderr);
            }
            assert_eq!(
                (globals(&owned), schemas(&owned)),
                (before.clone(), schemas_before.clone()),
                "{name}"
            );
            assert!(journals(&place).is_empty(), "{name}");
        };
        check(
            place.run(&short_run("insert", &dsn, &["--set=log_bin=OFF"])),
            &["`log_bin` cannot be set", "when it starts"],
        );
        check(
            place.run(&short_run("insert", &dsn, &["--set=innodb_flush_log_at_tx_commit=2"])),
            &[
                "no variable `innodb_flush_log_at_tx_commit` (did you mean \
                 `innodb_flush_log_at_trx_commit`",
                "hint: ",
            ],
        );
        check(place.run(&short_run("insert", &dsn, &["--set=datadir=/x"])), &["datadir"]);
        let limited = dsn.replace("root@", "limited@");
        check(
            place.run(&short_run("insert", &limited, &[])),
            &["it lacks DROP, INSERT", "GRANT CREATE, DROP", "'limited'@'localhost'"],
        );
        owned.execute(&["GRANT ALL ON `truetps%`.* TO limited@localhost"]);
        let set = ["--set=sync_binlog=0"];
        check(
            place.run(&short_run("insert", &limited, &set)),
            &["may not set global variables", "ON *.* TO 'limited'@'localhost'"],
        );
        valid_trial(&place, &place.run(&short_run("insert", &limited, &["--table-rows=300"])));
        owned.execute(&["SET GLOBAL read_only = 1"]);
        let ran = place.run(&short_run("insert", &dsn, &[]));
        assert_eq!(ran.code, Some(2), "{name}: {}", ran.stderr);
        let said = ran.stderr.contains("accepts no writes: read_only")
            && ran.stderr.contains("hint: name a server");
        assert!(said, "{name}: {}", ran.stderr);
    }
}

#[test]
fn a_server_that_is_restarted() {
    for (name, binary) in binaries("a_server_that_is_restarted") {
        let settings = [("log_bin", "ON"), ("sync_binlog", "3")];
        let owned = Owned::start(&binary, &settings);
        let (before, place) = (globals(&owned), Place::new());
        place.write(
            "levels.toml",
            &PLAN
                .replace("[1, 2, 0]", "[2, 0]")
                .replace("measure_s = 0.5", "measure_s = 3\nrate = 50"),
        );
        // So long that a new start cannot look like the old one.
        sleep(Duration::from_secs(3));
        let child = place.start(&["sweep", "./levels.toml", "--dsn", &owned.socket_dsn()]);
        place.wait_for_interval("trial-0002");
        let owned = owned.restarted(&binary, &settings);
        let ran: Ran = child.wait_with_output().unwrap().into();
        assert_eq!(ran.code, Some(4), "{name}: {}", ran.stderr);
        let trial = place.run_json("trial-0002");
        let reason = reason_of(&trial);
        assert!(reason.contains("the server was restarted"), "{name}: {trial}");
        for n in [1, 3, 4] {
            let trial = place.run_json(&format!("trial-000{n}"));
            assert_eq!(trial["validity"]["state"], "valid", "{name}: {trial}");
        }
        assert_eq!(
            (globals(&owned), journals(&place).len()),
            (before, 0),
            "{name}: {}",
            ran.stderr
        );
    }
}

#[test]
fn a_dry_run_changes_nothing_but_its_session() {
    for (name, binary) in binaries("a_dry_run_changes_nothing_but_its_session") {
        let owned = server(&binary);
        let place = Place::new();
        place.write("levels.toml", PLAN);
        owned.execute(&["SET GLOBAL log_output = 'TABLE'", "SET GLOBAL general_log = 1"]);
        let before = (globals(&owned), schemas(&owned));
        owned.execute(&["TRUNCATE mysql.general_log"]);
        let ran = place.run(&["sweep", "./levels.toml", "--dsn", &owned.socket_dsn(), "--dry-run"]);
        assert_eq!(ran.code, Some(0), "{name}: {}", ran.stderr);
        let sql = "SELECT CONVERT(argument USING utf8mb4) FROM mysql.general_log WHERE \
                   command_type IN ('Query', 'Execute', 'Prepare')";
        let sent: Vec<_> = owned
            .admin()
            .query(sql)
            .unwrap()
            .rows
            .into_iter()
            .map(|row| row[0].clone().unwrap())
            .collect();
        assert!(sent.len() > 10, "{name}: {sent:#?}");
        // A transaction of nothing but a question shows whether a proxy is in between.
        let is_empty = |sql: &String| sql == "START TRANSACTION" || sql == "ROLLBACK";
        let is_question =
            |sql: &String| sql.starts_with("SELECT ") || sql.starts_with("SHOW ") || is_empty(sql);
        let own = |sql: &String| sql.contains("general_log");
        // Its sessions begin as a run's do: what refuses a run refuses the rehearsal, too.
        let begins = |sql: &String| {
            sql.starts_with("SET SESSION ") || sql == "ROLLBACK AND NO CHAIN NO RELEASE"
        };
        assert_eq!(
            sent.iter().find(|sql| !is_question(sql) && !own(sql) && !begins(sql)),
            None,
            "{name}"
        );
        assert_eq!((globals(&owned), schemas(&owned)), before, "{name}");
        assert!(
            !place.path().join("state").exists() && !place.path().join("runs").exists(),
            "{name}"
        );
        for wanted in [
            "SET GLOBAL sync_binlog = 0",
            "SELECT GET_LOCK('truetps.settings', 0)",
            "CREATE DATABASE `truetps`",
            "INSERT INTO",
            "SET GLOBAL sync_binlog = 3",
            "DROP DATABASE `truetps`",
        ] {
            assert!(ran.stdout.contains(wanted), "{name} should have {wanted}:\n{}", ran.stdout);
        }
        // And a run sends nothing else that is not a question.
        owned.execute(&["TRUNCATE mysql.general_log"]);
        let rehearsed = ran.stdout;
        let ran = place.run(&["sweep", "./levels.toml", "--dsn", &owned.socket_dsn()]);
        assert_eq!(ran.code, Some(3), "{name}: {}", ran.stderr);
        let told = |sql: &String| {
            let line = sql.split_whitespace().collect::<Vec<_>>().join(" ");
            let start: String = line.chars().take(400).collect();
            // The mark is another one each time, and rows are shown by the first statement that
            // fills.
            let start =
                start.split("VALUES").next().and_then(|start| start.split("COMMENT").next());
            let start = start.unwrap_or_default().trim();
            rehearsed.contains(start)
        };
        let sent =
            owned.admin().query(sql).unwrap().rows.into_iter().map(|row| row[0].clone().unwrap());
        for sql in sent.filter(|sql| !is_question(sql) && !own(sql)) {
            assert!(told(&sql), "{name}: the rehearsal does not say {sql:?}:\n{rehearsed}");
        }
    }
}

#[test]
fn an_option_file_says_who_logs_in() {
    let Some(binary) = mariadb("an_option_file_says_who_logs_in") else { return };
    let owned = server(&binary);
    // Not in the place, where no file may have the password.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("my.cnf");
    fs::write(
        &file,
        format!("[mysqld]\nuser=x\n[client]\nuser={ACCOUNT}\npassword=\"{PASSWORD}\"\n"),
    )
    .unwrap();
    let flag = format!("--defaults-file={}", file.display());
    let place = Place::new();
    let dsn = format!("mysql://127.0.0.1:{}", owned.port);
    let ran = place.run(&short_run("insert", &dsn, &["--table-rows=300", &flag]));
    valid_trial(&place, &ran);
    assert_secret(&place, &ran);
    // A killed run of that account, restored by it; its journal contains no password either.
    let place = Place::new();
    let mut child = place.start(&[
        "run",
        "insert",
        "--dsn",
        &dsn,
        "--rate=50",
        "--measure=60",
        "--table-rows=300",
        &flag,
    ]);
    place.wait_for_interval("trial-0001");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(journals(&place).len(), 1);
    assert_secret(&place, &ran);
    let ran = place.run(&["server", "restore", &flag]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("the schema `truetps` was dropped"), "{}", ran.stdout);
    assert_secret(&place, &ran);
    let ran = place.run(&short_run("insert", &dsn, &["--defaults-file=/nowhere/my.cnf"]));
    assert!(ran.code == Some(2) && ran.stderr.contains("/nowhere/my.cnf"), "{}", ran.stderr);
}

#[test]
fn a_schema_of_its_owner() {
    let Some(binary) = mariadb("a_schema_of_its_owner") else { return };
    let owned = server(&binary);
    owned.execute(&[
        "CREATE DATABASE app",
        "CREATE TABLE app.mine (id INT)",
        "INSERT INTO app.mine VALUES (7)",
    ]);
    let tables = || owned.admin().query("SHOW TABLES FROM app").unwrap().rows;
    let (before, place, dsn) = (tables(), Place::new(), owned.socket_dsn());
    let flags = ["--schema=app", "--i-own-this-schema", "--table-rows=300"];
    valid_trial(&place, &place.run(&short_run("insert", &dsn, &flags)));
    assert_eq!(tables(), before);
    let ran = place.run(&short_run("insert", &dsn, &["--schema=absent", "--i-own-this-schema"]));
    assert!(
        ran.code == Some(2) && ran.stderr.contains("`absent` does not exist"),
        "{}",
        ran.stderr
    );
    // The owner renames a table of the run and creates another of that name: no trial empties it.
    place.write(
        "two.toml",
        &PLAN.replace("measure_s = 0.5", "measure_s = 2").replace("[1, 2, 0]", "[1]"),
    );
    let child = place.start(&["sweep", "./two.toml", "--dsn", &dsn, flags[0], flags[1]]);
    wait_until("a table with rows", || {
        owned
            .admin()
            .query_value("SELECT COUNT(*) FROM app.sbtest1")
            .ok()
            .flatten()
            .is_some_and(|n| n.parse::<u32>().unwrap() > 300)
    });
    owned.execute(&[
        "RENAME TABLE app.sbtest1 TO app.kept",
        "CREATE TABLE app.sbtest1 (id INT)",
        "INSERT INTO app.sbtest1 VALUES (8)",
    ]);
    let ran: Ran = child.wait_with_output().unwrap().into();
    let row = owned.admin().query_value("SELECT id FROM app.sbtest1").unwrap();
    assert_eq!((ran.code, row.as_deref()), (Some(4), Some("8")), "{}", ran.stderr);
    assert!(ran.stderr.contains("is not the one that the run created"), "{}", ran.stderr);
    owned.execute(&["DROP TABLE app.sbtest1, app.kept"]);
    assert_eq!(tables(), before, "{}", ran.stderr);
    owned.execute(&["CREATE TABLE app.truetps_owner (id INT)"]);
    let before = tables();
    let ran = place.run(&short_run("insert", &dsn, &flags));
    assert!(
        ran.code == Some(2) && ran.stderr.contains("already has a table `truetps_owner`"),
        "{}",
        ran.stderr
    );
    assert_eq!(tables(), before);
    assert_eq!(owned.admin().query_value("SELECT id FROM app.mine").unwrap().as_deref(), Some("7"));
}
