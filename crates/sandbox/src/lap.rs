//! Takes a running server's redo log once round.
//!
//! MySQL from 8.0.30 on keeps its redo log in 32 files, throws the spare ones away at every start and makes new ones,
//! so overwriting them while it is stopped (`wear.rs`) is in vain: the first lap after each start is slow again. Here
//! the server itself writes that lap, into a table of its own that is gone afterwards. Files that were written once are
//! used again from then on.

use truetps_driver::{Client, DriverError};

use crate::binary::{ServerBinary, ServerVersion};

/// Redo of one INSERT is about its bytes. Less than the smallest default of `max_allowed_packet`, 4 MB.
const ROW_BYTES: u64 = 4_000_000;
/// Pages of the table stay below this.
const ROWS_BETWEEN_TRUNCATES: u64 = 16;
const SCHEMA: &str = "truetps_lap";

/// Whether this server's redo log is slow again after each start.
pub(crate) fn needs_lap(binary: &ServerBinary) -> bool {
    binary.is_of_mysql() && binary.version >= ServerVersion::new(8, 0, 30)
}

/// Writes until the log has gone round. Returns the bytes of redo written.
pub(crate) fn lap(client: &mut Client) -> Result<u64, DriverError> {
    client.execute("SET SESSION sql_log_bin = 0")?;
    client.execute(&format!("CREATE DATABASE IF NOT EXISTS {SCHEMA}"))?;
    let written = write_lap(client);
    // Also after an error: the schema must not be measured with.
    let dropped = client.execute(&format!("DROP DATABASE {SCHEMA}"));
    let bytes = written?;
    dropped?;
    Ok(bytes)
}

fn write_lap(client: &mut Client) -> Result<u64, DriverError> {
    let table = format!("{SCHEMA}.lap");
    client.execute(&format!("CREATE TABLE IF NOT EXISTS {table} (filler LONGBLOB) ENGINE=InnoDB"))?;
    let capacity = status(client, "Innodb_redo_log_capacity_resized")?;
    // One file more than the whole: the one that is being written was begun before.
    let target = capacity + capacity / 16;
    let start = status(client, "Innodb_redo_log_current_lsn")?;
    let mut written = 0;
    // Where redo logging is switched off the log does not move, and twice the rows are enough to know.
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
