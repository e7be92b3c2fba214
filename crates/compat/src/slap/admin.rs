//! The connection that makes, fills and drops: nothing of it is measured.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use truetps_driver::{Client, DriverError, QueryResult, Target};

use crate::run::{ANSWER_TIMEOUT, STATEMENT_TIMEOUT};

/// It takes no longer to end a statement.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);
/// Between two looks at whether the user has had enough.
const LOOK: Duration = Duration::from_millis(100);
/// Looks after which a statement that goes on is ended with its connection: some cannot be ended otherwise.
const PATIENCE_LOOKS: u32 = 5;

pub(super) struct Admin {
    target: Target,
    client: Client,
    /// The server's number of the connection.
    id: u64,
    watch: Arc<Watch>,
    watcher: Option<JoinHandle<()>>,
}

/// What the watcher knows.
struct Watch {
    /// The statement that may be ended. Whoever ends one holds the lock meanwhile, so that it is not the next one that is
    /// hit.
    at_work: Mutex<Option<Statement>>,
    stop: Arc<AtomicBool>,
    is_over: AtomicBool,
    /// The connection from which statements are ended.
    target: Target,
}

struct Statement {
    /// The server's number of its connection.
    connection: u64,
    start: String,
}

impl Watch {
    fn at_work(&self) -> MutexGuard<'_, Option<Statement>> {
        self.at_work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Admin {
    pub(super) fn connect(target: &Target, stop: Arc<AtomicBool>) -> Result<Self, DriverError> {
        let (client, id) = connect(target)?;
        let target = target.clone();
        let without_setup = Target { setup: Vec::new(), ..target.clone() };
        let at_work = Mutex::new(None);
        let watch = Arc::new(Watch { at_work, stop, is_over: AtomicBool::new(false), target: without_setup });
        let watched = Arc::clone(&watch);
        let watcher = Some(thread::spawn(move || end_when_wanted(&watched)));
        Ok(Self { target, client, id, watch, watcher })
    }

    pub(super) fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// The user has asked for the end.
    pub(super) fn is_stopped(&self) -> bool {
        self.watch.stop.load(Ordering::Relaxed)
    }

    /// Runs a statement that ends soon after the user has asked for the end.
    pub(super) fn query(&mut self, sql: &str) -> Result<QueryResult, DriverError> {
        *self.watch.at_work() = Some(Statement { connection: self.id, start: start_of(sql).to_owned() });
        let result = self.client.query(sql);
        *self.watch.at_work() = None;
        result
    }

    /// Runs a statement to its end.
    pub(super) fn finish(&mut self, sql: &str) -> Result<QueryResult, DriverError> {
        self.client.query(sql)
    }

    /// Connects anew. What the old connection held, as locks, is free once the server has noticed.
    pub(super) fn renew(&mut self) -> Result<(), DriverError> {
        (self.client, self.id) = connect(&self.target)?;
        Ok(())
    }
}

impl Drop for Admin {
    fn drop(&mut self) {
        self.watch.is_over.store(true, Ordering::Relaxed);
        if let Some(watcher) = self.watcher.take() {
            watcher.thread().unpark();
            let _ = watcher.join();
        }
    }
}

fn connect(target: &Target) -> Result<(Client, u64), DriverError> {
    let mut client = Client::connect(target, ANSWER_TIMEOUT)?;
    let id = client.query_value("SELECT CONNECTION_ID()")?.and_then(|id| id.parse().ok());
    client.set_timeout(STATEMENT_TIMEOUT)?;
    Ok((client, id.unwrap_or_default()))
}

/// Ends the statement at work once the user has asked for the end: from a connection of its own, as the one at work is
/// busy.
fn end_when_wanted(watch: &Watch) {
    let mut looks = 0;
    while !watch.is_over.load(Ordering::Relaxed) {
        thread::park_timeout(LOOK);
        if !watch.stop.load(Ordering::Relaxed) {
            continue;
        }
        let at_work = watch.at_work();
        if let Some(statement) = &*at_work {
            looks += 1;
            // It may have ended of itself; and one that goes on is looked at again.
            let _ = end(statement, &watch.target, looks > PATIENCE_LOOKS);
        }
    }
}

fn end(statement: &Statement, target: &Target, with_connection: bool) -> Result<(), DriverError> {
    let mut client = Client::connect(target, KILL_TIMEOUT)?;
    // Behind a proxy this may be another server, where the number is somebody else's.
    let rows = client.query("SHOW FULL PROCESSLIST")?.rows;
    if rows.iter().any(|row| is_of(statement, row)) {
        let what = if with_connection { "" } else { "QUERY " };
        client.execute(&format!("KILL {what}{}", statement.connection))?;
    }
    Ok(())
}

/// Whether a row of the list of connections is the one that runs the statement: number first, text in the eighth column.
fn is_of(statement: &Statement, row: &[Option<String>]) -> bool {
    const INFO: usize = 7;
    let text = |column: usize| row.get(column).and_then(Option::as_deref);
    text(0).and_then(|id| id.parse().ok()) == Some(statement.connection)
        && !statement.start.is_empty()
        && text(INFO).is_some_and(|info| info.trim_start().starts_with(&statement.start))
}

/// Enough of a statement to know it by, without letters that some character set turns into others.
fn start_of(sql: &str) -> &str {
    const CHARS_MAX: usize = 60;
    let sql = sql.trim_start();
    let end = sql.find(|c: char| !c.is_ascii()).unwrap_or(sql.len());
    sql[..end.min(CHARS_MAX)].trim_end_matches([';', ' ', '\n', '\t', '\r'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_connection_that_runs_the_statement_is_ended() {
        let sql = " INSERT INTO t VALUES ('é')";
        let statement = Statement { connection: 7, start: start_of(sql).to_owned() };
        let row = |id: &str, info: Option<&str>| {
            let mut row = vec![Some(id.to_owned())];
            row.extend(["u", "h", "d", "Query", "0", ""].map(|text| Some(text.to_owned())));
            row.push(info.map(str::to_owned));
            row.push(Some("0.000".to_owned()));
            row
        };
        assert!(is_of(&statement, &row("7", Some("INSERT INTO t VALUES ('?')"))));
        for other in [row("8", Some(sql)), row("7", Some("SELECT 1")), row("7", None), Vec::new()] {
            assert!(!is_of(&statement, &other), "{other:?}");
        }
    }
}
