//! Which settings have their meaning together, and which ones are known to matter most.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::kinds::matches;
use crate::setting::find_setting;

/// Settings with at least this score are suspects: what decides durability, the binlog, and the
/// size of the redo log.
const SUSPECT_SCORE: u32 = 100;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingFamily {
    /// What they are together.
    pub about: String,
    /// Without a difference in this one each works on its own.
    leader: Option<String>,
    members: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FamilyFile {
    family: Vec<SettingFamily>,
}

static FAMILIES: LazyLock<Vec<SettingFamily>> = LazyLock::new(|| {
    let file: FamilyFile =
        toml::from_str(include_str!("../data/families.toml")).expect("the file is read by a test");
    file.family
});

/// The family that a setting is measured with, where these settings differ.
pub fn family_of(name: &str, differing: &[&str]) -> Option<&'static SettingFamily> {
    FAMILIES.iter().find(|family| {
        let is_led =
            family.leader.as_ref().is_none_or(|leader| differing.contains(&leader.as_str()));
        is_led && family.members.iter().any(|member| matches(member, name))
    })
}

/// How likely it is that a setting makes a difference; 0: not known.
pub fn suspicion(name: &str) -> u32 {
    find_setting(name).map_or(0, crate::setting::Setting::score)
}

/// Whether the setting is one of those that decide most.
pub fn is_suspect(name: &str) -> bool {
    suspicion(name) >= SUSPECT_SCORE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binlog_leads_its_family() {
        let about = |name: &str, differing: &[&str]| {
            family_of(name, differing).map(|family| family.about.as_str())
        };
        assert_eq!(about("binlog_format", &["binlog_format"]), None, "works on its own");
        assert_eq!(
            about("binlog_format", &["log_bin", "binlog_format"]),
            Some("the binlog with its format and caches")
        );
        assert_eq!(
            about("sync_binlog", &["log_bin", "sync_binlog"]),
            None,
            "a question of its own"
        );
        assert_eq!(
            about("innodb_log_file_size", &["innodb_log_file_size"]),
            Some("the size of the redo log")
        );
        assert_eq!(about("query_cache_type", &[]), Some("the query cache"));
    }

    #[test]
    fn what_matters_most_is_suspected() {
        for name in
            ["log_bin", "sync_binlog", "innodb_flush_log_at_trx_commit", "innodb_doublewrite"]
        {
            assert!(is_suspect(name), "{name} {}", suspicion(name));
        }
        for name in ["table_open_cache", "net_buffer_length", "unheard_of"] {
            assert!(!is_suspect(name), "{name} {}", suspicion(name));
        }
    }
}
