//! The settings of a private PostgreSQL, and those that a plan may not set.

use truetps_record::SettingValue;

use super::values::bytes_of;
use crate::settings::{BUFFER_POOL_MAX, BUFFER_POOL_MIN, MEBI, ServerLoad, Settings};

/// Settings that decide how a datadir is initialised; a template is created for each combination of them.
pub(crate) const INITIAL: [&str; 2] = ["data_checksums", "wal_segment_size"];

/// Sessions besides the load's: the control client, and those reserved by the server.
const CONNECTIONS_SPARE: u32 = 16;
/// The server's own default.
const CONNECTIONS_MIN: u32 = 100;
/// Units of `shared_buffers` and `max_wal_size` given as plain numbers.
const PAGE_BYTES: u64 = 8 << 10;

/// As much memory as servers of the MySQL family get, room for the connections, and a WAL in which a requested
/// checkpoint comes only after minutes of a write load. Everything that decides durability, and autovacuum, stay at the
/// server's default.
pub(crate) fn chosen_settings(host_memory_bytes: u64, load: ServerLoad) -> Vec<(String, String)> {
    let connections = (load.connections_max + CONNECTIONS_SPARE).max(CONNECTIONS_MIN);
    let buffers = (host_memory_bytes / 4).clamp(BUFFER_POOL_MIN, BUFFER_POOL_MAX) / MEBI;
    let chosen = [
        ("max_connections", connections.to_string()),
        ("shared_buffers", format!("{buffers}MB")),
        ("max_wal_size", "2GB".to_owned()),
        // Recycled files are overwritten, at no further cost; new ones are first filled with zeros.
        ("min_wal_size", "512MB".to_owned()),
    ];
    chosen.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

pub(crate) fn shared_buffers_bytes(settings: &Settings) -> Option<u64> {
    number(settings, "shared_buffers", PAGE_BYTES)
}

/// Approximate disk space of the WAL.
pub(crate) fn wal_bytes(settings: &Settings) -> Option<u64> {
    number(settings, "max_wal_size", MEBI)
}

fn number(settings: &Settings, name: &str, unit: u64) -> Option<u64> {
    match settings.get(name)? {
        SettingValue::Text(text) => bytes_of(text),
        other => {
            other.as_int().and_then(|number| u64::try_from(number).ok()).map(|number| number * unit)
        }
    }
}

#[cfg(test)]
mod tests {
    use truetps_record::Family;

    use super::*;
    use crate::settings::reserved_reason;

    #[test]
    fn sizes_in_the_server_s_own_words() {
        let load = ServerLoad { connections_max: 200, statements_per_connection: 1 };
        let mut settings = Settings::new(&chosen_settings(1 << 30, load));
        assert_eq!(settings.get("max_connections"), Some(&SettingValue::Text("216".to_owned())));
        assert_eq!((settings.buffer_pool_bytes(), settings.redo_bytes()), (256 << 20, 2 << 30));
        settings.set("shared_buffers", SettingValue::Int(1024));
        assert_eq!(settings.buffer_pool_bytes(), 8 << 20, "in pages");
        assert!(
            reserved_reason(Family::Postgresql, "fsync").is_none()
                && reserved_reason(Family::Postgresql, "jit").is_none()
        );
        for name in [
            "archive_command",
            "archive_library",
            "shared_preload_libraries",
            "local_preload_libraries",
        ] {
            assert!(
                reserved_reason(Family::Postgresql, name).unwrap().contains("other code"),
                "{name}"
            );
        }
    }
}
