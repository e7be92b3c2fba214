//! Managed and distributed servers, and which settings have no meaning there.

use std::sync::LazyLock;

use serde::Deserialize;
use truetps_record::{Family, Flavour};

use crate::kinds::matches;

/// What decides what a commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlatformDurability {
    /// The server's settings, as everywhere.
    Settings,
    /// The setting of the commit alone: files and their flushes are not the server's.
    Commit,
    /// No setting of the server.
    Own,
}

/// A kind of managed or distributed server.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Platform {
    pub name: String,
    family: Family,
    #[serde(default)]
    variables: Vec<String>,
    #[serde(default)]
    texts: Vec<TextSign>,
    pub durability: PlatformDurability,
    /// Why a page that is written in halves is not feared without a doublewrite buffer.
    pub whole_pages: Option<String>,
    /// What it is, as a part of a sentence.
    pub about: String,
    /// What distorts figures there.
    pub caution: Option<String>,
    #[serde(default)]
    without_meaning: Vec<String>,
    pub source: String,
}

/// A variable whose value contains a text, in any case.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TextSign {
    of: String,
    has: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlatformFile {
    platform: Vec<Platform>,
}

static PLATFORMS: LazyLock<Vec<Platform>> = LazyLock::new(|| {
    let file: PlatformFile =
        toml::from_str(include_str!("../data/platforms.toml")).expect("the file is read by a test");
    file.platform
});

/// The platform of a server with these settings; `None` for an ordinary one.
pub fn platform_of<'a>(
    flavour: Flavour,
    settings: impl Iterator<Item = (&'a str, &'a str)>,
) -> Option<&'static Platform> {
    let (family, settings) = (Family::from(flavour), settings.collect::<Vec<_>>());
    PLATFORMS
        .iter()
        .find(|one| one.family == family && settings.iter().any(|found| one.has_sign(*found)))
}

/// The platform of this name, as [`platform_of`] has found it.
pub fn platform_named(flavour: Flavour, name: &str) -> Option<&'static Platform> {
    let family = Family::from(flavour);
    PLATFORMS.iter().find(|one| one.family == family && one.name == name)
}

impl Platform {
    fn has_sign(&self, (name, value): (&str, &str)) -> bool {
        self.variables.iter().any(|pattern| matches(pattern, name))
            || self.texts.iter().any(|sign| {
                sign.of == name && value.to_lowercase().contains(&sign.has.to_lowercase())
            })
    }

    /// Why the setting does nothing there; `None` where it has its meaning.
    pub fn without_meaning(&self, setting: &str) -> Option<String> {
        let is_listed = self.without_meaning.iter().any(|pattern| matches(pattern, setting));
        is_listed.then(|| format!("it has no meaning on {}: {}", self.name, self.about))
    }

    /// `the server is Amazon RDS (managed, on a network disk)`.
    pub fn sentence(&self) -> String {
        let settings = match self.durability {
            PlatformDurability::Settings => "",
            PlatformDurability::Commit | PlatformDurability::Own => {
                "; settings of files and their flushes do nothing"
            }
        };
        format!("the server is {}: {}{settings}", self.name, self.about)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn name_of(flavour: Flavour, settings: &[(&str, &str)]) -> Option<&'static str> {
        platform_of(flavour, settings.iter().copied()).map(|platform| platform.name.as_str())
    }

    /// Variables as the makers' documents show them.
    #[test]
    fn platforms_are_known_by_their_variables() {
        use Flavour::{Mariadb, Mysql, Percona, Postgresql};
        let check = |flavour, settings: &[(&str, &str)], expect: &str| {
            assert_eq!(name_of(flavour, settings).unwrap_or_default(), expect, "{settings:?}");
        };
        let rds_basedir = ("basedir", "/rdsdbbin/mysql-8.0.40.R3/");
        check(Mysql, &[rds_basedir, ("version", "8.0.40")], "Amazon RDS");
        check(
            Mariadb,
            &[("version_comment", "managed by https://aws.amazon.com/rds/")],
            "Amazon RDS",
        );
        let aurora = [("aurora_version", "3.08.0"), ("aurora_server_id", "db-1"), rds_basedir];
        check(Mysql, &aurora, "Amazon Aurora MySQL");
        check(Postgresql, &[("rds.extensions", "a, b"), ("fsync", "on")], "Amazon RDS");
        check(
            Postgresql,
            &[("aurora_version", "present"), ("rds.extensions", "a")],
            "Amazon Aurora PostgreSQL",
        );
        check(Mysql, &[("version", "8.0.31-google")], "Google Cloud SQL");
        check(Postgresql, &[("cloudsql.iam_authentication", "off")], "Google Cloud SQL");
        check(
            Postgresql,
            &[("alloydb.iam_authentication", "off"), ("cloudsql.x", "y")],
            "Google AlloyDB",
        );
        check(Mysql, &[("version", "8.0.37-azure")], "Azure Database");
        check(Postgresql, &[("azure.extensions", "")], "Azure Database");
        check(Mysql, &[("version", "8.0.2"), ("polardb_version", "8.0.2.2.25")], "PolarDB");
        check(Mysql, &[("version", "8.0.30-cynos-3.1.13")], "TDSQL-C");
        check(Mysql, &[("version", "8.0.30-txsql")], "TDSQL or TencentDB");
        check(Mysql, &[("version", "8.0.11-TiDB-v8.5.0")], "TiDB");
        check(Mysql, &[("version", "5.7.25-OceanBase-v4.2.1.0")], "OceanBase");
        check(
            Mysql,
            &[("version", "5.7.25"), ("version_comment", "OceanBase_CE 4.3.5.1")],
            "OceanBase",
        );
        check(Mysql, &[("version", "8.0.30-Vitess")], "Vitess or PlanetScale");
        check(
            Percona,
            &[("version_comment", "Percona XtraDB Cluster (GPL), Release rel28")],
            "Percona XtraDB Cluster",
        );
        check(Mariadb, &[("wsrep_on", "ON")], "Galera cluster");
        for (flavour, settings) in [
            (
                Mysql,
                &[("version", "8.4.9"), ("version_comment", "MySQL Community Server - GPL")][..],
            ),
            (Mariadb, &[("wsrep_on", "OFF"), ("version", "11.8.9-MariaDB-log")]),
            (Percona, &[("version_comment", "Percona Server (GPL), Release 28")]),
            (Postgresql, &[("server_version", "18.1"), ("fsync", "on")]),
        ] {
            assert_eq!(name_of(flavour, settings), None, "{settings:?}");
        }
    }

    #[test]
    fn each_entry_is_whole() {
        let mut names = BTreeSet::new();
        for one in &*PLATFORMS {
            assert!(!one.variables.is_empty() || !one.texts.is_empty(), "{}", one.name);
            assert!(!one.source.is_empty() && !one.about.ends_with('.'), "{}", one.name);
            assert!(names.insert(format!("{} {:?}", one.name, one.family)), "{} twice", one.name);
            let is_ordinary = one.durability == PlatformDurability::Settings;
            assert_eq!(one.without_meaning.is_empty(), is_ordinary, "{}", one.name);
        }
    }

    #[test]
    fn settings_without_a_meaning_say_why() {
        let tidb =
            platform_of(Flavour::Mysql, [("version", "8.0.11-TiDB-v8.5.0")].into_iter()).unwrap();
        let why = tidb.without_meaning("innodb_flush_log_at_trx_commit").unwrap();
        assert!(why.starts_with("it has no meaning on TiDB: a distributed server"), "{why}");
        assert_eq!(tidb.without_meaning("max_connections"), None);
    }
}
