//! Servers that the user gives names to: real ones, from their archive to their removal.

use std::fs::{self, File};
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;
use truetps_sandbox::{ServerUser, find};
use truetps_testkit::mysql_family::{FetchedServer, fetched_server};

use crate::common::{
    Ends, Place, Ran, SMALL_REDO, has_server, signal, wait_until, with_small_redo,
};

impl Place {
    fn value(&self, name: &str, sql: &str) -> String {
        let answer = self.good(&["server", "sql", name, sql]).stdout;
        answer.lines().last().unwrap_or_default().to_owned()
    }

    fn pid(&self, name: &str) -> u32 {
        let status = self.good(&["server", "status", name]).stdout;
        let line = status.lines().find_map(|line| line.strip_prefix("pid")).unwrap();
        line.trim().parse().unwrap()
    }
}

/// MySQL 5.7, else 8.0: trees of some ten files, which are packed in a moment.
fn mysql(test: &str) -> Option<FetchedServer> {
    fetched_server(test, "mysql-5.7").or_else(|| fetched_server(test, "mysql-8.0"))
}

fn packed(place: &Place, server: &FetchedServer) -> PathBuf {
    let path = place.path().join("a server.tar");
    let mut builder = tar::Builder::new(File::create(&path).unwrap());
    builder.follow_symlinks(false);
    for name in ["bin", "share", "lib"] {
        let folder = server.basedir.join(name);
        if folder.is_dir() {
            builder.append_dir_all(Path::new("mysql-server").join(name), folder).unwrap();
        }
    }
    builder.into_inner().unwrap();
    path
}

/// Kills a command when it is at work: what it has begun is listed, and cleaned.
fn left_by_a_kill(place: &Place, args: &[&str], is_begun: impl Fn() -> bool) {
    let mut child = place.start(args);
    wait_until("what is half made", &is_begun);
    // It makes no progress while it is stopped.
    signal(child.id(), Signal::STOP);
    // While the process that made it lives, it is in use.
    assert!(!place.good(&["server", "list"]).stdout.contains("half made"));
    assert!(place.good(&["server", "clean"]).stderr.contains("nothing to clean") && is_begun());
    child.kill().unwrap();
    child.wait().unwrap();
    let listed = place.good(&["server", "list"]);
    assert!(
        listed.stdout.contains("left behind, half made") && listed.stderr.contains("server clean"),
        "{listed:?}"
    );
    assert!(place.good(&["server", "clean"]).stdout.contains("removed "));
    assert!(!is_begun());
}

/// It ends also where an assertion fails.
struct ByHand(Child);

impl Drop for ByHand {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server on the data of `maria`, which was started by hand: it is reported, and never signalled.
fn a_server_started_by_hand_is_left_alone(place: &Place) {
    let user = ServerUser::choose();
    let folder = place.home().join("named/maria").canonicalize().unwrap();
    let program = find(None, None, &user).unwrap().path;
    #[expect(clippy::disallowed_methods, reason = "not by truetps")]
    let mut command = Command::new(program);
    command.args(["--no-defaults", "--skip-networking"]);
    for (option, name) in
        [("datadir", "data"), ("socket", "tmp/hand"), ("pid-file", "tmp/pid"), ("tmpdir", "tmp")]
    {
        command.arg(format!("--{option}={}", folder.join(name).display()));
    }
    if user.switch {
        command.uid(user.uid).gid(user.gid);
    }
    let child =
        command.stdout(Stdio::null()).stderr(Stdio::null()).current_dir(&folder).spawn().unwrap();
    let mut hand = ByHand(child);
    let held = format!("process {}", hand.0.id());
    wait_until("a server by hand", || {
        folder.join("tmp/hand").exists() || hand.0.try_wait().unwrap().is_some()
    });
    let status = place.run(&["server", "status", "maria"]);
    assert!(status.code == Some(1) && status.stdout.contains(&held), "{}", status.stdout);
    assert!(
        status.stdout.contains("maria was stopped") && !status.stdout.contains("dsn"),
        "{}",
        status.stdout
    );
    for words in [
        &["stop"][..],
        &["stop", "--kill"],
        &["start"],
        &["sql"],
        &["remove"],
        &["remove", "--force"],
    ] {
        let mut args = vec!["server", words[0], "maria"];
        args.extend(&words[1..]);
        args.extend((words[0] == "sql").then_some("SELECT 1"));
        place.refused(&args, &[&held, "holds the datadir", "stop it as its owner does"]);
    }
    assert!(hand.0.try_wait().unwrap().is_none(), "it was signalled");
    signal(hand.0.id(), Signal::TERM);
    hand.0.wait().unwrap();
}

/// A password that is meant for another server is not sent to it; a file of its name goes first.
fn compared_by_its_name(place: &Place, started: &str) {
    assert!(started.contains("'mysql://root@?socket="), "{started}");
    place.good(&["server", "capture", "maria", "-o", "one.json"]);
    let mut command = place.command(&["diff", "one.json", "maria"]);
    let ran = command.env("TRUETPS_PASSWORD", "of another one").output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    assert!(
        String::from_utf8_lossy(&ran.stdout).contains("nothing that could matter differs"),
        "{ran:?}"
    );
    place.good(&["diff", "maria", "maria"]);
    fs::write(place.path().join("maria"), "{").unwrap();
    place.refused(&["diff", "one.json", "maria"], &["maria: "]);
    fs::remove_file(place.path().join("maria")).unwrap();
}

#[test]
fn the_life_of_a_named_server() {
    if !has_server() {
        return;
    }
    let place = Place::new();
    let _ends = Ends(&place);
    it_is_added_and_wrong_words_are_named(&place);
    it_is_started_and_kept(&place);
    it_ends_in_each_way_and_keeps_its_data(&place);
    place.good(&["server", "remove", "maria"]);
    assert!(place.servers().is_empty() && place.leftovers().is_empty(), "{:?}", place.leftovers());
}

fn it_is_added_and_wrong_words_are_named(place: &Place) {
    place.good(&["server", "add", "maria"]);
    place.refused(&["server", "add", "maria"], &["a server `maria` already exists", "--replace"]);
    place.good(&["server", "add", "maria", "--replace"]);
    place.refused(&["server", "start", "mariia"], &["no server `mariia`", "did you mean `maria`?"]);
    place.refused(&["server", "add", "No Name"], &["cannot be a server's name"]);
    // The head of a program for s390, big-endian.
    fs::create_dir_all(place.path().join("other/bin")).unwrap();
    let head = [b"\x7fELF\x02\x02\x01".as_slice(), &[0; 11], &[0, 22], &[0; 44]].concat();
    fs::write(place.path().join("other/bin/mysqld"), head).unwrap();
    place.refused(&["server", "add", "other", "other"], &["another processor architecture"]);
    assert_eq!(place.run(&["server", "status", "maria"]).code, Some(1));
    place.refused(&["server", "sql", "maria", "SELECT 1"], &["it was never started"]);
    for args in [&["server", "capture", "maria"][..], &["diff", "maria", "maria"]] {
        place.refused(args, &["it was never started", "truetps server start maria"]);
    }
    place.refused(
        &["server", "start", "maria", "--set", "innodb_flush_log_at_trx_comit=2"],
        &["did you mean `innodb_flush_log_at_trx_commit`"],
    );
    place.refused(
        &["server", "start", "maria", "--set", "innodb_flush_log_at_trx_commit=9"],
        &["unsigned value 9"],
    );
    assert!(place.servers().is_empty());
    let templates = || fs::read_dir(place.home().join("templates")).unwrap().flatten();
    let is_begun =
        || templates().any(|entry| entry.file_name().to_string_lossy().ends_with(".building"));
    left_by_a_kill(place, &["server", "start", "maria"], is_begun);
}

fn it_is_started_and_kept(place: &Place) {
    let started =
        place.good(&["server", "start", "maria", "--set", "innodb_flush_log_at_trx_commit=2"]);
    compared_by_its_name(place, &started.stdout);
    assert!(started.stderr.contains("Next   truetps server sql maria"), "{}", started.stderr);
    assert_eq!(place.value("maria", "SELECT @@innodb_flush_log_at_trx_commit"), "2");
    place.good(&[
        "server",
        "sql",
        "maria",
        "CREATE DATABASE x; CREATE TABLE x.t (a INT)",
        "INSERT x.t VALUES (7)",
    ]);
    place.refused(
        &["server", "start", "maria"],
        &["server `maria` runs (pid", "truetps server stop maria"],
    );
    place.refused(&["server", "remove", "maria"], &["runs (pid"]);
    // The process that started it may have been killed before it recorded the server.
    let pid = place.pid("maria");
    let note = place.home().join("named/maria/instance.json");
    let mut cut: serde_json::Value = serde_json::from_slice(&fs::read(&note).unwrap()).unwrap();
    cut["process"] = serde_json::Value::Null;
    fs::write(&note, cut.to_string()).unwrap();
    assert_eq!(place.pid("maria"), pid);
    place.refused(&["server", "start", "maria"], &["server `maria` runs (pid"]);
    place.good(&["server", "stop", "maria"]);
    place.good(&["server", "start", "maria"]);
    // Clients of it write no files elsewhere: a plugin would be one.
    assert!(place.value("maria", "SELECT @@secure_file_priv").ends_with("named/maria/tmp/"));
    place.good(&["server", "clean"]);
    assert!(place.good(&["server", "list"]).stdout.contains("maria  runs, pid"));
}

fn it_ends_in_each_way_and_keeps_its_data(place: &Place) {
    signal(place.pid("maria"), Signal::KILL);
    wait_until("the end of a killed server", || place.servers().is_empty());
    let status = place.run(&["server", "status", "maria"]);
    assert!(status.code == Some(1) && status.stdout.contains("died"), "{}", status.stdout);
    place.good(&["server", "start", "maria"]);
    assert_eq!(place.value("maria", "SELECT a FROM x.t"), "7");
    let stopped = place.good(&["server", "stop", "maria"]);
    assert!(stopped.stdout.contains("stopped cleanly"), "{}", stopped.stdout);
    assert!(
        place.good(&["server", "log", "maria", "-n", "5"]).stdout.contains("Shutdown complete")
    );
    place.refused(&["server", "stop", "maria"], &["it was stopped"]);
    a_server_started_by_hand_is_left_alone(place);
    place.good(&["server", "start", "maria"]);
    assert_eq!(place.value("maria", "SELECT a FROM x.t"), "7");
    // It ends well, but its end was not recorded: as after a Ctrl-C in `stop`.
    signal(place.pid("maria"), Signal::TERM);
    wait_until("the end of a server", || place.servers().is_empty());
    let status = place.run(&["server", "status", "maria"]).stdout;
    assert!(status.contains("maria shut down cleanly"), "{status}");
    place.refused(&["server", "stop", "maria"], &["it has ended"]);
    place.good(&["server", "start", "maria"]);
    place.good(&["server", "stop", "maria", "--kill"]);
    assert!(place.run(&["server", "status", "maria"]).stdout.contains("killed by `stop`"));
}

fn no_statement_outlives_who_waits_for_it(place: &Place) {
    const SLEEPS: &str =
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT SLEEP%'";
    let late = place.run(&["server", "sql", "maria", "SELECT SLEEP(100)", "--wait", "1"]);
    let message = "not answered the statement within 1 s (--wait): it was ended there";
    assert!(late.code == Some(4) && late.stderr.contains(message), "{}", late.stderr);
    let ended = || place.value("maria", SLEEPS) == "0";
    wait_until("the end of a statement that was late", ended);
    let child = place.start(&["server", "sql", "maria", "SELECT SLEEP(100)", "SELECT 'never'"]);
    wait_until("a statement", || !ended());
    signal(child.id(), Signal::INT);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert!(ran.code == Some(130) && !ran.stdout.contains("never"), "{}{}", ran.stdout, ran.stderr);
    // A server may call the sleep over, and not failed: then the next statement is not sent.
    let messages = ["interrupted in statement 1 of 2", "interrupted before statement 2 of 2"];
    assert!(messages.iter().any(|words| ran.stderr.contains(words)), "{}", ran.stderr);
    wait_until("the end of a statement that was interrupted", ended);
    // It ends while the server is stopped: one that answers nothing is not waited for longer than
    // was asked, not even for its greeting.
    let pid = place.pid("maria");
    signal(pid, Signal::STOP);
    let late = place.run(&["server", "sql", "maria", "SELECT 1", "--wait", "1"]);
    signal(pid, Signal::CONT);
    assert!(
        late.code == Some(4) && late.stderr.contains("the login within 1 s (--wait)"),
        "{}",
        late.stderr
    );
}

#[test]
fn a_port_and_statements_from_stdin() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    let _ends = Ends(&place);
    place.good(&["server", "add", "maria"]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = listener.local_addr().unwrap().port().to_string();
    place.refused(
        &["server", "start", "maria", "--port", &taken],
        &[&format!("port {taken} cannot be used")],
    );
    drop(listener);
    let (port, _) = place.start_on_a_port("maria");
    assert_eq!(place.value("maria", "SELECT @@port, @@bind_address"), format!("{port}\t127.0.0.1"));
    // Its owner has no password, and can log in through the socket only.
    let by_port = |account: &str| {
        place.run(&["server", "capture", &format!("mysql://{account}@127.0.0.1:{port}")])
    };
    assert_eq!(by_port("root").code, Some(2));
    place.good(&["server", "sql", "maria", "CREATE USER app@'127.0.0.1' IDENTIFIED BY 'word'"]);
    assert_eq!((by_port("app").code, by_port("app:word").code), (Some(2), Some(0)));
    let mut command = place.command(&["server", "sql", "maria"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"SELECT ';' AS a; -- none\nSELECT NULL").unwrap();
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "a\n;\nNULL\n\\N\n"), "{}", ran.stderr);
    let wrong = place.run(&["server", "sql", "maria", "SELEC"]);
    assert!(wrong.code == Some(4) && wrong.stderr.contains("1064"), "{}", wrong.stderr);
    let routine = "CREATE PROCEDURE d.p() BEGIN SELECT 1 AS a; SET @b = 2; END";
    let text = format!("CREATE DATABASE d;\nDELIMITER //\n{routine} //\nDELIMITER ;\nCALL d.p();");
    assert_eq!(place.good(&["server", "sql", "maria", &text]).stdout, "a\n1\n");
    let cut = place.run(&["server", "sql", "maria", routine]);
    assert!(
        cut.code == Some(4) && cut.stderr.contains("put a line `DELIMITER //`"),
        "{}",
        cut.stderr
    );
    let several = place.run(&["server", "sql", "maria", "SELECT 1;\n\nSELEC 2;\nSELECT 3"]);
    assert!(several.stderr.contains("statement 2 of 3 (line 3), `SELEC 2`"), "{}", several.stderr);
    assert_eq!(place.value("maria", "SELECT x'00FF80', 'a'"), "0x00FF80\ta");
    no_statement_outlives_who_waits_for_it(&place);
    the_log_moves_no_cursor(&place);
    place.good(&["server", "remove", "maria", "--force"]);
    assert!(place.servers().is_empty() && place.leftovers().is_empty());
}

/// Names of failed logins are texts of others.
fn the_log_moves_no_cursor(place: &Place) {
    assert_eq!(place.good(&["server", "log", "maria", "-n", "0"]).stderr, "");
    let mut log =
        File::options().append(true).open(place.home().join("named/maria/error.log")).unwrap();
    log.write_all(b"Access denied for user '\x1b[2J'\n").unwrap();
    let shown = place.good(&["server", "log", "maria", "-n", "9"]).stdout;
    assert!(shown.contains("user ' [2J'") && !shown.contains('\u{1b}'), "{shown:?}");
}

fn with_closed_umask(place: &Place, args: &[&str]) {
    let script = ["-c", "umask 077; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_truetps")];
    let ran: Ran =
        place.program(Path::new("/bin/sh"), &[&script, args].concat()).output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{args:?}\n{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_server_from_its_archive() {
    let Some(server) = mysql("a_server_from_its_archive") else { return };
    let place = Place::with_templates();
    let _ends = Ends(&place);
    let archive = packed(&place, &server);
    let whole = fs::read(&archive).unwrap();
    let cut = place.path().join("cut.tar");
    fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    place.refused(&["server", "add", "old", cut.to_str().unwrap()], &["cut.tar: it is truncated"]);
    let text = place.write("text.tar.gz", "no archive");
    let mut hangs = tar::Builder::new(File::create(place.path().join("hangs.tar")).unwrap());
    let script = b"#!/bin/sh\nexec sleep 60\n";
    let mut header = tar::Header::new_gnu();
    header.set_size(script.len() as u64);
    header.set_mode(0o755);
    hangs.append_data(&mut header, "bin/mysqld", script.as_slice()).unwrap();
    hangs.into_inner().unwrap();
    place.refused(&["server", "add", "old", text.to_str().unwrap()], &["text.tar.gz"]);
    place.refused(
        &["server", "add", "old", "no-such.tar"],
        &["there is no file or folder no-such.tar"],
    );
    assert!(place.leftovers().is_empty(), "{:?}", place.leftovers());
    left_by_a_kill(&place, &["server", "add", "old", "hangs.tar"], || {
        place.home().join("named/.old.adding/tree/bin/mysqld").exists()
    });
    assert!(place.leftovers().is_empty(), "{:?}", place.leftovers());

    // As root: the server's user must get through all that is made, whatever root's umask is.
    with_closed_umask(&place, &["server", "add", "old", archive.to_str().unwrap()]);
    place.good(&["server", "add", "tree", server.basedir.to_str().unwrap()]);
    // The tree is a copy: the archive is not needed any more.
    fs::remove_file(&archive).unwrap();
    // MySQL 5.7 writes a binlog only where it has a number.
    with_closed_umask(&place, &["server", "start", "old", "--set", "log_bin=ON"]);
    assert_eq!(place.value("old", "SELECT @@log_bin"), "1");
    place.good(&["server", "start", "tree"]);
    let version = server.binary.version.to_string();
    assert!(place.value("old", "SELECT VERSION()").starts_with(&version));
    assert_ne!(place.pid("old"), place.pid("tree"));
    place.good(&["server", "stop", "old"]);
    place.good(&["server", "start", "old"]);
    place.good(&["server", "remove", "old", "--force"]);
    // A file that cannot be read hides no other server, and is no reason to keep this one.
    fs::write(place.home().join("named/tree/server.json"), "{").unwrap();
    let listed = place.good(&["server", "list"]).stdout;
    assert!(listed.contains("tree  BROKEN: ") && listed.contains("server.json"), "{listed}");
    place.refused(
        &["server", "remove", "tree"],
        &["server.json", "truetps server remove tree --force"],
    );
    place.good(&["server", "remove", "tree", "--force"]);
    assert!(place.leftovers().is_empty(), "{:?}", place.leftovers());
    assert!(server.binary.path.is_file(), "a folder of the user's stays");
    assert!(place.servers().is_empty());
}

/// The installed server behind a script of this text; `$real` is its program.
fn behind_a_script(place: &Place, name: &str, text: &str) -> bool {
    let Ok(binary) = find(None, None, &ServerUser::choose()) else { return false };
    let tree = place.path().join(name);
    fs::create_dir_all(tree.join("bin")).unwrap();
    fs::create_dir_all(tree.join("share")).unwrap();
    symlink(&binary.share_dir, tree.join("share/mysql")).unwrap();
    let script = tree.join("bin/mysqld");
    fs::write(&script, format!("#!/bin/sh\nreal='{}'\n{text}\n", binary.path.display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    place.good(&["server", "add", name, tree.to_str().unwrap()]);
    true
}

#[test]
fn a_start_that_fails_leaves_no_process() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    let _ends = Ends(&place);
    // It does not become the server: the server is a child of it.
    behind_a_script(&place, "parent", "\"$real\" \"$@\"\nexit $?");
    let ran = place.run(&["server", "start", "parent"]);
    assert!(
        ran.code == Some(4) && ran.stderr.contains("not the server that was started"),
        "{}",
        ran.stderr
    );
    wait_until("the end of what a script has started", || place.servers().is_empty());
    assert!(place.run(&["server", "status", "parent"]).stdout.contains("last start failed"));

    // It never answers: Ctrl-C ends it, and so does another command. It starts no process, which
    // would look like it.
    let never = "case \"$*\" in *--socket=*) kill -STOP $$;; esac\nexec \"$real\" \"$@\"";
    behind_a_script(&place, "never", never);
    for (end, code) in [
        (None, 130),
        (Some(["stop", "never", "--kill"]), 4),
        (Some(["remove", "never", "--force"]), 4),
    ] {
        let child = place.start(&["server", "start", "never"]);
        wait_until("a process", || {
            place.good(&["server", "list"]).stdout.contains("never  runs, pid")
        });
        match end {
            None => signal(child.id(), Signal::INT),
            Some(words) => drop(place.good(&[&["server"][..], &words].concat())),
        }
        let ran: Ran = child.wait_with_output().unwrap().into();
        assert_eq!(ran.code, Some(code), "{}", ran.stderr);
        assert!(place.servers().is_empty());
    }
    let left = place.leftovers();
    assert!(!left.iter().any(|name| name.contains("never")), "a lock without an owner: {left:?}");
    place.good(&["server", "add", "never", place.path().join("never").to_str().unwrap()]);
    // A started server is found also if truetps was killed before it recorded the server.
    let mut child = place.start(&["server", "start", "never"]);
    wait_until("a process", || place.good(&["server", "list"]).stdout.contains("never  runs, pid"));
    child.kill().unwrap();
    child.wait().unwrap();
    place.good(&["server", "remove", "never", "--force"]);
    assert!(place.servers().is_empty());
}

const TWO: &str = r#"
name = "two"
about = "a test of two servers"
[workload]
name = "insert"
table_rows = 200
[load]
warm_up_s = 0.1
measure_s = 0.5
[factors]
server = ["maria", "old"]
innodb_flush_log_at_trx_commit = [1, 2]
connections = [2]
[design]
blocks = 1
aa_pair = false
"#;

#[test]
fn the_server_is_a_factor() {
    let Some(server) = mysql("the_server_is_a_factor").filter(|_| has_server()) else { return };
    let place = Place::with_templates();
    let _ends = Ends(&place);
    place.write("two.toml", &with_small_redo(TWO));
    place.refused(&["plan", "check", "two.toml"], &["there is no server `maria`", "server add"]);
    place.good(&["server", "add", "maria"]);
    place.good(&["server", "add", "old", server.basedir.to_str().unwrap()]);
    let checked = place.good(&["plan", "check", "two.toml"]).stdout;
    assert!(checked.contains("asked maria: ") && checked.contains("asked old: "), "{checked}");
    let wrong =
        TWO.replace("[workload]", "[server.settings]\nbinlog_commit_wait_usec = 1\n[workload]");
    place.write("wrong.toml", &wrong);
    let expect = [
        "server `old`: mysql",
        "no setting `binlog_commit_wait_usec`",
        "`binlog_group_commit_sync_delay`",
    ];
    place.refused(&["plan", "check", "wrong.toml"], &expect);
    place.refused(&["sweep", "two.toml", "--server", "old"], &["the plan names `maria`, `old`"]);

    let ran = place.run(&["sweep", "two.toml"]);
    assert!(matches!(ran.code, Some(0 | 3)), "{}{}", ran.stdout, ran.stderr);
    let mut seen: Vec<_> = (1..=4).map(|n| place.run_json(&format!("trial-{n:04}"))).collect();
    seen.sort_by_key(|trial| trial["configuration"].to_string());
    for trial in &seen {
        assert_eq!(trial["validity"]["state"], "valid", "{trial}");
        assert_eq!(trial["configuration"]["server"], trial["server"]["name"], "{trial}");
    }
    let version_of =
        |trial: &serde_json::Value| trial["server"]["version"].as_str().unwrap().to_owned();
    assert_eq!(version_of(&seen[3]), server.binary.version.to_string());
    assert_ne!(version_of(&seen[0]), version_of(&seen[3]));
    assert!(
        ran.stdout.contains("old (mysql") && ran.stdout.contains("server=old"),
        "{}",
        ran.stdout
    );
    assert!(place.servers().is_empty());

    // Its program stays while a run needs it. A folder of the environment is for those who name no
    // server.
    let mut command = place.command(&[
        "run",
        "insert",
        "--server",
        "old",
        "--rate=50",
        "--measure",
        "6",
        "--warm-up",
        "0.1",
        SMALL_REDO,
    ]);
    command.env("TRUETPS_BASEDIR", "/nowhere").stdout(Stdio::piped()).stderr(Stdio::piped());
    let before = place.latest();
    let child = command.spawn().unwrap();
    wait_until("a second experiment", || place.latest() != before);
    place.wait_for_interval("trial-0001");
    place.refused(&["server", "remove", "old", "--force"], &["server `old` is in use by a run"]);
    place.refused(&["server", "add", "old", "--replace"], &["server `old` is in use by a run"]);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert!(
        ran.code == Some(0) && ran.stdout.contains("old (mysql"),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
}
