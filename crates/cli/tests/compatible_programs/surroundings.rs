//! Where programs are started, and how they end there: beside the originals.
//! docs/reference/other-programs.md has the list.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use truetps_testkit::mysql_family::mariadb;

use crate::common::{Place, Ran, open_terminal, signal, wait_until};
use crate::support::Owned;

const OURS: &str = env!("CARGO_BIN_EXE_truetps");
const LOAD: &str = "function event() end";

/// A shell's command line of `sysbench ARGUMENTS` with either program.
fn sysbench(place: &Place, line: &str, ours: bool) -> Command {
    let program = if ours { format!("{OURS} sysbench") } else { "sysbench".to_owned() };
    shell(place, &line.replace("SYSBENCH", &program))
}

/// A clean environment, as a service or cron has it.
#[expect(
    clippy::disallowed_methods,
    reason = "the programs under test, and a shell that starts them"
)]
fn shell(place: &Place, line: &str) -> Command {
    let mut command = Command::new("/usr/bin/env");
    // What runs the tests may ignore them.
    command
        .args(["--default-signal=HUP,INT,TERM,PIPE", "/bin/bash", "-c", line])
        .current_dir(place.path())
        .env_clear()
        .env("PATH", "/usr/bin:/bin");
    command.env("TRUETPS_PRESENCE", place.path().file_name().unwrap()).stdin(Stdio::null());
    command
}

/// What a shell makes of it.
fn code(status: ExitStatus) -> Option<i32> {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal))
}

/// Lines without figures.
fn shape(text: &str) -> Vec<String> {
    let shape =
        |line: &str| line.chars().filter(|c| !c.is_ascii_digit() && *c != ' ').collect::<String>();
    text.lines().map(shape).filter(|line| !line.starts_with("sysbench..(using")).collect()
}

#[test]
fn without_a_terminal_a_home_or_a_disk_to_write_to_the_output_is_the_same() {
    let place = Place::new();
    place.write("load.lua", LOAD);
    for line in [
        "SYSBENCH load.lua --events=3 run",
        // No home, a home that is no folder, and one that no user can write to.
        "HOME=/dev/null SYSBENCH load.lua --events=3 run",
        "HOME=/proc SYSBENCH load.lua --events=3 run",
        "here=$PWD; cd /proc; HOME=/proc SYSBENCH \"$here/load.lua\" --events=3 run",
        "nohup SYSBENCH load.lua --events=3 run",
        "setsid SYSBENCH load.lua --events=3 run",
        "SYSBENCH load.lua --events=3 run < /dev/full",
        "SYSBENCH load.lua --events=3 run <&-",
        "SYSBENCH load.lua --events=3 run 2>&-",
        "SYSBENCH load.lua --events=3 run > /dev/full",
        "SYSBENCH load.lua --events=3 run >&-",
        "ulimit -v 400000; SYSBENCH load.lua --events=3 run",
        "SYSBENCH cpu --events=20 run",
        "SYSBENCH cpu --events=20 --threads=3 --cpu-max-prime=100 run",
        "SYSBENCH load.lua",
        "SYSBENCH none.lua run",
        "SYSBENCH load.lua prepare",
        "SYSBENCH load.lua --events=x run",
        "echo 'print(1)' | SYSBENCH",
        "echo 'print(1)' | SYSBENCH -",
    ] {
        let [theirs, ours] =
            [false, true].map(|ours| Ran::from(sysbench(&place, line, ours).output().unwrap()));
        assert_eq!(ours.code, theirs.code, "{line}: {}{}", ours.stdout, ours.stderr);
        assert_eq!(shape(&ours.stdout), shape(&theirs.stdout), "{line}");
        let remarks = |ran: &Ran| {
            let own = ran
                .stderr
                .lines()
                .filter(|line| !line.starts_with("truetps: the run is not recorded: "));
            own.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(remarks(&ours), remarks(&theirs), "{line}");
        assert_eq!(
            std::fs::read_dir(place.path()).unwrap().count(),
            1,
            "{line}: something is left behind"
        );
    }
}

/// A limit of the size of files stands for a disk that is full: folders and empty files can still
/// be made.
#[test]
fn a_home_without_room_costs_one_line() {
    let place = Place::new();
    place.write("load.lua", LOAD);
    let line = "ulimit -f 64; HOME=$PWD SYSBENCH load.lua --events=3 run";
    let [theirs, ours] =
        [false, true].map(|ours| Ran::from(sysbench(&place, line, ours).output().unwrap()));
    assert_eq!(
        (ours.code, shape(&ours.stdout)),
        (theirs.code, shape(&theirs.stdout)),
        "{}",
        ours.stderr
    );
    let one_line = ours.stderr.starts_with("truetps: the run is not recorded: ")
        && ours.stderr.lines().count() == 1;
    assert!(one_line, "{}", ours.stderr);
}

#[test]
fn threads_that_cannot_be_started_end_the_program() {
    const FILL: &str = "sysbench.cmdline.commands = {\n  fill = { function() end, \
                        sysbench.cmdline.PARALLEL_COMMAND } }";
    let place = Place::new();
    place.write("load.lua", &format!("{LOAD}\n{FILL}"));
    // Where there is room for the stacks of some threads, these have no room for their states.
    for (limit_kb, threads, command) in [
        (900_000, 300, "run"),
        (900_000, 30, "run"),
        (900_000, 18, "run"),
        (1_600_000, 60, "run"),
        (1_600_000, 20, "run"),
        (900_000, 300, "fill"),
        (1_600_000, 30, "fill"),
    ] {
        let line = format!(
            "ulimit -v {limit_kb}; timeout 60 SYSBENCH load.lua --threads={threads} --events=9 \
             --lua-isolation=client {command}"
        );
        let ran = Ran::from(sysbench(&place, &line, true).output().unwrap());
        let has_said = ran.stdout.contains("FATAL: a worker thread could not be started")
            || ran.stderr.contains("truetps: out of memory (`ulimit -v`");
        let is_good = match ran.code {
            Some(0) => (threads < 100 || command == "fill") && !has_said,
            code => code == Some(1) && has_said,
        };
        assert!(is_good, "{line}: {:?} {}{}", ran.code, ran.stdout, ran.stderr);
    }
}

/// A log of `2>&1` has no line that the original does not print; a terminal has it, and so has a
/// user who names a folder.
#[test]
fn remarks_are_for_a_terminal_or_for_who_names_a_folder() {
    let place = Place::new();
    place.write("load.lua", LOAD);
    let run = "HOME=$PWD SYSBENCH load.lua --events=3 ";
    let ran = Ran::from(sysbench(&place, &format!("{run} run 2>&1"), true).output().unwrap());
    let theirs = Ran::from(sysbench(&place, &format!("{run} run 2>&1"), false).output().unwrap());
    assert_eq!(shape(&ran.stdout), shape(&theirs.stdout));
    assert!(
        place.path().join(".local/state/truetps/runs/latest").exists(),
        "it is recorded nevertheless"
    );
    let named =
        Ran::from(sysbench(&place, &format!("{run} --runs=here run"), true).output().unwrap());
    assert!(
        named.stderr.starts_with("truetps: recorded in here/sysbench-load-"),
        "{}",
        named.stderr
    );
    let (terminal, screen) = open_terminal();
    let mut command = sysbench(&place, &format!("{run} run"), true);
    let status = command.stdout(Stdio::null()).stderr(Stdio::from(screen)).status().unwrap();
    drop(command);
    assert!(status.success());
    let mut shown = [0; 1000];
    let length = rustix::io::read(&terminal, &mut shown).unwrap();
    let shown = String::from_utf8_lossy(&shown[..length]);
    assert!(
        shown.starts_with("truetps: recorded in ") && shown.contains(".local/state/truetps/runs"),
        "{shown}"
    );
}

#[test]
fn slap_remarks_on_other_runs_where_a_folder_is_named() {
    let Some(binary) = mariadb("slap_remarks_on_other_runs_where_a_folder_is_named") else {
        return;
    };
    let (owned, place) = (Owned::start(&binary, &[]), Place::new());
    let mut other = sysbench(&place, "exec SYSBENCH cpu --time=600 run", true);
    let mut other = other.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let slap = format!(
        "{OURS} slap --no-defaults -uroot -S '{}' -q 'select 1'",
        owned.server.socket().display()
    );
    let remarks = |runs: &str| {
        let ran = Ran::from(
            shell(&place, &format!("{slap} --create-schema=mysql {runs} 2>&1")).output().unwrap(),
        );
        assert_eq!(ran.code, Some(0), "{}", ran.stdout);
        ran.stdout.contains("also loaded this host")
    };
    wait_until("a remark about the other run", || remarks("--runs=here"));
    assert!(!remarks(""), "no folder was named");
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn a_pipe_that_closes_early_ends_the_load() {
    let place = Place::new();
    place.write("load.lua", LOAD);
    for line in [
        "SYSBENCH load.lua --time=40 --report-interval=1 run | head -1",
        "SYSBENCH load.lua --time=40 --report-interval=1 run | head -12",
    ] {
        let line = format!("{line} > /dev/null; exit ${{PIPESTATUS[0]}}");
        let ended = [false, true].map(|ours| {
            let began = Instant::now();
            (
                code(sysbench(&place, &line, ours).status().unwrap()),
                began.elapsed() < Duration::from_secs(30),
            )
        });
        assert_eq!(ended, [(Some(141), true); 2], "{line}");
    }
}

/// The exit code as a shell has it. Where the original dies of the signal, ours ends in order, with
/// the same code.
#[test]
fn signals_end_both_or_neither() {
    let place = Place::new();
    place.write("load.lua", "function event() end");
    for (ignored, sent, expect) in [
        (None, Signal::INT, 130),
        (None, Signal::TERM, 143),
        (None, Signal::HUP, 129),
        (None, Signal::KILL, 137),
        (Some("HUP"), Signal::HUP, 0),
        (Some("INT"), Signal::INT, 0),
        (Some("TERM"), Signal::TERM, 0),
        (Some("HUP"), Signal::TERM, 143),
    ] {
        let trap = ignored.map_or_else(String::new, |name| format!("trap '' {name}; "));
        for ours in [false, true] {
            let line = format!("{trap}exec SYSBENCH load.lua --time=3 run");
            let child = sysbench(&place, &line, ours)
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            // Its threads have started: it computes.
            crate::common::wait_until("a load", || crate::common::cpu_seconds(child.id()) > 0.3);
            signal(child.id(), sent);
            let output = child.wait_with_output().unwrap();
            assert_eq!(
                code(output.status),
                Some(expect),
                "{ignored:?} ignored, {sent:?}, ours: {ours}"
            );
        }
    }
}

/// mysqlslap: without a home, a terminal or a usable PATH, with option files in all places, and
/// `-T`.
#[test]
fn slap_finds_its_account_and_reports_as_the_original() {
    let Some(binary) = mariadb("slap_finds_its_account_and_reports_as_the_original") else {
        return;
    };
    let owned = Owned::start(&binary, &[]);
    owned.execute(&[
        "CREATE USER u@localhost IDENTIFIED BY 'pw'",
        "GRANT ALL ON *.* TO u@localhost",
    ]);
    let place = Place::new();
    let account = format!("user=u\npassword=pw\nsocket={}\n", owned.server.socket().display());
    let file =
        |name: &str, group: &str| write_secret(&place, name, &format!("[{group}]\n{account}"));
    for folder in ["home", "named", "empty"] {
        std::fs::create_dir(place.path().join(folder)).unwrap();
    }
    file("home/.my.cnf", "client");
    file("named/my.cnf", "mysqlslap");
    file("suffix.cnf", "client_x");
    file("plain.cnf", "client");
    let socket = format!("-uu -S '{}'", owned.server.socket().display());
    for (line, expect) in [
        ("HOME=$PWD/home SLAP", 0),
        ("MYSQL_HOME=$PWD/named SLAP", 0),
        ("MARIADB_HOME=$PWD/named MYSQL_HOME=$PWD/empty SLAP", 0),
        ("MARIADB_HOME=$PWD/empty MYSQL_HOME=$PWD/named SLAP", 1),
        ("MYSQL_GROUP_SUFFIX=_x SLAP --defaults-file=\"$PWD/suffix.cnf\"", 0),
        (
            "MARIADB_GROUP_SUFFIX=_x MYSQL_GROUP_SUFFIX=_y SLAP --defaults-file=\"$PWD/suffix.cnf\"",
            0,
        ),
        ("SLAP --defaults-file=\"$PWD/suffix.cnf\" --defaults-group-suffix=_x", 0),
        ("SLAP --defaults-extra-file=\"$PWD/plain.cnf\"", 0),
        ("MYSQL_PWD=pw SLAP --no-defaults SOCKET", 0),
        ("MYSQL_PWD=wrong SLAP --no-defaults SOCKET", 1),
        ("MYSQL_PWD=wrong SLAP --no-defaults SOCKET -ppw", 0),
        ("HOME=$PWD/home SLAP --no-defaults SOCKET", 1),
        ("MYSQL_PWD=pw LIBMYSQL_PLUGINS=none SLAP --no-defaults SOCKET", 0),
        ("MYSQL_PWD=pw HOME=/proc nohup SLAP --no-defaults SOCKET -T", 0),
        ("MYSQL_PWD=wrong SLAP --no-defaults SOCKET --debug-info", 1),
    ] {
        let line = line.replace("SOCKET", &socket);
        let ran = |program: &str| {
            let word = format!("{program} ");
            let line = line.replace("SLAP ", &word).replace("SLAP", &word);
            Ran::from(
                shell(&place, &format!("{line} --create-schema=mysql -q 'select 1'"))
                    .output()
                    .unwrap(),
            )
        };
        let (theirs, mut ours) = (ran("mariadb-slap"), ran(&format!("{OURS} slap")));
        // Ours has a block of its own behind the report.
        ours.stdout.truncate(ours.stdout.find("truetps\n").unwrap_or(ours.stdout.len()));
        assert_eq!(theirs.code, Some(expect), "{line}: {}", theirs.stderr);
        assert_eq!(
            (ours.code, shape(&ours.stdout)),
            (theirs.code, shape(&theirs.stdout)),
            "{line}: {}",
            ours.stderr
        );
        let used = |ran: &Ran| {
            let from = ran.stderr.find("\nUser time");
            from.map(|from| shape(&ran.stderr[from..]))
        };
        assert_eq!(used(&ours), used(&theirs), "{line}");
    }
}

fn write_secret(place: &Place, name: &str, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    let path = place.write(name, text);
    std::fs::set_permissions(Path::new(&path), std::fs::Permissions::from_mode(0o600)).unwrap();
}
