//! A mark in the schema of a guest, so that no other schema of that name, on another server behind the same address, is
//! ever taken for it.

use std::hash::{BuildHasher, Hasher, RandomState};

use truetps_driver::{Client, DriverError, ServerError};
use truetps_probe::clock;
use truetps_record::fnv1a;

pub(crate) const TABLE: &str = "truetps_owner";

/// What is written into a schema when it is made.
pub(crate) struct Mark {
    id: String,
}

impl Mark {
    /// One that no other run has: two containers have the same second and the same process number easily.
    pub(crate) fn new() -> Self {
        let random = RandomState::new().build_hasher().finish();
        Self { id: format!("{} {} {random:016x}", clock::now_rfc3339(), std::process::id()) }
    }

    /// That of another run.
    pub(crate) fn of(id: &str) -> Self {
        Self { id: id.to_owned() }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// The comment of tables that are made in a schema of the user's. No letter of it means anything in SQL.
    pub(crate) fn signature(&self) -> String {
        format!("truetps {}", self.id)
    }

    /// A number that a database of PostgreSQL has from its first moment on, as a limit of connections that none reaches.
    pub(crate) fn connection_limit(&self) -> u64 {
        const LEAST: u64 = 1_000_000_000;
        LEAST + fnv1a(self.id.as_bytes()) % LEAST
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

    /// What asks for it; `table` is where it should be.
    pub(crate) fn question(table: &str) -> String {
        format!("SELECT id FROM {table}")
    }

    /// Whether it is in this table.
    pub(crate) fn is_in(&self, client: &mut Client, table: &str) -> Result<bool, DriverError> {
        match client.query_value(&Self::question(table)) {
            Ok(found) => Ok(found.as_deref() == Some(self.id.as_str())),
            // A schema without the table is somebody else's. Whoever may not look, or was interrupted, does not know.
            Err(DriverError::Server(error)) if says_absent(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Whether the server says that there is no such schema, no such table, or another one of its name.
fn says_absent(error: &ServerError) -> bool {
    const NUMBERS: [u16; 4] = [1049, 1051, 1054, 1146];
    const STATES: [&str; 3] = ["3F000", "42703", "42P01"];
    if error.code == 0 { STATES.contains(&error.sqlstate.as_str()) } else { NUMBERS.contains(&error.code) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_not_there_is_absent() {
        let said = |code, state: &str| {
            says_absent(&ServerError { code, sqlstate: state.to_owned(), message: String::new(), position: 0 })
        };
        assert!(said(1146, "42S02") && said(1049, "42000") && said(0, "42P01"));
        // No right to it, interrupted, shut down, taking too long.
        for (code, state) in [(1142, "42000"), (1317, "70100"), (1053, "08S01"), (3024, "HY000"), (1969, "70100")] {
            assert!(!said(code, state), "{code}");
        }
        assert!(!said(0, "57P01") && !said(0, "42501") && !said(0, "57014"));
    }

    #[test]
    fn marks_of_the_same_second_and_process_differ_and_fit() {
        let (one, other) = (Mark::new(), Mark::new());
        assert_ne!(one.id(), other.id());
        assert!(one.id().len() <= 64, "{}", one.id());
    }
}
