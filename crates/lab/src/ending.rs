//! Statements that are ended in a server of the MySQL family by KILL, from another session, as theirs is busy.

use truetps_driver::{Client, DriverError};

/// A session as `SHOW FULL PROCESSLIST` lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSession {
    pub id: u64,
    pub user: String,
    /// The schema that it is in; empty for none.
    pub schema: String,
    /// `Sleep`, `Query`, `Killed`, ...
    pub command: String,
    /// Empty where none runs.
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
        let cell = |n: usize| row.get(n).and_then(Option::as_deref).unwrap_or_default().to_owned();
        Some(Self {
            id: cell(0).parse().ok()?,
            user: cell(USER),
            schema: cell(SCHEMA),
            command: cell(COMMAND),
            statement: cell(INFO),
        })
    }

    /// All that the account sees: its own at least.
    pub fn list(client: &mut Client) -> Result<Vec<Self>, DriverError> {
        let rows = client.query("SHOW FULL PROCESSLIST")?.rows;
        Ok(rows.iter().filter_map(|row| Self::of_row(row)).collect())
    }

    /// Ends its statement, or the session. A refusal is none of the caller's: it may have ended of itself.
    pub fn end(&self, client: &mut Client, with_connection: bool) -> Result<(), DriverError> {
        let what = if with_connection { "" } else { "QUERY " };
        match client.execute(&format!("KILL {what}{}", self.id)) {
            Err(error) if !matches!(error, DriverError::Server(_)) => Err(error),
            _ => Ok(()),
        }
    }
}
