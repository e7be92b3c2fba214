//! Wears in the WAL of a running server.
//!
//! A WAL that grows is made of new files, and each is filled with zeros and flushed before its first record: whichever
//! trial comes first pays for that. Files of old records are renamed and written over, as many as `min_wal_size` holds. So
//! that many files are begun here, and a checkpoint turns them into files for what comes. They outlive restarts.

use truetps_driver::{Client, DriverError};

/// Enough for any `min_wal_size` that is not a mistake.
const FILES_MAX: u64 = 1024;

/// Returns the bytes of WAL that were written.
pub(crate) fn wear_in(client: &mut Client) -> Result<u64, DriverError> {
    let file = bytes(client, "wal_segment_size")?.max(1);
    let files = (bytes(client, "min_wal_size")? / file).min(FILES_MAX);
    for _ in 0..files {
        // A file in which nothing was written is not left.
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
