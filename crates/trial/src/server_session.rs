//! Ends statements in a MySQL-family server with KILL, sent from another session because theirs is
//! busy.

use truetps_driver::{Client, ConnectionIds, DriverError};

/// A session as `SHOW FULL PROCESSLIST` lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSession {
    pub id: u64,
    pub user: String,
    /// The schema that it is in; empty for none.
    pub schema: String,
    /// `Sleep`, `Query`, `Killed`, ...
    pub command: String,
    /// Empty if no statement runs.
    pub statement: String,
}

impl ServerSession {
    /// Whether it waits for its client.
    pub fn is_idle(&self) -> bool {
        self.command == "Sleep"
    }

    /// A row of the list.
    pub fn of_row(row: &[Option<String>]) -> Option<Self> {
        const USER: usize = 1;
        const SCHEMA: usize = 3;
        const COMMAND: usize = 4;
        const INFO: usize = 7;
        let [id, user, schema, command, statement] = [0, USER, SCHEMA, COMMAND, INFO]
            .map(|n| row.get(n).and_then(Option::as_deref).unwrap_or_default().to_owned());
        Some(Self { id: id.parse().ok()?, user, schema, command, statement })
    }

    /// All sessions visible to the account except this one, and the account's name. `None`: this
    /// session, connected with `ids`, has another number in the server than in its greeting. Behind
    /// a proxy no number proves anything.
    pub fn beside(
        client: &mut Client,
        ids: &ConnectionIds,
    ) -> Result<Option<(String, Vec<Self>)>, DriverError> {
        let row = client
            .query("SELECT CONNECTION_ID(), USER()")?
            .rows
            .into_iter()
            .next()
            .unwrap_or_default();
        let mut cells = row.into_iter().map(Option::unwrap_or_default);
        let (own, user) =
            (cells.next().and_then(|id| id.parse().ok()), cells.next().unwrap_or_default());
        let Some(own) = own.filter(|own| is_listed(*own, ids)) else { return Ok(None) };
        let user = user.rsplit_once('@').map_or("", |(user, _)| user).to_owned();
        let others = Self::list(client)?.into_iter().filter(|session| session.id != own);
        Ok(Some((user, others.collect())))
    }

    /// Whether the session belongs to a run with these connections, account and schema: numbers are
    /// reused after a restart, and other servers use the same numbers.
    pub fn is_of(&self, ids: &ConnectionIds, user: &str, schema: &str) -> bool {
        self.user == user && self.schema.eq_ignore_ascii_case(schema) && is_listed(self.id, ids)
    }

    /// All sessions visible to the account: at least its own.
    pub fn list(client: &mut Client) -> Result<Vec<Self>, DriverError> {
        let rows = client.query("SHOW FULL PROCESSLIST")?.rows;
        Ok(rows.iter().filter_map(|row| Self::of_row(row)).collect())
    }

    /// Ends its statement, or the session. A refusal is ignored: the session may have ended
    /// already.
    pub fn end(&self, client: &mut Client, with_connection: bool) -> Result<(), DriverError> {
        let what = if with_connection { "" } else { "QUERY " };
        match client.execute(&format!("KILL {what}{}", self.id)) {
            Err(error) if !matches!(error, DriverError::Server(_)) => Err(error),
            _ => Ok(()),
        }
    }
}

fn is_listed(id: u64, ids: &ConnectionIds) -> bool {
    u32::try_from(id).is_ok_and(|id| ids.contains(id))
}
