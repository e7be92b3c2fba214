//! A mark in the schema of a guest, so that no other schema of that name, on another server behind the same address, is
//! ever taken for it.

use truetps_driver::{Client, Dialect, DriverError};
use truetps_probe::clock;

pub(crate) const TABLE: &str = "truetps_owner";

/// What is written into a schema when it is made.
pub(crate) struct Mark {
    id: String,
}

impl Mark {
    /// One that no other run has.
    pub(crate) fn new() -> Self {
        Self { id: format!("{} {}", clock::now_rfc3339(), std::process::id()) }
    }

    /// That of another run.
    pub(crate) fn of(id: &str) -> Self {
        Self { id: id.to_owned() }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn leave_sql(&self) -> [String; 2] {
        [
            format!("CREATE TABLE {TABLE} (id VARCHAR(64) NOT NULL PRIMARY KEY)"),
            format!("INSERT INTO {TABLE} (id) VALUES ('{}')", self.id),
        ]
    }

    /// Leaves it in the schema that the client is in.
    pub(crate) fn leave(&self, client: &mut Client) -> Result<(), DriverError> {
        self.leave_sql().iter().try_for_each(|sql| client.execute(sql).map(drop))
    }

    /// Whether it is in the schema that the client is in.
    pub(crate) fn is_in(&self, client: &mut Client) -> Result<bool, DriverError> {
        self.is_found(client, TABLE)
    }

    /// Whether it is in this schema of the same server. Servers of PostgreSQL show nothing of other databases.
    pub(crate) fn is_in_schema(&self, client: &mut Client, quoted: &str) -> Result<bool, DriverError> {
        debug_assert!(client.dialect() == Dialect::Mysql);
        self.is_found(client, &format!("{quoted}.{TABLE}"))
    }

    fn is_found(&self, client: &mut Client, table: &str) -> Result<bool, DriverError> {
        match client.query_value(&format!("SELECT id FROM {table}")) {
            Ok(found) => Ok(found.as_deref() == Some(self.id.as_str())),
            // A schema without the table is somebody else's.
            Err(DriverError::Server(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
