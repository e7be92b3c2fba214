//! Questions that need no plan file: `sweep WORKLOAD --vary`, `--save-plan`, `run --repeat`,
//! `plan check --dsn`, and a private server with the user's own my.cnf. All on real servers.

use std::fs;

use truetps_plan::Plan;
use truetps_record::SettingValue;
use truetps_testkit::mysql_family::{fetched_server, mariadb};

use crate::common::{Ends, Place, Ran, SMALL_REDO};
use crate::support::{ACCOUNT, Owned, run_with_password, valid_trial};

/// A short trial on a small table, longer than the flushes of a busy disk.
const SHORT: [&str; 3] = ["--measure=0.7", "--warm-up=0.1", "--table-rows=500"];

fn sweep(place: &Place, args: &[&str]) -> Ran {
    place.run(&[&["sweep"], args, &SHORT].concat())
}

/// The plan of the newest run folder.
fn plan(place: &Place) -> Plan {
    Plan::parse(&fs::read_to_string(place.latest().join("plan.toml")).unwrap()).unwrap()
}

/// What the server of a trial had.
fn variable(place: &Place, trial: &str, name: &str) -> String {
    let path = place.latest().join(trial).join("server/variables.json");
    let variables: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    variables[name].as_str().unwrap().to_owned()
}

#[test]
fn a_question_needs_no_plan_file() {
    if mariadb("a_question_needs_no_plan_file").is_none() {
        return;
    }
    let place = Place::with_templates();
    let ran = sweep(
        &place,
        &["insert", "--vary", "sync_binlog=1,0", "-c", "1,2", "--blocks", "2", "-q", SMALL_REDO],
    );
    assert!([Some(0), Some(3)].contains(&ran.code), "{}{}", ran.stdout, ran.stderr);
    // A trial in which the disk stood still is named there, too.
    let said: Vec<_> = ran.stderr.lines().filter(|line| !line.contains("NOT VALID")).collect();
    assert!(said.len() == 1 && said[0].starts_with("log_bin = ON was added"), "{}", ran.stderr);
    let plan = plan(&place);
    assert_eq!(
        (plan.name.as_str(), &plan.design.baseline["sync_binlog"]),
        ("insert-sync_binlog", &SettingValue::Int(1))
    );
    assert_eq!(plan.factors["connections"].len(), 2);
    // Two levels, two numbers of connections, and the twin, in two blocks.
    let found: Vec<_> =
        (1..=10).map(|n| variable(&place, &format!("trial-{n:04}"), "sync_binlog")).collect();
    assert!(found.contains(&"0".to_owned()) && found.contains(&"1".to_owned()), "{found:?}");
    assert_eq!(variable(&place, "trial-0001", "log_bin"), "ON");
    let report = place.run(&["report", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&report.stdout).unwrap();
    assert!(report.to_string().contains("sync_binlog"), "{report}");
}

#[test]
fn a_saved_plan_runs_as_it_was_asked() {
    if mariadb("a_saved_plan_runs_as_it_was_asked").is_none() {
        return;
    }
    let place = Place::with_templates();
    let question = [
        "insert",
        "--vary",
        "innodb_flush_log_at_trx_commit=1,2",
        "--save-plan",
        "mine.toml",
        "--blocks=1",
    ];
    let saved = sweep(&place, &question);
    assert_eq!(saved.code, Some(0), "{}", saved.stderr);
    assert!(saved.stderr.contains("Next   truetps sweep ./mine.toml"), "{}", saved.stderr);
    assert!(!place.path().join("runs").exists(), "nothing was started");
    let text = fs::read_to_string(place.path().join("mine.toml")).unwrap();
    assert!(!text.contains("interval_s") && text.contains("name = \"mine\""), "{text}");
    let again = sweep(&place, &question);
    assert_eq!(again.code, Some(2), "{}", again.stderr);
    assert!(again.stderr.contains("--save-plan mine.toml: the file exists"), "{}", again.stderr);
    assert_eq!(fs::read_to_string(place.path().join("mine.toml")).unwrap(), text);
    place.good(&["plan", "check", "./mine.toml"]);
    let ran = place.run(&[
        "sweep",
        "./mine.toml",
        "--vary",
        "innodb_flush_log_at_trx_commit=2,0",
        "--set=sync_binlog=7",
        SMALL_REDO,
    ]);
    assert!([Some(0), Some(3)].contains(&ran.code), "{}", ran.stderr);
    let plan = plan(&place);
    assert_eq!(plan.design.baseline["innodb_flush_log_at_trx_commit"], SettingValue::Int(2));
    assert_eq!(plan.server.settings["sync_binlog"], SettingValue::Int(7));
    assert_eq!(variable(&place, "trial-0001", "sync_binlog"), "7");
}

#[test]
fn repeated_trials_are_compared() {
    if mariadb("repeated_trials_are_compared").is_none() {
        return;
    }
    let place = Place::with_templates();
    let run = |level: &str, folder: &str| {
        let flags = ["--repeat=3", "-c", "2", "--set", level, "--runs", folder, SMALL_REDO];
        let ran = place.run(&[&["run", "insert"][..], &flags, &SHORT].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(ran.stdout.contains("Trials    3 of 3 valid"), "{}", ran.stdout);
        assert!(ran.stdout.contains("95 % interval"), "{}", ran.stdout);
    };
    run("innodb_flush_log_at_trx_commit=1", "a");
    run("innodb_flush_log_at_trx_commit=0", "b");
    let compared = place.run(&["compare", "a/latest", "b/latest"]);
    assert!([Some(0), Some(3)].contains(&compared.code), "{}", compared.stderr);
    assert!(compared.stdout.contains("3 trials each"), "{}", compared.stdout);
}

#[test]
fn plans_are_checked_on_a_running_server() {
    let Some(binary) = mariadb("plans_are_checked_on_a_running_server") else { return };
    let owned = Owned::start(&binary, &[("log_bin", "ON")]);
    let place = Place::with_templates();
    let before = owned.belongings();
    let (socket, tcp) = (owned.socket_dsn(), owned.tcp_dsn());
    // log_bin of the plan cannot be set there, and need not be.
    let checked = place.good(&["plan", "check", "sync-binlog", "--dsn", &socket]);
    assert!(
        checked.stdout.contains("restored: innodb_flush_log_at_trx_commit, sync_binlog"),
        "{}",
        checked.stdout
    );
    let plan = |levels: &str| {
        let factors = format!("{levels}\nconnections = [1]");
        format!("name = 'p'\nabout = 'a'\n[workload]\nname = 'insert'\n[factors]\n{factors}\n")
    };
    for (levels, words) in [
        (
            "sync_binlog = [1, 99999999999]",
            "`sync_binlog = 99999999999`: the server accepts 0 to 4294967295",
        ),
        (
            "innodb_flush_log_at_trx_commit = [1, 'x']",
            "`innodb_flush_log_at_trx_commit = x`: is not a number",
        ),
        // Tried in a session of its own.
        ("sql_mode = ['', 'NEVER']", "the server refused sql_mode = NEVER"),
        (
            "log_bin = [true, false]",
            "`log_bin` cannot be set on a running server: the server reads it when it starts",
        ),
        ("sync_binlgo = [1]", "did you mean `sync_binlog`"),
    ] {
        place.write("p.toml", &plan(levels));
        place.refused(
            &["plan", "check", "./p.toml", "--dsn", &socket],
            &["plan `./p.toml`: ", words],
        );
    }
    place.refused(&["plan", "check", "crash", "--dsn", &socket], &["crashes private servers"]);
    assert!(place.good(&["plan", "check", "crash"]).stderr.contains("Next   truetps crash crash"));
    // An account without the privilege to set it: the narrowest one is named.
    place.write("p.toml", &plan("sync_binlog = [1, 0]"));
    let refused = run_with_password(&place, &["plan", "check", "./p.toml", "--dsn", &tcp]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    let hint = format!("GRANT BINLOG ADMIN ON *.* TO '{ACCOUNT}'@'%'");
    assert!(
        refused.stderr.contains("may not set global variables (sync_binlog)"),
        "{}",
        refused.stderr
    );
    assert!(!binary.is_mariadb() || refused.stderr.contains(&hint), "{}", refused.stderr);
    assert_eq!(owned.belongings(), before);
    assert!(!place.path().join("runs").exists() && !place.path().join("state").exists());
}

#[test]
fn levels_are_varied_on_a_running_server() {
    let Some(binary) = mariadb("levels_are_varied_on_a_running_server") else { return };
    let owned = Owned::start(&binary, &[("log_bin", "ON")]);
    let place = Place::with_templates();
    let before = owned.belongings();
    let dsn = owned.socket_dsn();
    let refused = sweep(&place, &["insert", "--vary", "log_bin=1,0", "--dsn", &dsn]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    let words = [
        "`log_bin` cannot be set on a running server: the server reads it when it starts",
        "hint: omit --dsn",
    ];
    assert!(words.iter().all(|words| refused.stderr.contains(words)), "{}", refused.stderr);
    assert_eq!(owned.belongings(), before);
    let ran = sweep(
        &place,
        &["insert", "--vary", "sync_binlog=1,0", "-c=1", "--blocks=1", "--dsn", &dsn],
    );
    assert!([Some(0), Some(3)].contains(&ran.code), "{}", ran.stderr);
    assert!(!ran.stderr.contains("log_bin = ON was added"), "{}", ran.stderr);
    assert_eq!(place.run_json("trial-0001")["validity"]["state"], "valid");
    assert_eq!(owned.belongings(), before);
}

/// Servers of both families of settings are one more factor of a plan.
#[test]
fn servers_are_varied_over_a_plan() {
    let test = "servers_are_varied_over_a_plan";
    let (Some(_), Some(mysql)) = (mariadb(test), fetched_server(test, "mysql-8.0")) else { return };
    let place = Place::with_templates();
    let _ends = Ends(&place);
    place.good(&["server", "add", "maria"]);
    place.good(&["server", "add", "mysql", mysql.basedir.to_str().unwrap()]);
    let ran = sweep(
        &place,
        &["server-log-bin", "--vary", "server=maria,mysql", "-c=1", "--blocks=1", SMALL_REDO],
    );
    assert!([Some(0), Some(3)].contains(&ran.code), "{}", ran.stderr);
    assert_eq!(plan(&place).design.baseline["server"].to_string(), "maria");
    let trials: Vec<_> = (1..=4).map(|n| place.run_json(&format!("trial-{n:04}"))).collect();
    for flavour in ["mariadb", "mysql"] {
        assert!(trials.iter().any(|trial| trial["server"]["flavour"] == flavour), "{flavour}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "one journey")]
fn a_private_server_has_the_users_own_my_cnf() {
    if mariadb("a_private_server_has_the_users_own_my_cnf").is_none() {
        return;
    }
    let place = Place::with_templates();
    let _ends = Ends(&place);
    fs::create_dir(place.path().join("conf.d")).unwrap();
    place.write("conf.d/a.cnf", "[mysqld]\nsync_binlog = 7\ninnodb_flush_log_at_trx_commit = 2\n");
    let own = "[client]\nport = 1\n[mysqld]\ndatadir = /srv/mysql\nport = 3306\nsocket = \
               /run/s\nuser = mysql\nautocommit = 0\n\
               pid-file = /run/p\nlog_error = /var/log/e\nlog-bin = here\nmax_connections = \
               311\nloose-nosuch = 1\n\
               [mysqld-5.5]\nsync_binlog = 9\n!includedir conf.d\n";
    place.write("my.cnf", own);
    let added = place.good(&["server", "add", "prod", "mariadb", "--my-cnf", "my.cnf"]);
    for name in [
        "datadir",
        "port",
        "socket",
        "user",
        "pid_file",
        "log_error",
        "autocommit",
        "nosuch",
        "[mysqld-5.5] is left out",
    ] {
        assert!(added.stderr.contains(name), "{name}: {}", added.stderr);
    }
    assert!(added.stdout.contains("4 settings of "), "{}", added.stdout);
    // The file's settings replace what truetps chooses, and --set replaces them.
    let ran = place.run(
        &[
            &[
                "run",
                "insert",
                "--server=prod",
                "-c=1",
                "--set=sync_binlog=3",
                "--full",
                SMALL_REDO,
            ][..],
            &SHORT,
        ]
        .concat(),
    );
    valid_trial(&place, &ran);
    let found = ["max_connections", "innodb_flush_log_at_trx_commit", "sync_binlog", "log_bin"]
        .map(|name| variable(&place, "trial-0001", name));
    assert_eq!(found, ["311", "2", "3", "ON"]);
    assert!(ran.stdout.contains("max_connections=311"), "{}", ran.stdout);
    // Its own instance has them, too.
    place.good(&["server", "start", "prod", "--set", "max_connections=312"]);
    let asked =
        place.good(&["server", "sql", "prod", "SELECT @@sync_binlog, @@max_connections"]).stdout;
    assert!(asked.contains("7\t312"), "{asked}");
    place.good(&["server", "stop", "prod"]);
    // Without a name.
    let ran = place
        .run(&[&["run", "insert", "--my-cnf=my.cnf", "-c=1", SMALL_REDO][..], &SHORT].concat());
    valid_trial(&place, &ran);
    assert_eq!(variable(&place, "trial-0001", "max_connections"), "311");
    // A file that the server would not start with.
    for (line, words) in
        [("nosuch = 1", "has no setting `nosuch`"), ("sync_binlog = x", "`sync_binlog = x`")]
    {
        place.write("bad.cnf", &format!("[mysqld]\n{line}\n"));
        place.refused(
            &["server", "add", "bad", "mariadb", "--my-cnf", "bad.cnf"],
            &["--my-cnf bad.cnf", words, "hint:"],
        );
        place.refused(&["run", "insert", "--my-cnf", "bad.cnf"], &["--my-cnf bad.cnf", words]);
    }
    place.refused(
        &["server", "add", "bad", "--my-cnf", "none.cnf"],
        // Where it was looked for.
        &["--my-cnf /", "/none.cnf: No such file"],
    );
    assert_eq!(place.leftovers().iter().filter(|name| name.contains("bad")).count(), 0);
}

#[test]
fn no_name_means_another_family() {
    if mariadb("no_name_means_another_family").is_none() {
        return;
    }
    let place = Place::with_templates();
    let has_postgres = place.run(&["server", "add", "x", "postgresql"]).code == Some(0);
    let pg = place.run(&["server", "add", "pg"]);
    assert_eq!(pg.code == Some(0), has_postgres, "{}{}", pg.stdout, pg.stderr);
    assert!(!pg.stdout.contains("mariadb"), "{}", pg.stdout);
    assert!(place.good(&["server", "add", "maria-1"]).stdout.contains("mariadb"));
    assert!(
        place.good(&["server", "add", "prod"]).stdout.contains("mariadb"),
        "any server is fine for this name"
    );
    let mysql = place.run(&["server", "add", "mysql-8.0"]);
    assert!(
        mysql.code == Some(2) || mysql.stdout.contains("  mysql "),
        "{}{}",
        mysql.stdout,
        mysql.stderr
    );
    place.refused(&["server", "add", "y", "nosuch"], &["there is no file or folder nosuch"]);
}

/// How many rows in an INSERT: one experiment, in which rows a second stand beside transactions.
#[test]
fn rows_per_insert_is_a_factor() {
    if mariadb("rows_per_insert_is_a_factor").is_none() {
        return;
    }
    let place = Place::with_templates();
    let question =
        ["bulk-insert", "--vary", "rows_per_insert=1,10", "-c", "1,2", "--blocks", "2", SMALL_REDO];
    let ran = sweep(&place, &question);
    assert!([Some(0), Some(3)].contains(&ran.code), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("rows/s"), "{}", ran.stdout);
    assert!(
        ran.stderr.contains("       truetps pool runs/"),
        "the numbers between are a command away: {}",
        ran.stderr
    );
    let report = place.run(&["report", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&report.stdout).unwrap();
    let cells = report["analysis"]["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 4);
    for cell in cells {
        // The server counts the rows.
        let rows = cell["configuration"]["rows_per_insert"].as_f64().unwrap();
        let [tps, rows_per_s] =
            [&cell["tps"]["value"], &cell["rows_changed_per_s"]].map(|one| one.as_f64().unwrap());
        assert!((rows_per_s / tps / rows - 1.0).abs() < 0.02, "{cell}");
    }
    let refused = place.run(&["sweep", "insert", "--vary", "rows_per_insert=1,10"]);
    assert!(
        refused.code == Some(2) && refused.stderr.contains("bulk-insert"),
        "{}",
        refused.stderr
    );
}

/// Two settings at once: the effect of each over the levels of the other.
#[test]
fn several_settings_have_main_effects() {
    if mariadb("several_settings_have_main_effects").is_none() {
        return;
    }
    let place = Place::with_templates();
    let vary =
        ["--vary", "innodb_flush_log_at_trx_commit=1,0", "--vary", "join_buffer_size=256K,512K"];
    let ran =
        sweep(&place, &[&["insert", "-c", "2", "--blocks", "2", SMALL_REDO][..], &vary].concat());
    assert!([Some(0), Some(3)].contains(&ran.code), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("Each setting over all levels of the others: "), "{}", ran.stdout);
    let report = place.run(&["report", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&report.stdout).unwrap();
    let effects = report["analysis"]["main_effects"].as_array().unwrap();
    let names: Vec<_> = effects
        .iter()
        .map(|one| (one["factor"].as_str(), one["tps_ratio"]["n"].as_u64()))
        .collect();
    let (flush, buffer) = (Some("innodb_flush_log_at_trx_commit"), Some("join_buffer_size"));
    assert_eq!(
        names,
        [(flush, Some(4)), (buffer, Some(4))],
        "two blocks at two levels of the other"
    );
}
