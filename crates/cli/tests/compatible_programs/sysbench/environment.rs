//! What client libraries read besides the command line: variables, connection strings, option and
//! password files.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use truetps_testkit::mysql_family::mariadb;
use truetps_testkit::{PostgresOptions, PostgresServer};

use crate::common::{Place, Ran};
use crate::support::Owned;
use crate::sysbench::program::Program;

const PASSWORD: &str = "pw";
/// What the session of the script is, in one line.
const POSTGRES: &str = "function event() print('saw', \
                        sysbench.sql.driver('pgsql'):connect():query_row([[SELECT concat_ws(' ', \
                        current_user, current_database(), current_setting('work_mem'), \
                        coalesce(nullif(current_setting('application_name'), 'truetps'), ''), \
                        current_setting('datestyle'), current_setting('timezone'))]])) end";
const MYSQL: &str = "function event() print('saw', \
                     sysbench.sql.driver('mysql'):connect():query_row([[SELECT CONCAT_WS(' ', \
                     CURRENT_USER(), DATABASE())]])) end";

/// A way to name a server and an account. `PORT` and `HERE` stand for the server's port and the
/// test's folder.
struct Way(Vec<Variable>, Vec<&'static str>);

type Variable = (&'static str, &'static str);

/// These variables, and the words of `at` before others.
fn way(variables: &[Variable], at: &[&'static str], more: &[&'static str]) -> Way {
    Way(variables.to_vec(), [at, more].concat())
}

/// Runs the script with both programs, which must see the same session, or fail both.
struct Ways<'a> {
    place: &'a Place,
    port: u16,
    socket: String,
    script: &'a str,
}

impl Ways<'_> {
    fn run(&self, program: &Program, Way(variables, args): &Way) -> Ran {
        let filled = |text: &str| {
            let here = self.place.path().display().to_string();
            text.replace("PORT", &self.port.to_string())
                .replace("HERE", &here)
                .replace("SOCKET", &self.socket)
        };
        let args: Vec<_> = [self.script, "--events=1"]
            .iter()
            .chain(args)
            .chain(&["run"])
            .map(|arg| filled(arg))
            .collect();
        let mut command = program
            .command(self.place.path(), &args.iter().map(String::as_str).collect::<Vec<_>>());
        // A name of a variable may have the word for the port.
        command
            .envs(variables.iter().map(|(name, value)| (*name, filled(value))))
            .env("TRUETPS_RUNS", "none");
        command.output().unwrap().into()
    }

    fn compare(&self, ways: &[Way]) -> String {
        let saw =
            |ran: &Ran| ran.stdout.lines().find(|line| line.starts_with("saw")).map(str::to_owned);
        let fatal = |ran: &Ran| {
            ran.stdout
                .lines()
                .filter(|line| line.starts_with("FATAL"))
                .collect::<Vec<_>>()
                .join("\n")
        };
        let mut differ = String::new();
        for way in ways {
            let [theirs, ours] =
                [Program::reference(), Program::ours()].map(|program| self.run(&program, way));
            if (saw(&theirs), theirs.code) != (saw(&ours), ours.code) {
                let [theirs, told] = [saw(&theirs), saw(&ours)];
                differ += &[
                    format!("{way:?}"),
                    format!("- {theirs:?}"),
                    format!("+ {told:?}"),
                    fatal(&ours),
                ]
                .join("\n");
            }
        }
        differ
    }
}

impl std::fmt::Debug for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {:?}", self.0, self.1)
    }
}

fn secret_file(path: &Path, text: &str, mode: u32) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

const AT: [&str; 2] = ["--pgsql-host=127.0.0.1", "--pgsql-port=PORT"];
const KNOWN: (&str, &str) = ("PGPASSWORD", PASSWORD);
const EMPTY: [&str; 4] = ["--pgsql-host=", "--pgsql-port=", "--pgsql-user=", "--pgsql-db="];

/// Both programs see the same session by these, or none.
fn ways_of_libpq() -> Vec<Way> {
    let named = [
        KNOWN,
        ("PGHOST", "127.0.0.1"),
        ("PGPORT", "PORT"),
        ("PGUSER", "sbtest"),
        ("PGDATABASE", "other"),
    ];
    vec![
        way(&[], &AT, &[]),
        way(&[], &AT, &["--pgsql-password=pw"]),
        way(&[KNOWN], &AT, &[]),
        way(&[("PGPASSWORD", "wrong")], &AT, &[]),
        way(&[("PGPASSWORD", "wrong")], &AT, &["--pgsql-password=pw"]),
        way(&[KNOWN, ("PGOPTIONS", "-c work_mem=12345kB -c datestyle=SQL")], &AT, &[]),
        way(&[KNOWN, ("PGOPTIONS", "-c no_such=1")], &AT, &[]),
        way(
            &[KNOWN, ("PGAPPNAME", "app"), ("PGTZ", "Asia/Tokyo"), ("PGDATESTYLE", "German")],
            &AT,
            &[],
        ),
        way(
            &[KNOWN, ("PGHOST", "nowhere.invalid"), ("PGUSER", "nobody"), ("PGDATABASE", "other")],
            &AT,
            &[],
        ),
        way(&named, &[], &EMPTY),
        way(&named, &AT, &["--pgsql-db="]),
        way(
            &[KNOWN],
            &AT,
            &["--pgsql-db=dbname=other options='-c work_mem=777kB' application_name=a\\ b"],
        ),
        way(
            &[],
            &AT,
            &["--pgsql-db=host=nowhere.invalid port=1 user=nobody password = pw dbname=other"],
        ),
        way(
            &[],
            &AT,
            &[
                "--pgsql-db=postgresql://nobody:pw@nowhere.invalid:1/other?options=-c%20work_mem%3D999kB",
            ],
        ),
        way(
            &[],
            &[],
            &[
                "--pgsql-host=",
                "--pgsql-port=",
                "--pgsql-user=",
                "--pgsql-db=postgres://sbtest:pw@127.0.0.1:PORT/other",
            ],
        ),
        way(&[KNOWN], &AT, &["--pgsql-db=postgres://"]),
        way(&[KNOWN], &AT, &["--pgsql-db=dbname=other nosuch=1"]),
        way(&[KNOWN], &AT, &["--pgsql-db=dbname='other"]),
        way(&[KNOWN, ("PGSSLMODE", "disable")], &AT, &[]),
        way(&[KNOWN, ("PGSSLMODE", "require")], &AT, &[]),
        way(&[KNOWN, ("PGSSLMODE", "bogus")], &AT, &[]),
        way(&[KNOWN], &AT, &["--pgsql-db=dbname=other sslmode=require"]),
        way(&[KNOWN, ("PGCONNECT_TIMEOUT", "5"), ("PGTARGETSESSIONATTRS", "any")], &AT, &[]),
        way(&[KNOWN, ("PGCONNECT_TIMEOUT", "x")], &AT, &[]),
        way(&[("PGPASSFILE", "HERE/passwords")], &AT, &[]),
        way(&[("PGPASSFILE", "HERE/open")], &AT, &[]),
        way(&[("PGPASSFILE", "HERE/none")], &AT, &[]),
        way(&[("PGPASSFILE", "HERE/passwords"), ("PGPASSWORD", "wrong")], &AT, &[]),
        way(&[], &[], &["--pgsql-host=SOCKET", "--pgsql-port=PORT"]),
    ]
}

#[test]
fn a_postgresql_is_found_as_libpq_finds_it() {
    let options = PostgresOptions {
        hba: vec![
            "local all all trust".to_owned(),
            "host all all 127.0.0.1/32 scram-sha-256".to_owned(),
        ],
        tcp: true,
        ..Default::default()
    };
    let Some(server) = PostgresServer::start("a_postgresql_is_found_as_libpq_finds_it", &options)
    else {
        return;
    };
    let mut admin = server.connect().unwrap();
    admin.execute(&format!("CREATE ROLE sbtest LOGIN PASSWORD '{PASSWORD}'")).unwrap();
    admin.execute("CREATE DATABASE sbtest").unwrap();
    admin.execute("CREATE DATABASE other").unwrap();
    let place = Place::new();
    place.write("saw.lua", POSTGRES);
    let port = server.port().unwrap();
    let line = format!("*:{port}:*:sbtest:{PASSWORD}\n");
    secret_file(
        &place.path().join("passwords"),
        &format!("# a remark\nother:*:*:*:x\n{line}"),
        0o600,
    );
    secret_file(&place.path().join("open"), &line, 0o644);
    let socket = server.socket().parent().unwrap().display().to_string();
    let ways = Ways { place: &place, port, socket, script: "saw.lua" };

    let mut differ = ways.compare(&ways_of_libpq());
    secret_file(&place.path().join(".pgpass"), &line, 0o600);
    differ += &ways.compare(&[way(&[], &AT, &[])]);
    secret_file(&place.path().join(".pgpass"), &line, 0o640);
    differ += &ways.compare(&[way(&[], &AT, &[])]);
    assert_eq!(differ, "", "- sysbench, + ours");

    // What libpq knows and truetps does not is refused by its name.
    for (way, expect) in [
        (way(&[KNOWN, ("PGSERVICE", "s")], &AT, &[]), "PGSERVICE is not supported by truetps"),
        (way(&[KNOWN, ("PGHOSTADDR", "127.0.0.1")], &AT, &[]), "PGHOSTADDR is not"),
        (
            way(&[KNOWN, ("PGTARGETSESSIONATTRS", "standby")], &AT, &[]),
            "PGTARGETSESSIONATTRS is not supported by truetps, except",
        ),
        (way(&[KNOWN, ("PGCHANNELBINDING", "require")], &AT, &[]), "PGCHANNELBINDING is not"),
        (
            way(&[KNOWN, ("PGCLIENTENCODING", "LATIN1")], &AT, &[]),
            "PGCLIENTENCODING is not supported by truetps, except",
        ),
        (way(&[KNOWN], &[], &["--pgsql-host=a,b"]), "a list of hosts is not"),
        (
            way(&[KNOWN], &AT, &["--pgsql-db=target_session_attrs=primary"]),
            "`target_session_attrs` in the connection",
        ),
    ] {
        let ran = ways.run(&Program::ours(), &way);
        assert_eq!(ran.code, Some(1), "{way:?}: {}", ran.stdout);
        assert!(ran.stdout.contains(expect), "{way:?}: {}", ran.stdout);
    }
}

#[test]
fn a_mysql_is_found_as_its_client_library_finds_it() {
    let Some(binary) = mariadb("a_mysql_is_found_as_its_client_library_finds_it") else { return };
    let owned = Owned::start(&binary, &[]);
    owned.execute(&["CREATE DATABASE sbtest", "CREATE USER sbtest@localhost IDENTIFIED BY 'pw'"]);
    owned.execute(&["GRANT ALL ON sbtest.* TO sbtest@localhost"]);
    let place = Place::new();
    place.write("saw.lua", MYSQL);
    secret_file(&place.path().join(".my.cnf"), "[client]\nuser=sbtest\npassword=pw\n", 0o600);
    let socket = owned.server.socket().display().to_string();
    let ways = Ways { place: &place, port: owned.port, socket, script: "saw.lua" };
    let (at, known) = (["--mysql-host=127.0.0.1", "--mysql-port=PORT"], ("MYSQL_PWD", PASSWORD));
    let both = [
        way(&[known], &at, &[]),
        way(&[], &at, &[]),
        way(&[("MYSQL_PWD", "wrong")], &at, &["--mysql-password=pw"]),
        way(&[known], &at, &["--mysql-password=wrong"]),
        way(&[known, ("MYSQL_UNIX_PORT", "SOCKET")], &[], &[]),
        way(&[known, ("MYSQL_UNIX_PORT", "HERE/none")], &[], &["--mysql-socket=SOCKET"]),
        way(
            &[known, ("MYSQL_TCP_PORT", "PORT")],
            &[],
            &["--mysql-host=127.0.0.1", "--mysql-port=0"],
        ),
        way(&[known, ("MYSQL_TCP_PORT", "1")], &at, &[]),
        way(&[known, ("USER", "sbtest")], &at, &["--mysql-user=", "--mysql-db="]),
        way(&[known], &at, &["--mysql-db="]),
        way(&[known, ("LIBMYSQL_PLUGINS", "none")], &at, &[]),
    ];
    assert_eq!(ways.compare(&both), "", "- sysbench, + ours");
}
