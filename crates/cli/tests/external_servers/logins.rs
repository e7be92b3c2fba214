//! Who logs in to a server of a DSN: option files, the environment, the terminal; and no server
//! gets the password of another one.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use tempfile::TempDir;
use truetps_testkit::mysql_family::mariadb;

use crate::common::{Place, Ran};
use crate::support::{ACCOUNT, Owned, PASSWORD, assert_secret, run_with_password};

const OTHER_PASSWORD: &str = "an0ther-h1dden";

/// A home folder with a login in it: not the place, where no file may have the password.
fn home(text: &str) -> TempDir {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join(".my.cnf"), text).unwrap();
    home
}

fn client_file(password: &str) -> String {
    format!("[client]\nuser = {ACCOUNT}\npassword = \"{password}\"\n")
}

fn good(place: &Place, ran: &Ran) {
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_secret(place, ran);
}

#[test]
fn a_capture_and_a_comparison_with_an_option_file() {
    let Some(binary) = mariadb("a_capture_and_a_comparison_with_an_option_file") else { return };
    let (owned, place, home) =
        (Owned::start(&binary, &[]), Place::new(), home(&client_file(PASSWORD)));
    let file = format!("--defaults-file={}", home.path().join(".my.cnf").display());
    let dsn = format!("mysql://127.0.0.1:{}", owned.port);
    good(&place, &place.run(&["server", "capture", &dsn, &file, "-o", "one.json"]));
    good(&place, &place.run(&["diff", "one.json", &dsn, &file]));
    good(&place, &place.run(&["diff", &dsn, "one.json", &file.replace("file=", "file-a=")]));
    // The same server twice is one server.
    good(&place, &run_with_password(&place, &["diff", &owned.tcp_dsn(), &owned.tcp_dsn()]));
    let ran = place.run(&["server", "capture", &dsn, "--defaults-file=/nowhere/my.cnf"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("/nowhere/my.cnf"), "{}", ran.stderr);
}

#[test]
fn the_user_s_own_option_file() {
    let Some(binary) = mariadb("the_user_s_own_option_file") else { return };
    let (owned, place, home) =
        (Owned::start(&binary, &[]), Place::new(), home(&client_file(PASSWORD)));
    let run = |args: &[&str]| -> Ran {
        place.command(args).env("HOME", home.path()).output().unwrap().into()
    };
    let notice = format!("login of `{ACCOUNT}` from {}/.my.cnf", home.path().display());
    let dsn = format!("mysql://127.0.0.1:{}", owned.port);
    for dsn in [dsn.clone(), owned.tcp_dsn()] {
        let ran = run(&["server", "capture", &dsn, "-o", "one.json"]);
        good(&place, &ran);
        assert_eq!(ran.stderr.matches(&notice).count(), 1, "{}", ran.stderr);
    }
    let ran =
        run(&["run", "insert", "--dsn", &dsn, "--warm-up=0.1", "--measure=2", "--table-rows=100"]);
    good(&place, &ran);
    assert!(ran.stderr.contains(&notice), "{}", ran.stderr);
    // Another account is not that one, and has no password.
    let ran = run(&["server", "capture", &dsn.replace("127", "another@127")]);
    assert!(ran.code == Some(2) && !ran.stderr.contains(&notice), "{}", ran.stderr);
    // The file's user at one server, and at the other a user without a password.
    let other = Owned::start(&binary, &[]);
    for (a, b) in [(&dsn, &other.socket_dsn()), (&other.socket_dsn(), &owned.tcp_dsn())] {
        let ran = run(&["diff", a, b]);
        good(&place, &ran);
        assert_eq!(ran.stderr.matches(&notice).count(), 1, "{}", ran.stderr);
    }
    // A DSN with a user and a socket uses that account.
    let ran = run(&["server", "capture", &owned.socket_dsn()]);
    assert!(ran.code == Some(0) && !ran.stderr.contains(&notice), "{}", ran.stderr);
}

/// No other account is used in place of the account that a file names.
#[test]
fn a_world_writable_login_file() {
    let Some(binary) = mariadb("a_world_writable_login_file") else { return };
    let (owned, place, home) =
        (Owned::start(&binary, &[]), Place::new(), home(&client_file(PASSWORD)));
    let path = home.path().join(".my.cnf");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let file = format!("--defaults-file={}", path.display());
    // Root would get in by the socket, without a password.
    let dsn = owned.socket_dsn().replace("root@", "");
    let short = ["--warm-up=0.1", "--measure=0.5", "--table-rows=100"];
    let run = [&["run", "insert", "--dsn", &dsn, &file], &short[..]].concat();
    for args in [&run[..], &["server", "capture", &dsn, &file], &["diff", &dsn, &dsn, &file]] {
        let ran = place.run(args);
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("is not read: it is world-writable"),
            "{args:?}: {}",
            ran.stderr
        );
        assert!(ran.stderr.contains("hint: chmod o-w"), "{args:?}: {}", ran.stderr);
    }
    let args = ["server", "capture", &dsn];
    let ran: Ran = place.command(&args).env("HOME", home.path()).output().unwrap().into();
    good(&place, &ran);
    assert!(
        ran.stderr.contains("warning: ") && ran.stderr.contains("no login is taken from it"),
        "{}",
        ran.stderr
    );
}

#[test]
fn without_a_terminal_no_password_is_asked_for() {
    let place = Place::new();
    let words = [
        env!("CARGO_BIN_EXE_truetps"),
        "server",
        "capture",
        "mysql://root@127.0.0.1:1",
        "--ask-password",
    ];
    let apart = [&["--wait"], &words[..]].concat();
    let ran: Ran = place.program(Path::new("setsid"), &apart).output().unwrap().into();
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    let said =
        "error: --ask-password: no terminal available for the prompt (/dev/tty: No such device";
    assert!(
        ran.stderr.contains(said) && ran.stderr.contains("hint: give the password in"),
        "{}",
        ran.stderr
    );
}

/// These ports are never accepted on: a connection would be waiting.
#[test]
fn one_password_is_for_one_server() {
    let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let [a, b] = listeners.each_ref().map(|listener| {
        listener.set_nonblocking(true).unwrap();
        format!("mysql://{ACCOUNT}@127.0.0.1:{}", listener.local_addr().unwrap().port())
    });
    let (place, home) = (Place::new(), home(&client_file(PASSWORD)));
    let file = format!("--defaults-file={}", home.path().join(".my.cnf").display());
    for ran in [run_with_password(&place, &["diff", &a, &b]), place.run(&["diff", &a, &b, &file])] {
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(
            ran.stderr.contains("A and B are two servers") && ran.stderr.contains("hint: "),
            "{}",
            ran.stderr
        );
        assert_secret(&place, &ran);
    }
    // The same account at both, or the file's own.
    let unnamed = [&a, &b].map(|dsn| dsn.replace(&format!("{ACCOUNT}@"), ""));
    for [a, b] in [[&a, &b], [&unnamed[0], &unnamed[1]]] {
        let ran: Ran =
            place.command(&["diff", a, b]).env("HOME", home.path()).output().unwrap().into();
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(
            ran.stderr.contains("and ~/.my.cnf is ambiguous: it applies to one server"),
            "{}",
            ran.stderr
        );
        assert!(
            ran.stderr.contains("hint: TRUETPS_PASSWORD_A and TRUETPS_PASSWORD_B"),
            "{}",
            ran.stderr
        );
        assert_secret(&place, &ran);
    }
    assert!(listeners.iter().all(|listener| listener.accept().is_err()), "nothing was sent");
}

#[test]
fn two_servers_with_two_passwords() {
    let Some(binary) = mariadb("two_servers_with_two_passwords") else { return };
    let [one, other] = [(), ()].map(|()| Owned::start(&binary, &[]));
    other.execute(&[&format!("ALTER USER {ACCOUNT}@'%' IDENTIFIED BY '{OTHER_PASSWORD}'")]);
    let place = Place::new();
    let run = |variables: &[(&str, &str)], args: &[&str]| -> Ran {
        let mut command =
            place.command(&[&["diff", &one.tcp_dsn(), &other.tcp_dsn()], args].concat());
        command.envs(variables.iter().copied()).output().unwrap().into()
    };
    let (a, b) = ("TRUETPS_PASSWORD_A", "TRUETPS_PASSWORD_B");
    good(&place, &run(&[(a, PASSWORD), (b, OTHER_PASSWORD)], &[]));
    // The shared password is for the server without its own.
    good(&place, &run(&[(a, PASSWORD), ("TRUETPS_PASSWORD", OTHER_PASSWORD)], &[]));
    let home = home(&client_file(OTHER_PASSWORD));
    let file = home.path().join(".my.cnf");
    good(&place, &run(&[(a, PASSWORD)], &["--defaults-file-b", file.to_str().unwrap()]));
    let ran = run(&[(a, OTHER_PASSWORD), (b, OTHER_PASSWORD)], &[]);
    assert!(ran.code == Some(2) && ran.stderr.contains(&one.port.to_string()), "{}", ran.stderr);
    assert!(ran.stderr.contains("hint: TRUETPS_PASSWORD_A and"), "{}", ran.stderr);
}

/// `script` of util-linux gives the program a terminal.
#[test]
fn a_password_is_asked_for_at_the_terminal() {
    let Some(binary) = mariadb("a_password_is_asked_for_at_the_terminal") else { return };
    if !Path::new("/usr/bin/script").exists() {
        eprintln!("SKIPPED a_password_is_asked_for_at_the_terminal: there is no /usr/bin/script");
        return;
    }
    let (owned, place) = (Owned::start(&binary, &[]), Place::new());
    let at_terminal = |args: &str, passwords: &[&str]| -> (Option<i32>, String) {
        let line = format!("'{}' {args}", env!("CARGO_BIN_EXE_truetps"));
        let mut command =
            place.program(Path::new("/usr/bin/script"), &["-qec", &line, "/dev/null"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut keys, mut screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (mut seen, mut bytes, mut asked) = (String::new(), [0; 4096], 0);
        while let Ok(count @ 1..) = screen.read(&mut bytes) {
            seen += &String::from_utf8_lossy(&bytes[..count]);
            // What is typed before the question is thrown away.
            if seen.matches("Enter password: ").count() > asked {
                keys.write_all(format!("{}\n", passwords.get(asked).unwrap()).as_bytes()).unwrap();
                asked += 1;
            }
        }
        assert_eq!(asked, passwords.len(), "{seen}");
        assert!(!seen.contains("h1dden"), "{seen}");
        (child.wait().unwrap().code(), seen)
    };
    let dsn = owned.tcp_dsn();
    let (code, seen) = at_terminal(&format!("server capture '{dsn}' -o one.json"), &[PASSWORD]);
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains(&dsn), "the server is named: {seen}");
    let (code, seen) = at_terminal(&format!("server capture '{dsn}' -o one.json"), &["wrong"]);
    assert_eq!(code, Some(2), "asked once: {seen}");
    let (code, seen) = at_terminal(&format!("diff --ask-password one.json '{dsn}'"), &[PASSWORD]);
    assert_eq!(code, Some(0), "{seen}");
    // Who needs no password is not asked for one.
    let (code, seen) = at_terminal(&format!("server capture '{}'", owned.socket_dsn()), &[]);
    assert_eq!(code, Some(0), "{seen}");
}
