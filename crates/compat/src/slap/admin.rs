//! The connection that makes, fills and drops: nothing of it is measured.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use truetps_driver::{Client, DriverError, QueryResult, Target};

use crate::ending::{RunSessions, start_of};
use crate::run::{ANSWER_TIMEOUT, STATEMENT_TIMEOUT};

/// Between two looks at whether the user has had enough.
const LOOK: Duration = Duration::from_millis(100);
/// Looks after which a statement that goes on is ended with its connection: some cannot be ended otherwise.
const PATIENCE_LOOKS: u32 = 5;

pub(super) struct Admin {
    target: Target,
    client: Client,
    watch: Arc<StatementWatch>,
    watcher: Option<JoinHandle<()>>,
}

/// What the watcher knows.
struct StatementWatch {
    /// The statement that may be ended. Whoever ends one holds the lock meanwhile, so that it is not the next one that is
    /// hit.
    at_work: Mutex<Option<String>>,
    stop: Arc<AtomicBool>,
    is_over: AtomicBool,
    sessions: RunSessions,
}

impl StatementWatch {
    fn at_work(&self) -> MutexGuard<'_, Option<String>> {
        self.at_work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Admin {
    /// `schema`: where its statements run once it is there.
    pub(super) fn connect(target: &Target, schema: &str, stop: Arc<AtomicBool>) -> Result<Self, DriverError> {
        let mut target = target.clone();
        let sessions = RunSessions::of(&mut target, vec![schema.to_owned(), String::new()]);
        let client = connect(&target)?;
        let at_work = Mutex::new(None);
        let watch = Arc::new(StatementWatch { at_work, stop, is_over: AtomicBool::new(false), sessions });
        let watched = Arc::clone(&watch);
        let watcher = Some(thread::spawn(move || end_when_wanted(&watched)));
        Ok(Self { target, client, watch, watcher })
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
        *self.watch.at_work() = Some(sql.to_owned());
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
        self.client = connect(&self.target)?;
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

fn connect(target: &Target) -> Result<Client, DriverError> {
    let mut client = Client::connect(target, ANSWER_TIMEOUT)?;
    client.set_timeout(STATEMENT_TIMEOUT)?;
    Ok(client)
}

/// Ends the statement at work once the user has asked for the end: from a connection of its own, as the one at work is
/// busy.
fn end_when_wanted(watch: &StatementWatch) {
    let mut looks = 0;
    while !watch.is_over.load(Ordering::Relaxed) {
        thread::park_timeout(LOOK);
        if !watch.stop.load(Ordering::Relaxed) {
            continue;
        }
        let at_work = watch.at_work();
        if let Some(sql) = &*at_work {
            looks += 1;
            // It may have ended of itself; and one that goes on is looked at again.
            let _ = watch.sessions.end_statements(&[start_of(sql)], looks > PATIENCE_LOOKS);
        }
    }
}
