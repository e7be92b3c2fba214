//! `--dsn` on a PostgreSQL: every workload, logins and TLS; nothing is left behind.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustix::process::Signal;
use truetps_driver::{Client, Target};
use truetps_testkit::{PostgresOptions, PostgresServer, TlsFiles};

use crate::common::{Place, Ran, reason_of, signal, wait_until};
use crate::support::{
    ACCOUNT, PASSWORD, PASSWORD_ENCODED, assert_secret, run_with_password, short_run, valid_trial,
};

const ORDERS: &str = include_str!("../plans/orders.toml");

fn server(test: &str, options: &PostgresOptions) -> Option<PostgresServer> {
    let server = PostgresServer::start(test, options)?;
    let mut root = server.connect().unwrap();
    root.execute(&format!("CREATE ROLE {ACCOUNT} LOGIN CREATEDB PASSWORD '{PASSWORD}'")).unwrap();
    root.execute("CREATE TABLE precious (id int PRIMARY KEY, line text)").unwrap();
    root.execute("INSERT INTO precious VALUES (1, 'one'), (2, 'two')").unwrap();
    Some(server)
}

fn socket_dsn(server: &PostgresServer) -> String {
    format!("postgresql://truetps@/postgres?socket={}", server.socket().display())
}

/// Databases and roles, settings, and the owner's rows.
fn belongings(server: &PostgresServer) -> Vec<String> {
    let mut root = server.connect().unwrap();
    let queries = [
        "SELECT datname FROM pg_database ORDER BY 1",
        "SELECT rolname FROM pg_roles ORDER BY 1",
        "SELECT name || '=' || setting FROM pg_settings ORDER BY 1",
        "SELECT relname FROM pg_class WHERE relkind = 'r' ORDER BY 1",
        "SELECT id || line FROM precious ORDER BY 1",
    ];
    let rows = queries.iter().flat_map(|sql| root.query(sql).unwrap().rows);
    rows.map(|row| format!("{row:?}")).collect()
}

const SHORT: &str = "name = 'own'\nabout = 'a test'\n[factors]\nconnections = \
                     [2]\n[load]\nwarm_up_s = 0.1\n\
                     measure_s = 0.5\n[design]\nblocks = 2\naa_pair = false\n";

const GOODS: &str = "sql = \"UPDATE goods SET note = '?;', cnt = cnt - 1 WHERE id = 1; SELECT \
                     '[1]'::jsonb ? 'a' -- ;\"\n\
                     create = 'CREATE TABLE \"goods\" (id int primary key, cnt int, note text); \
                     INSERT INTO goods VALUES (1, 9)'\n";

const ALL_TYPES: &str = "table = { rows = 50, ints = 2, varchars = 1, floats = 1, doubles = 1, \
                         decimals = 1, texts = 1, bigints = 1, datetimes = 1, blobs = 1 \
                         }\nrows_per_insert = 3\n\
                         explicit_commit = true\n";

#[test]
fn every_workload_runs_over_the_socket() {
    let Some(server) = server("every_workload_runs_over_the_socket", &PostgresOptions::default())
    else {
        return;
    };
    let place = Place::new();
    let (before, dsn) = (belongings(&server), socket_dsn(&server));
    let small = "--table-rows=2000";
    for (workload, flags) in [
        ("insert", &[small, "--tables=2"][..]),
        ("bulk-insert", &[small, "--rows-per-insert=10"]),
        ("update-index", &[small, "--distribution=zipfian"]),
        ("update-non-index", &[small, "--text-protocol"]),
        ("delete-insert", &[small, "--key=auto"]),
        ("hot-row", &["--hot-rows=2"]),
        ("read-write", &[small, "--mix=point_selects=2"]),
        ("read-write", &[small, "--text-protocol", "--rate=100", "--mode=multiplexed"]),
    ] {
        let ran = place.run(&short_run(workload, &dsn, flags));
        let trial = valid_trial(&place, &ran);
        assert_eq!(trial["server"]["flavour"], "postgresql", "{trial}");
        let count = |name: &str| trial["measured"][name].as_u64().unwrap();
        assert!(count("failed") * 100 <= count("ok"), "{workload}: {trial}");
        let variables =
            fs::read_to_string(place.latest().join("trial-0001/server/variables.json")).unwrap();
        assert!(variables.contains("synchronous_commit"), "{workload}: its settings are recorded");
    }
    place.write("orders.toml", ORDERS);
    let ran = place.run(&["sweep", "./orders.toml", "--dsn", &dsn]);
    valid_trial(&place, &ran);
    assert_eq!(
        place.run_json("trial-0002")["validity"]["state"],
        "valid",
        "the tables were refilled"
    );
    for workload in [
        GOODS,
        &format!("{ALL_TYPES}protocol = 'prepared'"),
        &format!("{ALL_TYPES}protocol = 'text'"),
    ] {
        place.write("own.toml", &format!("{SHORT}[workload]\n{workload}"));
        let ran = place.run(&["sweep", "./own.toml", "--dsn", &dsn]);
        valid_trial(&place, &ran);
        assert_eq!(
            place.run_json("trial-0002")["validity"]["state"],
            "valid",
            "the tables were refilled"
        );
    }
    for format in ["text", "json", "csv", "md"] {
        assert_eq!(place.run(&["report", "--format", format]).code, Some(0), "{format}");
    }
    assert_eq!(belongings(&server), before);
}

#[test]
fn a_slot_without_a_consumer_is_reported_and_recorded() {
    let Some(server) = server("a_slot_that_no_consumer_reads", &PostgresOptions::default()) else {
        return;
    };
    server
        .connect()
        .unwrap()
        .query("SELECT pg_create_physical_replication_slot('left_behind', true)")
        .unwrap();
    let place = Place::new();
    let ran = place.run(&short_run("insert", &socket_dsn(&server), &["--table-rows=500"]));
    valid_trial(&place, &ran);
    let words = "replication slots that no consumer reads (`left_behind`)";
    assert!(ran.stderr.contains(words), "{}", ran.stderr);
    let report = place.good(&["report", "--full"]).stdout;
    assert!(report.split_whitespace().collect::<Vec<_>>().join(" ").contains(words), "{report}");
    let experiment = std::fs::read_to_string(place.latest().join("experiment.json")).unwrap();
    let experiment: serde_json::Value = serde_json::from_str(&experiment).unwrap();
    assert_eq!(experiment["guest"]["replication"]["slots"][0]["is_active"], false);
    assert_eq!(experiment["guest"]["is_on_this_host"], true);
}

#[test]
fn scram_over_tcp_with_the_password_of_the_environment() {
    let hba = ["local all all trust", "host all all 127.0.0.1/32 scram-sha-256"]
        .map(str::to_owned)
        .to_vec();
    let options = PostgresOptions { hba, tcp: true, ..PostgresOptions::default() };
    let Some(server) = server("scram_over_tcp", &options) else { return };
    let before = belongings(&server);
    let port = server.port().unwrap();
    let dsn = format!("postgresql://{ACCOUNT}@127.0.0.1:{port}/postgres");
    let place = Place::new();
    let ran = run_with_password(&place, &short_run("insert", &dsn, &["--table-rows=500"]));
    valid_trial(&place, &ran);
    assert_secret(&place, &ran);
    // In the address it is taken too, and goes no further.
    let typed = dsn.replace(ACCOUNT, &format!("{ACCOUNT}:{PASSWORD_ENCODED}"));
    let ran = place.run(&short_run("insert", &typed, &["--table-rows=500"]));
    valid_trial(&place, &ran);
    assert!(ran.stderr.contains("warning: a password on the command line"), "{}", ran.stderr);
    assert_secret(&place, &ran);
    assert_eq!(belongings(&server), before);

    let check = |dsn: &str, words: &[&str]| {
        let place = Place::new();
        let ran = place.run(&short_run("insert", dsn, &["--table-rows=500"]));
        assert_eq!(ran.code, Some(2), "{dsn}: {}", ran.stderr);
        for word in words.iter().chain(&["cannot log in: ", "hint: "]) {
            assert!(ran.stderr.contains(word), "{dsn} should say {word:?}:\n{}", ran.stderr);
        }
        assert_secret(&place, &ran);
    };
    check(
        &dsn.replace(ACCOUNT, &format!("{ACCOUNT}:h1dden-and-wrong")),
        &["password authentication failed", "28P01"],
    );
    check(&dsn, &["the server asks for a password"]);
    check(&dsn.replace(ACCOUNT, "nobody:h1dden"), &["password authentication failed"]);
    check(&typed.replace("/postgres", "/nosuch"), &["nosuch", "3D000"]);
    check("postgresql://postgres@127.0.0.1:1", &["127.0.0.1:1", "refused", "no server listens"]);
    check("postgresql://postgres@?socket=/nowhere", &["/nowhere/.s.PGSQL.5432", "No such file"]);
    check(&format!("{typed}?tls=required"), &["the server does not offer TLS", "tls=off"]);
}

/// A certificate for `localhost` and the file with its authority.
fn certificate(folder: &Place) -> (TlsFiles, PathBuf) {
    let ca_key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = folder.write("ca.pem", &params.self_signed(&ca_key).unwrap().pem());
    let issuer = Issuer::new(params, ca_key);
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["localhost".to_owned()])
        .unwrap()
        .signed_by(&key, &issuer)
        .unwrap();
    (TlsFiles { certificate_pem: certificate.pem(), key_pem: key.serialize_pem() }, ca)
}

#[test]
fn tls_for_the_right_name_only() {
    let place = Place::new();
    let (tls, ca) = certificate(&place);
    let hba = ["local all all trust", "hostssl all all 127.0.0.1/32 scram-sha-256"]
        .map(str::to_owned)
        .to_vec();
    let options = PostgresOptions { hba, tcp: true, tls: Some(tls), ..PostgresOptions::default() };
    let Some(server) = server("tls_for_the_right_name_only", &options) else { return };
    let before = belongings(&server);
    let port = server.port().unwrap();
    // The place's name has a blank.
    let ca = ca.display().to_string().replace(' ', "%20");
    let dsn = |host: &str, options: &str| {
        format!("postgresql://{ACCOUNT}@{host}:{port}/postgres?{options}")
    };
    let run =
        |dsn: &str| run_with_password(&place, &short_run("insert", dsn, &["--table-rows=500"]));
    let ran = run(&dsn("localhost", &format!("tls=verify-identity&ca={ca}")));
    valid_trial(&place, &ran);
    assert_secret(&place, &ran);
    let refused = |dsn: &str, words: &[&str]| {
        let ran = run(dsn);
        assert_eq!(ran.code, Some(2), "{dsn}: {}", ran.stderr);
        for word in words.iter().chain(&["cannot log in: ", "hint: "]) {
            assert!(ran.stderr.contains(word), "{dsn} should say {word:?}:\n{}", ran.stderr);
        }
        assert_secret(&place, &ran);
    };
    refused(
        &dsn("127.0.0.1", &format!("tls=verify-identity&ca={ca}")),
        &["the server's certificate is for localhost, not for 127.0.0.1"],
    );
    refused(&dsn("localhost", "tls=off"), &["no pg_hba.conf entry"]);
    assert_eq!(belongings(&server), before);
}

#[test]
#[expect(clippy::too_many_lines, reason = "one journey")]
fn ctrl_c_errors_and_limits_leave_no_schema() {
    let settings = [("max_connections", "20"), ("max_wal_senders", "0")];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let options = PostgresOptions { settings, ..PostgresOptions::default() };
    let Some(server) = server("ctrl_c_errors_and_limits", &options) else { return };
    let (before, dsn) = (belongings(&server), socket_dsn(&server));
    let place = Place::new();
    let child = place.start(&[
        "run",
        "insert",
        "--dsn",
        &dsn,
        "--rate=50",
        "--connections=2",
        "--measure=60",
        "--table-rows=500",
    ]);
    place.wait_for_interval("trial-0001");
    signal(child.id(), Signal::INT);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    assert_eq!(place.run_json("trial-0001")["validity"]["state"], "partial");
    assert_eq!(belongings(&server), before, "Ctrl-C");

    place.write("broken.toml", &ORDERS.replace("name VARCHAR(30)", "name VARCHER(30)"));
    let ran = place.run(&["sweep", "./broken.toml", "--dsn", &dsn]);
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("preparing the tables: ") && ran.stderr.contains("varcher"),
        "{}",
        ran.stderr
    );
    assert_eq!(belongings(&server), before, "an error");

    let many = ["--table-rows=500", "--connections=30"];
    let ran = place.run(&short_run("insert", &dsn, &many));
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    // Sessions that have quit are in use for a moment.
    let is_sum = |in_use: u32| {
        let said = format!(
            "30 clients would use all sessions of this server and lock out other users: {in_use} \
             of 17 are in use"
        );
        ran.stderr.contains(&said)
            && ran.stderr.contains(&format!("hint: up to {} clients leave", 14 - in_use))
    };
    assert!((1..5).any(is_sum), "{}", ran.stderr);
    assert_eq!(belongings(&server), before, "no room");

    let limit = |number| {
        server
            .connect()
            .unwrap()
            .execute(&format!("ALTER ROLE {ACCOUNT} CONNECTION LIMIT {number}"))
    };
    limit(3).unwrap();
    let account_dsn = dsn.replace("truetps@", &format!("{ACCOUNT}@"));
    let ran = run_with_password(
        &place,
        &short_run("insert", &account_dsn, &["--table-rows=500", "--connections=5"]),
    );
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    let trial = place.run_json("trial-0001");
    let reason = reason_of(&trial);
    assert!(
        reason.contains("of 5 clients could not connect")
            && reason.contains("too many connections"),
        "{reason}"
    );
    limit(-1).unwrap();
    assert_eq!(belongings(&server), before, "too many clients");

    server.connect().unwrap().execute("CREATE DATABASE truetps").unwrap();
    let with_schema = belongings(&server);
    let ran = place.run(&short_run("insert", &dsn, &[]));
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("the schema `truetps` exists already"), "{}", ran.stderr);
    let ran = place.run(&short_run("insert", &dsn, &["--schema=other", "--set", "fsync=off"]));
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("`fsync` belongs to the whole server"), "{}", ran.stderr);
    let ran = place.run(&short_run(
        "insert",
        &dsn,
        &["--schema=other", "--set", "synchronous_comit=off"],
    ));
    assert!(
        ran.code == Some(2) && ran.stderr.contains("did you mean `synchronous_commit`"),
        "{}",
        ran.stderr
    );
    for schema in ["template1", "template0", "pg_catalog"] {
        let ran =
            place.run(&short_run("insert", &dsn, &["--schema", schema, "--i-own-this-schema"]));
        assert!(
            ran.code == Some(2) && ran.stderr.contains("belongs to the server"),
            "{}",
            ran.stderr
        );
    }
    assert_eq!(belongings(&server), with_schema);
}

/// Also what the account of the load may not see.
#[test]
fn statements_of_a_run_end_with_it() {
    let Some(server) = server("statements_of_a_run_end_with_it", &PostgresOptions::default())
    else {
        return;
    };
    let (before, dsn) = (belongings(&server), socket_dsn(&server));
    let mut other = server.connect().unwrap();
    let _other = std::thread::spawn(move || other.query("SELECT pg_sleep(1001)"));
    let running = || {
        let sql = "SELECT count(*)::text FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' \
                   AND state = 'active'";
        server.connect().unwrap().query_value(sql).unwrap().unwrap()
    };
    for (how, flags) in [Signal::INT, Signal::KILL]
        .into_iter()
        .flat_map(|how| [(how, &[][..]), (how, &["--schema=postgres", "--i-own-this-schema"])])
    {
        let place = Place::new();
        let workload = "[workload]\nname = 'sql'\nsql = 'SELECT pg_sleep(1000)'\ncreate = 'CREATE \
                        TABLE g (id INT)'\n";
        place.write("endless.toml", &format!("{}{workload}", SHORT.replace("0.2", "60")));
        let args = [&["sweep", "./endless.toml", "--dsn", &dsn][..], flags].concat();
        let child = place.start(&args);
        wait_until("statements", || running() == "3");
        signal(child.id(), how);
        let ran: Ran = child.wait_with_output().unwrap().into();
        let ran = if how == Signal::KILL { place.run(&["server", "restore"]) } else { ran };
        assert_eq!(
            (running().as_str(), belongings(&server)),
            ("1", before.clone()),
            "{how:?}: {}",
            ran.stderr
        );
    }
}

/// A killed run's CREATE DATABASE goes on in the server, and comes to its end after the run.
#[test]
fn a_database_that_was_being_created_is_dropped() {
    let Some(server) = server("a_database_that_was_being_created", &PostgresOptions::default())
    else {
        return;
    };
    let (before, dsn) = (belongings(&server), socket_dsn(&server));
    let exists = || {
        let sql = "SELECT 1 FROM pg_database WHERE datname = 'truetps'";
        server.connect().unwrap().query_value(sql).unwrap().is_some()
    };
    for is_there_first in [false, true] {
        let place = Place::new();
        // The server waits up to 5 s for the end of sessions in the database that is copied.
        let template = Client::connect(
            &Target::postgres_unix(server.socket(), "truetps", "template1"),
            Duration::from_secs(5),
        )
        .unwrap();
        let mut child = place.start(&["run", "insert", "--dsn", &dsn, "--table-rows=300"]);
        wait_until("CREATE DATABASE", || {
            let sql = "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'CREATE DATABASE%' AND \
                       state = 'active'";
            server.connect().unwrap().query_value(sql).unwrap().is_some()
        });
        child.kill().unwrap();
        child.wait().unwrap();
        drop(template);
        if is_there_first {
            wait_until("the database", exists);
            // As a run leaves it that was killed just before it had dropped it.
            server
                .connect()
                .unwrap()
                .execute("ALTER DATABASE truetps ALLOW_CONNECTIONS false")
                .unwrap();
        }
        let ran = place.run(&["server", "restore"]);
        assert_eq!(
            (ran.code, belongings(&server)),
            (Some(0), before.clone()),
            "{}{}",
            ran.stdout,
            ran.stderr
        );
        valid_trial(&place, &place.run(&short_run("insert", &dsn, &["--table-rows=300"])));
    }
    // One of another user is left, however empty it is.
    server.connect().unwrap().execute("CREATE DATABASE truetps").unwrap();
    let ran = Place::new().run(&short_run("insert", &dsn, &[]));
    assert!(ran.code == Some(2) && exists(), "{}", ran.stderr);
}

#[test]
fn a_table_of_another_user_keeps_the_database() {
    let Some(server) =
        server("a_table_of_another_user_keeps_the_database", &PostgresOptions::default())
    else {
        return;
    };
    let dsn = socket_dsn(&server).replace("truetps@", &format!("{ACCOUNT}@"));
    let mut inside = server.target();
    inside.login.database = Some("truetps".to_owned());
    let inside = || Client::connect(&inside, Duration::from_secs(10)).unwrap();
    // One of the name of ours, too.
    for table in ["seven", "sbtest1"] {
        let place = Place::new();
        let child = place.start(&[
            "run",
            "insert",
            "--dsn",
            &dsn,
            "--rate=50",
            "--measure=60",
            "--table-rows=300",
        ]);
        place.wait_for_interval("trial-0001");
        let fill = format!("INSERT INTO theirs.{table} VALUES (7)");
        for sql in ["CREATE SCHEMA theirs", &format!("CREATE TABLE theirs.{table} (id int)"), &fill]
        {
            inside().execute(sql).unwrap();
        }
        signal(child.id(), Signal::INT);
        let ran: Ran = child.wait_with_output().unwrap().into();
        let said = format!("not created by truetps: {table} in theirs");
        assert!(ran.code == Some(130) && ran.stderr.contains(&said), "{}", ran.stderr);
        let kept = format!("SELECT id::text FROM theirs.{table}");
        assert_eq!(inside().query_value(&kept).unwrap().as_deref(), Some("7"));
        let ours = "SELECT relname FROM pg_class WHERE relname LIKE 'sbtest%' AND relnamespace = \
                    'public'::regnamespace";
        assert!(inside().query(ours).unwrap().rows.is_empty());
        server.connect().unwrap().execute("DROP DATABASE truetps").unwrap();
    }
}

/// Session settings are set in the sessions of the load alone: other sessions are not affected, and
/// nothing has to be restored.
#[test]
fn settings_of_sessions() {
    let Some(server) = server("settings_of_sessions", &PostgresOptions::default()) else { return };
    let (before, place) = (belongings(&server), Place::new());
    let dsn = socket_dsn(&server);
    let flags = ["--table-rows=500", "--set=synchronous_commit=off"];
    valid_trial(&place, &place.run(&short_run("insert", &dsn, &flags)));
    let text = fs::read_to_string(place.latest().join("trial-0001/server/variables.json")).unwrap();
    assert!(text.contains("\"synchronous_commit\": \"off\""), "{text}");
    assert_eq!(belongings(&server), before);
    let report = place.run(&["report", "--full"]).stdout;
    assert!(report.contains("Durability: a process crash"), "{report}");
}

/// `TRUETPS_KILLS=15` kills that many runs at random moments.
#[test]
fn runs_that_are_killed_at_random() {
    let Some(kills) = std::env::var("TRUETPS_KILLS").ok().and_then(|text| text.parse::<u32>().ok())
    else {
        return;
    };
    let Some(server) = server("runs_that_are_killed_at_random", &PostgresOptions::default()) else {
        return;
    };
    let (before, dsn) = (belongings(&server), socket_dsn(&server));
    let mut left = 0;
    for n in 0..kills {
        let place = Place::new();
        let mut child =
            place.start(&["run", "insert", "--dsn", &dsn, "--table-rows=300", "--measure=2"]);
        let delay = Duration::from_millis(950 + u64::from(n * 97 % 1500));
        std::thread::sleep(delay);
        child.kill().unwrap();
        child.wait().unwrap();
        left += u32::from(belongings(&server) != before);
        let ran = place.run(&["server", "restore"]);
        assert_eq!(
            (ran.code, belongings(&server)),
            (Some(0), before.clone()),
            "{delay:?}: {}{}",
            ran.stdout,
            ran.stderr
        );
        let sql =
            "SELECT count(*)::text FROM pg_stat_activity WHERE application_name LIKE 'truetps 2%'";
        assert_eq!(
            server.connect().unwrap().query_value(sql).unwrap().as_deref(),
            Some("0"),
            "{delay:?}"
        );
    }
    eprintln!("{kills} runs killed, {left} of them had left something; all restored");
}

#[test]
fn the_right_to_one_parameter_is_named_and_is_enough() {
    let Some(server) = server("the_right_to_one_parameter", &PostgresOptions::default()) else {
        return;
    };
    let mut root = server.connect().unwrap();
    let version = root.query_value("SHOW server_version_num").unwrap().unwrap();
    if version.parse::<u32>().unwrap() < 150_000 {
        return;
    }
    let place = Place::new();
    let dsn = format!("postgresql://{ACCOUNT}@/postgres?socket={}", server.socket().display());
    let args = short_run("insert", &dsn, &["--table-rows=300", "--set=commit_delay=1"]);
    let ran = run_with_password(&place, &args);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    let grant = format!("GRANT SET ON PARAMETER commit_delay TO {ACCOUNT}");
    assert!(ran.stderr.contains(&grant), "{}", ran.stderr);
    root.execute(&grant).unwrap();
    valid_trial(&place, &run_with_password(&place, &args));
}
