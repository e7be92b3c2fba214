//! What servers have in common: their settings, and the SQL that they speak.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Flavour;

/// Servers whose settings have names and meanings in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// MySQL, MariaDB, Percona Server.
    Mysql,
    Postgresql,
}

/// The SQL and the protocol of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqlDialect {
    /// Backslashes in strings, names in backticks, `#` and `-- ` before comments, `/*! … */` that
    /// the server reads.
    Mysql,
    /// Backslashes in `E'…'` alone, `$tag$…$tag$`, `--` before comments, `/* /* */ */` inside one
    /// another.
    Postgres,
}

impl Family {
    pub fn dialect(self) -> SqlDialect {
        match self {
            Self::Mysql => SqlDialect::Mysql,
            Self::Postgresql => SqlDialect::Postgres,
        }
    }
}

impl From<Flavour> for Family {
    fn from(flavour: Flavour) -> Self {
        match flavour {
            Flavour::Mysql | Flavour::Mariadb | Flavour::Percona => Self::Mysql,
            Flavour::Postgresql => Self::Postgresql,
        }
    }
}

impl From<SqlDialect> for Family {
    fn from(dialect: SqlDialect) -> Self {
        match dialect {
            SqlDialect::Mysql => Self::Mysql,
            SqlDialect::Postgres => Self::Postgresql,
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mysql => "the MySQL family",
            Self::Postgresql => "PostgreSQL",
        })
    }
}
