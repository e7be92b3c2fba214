//! Fills the WAL of a running server with reusable files.
//!
//! A growing WAL creates new files, each filled with zeros and flushed before its first record: the
//! first trial would pay for that. Files of old records are renamed and overwritten, as many as
//! `min_wal_size` allows. So that many files are started here, and a checkpoint makes them
//! reusable. They outlive restarts.

use truetps_driver::{Client, DriverError};

/// Enough for any reasonable `min_wal_size`.
const FILES_MAX: u64 = 1024;

/// Returns the bytes of WAL written.
pub(crate) fn wear_in(client: &mut Client) -> Result<u64, DriverError> {
    let file = bytes(client, "wal_segment_size")?.max(1);
    let files = (bytes(client, "min_wal_size")? / file).min(FILES_MAX);
    for _ in 0..files {
        // A file is only switched after something was written to it.
        client.execute("SELECT pg_logical_emit_message(false, 'truetps', 'wear in')")?;
        client.execute("SELECT pg_switch_wal()")?;
    }
    client.execute("CHECKPOINT")?;
    Ok(files * file)
}

fn bytes(client: &mut Client, name: &str) -> Result<u64, DriverError> {
    let value = client.query_value(&format!("SELECT pg_size_bytes(current_setting('{name}'))"))?;
    Ok(value.and_then(|text| text.parse().ok()).unwrap_or(0))
}
