//! `LOAD DATA LOCAL INFILE`: which files a server gets, beside the original programs.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};

use truetps_testkit::mysql_family::{mariadb, mysql};

use crate::common::{Place, Ran};
use crate::support::Owned;
use crate::sysbench::program::Program;

/// More than the socket takes at once.
const ROWS: usize = 80_000;

fn script(file: &str) -> String {
    format!(
        "function event()
           local con = sysbench.sql.driver('mysql'):connect()
           con:query([[LOAD DATA LOCAL INFILE '{file}' INTO TABLE t (a)]])
         end"
    )
}

/// Tables filled by scripts and by `--query` have the same rows as with the original programs, and
/// an error of a file that cannot be read is theirs.
#[test]
#[expect(clippy::disallowed_methods, reason = "the program to compare with")]
#[expect(clippy::too_many_lines, reason = "one journey")]
fn a_file_that_a_statement_names_is_sent_as_by_the_originals() {
    const TEST: &str = "a_file_that_a_statement_names_is_sent_as_by_the_originals";
    let place = Place::new();
    let rows = (0..ROWS).map(|row| row.to_string()).collect::<Vec<_>>().join("\n") + "\n";
    let path = place.write("rows.txt", &rows).display().to_string();
    place.write("load.lua", &script(&path));
    place.write("gone.lua", &script("/nowhere/rows.txt"));
    for binary in [mariadb(TEST), mysql(TEST).map(|(binary, _)| binary)].into_iter().flatten() {
        let owned = Owned::start(&binary, &[("local_infile", "ON")]);
        owned.execute(&[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (a INT)",
            "CREATE USER u@localhost IDENTIFIED BY 'pw'",
        ]);
        owned.execute(&["GRANT ALL ON *.* TO u@localhost"]);
        let rows_after = |run: &dyn Fn() -> Ran| {
            owned.execute(&["TRUNCATE d.t"]);
            let ran = run();
            (
                ran.code,
                owned.admin().query_value("SELECT CONCAT(COUNT(*), ' ', SUM(a)) FROM d.t").unwrap(),
                ran,
            )
        };
        let socket = format!("--mysql-socket={}", owned.server.socket().display());
        let flags =
            [&socket, "--mysql-user=u", "--mysql-password=pw", "--mysql-db=d", "--events=2", "run"];
        let sum = (2 * ROWS * (ROWS - 1) / 2).to_string();
        for workers in [&[][..], &["--threads=2", "--workers=1"]] {
            let ours = rows_after(&|| {
                place.run(&[&["sysbench", "load.lua"], &flags[..], workers].concat())
            });
            let shown = format!("{}{}", ours.2.stdout, ours.2.stderr);
            assert_eq!((ours.0, ours.1), (Some(0), Some(format!("{} {sum}", 2 * ROWS))), "{shown}");
            assert!(shown.contains("write:                           2"), "{shown}");
        }
        let theirs = rows_after(&|| {
            Program::reference().run(place.path(), &[&["load.lua"], &flags[..]].concat(), "")
        });
        assert_eq!(
            (theirs.0, theirs.1),
            (Some(0), Some(format!("{} {sum}", 2 * ROWS))),
            "{}",
            theirs.2.stdout
        );
        let fatal = |program: &Program| {
            let ran = program.run(place.path(), &[&["gone.lua"], &flags[..]].concat(), "");
            let lines: Vec<_> = ran
                .stdout
                .lines()
                .filter(|line| line.starts_with("FATAL"))
                .map(str::to_owned)
                .collect();
            (ran.code, lines)
        };
        assert_eq!(fatal(&Program::ours()), fatal(&Program::reference()));

        let socket = format!("--socket={}", owned.server.socket().display());
        let query = format!("--query=load data local infile '{path}' into table d.t (a)");
        let slap = [
            "--no-defaults",
            &socket,
            "-uu",
            "-ppw",
            "--create-schema=d",
            &query,
            "-c2",
            "--number-of-queries=2",
        ];
        let ours = rows_after(&|| place.run(&[&["slap"], &slap[..]].concat()));
        assert_eq!(
            (ours.0, ours.1),
            (Some(0), Some(format!("{} {sum}", 2 * ROWS))),
            "{}",
            ours.2.stderr
        );
        // MariaDB's program begins TLS with servers of MySQL, and then does not know their
        // certificate.
        let slap = [&slap[..], &["--skip-ssl"]].concat();
        let theirs = rows_after(&|| {
            Command::new("mariadb-slap").args(&slap).stdin(Stdio::null()).output().unwrap().into()
        });
        assert_eq!(theirs.1, Some(format!("{} {sum}", 2 * ROWS)), "{}", theirs.2.stderr);
    }
}

/// A server that asks for a file in reply to whatever is sent.
struct AskingServer(TcpListener);

impl AskingServer {
    /// Serves one session; returns what the client has sent of the file.
    fn serve(self) -> Vec<u8> {
        let mut stream = self.0.accept().unwrap().0;
        let mut greeting =
            b"\x0a8.0.99\0\x01\0\0\0abcdefgh\0\xff\xf7\x2d\x02\0\xff\x81\x15\0\0\0\0\0\0\0\0\0\0"
                .to_vec();
        greeting.extend_from_slice(b"ijklmnopqrst\0mysql_native_password\0");
        send(&mut stream, 0, &greeting);
        packet(&mut stream);
        send(&mut stream, 2, b"\0\0\0\x02\0\0\0");
        loop {
            let statement = packet(&mut stream);
            if statement.windows(6).any(|word| word.eq_ignore_ascii_case(b"INFILE")) {
                send(&mut stream, 1, b"\xfb/etc/passwd");
                let sent = packet(&mut stream);
                send(&mut stream, 3, b"\0\0\0\x02\0\0\0");
                return sent;
            }
            send(&mut stream, 1, b"\0\0\0\x02\0\0\0");
        }
    }
}

fn send(stream: &mut TcpStream, sequence: u8, payload: &[u8]) {
    let mut bytes = (payload.len() as u32).to_le_bytes();
    bytes[3] = sequence;
    stream.write_all(&[&bytes, payload].concat()).unwrap();
}

fn packet(stream: &mut TcpStream) -> Vec<u8> {
    let mut header = [0; 4];
    stream.read_exact(&mut header).unwrap();
    header[3] = 0;
    let mut payload = vec![0; u32::from_le_bytes(header) as usize];
    stream.read_exact(&mut payload).unwrap();
    payload
}

#[test]
fn a_server_gets_no_file_that_the_statement_does_not_name() {
    let place = Place::new();
    let path = place.write("rows.txt", "1\n").display().to_string();
    place.write("load.lua", &script(&path));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = format!("--mysql-port={}", listener.local_addr().unwrap().port());
    let asking = std::thread::spawn(move || AskingServer(listener).serve());
    let ran = place.run(&[
        "sysbench",
        "load.lua",
        "--mysql-host=127.0.0.1",
        &port,
        "--probe-interval=0",
        "--events=1",
        "run",
    ]);
    assert_eq!(asking.join().unwrap(), b"", "{}", ran.stdout);
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stdout.contains("refused: the server asked for the file `/etc/passwd`"),
        "{}",
        ran.stdout
    );
}
