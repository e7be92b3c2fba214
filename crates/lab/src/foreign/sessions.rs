//! Sessions of a run that are still in its server when a trial, or the run, has ended: their statements would go on, and keep
//! locks. Only sessions that are proved to be the run's own are ended: on the MySQL family by their numbers, which no other
//! session has until the server is restarted; on PostgreSQL, which gives numbers again, by a name that no other run has.

use std::time::{Duration, Instant};

use truetps_driver::{Client, ConnectionIds, Dialect, DriverError};

use super::hold::CLIENT_TIMEOUT;
use crate::ending::ServerSession;

/// A session whose client has closed it leaves by itself within this time.
const IDLE_GRACE: Duration = Duration::from_millis(500);

/// What proves that a session is the run's.
#[derive(Debug, Clone, Default)]
pub(crate) struct OwnSessions {
    pub(crate) ids: ConnectionIds,
    /// On PostgreSQL.
    pub(crate) name: String,
}

impl OwnSessions {
    /// What a session of PostgreSQL sends first, to be known by.
    pub(crate) fn setup_sql(dialect: Dialect, name: &str) -> Option<String> {
        (dialect == Dialect::Postgres).then(|| format!("SET application_name = '{name}'"))
    }

    /// Ends all but the client's own, waits for their end, and returns the numbers of those that stay. The client is
    /// connected with `ids`.
    pub(crate) fn end(&self, client: &mut Client) -> Result<Vec<u64>, DriverError> {
        end_listed(client, IDLE_GRACE, &|client| self.list(client))
    }

    fn list(&self, client: &mut Client) -> Result<Vec<ServerSession>, DriverError> {
        if client.dialect() == Dialect::Postgres {
            let sql = format!(
                "SELECT pid::text, '', '', '', CASE state WHEN 'idle' THEN 'Sleep' ELSE state END, '', '', query \
                 FROM pg_stat_activity \
                 WHERE application_name = '{}' AND usename = session_user AND pid <> pg_backend_pid()",
                self.name
            );
            return Ok(client.query(&sql)?.rows.iter().filter_map(|row| ServerSession::of_row(row)).collect());
        }
        let is_ours = |id: u64| u32::try_from(id).is_ok_and(|id| self.ids.contains(id));
        let own = client.query_value("SELECT CONNECTION_ID()")?.and_then(|text| text.parse().ok());
        // A proxy gives out numbers of its own: those of the server are other sessions'.
        let Some(own) = own.filter(|own| is_ours(*own)) else { return Ok(Vec::new()) };
        let all = ServerSession::list(client)?.into_iter();
        Ok(all.filter(|session| session.id != own && is_ours(session.id)).collect())
    }
}

/// Ends one session of the MySQL family; says whether it stays.
pub(crate) fn end_one(client: &mut Client, id: u64) -> Result<bool, DriverError> {
    let list = |client: &mut Client| -> Result<Vec<ServerSession>, DriverError> {
        Ok(ServerSession::list(client)?.into_iter().filter(|session| session.id == id).collect())
    };
    Ok(!end_listed(client, Duration::ZERO, &list)?.is_empty())
}

/// Ends what is listed until nothing is, for a bounded time. What another account may not end is waited for, too.
fn end_listed(
    client: &mut Client,
    idle_grace: Duration,
    list: &dyn Fn(&mut Client) -> Result<Vec<ServerSession>, DriverError>,
) -> Result<Vec<u64>, DriverError> {
    const PAUSE: Duration = Duration::from_millis(10);
    let began = Instant::now();
    loop {
        let left = list(client)?;
        if left.is_empty() || began.elapsed() >= CLIENT_TIMEOUT {
            return Ok(left.iter().map(|session| session.id).collect());
        }
        for session in left {
            if session.command == "Killed" || (session.is_idle() && began.elapsed() < idle_grace) {
                continue;
            }
            match client.dialect() {
                Dialect::Mysql => session.end(client, true)?,
                Dialect::Postgres => drop(client.query(&format!("SELECT pg_terminate_backend({})", session.id))?),
            }
        }
        std::thread::sleep(PAUSE.max(began.elapsed() / 10));
    }
}

/// What is to be said of those that stay.
pub(crate) fn left_text(dialect: Dialect, id: u64) -> String {
    let end = match dialect {
        Dialect::Mysql => format!("KILL {id}"),
        Dialect::Postgres => format!("SELECT pg_terminate_backend({id})"),
    };
    format!("session {id} of the run is still in the server and could not be ended: {end}")
}
