//! Statements that are ended once the user has asked for the end: by KILL from another connection, as theirs is busy.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use truetps_driver::{Client, ConnectionIds, DriverError, Target};
use truetps_lab::ServerSession;

/// It takes no longer to end a statement.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);
/// How long statements of clients go on.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);
/// Statements that go on for so much longer are ended with their connections: some cannot be ended otherwise.
const LONG_PATIENCE: Duration = Duration::from_secs(3);
/// Between two looks at whether the user has had enough.
const LOOK: Duration = Duration::from_millis(100);

/// Clients that are at work, and how they are known.
pub(crate) struct Clients {
    /// For connections from which statements are ended.
    pub(crate) target: Target,
    pub(crate) connections: ConnectionIds,
    /// What their statements begin with.
    pub(crate) starts: Vec<String>,
}

impl Clients {
    /// Ends what they are at some time after the user has asked for the end, until `is_over`.
    pub(crate) fn end_when_wanted(&self, stop: &AtomicBool, is_over: &AtomicBool) {
        let starts: Vec<&str> = self.starts.iter().map(String::as_str).collect();
        let which = |connection| u32::try_from(connection).is_ok_and(|id| self.connections.contains(id));
        let mut since = None;
        while !is_over.load(Ordering::Relaxed) {
            thread::park_timeout(LOOK);
            if !stop.load(Ordering::Relaxed) {
                continue;
            }
            let waited = since.get_or_insert_with(Instant::now).elapsed();
            if waited >= PATIENCE && !is_over.load(Ordering::Relaxed) {
                // One that goes on is looked at again.
                let _ = end_statements(&self.target, &which, &starts, waited >= LONG_PATIENCE);
            }
        }
    }
}

/// Ends what runs on these connections, if it begins like that.
pub(crate) fn end_statements(
    target: &Target,
    which: &dyn Fn(u64) -> bool,
    starts: &[&str],
    with_connection: bool,
) -> Result<(), DriverError> {
    let mut client = Client::connect(target, KILL_TIMEOUT)?;
    // Behind a proxy this may be another server, where the number is somebody else's.
    for session in ServerSession::list(&mut client)? {
        if which(session.id) && begins(&session.statement, starts) {
            session.end(&mut client, with_connection)?;
        }
    }
    Ok(())
}

/// Whether a statement begins like one of these.
fn begins(statement: &str, starts: &[&str]) -> bool {
    let text = statement.trim_start();
    starts.iter().any(|start| !start.is_empty() && text.starts_with(start))
}

/// Enough of a statement to know it by, without letters that some character set turns into others, and without values
/// that are put in later.
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
        let starts = [start_of(" INSERT INTO t VALUES ('é')"), start_of("select a from t where id = ?")];
        let row = |id: &str, info: Option<&str>| {
            let mut row = vec![Some(id.to_owned())];
            row.extend(["u", "h", "d", "Query", "0", ""].map(|text| Some(text.to_owned())));
            row.push(info.map(str::to_owned));
            row.push(Some("0.000".to_owned()));
            row
        };
        let is_of = |row: &[Option<String>]| {
            ServerSession::of_row(row).is_some_and(|session| session.id == 7 && begins(&session.statement, &starts))
        };
        assert!(is_of(&row("7", Some("INSERT INTO t VALUES ('?')"))));
        assert!(is_of(&row("7", Some("select a from t where id = 5"))));
        for other in
            [row("8", Some("INSERT INTO t VALUES ('x')")), row("7", Some("SELECT 1")), row("7", None), Vec::new()]
        {
            assert!(!is_of(&other), "{other:?}");
        }
        assert!(!begins("anything", &[start_of("é")]), "what has no beginning is left alone");
    }
}
