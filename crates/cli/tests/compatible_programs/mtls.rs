//! `truetps mtls` beside the original, which is fetched from PyPI where that can be reached.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;
use serde_json::Value;
use truetps_testkit::mysql_family::mariadb;

use crate::certificates::Certificates;
use crate::common::{Place, Ran, reason_of, signal, wait_until};
use crate::support::{ACCOUNT, Owned, PASSWORD, assert_secret};

struct Bench {
    owned: Owned,
    place: Place,
}

impl Bench {
    fn start(test: &str) -> Option<Self> {
        let binary = mariadb(test)?;
        let owned = Owned::start(&binary, &[("general_log", "ON"), ("log_output", "TABLE")]);
        owned.execute(&["CREATE DATABASE truetps_m"]);
        Some(Self { owned, place: Place::new() })
    }

    fn server(&self) -> Vec<String> {
        vec![
            format!("--port={}", self.owned.port),
            format!("--user={ACCOUNT}"),
            "--database=truetps_m".to_owned(),
        ]
    }

    fn command(&self, args: &[&str]) -> Command {
        let server = self.server();
        let words: Vec<&str> = std::iter::once("mtls")
            .chain(server.iter().map(String::as_str))
            .chain(args.iter().copied())
            .collect();
        let mut command = self.place.command(&words);
        command.env("TRUETPS_PASSWORD", PASSWORD);
        command
    }

    fn ours(&self, args: &[&str]) -> Ran {
        self.command(args).output().unwrap().into()
    }

    fn start_ours(&self, args: &[&str]) -> Child {
        self.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn rows(&self) -> String {
        self.value("SELECT COUNT(*) FROM truetps_m.t")
    }

    /// What the server does with each row before it is inserted.
    fn before_each_row(&self, action: &str) {
        self.owned.execute(&[
            "CREATE OR REPLACE TABLE truetps_m.t (id INT AUTO_INCREMENT PRIMARY KEY, i0 INT)",
            &format!(
                "CREATE TRIGGER truetps_m.before_row BEFORE INSERT ON truetps_m.t FOR EACH \
                      ROW {action}"
            ),
        ]);
    }

    #[expect(clippy::disallowed_methods, reason = "the program to compare with")]
    fn original(&self, python: &Path, args: &[&str]) -> Ran {
        let password = format!("--password={PASSWORD}");
        // By the interpreter: a path with a blank in it is none in the first line of a script.
        let script = python.with_file_name("mtls-perf-bench");
        Command::new(python)
            .arg(script)
            .args(self.server())
            .arg(password)
            .args(args)
            .stdin(Stdio::null())
            .output()
            .unwrap()
            .into()
    }

    fn value(&self, sql: &str) -> String {
        self.owned.admin().query_value(sql).unwrap().unwrap_or_default()
    }

    /// CREATE TABLE of `t`.
    fn table(&self) -> String {
        self.owned.admin().query("SHOW CREATE TABLE truetps_m.t").unwrap().rows[0][1]
            .clone()
            .unwrap()
    }

    fn sent(&self, like: &str) -> u64 {
        let sql = "SELECT COUNT(*) FROM mysql.general_log WHERE command_type = 'Query' AND \
                   LOWER(argument) LIKE";
        self.value(&format!("{sql} '{like}' AND argument NOT LIKE '%general_log%'"))
            .parse()
            .unwrap()
    }
}

/// The original in a virtual environment of its own; `None`, and said, where it cannot be had and
/// need not be.
#[expect(clippy::disallowed_methods, reason = "the program to compare with")]
fn original(place: &Place, test: &str) -> Option<PathBuf> {
    const REQUIRED: &str = "TRUETPS_REQUIRE_MTLS";
    // It does not say that it needs the connector.
    const PACKAGES: [&str; 2] = ["mysqltools-python==2.22.7.20", "mysql-connector-python==9.1.0"];
    let run = |program: &Path, args: &[&str]| {
        let ran = Command::new(program)
            .args(args)
            .current_dir(place.path())
            .stdin(Stdio::null())
            .output();
        let ran = ran.map_err(|error| error.to_string())?;
        if ran.status.success() {
            Ok(())
        } else {
            Err(String::from_utf8_lossy(&ran.stderr).into_owned())
        }
    };
    let python = place.path().join("venv/bin/python");
    let install = [&["-m", "pip", "install", "--quiet"][..], &PACKAGES].concat();
    let fetched =
        run(Path::new("python3"), &["-m", "venv", "venv"]).and_then(|()| run(&python, &install));
    match fetched {
        Ok(()) => Some(python),
        Err(problem) => {
            let is_required = std::env::var_os(REQUIRED).is_some_and(|value| value == "1");
            assert!(
                !is_required,
                "{REQUIRED} is 1, and mtls-perf-bench cannot be fetched: {problem}"
            );
            // Past the harness, which hides what passing tests print.
            let text = format!(
                "SKIPPED {test}: mtls-perf-bench cannot be fetched from PyPI ({REQUIRED}=1 demands \
                 it)"
            );
            let _ = writeln!(std::io::stderr(), "{text}");
            None
        }
    }
}

/// The time behind a name in the block, in microseconds.
fn block_us(block: &str, name: &str) -> f64 {
    let text = block.split(&format!("{name} ")).nth(1).unwrap();
    let (number, unit) = text.split([',', '\n']).next().unwrap().split_once(' ').unwrap();
    let factor = ["µs", "ms", "s"]
        .into_iter()
        .zip([1.0, 1e3, 1e6])
        .find(|(name, _)| *name == unit)
        .unwrap()
        .1;
    number.parse::<f64>().unwrap() * factor
}

/// `run.json` of the newest run says so, too.
fn validity(place: &Place) -> Value {
    place.run_json("trial-0001")["validity"].clone()
}

/// Lines of the log without times, processes and figures.
fn lines(log: &str) -> Vec<String> {
    let message = |line: &str| {
        line.splitn(6, "  ")
            .skip(1)
            .enumerate()
            .filter(|(n, _)| *n != 1)
            .map(|(_, part)| part.replace(|c: char| c.is_ascii_digit(), ""))
            .collect::<Vec<_>>()
            .join("  ")
    };
    let mut lines: Vec<String> =
        log.lines().map(message).map(|line| line.replace('.', "")).collect();
    lines.dedup();
    lines
}

const COLUMNS: [&str; 7] = [
    "--ints=4",
    "--floats=2",
    "--varchars=2",
    "--doubles=1",
    "--texts=1",
    "--decimals=1",
    "--decimal-precision=14",
];

#[test]
fn it_makes_and_fills_the_table_of_the_original() {
    const TEST: &str = "it_makes_and_fills_the_table_of_the_original";
    let Some(bench) = Bench::start(TEST) else { return };
    let Some(program) = original(&bench.place, TEST) else { return };
    let mut seen = Vec::new();
    for is_ours in [true, false] {
        let run =
            |args: &[&str]| if is_ours { bench.ours(args) } else { bench.original(&program, args) };
        let made = run(&[&COLUMNS[..], &["create"]].concat());
        let table = bench.table();
        // The original commits its CREATE TABLE, too.
        bench.owned.execute(&["TRUNCATE mysql.general_log"]);
        let filled = run(&[&COLUMNS[..], &["--rows=60", "--parallel=4", "insert"]].concat());
        let rows = bench.rows();
        let sent = (bench.sent("insert into %"), bench.sent("commit"));
        let widths = bench
            .value("SELECT GROUP_CONCAT(DISTINCT LENGTH(c0), ',', LENGTH(t0)) FROM truetps_m.t");
        let dropped = run(&["drop"]);
        let codes = [made.code, filled.code, dropped.code];
        let logs = [&made, &filled].map(|ran| lines(&ran.stderr));
        seen.push((codes, table, rows, sent, widths, logs));
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!((seen[0].0, seen[0].2.as_str(), seen[0].3), ([Some(0); 3], "60", (60, 60)));
}

#[test]
fn the_last_line_of_the_log_has_the_figure() {
    let Some(bench) = Bench::start("the_last_line_of_the_log_has_the_figure") else { return };
    assert_eq!(bench.ours(&["--ints=1", "create"]).code, Some(0));
    let ran = bench.ours(&["--ints=1", "--rows=50", "--parallel=2", "insert"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let last = ran.stderr.lines().last().unwrap();
    let message = last.rsplit("  INFO  ").next().unwrap();
    assert!(
        message.starts_with("TPS:") && message.contains(" duration ") && message.ends_with("(s)"),
        "{last}"
    );
    assert!(
        ran.stdout.starts_with("truetps\n") && ran.stdout.contains("50 of 50 rows"),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout.contains("\tvalidity: valid") && ran.stdout.contains("\tseed: 1\n"),
        "{}",
        ran.stdout
    );
    assert_eq!(bench.place.run_json("trial-0001")["measured"]["ok"], 50);
    assert_secret(&bench.place, &ran);
    let classic = bench.ours(&["--ints=1", "--classic", "--runs=none", "insert"]);
    assert_eq!((classic.code, classic.stdout.as_str()), (Some(0), ""));
}

#[test]
fn defect_1_no_row_is_lost_to_a_remainder() {
    let Some(bench) = Bench::start("defect_1_no_row_is_lost_to_a_remainder") else { return };
    bench.ours(&["--ints=1", "create"]);
    let ran = bench.ours(&["--ints=1", "--rows=803", "--parallel=8", "insert"]);
    assert_eq!((ran.code, bench.rows().as_str()), (Some(0), "803"), "{}", ran.stderr);
    let ran = bench.ours(&["--ints=1", "--rows=803", "--batch=8", "insert"]);
    assert!(
        ran.code == Some(2) && ran.stderr.contains("--rows=803 is not a multiple of --batch=8"),
        "{}",
        ran.stderr
    );
    let ran = bench.ours(&["--ints=1", "--rows=800", "--batch=8", "--parallel=3", "insert"]);
    assert_eq!((ran.code, bench.rows().as_str()), (Some(0), "1603"), "{}", ran.stderr);
}

#[test]
fn defects_2_to_4_errors_do_not_show_the_password() {
    let Some(bench) = Bench::start("defects_2_to_4_errors_do_not_show_the_password") else {
        return;
    };
    assert_eq!(bench.ours(&["--ints=1", "create"]).code, Some(0));
    let again = bench.ours(&["--ints=1", "create"]);
    assert!(
        again.code == Some(3) && again.stderr.contains("ERROR  1050 (42S01): Table"),
        "{}",
        again.stderr
    );
    let denied = bench.ours(&["--ints=1", "--user=nobody_here", "create"]);
    assert!(
        denied.code == Some(3) && denied.stderr.contains("ERROR  1045 (28000): Access denied"),
        "{}",
        denied.stderr
    );
    assert_secret(&bench.place, &denied);
    // The table has other columns: each INSERT fails, and the run says so to its end.
    let failed = bench.ours(&["--floats=1", "--rows=10", "insert"]);
    assert_eq!(failed.code, Some(2), "{}", failed.stderr);
    assert!(
        failed.stderr.contains("Unknown column 'f0'") && failed.stderr.contains("TPS:0.00"),
        "{}",
        failed.stderr
    );
    assert!(failed.stdout.contains("0 of 10 rows, 10 failed"), "{}", failed.stdout);
    assert_eq!(bench.ours(&["drop"]).code, Some(0));
    assert_eq!(bench.ours(&["drop"]).code, Some(3));
    // Nothing is inserted into a table that is missing.
    let sent = bench.sent("insert into %");
    let missing = bench.ours(&["--ints=1", "--rows=80000", "--parallel=8", "insert"]);
    assert_eq!(missing.code, Some(3), "{}", missing.stderr);
    assert!(
        missing.stderr.contains("ERROR  1146 (42S02): Table 'truetps_m.t' doesn't exist"),
        "{}",
        missing.stderr
    );
    assert_eq!(
        (missing.stderr.lines().count(), bench.sent("insert into %")),
        (1, sent),
        "{}",
        missing.stderr
    );
    for (args, expect) in
        [(&["insert"][..], "columns counts equal 0"), (&["create"], "do not have any columns")]
    {
        let ran = bench.ours(args);
        assert!(ran.code == Some(2) && ran.stderr.contains(expect), "{}", ran.stderr);
    }
}

#[test]
fn texts_fit_their_columns_and_a_seed_decides_them() {
    let Some(bench) = Bench::start("texts_fit_their_columns_and_a_seed_decides_them") else {
        return;
    };
    let columns = [
        "--varchars=1",
        "--varchar-length=20",
        "--decimals=1",
        "--decimal-precision=5",
        "--blobs=1",
        "--bigints=1",
        "--datetimes=1",
    ];
    assert_eq!(bench.ours(&[&columns[..], &["create"]].concat()).code, Some(0));
    let mut sums = Vec::new();
    for seed in ["--seed=1", "--seed=1", "--seed=2"] {
        bench.owned.execute(&["TRUNCATE truetps_m.t"]);
        let ran = bench.ours(&[&columns[..], &["--rows=40", seed, "insert"]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        sums.push(bench.value(
            "SELECT CONCAT(COUNT(*), ' ', MAX(LENGTH(c0)), ' ', SUM(CRC32(CONCAT(c0, dm0, b0, \
             dt0)))) FROM truetps_m.t",
        ));
    }
    assert!(sums[0].starts_with("40 20 ") && sums[0] == sums[1] && sums[0] != sums[2], "{sums:?}");
}

#[test]
fn a_time_is_kept_to() {
    let Some(bench) = Bench::start("a_time_is_kept_to") else { return };
    bench.before_each_row("DO SLEEP(0.02)");
    // 100 rows are the default, and no multiple of 7: with a time they are not asked for.
    let timed = bench.ours(&["--ints=1", "--time=0.5", "--batch=7", "--prepared", "insert"]);
    assert_eq!(timed.code, Some(0), "{}{}", timed.stdout, timed.stderr);
    let rows: u64 = bench.rows().parse().unwrap();
    assert!(rows > 0 && rows.is_multiple_of(7), "{rows}");
    let trial = bench.place.run_json("trial-0001");
    assert_eq!(trial["engine"]["protocol"], "prepared");
    assert!((499.0..600.0).contains(&trial["measured"]["length_ms"].as_f64().unwrap()), "{trial}");
    let plan = std::fs::read_to_string(bench.place.latest().join("plan.toml")).unwrap();
    assert!(plan.contains("measure_s = 0.5") && !plan.contains("measure_transactions"), "{plan}");
    let both = bench.ours(&["--ints=1", "--time=1", "--rows=7", "insert"]);
    assert!(both.code == Some(2) && both.stderr.contains("cannot be used with"), "{}", both.stderr);
}

#[test]
fn a_rate_sends_as_many_rows_as_were_asked_for() {
    let Some(bench) = Bench::start("a_rate_sends_as_many_rows_as_were_asked_for") else { return };
    // The schedule is faster than the server: when one row is done, all other clients are at work
    // on theirs.
    bench.before_each_row("DO SLEEP(0.02)");
    let open = bench.ours(&["--ints=1", "--rate=5000", "--rows=50", "--parallel=8", "insert"]);
    assert_eq!(
        (open.code, bench.rows().as_str()),
        (Some(0), "50"),
        "{}{}",
        open.stdout,
        open.stderr
    );
    assert!(open.stdout.contains("50 of 50 rows; 50 rows changed"), "{}", open.stdout);
    assert!(bench.place.run_json("trial-0001")["measured"]["open_loop"].is_object());
}

#[test]
fn ctrl_c_ends_a_run_and_keeps_what_was_measured() {
    let Some(bench) = Bench::start("ctrl_c_ends_a_run_and_keeps_what_was_measured") else { return };
    assert_eq!(bench.ours(&["--ints=1", "create"]).code, Some(0));
    let running = bench.start_ours(&["--ints=1", "--time=600", "--parallel=3", "insert"]);
    wait_until("rows", || bench.rows() != "0");
    signal(running.id(), Signal::INT);
    let ran: Ran = running.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(130), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("validity: partial: interrupted"), "{}", ran.stdout);
    assert!(ran.stderr.contains("TPS:") && !ran.stderr.contains("TPS:0.00"), "{}", ran.stderr);
    assert_eq!(validity(&bench.place)["state"], "partial");
    assert_secret(&bench.place, &ran);
}

#[test]
fn ctrl_c_ends_the_wait_for_a_statement() {
    let Some(bench) = Bench::start("ctrl_c_ends_the_wait_for_a_statement") else { return };
    assert_eq!(bench.ours(&["--ints=1", "create"]).code, Some(0));
    let mut reader = bench.owned.admin();
    for sql in ["BEGIN", "SELECT COUNT(*) FROM truetps_m.t"] {
        reader.query(sql).unwrap();
    }
    // It waits for the reader's transaction, like one that has much to remove.
    let dropping = bench.start_ours(&["drop"]);
    let waiting =
        "SELECT COUNT(*) FROM information_schema.processlist WHERE info = 'drop table truetps_m.t'";
    wait_until("DROP TABLE", || bench.value(waiting) == "1");
    signal(dropping.id(), Signal::INT);
    let ran: Ran = dropping.wait_with_output().unwrap().into();
    let expect = "ERROR  interrupted: the server may still finish the statement";
    assert!(ran.code == Some(130) && ran.stderr.contains(expect), "{:?} {}", ran.code, ran.stderr);
    reader.execute("COMMIT").unwrap();
}

#[test]
fn ctrl_c_ends_rows_that_wait_for_a_lock() {
    let Some(bench) = Bench::start("ctrl_c_ends_rows_that_wait_for_a_lock") else { return };
    assert_eq!(bench.ours(&["--ints=1", "create"]).code, Some(0));
    for more in [&["insert"][..], &["--prepared", "insert"]] {
        let mut holder = bench.owned.admin();
        holder.execute("LOCK TABLES truetps_m.t WRITE").unwrap();
        let running =
            bench.start_ours(&[&["--ints=1", "--rows=1000", "--parallel=3"], more].concat());
        let waiting =
            "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'insert into t%'";
        wait_until("rows that wait", || bench.value(waiting) == "3");
        let began = std::time::Instant::now();
        signal(running.id(), Signal::INT);
        let ran: Ran = running.wait_with_output().unwrap().into();
        assert_eq!(ran.code, Some(130), "{}{}", ran.stdout, ran.stderr);
        assert!(began.elapsed() < std::time::Duration::from_secs(30), "{:?}", began.elapsed());
        assert!(
            ran.stderr.contains("mtls-perf-bench: interrupted: running inserts are ended after"),
            "{}",
            ran.stderr
        );
        assert_eq!(bench.value(waiting), "0");
    }
}

#[test]
fn no_password_is_in_the_list_of_processes() {
    let Some(bench) = Bench::start("no_password_is_in_the_list_of_processes") else { return };
    assert_eq!(bench.ours(&["--ints=1", "create"]).code, Some(0));
    let (server, password) = (bench.server(), format!("--passw={PASSWORD}"));
    let server: Vec<_> = server.iter().map(String::as_str).collect();
    let words = [&["mtls"], &server[..], &[&password, "--ints=1", "--time=600", "insert"]].concat();
    let running = bench.place.start(&words);
    wait_until("rows", || bench.rows() != "0");
    let shown = std::fs::read_to_string(format!("/proc/{}/cmdline", running.id()))
        .unwrap()
        .replace('\0', " ");
    assert!(shown.contains(" --password=x --ints=1 ") && !shown.contains("h1dden"), "{shown}");
    signal(running.id(), Signal::INT);
    let ran: Ran = running.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(130), "{}{}", ran.stdout, ran.stderr);
    assert_secret(&bench.place, &ran);
}

#[test]
fn the_usage_has_the_name_that_was_typed() {
    let place = Place::new();
    let usage =
        |text: String| text.lines().find(|line| line.starts_with("Usage: ")).unwrap().to_owned();
    assert!(usage(place.run(&["mtls", "--help"]).stdout).starts_with("Usage: truetps mtls "));
    assert!(usage(place.run(&["mtls"]).stderr).starts_with("Usage: truetps mtls "));
    let link = place.path().join("mtls-perf-bench");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_truetps"), &link).unwrap();
    let ran: Ran = place.program(&link, &["--help"]).output().unwrap().into();
    assert!(usage(ran.stdout).starts_with("Usage: mtls-perf-bench "));
}

#[test]
fn clients_that_cannot_connect_are_reported_with_their_error() {
    let Some(bench) = Bench::start("clients_that_cannot_connect_are_reported_with_their_error")
    else {
        return;
    };
    bench.before_each_row("SET @row = 1");
    bench.owned.execute(&["SET GLOBAL max_connections = 12"]);
    let args = ["--ints=1", "--parallel=30", "--rows=300", "insert"];
    let ran = bench.ours(&args);
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    let errors = ran.stdout.lines().find(|line| line.starts_with("\terrors: ")).unwrap();
    assert!(
        errors.contains("too_many_connections (") || errors.contains("Too many connections"),
        "{errors}"
    );
    assert!(
        ran.stdout.contains("clients: 30, of which ") && ran.stdout.contains("INVALID: "),
        "{}",
        ran.stdout
    );
    let classic = bench.ours(&[&["--classic"], &args[..]].concat());
    assert_eq!((classic.code, classic.stdout.as_str()), (Some(2), ""));
    for text in ["Too many connections", "clients could not connect"] {
        assert!(
            classic.stderr.lines().any(|line| line.contains("  ERROR  ") && line.contains(text)),
            "{}",
            classic.stderr
        );
    }
    assert!(classic.stderr.lines().last().unwrap().contains("  INFO  TPS:"), "{}", classic.stderr);
}

#[test]
fn one_failed_row_makes_block_and_record_invalid() {
    let Some(bench) = Bench::start("one_failed_row_makes_block_and_record_invalid") else { return };
    // One of 500: less than the share that a sweep forgives.
    bench.before_each_row(
        "IF COALESCE(@row, 0) = 250 THEN SET @row = 251; SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT \
         = 'no such luck'; ELSE SET @row = COALESCE(@row, 0) + 1; END IF",
    );
    let ran = bench.ours(&["--ints=1", "--rows=500", "insert"]);
    assert_eq!((ran.code, bench.rows().as_str()), (Some(2), "499"), "{}", ran.stderr);
    assert_eq!(validity(&bench.place)["state"], "invalid");
    let reason = reason_of(&bench.place.run_json("trial-0001"));
    assert!(
        ran.stdout.contains(&format!("\tvalidity: INVALID: {reason}\n")),
        "{reason}: {}",
        ran.stdout
    );
    assert!(
        ran.stdout.contains("499 of 500 rows, 1 failed") && reason.contains("1 of 500"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("\terrors: 1 other(1644) ("), "{}", ran.stdout);
}

#[test]
fn an_account_that_requires_tls_inserts_by_tls() {
    let Some(binary) = mariadb("an_account_that_requires_tls_inserts_by_tls") else { return };
    let place = Place::new();
    let certificates = Certificates::make(place.path());
    let path = |name: &str| certificates.path(name).display().to_string();
    let owned = Owned::start(
        &binary,
        &[("ssl_cert", &path("server.pem")), ("ssl_key", &path("server.key"))],
    );
    owned.execute(&[
        "CREATE DATABASE truetps_m",
        "CREATE USER t@'%' REQUIRE SSL",
        "GRANT ALL ON truetps_m.* TO t@'%'",
    ]);
    let port = format!("--port={}", owned.port);
    let run = |action: &str, more: &[&str]| {
        let words = [
            "mtls",
            &port,
            "--user=t",
            "--password=",
            "--database=truetps_m",
            "--ints=1",
            "--rows=4",
            action,
        ];
        Ran::from(place.command(&[&words[..], more].concat()).output().unwrap())
    };
    let [known, unknown] =
        ["ca.pem", "other-ca.pem"].map(|name| format!("--ssl-ca={}", path(name)));
    let made = run("create", &["--ssl-mode=verify_identity", &known]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    for (more, code) in [
        (&["--ssl-mode=required"][..], 0),
        (&[known.as_str()], 0),
        // As the connector of the original does: TLS where the server has it.
        (&[], 0),
        (&[unknown.as_str()], 3),
        (&["--ssl-mode=disabled"], 3),
    ] {
        let ran = run("insert", more);
        assert_eq!(ran.code, Some(code), "{more:?}: {}", ran.stderr);
    }
}

#[test]
fn percentiles_match_the_record() {
    let Some(bench) = Bench::start("percentiles_match_the_record") else { return };
    // The row that is under way when the time is over ends long after it.
    bench.before_each_row(
        "BEGIN SET @row = COALESCE(@row, 0) + 1; DO SLEEP(IF(@row < 4, 0.01, 2)); END",
    );
    let ran = bench.ours(&["--ints=1", "--time=0.5", "insert"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let figures = bench.place.run_json("trial-0001")["measured"].clone();
    for (name, field) in [("p99", "response_us_p99"), ("max", "response_us_max")] {
        let (said, kept) = (block_us(&ran.stdout, name), figures[field].as_f64().unwrap());
        assert!(
            (said - kept).abs() < kept / 100.0 && kept < 1e6,
            "{name}: {said} and {kept}: {}",
            ran.stdout
        );
    }
}

#[test]
fn a_server_that_dies_is_reported() {
    let Some(bench) = Bench::start("a_server_that_dies_is_reported") else { return };
    assert_eq!(bench.ours(&["--ints=1", "create"]).code, Some(0));
    let running = bench.start_ours(&["--ints=1", "--time=600", "--parallel=3", "insert"]);
    wait_until("rows", || bench.rows() != "0");
    signal(bench.owned.server.pid(), Signal::KILL);
    let ran: Ran = running.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(2), "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stdout.contains("connection_lost (")
            && ran.stdout.contains("INVALID: all clients lost"),
        "{}",
        ran.stdout
    );
    assert!(ran.stderr.contains("ERROR  all clients lost their connection"), "{}", ran.stderr);
    assert_secret(&bench.place, &ran);
    let gone = bench.ours(&["--ints=1", "insert"]);
    assert!(
        gone.code == Some(3) && gone.stderr.contains("ERROR  "),
        "{:?} {}",
        gone.code,
        gone.stderr
    );
}

/// Without a server: nothing of it is sent.
#[test]
fn what_cannot_be_done_is_refused_before_a_server_is_asked() {
    let place = Place::new();
    for (args, expect) in [
        (&["--ints=4000000000", "insert"][..], "4000000000 columns are more than"),
        (&["--ints=2000", "create"], "2000 columns are more than"),
        (
            &["--texts=1", "--value-length=4000000000", "insert"],
            "--value-length: 4000000000 is not between",
        ),
        (
            &["--decimals=1", "--decimal-scale=13", "create"],
            "--decimal-scale: 13 is not between 0 and 12",
        ),
        (&["--varchars=1", "--varchar-length=0", "create"], "--varchar-length: 0 is not between"),
        (&["--table=a b", "drop"], "--table: a table's name is"),
        (&["--ints=1", "--rows=9223372036854775808", "insert"], "9223372036854775808"),
        (&["--ints=1", "--seed=9223372036854775808", "insert"], "9223372036854775808"),
        (&["--ints=1", "--rows=0", "insert"], "--rows"),
        (
            &["--ints=1", "--rows=803", "--batch=8", "insert"],
            "--rows=803 is not a multiple of --batch=8",
        ),
        (&["--ints=1", "--runs=/proc/nowhere", "insert"], "or use --runs=none"),
    ] {
        // Nothing listens there.
        let ran = place.run(&[&["mtls", "--port=1"], args].concat());
        assert!(
            ran.code == Some(2) && ran.stderr.contains(expect),
            "{args:?}: {:?} {}",
            ran.code,
            ran.stderr
        );
    }
}
