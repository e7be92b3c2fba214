//! A row may fail with any error that a server has: triggers choose it themselves. Whatever it is,
//! it costs its own client only. `TRUETPS_POISON_SECONDS=2` also measures what it costs others: the
//! rows a second of four clients beside a fifth, to those without it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use truetps_batch::{CommitAnswer, CommitSettings};
use truetps_record::SqlDialect;

use crate::SOON;
use crate::clients::{TestQueue, is_stored, send};
use crate::tables::{TestGateway, TestServer};

const GOOD_CLIENTS: usize = 4;
const POISON_CLIENT: usize = 99;

/// Numbers that MySQL's triggers report: of values, keys, locks, disks, rights, tables, networks,
/// and none that is known.
const MYSQL_CODES: [u16; 34] = [
    1020, 1022, 1030, 1040, 1047, 1048, 1053, 1054, 1062, 1105, 1114, 1136, 1142, 1146, 1153, 1159,
    1180, 1205, 1213, 1264, 1290, 1317, 1366, 1406, 1442, 1526, 1586, 1615, 1644, 1792, 1836, 1969,
    3024, 9999,
];

/// What a column of the table refuses; the first one is only for all.
const MYSQL_VALUES: [&str; 6] = [
    r#""day":"2031-01-01""#,
    r#""small":300"#,
    r#""parent":77"#,
    r#""latin":"漢""#,
    r#""divisor":0"#,
    r#""moment":"2026-02-30 10:00:00""#,
];

const MYSQL_TABLE: &str = "CREATE TABLE poisoned (client INT NOT NULL, seq BIGINT NOT NULL, code \
     INT NULL, day DATE NOT NULL DEFAULT '2026-11-28', small TINYINT NULL, latin VARCHAR(9) \
     CHARACTER SET latin1 NULL, divisor INT NULL, moment DATETIME NULL, parent INT NULL, share INT \
     AS (100 / divisor) STORED, PRIMARY KEY (client, seq, day)) ENGINE=InnoDB PARTITION BY RANGE \
     COLUMNS (day) (PARTITION one VALUES LESS THAN ('2027-01-01'))";

/// SQLSTATEs that PostgreSQL's triggers report.
const POSTGRES_STATES: [&str; 35] = [
    "01000", "02000", "08006", "0A000", "21000", "22001", "22003", "22012", "22P02", "23502",
    "23505", "23514", "23P01", "25006", "26000", "28000", "2BP01", "34000", "38000", "3D000",
    "3F000", "40001", "40P01", "42501", "42703", "42804", "42P01", "44000", "53100", "53300",
    "54000", "55P03", "57014", "57P01", "XX000",
];

const POSTGRES_VALUES: [&str; 6] = [
    r#""day":"2031-01-01""#,
    r#""small":70000"#,
    r#""parent":77"#,
    r#""checked":-1"#,
    r#""mood":"sad""#,
    r#""secret":true"#,
];

const POSTGRES_TABLE: [&str; 8] = [
    "CREATE TABLE parents (id INT PRIMARY KEY)",
    "CREATE DOMAIN positive AS INT CHECK (VALUE >= 0)",
    "CREATE TYPE mood AS ENUM ('happy')",
    "CREATE TABLE poisoned (client INT NOT NULL, seq BIGINT NOT NULL, code TEXT NULL, day DATE NOT \
     NULL DEFAULT '2026-11-28', small SMALLINT NULL, checked positive, mood mood, secret BOOLEAN \
     NOT NULL DEFAULT false, parent INT REFERENCES parents, PRIMARY KEY (client, seq, day)) \
     PARTITION BY RANGE (day)",
    "CREATE TABLE poisoned_one PARTITION OF poisoned FOR VALUES FROM ('2026-01-01') TO \
     ('2027-01-01')",
    "CREATE FUNCTION raise_code() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.code IS NOT \
     NULL THEN RAISE EXCEPTION USING ERRCODE = NEW.code, MESSAGE = 'of a trigger'; END IF; RETURN \
     NEW; END $$",
    "CREATE TRIGGER raises BEFORE INSERT ON poisoned FOR EACH ROW EXECUTE FUNCTION raise_code()",
    "ALTER TABLE poisoned ENABLE ROW LEVEL SECURITY",
];

/// The account of the gateway is not the owner, so that policies are for it, too.
const POSTGRES_ACCOUNT: [&str; 4] = [
    "CREATE ROLE ingest LOGIN",
    "GRANT SELECT, INSERT ON poisoned TO ingest",
    "CREATE POLICY reads ON poisoned FOR SELECT USING (true)",
    "CREATE POLICY writes ON poisoned FOR INSERT WITH CHECK (NOT secret)",
];

/// The table, and the fields of rows that fail.
fn prepare(server: &TestServer) -> (CommitSettings, Vec<String>) {
    let settings = CommitSettings { table: "poisoned".to_owned(), ..server.settings() };
    match server.dialect() {
        SqlDialect::Mysql => {
            server.run(MYSQL_TABLE);
            // A partitioned table has no foreign key: the trigger looks for the parent instead.
            server.run("CREATE TABLE parents (id INT PRIMARY KEY)");
            let signals = MYSQL_CODES.map(|code| {
                format!(
                    "WHEN {code} THEN SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = {code}, \
                     MESSAGE_TEXT = 'of a trigger';"
                )
            });
            server.run(&format!(
                "CREATE TRIGGER raises BEFORE INSERT ON poisoned FOR EACH ROW BEGIN DECLARE one \
                 INT; IF NEW.parent IS NOT NULL THEN SET one = (SELECT 1 UNION ALL SELECT 2); END \
                 IF; CASE NEW.code {} ELSE BEGIN END; END CASE; END",
                signals.concat()
            ));
            let codes = MYSQL_CODES.iter().map(|code| format!("\"code\":{code}"));
            (settings, codes.chain(MYSQL_VALUES.map(str::to_owned)).collect())
        }
        SqlDialect::Postgres => {
            for sql in POSTGRES_TABLE.iter().chain(&POSTGRES_ACCOUNT) {
                server.run(sql);
            }
            let mut target = settings.target.clone();
            "ingest".clone_into(&mut target.login.user);
            let codes = POSTGRES_STATES.iter().map(|code| format!("\"code\":\"{code}\""));
            let fields = codes.chain(POSTGRES_VALUES.map(str::to_owned)).collect();
            (CommitSettings { target, ..settings }, fields)
        }
    }
}

/// Clients that send one row after the other, and one whose rows all fail, if it has such a field.
struct Beside {
    stop: Arc<AtomicBool>,
    good: Vec<thread::JoinHandle<u64>>,
    poison: Option<thread::JoinHandle<u64>>,
}

impl Beside {
    fn start(queue: &TestQueue, first_seq: u64, poison: Option<&str>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let good = |client: usize| {
            let (queue, stop) = (Arc::clone(queue), Arc::clone(&stop));
            thread::spawn(move || {
                let mut seq = first_seq;
                while !stop.load(Ordering::Relaxed) {
                    let json = format!(r#"{{"client":{client},"seq":{seq},"day":"2026-11-28"}}"#);
                    match send(&queue, &json, SOON) {
                        Some(answer) if is_stored(&answer) => seq += 1,
                        Some(answer @ (CommitAnswer::Refused(_) | CommitAnswer::KeyConflict)) => {
                            panic!("{json}: {answer:?}")
                        }
                        _ => thread::sleep(Duration::from_millis(1)),
                    }
                }
                seq - first_seq
            })
        };
        let poison = poison.map(|field| {
            let (queue, stop, field) = (Arc::clone(queue), Arc::clone(&stop), field.to_owned());
            thread::spawn(move || {
                let mut refused = 0;
                while !stop.load(Ordering::Relaxed) {
                    let day = if field.contains("day") { "" } else { r#""day":"2026-11-28","# };
                    let json = format!(
                        r#"{{"client":{POISON_CLIENT},"seq":{},{day}{field}}}"#,
                        first_seq + refused
                    );
                    let answer = send(&queue, &json, Duration::from_millis(300));
                    assert!(!answer.as_ref().is_some_and(is_stored), "{json}: {answer:?}");
                    refused += 1;
                }
                refused
            })
        });
        Self { good: (0..GOOD_CLIENTS).map(good).collect(), poison, stop }
    }

    /// Rows that were stored, and rows that failed.
    fn end(self) -> (u64, u64) {
        self.stop.store(true, Ordering::Relaxed);
        let stored = self.good.into_iter().map(|thread| thread.join().unwrap()).sum();
        (stored, self.poison.map_or(0, |thread| thread.join().unwrap()))
    }
}

#[test]
fn a_row_that_fails_with_any_error_costs_its_own_client_only() {
    for server in TestServer::of_each_family("rows with any error") {
        let (settings, fields) = prepare(&server);
        assert!(fields.len() >= 40, "{}", fields.len());
        let gateway = TestGateway::start(&settings);
        for (n, field) in fields.iter().enumerate() {
            let beside = Beside::start(&gateway.queue, n as u64 * 1_000_000, Some(field));
            let end = Instant::now() + SOON;
            let enough = 20 * GOOD_CLIENTS as u64;
            let rows = |client: &str| {
                let sql = format!(
                    "SELECT COUNT(*) FROM poisoned WHERE seq >= {} AND client {client}",
                    n * 1_000_000
                );
                server.client().query_value(&sql).unwrap().unwrap().parse::<u64>().unwrap()
            };
            while rows("<> 99") < enough {
                assert!(Instant::now() < end, "{field}: others are not stored");
                thread::sleep(Duration::from_millis(5));
            }
            let (stored, _) = beside.end();
            assert_eq!((rows("<> 99"), rows("= 99")), (stored, 0), "{field}");
        }
    }
}

/// Not a part of `make test`: it takes minutes, and judges speed.
#[test]
fn others_are_as_fast_as_without_poison() {
    let Ok(seconds) = std::env::var("TRUETPS_POISON_SECONDS") else {
        eprintln!("SKIPPED what poison costs others: set TRUETPS_POISON_SECONDS");
        return;
    };
    let time = Duration::from_secs_f64(seconds.parse().unwrap());
    for server in TestServer::of_each_family("what poison costs") {
        let (settings, fields) = prepare(&server);
        let gateway = TestGateway::start(&settings);
        let mut seq = 0;
        let mut rate = |poison: Option<&str>| {
            seq += 10_000_000;
            // After two seconds the client is known.
            let beside = Beside::start(&gateway.queue, seq, poison);
            thread::sleep(Duration::from_secs(2));
            let stored = || {
                let sql = format!("SELECT COUNT(*) FROM poisoned WHERE seq >= {seq}");
                server.client().query_value(&sql).unwrap().unwrap().parse::<f64>().unwrap()
            };
            let before = stored();
            let began = Instant::now();
            thread::sleep(time);
            let rate = (stored() - before) / began.elapsed().as_secs_f64();
            beside.end();
            rate
        };
        let mut ratios = Vec::new();
        for field in &fields {
            let without = rate(None);
            let with = rate(Some(field));
            let ratio = with / without;
            eprintln!(
                "{:?} {field}: {with:.0} rows/s beside it, {without:.0} without it: {ratio:.2}",
                server.dialect()
            );
            ratios.push(ratio);
        }
        ratios.sort_by(f64::total_cmp);
        eprintln!(
            "median {:.2} [{:.2} .. {:.2}]",
            ratios[ratios.len() / 2],
            ratios[0],
            ratios[ratios.len() - 1]
        );
    }
}
