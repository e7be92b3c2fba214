//! The settings of a private server.

use truetps_record::{Family, SettingValue};

use super::names::{canonical_name, switch_of};
use super::options::BINLOG_NAME;
use super::postgres::{self, shared_buffers_bytes, wal_bytes};
/// 96 MiB of MariaDB and MySQL, 100 MiB from MySQL 8.0.30 on.
const REDO_DEFAULT_BYTES: u64 = 100 << 20;
/// `max_wal_size` of PostgreSQL.
const WAL_DEFAULT_BYTES: u64 = 1 << 30;

/// Settings that decide how a datadir is initialised; a template is created for each combination of
/// them.
const INITIAL: [&str; 6] = [
    "aria_block_size",
    "innodb_checksum_algorithm",
    "innodb_data_file_path",
    "innodb_page_size",
    "innodb_undo_tablespaces",
    "lower_case_table_names",
];

fn is_initial(name: &str) -> bool {
    INITIAL.contains(&name) || postgres::INITIAL.contains(&name)
}

/// The size of the redo log, in all versions.
const REDO: [&str; 3] =
    ["innodb_log_file_size", "innodb_log_files_in_group", "innodb_redo_log_capacity"];

/// Whether data is made with this setting: its files are created or sized by it, so that a server
/// with another value does not start on them, or begins with new ones.
pub fn binds_data(name: &str) -> bool {
    let name = canonical_name(name);
    is_initial(&name) || is_redo(&name)
}

/// Whether a user who sets `set` means to decide `name`, too: it is the same setting, or a part of
/// the same thing.
pub fn decides(set: &str, name: &str) -> bool {
    let (set, name) = (canonical_name(set), canonical_name(name));
    set == name
        || (is_redo(&set) && is_redo(&name))
        || (set == "innodb_dedicated_server"
            && (name == "innodb_buffer_pool_size" || is_redo(&name)))
}

fn is_redo(name: &str) -> bool {
    REDO.contains(&name)
}

/// Settings of a server of this family, in order, each name once.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    family: Family,
    entries: Vec<(String, SettingValue)>,
}

impl Settings {
    /// No settings of a server of this family.
    pub fn empty(family: Family) -> Self {
        Self { family, entries: Vec::new() }
    }

    /// The defaults of truetps; see [`chosen_settings`](crate::chosen_settings).
    pub fn new(family: Family, chosen: &[(String, String)]) -> Self {
        let mut settings = Self::empty(family);
        for (name, value) in chosen {
            settings.set(name, SettingValue::Text(value.clone()));
        }
        settings
    }

    /// Sets or replaces a setting. A redo log size under its old names replaces the one under the
    /// new name, which a server that knows both would prefer.
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

    /// Sets others on top: a plan's fixed settings, a configuration's levels.
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

    pub(crate) fn family(&self) -> Family {
        self.family
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
        Self { family: self.family, entries: entries.cloned().collect() }
    }

    /// A size in bytes; 0 if it is not set to a number.
    fn bytes(&self, name: &str) -> u64 {
        self.get(name)
            .and_then(SettingValue::as_int)
            .and_then(|bytes| u64::try_from(bytes).ok())
            .unwrap_or(0)
    }

    pub fn buffer_pool_bytes(&self) -> u64 {
        match self.family {
            Family::Mysql => self.bytes("innodb_buffer_pool_size"),
            Family::Postgresql => {
                self.get("shared_buffers").and_then(shared_buffers_bytes).unwrap_or(0)
            }
        }
    }

    /// Size and number of the redo log files, if set; with the names used by old servers.
    pub(crate) fn redo_files(&self) -> (Option<u64>, Option<u64>) {
        let [size, files] = ["innodb_log_file_size", "innodb_log_files_in_group"]
            .map(|name| Some(self.bytes(name)).filter(|number| *number > 0));
        (size, files)
    }

    /// Disk space of the redo log; what no server's default exceeds, where it is not set.
    pub fn redo_bytes(&self) -> u64 {
        if self.family == Family::Postgresql {
            return self.get("max_wal_size").and_then(wal_bytes).unwrap_or(WAL_DEFAULT_BYTES);
        }
        let capacity = self.bytes("innodb_redo_log_capacity");
        let files = self.bytes("innodb_log_files_in_group").max(1);
        let of_files = self.bytes("innodb_log_file_size").saturating_mul(files);
        [capacity, of_files].into_iter().find(|bytes| *bytes > 0).unwrap_or(REDO_DEFAULT_BYTES)
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

/// The name of a server's binlog files with these settings, below its datadir, or a path of its
/// own.
pub fn binlog_name(settings: &Settings) -> String {
    let named = settings.get("log_bin").filter(|value| switch_of(value).is_none());
    named.map_or_else(|| BINLOG_NAME.to_owned(), SettingValue::option_text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_initial_settings_make_another_template() {
        let mut settings = Settings::empty(Family::Mysql);
        settings.set("innodb_page_size", SettingValue::Text("8K".to_owned()));
        settings.set("sync_binlog", SettingValue::Int(1));
        assert_eq!(settings.initial().iter().count(), 1);
    }
}
