//! The clients of a crash: each inserts rows of its own keys until its connection breaks, and notes
//! every answer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use truetps_driver::{Client, DriverError, Target};
use truetps_record::{ErrorClass, SqlDialect};

use super::count::SentRow;

pub(crate) const TABLE: &str = "crash_log";
/// Keys of one client in one crash.
pub(crate) const KEYS_PER_CLIENT: u64 = 1 << 32;
const PAYLOAD: &str =
    "what a client wanted to keep: 0123456789 0123456789 0123456789 0123456789 0123456789";
const TIMEOUT: Duration = Duration::from_mins(1);

/// The rows of all clients, until the crash.
#[derive(Debug, Default)]
pub(crate) struct CrashLoad {
    pub(crate) sent: Vec<SentRow>,
    /// Why a client ended before the crash.
    pub(crate) early: Option<DriverError>,
}

/// Runs the clients until `crash` has ended the server. The first key is `first_key`; the clock of
/// all rows is `clock`. `crash` calls its argument before it does what the server may answer with
/// errors. Returns the rows, and what `crash` returned.
pub(crate) fn load_until<T>(
    target: &Target,
    clients: u32,
    first_key: u64,
    clock: Instant,
    crash: impl FnOnce(&dyn Fn()) -> T,
) -> Result<(CrashLoad, T), DriverError> {
    let connections: Vec<_> = (0..clients).map(|_| connect(target)).collect::<Result<_, _>>()?;
    let has_crashed = AtomicBool::new(false);
    Ok(thread::scope(|scope| {
        let has_crashed = &has_crashed;
        let threads: Vec<_> = (0..)
            .zip(connections)
            .map(|(number, client)| {
                let first_key = first_key + number * KEYS_PER_CLIENT;
                scope.spawn(move || insert_rows(client, first_key, clock, has_crashed))
            })
            .collect();
        let end_load = || has_crashed.store(true, Ordering::Release);
        let outcome = crash(&end_load);
        end_load();
        let mut load = CrashLoad::default();
        for thread in threads {
            let (sent, early) = thread.join().expect("a client does not panic");
            load.sent.extend(sent);
            load.early = load.early.or(early);
        }
        (load, outcome)
    }))
}

/// Where the server logs rows and not statements, it notes the statements as well, so that its
/// binlog can be compared.
fn connect(target: &Target) -> Result<Client, DriverError> {
    let mut client = Client::connect(target, TIMEOUT)?;
    if client.dialect() == SqlDialect::Mysql {
        // MariaDB does so by default, and does not know the setting.
        let _ = client.execute("SET SESSION binlog_rows_query_log_events = ON");
    }
    Ok(client)
}

fn insert_rows(
    mut client: Client,
    first_key: u64,
    clock: Instant,
    has_crashed: &AtomicBool,
) -> (Vec<SentRow>, Option<DriverError>) {
    let mut rows = Vec::new();
    for key in first_key..first_key + KEYS_PER_CLIENT {
        let sent = clock.elapsed();
        let answer = client.execute(&format!("INSERT INTO {TABLE} VALUES ({key}, '{PAYLOAD}')"));
        let acknowledged = answer.is_ok().then(|| clock.elapsed());
        rows.push(SentRow { key, sent, acknowledged });
        if let Err(error) = answer {
            // The crash ends connections before its caller knows that it is over: a moment decides.
            let is_early =
                !has_crashed.load(Ordering::Acquire) && error.class() != ErrorClass::ConnectionLost;
            return (rows, is_early.then_some(error));
        }
    }
    (rows, None)
}
