//! `truetps server capture` and `truetps diff`, on servers that a test owns and on files.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::process::Stdio;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use truetps_testkit::mysql_family::{mariadb, mysql};
use truetps_testkit::{PostgresOptions, PostgresServer};

use crate::common::{Place, Ran, SMALL, with_small_redo};
use crate::support::{ACCOUNT, Owned, PASSWORD, assert_secret, run_with_password, short_run};

fn json(ran: &Ran) -> serde_json::Value {
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap()
}

fn read(place: &Place, name: &str) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(place.path().join(name)).unwrap()).unwrap()
}

/// Captures before and after a change, against the server itself and against its option file.
#[test]
fn a_mariadb_before_and_after_a_change() {
    let Some(binary) = mariadb("a_mariadb_before_and_after_a_change") else { return };
    let owned = Owned::start(
        &binary,
        &[
            ("log_bin", "ON"),
            ("sync_binlog", "1"),
            ("report_password", "h1dden-too"),
            ("report_host", "x://u:h1dden-too@h"),
        ],
    );
    let before = owned.belongings();
    let place = Place::new();
    let ran = place.run(&[
        "server",
        "capture",
        &owned.socket_dsn(),
        "-o",
        "one.json",
        "--flush-dir",
        ".",
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_secret(&place, &ran);
    let one = read(&place, "one.json");
    assert_eq!(one["server"]["flavour"], "mariadb");
    let sync = &one["variables"]["sync_binlog"];
    assert_eq!(
        (&sync["value"], &sync["origin"], &sync["default"]),
        (&"1".into(), &"COMMAND-LINE".into(), &"0".into())
    );
    let precious = one["schemas"]
        .as_array()
        .unwrap()
        .iter()
        .find(|schema| schema["name"] == "precious")
        .unwrap();
    assert_eq!(
        (&precious["tables"], &precious["engines"]["InnoDB"], &precious["indexes"]),
        (&1.into(), &1.into(), &1.into())
    );
    assert!(one["host"]["flush"]["us_p50"].as_f64().unwrap() > 0.0, "{}", one["host"]);
    assert_eq!(owned.belongings(), before);
    assert!(
        one["durability"].as_str().unwrap().starts_with("a commit of InnoDB tables survives"),
        "{one}"
    );

    owned.execute(&["SET GLOBAL sync_binlog = 0", "SET GLOBAL innodb_io_capacity = 777"]);
    let ran = place.run(&["diff", "one.json", &owned.socket_dsn(), "--full"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let (sync, capacity) = (
        ran.stdout.find("  sync_binlog   A 1   B 0").unwrap(),
        ran.stdout.find("A 200   B 777").unwrap(),
    );
    assert!(sync < capacity, "{}", ran.stdout);
    assert!(ran.stdout.contains("2 settings differ"), "{}", ran.stdout);
    assert!(ran.stdout.contains("which sync_binlog=0 does not flush"), "{}", ran.stdout);

    // What would be changed by the look at it is not looked at.
    owned.execute(&["SET GLOBAL innodb_stats_on_metadata = ON"]);
    let found = json(&place.run(&["server", "capture", &owned.socket_dsn()]));
    assert_eq!(found["schemas"].as_array().unwrap().len(), 0);
    assert!(found["notes"].to_string().contains("innodb_stats_on_metadata"), "{}", found["notes"]);

    place.write("my.cnf", "[mysqld]\nsync_binlog = 1\ninnodb_buffer_pool_size = 64M\n");
    let found = json(&place.run(&["diff", "my.cnf", "one.json", "--format=json"]));
    assert_eq!(found["differences"].as_array().unwrap().len(), 0, "{found}");
    assert_eq!(found["same"], 2);
}

/// Whatever is there is written to: another reader has it open, and another user may not read it.
#[test]
fn what_is_named_for_a_capture_is_not_replaced() {
    let Some(binary) = mariadb("what_is_named_for_a_capture_is_not_replaced") else { return };
    let (owned, place) = (Owned::start(&binary, &[]), Place::new());
    let (dsn, path) = (owned.socket_dsn(), |name: &str| place.path().join(name));
    let capture = |name: &str| place.good(&["server", "capture", &dsn, "-o", name]);
    place.write("private.json", "old");
    fs::set_permissions(path("private.json"), fs::Permissions::from_mode(0o600)).unwrap();
    symlink("private.json", path("link.json")).unwrap();
    for name in ["private.json", "link.json"] {
        capture(name);
        assert!(fs::symlink_metadata(path("link.json")).unwrap().is_symlink(), "{name}");
        assert_eq!(
            fs::metadata(path("private.json")).unwrap().permissions().mode() & 0o777,
            0o600,
            "{name}"
        );
        assert_eq!(read(&place, "private.json")["kind"], "truetps-capture", "{name}");
    }
    mknodat(CWD, path("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let reader = std::thread::spawn({
        let pipe = path("pipe");
        move || fs::read_to_string(pipe).unwrap()
    });
    capture("pipe");
    assert!(reader.join().unwrap().contains("truetps-capture"));
    assert!(fs::metadata(path("pipe")).unwrap().file_type().is_fifo());
    let ran = place.run(&["server", "capture", &dsn, "-o", "nowhere/one.json"]);
    assert!(
        ran.code == Some(2) && ran.stderr.contains("--output nowhere/one.json: No such file"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_flush_that_cannot_be_measured_is_refused() {
    let Some(binary) = mariadb("a_flush_that_cannot_be_measured_is_refused") else { return };
    let (owned, place) = (Owned::start(&binary, &[]), Place::new());
    let check = |ran: Ran, words: [&str; 2]| {
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
        assert!(words.iter().all(|word| ran.stderr.contains(word)), "{}", ran.stderr);
    };
    let ran = place.run(&["server", "capture", &owned.socket_dsn(), "--flush-dir", "nodir"]);
    check(ran, ["measuring a flush in nodir: No such file", "hint: name a folder"]);
    let ran =
        run_with_password(&place, &["server", "capture", &owned.tcp_dsn(), "--flush-dir", "."]);
    check(ran, ["only a server behind a unix socket", "hint: name the server by its socket"]);
}

/// An account that may do little, by TCP: what it cannot see is reported, and is no failure.
#[test]
fn a_mysql_seen_by_an_account_with_few_rights() {
    let Some((binary, _)) = mysql("a_mysql_seen_by_an_account_with_few_rights") else { return };
    let keys = ["auto_generate_certs", "caching_sha2_password_auto_generate_rsa_keys"];
    let owned = Owned::start(&binary, &keys.map(|name| (name, "ON")));
    let place = Place::new();
    let dsn = format!("{}/?tls=required", owned.tcp_dsn());
    let ran = run_with_password(&place, &["server", "capture", &dsn]);
    let found = json(&ran);
    assert_secret(&place, &ran);
    assert_eq!(found["variables"]["innodb_flush_log_at_trx_commit"]["value"], "1");
    assert_eq!(found["schemas"].as_array().unwrap().len(), 0);
    assert_eq!(found["host"], serde_json::Value::Null);
    assert!(ran.stderr.contains("note: host facts are left out"), "{}", ran.stderr);
    owned.execute(&["ALTER INSTANCE DISABLE INNODB REDO_LOG"]);
    let ran = place.run(&["diff", &owned.socket_dsn(), &owned.socket_dsn()]);
    let words = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("the redo log is switched off"), "{}", ran.stdout);
    assert!(ran.stdout.contains("nothing that could matter differs"), "{}", ran.stdout);
    // Nor is it forgotten in a run's folder.
    let ran = place.run(&short_run("insert", &owned.socket_dsn(), &["--table-rows=100", "--full"]));
    let said = "Durability: a process crash or a power cut can damage the data";
    assert!(ran.stdout.contains(said), "{}{}", ran.stdout, ran.stderr);
    let found = json(&place.run(&["diff", "runs/latest", &owned.socket_dsn(), "--format=json"]));
    let names = found["differences"].as_array().unwrap().iter().map(|one| one["name"].to_string());
    assert!(!names.collect::<String>().contains("redo_log_enabled"), "{found}");
}

#[test]
fn a_postgresql() {
    let Some(server) = PostgresServer::start("a_postgresql", &PostgresOptions::default()) else {
        return;
    };
    let mut root = server.connect().unwrap();
    root.execute("CREATE TABLE letters (id int PRIMARY KEY, line text)").unwrap();
    root.execute(&format!("CREATE ROLE {ACCOUNT} LOGIN PASSWORD '{PASSWORD}'")).unwrap();
    let dsn = format!("postgresql://truetps@/postgres?socket={}", server.socket().display());
    let place = Place::new();
    let found = json(&place.run(&["server", "capture", &dsn]));
    assert_eq!(found["server"]["flavour"], "postgresql");
    assert_eq!(found["variables"]["full_page_writes"]["default"], "on");
    assert_eq!(found["schemas"][0]["tables"], 1, "{}", found["schemas"]);
    assert_eq!(found["variables"]["primary_conninfo"], serde_json::Value::Null);
    place.write("pg.json", &found.to_string());
    // A schema whose name only begins like a system schema's, and partitions, whose rows count
    // once.
    for sql in [
        "CREATE SCHEMA pgstats",
        "CREATE TABLE pgstats.parts (id int) PARTITION BY RANGE (id)",
        "CREATE TABLE pgstats.part PARTITION OF pgstats.parts FOR VALUES FROM (0) TO (100)",
        "INSERT INTO pgstats.parts SELECT generate_series(1, 50)",
        "ANALYZE pgstats.parts",
    ] {
        root.execute(sql).unwrap();
    }
    let with_schema = json(&place.run(&["server", "capture", &dsn]));
    let stats = with_schema["schemas"]
        .as_array()
        .unwrap()
        .iter()
        .find(|schema| schema["name"] == "pgstats")
        .unwrap();
    assert_eq!((&stats["tables"], &stats["rows"]), (&1.into(), &50.into()), "{stats}");
    root.execute("ALTER SYSTEM SET synchronous_commit = off").unwrap();
    root.execute("SELECT pg_reload_conf()").unwrap();
    crate::common::wait_until("the new setting", || {
        let mut client = server.connect().unwrap();
        client.query_value("SHOW synchronous_commit").unwrap().as_deref() == Some("off")
    });
    place.write(
        "postgresql.conf",
        "max_wal_size = 1GB\nwal_writer_delay = 300ms # slow\ncheckpoint_timeout = 5min\n",
    );
    let found = json(&place.run(&["diff", "postgresql.conf", "pg.json", "--format=json"]));
    assert_eq!(
        (&found["same"], &found["differences"][0]["b"]["value"]),
        (&2.into(), &"200ms".into()),
        "{found}"
    );
    let ran = place.run(&["diff", "pg.json", &dsn, "--format=md"]);
    assert!(ran.stdout.contains("can lose up to about 600 ms"), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("| durability | `synchronous_commit` | on | off |"),
        "{}",
        ran.stdout
    );
}

/// Trials of a sweep, by their folders.
#[test]
fn run_folders() {
    if mariadb("run_folders").is_none() {
        return;
    }
    let place = Place::with_templates();
    place.write("small.toml", &with_small_redo(SMALL));
    let ran = place.run(&["sweep", "./small.toml", "--blocks=1"]);
    assert!(place.path().join("runs/latest").exists(), "{}", ran.stderr);
    // Whether commits wait for a replica is no variable, and decides what the others mean.
    let variables = read(&place, "runs/latest/trial-0001/server/variables.json");
    assert_eq!(variables["rpl_semi_sync_master_status"], "OFF");
    let ran = place.run(&["diff", "runs/latest", "runs/latest/trial-0001", "--full"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("nothing that could matter differs"), "{}", ran.stdout);
    assert!(ran.stdout.contains("note: variables of trial-0001 ("), "{}", ran.stdout);
}

#[test]
fn what_cannot_be_compared() {
    let place = Place::new();
    let capture = r#"{"schema_version": 1, "kind": "truetps-capture", "tool_version": "1", "captured_at": "2026",
        "server": {"flavour": "mysql", "version": "8.0.36", "version_text": "8.0.36", "chosen_settings": []},
        "variables": {"sync_binlog": {"value": "1", "of_later": 2}}}"#;
    place.write("fine.json", capture);
    place.write("newer.json", &capture.replace("\"schema_version\": 1", "\"schema_version\": 2"));
    place.write("cut.json", &capture[..120]);
    place.write("other.json", "{\"schema_version\": 1}");
    place.write("edited.json", &capture.replace("\"mysql\"", "\"oracle\""));
    place.write("odd.cnf", "[mysqld]\n<html>\n");
    place.write("client.cnf", "[client]\nport=1\n");
    place.write("postgresql.conf", "fsync = off\n");
    let ran = place.good(&["diff", "postgresql.conf", "fine.json", "--full"]);
    assert!(
        !ran.stdout.contains("Durability A")
            && ran.stdout.contains("note: B is of the MySQL family"),
        "{}",
        ran.stdout
    );
    std::fs::create_dir(place.path().join("empty")).unwrap();
    assert_eq!(place.run(&["diff", "fine.json", "fine.json"]).code, Some(0));
    for (name, words) in [
        ("newer.json", ["written by a newer truetps (schema version 2", "hint: read it with"]),
        ("cut.json", ["cut.json: is cut off or was changed by hand", "hint: make a capture"]),
        ("other.json", ["other.json: is not a capture", "hint: make a capture"]),
        ("edited.json", ["unknown variant `oracle`", "hint: make a capture"]),
        ("odd.cnf", ["odd.cnf: line 2 is neither", "hint:"]),
        ("client.cnf", ["client.cnf: has no server settings", "hint: server settings belong to"]),
        ("empty", ["empty: not a run folder", "hint: name the folder"]),
        ("missing.json", ["missing.json: No such file", "hint: give a capture"]),
        ("mysql://root@", ["B: ", "hint: for example"]),
    ] {
        let ran = place.run(&["diff", "fine.json", name]);
        assert_eq!(ran.code, Some(2), "{name}: {}", ran.stderr);
        for word in words {
            assert!(ran.stderr.contains(word), "{name} should say {word:?}:\n{}", ran.stderr);
        }
    }
    // As `diff <(ssh db cat /etc/my.cnf) fine.json`.
    let mut child = place
        .command(&["diff", "/dev/stdin", "fine.json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"[mysqld]\nsync_binlog = 1\n").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let ran = place.run(&["server", "capture", "mysql://root@?socket=/nowhere/s.sock"]);
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("/nowhere/s.sock") && ran.stderr.contains("SHOW VARIABLES LIKE"),
        "{}",
        ran.stderr
    );
    let ran = place.run(&["server", "capture", "postgresql://me@?socket=/nowhere"]);
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("hint:") && ran.stderr.contains("SHOW unix_socket_directories"),
        "{}",
        ran.stderr
    );
}
