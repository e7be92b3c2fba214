//! One private server boots, is the one that answers, keeps its data through stop, kill and copy,
//! and is removed.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use truetps_record::SettingValue;
use truetps_sandbox::{
    Sandbox, SandboxError, SandboxOptions, ServerVersion, effective_variables, list, mismatches,
};

use crate::common::{home, is_gone, names_in, sandbox, server, settings, start_options};

const SOON: Duration = Duration::from_mins(1);

#[test]
fn a_server_boots_and_goes_without_a_trace() {
    let Some(binary) = server("a_server_boots_and_goes_without_a_trace") else { return };
    let (_dir, home) = home();
    let sandbox = sandbox(&home, &binary);
    let server = sandbox.start(&start_options(&binary)).unwrap();
    let mut client = server.connect(SOON).unwrap();
    assert_eq!(client.peer_pid(), Some(server.pid()));
    let variables = effective_variables(&mut client).unwrap();
    assert_eq!(mismatches(&settings(&binary), &variables), []);
    assert_eq!(
        (variables["skip_networking"].as_str(), variables["performance_schema"].as_str()),
        ("ON", "OFF")
    );
    let folder = fs::metadata(server.socket().parent().unwrap()).unwrap();
    assert_eq!((folder.mode() & 0o777, folder.uid()), (0o700, home.user().uid));
    let process = fs::metadata(format!("/proc/{}", server.pid())).unwrap();
    assert_eq!(process.uid(), home.user().uid, "the server's own user");

    let pid = server.pid();
    drop(server);
    assert!(is_gone(pid));
    sandbox.remove().unwrap();
    assert_eq!(names_in(&home.path().join("servers")), Vec::<String>::new());
}

#[test]
fn a_fresh_data_folder_has_one_owner_and_no_test_database() {
    let Some(binary) = server("a_fresh_data_folder_has_one_owner_and_no_test_database") else {
        return;
    };
    let (_dir, home) = home();
    let sandbox = sandbox(&home, &binary);
    let server = sandbox.start(&start_options(&binary)).unwrap();
    let mut client = server.connect(SOON).unwrap();
    let text = |rows: Vec<Vec<Option<String>>>| -> Vec<String> {
        rows.into_iter()
            .map(|row| row.into_iter().flatten().collect::<Vec<_>>().join("@"))
            .collect()
    };
    let users = text(client.query("SELECT user, host FROM mysql.user").unwrap().rows);
    let own = |user: &String| user.starts_with("mysql.") || user.starts_with("mariadb.sys@");
    assert_eq!(users.iter().filter(|user| !own(user)).collect::<Vec<_>>(), ["root@localhost"]);
    let databases = text(client.query("SHOW DATABASES").unwrap().rows);
    assert!(!databases.contains(&"test".to_owned()), "{databases:?}");
}

#[test]
fn rows_outlive_stop_kill_wear_and_copy() {
    let Some(binary) = server("rows_outlive_stop_kill_wear_and_copy") else { return };
    let (_dir, home) = home();
    let sandbox = sandbox(&home, &binary);
    let options = start_options(&binary);
    let run = |sql: &str| {
        let server = sandbox.start(&options).unwrap();
        let answer = server.connect(SOON).unwrap().query_value(sql).unwrap();
        (server, answer)
    };
    let (server, _) = run("CREATE DATABASE t");
    let mut client = server.connect(SOON).unwrap();
    client.execute("CREATE TABLE t.t (id INT PRIMARY KEY) ENGINE=InnoDB").unwrap();
    client.execute("INSERT INTO t.t VALUES (1), (2)").unwrap();
    assert!(matches!(sandbox.start(&options), Err(SandboxError::Running { .. })));
    assert!(matches!(sandbox.wear_in_redo(), Err(SandboxError::Running { .. })));
    assert!(!server.kill().unwrap().clean);

    let (server, rows) = run("SELECT COUNT(*) FROM t.t");
    assert_eq!(rows.as_deref(), Some("2"), "after kill -9");
    assert!(server.stop(SOON).unwrap().clean);

    let worn = sandbox.wear_in_redo().unwrap();
    sandbox.keep_prepared().unwrap();
    assert!(sandbox.restore_prepared().unwrap() > worn.bytes);

    let (server, _) = run("DELETE FROM t.t");
    let lapped = server.lap_redo().unwrap();
    assert!(worn.bytes.max(lapped) >= 16 << 20, "{worn:?}, {lapped} bytes by the server");
    assert_redo_is_written(&sandbox.datadir());
    server.kill().unwrap();
    sandbox.restore_prepared().unwrap();
    let (_server, rows) = run("SELECT COUNT(*) FROM t.t");
    assert_eq!(rows.as_deref(), Some("2"), "a fresh copy again");
}

/// Checks with file system tools whether a block of the redo log would cost more at its first
/// write, if the tools are installed and support it.
fn assert_redo_is_written(datadir: &Path) {
    let files = |folder: &Path, prefix: &str| -> Vec<_> {
        let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
        let paths = entries.map(|entry| entry.unwrap().path());
        paths
            .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(prefix))
            .collect()
    };
    let mut redo = files(datadir, "ib_logfile");
    redo.extend(files(&datadir.join("#innodb_redo"), "#ib_redo"));
    assert!(!redo.is_empty());
    for path in redo {
        #[allow(clippy::disallowed_methods, reason = "a tool of the test")]
        let output = std::process::Command::new("filefrag").arg("-v").arg(path).output();
        let Ok(output) = output else { return };
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(!text.contains("unwritten"), "{text}");
    }
}

#[test]
fn the_option_file_says_the_same_to_a_server_by_hand() {
    let Some(binary) = server("the_option_file_says_the_same_to_a_server_by_hand") else { return };
    let (dir, home) = home();
    let sandbox = sandbox(&home, &binary);
    let server = sandbox.start(&start_options(&binary)).unwrap();
    let path = dir.path().join("my.cnf");
    fs::write(&path, server.option_file().1).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    #[allow(clippy::disallowed_methods, reason = "what a user would type")]
    let mut command = std::process::Command::new(&binary.path);
    command.arg(format!("--defaults-file={}", path.display())).args(["--verbose", "--help"]);
    if home.user().switch {
        // MySQL 5.5 prints nothing to root.
        command.arg(format!("--user={}", home.user().name));
    }
    let output = command.output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    let value = |name: &str| {
        let mut table = text.lines().skip_while(|line| !line.starts_with("-----"));
        let line = table.find(|line| line.split_ascii_whitespace().next() == Some(name)).unwrap();
        line[name.len()..].trim().trim_end_matches('/').to_owned()
    };
    assert_eq!(value("datadir"), sandbox.datadir().to_string_lossy());
    assert_eq!(value("socket"), sandbox.socket().to_string_lossy());
    assert_eq!(value("innodb-buffer-pool-size"), (64 << 20).to_string());
}

#[test]
fn a_server_that_refuses_to_start_shows_its_last_words() {
    let Some(binary) = server("a_server_that_refuses_to_start_shows_its_last_words") else {
        return;
    };
    let (_dir, home) = home();
    let sandbox = sandbox(&home, &binary);
    let mut options = start_options(&binary);
    options.settings.set("default_storage_engine", SettingValue::Text("nonsense".to_owned()));
    let error = sandbox.start(&options).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, SandboxError::Start { .. }) && text.contains("nonsense"), "{text}");
    assert!(text.lines().count() < 20, "{text}");
    // The folder is unchanged.
    sandbox.start(&start_options(&binary)).unwrap();
}

#[test]
fn initial_settings_get_a_template_of_their_own() {
    let Some(binary) = server("initial_settings_get_a_template_of_their_own") else { return };
    if !binary.is_mariadb() && binary.version < ServerVersion::new(5, 6, 0) {
        println!("MySQL 5.5 has pages of one size only");
        return;
    }
    let (_dir, home) = home();
    let mut options = start_options(&binary);
    options.settings.set("innodb_page_size", SettingValue::Text("8K".to_owned()));
    let plain = sandbox(&home, &binary);
    let refused = plain.start(&options).unwrap_err().to_string();
    assert!(refused.contains("another `innodb_page_size`"), "{refused}");
    let sandbox_options =
        SandboxOptions { settings: options.settings.clone(), data_bytes: 0, disk: None };
    let small_pages = Sandbox::create(&home, &binary, &sandbox_options).unwrap();
    let server = small_pages.start(&options).unwrap();
    let page = server.connect(SOON).unwrap().query_value("SELECT @@innodb_page_size").unwrap();
    assert_eq!(page.as_deref(), Some("8192"));
}

#[test]
fn a_damaged_template_is_made_again() {
    let Some(binary) = server("a_damaged_template_is_made_again") else { return };
    let (_dir, home) = home();
    drop(sandbox(&home, &binary));
    let templates = home.path().join("templates");
    let key = names_in(&templates).into_iter().find(|name| templates.join(name).is_dir()).unwrap();
    let file = templates.join(&key).join("data/ibdata1");
    let whole = fs::metadata(&file).unwrap().len();
    fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(4096).unwrap();
    // And a template left unfinished by a killed run.
    fs::create_dir_all(templates.join(format!("{key}.building/data"))).unwrap();
    let sandbox = sandbox(&home, &binary);
    sandbox.start(&start_options(&binary)).unwrap();
    assert_eq!(fs::metadata(&file).unwrap().len(), whole);
    assert_eq!(names_in(&templates), [key.clone(), format!("{key}.lock")]);
}

#[test]
fn a_long_path_still_gets_a_socket() {
    let Some(binary) = server("a_long_path_still_gets_a_socket") else { return };
    let dir = crate::common::passable_dir();
    let home =
        truetps_sandbox::Home::open(Some(&dir.path().join("long").join("x".repeat(120)))).unwrap();
    let sandbox = sandbox(&home, &binary);
    let server = sandbox.start(&start_options(&binary)).unwrap();
    let socket_dir = server.socket().parent().unwrap().to_owned();
    assert!(server.socket().as_os_str().len() <= 107 && !socket_dir.starts_with(home.path()));
    assert_eq!(fs::metadata(&socket_dir).unwrap().mode() & 0o777, 0o700);
    assert_eq!(list(&home).unwrap().len(), 1);
    drop(server);
    drop(sandbox);
    assert!(!socket_dir.exists());
}

#[test]
fn a_datadir_in_use_by_another_server_is_not_touched() {
    let Some(binary) = server("a_datadir_in_use_by_another_server_is_not_touched") else { return };
    let (_dir, home) = home();
    let sandbox = sandbox(&home, &binary);
    let datadir = format!("--datadir={}", sandbox.datadir().display());
    #[allow(clippy::disallowed_methods, reason = "stands in for an external server")]
    let mut command = std::process::Command::new("sh");
    let mut other = crate::common::Killed(
        command.args(["-c", "read line; :", "sh", &datadir]).stdin(Stdio::piped()).spawn().unwrap(),
    );
    crate::common::wait_until("it runs", || someone_has_argument(&datadir));
    let error = sandbox.start(&start_options(&binary)).unwrap_err();
    assert!(matches!(error, SandboxError::Held { pid, .. } if pid == other.0.id()), "{error}");
    assert!(error.hint().unwrap().contains(&other.0.id().to_string()));
    assert!(other.0.try_wait().unwrap().is_none(), "it was killed");
    drop(other);
    sandbox.start(&start_options(&binary)).unwrap();
}

fn someone_has_argument(argument: &str) -> bool {
    let processes =
        fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path().join("cmdline"));
    processes
        .filter_map(|path| fs::read(path).ok())
        .any(|text| text.split(|byte| *byte == 0).any(|word| word == argument.as_bytes()))
}

#[test]
fn a_wrapper_that_does_not_exec_is_found_out() {
    let Some(binary) = server("a_wrapper_that_does_not_exec_is_found_out") else { return };
    let (dir, home) = home();
    let wrapper = dir.path().join("wrapper");
    fs::write(&wrapper, format!("#!/bin/sh\n'{}' \"$@\"\nexit 0\n", binary.path.display()))
        .unwrap();
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
    let wrapped = truetps_sandbox::ServerBinary { path: wrapper, ..binary.clone() };
    let sandbox = sandbox(&home, &wrapped);
    let error = sandbox.start(&start_options(&binary)).unwrap_err();
    let SandboxError::OtherServer { found, .. } = error else { panic!("{error}") };
    assert!(error.hint().unwrap().contains("exec"));
    crate::common::wait_until("the wrapped server ends", || is_gone(found.unwrap()));

    // It ends when the background process has become the server, and is no longer `sh` or `setsid`.
    let becomes = "while case \"$(cat /proc/$!/comm)\" in wrapper|sh|setsid) ;; *) false;; esac; \
                   do sleep 0.05; done";
    let script =
        format!("#!/bin/sh\nsetsid '{}' \"$@\" &\n{becomes}\nsleep 0.2\n", binary.path.display());
    fs::write(&wrapped.path, script).unwrap();
    let error = sandbox.start(&start_options(&binary)).unwrap_err();
    let datadir = format!("--datadir={}", sandbox.datadir().display());
    assert!(!matches!(error, SandboxError::Io { .. }), "{error}");
    crate::common::wait_until("the server in the background ends", || {
        !someone_has_argument(&datadir)
    });
}
