//! The settings that truetps chooses for a private server.

use truetps_record::Flavour;

use super::version::ServerVersion;

const MEBI: u64 = 1 << 20;
/// Sessions besides the load's: control client, probes, the server's own.
const CONNECTIONS_SPARE: u32 = 16;
/// Plans with few connections keep the server's own default, which avoids an unnecessary
/// difference.
const CONNECTIONS_MIN: u32 = 151;
/// PostgreSQL's own default.
const POSTGRES_CONNECTIONS_MIN: u32 = 100;
/// Table objects besides one for each connection: the server's own tables, and a second table of
/// some sessions.
const TABLE_OBJECTS_SPARE: u32 = 400;
const BUFFER_POOL_MAX: u64 = 1024 * MEBI;
const BUFFER_POOL_MIN: u64 = 64 * MEBI;
/// Large enough that checkpoints do not decide a run of minutes. A write load fills the servers'
/// defaults of 96 and 100 MB in seconds.
const REDO_BYTES: u64 = 512 * MEBI;
/// Prepared statements per session, with a margin: 2,000 sessions of 8 statements reach the default
/// limit of 16,382.
const STATEMENTS_PER_CONNECTION: u32 = 16;

/// The largest load that a server must have room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerLoad {
    pub connections_max: u32,
    /// Prepared at once in each session.
    pub statements_per_connection: u32,
}

/// The defaults of truetps for a private server, before the plan's settings: room for the
/// connections, and no small default that distorts a result. Everything that decides durability
/// stays at the server's own default.
pub fn chosen_settings(
    host_memory_bytes: u64,
    load: ServerLoad,
    flavour: Flavour,
    version: ServerVersion,
) -> Vec<(String, String)> {
    let chosen = if flavour == Flavour::Postgresql {
        chosen_for_postgres(host_memory_bytes, load)
    } else {
        chosen_for_mysql(host_memory_bytes, load, flavour, version)
    };
    chosen.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn chosen_for_mysql(
    host_memory_bytes: u64,
    load: ServerLoad,
    flavour: Flavour,
    version: ServerVersion,
) -> Vec<(&'static str, String)> {
    let connections = (load.connections_max + CONNECTIONS_SPARE).max(CONNECTIONS_MIN);
    let buffer_pool = (host_memory_bytes / 4).clamp(BUFFER_POOL_MIN, BUFFER_POOL_MAX) / MEBI;
    let statements = connections
        .saturating_mul(load.statements_per_connection.max(STATEMENTS_PER_CONNECTION))
        .clamp(16_382, 1_048_576);
    let mut chosen = vec![
        ("max_connections", connections.to_string()),
        // Many simultaneous connects wait in the kernel's queue instead of being refused.
        ("back_log", connections.min(65_535).to_string()),
        ("max_prepared_stmt_count", statements.to_string()),
        // Each session that uses a table holds one table object: with fewer objects than sessions
        // they would contend.
        ("table_open_cache", (connections + TABLE_OBJECTS_SPARE).max(2000).to_string()),
        ("skip_name_resolve", "ON".to_owned()),
        ("performance_schema", "OFF".to_owned()),
        ("innodb_buffer_pool_size", format!("{buffer_pool}M")),
    ];
    if flavour == Flavour::Mariadb || version >= ServerVersion::new(5, 6, 3) {
        // A restart always begins cold: pages cached by an earlier run are not loaded during a
        // measurement.
        let names = ["innodb_buffer_pool_dump_at_shutdown", "innodb_buffer_pool_load_at_startup"];
        chosen.extend(names.map(|name| (name, "OFF".to_owned())));
    }
    chosen.extend(redo_settings(flavour, version));
    if flavour != Flavour::Mariadb {
        // MySQL 5.7 writes no binlog without it.
        chosen.push(("server_id", "1".to_owned()));
    }
    chosen
}

/// As much memory as servers of the MySQL family get, room for the connections, and a WAL in which
/// a requested checkpoint comes only after minutes of a write load. Everything that decides
/// durability, and autovacuum, stay at the server's default.
fn chosen_for_postgres(host_memory_bytes: u64, load: ServerLoad) -> Vec<(&'static str, String)> {
    let connections = (load.connections_max + CONNECTIONS_SPARE).max(POSTGRES_CONNECTIONS_MIN);
    let buffers = (host_memory_bytes / 4).clamp(BUFFER_POOL_MIN, BUFFER_POOL_MAX) / MEBI;
    vec![
        ("max_connections", connections.to_string()),
        ("shared_buffers", format!("{buffers}MB")),
        ("max_wal_size", "2GB".to_owned()),
        // Recycled files are overwritten, at no further cost; new ones are first filled with zeros.
        ("min_wal_size", "512MB".to_owned()),
    ]
}

/// The settings of a server with instrumented waits: all wait events are timed, and the metrics
/// about redo log, flushing and transactions are enabled. [`Catalogue::keep_known`] removes what a
/// version does not know.
///
/// [`Catalogue::keep_known`]: crate::Catalogue::keep_known
#[must_use]
pub fn with_waits(mut chosen: Vec<(String, String)>, flavour: Flavour) -> Vec<(String, String)> {
    let waits: &[(&str, &str)] = match flavour {
        Flavour::Postgresql => &[("track_io_timing", "on"), ("track_wal_io_timing", "on")],
        Flavour::Mysql | Flavour::Mariadb | Flavour::Percona => &[
            ("performance_schema", "ON"),
            // At start: objects created before this is enabled are not timed.
            ("performance_schema_instrument", "wait/%=ON"),
            ("innodb_monitor_enable", "log_%,os_log_%,buffer_flush_%,trx_%"),
        ],
    };
    for (name, value) in waits {
        chosen.retain(|(known, _)| known != name);
        chosen.push(((*name).to_owned(), (*value).to_owned()));
    }
    chosen
}

fn redo_settings(flavour: Flavour, version: ServerVersion) -> Vec<(&'static str, String)> {
    if flavour == Flavour::Mariadb {
        let mut settings = vec![("innodb_log_file_size", megabytes(REDO_BYTES))];
        if version < ServerVersion::new(10, 5, 0) {
            settings.push(("innodb_log_files_in_group", "1".to_owned()));
        }
        return settings;
    }
    if version >= ServerVersion::new(8, 0, 30) {
        return vec![("innodb_redo_log_capacity", megabytes(REDO_BYTES))];
    }
    vec![
        ("innodb_log_file_size", megabytes(REDO_BYTES / 2)),
        ("innodb_log_files_in_group", "2".to_owned()),
    ]
}

fn megabytes(bytes: u64) -> String {
    format!("{}M", bytes / MEBI)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::server_settings::Settings;
    use truetps_record::{Family, SettingValue};

    const MARIADB: ServerVersion = ServerVersion::new(10, 11, 19);

    fn load(connections_max: u32) -> ServerLoad {
        ServerLoad { connections_max, statements_per_connection: 1 }
    }

    fn chosen(memory: u64, connections: u32, flavour: Flavour, version: ServerVersion) -> Settings {
        Settings::new(
            Family::from(flavour),
            &chosen_settings(memory, load(connections), flavour, version),
        )
    }

    #[test]
    fn settings_grow_with_connections_and_memory() {
        let small = chosen(1 << 30, 1, Flavour::Mariadb, MARIADB);
        assert_eq!(small.get("max_connections"), Some(&SettingValue::Text("151".to_owned())));
        assert_eq!((small.buffer_pool_bytes(), small.redo_bytes()), (256 << 20, 512 << 20));
        let large = chosen(1 << 40, 5000, Flavour::Mariadb, MARIADB);
        assert_eq!(large.get("max-connections"), Some(&SettingValue::Text("5016".to_owned())));
        assert_eq!(
            large.get("max_prepared_stmt_count"),
            Some(&SettingValue::Text("80256".to_owned()))
        );
        assert_eq!(large.buffer_pool_bytes(), 1 << 30);
        assert_eq!(chosen(0, 1, Flavour::Mariadb, MARIADB).buffer_pool_bytes(), 64 << 20);
    }

    #[test]
    fn the_redo_log_is_as_large_in_every_version() {
        let check = |flavour, version| {
            assert_eq!(
                chosen(8 << 30, 100, flavour, version).redo_bytes(),
                REDO_BYTES,
                "{flavour} {version}"
            );
        };
        check(Flavour::Mysql, ServerVersion::new(5, 7, 29));
        check(Flavour::Mysql, ServerVersion::new(8, 0, 30));
        check(Flavour::Percona, ServerVersion::new(8, 0, 29));
        check(Flavour::Mariadb, ServerVersion::new(10, 4, 1));
    }

    #[test]
    fn a_plan_s_settings_go_over_the_chosen_ones() {
        let levels = [
            ("innodb-log-file-size", SettingValue::Int(4 << 20)),
            ("log_bin", SettingValue::Bool(false)),
        ];
        let base = chosen(8 << 30, 100, Flavour::Mysql, ServerVersion::new(8, 4, 0));
        let settings = base.with(levels.iter().map(|(name, value)| (*name, value)));
        assert_eq!(
            settings.get("innodb_redo_log_capacity"),
            None,
            "it would win over the plan's size"
        );
        assert_eq!(settings.redo_bytes(), 4 << 20);
        let names: Vec<_> = settings.iter().map(|(name, _)| name).collect();
        assert!(names.contains(&"innodb_log_file_size") && names.contains(&"log_bin"));
    }

    #[test]
    fn sizes_in_the_server_s_own_words() {
        let mut settings = Settings::new(
            Family::Postgresql,
            &chosen_settings(1 << 30, load(200), Flavour::Postgresql, ServerVersion::of_two(15, 0)),
        );
        assert_eq!(settings.get("max_connections"), Some(&SettingValue::Text("216".to_owned())));
        assert_eq!((settings.buffer_pool_bytes(), settings.redo_bytes()), (256 << 20, 2 << 30));
        settings.set("shared_buffers", SettingValue::Int(1024));
        assert_eq!(settings.buffer_pool_bytes(), 8 << 20, "in pages");
    }
}
