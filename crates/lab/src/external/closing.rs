//! A PostgreSQL database is closed before it is dropped, so that no other user creates a table
//! between the last check and DROP DATABASE, which deletes all tables.

use std::time::{Duration, Instant};

use truetps_driver::{Client, DriverError};

use super::control::CLIENT_TIMEOUT;

const END_OTHERS: &str = "SELECT pg_catalog.pg_terminate_backend(pid)::text FROM pg_stat_activity \
                          WHERE datname = current_database() AND pid <> pg_backend_pid() AND \
                          backend_type = 'client backend'";

/// The statement sent by [`close`].
pub(crate) fn close_sql(database: &str) -> [String; 2] {
    [alter_sql(database, false), END_OTHERS.to_owned()]
}

fn alter_sql(database: &str, opens: bool) -> String {
    format!("ALTER DATABASE {database} ALLOW_CONNECTIONS {opens}")
}

/// Allows sessions again; `database` is quoted.
pub(crate) fn open(outside: &mut Client, database: &str) -> Result<(), DriverError> {
    outside.execute(&alter_sql(database, true)).map(drop)
}

/// Refuses new sessions and ends all except `inside`, as DROP DATABASE … WITH (FORCE) does. False:
/// the account may not do that; the database is open as before.
pub(crate) fn close(
    outside: &mut Client,
    inside: &mut Client,
    database: &str,
) -> Result<bool, DriverError> {
    if let Err(error) = outside.execute(&alter_sql(database, false)) {
        return refused(error);
    }
    match end_others(inside) {
        Ok(true) => Ok(true),
        Ok(false) => open(outside, database).map(|()| false),
        Err(error) => {
            open(outside, database)?;
            refused(error)
        }
    }
}

fn refused(error: DriverError) -> Result<bool, DriverError> {
    if matches!(error, DriverError::Server(_)) { Ok(false) } else { Err(error) }
}

/// Ends client sessions in the current database; false: some remain.
fn end_others(inside: &mut Client) -> Result<bool, DriverError> {
    const PAUSE: Duration = Duration::from_millis(20);
    let began = Instant::now();
    while !inside.query(END_OTHERS)?.rows.is_empty() {
        if began.elapsed() >= CLIENT_TIMEOUT {
            return Ok(false);
        }
        std::thread::sleep(PAUSE);
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use truetps_testkit::{PostgresOptions, PostgresServer};

    use super::*;

    #[test]
    fn a_closed_database_has_no_session_but_ours() {
        let Some(server) = PostgresServer::start("a_closed_database", &PostgresOptions::default())
        else {
            return;
        };
        let mut outside = server.connect().unwrap();
        outside.execute("CREATE DATABASE closing").unwrap();
        let mut target = server.target();
        target.login.database = Some("closing".to_owned());
        let connect = || Client::connect(&target, CLIENT_TIMEOUT);
        let (mut inside, mut other) = (connect().unwrap(), connect().unwrap());
        assert!(close(&mut outside, &mut inside, "closing").unwrap());
        assert!(other.execute("CREATE TABLE late (id int)").is_err() && connect().is_err());
        assert!(
            inside.query("SELECT 1 FROM pg_class WHERE relname = 'late'").unwrap().rows.is_empty()
        );
        open(&mut outside, "closing").unwrap();
        connect().unwrap();
        // An account without the right.
        outside.execute("CREATE ROLE stranger LOGIN").unwrap();
        target.login.user = "stranger".to_owned();
        target.login.database = Some("postgres".to_owned());
        let mut stranger = Client::connect(&target, CLIENT_TIMEOUT).unwrap();
        assert!(!close(&mut stranger, &mut inside, "closing").unwrap());
    }
}
