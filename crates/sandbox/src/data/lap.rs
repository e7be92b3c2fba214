//! Makes a running server write its whole redo log once.
//!
//! MySQL 8.0.30 and later keeps its redo log in 32 files, deletes the spare ones at every start and
//! creates new ones, so that overwriting them while it is stopped (`wear.rs`) has no effect: the
//! first pass after each start is slow again. Here the server itself writes that pass, into a table
//! that is dropped afterwards. Files written once are reused from then on.

use truetps_driver::{Client, DriverError};

use crate::program::binary::ServerBinary;
use crate::settings::version::ServerVersion;

/// The redo of one INSERT is about as large as its data. Less than the smallest default of
/// `max_allowed_packet`, 4 MB.
const ROW_BYTES: u64 = 4_000_000;
/// Limit of the table's size.
const ROWS_BETWEEN_TRUNCATES: u64 = 16;
const SCHEMA: &str = "truetps_lap";

/// Whether this server's redo log is slow again after each start.
pub(crate) fn needs_lap(binary: &ServerBinary) -> bool {
    binary.is_of_mysql() && binary.version >= ServerVersion::new(8, 0, 30)
}

/// Writes until the whole log has been written. Returns the bytes of redo written.
pub(crate) fn lap(client: &mut Client) -> Result<u64, DriverError> {
    client.execute("SET SESSION sql_log_bin = 0")?;
    client.execute(&format!("CREATE DATABASE IF NOT EXISTS {SCHEMA}"))?;
    let written = write_lap(client);
    // Also after an error: the schema must not exist during a measurement.
    let dropped = client.execute(&format!("DROP DATABASE {SCHEMA}"));
    let bytes = written?;
    dropped?;
    Ok(bytes)
}

fn write_lap(client: &mut Client) -> Result<u64, DriverError> {
    let table = format!("{SCHEMA}.lap");
    client
        .execute(&format!("CREATE TABLE IF NOT EXISTS {table} (filler LONGBLOB) ENGINE=InnoDB"))?;
    let capacity = status(client, "Innodb_redo_log_capacity_resized")?;
    // One file more than the whole log: the current one was started before.
    let target = capacity + capacity / 16;
    let start = status(client, "Innodb_redo_log_current_lsn")?;
    let mut written = 0;
    // With redo logging disabled the log does not grow; twice the rows are enough to detect that.
    for row in 1..=2 * target / ROW_BYTES + 2 {
        client.execute(&format!("INSERT INTO {table} VALUES (REPEAT('x', {ROW_BYTES}))"))?;
        if row % ROWS_BETWEEN_TRUNCATES == 0 {
            client.execute(&format!("TRUNCATE {table}"))?;
        }
        written = status(client, "Innodb_redo_log_current_lsn")?.saturating_sub(start);
        if written >= target {
            break;
        }
    }
    Ok(written)
}

fn status(client: &mut Client, name: &str) -> Result<u64, DriverError> {
    let rows = client.query(&format!("SHOW GLOBAL STATUS LIKE '{name}'"))?.rows;
    let value = rows.into_iter().next().and_then(|row| row.into_iter().nth(1).flatten());
    Ok(value.and_then(|text| text.parse().ok()).unwrap_or(0))
}
