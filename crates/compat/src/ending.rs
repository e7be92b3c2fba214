//! Ends statements after Ctrl-C with KILL, sent from another connection because theirs is busy.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use truetps_driver::{Client, ConnectionIds, DriverError, Target};
use truetps_trial::ServerSession;

/// Time limit for ending a statement.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);
/// How long statements of clients may continue.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);
/// Statements that continue for this much longer are ended with their connections: some cannot be
/// ended otherwise.
const LONG_PATIENCE: Duration = Duration::from_secs(3);
/// Interval between checks for a further interruption.
const LOOK: Duration = Duration::from_millis(100);

/// Busy clients, and what identifies them.
pub(crate) struct Clients {
    pub(crate) sessions: RunSessions,
    /// The beginnings of their statements.
    pub(crate) starts: Vec<String>,
}

impl Clients {
    /// Ends running statements some time after the interruption, until `is_over`. Returns whether
    /// connections were ended, too.
    pub(crate) fn end_when_wanted(&self, stop: &AtomicBool, is_over: &AtomicBool) -> bool {
        let starts: Vec<&str> = self.starts.iter().map(String::as_str).collect();
        let (mut since, mut has_ended_connections) = (None, false);
        while !is_over.load(Ordering::Relaxed) {
            thread::park_timeout(LOOK);
            if !stop.load(Ordering::Relaxed) {
                continue;
            }
            let waited = since.get_or_insert_with(Instant::now).elapsed();
            if waited >= PATIENCE && !is_over.load(Ordering::Relaxed) {
                // A statement that continues is checked again.
                let with_connection = waited >= LONG_PATIENCE;
                let has_ended =
                    self.sessions.end_statements(&starts, with_connection).unwrap_or(false);
                has_ended_connections |= with_connection && has_ended;
            }
        }
        has_ended_connections
    }
}

/// Sessions whose statements may be ended: identified by number, account and schema together, and
/// by the beginning of their statement.
pub(crate) struct RunSessions {
    /// Target of the connections that end statements; it records all connections.
    target: Target,
    connections: ConnectionIds,
    /// The schema of the sessions; empty: none.
    schemas: Vec<String>,
}

impl RunSessions {
    /// Connections to this target, which are listed from now on.
    pub(crate) fn of(target: &mut Target, schemas: Vec<String>) -> Self {
        let connections = ConnectionIds::default();
        target.connections = Some(connections.clone());
        Self {
            target: Target { setup: Vec::new(), sends_local_files: false, ..target.clone() },
            connections,
            schemas,
        }
    }

    /// Ends running statements that have one of the beginnings. Returns whether there were any.
    pub(crate) fn end_statements(
        &self,
        starts: &[&str],
        with_connection: bool,
    ) -> Result<bool, DriverError> {
        let mut client = Client::connect(&self.target, KILL_TIMEOUT)?;
        let Some((user, others)) = ServerSession::beside(&mut client, &self.connections)? else {
            return Ok(false);
        };
        let mut has_ended = false;
        for session in others {
            if self.may_end(&session, &user, starts) {
                has_ended = true;
                session.end(&mut client, with_connection)?;
            }
        }
        Ok(has_ended)
    }

    fn may_end(&self, session: &ServerSession, user: &str, starts: &[&str]) -> bool {
        let is_own =
            self.schemas.iter().any(|schema| session.is_of(&self.connections, user, schema));
        is_own && begins(&session.statement, starts)
    }
}

/// Whether a statement has one of these beginnings.
fn begins(statement: &str, starts: &[&str]) -> bool {
    let text = statement.trim_start();
    starts.iter().any(|start| !start.is_empty() && text.starts_with(start))
}

/// A prefix that identifies a statement, without characters that a character set may convert, and
/// without values that are inserted later.
pub(crate) fn start_of(sql: &str) -> &str {
    const CHARS_MAX: usize = 60;
    let sql = sql.trim_start();
    let end = sql.find(|c: char| !c.is_ascii() || c == '?').unwrap_or(sql.len());
    sql[..end.min(CHARS_MAX)].trim_end_matches([';', ' ', '\n', '\t', '\r'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_connection_that_runs_the_statement_is_ended() {
        let starts =
            [start_of(" INSERT INTO t VALUES ('é')"), start_of("select a from t where id = ?")];
        let row = |id: &str, info: Option<&str>| {
            let mut row = vec![Some(id.to_owned())];
            row.extend(["u", "h", "d", "Query", "0", ""].map(|text| Some(text.to_owned())));
            row.push(info.map(str::to_owned));
            row.push(Some("0.000".to_owned()));
            row
        };
        let mut target = Target::parse("mysql://u@h/d").unwrap();
        let own = RunSessions::of(&mut target, vec!["d".to_owned()]);
        own.connections.add(7);
        let is_of = |row: &[Option<String>]| {
            ServerSession::of_row(row).is_some_and(|session| own.may_end(&session, "u", &starts))
        };
        assert!(is_of(&row("7", Some("INSERT INTO t VALUES ('?')"))));
        assert!(is_of(&row("7", Some("select a from t where id = 5"))));
        // The same number and statement of another account, or in another schema: another server,
        // or the same one restarted.
        for (cell, text) in [(1, "v"), (3, "shop")] {
            let mut other = row("7", Some("INSERT INTO t VALUES ('?')"));
            other[cell] = Some(text.to_owned());
            assert!(!is_of(&other), "{other:?}");
        }
        for other in [
            row("8", Some("INSERT INTO t VALUES ('x')")),
            row("7", Some("SELECT 1")),
            row("7", None),
            Vec::new(),
        ] {
            assert!(!is_of(&other), "{other:?}");
        }
        assert!(!begins("anything", &[start_of("é")]), "what has no beginning is left alone");
    }
}
