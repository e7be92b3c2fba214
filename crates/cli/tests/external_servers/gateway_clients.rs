//! HTTP clients of five languages (`tests/clients`), with pools and retries, while the gateway is
//! restarted and killed, and its database killed: each row that a client knows to be stored is in
//! the table once.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;
use truetps_testkit::mysql_family::mariadb;

use crate::common::{Place, signal, wait_until};
use crate::gateway::{CREATE, GatewayProcess};
use crate::support::Owned;

/// Programs of one language have so many clients, with numbers that follow each other.
const CLIENTS: u64 = 4;
/// Rows between two events.
const ROWS: u64 = 150;

/// How a program is started: without its arguments.
struct ClientProgram {
    name: &'static str,
    command: Vec<String>,
}

#[expect(clippy::disallowed_methods, reason = "clients of other languages")]
fn new_command(words: &[impl AsRef<OsStr>]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::null());
    command
}

/// Those whose language is here. With TRUETPS_REQUIRE_CLIENTS=1 all must be.
fn programs(place: &Place) -> Vec<ClientProgram> {
    let sources =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clients").canonicalize().unwrap();
    let source = |name: &str| sources.join(name).display().to_string();
    let go = place.path().join("client-go").display().to_string();
    let is_required = std::env::var("TRUETPS_REQUIRE_CLIENTS").is_ok_and(|value| value == "1");
    // The name, what succeeds if its language is here, and the program.
    let all: [(_, &[&str], &[&str]); 5] = [
        (
            "Python (urllib3)",
            &["python3", "-c", "import urllib3"],
            &["python3", &source("client.py")],
        ),
        ("Go", &["go", "build", "-o", &go, &source("client.go")], &[&go]),
        ("Java", &["javac", "--version"], &["java", &source("Client.java")]),
        ("Node.js", &["node", "-e", "fetch"], &["node", &source("client.mjs")]),
        ("curl", &["curl", "--version"], &[&source("client.sh")]),
    ];
    let here = all.into_iter().filter(|(name, check, _)| {
        let is_here = new_command(check).output().is_ok_and(|output| output.status.success());
        assert!(is_here || !is_required, "{name} is missing: `{}` fails", check.join(" "));
        if !is_here {
            eprintln!("SKIPPED: rows of clients in {name}: `{}` fails", check.join(" "));
        }
        is_here
    });
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    here.map(|(name, _, command)| ClientProgram { name, command: owned(command) }).collect()
}

/// A restart has the same address: clients know only that one.
fn start_gateway(place: &Place, dsn: &str, port: u16) -> GatewayProcess {
    let listen = format!("127.0.0.1:{port}");
    GatewayProcess::of(
        place.start(&["gateway", "--dsn", dsn, "--table", "readings", "--listen", &listen]),
    )
}

fn stored(owned: &Owned, condition: &str) -> u64 {
    let sql = format!("SELECT COUNT(*) FROM precious.readings WHERE {condition}");
    owned.admin().query_value(&sql).unwrap().unwrap().parse().unwrap()
}

/// Waits for more rows of each program.
fn wait_for_rows(owned: &Owned, programs: &[ClientProgram]) {
    for (n, program) in (0..).zip(programs) {
        // A process for each row is slower than the others.
        let more = if program.name == "curl" { ROWS / 10 } else { ROWS };
        let condition = format!("client DIV {CLIENTS} = {n}");
        let until = stored(owned, &condition) + more;
        wait_until(program.name, || stored(owned, &condition) >= until);
    }
}

#[test]
fn clients_of_all_languages_lose_and_double_no_row() {
    let Some(binary) = mariadb("clients of all languages") else { return };
    let mut owned = Owned::start(&binary, &[]);
    owned.execute(&[CREATE]);
    let place = Place::new();
    let programs = programs(&place);
    let dsn = owned.socket_dsn().replace("@?", "@/precious?");
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut gateway = start_gateway(&place, &dsn, port);
    let (url, stop) = (format!("http://127.0.0.1:{port}/v1/readings"), place.path().join("stop"));
    let start = |(n, program): (u64, &ClientProgram)| {
        let mut command = new_command(&program.command);
        command.arg(&url).arg((n * CLIENTS).to_string()).arg(&stop);
        command.stdout(Stdio::piped()).spawn().unwrap()
    };
    let clients: Vec<Child> = (0..).zip(&programs).map(start).collect();
    wait_for_rows(&owned, &programs);
    signal(gateway.child.id(), Signal::TERM);
    assert_eq!(gateway.child.wait().unwrap().code(), Some(0), "it drained");
    gateway = start_gateway(&place, &dsn, port);
    wait_for_rows(&owned, &programs);
    gateway.child.kill().unwrap();
    gateway.child.wait().unwrap();
    gateway = start_gateway(&place, &dsn, port);
    wait_for_rows(&owned, &programs);
    owned = owned.restarted_after_kill(&binary);
    wait_for_rows(&owned, &programs);
    fs::write(&stop, "").unwrap();
    let mut acknowledged = BTreeMap::new();
    for (program, client) in programs.iter().zip(clients) {
        let output = client.wait_with_output().unwrap();
        assert!(output.status.success(), "{}: {}", program.name, output.status);
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            let (client, rows) = line.split_once(' ').unwrap();
            acknowledged.insert(client.parse::<u64>().unwrap(), rows.parse::<u64>().unwrap());
        }
    }
    assert_eq!(acknowledged.len() as u64, CLIENTS * programs.len() as u64);
    for (client, rows) in &acknowledged {
        let whole =
            format!("client = {client} AND seq < {rows} AND text = CONCAT(client, '-', seq)");
        assert_eq!(
            (stored(&owned, &whole), stored(&owned, &format!("client = {client}"))),
            (*rows, *rows),
            "{client}"
        );
    }
    eprintln!("{} rows of {} clients", acknowledged.values().sum::<u64>(), acknowledged.len());
    gateway.end();
}
