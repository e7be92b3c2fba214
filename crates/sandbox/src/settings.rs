//! The settings of a private server: defaults chosen by truetps, overridden by the plan's.

use std::sync::LazyLock;

use serde::Deserialize;
use truetps_record::{Family, Flavour, SettingValue};

use crate::binary::ServerVersion;
use crate::options::canonical_name;
use crate::postgres;

pub(crate) const MEBI: u64 = 1 << 20;
/// Sessions besides the load's: control client, probes, the server's own.
const CONNECTIONS_SPARE: u32 = 16;
/// Plans with few connections keep the server's own default, which avoids an unnecessary difference.
const CONNECTIONS_MIN: u32 = 151;
/// Table objects besides one for each connection: the server's own tables, and a second table of some sessions.
const TABLE_OBJECTS_SPARE: u32 = 400;
pub(crate) const BUFFER_POOL_MAX: u64 = 1024 * MEBI;
pub(crate) const BUFFER_POOL_MIN: u64 = 64 * MEBI;
/// Large enough that checkpoints do not decide a run of minutes. A write load fills the servers' defaults of 96 and 100
/// MB in seconds.
pub(crate) const REDO_BYTES: u64 = 512 * MEBI;
/// 96 MiB of MariaDB and MySQL, 100 MiB from MySQL 8.0.30 on.
const REDO_DEFAULT_BYTES: u64 = 100 * MEBI;
/// `max_wal_size` of PostgreSQL.
const WAL_DEFAULT_BYTES: u64 = 1024 * MEBI;
/// Prepared statements per session, with a margin: 2,000 sessions of 8 statements reach the default limit of 16,382.
const STATEMENTS_PER_CONNECTION: u32 = 16;

/// Settings that decide how a datadir is initialised; a template is created for each combination of them.
const INITIAL: [&str; 6] = [
    "aria_block_size",
    "innodb_checksum_algorithm",
    "innodb_data_file_path",
    "innodb_page_size",
    "innodb_undo_tablespaces",
    "lower_case_table_names",
];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reserved {
    load_sessions: Vec<ReservedSettings>,
    mysql: Vec<ReservedSettings>,
    postgres: Vec<ReservedSettings>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReservedSettings {
    reason: String,
    names: Vec<String>,
}

static RESERVED: LazyLock<Reserved> = LazyLock::new(|| {
    toml::from_str(include_str!("../data/reserved.toml")).expect("reserved.toml is read by a test")
});

/// Why a plan may not set this; `None` if it may.
pub(crate) fn reserved_reason(family: Family, name: &str) -> Option<&'static str> {
    let groups = if family == Family::Mysql { &RESERVED.mysql } else { &RESERVED.postgres };
    load_session_reason(name).or_else(|| reason_among(groups, name))
}

/// Why no plan may set this, whatever its server is: sessions of a load do; `None` if it may.
pub fn load_session_reason(name: &str) -> Option<&'static str> {
    reason_among(&RESERVED.load_sessions, name)
}

fn reason_among(groups: &'static [ReservedSettings], name: &str) -> Option<&'static str> {
    let name = canonical_name(name);
    let fits = |known: &String| {
        known.strip_suffix('*').map_or(name == *known, |start| name.starts_with(start))
    };
    groups.iter().find(|group| group.names.iter().any(fits)).map(|group| group.reason.as_str())
}

fn is_initial(name: &str) -> bool {
    INITIAL.contains(&name) || postgres::INITIAL.contains(&name)
}

/// The size of the redo log, in all versions.
const REDO: [&str; 3] =
    ["innodb_log_file_size", "innodb_log_files_in_group", "innodb_redo_log_capacity"];

/// Whether data is made with this setting: its files are created or sized by it, so that a server with another value does
/// not start on them, or begins with new ones.
pub fn binds_data(name: &str) -> bool {
    let name = canonical_name(name);
    is_initial(&name) || REDO.contains(&name.as_str())
}

/// Whether a user who sets `set` means to decide `name`, too: it is the same setting, or a part of the same thing.
pub fn decides(set: &str, name: &str) -> bool {
    let (set, name) = (canonical_name(set), canonical_name(name));
    let is_redo = |one: &String| REDO.contains(&one.as_str());
    set == name
        || (is_redo(&set) && is_redo(&name))
        || (set == "innodb_dedicated_server"
            && (name == "innodb_buffer_pool_size" || is_redo(&name)))
}

/// Settings in order, each name once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings {
    entries: Vec<(String, SettingValue)>,
}

impl Settings {
    /// The defaults of truetps; see [`chosen_settings`].
    pub fn new(chosen: &[(String, String)]) -> Self {
        let mut settings = Self::default();
        for (name, value) in chosen {
            settings.set(name, SettingValue::Text(value.clone()));
        }
        settings
    }

    /// Sets or replaces a setting. A redo log size under its old names replaces the one under the new name, which a
    /// server that knows both would prefer.
    pub fn set(&mut self, name: &str, value: SettingValue) {
        let name = canonical_name(name);
        if ["innodb_log_file_size", "innodb_log_files_in_group"].contains(&name.as_str()) {
            self.entries.retain(|(known, _)| known != "innodb_redo_log_capacity");
        }
        match self.entries.iter_mut().find(|(known, _)| *known == name) {
            Some(entry) => entry.1 = value,
            None => self.entries.push((name, value)),
        }
    }

    /// The same with others on top: a plan's fixed settings, a configuration's levels.
    #[must_use]
    pub fn with<'a>(
        mut self,
        others: impl IntoIterator<Item = (&'a str, &'a SettingValue)>,
    ) -> Self {
        for (name, value) in others {
            self.set(name, value.clone());
        }
        self
    }

    /// Keeps the settings of which this is true.
    pub fn retain(&mut self, is_kept: impl Fn(&str) -> bool) {
        self.entries.retain(|(name, _)| is_kept(name));
    }

    pub fn get(&self, name: &str) -> Option<&SettingValue> {
        let name = canonical_name(name);
        self.entries.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &SettingValue)> {
        self.entries.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Those that a log names: two of them may be valid without each other only.
    pub(crate) fn named_in(&self, log: &str) -> String {
        let log = canonical_name(log);
        let named = self.iter().filter(|(name, _)| has_word(&log, name));
        named.map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
    }

    /// Settings with which a datadir must be initialised.
    pub(crate) fn initial(&self) -> Self {
        let entries = self.entries.iter().filter(|(name, _)| is_initial(name));
        Self { entries: entries.cloned().collect() }
    }

    /// A size in bytes; 0 if it is not set to a number.
    fn bytes(&self, name: &str) -> u64 {
        self.get(name)
            .and_then(SettingValue::as_int)
            .and_then(|bytes| u64::try_from(bytes).ok())
            .unwrap_or(0)
    }

    pub fn buffer_pool_bytes(&self) -> u64 {
        postgres::shared_buffers_bytes(self)
            .unwrap_or_else(|| self.bytes("innodb_buffer_pool_size"))
    }

    /// Size and number of the redo log files, if set; with the names used by old servers.
    pub(crate) fn redo_files(&self) -> (Option<u64>, Option<u64>) {
        let set = |name| Some(self.bytes(name)).filter(|number| *number > 0);
        (set("innodb_log_file_size"), set("innodb_log_files_in_group"))
    }

    /// Disk space of the redo log; what no server's default exceeds, where it is not set.
    pub fn redo_bytes(&self) -> u64 {
        if let Some(bytes) = postgres::wal_bytes(self) {
            return bytes;
        }
        let capacity = self.bytes("innodb_redo_log_capacity");
        let files = self.bytes("innodb_log_files_in_group").max(1);
        let of_files = self.bytes("innodb_log_file_size").saturating_mul(files);
        let default = if postgres::shared_buffers_bytes(self).is_some() {
            WAL_DEFAULT_BYTES
        } else {
            REDO_DEFAULT_BYTES
        };
        [capacity, of_files, default].into_iter().find(|bytes| *bytes > 0).unwrap_or(0)
    }
}

fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(is_part_of_word)
            && !text[at + word.len()..].starts_with(is_part_of_word)
    })
}

fn is_part_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The largest load that a server must have room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerLoad {
    pub connections_max: u32,
    /// Prepared at once in each session.
    pub statements_per_connection: u32,
}

/// The defaults of truetps for a private server, before the plan's settings: room for the connections, and no small
/// default that distorts a result. Everything that decides durability stays at the server's own default.
pub fn chosen_settings(
    host_memory_bytes: u64,
    load: ServerLoad,
    flavour: Flavour,
    version: ServerVersion,
) -> Vec<(String, String)> {
    if flavour == Flavour::Postgresql {
        return postgres::chosen_settings(host_memory_bytes, load);
    }
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
        // Each session that uses a table holds one table object: with fewer objects than sessions they would contend.
        ("table_open_cache", (connections + TABLE_OBJECTS_SPARE).max(2000).to_string()),
        ("skip_name_resolve", "ON".to_owned()),
        ("performance_schema", "OFF".to_owned()),
        ("innodb_buffer_pool_size", format!("{buffer_pool}M")),
    ];
    if flavour == Flavour::Mariadb || version >= ServerVersion::new(5, 6, 3) {
        // A restart always begins cold: pages cached by an earlier run are not loaded during a measurement.
        let names = ["innodb_buffer_pool_dump_at_shutdown", "innodb_buffer_pool_load_at_startup"];
        chosen.extend(names.map(|name| (name, "OFF".to_owned())));
    }
    chosen.extend(redo_settings(flavour, version));
    if flavour != Flavour::Mariadb {
        // MySQL 5.7 writes no binlog without it.
        chosen.push(("server_id", "1".to_owned()));
    }
    chosen.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The same for a server with instrumented waits: all wait events are timed, and the metrics about redo log, flushing
/// and transactions are enabled. [`Catalogue::keep_known`] removes what a version does not know.
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
    let megabytes = |bytes: u64| format!("{}M", bytes / MEBI);
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

#[cfg(test)]
mod tests {
    use super::*;

    const MARIADB: ServerVersion = ServerVersion::new(10, 11, 19);

    fn load(connections_max: u32) -> ServerLoad {
        ServerLoad { connections_max, statements_per_connection: 1 }
    }

    fn chosen(memory: u64, connections: u32, flavour: Flavour, version: ServerVersion) -> Settings {
        Settings::new(&chosen_settings(memory, load(connections), flavour, version))
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
    fn only_initial_settings_make_another_template() {
        let mut settings = Settings::default();
        settings.set("innodb_page_size", SettingValue::Text("8K".to_owned()));
        settings.set("sync_binlog", SettingValue::Int(1));
        assert_eq!(settings.initial().iter().count(), 1);
    }

    #[test]
    fn reserved_names_in_either_spelling() {
        assert!(reserved_reason(Family::Mysql, "data-dir").is_none());
        assert!(reserved_reason(Family::Mysql, "pid-file").unwrap().contains("own folder"));
        assert!(reserved_reason(Family::Mysql, "PORT").unwrap().contains("socket only"));
        for name in [
            "innodb_flush_log_at_trx_commit",
            "log_bin",
            "log_slow_admin_statements",
            "plugin_maturity",
        ] {
            assert!(reserved_reason(Family::Mysql, name).is_none(), "{name}");
        }
        for (family, name) in
            [(Family::Mysql, "AutoCommit"), (Family::Postgresql, "default_transaction_read_only")]
        {
            assert!(reserved_reason(family, name).unwrap().contains("is committed"), "{name}");
        }
        for name in [
            "wsrep_provider",
            "wsrep-notify-cmd",
            "plugin_load",
            "plugin-load-add",
            "early_plugin_load",
        ] {
            assert!(reserved_reason(Family::Mysql, name).unwrap().contains("other code"), "{name}");
        }
        for name in ["ssl_key", "admin_ssl_ca", "skip_networking", "feedback_url"] {
            assert!(
                reserved_reason(Family::Mysql, name).unwrap().contains("socket only"),
                "{name}"
            );
        }
        for name in [
            "keyring_file_data",
            "rocksdb_wal_dir",
            "log_slow_query_file",
            "sha256_password_private_key_path",
        ] {
            assert!(reserved_reason(Family::Mysql, name).unwrap().contains("own folder"), "{name}");
        }
    }
}
