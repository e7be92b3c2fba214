//! `--dsn` on an external MariaDB: truetps creates and drops a schema, changes nothing else, and
//! never shows the password.

use std::fs;
use std::process::Stdio;

use rustix::process::Signal;
use truetps_testkit::mysql_family::{fetched_server, mariadb};

use crate::common::{Place, Ran, signal, wait_until};
use crate::support::{
    ACCOUNT, Owned, PASSWORD_ENCODED, assert_secret, run_with_password, short_run, valid_trial,
};

const SMALL: &[&str] = &["--table-rows=500"];

/// Two tables, one of which refers to the other.
const ORDERS: &str = include_str!("../plans/orders.toml");

#[test]
fn an_external_server_is_left_as_it_was() {
    let Some(binary) = mariadb("an_external_server_is_left_as_it_was") else { return };
    let owned = Owned::start(&binary, &[("log_bin", "ON")]);
    let place = Place::new();
    let before = owned.belongings();

    let (socket, tcp) = (owned.socket_dsn(), owned.tcp_dsn());
    let ran = place.run(&short_run("insert", &socket, SMALL));
    let trial = valid_trial(&place, &ran);
    assert_eq!(trial["server"]["flavour"], "mariadb");
    assert!(
        trial["measured"]["server_cpu_us_per_tx"].is_number(),
        "one process behind a socket: {trial}"
    );
    let variables =
        fs::read_to_string(place.latest().join("trial-0001/server/variables.json")).unwrap();
    assert!(variables.contains("innodb_flush_log_at_trx_commit"), "its settings are recorded");
    assert_eq!(owned.belongings(), before);

    // By TCP, as an account with few rights, into a schema of another name, after another database
    // than the default.
    let ran = run_with_password(
        &place,
        &short_run("read-write", &tcp, &["--table-rows=500", "--schema=truetps_2"]),
    );
    valid_trial(&place, &ran);
    assert_secret(&place, &ran);
    assert_eq!(owned.belongings(), before);

    // A sweep, several trials, from the address in the environment; tables that refer to each other
    // are refilled.
    place.write("orders.toml", ORDERS);
    let mut command = place.command(&["sweep", "./orders.toml"]);
    let ran: Ran = command.env("TRUETPS_DSN", &socket).output().unwrap().into();
    valid_trial(&place, &ran);
    assert_eq!(
        place.run_json("trial-0002")["validity"]["state"],
        "valid",
        "the tables were refilled"
    );
    assert_eq!(owned.belongings(), before);
    assert!(!place.home().exists(), "no private server was needed");
    let report = place.run(&["report", "--format", "json"]);
    assert_eq!(report.code, Some(0), "{}", report.stderr);
}

#[test]
fn replicas_and_archives_are_reported_and_recorded() {
    let test = "who_else_gets_what_is_written";
    let mysql = fetched_server(test, "mysql-8.0").map(|server| server.binary);
    for binary in mariadb(test).into_iter().chain(mysql) {
        let owned = Owned::start(&binary, &[("log_bin", "ON")]);
        let place = Place::new();
        let dsn = format!("mysql://{ACCOUNT}@?socket={}", owned.server.socket().display());
        let args =
            ["run", "insert", "--dsn", &dsn, "--table-rows=500", "--warm-up=0.1", "--measure=1.6"];
        let ran = run_with_password(&place, &args);
        valid_trial(&place, &ran);
        // MariaDB counts replicas in a status that every account sees.
        let (count, words) = if binary.is_mariadb() {
            (Some(0), "no replica is connected now")
        } else {
            (None, "whether replicas follow this server is unknown: the account lacks PROCESS")
        };
        assert!(
            ran.stderr.contains("log_bin = ON") && ran.stderr.contains(words),
            "{}",
            ran.stderr
        );
        let logged = &place.run_json("trial-0001")["logged"];
        assert!(logged["redo_bytes"].as_u64().unwrap() > 100_000, "{logged}");
        assert_eq!(
            logged["binlog_bytes"].as_u64().is_some_and(|bytes| bytes > 100_000),
            binary.is_mariadb(),
            "{logged}"
        );
        // Told from the first second of the filling, or at its end.
        let volume = ["filling the tables has written", "will write about"];
        assert!(volume.iter().any(|words| ran.stderr.contains(words)), "{}", ran.stderr);
        // The account may read the counter of MariaDB's binlog.
        let load = ran
            .stderr
            .lines()
            .find(|line| line.contains("the load writes about "))
            .unwrap_or(&ran.stderr);
        assert!(load.contains(" until the end of the experiment"), "{load}");
        assert_eq!(load.contains("unknown volume of binlog"), !binary.is_mariadb(), "{load}");
        let report = place.good(&["report", "--format", "json"]).stdout;
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        let replication = &report["experiment"]["guest"]["replication"];
        assert_eq!(
            (replication["replicas"].as_u64(), &replication["log_bin"]),
            (count, &true.into()),
            "{replication}"
        );
        let report = place.good(&["report", "--full"]).stdout;
        assert!(
            report.split_whitespace().collect::<Vec<_>>().join(" ").contains(words),
            "{report}"
        );
        if binary.is_mariadb() {
            continue;
        }
        owned.execute(&[&format!("GRANT PROCESS ON *.* TO {ACCOUNT}@'%'")]);
        let ran = run_with_password(&place, &short_run("insert", &dsn, SMALL));
        assert!(ran.stderr.contains("no replica is connected now"), "{}", ran.stderr);
    }
}

#[test]
fn programs_that_are_replaced_warn_of_who_else_gets_their_writes() {
    const SCRIPT: &str = "
function prepare() sysbench.sql.driver():connect():query('CREATE TABLE s (i INT)') end
function cleanup() sysbench.sql.driver():connect():query('DROP TABLE s') end
function thread_init() connection = sysbench.sql.driver():connect() end
function event() connection:query('INSERT INTO s VALUES (1)') end
";
    let Some(binary) = mariadb("programs_that_are_replaced") else { return };
    let owned = Owned::start(&binary, &[("log_bin", "ON")]);
    owned.execute(&["CREATE DATABASE truetps_m"]);
    let place = Place::new();
    place.write("s.lua", SCRIPT);
    let dsn = format!("--dsn={}/truetps_m", owned.tcp_dsn());
    let port = format!("--port={}", owned.port);
    let socket = format!("--socket={}", owned.server.socket().display());
    let sysbench =
        |command| vec!["sysbench", "./s.lua", &dsn, "--events=3", "--runs=none", command];
    let mtls = [
        &["mtls", &port, "--user", ACCOUNT, "--database=truetps_m"][..],
        &["--ints=1", "--rows=4"],
    ];
    let mtls = |action| [&mtls.concat()[..], &[action]].concat();
    let slap = vec![
        "slap",
        "--no-defaults",
        &socket,
        "--user=root",
        "--auto-generate-sql",
        "--number-of-queries=5",
    ];
    for (words, warns) in [
        (sysbench("prepare"), true),
        (sysbench("run"), true),
        (sysbench("cleanup"), false),
        (mtls("create"), false),
        (mtls("insert"), true),
        (slap, true),
    ] {
        let ran = run_with_password(&place, &words);
        assert_eq!(ran.code, Some(0), "{words:?}: {}{}", ran.stdout, ran.stderr);
        let told = ran
            .stderr
            .lines()
            .filter(|line| line.contains("log_bin = ON") && line.contains("replica"))
            .count();
        assert_eq!(told, usize::from(warns), "{words:?}: {}", ran.stderr);
        assert!(!ran.stdout.contains("log_bin"), "{words:?}: {}", ran.stdout);
    }
}

#[test]
fn two_runs_on_one_host_learn_of_each_other() {
    let Some(binary) = mariadb("two_runs_on_one_host") else { return };
    let owned = Owned::start(&binary, &[]);
    let (first, second) = (Place::new(), Place::new());
    let dsn = owned.socket_dsn();
    let together = format!("t{}", std::process::id());
    let mut command = first.command(&[
        "run",
        "insert",
        "--dsn",
        &dsn,
        "--rate=50",
        "--measure=60",
        "--table-rows=300",
    ]);
    let child =
        command.env("TRUETPS_PRESENCE", &together).stderr(Stdio::piped()).stdout(Stdio::null());
    let child = child.spawn().unwrap();
    first.wait_for_interval("trial-0001");
    let pid = child.id();
    let args = short_run("insert", &dsn, &["--table-rows=300", "--schema=truetps_2"]);
    let ran: Ran =
        second.command(&args).env("TRUETPS_PRESENCE", &together).output().unwrap().into();
    let trial = valid_trial(&second, &ran);
    let words = format!("truetps run (process {pid})");
    assert!(ran.stderr.contains(&words), "{}", ran.stderr);
    assert_eq!(trial["beside"][0]["pid"], pid, "{trial}");
    let report = second.good(&["report", "--full"]).stdout;
    let report = report.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(report.contains("truetps run also put load on this host"), "{report}");
    // The first one hears of what began during it, whether it is there still or not.
    signal(pid, Signal::INT);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert!(ran.stderr.contains("truetps run (process "), "{}", ran.stderr);
    let trial = first.run_json("trial-0001");
    assert_eq!(trial["beside"][0]["command"], "run", "{trial}");
    assert_ne!(trial["beside"][0]["pid"], pid);
}

#[test]
fn a_password_on_the_command_line_is_warned_of_and_goes_no_further() {
    let Some(binary) = mariadb("a_password_on_the_command_line") else { return };
    let owned = Owned::start(&binary, &[]);
    for form in ["--dsn", "--dsn="] {
        let place = Place::new();
        let dsn = format!("mysql://{ACCOUNT}:{PASSWORD_ENCODED}@127.0.0.1:{}", owned.port);
        let joined = format!("--dsn={dsn}");
        let address = if form == "--dsn" { vec!["--dsn", &dsn] } else { vec![joined.as_str()] };
        let args =
            [&["run", "insert", "--measure=0.5", "--warm-up=0", "--table-rows=500"][..], &address]
                .concat();
        let ran = place.run(&args);
        valid_trial(&place, &ran);
        assert!(ran.stderr.contains("warning: a password on the command line"), "{}", ran.stderr);
        assert_secret(&place, &ran);
        let experiment = fs::read_to_string(place.latest().join("experiment.json")).unwrap();
        assert!(
            experiment.contains(&format!("mysql://{ACCOUNT}@127.0.0.1:{}/", owned.port)),
            "{experiment}"
        );
        let report = place.run(&["report"]);
        assert_secret(&place, &report);
    }
}

#[test]
fn ctrl_c_and_errors_leave_no_schema() {
    let Some(binary) = mariadb("ctrl_c_and_errors_leave_no_schema") else { return };
    let owned = Owned::start(&binary, &[]);
    let before = owned.belongings();
    let place = Place::new();
    let dsn = owned.socket_dsn();

    let child = place.start(&[
        "run",
        "insert",
        "--dsn",
        &dsn,
        "--rate=50",
        "--measure=60",
        "--table-rows=500",
    ]);
    place.wait_for_interval("trial-0001");
    assert_ne!(owned.belongings(), before, "it works in a schema");
    signal(child.id(), Signal::INT);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    assert_eq!(place.run_json("trial-0001")["validity"]["state"], "partial");
    assert_eq!(owned.belongings(), before, "Ctrl-C");

    // While the tables are filled.
    let child = place.start(&[
        "run",
        "insert",
        "--dsn",
        &dsn,
        "--table-rows=100000000",
        "--schema=truetps_big",
    ]);
    wait_until("a table", || {
        let tables = "SELECT 1 FROM information_schema.tables WHERE table_schema = 'truetps_big'";
        owned.admin().query_value(tables).unwrap().is_some()
    });
    signal(child.id(), Signal::INT);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    assert_eq!(owned.belongings(), before, "Ctrl-C while the tables were filled");

    place.write("broken.toml", &ORDERS.replace("name VARCHAR(30)", "name VARCHER(30)"));
    let ran = place.run(&["sweep", "./broken.toml", "--dsn", &dsn]);
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("preparing the tables: ") && ran.stderr.contains("VARCHER"),
        "{}",
        ran.stderr
    );
    assert_eq!(owned.belongings(), before, "an error");
}

#[test]
#[expect(clippy::too_many_lines, reason = "one journey")]
fn what_a_run_on_an_external_server_does_not_do() {
    let Some(binary) = mariadb("what_a_run_on_an_external_server_does_not_do") else { return };
    let owned = Owned::start(&binary, &[]);
    owned.execute(&[
        "CREATE DATABASE truetps",
        "CREATE TABLE truetps.mine (id INT)",
        "INSERT INTO truetps.mine VALUES (7)",
    ]);
    let before = owned.belongings();
    let place = Place::new();
    let (dsn, tcp) = (owned.socket_dsn(), owned.tcp_dsn());
    let check = |ran: &Ran, words: &[&str]| {
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        for word in words {
            assert!(ran.stderr.contains(word), "{word:?} should be in:\n{}", ran.stderr);
        }
        assert_eq!(owned.belongings(), before, "{words:?}");
        assert_eq!(
            fs::read_dir(place.path().join("runs")).map_or(0, Iterator::count),
            0,
            "{words:?}"
        );
    };
    let run = |flags: &[&str]| place.run(&short_run("insert", &dsn, flags));
    check(
        &run(&[]),
        &["the schema `truetps` exists already", "hint:", "--schema truetps --i-own-this-schema"],
    );
    assert!(
        !run(&[]).stderr.contains("DROP"),
        "no hint destroys a schema of the user: {}",
        run(&[]).stderr
    );
    assert_eq!(
        owned.admin().query_value("SELECT id FROM truetps.mine").unwrap().as_deref(),
        Some("7")
    );
    check(
        &run(&["--set", "log_bin=ON"]),
        &[
            "`log_bin` cannot be set on a running server",
            "hint:",
            "--dsn",
            "truetps plan show NAME > my-plan.toml",
        ],
    );
    for schema in ["mysql", "sys", "Information_Schema", "performance_schema"] {
        check(
            &run(&["--schema", schema, "--i-own-this-schema"]),
            &["belongs to the server itself", "hint:"],
        );
    }
    check(&run(&["--schema=precious"]), &["the schema `precious` exists already"]);
    place.write("levels.toml", crate::common::SMALL);
    let ran =
        run_with_password(&place, &["sweep", "./levels.toml", "--dsn", &tcp, "--schema=truetps_3"]);
    check(&ran, &["may not set global variables", "hint:", "GRANT SUPER"]);
    place.write("other.toml", &format!("{ORDERS}\n[server]\nflavour = \"mysql\"\n"));
    let ran = place.run(&["sweep", "./other.toml", "--dsn", &dsn]);
    check(&ran, &["the plan requires mysql, but this server is mariadb"]);
    // The account may make schemas of some names only.
    let ran = run_with_password(&place, &short_run("insert", &tcp, &["--schema=other"]));
    check(
        &ran,
        &["work in the schema `other`", "hint:", "only if no schema", "GRANT CREATE, DROP"],
    );
    check(&ran, &["--schema NAME --i-own-this-schema"]);
    // The schema of the address is not taken for the one to create, and the message names it.
    owned.execute(&["CREATE DATABASE app", &format!("GRANT SELECT ON app.* TO {ACCOUNT}@'%'")]);
    let ran =
        run_with_password(&place, &short_run("insert", &format!("{tcp}/app"), &["--schema=other"]));
    owned.execute(&["DROP DATABASE app", &format!("REVOKE SELECT ON app.* FROM {ACCOUNT}@'%'")]);
    check(
        &ran,
        &["the schema `app` of the address is not used", "--schema app --i-own-this-schema"],
    );
    // One that is there is refused for that, whatever the account may do in it.
    owned.execute(&[&format!("GRANT SELECT ON precious.* TO {ACCOUNT}@'%'")]);
    let ran = run_with_password(&place, &short_run("insert", &tcp, &["--schema=precious"]));
    assert!(!ran.stderr.contains("GRANT"), "{}", ran.stderr);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("the schema `precious` exists already"), "{}", ran.stderr);
    owned.execute(&[&format!("REVOKE SELECT ON precious.* FROM {ACCOUNT}@'%'")]);
    let ran = run_with_password(
        &place,
        &["run", "insert", "--dsn", &tcp.replace("127.0.0.1", "localhost.invalid")],
    );
    check(&ran, &["cannot log in", "localhost.invalid", "hint:"]);
}

/// What is in the environment is for where nothing else is named.
#[test]
fn an_address_in_the_environment_yields_to_flags() {
    let place = Place::new();
    let run = |dsn: &str, args: &[&str]| -> Ran {
        let mut command = place.command(&[&["run", "insert"][..], args].concat());
        command.env("TRUETPS_DSN", dsn).output().unwrap().into()
    };
    let long = "x".repeat(64);
    let own = format!("--schema={long}");
    let gone = "mysql://root@127.0.0.1:1";
    for (dsn, args, word) in [
        (gone, &["--server=nosuch"][..], "nosuch"),
        (gone, &["--basedir=/nowhere"], "/nowhere"),
        (gone, &["--dry-run"], "127.0.0.1:1"),
        (gone, &["--server=nosuch", "--dsn=mysql://root@h"], "cannot be used with"),
        ("", &["--dry-run"], "--dry-run needs a server of --dsn"),
        ("", &["--schema=x"], "--schema needs a server of --dsn"),
        (gone, &[&own, "--i-own-this-schema"], "127.0.0.1:1"),
        ("postgresql://x@127.0.0.1:1", &[&own, "--i-own-this-schema"], "must have 1 to 63 bytes"),
    ] {
        let ran = run(dsn, args);
        assert!(
            ran.code == Some(2) && ran.stderr.contains(word),
            "{args:?} should say {word:?}: {}",
            ran.stderr
        );
    }
}

#[test]
fn logins_that_fail_say_why_and_keep_the_password() {
    let Some(binary) = mariadb("logins_that_fail_say_why") else { return };
    let owned = Owned::start(&binary, &[]);
    let port = owned.port;
    let check = |dsn: &str, words: &[&str]| {
        let place = Place::new();
        let ran = place.run(&short_run("insert", dsn, SMALL));
        assert_eq!(ran.code, Some(2), "{dsn}: {}", ran.stderr);
        for word in words.iter().chain(&["cannot log in: ", "hint: "]) {
            assert!(ran.stderr.contains(word), "{dsn} should say {word:?}:\n{}", ran.stderr);
        }
        assert_secret(&place, &ran);
    };
    let denied = [
        "Access denied",
        "1045",
        "TRUETPS_PASSWORD",
        "--defaults-file",
        "~/.my.cnf",
        "--ask-password",
    ];
    check(&format!("mysql://{ACCOUNT}:h1dden-and-wrong@127.0.0.1:{port}"), &denied);
    check(&format!("mysql://{ACCOUNT}@127.0.0.1:{port}"), &denied);
    check(&format!("mysql://nobody:{PASSWORD_ENCODED}@127.0.0.1:{port}"), &denied);
    owned.execute(&["CREATE USER encrypted@'%' REQUIRE SSL"]);
    check(
        &format!("mysql://encrypted@127.0.0.1:{port}?tls=off"),
        &["1045", "requires TLS", "tls=required"],
    );
    check(
        &format!("mysql://{ACCOUNT}:{PASSWORD_ENCODED}@127.0.0.1:{port}/nosuch"),
        &["nosuch", "1044"],
    );
    check("mysql://root@127.0.0.1:1", &["127.0.0.1:1", "refused", "no server listens"]);
    check("mysql://root@?socket=/nowhere/sock", &["/nowhere/sock", "No such file"]);
    check(
        &format!("mysql://root@127.0.0.1:{port}?tls=verify-ca&ca=/nowhere.pem"),
        &["/nowhere.pem"],
    );
}

/// They would lock out all other users.
#[test]
fn clients_that_would_take_every_session_are_refused() {
    let Some(binary) = mariadb("clients_that_would_take_every_session") else { return };
    let owned = Owned::start(&binary, &[("max_connections", "10")]);
    let (before, place, mut others) = (owned.belongings(), Place::new(), owned.admin());
    others.execute("DO 1").unwrap();
    let run = |connections: &str| {
        run_with_password(
            &place,
            &short_run("insert", &owned.tcp_dsn(), &["--table-rows=500", connections]),
        )
    };
    for connections in ["--connections=50", "--connections=6"] {
        let ran = run(connections);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains("would use all sessions of this server"), "{}", ran.stderr);
        // Sessions that have quit are in use for a moment.
        let is_sum = |in_use: u32| {
            let (said, hint) = (
                format!("{in_use} of 10 are in use"),
                format!("hint: up to {} clients", 7 - in_use),
            );
            ran.stderr.contains(&said) && ran.stderr.contains(&hint)
        };
        assert!((2..6).any(is_sum), "{}", ran.stderr);
    }
    valid_trial(&place, &run("--connections=2"));
    // Two of administrators, one of truetps: the server is full but for a few.
    let mut more: Vec<_> = (0..6).map(|_| owned.admin()).collect();
    for client in &mut more {
        client.execute("DO 1").unwrap();
    }
    wait_until("clients that have quit", || {
        let mut rows = others.query("SHOW GLOBAL STATUS LIKE 'Threads_connected'").unwrap().rows;
        rows.remove(0).remove(1).as_deref() == Some("7")
    });
    let ran = run("--connections=1");
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    let said =
        "would use the last session of this server and lock out other users: 8 of 10 are in use";
    assert!(
        ran.stderr.contains(said)
            && ran.stderr.contains("hint: wait until other sessions have ended"),
        "{}",
        ran.stderr
    );
    drop(more);
    assert_eq!(owned.belongings(), before);
}

/// The command that the run prints at its end restores the rest, and where it would do something
/// else it says so.
#[test]
fn a_sweep_is_resumed_on_its_own_server_only() {
    let Some(binary) = mariadb("a_sweep_is_resumed_on_its_own_server_only") else { return };
    let owned = Owned::start(&binary, &[]);
    let (before, place, dsn) = (owned.belongings(), Place::new(), owned.socket_dsn());
    let load =
        "[load]\nwarm_up_s = 0\nmeasure_s = 3\n[factors]\nsync_binlog = [1, 0]\nconnections = [2]";
    place.write(
        "long.toml",
        &format!(
            "name = 'l'\nabout = 'a'\n[workload]\nname = \
                                       'insert'\ntable_rows = 300\n{load}\n[design]\nblocks = \
                                       1\naa_pair = false\n"
        ),
    );
    let child = place.start(&["sweep", "./long.toml", "--dsn", &dsn, "--schema=truetps_2"]);
    place.wait_for_interval("trial-0001");
    signal(child.id(), Signal::INT);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    let next = ran
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("Next   truetps "))
        .unwrap()
        .to_owned();
    let ran = place.run(&["sweep", "--resume"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(
        ran.stderr.contains(&format!("hint: resume it there: truetps {next}")),
        "{next}: {}",
        ran.stderr
    );
    let words: Vec<_> = next.split(' ').map(|word| word.trim_matches('\'')).collect();
    assert!(words.ends_with(&["--schema", "truetps_2"]), "{next}");
    let resumed = place.run(&words);
    assert_eq!(resumed.code, Some(3), "one block decides nothing: {}", resumed.stderr);
    let level = |trial: &&str| place.run_json(trial)["configuration"]["sync_binlog"].as_u64();
    assert!(
        ["trial-0001", "trial-0002"].iter().any(|trial| level(trial) == Some(0)),
        "the rest has the other level"
    );
    assert!(resumed.stderr.contains("block 1  [2/2]  2 of 2 trials valid"), "{}", resumed.stderr);
    // What the attempt that was repeated has written was written, too.
    let redo = |trial: &&str| place.run_json(trial)["logged"]["redo_bytes"].as_u64().unwrap();
    let all: u64 = ["trial-0001", "trial-0001.attempt-1", "trial-0002"].iter().map(redo).sum();
    // One block decides nothing here, either.
    let report = place.run(&["report", "--format", "json"]).stdout;
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(
        report["experiment"]["logged"]["redo_bytes"], all,
        "{}",
        report["experiment"]["logged"]
    );
    assert_eq!(owned.belongings(), before);
}

#[test]
fn too_many_clients_for_an_account_are_refused() {
    let Some(binary) = mariadb("too_many_clients_for_an_account") else { return };
    let owned = Owned::start(&binary, &[("max_user_connections", "100")]);
    owned.execute(&[&format!("ALTER USER {ACCOUNT}@'%' WITH MAX_USER_CONNECTIONS 5")]);
    let (before, place, dsn) = (owned.belongings(), Place::new(), owned.tcp_dsn());
    let run = |connections| {
        run_with_password(
            &place,
            &short_run("insert", &dsn, &["--table-rows=500", "--connections", connections]),
        )
    };
    let ran = run("5");
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    let said = "the account may have 5 sessions (max_user_connections) and has 1, including";
    assert!(
        ran.stderr.contains(said) && ran.stderr.contains("hint: use at most 4 clients"),
        "{}",
        ran.stderr
    );
    // Nothing was made, or the next run would have no place for its schema.
    valid_trial(&place, &run("3"));
    assert_secret(&place, &ran);
    assert_eq!(owned.belongings(), before);
    // One that is not held to it.
    owned.execute(&["SET GLOBAL max_user_connections = 3"]);
    let root = short_run("insert", "", &["--table-rows=500", "--connections=6"]);
    let socket = owned.socket_dsn();
    let root: Vec<_> =
        root.into_iter().map(|word| if word.is_empty() { socket.as_str() } else { word }).collect();
    valid_trial(&place, &place.run(&root));
}
