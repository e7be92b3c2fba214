//! Which server was measured.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Family of a server, taken from its version text, never from a file name: on many systems
/// `mysqld` is a link to `mariadbd`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flavour {
    Mysql,
    Mariadb,
    Percona,
    Postgresql,
}

impl Flavour {
    pub const ALL: [Self; 4] = [Self::Mysql, Self::Mariadb, Self::Percona, Self::Postgresql];

    /// Reads `mariadbd  Ver 10.11.6-MariaDB …`, `mysqld Ver 8.0.15 for Linux … (MySQL Community
    /// Server - GPL)`, or  what `SELECT CONCAT(@@version, ' ', @@version_comment)` answers.
    pub fn from_version_text(text: &str) -> Self {
        let lower = text.to_lowercase();
        if lower.contains("mariadb") {
            Self::Mariadb
        } else if lower.contains("percona") {
            Self::Percona
        } else if lower.contains("postgresql") || lower.contains("cockroachdb") {
            Self::Postgresql
        } else {
            Self::Mysql
        }
    }
}

impl fmt::Display for Flavour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mysql => "mysql",
            Self::Mariadb => "mariadb",
            Self::Percona => "percona",
            Self::Postgresql => "postgresql",
        })
    }
}

/// The server of an experiment, as it described itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerFacts {
    /// The name that the user has given it, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub flavour: Flavour,
    /// Number part of the version: `10.11.19`.
    pub version: String,
    /// The whole version text that the program prints.
    pub version_text: String,
    /// Settings that the private server was given, apart from the plan's and the factors: option
    /// name, value.
    pub chosen_settings: Vec<(String, String)>,
    /// Names of those that the user's option file sets; the others are truetps's own choice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub of_option_file: Vec<String>,
}

impl ServerFacts {
    /// The facts of a server that reports this text. The number is the numeric start of the first
    /// word that begins with a digit.
    pub fn from_version_text(text: &str) -> Self {
        let number =
            text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        let number = number.unwrap_or_default();
        let number =
            number.strip_prefix("5.5.5-").filter(|rest| rest.contains("MariaDB")).unwrap_or(number);
        let end = number.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(number.len());
        Self {
            name: None,
            flavour: Flavour::from_version_text(text),
            version: number[..end].trim_end_matches('.').to_owned(),
            version_text: text.to_owned(),
            chosen_settings: Vec::new(),
            of_option_file: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_in_the_text() {
        let check = |text, expect| {
            assert_eq!(ServerFacts::from_version_text(text).version, expect, "{text}");
        };
        check("10.11.14-MariaDB-0+deb12u2 Debian 12", "10.11.14");
        check("9.7.4 MySQL Community Server", "9.7.4");
        check("PostgreSQL 15.8 (Debian 15.8-0+deb12u1)", "15.8");
        check("8.0.-x", "8.0");
        check("8.0.36-log MySQL Community Server - GPL", "8.0.36");
        check("8.0.37-azure MySQL Community Server (GPL)", "8.0.37");
        check("8.0.31-google (Google)", "8.0.31");
        check("8.0.40-rds Source distribution", "8.0.40");
        check(
            "8.0.11-TiDB-v8.5.0 TiDB Server (Apache License 2.0) Community Edition, MySQL 8.0 \
             compatible",
            "8.0.11",
        );
        check("5.7.25-OceanBase-v4.2.1.0 OceanBase 4.2.1.0 (r1)", "5.7.25");
        check("8.0.30-Vitess Version: 20.0.0 (Git revision 1)", "8.0.30");
        check("26.7.0 MySQL Community Server - GPL", "26.7.0");
        check("26.10.0-log MySQL Community Server - GPL", "26.10.0");
        // What MariaDB says to clients that expect a version of MySQL.
        check("5.5.5-10.6.14-MariaDB-log", "10.6.14");
        check("", "");
    }

    #[test]
    fn flavour_from_version_text() {
        let check = |text, expect| assert_eq!(Flavour::from_version_text(text), expect, "{text}");
        check(
            "/usr/sbin/mysqld  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu",
            Flavour::Mariadb,
        );
        check(
            "mysqld  Ver 8.0.15 for linux-glibc2.12 on x86_64 (MySQL Community Server - GPL)",
            Flavour::Mysql,
        );
        check(
            "PostgreSQL 15.8 (Debian 15.8-0+deb12u1) on x86_64-pc-linux-gnu",
            Flavour::Postgresql,
        );
        check("8.0.36-28 Percona Server (GPL), Release 28", Flavour::Percona);
        check("8.0.11-TiDB-v8.5.0 TiDB Server", Flavour::Mysql);
        check("CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu)", Flavour::Postgresql);
    }
}
