//! The connection that creates, fills and drops; it is not measured.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use truetps_driver::{Client, DriverError, QueryResult, Target};

use crate::ending::{RunSessions, start_of};
use crate::run::connect_unmeasured;

/// Interval between checks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(100);
/// Number of checks after which a statement that continues is ended with its connection: some
/// cannot be ended otherwise.
const PATIENCE_LOOKS: u32 = 5;

pub(super) struct Admin {
    target: Target,
    client: Client,
    watch: Arc<StatementWatch>,
    watcher: Option<JoinHandle<()>>,
}

/// State shared with the watcher.
struct StatementWatch {
    /// The statement that may be ended. The lock is held while it is ended, so that the next
    /// statement is not hit.
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
    /// `schema`: the schema of its statements, once it exists.
    pub(super) fn connect(
        target: &Target,
        schema: &str,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, DriverError> {
        let mut target = target.clone();
        let sessions = RunSessions::of(&mut target, vec![schema.to_owned(), String::new()]);
        let client = connect_unmeasured(&target)?;
        let at_work = Mutex::new(None);
        let watch =
            Arc::new(StatementWatch { at_work, stop, is_over: AtomicBool::new(false), sessions });
        let watched = Arc::clone(&watch);
        let watcher = Some(thread::spawn(move || end_when_wanted(&watched)));
        Ok(Self { target, client, watch, watcher })
    }

    pub(super) fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// The user has pressed Ctrl-C.
    pub(super) fn is_stopped(&self) -> bool {
        self.watch.stop.load(Ordering::Relaxed)
    }

    /// Runs a statement that ends soon after Ctrl-C.
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

    /// Reconnects. Locks and other resources of the old connection are free once the server has
    /// noticed.
    pub(super) fn renew(&mut self) -> Result<(), DriverError> {
        self.client = connect_unmeasured(&self.target)?;
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

/// Ends the running statement after Ctrl-C: from a connection of its own, because the working one
/// is busy.
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
            // It may have ended by itself; one that continues is checked again.
            let _ = watch.sessions.end_statements(&[start_of(sql)], looks > PATIENCE_LOOKS);
        }
    }
}
