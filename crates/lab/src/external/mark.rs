//! A mark in the run's schema, so that a schema of the same name on another server behind the same
//! address is never taken for it.

use std::hash::{BuildHasher, Hasher, RandomState};

use truetps_driver::{Client, DriverError, ServerError};
use truetps_probe::clock;
use truetps_record::fnv1a;

pub(crate) const TABLE: &str = "truetps_owner";

/// The text written into a schema when it is created.
pub(crate) struct Mark {
    pub(crate) id: String,
}

impl Mark {
    /// Unique to this run: two containers can easily have the same second and the same process id.
    pub(crate) fn new() -> Self {
        Self { id: unique_id() }
    }

    /// The mark of another run.
    pub(crate) fn of(id: &str) -> Self {
        Self { id: id.to_owned() }
    }

    /// The comment of tables that are created in a user's schema. It contains no character with a
    /// meaning in SQL.
    pub(crate) fn signature(&self) -> String {
        format!("truetps {}", self.id)
    }

    /// A connection limit that a PostgreSQL database has from its creation on, and that is never
    /// reached.
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

    /// Writes it into the current schema of the client.
    pub(crate) fn leave(&self, client: &mut Client) -> Result<(), DriverError> {
        self.leave_sql().iter().try_for_each(|sql| client.execute(sql).map(drop))
    }

    /// The query that reads it; `table` is where it should be.
    pub(crate) fn question(table: &str) -> String {
        format!("SELECT id FROM {table}")
    }

    /// Whether it is in this table.
    pub(crate) fn is_in(&self, client: &mut Client, table: &str) -> Result<bool, DriverError> {
        match client.query_value(&Self::question(table)) {
            Ok(found) => Ok(found.as_deref() == Some(self.id.as_str())),
            // A schema without the table belongs to another user. A refused or interrupted query
            // proves nothing.
            Err(DriverError::Server(error)) if says_absent(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// A text that no other run has: time, process and a random number.
pub(crate) fn unique_id() -> String {
    let random = RandomState::new().build_hasher().finish();
    format!("{} {} {random:016x}", clock::now_rfc3339(), std::process::id())
}

/// Whether the server reports that the schema or the table does not exist, or has another form.
fn says_absent(error: &ServerError) -> bool {
    const NUMBERS: [u16; 4] = [1049, 1051, 1054, 1146];
    const STATES: [&str; 3] = ["3F000", "42703", "42P01"];
    if error.code == 0 {
        STATES.contains(&error.sqlstate.as_str())
    } else {
        NUMBERS.contains(&error.code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_not_there_is_absent() {
        let said = |code, state: &str| {
            says_absent(&ServerError {
                code,
                sqlstate: state.to_owned(),
                message: String::new(),
                position: 0,
            })
        };
        assert!(said(1146, "42S02") && said(1049, "42000") && said(0, "42P01"));
        // No privilege, interrupted, shut down, timed out.
        for (code, state) in
            [(1142, "42000"), (1317, "70100"), (1053, "08S01"), (3024, "HY000"), (1969, "70100")]
        {
            assert!(!said(code, state), "{code}");
        }
        assert!(!said(0, "57P01") && !said(0, "42501") && !said(0, "57014"));
    }

    #[test]
    fn marks_of_the_same_second_and_process_differ_and_fit() {
        let (one, other) = (Mark::new(), Mark::new());
        assert_ne!(one.id, other.id);
        assert!(one.id.len() <= 64, "{}", one.id);
    }
}
