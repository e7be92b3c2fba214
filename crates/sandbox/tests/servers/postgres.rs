//! A private PostgreSQL boots, is the one that answers, is configured, killed and started again,
//! and leaves nothing behind.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use truetps_driver::Client;
use truetps_record::SettingValue;
use truetps_sandbox::{
    Catalogue, Cleaning, Home, Sandbox, SandboxError, SandboxOptions, ServerBinary, ServerLoad,
    Settings, StartOptions, chosen_settings, clean, effective_variables, found_instead, list,
    taken_differently,
};
use truetps_testkit::private_postgres;

use crate::common::{home, is_gone, names_in};

const SOON: Duration = Duration::from_mins(1);

fn text(value: &str) -> SettingValue {
    SettingValue::Text(value.to_owned())
}

/// Small, so that tests are quick.
fn settings(binary: &ServerBinary) -> Settings {
    let load = ServerLoad { connections_max: 10, statements_per_connection: 1 };
    let mut settings = Settings::new(
        binary.family(),
        &chosen_settings(1 << 30, load, binary.flavour, binary.version),
    );
    settings.set("shared_buffers", text("32MB"));
    settings.set("max_wal_size", text("128MB"));
    settings.set("min_wal_size", text("80MB"));
    settings
}

fn options(binary: &ServerBinary) -> StartOptions {
    StartOptions::new(settings(binary))
}

fn sandbox(home: &Home, binary: &ServerBinary) -> Sandbox {
    let began = Instant::now();
    let sandbox =
        Sandbox::create(home, binary, &SandboxOptions::new(Settings::empty(binary.family())))
            .unwrap();
    println!("a data folder after {} ms", began.elapsed().as_millis());
    sandbox
}

/// Processes whose parent is this one.
fn children_of(pid: u32) -> Vec<u32> {
    let numbers = fs::read_dir("/proc").unwrap().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_child = |child: &u32| {
        let stat = fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1))
            == Some(pid.to_string().as_str())
    };
    numbers.filter(is_child).collect()
}

/// System V shared memory segments created by this process.
fn memory_of(pid: u32) -> usize {
    let all = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    all.lines()
        .filter(|line| line.split_whitespace().nth(4) == Some(pid.to_string().as_str()))
        .count()
}

fn count(client: &mut Client) -> u64 {
    client.query_value("SELECT count(*) FROM t").unwrap().unwrap().parse().unwrap()
}

#[test]
fn a_server_boots_and_goes_without_a_trace() {
    let Some(binary) = private_postgres("a_server_boots_and_goes_without_a_trace") else { return };
    let (_dir, home) = home();
    drop(sandbox(&home, &binary));
    let sandbox = sandbox(&home, &binary);
    let server = sandbox.start(&options(&binary)).unwrap();
    println!("{binary}: ready after {} ms", server.ready_after().as_millis());
    let mut client = server.connect(SOON).unwrap();
    assert_eq!(client.peer_pid(), Some(server.pid()));
    assert_eq!(taken_differently(&mut client, &settings(&binary)).unwrap(), []);
    let variables = effective_variables(&mut client).unwrap();
    assert_eq!(
        (variables["listen_addresses"].as_str(), variables["max_wal_size"].as_str()),
        ("", "128")
    );
    assert!(!variables.contains_key("archive_command"), "it may have a password in it");
    let folder = fs::metadata(server.socket().parent().unwrap()).unwrap();
    assert_eq!((folder.mode() & 0o777, folder.uid()), (0o700, home.user().uid));
    assert_eq!(fs::metadata(format!("/proc/{}", server.pid())).unwrap().uid(), home.user().uid);
    assert!(matches!(sandbox.start(&options(&binary)), Err(SandboxError::Running { .. })));
    assert!(list(&home).unwrap()[0].server_alive);
    assert_eq!(clean(&home).unwrap(), Cleaning::default(), "nothing that is in use is a leftover");

    let (pid, children) = (server.pid(), children_of(server.pid()));
    assert!(children.len() > 3 && memory_of(pid) == 1, "{children:?}");
    drop(server);
    assert!(is_gone(pid) && children.iter().all(|child| is_gone(*child)));
    sandbox.remove().unwrap();
    assert_eq!(memory_of(pid), 0, "the memory by which servers see each other");
    assert_eq!(names_in(&home.path().join("servers")), Vec::<String>::new());
}

#[test]
fn rows_outlive_kill_stop_and_copy() {
    let Some(binary) = private_postgres("rows_outlive_kill_stop_and_copy") else { return };
    let (_dir, home) = home();
    let sandbox = sandbox(&home, &binary);
    let server = sandbox.start(&options(&binary)).unwrap();
    let mut client = server.connect(SOON).unwrap();
    client.execute("CREATE TABLE t (id int PRIMARY KEY)").unwrap();
    client.execute("INSERT INTO t VALUES (1), (2)").unwrap();
    client.execute("ALTER SYSTEM SET work_mem = '8MB'").unwrap();
    // A busy session does not notice the end of its server.
    let socket = server.target("");
    let busy = std::thread::spawn(move || {
        let mut client = Client::connect(&socket, SOON).unwrap();
        client.execute("DO $$ BEGIN LOOP END LOOP; END $$").unwrap_err();
    });
    crate::common::wait_until("a session that computes", || {
        let sql =
            "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'DO%'";
        server.connect(SOON).unwrap().query_value(sql).unwrap().as_deref() == Some("1")
    });
    let children = children_of(server.pid());
    assert!(!server.kill().unwrap().clean);
    assert!(children.iter().all(|child| is_gone(*child)), "also the one that computed");
    busy.join().unwrap();

    let server = sandbox.start(&options(&binary)).unwrap();
    println!("recovered after {} ms", server.ready_after().as_millis());
    let mut client = server.connect(SOON).unwrap();
    assert_eq!(count(&mut client), 2, "after kill -9");
    assert_eq!(
        found_instead(&mut client, "work_mem", &text("4MB")).unwrap(),
        None,
        "each start has its own settings"
    );
    drop(client);
    assert_eq!(server.wear_in_wal().unwrap(), 80 << 20);
    assert!(server.stop(SOON).unwrap().clean);
    assert_eq!(sandbox.wear_in_redo().unwrap().files, 0);
    let files = || {
        names_in(&sandbox.datadir().join("pg_wal")).iter().filter(|name| name.len() == 24).count()
    };
    assert!(files() >= 5, "files for 80 MB are kept for what comes: {}", files());
    sandbox.keep_prepared().unwrap();
    sandbox.restore_prepared().unwrap();
    assert!(files() >= 5);

    let server = sandbox.start(&options(&binary)).unwrap();
    server.connect(SOON).unwrap().execute("DELETE FROM t").unwrap();
    server.kill().unwrap();
    sandbox.restore_prepared().unwrap();
    let server = sandbox.start(&options(&binary)).unwrap();
    assert_eq!(count(&mut server.connect(SOON).unwrap()), 2, "a fresh copy again");
}

#[test]
fn the_program_says_which_settings_there_are() {
    let Some(binary) = private_postgres("the_program_says_which_settings_there_are") else {
        return;
    };
    let (_dir, home) = home();
    let catalogue = Catalogue::ask(&binary, home.user()).unwrap();
    for (name, value) in [
        ("shared_buffers", text("1GB")),
        ("synchronous_commit", SettingValue::Bool(true)),
        ("synchronous_commit", text("remote_apply")),
        ("wal_writer_delay", text("10ms")),
        ("zero_damaged_pages", SettingValue::Bool(false)),
        ("data_checksums", SettingValue::Bool(true)),
        ("max_connections", SettingValue::Int(500)),
    ] {
        catalogue.check(name, &value).unwrap();
    }
    for (name, value, words) in [
        ("shared_bufers", text("1GB"), "did you mean `shared_buffers`"),
        ("innodb_buffer_pool_size", text("1GB"), "has no setting `innodb_buffer_pool_size`"),
        ("shared_buffers", text("1 GBit"), "invalid value for parameter"),
        (
            "synchronous_commit",
            text("sometimes"),
            "Available values: local, remote_write, remote_apply, on, off.",
        ),
        ("max_connections", SettingValue::Int(0), "outside the valid range"),
        ("archive_command", text("cp %p /x"), "load or run other code"),
        ("local_preload_libraries", text("x"), "load or run other code"),
        ("data_directory", text("/x"), "own folder"),
        ("block_size", SettingValue::Int(8192), "cannot be changed"),
        ("data_checksums", text("perhaps"), "initdb"),
    ] {
        let error = catalogue.check(name, &value).unwrap_err().to_string();
        assert!(error.contains(words), "{error}\nshould contain\n{words}");
    }
}

#[test]
fn what_a_data_folder_is_made_with_and_what_a_server_refuses() {
    let Some(binary) = private_postgres("what_a_data_folder_is_made_with") else { return };
    let (_dir, home) = home();
    let mut with = settings(&binary);
    with.set("data_checksums", SettingValue::Bool(true));
    with.set("wal_segment_size", text("32MB"));
    let sandbox = Sandbox::create(
        &home,
        &binary,
        &SandboxOptions { settings: with.clone(), data_bytes: 0, disk: None },
    )
    .unwrap();
    let server = sandbox.start(&StartOptions::new(with)).unwrap();
    let variables = effective_variables(&mut server.connect(SOON).unwrap()).unwrap();
    assert_eq!(
        (variables["data_checksums"].as_str(), variables["wal_segment_size"].as_str()),
        ("on", "33554432")
    );
    drop(server);
    assert!(
        matches!(sandbox.start(&options(&binary)), Err(SandboxError::Content { .. })),
        "made with other settings"
    );

    let sandbox = self::sandbox(&home, &binary);
    let mut wrong = settings(&binary);
    wrong.set("shared_preload_libraries", text("nosuch"));
    let error = sandbox.start(&StartOptions::new(wrong)).unwrap_err();
    assert!(matches!(&error, SandboxError::Start { log, .. } if log.contains("nosuch")), "{error}");
    // A started server that refuses each login is not waited for.
    let mut refusing = settings(&binary);
    refusing.set("local_preload_libraries", text("nosuch"));
    let began = std::time::Instant::now();
    let error = sandbox.start(&StartOptions::new(refusing)).unwrap_err();
    assert!(
        matches!(&error, SandboxError::NotReady { last, .. } if last.contains("nosuch")),
        "{error}"
    );
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    // Users can start a server with the generated file, too.
    let server = sandbox.start(&options(&binary)).unwrap();
    let (name, file) = server.option_file();
    assert!(name == "postgresql.conf" && file.contains("shared_buffers = '32MB'"), "{file}");
    assert!(
        Path::new(&server.error_log_path()).exists()
            && server.error_log_tail(9).contains("ready to accept")
    );
}
