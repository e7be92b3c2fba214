//! Sessions of a run that remain in its server after a trial or the run has ended: their statements
//! would continue and keep locks. Only sessions proved to be the run's are ended: on PostgreSQL by
//! a name unique to the run; on the MySQL family, where sessions have no names, by number, account
//! and schema together. Each server numbers its sessions by itself, so that a number proves nothing
//! where an address may lead to several servers: see [`OwnSessions::is_proof`].

use std::time::{Duration, Instant};

use truetps_driver::{Client, ConnectionIds, DriverError};
use truetps_record::SqlDialect;
use truetps_trial::ServerSession;

use super::control::CLIENT_TIMEOUT;
use crate::trial::sql_names::text_literal;

/// A session whose client has closed it ends by itself within this time.
const IDLE_GRACE: Duration = Duration::from_millis(500);

/// What proves that a session belongs to the run.
#[derive(Debug, Clone, Default)]
pub(crate) struct OwnSessions {
    pub(crate) ids: ConnectionIds,
    /// On PostgreSQL.
    pub(crate) name: String,
    /// The schema of the load's sessions.
    pub(crate) schema: String,
    /// Whether number, account and schema prove that a session belongs to the run: all sessions are
    /// in one server, and no other session has a reason to use the schema. A user's schema may have
    /// other sessions of the account, so that only a socket of this machine is proof.
    pub(crate) is_proof: bool,
    /// The session that held the run's settings, according to the journal of the same server.
    pub(crate) control: Option<u64>,
}

impl OwnSessions {
    /// The first statement of a PostgreSQL session, which identifies it.
    pub(crate) fn setup_sql(dialect: SqlDialect, name: &str) -> Option<String> {
        (dialect == SqlDialect::Postgres)
            .then(|| format!("SET application_name = {}", text_literal(dialect, name)))
    }

    /// Ends all except the client's own, waits for their end, and returns the numbers of those that
    /// remain. The client is connected with `ids`.
    pub(crate) fn end(&self, client: &mut Client) -> Result<Vec<u64>, DriverError> {
        end_listed(client, IDLE_GRACE, &|client| self.list(client))
    }

    fn list(&self, client: &mut Client) -> Result<Vec<ServerSession>, DriverError> {
        if client.dialect() == SqlDialect::Postgres {
            let sql = format!(
                "SELECT pid::text, '', '', '', CASE state WHEN 'idle' THEN 'Sleep' ELSE state END, \
                 '', '', query FROM pg_stat_activity WHERE application_name = {} AND usename = \
                 session_user AND pid <> pg_backend_pid()",
                text_literal(SqlDialect::Postgres, &self.name)
            );
            return Ok(client
                .query(&sql)?
                .rows
                .iter()
                .filter_map(|row| ServerSession::of_row(row))
                .collect());
        }
        let Some((user, all)) = ServerSession::beside(client, &self.ids)? else {
            return Ok(Vec::new());
        };
        Ok(all.into_iter().filter(|session| self.is_ours(session, &user)).collect())
    }

    /// Whether a MySQL-family session belongs to the run. `user`: the run's account.
    fn is_ours(&self, session: &ServerSession, user: &str) -> bool {
        (session.user == user && self.control == Some(session.id))
            || (self.is_proof && session.is_of(&self.ids, user, &self.schema))
    }
}

/// Ends one MySQL-family session; returns whether it remains.
pub(crate) fn end_one(client: &mut Client, id: u64) -> Result<bool, DriverError> {
    let left = end_listed(client, Duration::ZERO, &|client| {
        Ok(ServerSession::list(client)?.into_iter().filter(|session| session.id == id).collect())
    });
    Ok(!left?.is_empty())
}

/// Ends the listed sessions until none is listed, for a limited time. Also waits for sessions that
/// this account may not end.
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
                SqlDialect::Mysql => session.end(client, true)?,
                SqlDialect::Postgres => {
                    drop(client.query(&format!(
                        "SELECT pg_catalog.pg_terminate_backend({})",
                        session.id
                    ))?);
                }
            }
        }
        std::thread::sleep(PAUSE.max(began.elapsed() / 10));
    }
}

/// The messages about sessions that remain.
pub(crate) fn left_text(dialect: SqlDialect, id: u64, name: &str) -> String {
    let end = match dialect {
        SqlDialect::Mysql => format!("KILL {id}"),
        // Process numbers are used again: the name is the run's alone.
        SqlDialect::Postgres => format!(
            "SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity WHERE \
             pid = {id} AND application_name = {}",
            text_literal(dialect, name)
        ),
    };
    format!("session {id} of the run is still in the server and could not be ended: {end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statement_to_run_by_hand_ends_no_session_of_others() {
        let text = left_text(SqlDialect::Postgres, 71, "truetps 2026 1");
        let condition = "WHERE pid = 71 AND application_name = 'truetps 2026 1'";
        assert!(text.ends_with(condition), "the number may be another's by then: {text}");
    }

    #[test]
    fn a_number_alone_proves_no_session() {
        let ids = ConnectionIds::default();
        for id in [7, 8] {
            ids.add(id);
        }
        let own = OwnSessions {
            ids,
            schema: "truetps".to_owned(),
            is_proof: true,
            control: Some(5),
            ..Default::default()
        };
        let session = |id: u64, user: &str, schema: &str| ServerSession {
            id,
            user: user.to_owned(),
            schema: schema.to_owned(),
            command: "Query".to_owned(),
            statement: String::new(),
        };
        assert!(own.is_ours(&session(7, "loader", "truetps"), "loader"));
        // With lower_case_table_names = 2 the list shows the name as originally written.
        assert!(own.is_ours(&session(8, "loader", "TrueTPS"), "loader"));
        assert!(own.is_ours(&session(5, "loader", ""), "loader"));
        for other in [
            session(9, "loader", "truetps"),
            session(7, "app", "truetps"),
            session(7, "loader", "shop"),
            session(7, "loader", ""),
            session(5, "app", ""),
        ] {
            assert!(!own.is_ours(&other, "loader"), "{other:?}");
        }
        // Several servers, each of which numbers its sessions by itself.
        let own = OwnSessions { is_proof: false, ..own };
        assert!(!own.is_ours(&session(7, "loader", "truetps"), "loader"));
    }
}
