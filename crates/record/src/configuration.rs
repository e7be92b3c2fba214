//! Factors, levels and configurations: the settings of one trial.

use std::fmt;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::{PREALLOC, PreallocMode, prealloc_mode, setting_number};

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

/// A factor that is neither a load factor nor a [workload factor](is_workload_factor): which named server is measured.
pub const SERVER: &str = "server";

/// A factor that is neither a setting of the server nor of the load: which emulated disk a private server is on.
pub const DISK: &str = "disk";

/// Whether a factor is a setting of the server.
pub fn is_setting_factor(name: &str) -> bool {
    !is_load_factor(name)
        && !is_workload_factor(name)
        && name != SERVER
        && name != DISK
        && name != PREALLOC
}

/// Doubles below this hold every whole number.
const EXACT_MAX: f64 = 9e15;

/// One value of a setting, as written in a plan: `1`, `0.9`, `"512M"`, `true`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SettingValue {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
}

impl SettingValue {
    /// The value as a whole number; `"512M"` and its like are bytes. `None` where it is not a number.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(*value),
            Self::Text(text) => setting_number(text)
                .filter(|n| n.fract() == 0.0 && n.abs() < EXACT_MAX)
                .map(|n| n as i64),
            Self::Bool(_) | Self::Float(_) => None,
        }
    }

    /// A number that was written as one.
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Self::Int(value) => Some(*value as f64),
            Self::Float(value) => Some(*value),
            Self::Bool(_) | Self::Text(_) => None,
        }
    }

    /// The value as a number of connections.
    pub fn as_connections(&self) -> Option<u32> {
        self.as_int().and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0)
    }

    /// How an option file or a command line writes it.
    pub fn option_text(&self) -> String {
        match self {
            Self::Bool(true) => "ON".to_owned(),
            Self::Bool(false) => "OFF".to_owned(),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for SettingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value}"),
            Self::Text(value) => f.write_str(value),
        }
    }
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

    /// Number of sessions: a positive number in every plan, schedule and trial that was read from a file.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_bytes() {
        let check = |text: &str, expect| {
            assert_eq!(SettingValue::Text(text.to_owned()).as_int(), expect, "{text}");
        };
        check("512M", Some(512 << 20));
        check("1g", Some(1 << 30));
        check("17", Some(17));
        check("O_DIRECT", None);
        check("", None);
        check("9999999999T", None);
    }
}
