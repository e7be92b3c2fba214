//! One life of a random table: rows of several clients through two gateways, and faults; then all
//! answers are held against the table.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use truetps_batch::{CommitAnswer, CommitSettings, RowError};
use truetps_driver::Client;
use truetps_random::RandomStream;
use truetps_record::Flavour;

use super::kinds::MadeValue;
use super::random_table::RandomTable;
use crate::SOON;
use crate::clients::{TestQueue, TestReply};
use crate::tables::{TestGateway, TestServer};

const CLIENTS: u64 = 6;
const ROWS: u64 = 16;
/// What foreign keys refer to.
const PARENTS: &str = "INSERT INTO parents VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)";
/// A row that is answered `send it again` so often is given up.
const TRIES_MAX: u32 = 40;
/// How often for a row that must be refused: while no other row is stored, nothing may show whose
/// fault an error is.
const WRONG_TRIES_MAX: u32 = 3;

/// How often each thing happened.
#[derive(Debug, Default)]
pub(super) struct LifeCounts(BTreeMap<&'static str, u64>);

impl LifeCounts {
    fn count(&mut self, what: &'static str, times: u64) {
        *self.0.entry(what).or_default() += times;
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (what, times) in &other.0 {
            self.count(what, *times);
        }
    }

    pub(super) fn assert_that_much_happened(&self) {
        for what in [
            "tables",
            "stored",
            "duplicates",
            "conflicts",
            "refused",
            "sessions killed",
            "gave up waiting",
        ] {
            assert!(self.0.get(what).is_some_and(|times| *times > 0), "{what}: {self:?}");
        }
    }
}

/// A row as a client sends it: a value for each column that it gives.
#[derive(Debug, Clone)]
struct SentRow {
    values: Vec<Option<MadeValue>>,
}

impl SentRow {
    fn json(&self, table: &RandomTable) -> String {
        let fields = table.columns.iter().zip(&self.values);
        let fields = fields.filter_map(|(column, value)| {
            Some(format!("\"{}\":{}", column.name, value.as_ref()?.json))
        });
        format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
    }

    /// What the server must show for the key; `None`: a value of it must be refused.
    fn key(&self, table: &RandomTable) -> Option<Vec<String>> {
        self.values[..table.key_parts].iter().map(|value| value.as_ref()?.stored.clone()).collect()
    }

    fn must_be_refused(&self, table: &RandomTable) -> bool {
        let first = self.values[0].as_ref().and_then(|value| value.stored.as_deref());
        self.values.iter().flatten().any(|value| value.stored.is_none())
            || first.is_some_and(|first| table.has_no_partition(first))
    }
}

/// The final answer to a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Final {
    Stored,
    Duplicate,
    Conflict,
    Refused,
    GivenUp,
}

pub(super) fn live(server: &mut TestServer, flavour: Flavour, seed: u64) -> LifeCounts {
    let mut random = RandomStream::new(seed, 0);
    prepare(server, flavour);
    let table = Arc::new(RandomTable::new(flavour, &format!("t{seed}"), &mut random));
    let mut counts = LifeCounts::default();
    let mut admin = server.client();
    for sql in table.create() {
        if let Err(error) = admin.execute(&sql) {
            // No server allows every key, as of a partition.
            counts.count("tables that cannot be made", 1);
            let _ = admin.execute(&table.drop_sql());
            assert!(
                table.create().len() > 1 || !error.to_string().contains("syntax"),
                "seed {seed}: {sql}: {error}"
            );
            return counts;
        }
    }
    let settings = settings(server, &table, &mut random);
    let gateways = [TestGateway::start(&settings), TestGateway::start(&settings)];
    let queues: Vec<TestQueue> =
        gateways.iter().map(|gateway| Arc::clone(&gateway.queue)).collect();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|n| {
            let (table, queues, random) =
                (Arc::clone(&table), queues.clone(), RandomStream::new(seed, 1 + n));
            thread::spawn(move || run_client(&table, &queues, random))
        })
        .collect();
    let is_killed = random.below(12) == 0 || super::number("TRUETPS_MACHINE_KILLS").is_some();
    make_trouble(server, &table, &mut random, is_killed, &mut counts);
    let mut answered = Vec::new();
    for client in clients {
        let (rows, seen) = client.join().unwrap_or_else(|_| panic!("seed {seed}, {table:?}"));
        answered.extend(rows);
        counts.add(&seen);
    }
    drop(gateways);
    counts.count("tables", 1);
    check(&mut server.client(), &table, &answered, seed, &mut counts);
    server.run(&table.drop_sql());
    counts
}

/// What tables of PostgreSQL refer to, and an account with few rights.
fn prepare(server: &TestServer, flavour: Flavour) {
    let mut client = server.client();
    let all: &[&str] = match flavour {
        Flavour::Postgresql => &[
            "CREATE TYPE label AS ENUM ('a','B','it''s')",
            "CREATE DOMAIN addresses AS INET",
            "CREATE COLLATION folds (provider = icu, locale = 'und-u-ks-level1', deterministic = \
             false)",
            "CREATE ROLE few LOGIN",
            "ALTER DEFAULT PRIVILEGES GRANT SELECT, INSERT ON TABLES TO few",
            "CREATE TABLE parents (id INT PRIMARY KEY)",
            PARENTS,
        ],
        _ => &[
            "CREATE USER few@'%' IDENTIFIED BY ''",
            "CREATE USER few@localhost IDENTIFIED BY ''",
            "GRANT SELECT, INSERT ON gateway.* TO few@'%'",
            "GRANT SELECT, INSERT ON gateway.* TO few@localhost",
            "CREATE TABLE parents (id INT PRIMARY KEY) ENGINE=InnoDB",
            PARENTS,
        ],
    };
    // All but the first life find them there.
    if client.execute(all[0]).is_ok() {
        for sql in &all[1..] {
            client.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
    }
}

fn settings(server: &TestServer, table: &RandomTable, random: &mut RandomStream) -> CommitSettings {
    let mut settings = CommitSettings {
        table: table.name.clone(),
        key: table.key(),
        statement_time: Duration::from_secs(2),
        connections: 1 + random.below(2) as usize,
        ..server.settings()
    };
    if random.below(2) == 0 {
        "few".clone_into(&mut settings.target.login.user);
    }
    settings
}

/// Kills sessions, alters the table, kills the server.
fn make_trouble(
    server: &mut TestServer,
    table: &RandomTable,
    random: &mut RandomStream,
    is_killed: bool,
    counts: &mut LifeCounts,
) {
    for _ in 0..random.below(4) {
        thread::sleep(Duration::from_millis(1 + random.below(30)));
        if random.below(4) == 0 {
            let altered = server.client().execute(&table.alter(random)).is_ok();
            counts.count("altered", u64::from(altered));
        } else {
            counts.count("sessions killed", kill_sessions(&mut server.client(), table.flavour));
        }
    }
    if is_killed {
        server.kill();
        server.restart();
        counts.count("servers killed", 1);
    }
}

fn kill_sessions(admin: &mut Client, flavour: Flavour) -> u64 {
    let sql = match flavour {
        Flavour::Postgresql => {
            "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'truetps-gateway-%' AND \
             pid <> pg_backend_pid()"
        }
        _ => {
            "SELECT ID FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND COMMAND \
             IN ('Sleep', 'Query')"
        }
    };
    let found = admin.query(sql).map(|found| found.rows).unwrap_or_default();
    let ids: Vec<_> =
        found.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect();
    for id in &ids {
        let sql = match flavour {
            Flavour::Postgresql => format!("SELECT pg_terminate_backend({id})"),
            _ => format!("KILL {id}"),
        };
        let _ = admin.execute(&sql);
    }
    ids.len() as u64
}

/// Sends rows one after the other, each until it has a final answer.
fn run_client(
    table: &RandomTable,
    queues: &[TestQueue],
    mut random: RandomStream,
) -> (Vec<(SentRow, Final)>, LifeCounts) {
    let (mut answered, mut counts) = (Vec::<(SentRow, Final)>::new(), LifeCounts::default());
    for _ in 0..ROWS {
        let row = match random.below(8) {
            // The same row again, long after its answer.
            0 if !answered.is_empty() => {
                answered[random.below(answered.len() as u64) as usize].0.clone()
            }
            _ => make_row(table, &mut random),
        };
        let answer = send_until_answered(table, &row, queues, &mut random, &mut counts);
        answered.push((row, answer));
    }
    (answered, counts)
}

fn make_row(table: &RandomTable, random: &mut RandomStream) -> SentRow {
    let spoiled = (random.below(6) == 0).then(|| random.below(table.columns.len() as u64) as usize);
    let values = table.columns.iter().enumerate().map(|(n, column)| {
        let is_key = n < table.key_parts;
        if spoiled == Some(n)
            && let Some(value) = column.kind.spoiled(table.flavour, random)
        {
            return Some(value);
        }
        // Few keys, so that clients meet.
        let number = if is_key { random.below(60) * 7919 } else { random.next_u64() };
        (is_key || random.below(5) > 0).then(|| column.kind.value(table.flavour, number))
    });
    SentRow { values: values.collect() }
}

fn send_until_answered(
    table: &RandomTable,
    row: &SentRow,
    queues: &[TestQueue],
    random: &mut RandomStream,
    counts: &mut LifeCounts,
) -> Final {
    let json = row.json(table);
    for _ in 0..if row.must_be_refused(table) { WRONG_TRIES_MAX } else { TRIES_MAX } {
        let queue = &queues[random.below(queues.len() as u64) as usize];
        let read = queue.columns().read_row(json.as_bytes(), None);
        let inserted = match read {
            Ok(inserted) => inserted,
            Err(RowError::NotJson(error)) => panic!("{json}: {error}"),
            Err(_) => return Final::Refused,
        };
        let (sender, receiver) = sync_channel(1);
        let answer = match queue.push(inserted, TestReply::new(sender), 0, Duration::from_secs(3)) {
            Err(_) => None,
            Ok(()) => wait(&receiver, random, counts),
        };
        match answer {
            Some(CommitAnswer::Stored { is_duplicate: Some(true) }) => return Final::Duplicate,
            Some(CommitAnswer::Stored { .. }) => return Final::Stored,
            Some(CommitAnswer::KeyConflict) => return Final::Conflict,
            Some(CommitAnswer::Refused(error))
                if error.code == 1062 || error.sqlstate == "23505" =>
            {
                return Final::Conflict;
            }
            Some(
                answer @ (CommitAnswer::Refused(_)
                | CommitAnswer::Changed { .. }
                | CommitAnswer::TooLong),
            ) => {
                assert!(
                    row.must_be_refused(table) || table.has_trigger,
                    "{json} is correct and refused: {answer:?}, {table:?}"
                );
                return Final::Refused;
            }
            Some(CommitAnswer::StoredAs { .. }) => {
                panic!("{json}: no client wants the differences")
            }
            Some(CommitAnswer::NotStored(_) | CommitAnswer::Unknown) | None => {
                thread::sleep(Duration::from_millis(1 + random.below(50)));
            }
        }
    }
    Final::GivenUp
}

/// Some clients do not wait for the answer.
fn wait(
    receiver: &Receiver<CommitAnswer>,
    random: &mut RandomStream,
    counts: &mut LifeCounts,
) -> Option<CommitAnswer> {
    let is_hasty = random.below(8) == 0;
    let time = if is_hasty { Duration::from_micros(random.below(3000)) } else { SOON };
    let began = Instant::now();
    match receiver.recv_timeout(time) {
        Ok(answer) => Some(answer),
        Err(RecvTimeoutError::Timeout) if is_hasty => {
            counts.count("gave up waiting", 1);
            None
        }
        Err(error) => panic!("no answer within {:?}: {error}", began.elapsed()),
    }
}

/// Each acknowledged row is in the table once, with what the server must show for each value that
/// was sent; a row that was refused for good is not in it, unless another client sent it, too.
fn check(
    client: &mut Client,
    table: &RandomTable,
    answered: &[(SentRow, Final)],
    seed: u64,
    counts: &mut LifeCounts,
) {
    let mut stored = BTreeMap::<Vec<String>, Vec<Vec<Option<String>>>>::new();
    for row in client.query(&table.select()).unwrap().rows {
        let key =
            row[..table.key_parts].iter().map(|text| text.clone().unwrap_or_default()).collect();
        stored.entry(key).or_default().push(row);
    }
    let is_shown = |row: &SentRow, shown: &[Option<String>]| {
        row.values
            .iter()
            .zip(shown)
            .all(|(sent, shown)| sent.as_ref().is_none_or(|sent| sent.stored == *shown))
    };
    for (row, answer) in answered {
        let json = row.json(table);
        let found = row.key(table).and_then(|key| stored.get(&key));
        let what =
            format!("seed {seed}: {json} was answered {answer:?}, stored: {found:?}, {table:?}");
        match answer {
            Final::Stored | Final::Duplicate => {
                assert!(!row.must_be_refused(table), "{what}");
                assert_eq!(found.map(Vec::len), Some(1), "{what}");
                assert!(is_shown(row, &found.unwrap()[0]), "{what}");
                let what = if *answer == Final::Stored { "stored" } else { "duplicates" };
                counts.count(what, 1);
            }
            Final::Refused => {
                // What is correct is refused only where a trigger changes it.
                assert!(row.must_be_refused(table) || table.has_trigger, "{what}");
                counts.count("refused", 1);
            }
            Final::Conflict => counts.count("conflicts", 1),
            Final::GivenUp => counts.count("given up", 1),
        }
    }
    let sent: Vec<_> = answered.iter().filter_map(|(row, _)| row.key(table)).collect();
    for (key, rows) in &stored {
        let is_sent = sent.contains(key);
        assert!(is_sent && rows.len() == 1, "seed {seed}: {key:?} has {rows:?}, {table:?}");
    }
}
