//! Factors, levels and configurations: the settings of one trial.

use std::fmt;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::{PREALLOC, PreallocMode, SettingValue, prealloc_mode};

/// A factor that is not a server setting: how many sessions drive the server at once.
pub const CONNECTIONS: &str = "connections";

/// A load factor: transactions a second that an open loop starts, all clients together.
pub const RATE: &str = "rate";

/// Whether a factor belongs to the load, and is not a setting of the server.
pub fn is_load_factor(name: &str) -> bool {
    name == CONNECTIONS || name == RATE
}

/// A workload factor: how many rows all clients of `hot-row` update.
pub const HOT_ROWS: &str = "hot_rows";

/// A workload factor: the key of the row that `delete-insert` inserts.
pub const KEY: &str = "key";

/// A workload factor: how many rows each table has. Each level has tables of its own.
pub const TABLE_ROWS: &str = "table_rows";

/// A workload factor: how many rows each INSERT of `bulk-insert` or of a generated table has.
pub const ROWS_PER_INSERT: &str = "rows_per_insert";

/// Whether a factor changes the statements that are sent. Each is also a key of `[workload]`.
pub fn is_workload_factor(name: &str) -> bool {
    [HOT_ROWS, KEY, TABLE_ROWS, ROWS_PER_INSERT].contains(&name)
}

/// A factor that is neither a load factor nor a [workload factor](is_workload_factor): which named
/// server is measured.
pub const SERVER: &str = "server";

/// A factor that is neither a setting of the server nor of the load: which emulated disk a private
/// server is on.
pub const DISK: &str = "disk";

/// Whether a factor is a setting of the server.
pub fn is_setting_factor(name: &str) -> bool {
    !is_load_factor(name)
        && !is_workload_factor(name)
        && name != SERVER
        && name != DISK
        && name != PREALLOC
}

/// One level of each factor, in the plan's order of factors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Configuration {
    pub levels: IndexMap<String, SettingValue>,
}

impl Configuration {
    /// A text that only equal configurations have: of thousands, the equal one is found by it.
    pub fn key(&self) -> String {
        let mut levels: Vec<_> = self.levels.iter().collect();
        levels.sort_unstable_by_key(|(name, _)| *name);
        format!("{levels:?}")
    }

    /// Transactions a second, if the rate is a factor.
    pub fn rate(&self) -> Option<f64> {
        self.levels.get(RATE)?.as_number()
    }

    /// Number of sessions: a positive number in every plan, schedule and trial that was read from a
    /// file.
    pub fn connections(&self) -> u32 {
        let level = self.levels.get(CONNECTIONS).and_then(SettingValue::as_connections);
        level.expect("plans and records are checked where they are read")
    }

    /// Name of the server, if the server is a factor.
    pub fn server(&self) -> Option<&str> {
        self.text_of(SERVER)
    }

    /// Profile of the disk, if the disk is a factor.
    pub fn disk(&self) -> Option<&str> {
        self.text_of(DISK)
    }

    /// How binlogs are preallocated, if that is a factor, and it is on.
    pub fn prealloc(&self) -> Option<PreallocMode> {
        prealloc_mode(self.levels.get(PREALLOC)?).ok().flatten()
    }

    fn text_of(&self, factor: &str) -> Option<&str> {
        match self.levels.get(factor)? {
            SettingValue::Text(name) => Some(name),
            SettingValue::Bool(_) | SettingValue::Int(_) | SettingValue::Float(_) => None,
        }
    }

    /// The levels that are server settings, in order.
    pub fn settings(&self) -> impl Iterator<Item = (&str, &SettingValue)> {
        self.conditions().filter(|(name, _)| is_setting_factor(name))
    }

    /// All levels except the load's levels, in order. They distinguish one curve from another.
    pub fn conditions(&self) -> impl Iterator<Item = (&str, &SettingValue)> {
        self.levels
            .iter()
            .filter(|(name, _)| !is_load_factor(name))
            .map(|(name, value)| (name.as_str(), value))
    }

    /// These as one line, `innodb_flush_log_at_trx_commit=1 log_bin=ON`; empty where there is none.
    pub fn settings_label(&self) -> String {
        let parts: Vec<_> =
            self.conditions().map(|(name, value)| format!("{name}={value}")).collect();
        parts.join(" ")
    }
}

impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<_> =
            self.levels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        f.write_str(&parts.join(" "))
    }
}
