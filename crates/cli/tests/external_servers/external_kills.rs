//! Runs on external servers, killed at critical moments: `truetps server restore` removes
//! everything that they leave.
//!
//! Kills are triggered by what has happened, so that each hits something on any machine.
//! `TRUETPS_KILLS=60` kills at random moments, too, that many runs in all.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::mount::{MountFlags, UnmountFlags};
use rustix::process::Signal;
use truetps_driver::Client;
use truetps_sandbox::ServerBinary;
use truetps_testkit::mysql_family::{fetched_server, mariadb};

use crate::common::{Place, Ran, signal, wait_until};
use crate::support::external::{PLAN, binaries, globals, journals, schemas, server};
use crate::support::{ACCOUNT, Owned, PASSWORD, run_with_password};

/// The progress of a run, observed from outside.
struct Seen<'a> {
    admin: Client,
    place: &'a Place,
    before: [String; 2],
}

impl Seen<'_> {
    fn value(&mut self, sql: &str) -> Option<String> {
        self.admin.query_value(sql).ok().flatten()
    }

    fn levels(&mut self) -> [String; 2] {
        ["sync_binlog", "innodb_flush_log_at_trx_commit"]
            .map(|name| self.value(&format!("SELECT @@GLOBAL.{name}")).unwrap())
    }

    fn is_set(&mut self) -> bool {
        self.levels() != self.before
    }

    fn has_journal(&self) -> bool {
        !journals(self.place).is_empty()
    }

    fn journal_says(&self, text: &str) -> bool {
        journals(self.place).iter().any(|name| {
            let path = self.place.path().join("state/truetps/journals").join(name);
            fs::read_to_string(path).is_ok_and(|found| found.contains(text))
        })
    }

    fn has_schema(&mut self) -> bool {
        self.value("SELECT 1 FROM information_schema.schemata WHERE schema_name = 'truetps'")
            .is_some()
    }

    fn has_rows(&mut self, table: &str) -> bool {
        self.value(&format!("SELECT 1 FROM truetps.{table} LIMIT 1")).is_some()
    }

    fn has_interval(&self) -> bool {
        let path = self.place.path().join("runs/latest/trial-0001/intervals.jsonl");
        fs::read_to_string(path).is_ok_and(|text| text.contains('\n'))
    }
}

/// Waits for an observable event, and kills the run there.
fn kill_when(
    mut child: Child,
    what: &str,
    seen: &mut Seen<'_>,
    is_there: &mut dyn FnMut(&mut Seen<'_>) -> bool,
) {
    let began = Instant::now();
    while !is_there(seen) {
        assert!(child.try_wait().unwrap().is_none(), "the run ended before: {what}");
        assert!(began.elapsed() < Duration::from_secs(40), "waited too long for: {what}");
        sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// How many sessions are in the run's schema, or are at work elsewhere.
fn sessions(owned: &Owned) -> String {
    let sql = "SELECT COUNT(*) FROM information_schema.processlist WHERE id <> CONNECTION_ID() \
               AND (db = 'truetps' OR command IN ('Query', 'Execute'))";
    owned.admin().query_value(sql).unwrap().unwrap()
}

/// The next run refuses, everything is restored, and a second restore has nothing to do.
fn check_restore(
    owned: &Owned,
    place: &Place,
    what: &str,
    before: &(BTreeMap<String, String>, Vec<String>),
) -> String {
    if !journals(place).is_empty() {
        let next = place.run(&["sweep", "./levels.toml", "--dsn", &owned.socket_dsn()]);
        assert_eq!(next.code, Some(2), "{what}: {}", next.stderr);
        assert!(next.stderr.contains("truetps server restore"), "{what}: {}", next.stderr);
    }
    let restored = place.run(&["server", "restore"]);
    assert_eq!(restored.code, Some(0), "{what}: {}", restored.stderr);
    assert_eq!(globals(owned), before.0, "{what}: {}", restored.stdout);
    let said_so = restored.stdout.contains("the schema `truetps` is empty");
    assert!(schemas(owned) == before.1 || said_so, "{what}: {}", restored.stdout);
    assert!(
        said_so || journals(place).is_empty(),
        "{what}: {:?} {}",
        journals(place),
        restored.stdout
    );
    // One that its client has closed is listed for another moment.
    wait_until(&format!("the end of all sessions: {what}"), || sessions(owned) == "0");
    if said_so {
        owned.execute(&["DROP DATABASE IF EXISTS truetps"]);
        let folder = place.path().join("state/truetps/journals");
        for kept in journals(place) {
            fs::remove_file(folder.join(kept)).unwrap();
        }
    }
    let again = place.run(&["server", "restore"]);
    assert_eq!((again.code, again.stdout.as_str()), (Some(0), ""), "{what}: {}", again.stderr);
    restored.stdout
}

const ENDLESS: &str = "name = 'endless'\nabout = 'a test'\n[workload]\nname = 'sql'\nsql = 'SELECT \
                       SLEEP(1000) FROM g'\n\
                       create = 'CREATE TABLE g (id INT); INSERT INTO g VALUES \
                       (1)'\n[factors]\nconnections = [3]\n\
                       [load]\nwarm_up_s = 0.1\nmeasure_s = 0.5\n[design]\nblocks = 1\naa_pair = \
                       false\n";

#[test]
fn statements_of_a_run_end_with_it() {
    let Some(binary) = mariadb("statements_of_a_run_end_with_it") else { return };
    let owned = server(&binary);
    let before = schemas(&owned);
    // Of the same account, and none of the run's.
    let mut other = owned.admin();
    let _other = std::thread::spawn(move || other.query("SELECT SLEEP(1001)"));
    let running = || {
        let sql =
            "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP%'";
        owned.admin().query_value(sql).unwrap().unwrap().parse::<u32>().unwrap()
    };
    for how in [None, Some(Signal::INT), Some(Signal::TERM), Some(Signal::KILL)] {
        let place = Place::new();
        let length = if how.is_some() { "measure_s = 60" } else { "measure_s = 0.5" };
        place.write("endless.toml", &ENDLESS.replace("measure_s = 0.5", length));
        let child = place.start(&["sweep", "./endless.toml", "--dsn", &owned.socket_dsn()]);
        wait_until("statements", || running() == 4);
        if let Some(how) = how {
            signal(child.id(), how);
        }
        let ran: Ran = child.wait_with_output().unwrap().into();
        let restored =
            if how == Some(Signal::KILL) { place.run(&["server", "restore"]) } else { ran };
        assert_eq!(
            (running(), schemas(&owned)),
            (1, before.clone()),
            "{how:?}: {}",
            restored.stderr
        );
        assert!(journals(&place).is_empty(), "{how:?}: {}", restored.stderr);
    }
}

/// Not seeing a schema is no proof that it does not exist.
#[test]
fn a_right_that_is_revoked_during_a_run_hides_no_schema() {
    let Some(binary) = mariadb("a_right_that_is_revoked_during_a_run_hides_no_schema") else {
        return;
    };
    let owned = server(&binary);
    let before = schemas(&owned);
    let grant = format!("GRANT ALL ON `truetps%`.* TO {ACCOUNT}@'%'");
    let user = format!("CREATE USER {ACCOUNT}@'%' IDENTIFIED BY '{PASSWORD}'");
    owned.execute(&["CREATE DATABASE truetps_app", "CREATE TABLE truetps_app.mine (id INT)"]);
    let theirs = &["--schema=truetps_app", "--i-own-this-schema"][..];
    for (revoke, flags) in [
        (format!("REVOKE ALL ON `truetps%`.* FROM {ACCOUNT}@'%'"), &[][..]),
        (format!("REVOKE ALL ON `truetps%`.* FROM {ACCOUNT}@'%'"), theirs),
        (format!("REVOKE DROP ON `truetps%`.* FROM {ACCOUNT}@'%'"), &[]),
        (format!("DROP USER {ACCOUNT}@'%'"), theirs),
    ] {
        let place = Place::new();
        let args = [
            &[
                "run",
                "insert",
                "--dsn",
                &owned.tcp_dsn(),
                "--rate=50",
                "--measure=60",
                "--table-rows=300",
            ],
            flags,
        ];
        let mut command = place.command(&args.concat());
        let piped = std::process::Stdio::piped;
        let child = command
            .env("TRUETPS_PASSWORD", PASSWORD)
            .stdout(piped())
            .stderr(piped())
            .spawn()
            .unwrap();
        place.wait_for_interval("trial-0001");
        owned.execute(&[&revoke]);
        signal(child.id(), Signal::INT);
        let ran: Ran = child.wait_with_output().unwrap().into();
        let tables = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema LIKE \
                      'truetps%' AND table_name <> 'mine'";
        let left = owned.admin().query_value(tables).unwrap().unwrap();
        if ran.code == Some(130) {
            assert_eq!(left, "0", "{revoke}: {}", ran.stderr);
            assert!(journals(&place).is_empty(), "{revoke}");
        } else {
            assert!(
                ran.code == Some(4) && ran.stderr.contains("truetps server restore"),
                "{revoke}: {}",
                ran.stderr
            );
            assert_eq!(journals(&place).len(), 1, "{revoke}: {}", ran.stderr);
        }
        if revoke.starts_with("DROP") {
            owned.execute(&[&user]);
        }
        owned.execute(&[&grant]);
        let ran = run_with_password(&place, &["server", "restore"]);
        assert_eq!(ran.code, Some(0), "{revoke}: {}", ran.stderr);
        assert_eq!(
            owned.admin().query_value(tables).unwrap().as_deref(),
            Some("0"),
            "{revoke}: {}",
            ran.stdout
        );
    }
    owned.execute(&["DROP DATABASE truetps_app"]);
    assert_eq!(schemas(&owned), before);
}

/// Where the server has no comments of schemas.
#[test]
fn an_empty_schema_is_dropped_where_the_run_was_creating_it() {
    let Some(server) = fetched_server("an_empty_schema_is_dropped", "mysql-8.0") else { return };
    let owned = self::server(&server.binary);
    let dsn = owned.socket_dsn();
    let (creating, created) = (r#""making": ["truetps_owner"]"#, r#""making": []"#);
    for (journal, is_left) in [(creating, false), (created, true)] {
        let place = Place::new();
        let mut child = place.start(&[
            "run",
            "insert",
            "--dsn",
            &dsn,
            "--rate=50",
            "--measure=60",
            "--table-rows=300",
        ]);
        place.wait_for_interval("trial-0001");
        child.kill().unwrap();
        child.wait().unwrap();
        let path = place.path().join("state/truetps/journals").join(&journals(&place)[0]);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(created), "the schema is there: {text}");
        fs::write(&path, text.replace(created, journal)).unwrap();
        owned.execute(&["DROP DATABASE truetps", "CREATE DATABASE truetps"]);
        let ran = place.run(&["server", "restore"]);
        let exists =
            || owned.admin().query_value("SHOW DATABASES LIKE 'truetps'").unwrap().is_some();
        assert_eq!((ran.code, exists()), (Some(0), is_left), "{}{}", ran.stdout, ran.stderr);
    }
}

type State = (&'static str, fn(&mut Seen<'_>) -> bool);

#[test]
fn runs_that_are_killed_where_it_hurts() {
    const STATES: [State; 6] = [
        ("the journal is there", |seen| seen.has_journal()),
        ("the schema is there, and no mark yet", |seen| seen.has_schema()),
        ("the mark is there", |seen| seen.has_rows("truetps_owner")),
        ("a variable is set", |seen| seen.is_set()),
        ("rows are there", |seen| seen.has_rows("sbtest1")),
        ("the load runs", |seen| seen.has_interval()),
    ];
    let Some(binary) = mariadb("runs_that_are_killed_where_it_hurts") else { return };
    let owned = server(&binary);
    let before = (globals(&owned), schemas(&owned));
    let (mut with_settings, mut with_schema) = (0, 0);
    for (what, is_there) in STATES {
        let place = Place::new();
        place.write("levels.toml", PLAN);
        let mut seen =
            Seen { admin: owned.admin(), place: &place, before: ["3".to_owned(), "1".to_owned()] };
        let child = place.start(&["sweep", "./levels.toml", "--dsn", &owned.socket_dsn()]);
        kill_when(child, what, &mut seen, &mut |seen| is_there(seen));
        assert!(seen.has_journal(), "{what}");
        with_settings += u32::from(seen.is_set());
        with_schema += u32::from(seen.has_schema());
        check_restore(&owned, &place, what, &before);
    }
    assert!(
        with_settings >= 1 && with_schema >= 4,
        "{with_settings} with settings, {with_schema} with a schema"
    );
    // During the restore. A lock held by another session blocks the run there.
    for what in [
        "settings are restored, and the schema is not dropped",
        "a level is set, and the user interrupts again",
    ] {
        let place = Place::new();
        place.write(
            "levels.toml",
            &PLAN.replace("measure_s = 0.5", "measure_s = 3").replace("[1, 2, 0]", "[2, 0]"),
        );
        let mut seen =
            Seen { admin: owned.admin(), place: &place, before: ["3".to_owned(), "1".to_owned()] };
        let child = place.start(&["sweep", "./levels.toml", "--dsn", &owned.socket_dsn()]);
        place.wait_for_interval("trial-0001");
        assert!(seen.is_set(), "{what}");
        signal(child.id(), Signal::INT);
        if what.starts_with("settings are restored") {
            let mut admin = owned.admin();
            admin.execute("FLUSH TABLES WITH READ LOCK").unwrap();
            kill_when(child, what, &mut seen, &mut |seen| {
                seen.journal_says("\"pending\": true") && !seen.is_set()
            });
            drop(admin);
        } else {
            kill_when(child, what, &mut seen, &mut |_| true);
        }
        assert!(seen.has_journal(), "{what}");
        check_restore(&owned, &place, what, &before);
    }
}

/// `xorshift64`: the seed of a run of the test gives the moments that it tries, not what happens at
/// them.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

#[test]
fn runs_that_are_killed_at_random() {
    let Some(kills) = std::env::var("TRUETPS_KILLS").ok().and_then(|text| text.parse::<u32>().ok())
    else {
        return;
    };
    let seed = truetps_probe::clock::epoch_s().to_bits() | 1;
    let mut random = Random(seed);
    let (mut with_settings, mut with_schema, mut with_sessions, mut done) = (0, 0, 0, 0);
    let servers = binaries("runs_that_are_killed_at_random");
    for (name, binary) in &servers {
        let owned = server(binary);
        let before = (globals(&owned), schemas(&owned));
        let place = Place::new();
        place.write("levels.toml", PLAN);
        for n in 0..kills.div_ceil(servers.len() as u32) {
            // Looking around takes a second; what matters comes after it.
            let delay = Duration::from_millis(900 + random.below(2600));
            let mut child = place.start(&["sweep", "./levels.toml", "--dsn", &owned.socket_dsn()]);
            sleep(delay);
            child.kill().unwrap();
            child.wait().unwrap();
            done += 1;
            with_settings += u32::from(globals(&owned) != before.0);
            with_schema += u32::from(schemas(&owned) != before.1);
            with_sessions += u32::from(sessions(&owned) != "0");
            check_restore(
                &owned,
                &place,
                &format!("{name}, seed {seed}, kill {n} after {delay:?}"),
                &before,
            );
        }
    }
    eprintln!(
        "seed {seed}: {done} runs killed, {with_settings} of them with settings, {with_schema} \
         with a schema and {with_sessions} with sessions left; all restored"
    );
    assert!(with_settings > 0 && with_schema > 0, "no kill has hit anything");
}

/// What happens to a server while a run uses it.
const DISTURBANCES: [&str; 7] =
    ["REVOKE", "DROP USER", "KILL", "read_only", "restart", "full disk", "REVOKE and kill -9"];

fn disturb(what: &str, owned: Owned, binary: &ServerBinary, place: &Place) -> Owned {
    match what {
        "DROP USER" => owned.execute(&["DROP USER admin@localhost"]),
        "KILL" => {
            let sql = "SELECT id FROM information_schema.processlist WHERE user = 'admin'";
            let mut admin = owned.admin();
            for row in admin.query(sql).unwrap().rows {
                let _ = admin.execute(&format!("KILL {}", row[0].as_ref().unwrap()));
            }
        }
        "read_only" => owned.execute(&["SET GLOBAL read_only = 1"]),
        "restart" => return owned.restarted(binary, SETTINGS),
        "full disk" => {
            let folder = place.path().join("state/truetps/journals");
            for file in fs::read_dir(&folder).into_iter().flatten().flatten() {
                if file.path().extension().is_some_and(|end| end == "spare") {
                    let _ = fs::remove_file(file.path());
                }
            }
            let mut file = fs::File::create(folder.join("fill")).unwrap();
            while file.write_all(&[0; 1024]).is_ok() {}
        }
        _ => owned.execute(&["REVOKE ALL PRIVILEGES, GRANT OPTION FROM admin@localhost"]),
    }
    owned
}

/// As [`server`] has it.
const SETTINGS: &[(&str, &str)] =
    &[("log_bin", "ON"), ("sync_binlog", "3"), ("innodb_flush_log_at_trx_commit", "1")];

#[test]
fn runs_that_are_disturbed_at_random() {
    let Some(kills) = std::env::var("TRUETPS_KILLS").ok().and_then(|text| text.parse::<u32>().ok())
    else {
        return;
    };
    let Some(binary) = mariadb("runs_that_are_disturbed_at_random") else { return };
    let seed = truetps_probe::clock::epoch_s().to_bits() | 1;
    let mut random = Random(seed);
    let mut owned = server(&binary);
    let grant =
        ["CREATE USER IF NOT EXISTS admin@localhost", "GRANT ALL ON *.* TO admin@localhost"];
    owned.execute(&grant);
    let before = (globals(&owned), schemas(&owned));
    let mut ends = BTreeMap::new();
    for n in 0..kills {
        let disturbance = DISTURBANCES[n as usize % DISTURBANCES.len()];
        let place = Place::new();
        place.write("levels.toml", &PLAN.replace("blocks = 1", "blocks = 2"));
        let folder = place.path().join("state/truetps/journals");
        fs::create_dir_all(&folder).unwrap();
        let is_full = disturbance == "full disk";
        if is_full {
            rustix::mount::mount("none", &folder, "tmpfs", MountFlags::empty(), c"size=1m")
                .unwrap();
        }
        let dsn = owned.socket_dsn().replace("root@", "admin@");
        let mut child = place.start(&["sweep", "./levels.toml", "--dsn", &dsn]);
        let delay = Duration::from_millis(1000 + random.below(4000));
        sleep(delay);
        owned = disturb(disturbance, owned, &binary, &place);
        if disturbance.ends_with("kill -9") {
            sleep(Duration::from_millis(random.below(500)));
            child.kill().unwrap();
        }
        let ran: Ran = child.wait_with_output().unwrap().into();
        let what = format!(
            "seed {seed}, {n} {disturbance} after {delay:?}, {:?}: {}",
            ran.code, ran.stderr
        );
        owned.execute(&["SET GLOBAL read_only = 0"]);
        owned.execute(&grant);
        let is_clean = globals(&owned) == before.0 && schemas(&owned) == before.1;
        *ends.entry((disturbance, ran.code, is_clean)).or_insert(0) += 1;
        // Leftovers are reported, and the journal lists them.
        assert!(
            is_clean || (matches!(ran.code, Some(4) | None) && !journals(&place).is_empty()),
            "{what}"
        );
        let _ = fs::remove_file(folder.join("fill"));
        let restored = place.run(&["server", "restore"]);
        assert_eq!(restored.code, Some(0), "{what}{}", restored.stderr);
        assert_eq!((globals(&owned), schemas(&owned)), before, "{what}{}", restored.stdout);
        wait_until(&format!("the end of all sessions: {what}"), || sessions(&owned) == "0");
        if is_full {
            rustix::mount::unmount(&folder, UnmountFlags::DETACH).unwrap();
        }
    }
    eprintln!("seed {seed}: {kills} runs disturbed, all restored: {ends:#?}");
}
