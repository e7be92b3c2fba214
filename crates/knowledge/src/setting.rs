//! What is known of a setting, read from `data/*.toml`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use truetps_record::{Family, Flavour, Version, same_setting};

/// What a setting is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SettingTopic {
    #[default]
    Durability,
    Binlog,
    Redo,
    Flushing,
    Locking,
    Pool,
    Network,
}

const FILES: [(SettingTopic, &str); 7] = [
    (SettingTopic::Durability, include_str!("../data/durability.toml")),
    (SettingTopic::Binlog, include_str!("../data/binlog.toml")),
    (SettingTopic::Redo, include_str!("../data/redo.toml")),
    (SettingTopic::Flushing, include_str!("../data/flushing.toml")),
    (SettingTopic::Locking, include_str!("../data/locking.toml")),
    (SettingTopic::Pool, include_str!("../data/pool.toml")),
    (SettingTopic::Network, include_str!("../data/network.toml")),
];

impl fmt::Display for SettingTopic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// How a setting can be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Changeability {
    Dynamic,
    /// The server reads its files again.
    Reload,
    Restart,
    #[serde(rename = "new datadir")]
    NewDatadir,
    /// Built in.
    Fixed,
}

impl fmt::Display for Changeability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Facts that hold for some versions of a family.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VersionSpan {
    of: Flavour,
    from: VersionBound,
    /// The first version for which they no longer hold.
    until: Option<VersionBound>,
    /// Absent where it depends on the machine or on other settings.
    pub default: Option<String>,
    pub change: Changeability,
    /// Where this is documented.
    pub source: String,
}

impl VersionSpan {
    pub(crate) fn flavour(&self) -> Flavour {
        self.of
    }

    fn holds(&self, version: &Version) -> bool {
        self.from.is_reached(version)
            && !self.until.as_ref().is_some_and(|until| until.is_reached(version))
    }
}

/// A version, or the first one of each series that a change was made in: MariaDB makes some in all
/// series that it still maintains. A series that is not in the list has it where it is newer than
/// all of them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "WrittenBound")]
struct VersionBound {
    versions: Vec<Version>,
    of_series: bool,
}

/// A bound as a file has it.
#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenBound {
    One(String),
    OfSeries(Vec<String>),
}

impl TryFrom<WrittenBound> for VersionBound {
    type Error = String;

    fn try_from(written: WrittenBound) -> Result<Self, Self::Error> {
        let (texts, of_series) = match written {
            WrittenBound::One(text) => (vec![text], false),
            WrittenBound::OfSeries(texts) => (texts, true),
        };
        let versions = texts
            .iter()
            .map(|text| Version::parse(text).ok_or_else(|| format!("`{text}` is not a version")));
        Ok(Self { versions: versions.collect::<Result<_, _>>()?, of_series })
    }
}

impl VersionBound {
    fn is_reached(&self, version: &Version) -> bool {
        let own =
            self.versions.iter().find(|bound| self.of_series && bound.series() == version.series());
        own.or(self.versions.iter().max()).is_some_and(|bound| version >= bound)
    }
}

/// What a value means when something crashes, as the end of a sentence that begins with the crash.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Crash {
    /// `*` stands for all values except 0 and those before it.
    value: String,
    /// Only the server's process ends; what it gave to the operating system stays.
    pub process: String,
    /// Unflushed data are lost.
    pub power: String,
}

impl Crash {
    /// Both in one sentence.
    pub fn sentence(&self) -> String {
        let Self { process, power, .. } = self;
        if process == power {
            format!("a crash {process}")
        } else {
            format!("a process crash {process}, a power cut {power}")
        }
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    pub name: String,
    /// The topic of the file that it stands in.
    #[serde(skip)]
    pub group: SettingTopic,
    /// How likely it is to matter, within its group.
    pub weight: u32,
    /// One sentence.
    pub meaning: String,
    /// Settings whose meaning depends on each other.
    #[serde(default)]
    pub belongs_with: Vec<String>,
    /// The switch that it needs.
    pub needs: Option<String>,
    /// Names of this setting in another family, or in another version of this one.
    #[serde(default)]
    pub counterparts: Vec<String>,
    #[serde(rename = "in")]
    spans: Vec<VersionSpan>,
    #[serde(rename = "crash", default)]
    crashes: Vec<Crash>,
}

impl Setting {
    /// How likely it is to matter, of all: what decides durability goes before what is as weighty
    /// in its own group.
    pub(crate) fn score(&self) -> u32 {
        let of_group = match self.group {
            SettingTopic::Durability => 40,
            SettingTopic::Binlog => 30,
            SettingTopic::Redo => 20,
            SettingTopic::Flushing | SettingTopic::Locking | SettingTopic::Pool => 10,
            SettingTopic::Network => 0,
        };
        self.weight + of_group
    }

    /// What holds for a version; `None` where that version does not have the setting, as far as is
    /// known.
    pub fn span(&self, flavour: Flavour, version: &Version) -> Option<&VersionSpan> {
        self.own_span(flavour, version).or_else(|| match flavour {
            // Percona Server is MySQL with additions.
            Flavour::Percona => self.own_span(Flavour::Mysql, version),
            _ => None,
        })
    }

    fn own_span(&self, flavour: Flavour, version: &Version) -> Option<&VersionSpan> {
        self.spans.iter().find(|span| span.of == flavour && span.holds(version))
    }

    pub fn is_of(&self, family: Family) -> bool {
        self.spans.iter().any(|span| Family::from(span.of) == family)
    }

    pub fn spans(&self) -> &[VersionSpan] {
        &self.spans
    }

    /// Values with a documented effect, and defaults beside them; there may be others. Defaults
    /// alone are no choice.
    pub fn known_values(&self) -> BTreeSet<&str> {
        if self.crashes.is_empty() {
            return BTreeSet::new();
        }
        let documented =
            self.crashes.iter().map(|crash| crash.value.as_str()).filter(|value| *value != "*");
        let defaults = self.spans.iter().filter_map(|span| span.default.as_deref());
        documented.chain(defaults).filter(|value| !value.is_empty()).collect()
    }

    pub fn crash(&self, value: &str) -> Option<&Crash> {
        let exact = self.crashes.iter().find(|crash| same_setting(&crash.value, value));
        exact.or_else(|| {
            self.crashes.iter().find(|crash| crash.value == "*" && !same_setting("0", value))
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    setting: Vec<Setting>,
}

static SETTINGS: LazyLock<BTreeMap<String, Setting>> = LazyLock::new(|| {
    let files = FILES.into_iter().flat_map(|(group, text)| {
        let file: File =
            toml::from_str(text).unwrap_or_else(|error| panic!("{group}.toml: {error}"));
        file.setting
            .into_iter()
            .map(move |setting| (setting.name.clone(), Setting { group, ..setting }))
    });
    files.collect()
});

/// What is known of a setting.
pub fn find_setting(name: &str) -> Option<&'static Setting> {
    SETTINGS.get(name)
}

/// All known settings, by name.
pub fn settings() -> impl Iterator<Item = &'static Setting> {
    SETTINGS.values()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entry_is_whole() {
        let mut count = 0;
        for setting in settings() {
            count += 1;
            let name = &setting.name;
            assert!(setting.meaning.ends_with('.') && !setting.spans.is_empty(), "{name}");
            for span in &setting.spans {
                let (from, until) =
                    (&span.from.versions, span.until.as_ref().map(|until| &until.versions));
                assert!(!from.is_empty() && from.is_sorted(), "{name}: {span:?}");
                assert!(
                    until.is_none_or(|until| until.is_sorted() && from[0] < until[0]),
                    "{name}: {span:?}"
                );
                assert!(
                    span.source.starts_with("measured")
                        || span.source.contains("of M")
                        || span.source.contains("of P"),
                    "{name}"
                );
            }
            for other in
                setting.belongs_with.iter().chain(&setting.counterparts).chain(&setting.needs)
            {
                assert!(find_setting(other).is_some(), "{name} names {other}");
                assert_ne!(name, other);
            }
        }
        assert!(count >= 120, "{count}");
        let written: usize =
            FILES.iter().map(|(_, text)| text.matches("[[setting]]").count()).sum();
        assert_eq!(written, count, "a name stands twice");
    }

    #[test]
    fn spans_do_not_overlap() {
        for setting in settings() {
            for (n, one) in setting.spans.iter().enumerate() {
                let others = setting
                    .spans
                    .iter()
                    .enumerate()
                    .filter(|(m, other)| *m != n && other.of == one.of);
                for (_, other) in others {
                    for from in &one.from.versions {
                        assert!(!other.holds(from), "{}: {one:?} {other:?}", setting.name);
                    }
                }
            }
        }
    }

    #[test]
    fn defaults_by_version() {
        let check = |name: &str, flavour, version: &str, default: Option<&str>| {
            let span = find_setting(name).unwrap().span(flavour, &Version::parse(version).unwrap());
            assert_eq!(span.and_then(|span| span.default.as_deref()), default, "{name} {version}");
        };
        check("sync_binlog", Flavour::Mysql, "5.6.24", Some("0"));
        check("sync_binlog", Flavour::Percona, "5.7.29", Some("1"));
        check("sync_binlog", Flavour::Mariadb, "11.8.6", Some("0"));
        check("log_bin", Flavour::Mysql, "5.7.29", Some("OFF"));
        check("log_bin", Flavour::Mysql, "8.0.15", Some("ON"));
        check("innodb_flush_method", Flavour::Mariadb, "10.5.9", Some("fsync"));
        check("innodb_flush_method", Flavour::Mysql, "9.7.4", Some("O_DIRECT"));
        check("innodb_redo_log_capacity", Flavour::Mysql, "8.0.15", None);
        check("checkpoint_completion_target", Flavour::Postgresql, "13.4", Some("0.5"));
        check("data_checksums", Flavour::Postgresql, "18.0", Some("on"));
        check("innodb_flush_method", Flavour::Mysql, "5.7.22", Some(""));
        check("binlog_expire_logs_seconds", Flavour::Mysql, "8.0.3", Some("0"));
        check("binlog_checksum", Flavour::Mysql, "5.6.4", Some("NONE"));
        check("innodb_max_dirty_pages_pct", Flavour::Mariadb, "10.5.4", Some("75"));
    }

    /// 26.7 is the release after 9.7: what holds for the latter holds on, and what ended before
    /// stays away.
    #[test]
    fn calendar_versions_are_newer_than_9_7() {
        let span = |setting: &'static Setting, version: &str| {
            let span = setting.span(Flavour::Mysql, &Version::parse(version).unwrap());
            span.map(|span| (span.default.clone(), span.change))
        };
        for version in ["26.7.0", "26.10.0", "28.4.1-log"] {
            for setting in settings() {
                assert_eq!(
                    span(setting, version),
                    span(setting, "9.7.4"),
                    "{} {version}",
                    setting.name
                );
            }
            let default = |name: &str| {
                span(find_setting(name).unwrap(), version).and_then(|(default, _)| default)
            };
            assert_eq!(default("gtid_mode").as_deref(), Some("ON"), "{version}");
            assert_eq!(default("log_bin").as_deref(), Some("ON"), "{version}");
            assert_eq!(span(find_setting("query_cache_type").unwrap(), version), None, "{version}");
        }
    }

    #[test]
    fn changes_of_several_series() {
        let has = |version: &str| {
            let version = Version::parse(version).unwrap();
            find_setting("innodb_snapshot_isolation")
                .unwrap()
                .span(Flavour::Mariadb, &version)
                .is_some()
        };
        for (series, old, new) in
            [("10.6", 17, 18), ("10.11", 7, 8), ("11.0", 5, 6), ("11.2", 3, 4), ("11.4", 1, 2)]
        {
            assert!(
                !has(&format!("{series}.{old}")) && has(&format!("{series}.{new}")),
                "{series}"
            );
        }
        assert!(!has("10.5.99") && !has("10.10.9") && !has("11.3.2"), "series that ended before");
        assert!(has("11.5.1") && has("11.8.6") && has("12.1.2"));
        let change = |version: &str| {
            let version = Version::parse(version).unwrap();
            find_setting("innodb_doublewrite")
                .unwrap()
                .span(Flavour::Mariadb, &version)
                .unwrap()
                .change
        };
        assert_eq!(
            (change("11.1.4"), change("11.1.5")),
            (Changeability::Restart, Changeability::Dynamic)
        );
        assert_eq!(
            (change("10.11.19"), change("11.3.2")),
            (Changeability::Restart, Changeability::Restart)
        );
    }

    #[test]
    fn what_a_value_means_in_a_crash() {
        let crash = |name: &str, value: &str| {
            find_setting(name).unwrap().crash(value).map(|crash| crash.power.as_str())
        };
        assert!(crash("sync_binlog", "100").unwrap().contains("that many groups"));
        assert!(crash("sync_binlog", "1").unwrap().starts_with("loses no"));
        assert!(crash("innodb_doublewrite", "0").unwrap().contains("torn pages"));
        assert_eq!(crash("innodb_doublewrite", "ON"), None);
        assert_eq!(crash("innodb_force_recovery", "0"), None);
    }
}
