//! What a server finds wrong with the table after a crash.

use truetps_driver::{Client, DriverError};
use truetps_record::SqlDialect;

use super::clients::TABLE;

/// How a server checks its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableCheck {
    /// MySQL and MariaDB: `CHECK TABLE`.
    CheckTable,
    /// PostgreSQL: the extension amcheck, of the table and of its index against the table.
    Amcheck,
}

impl TableCheck {
    /// The check that this server has. `None`: PostgreSQL without the extension.
    pub(crate) fn of(client: &mut Client) -> Result<Option<Self>, DriverError> {
        if client.dialect() == SqlDialect::Mysql {
            return Ok(Some(Self::CheckTable));
        }
        // The check of a table is newer than the one of an index.
        let known = "SELECT 1 FROM pg_available_extension_versions WHERE name = 'amcheck' AND \
                     version >= '1.3'";
        Ok((!client.query(known)?.rows.is_empty()).then_some(Self::Amcheck))
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::CheckTable => "CHECK TABLE",
            Self::Amcheck => "amcheck",
        }
    }

    /// The first problem; `None`: the table is intact.
    pub(crate) fn problem(self, client: &mut Client) -> Result<Option<String>, DriverError> {
        match self {
            Self::CheckTable => {
                let checked = client.query(&format!("CHECK TABLE {TABLE}"))?.rows.into_iter();
                let mut texts = checked.map(|mut row| row.pop().flatten().unwrap_or_default());
                Ok(texts.find(|text| text != "OK"))
            }
            Self::Amcheck => {
                // Each time: a crash may have taken it.
                client.execute("CREATE EXTENSION IF NOT EXISTS amcheck")?;
                let table =
                    client.query(&format!("SELECT msg FROM verify_heapam('{TABLE}') LIMIT 1"))?;
                let problem = table.rows.into_iter().find_map(|row| row.into_iter().next()?);
                // It reports a problem as an error.
                let index = client.query(&format!("SELECT bt_index_check('{TABLE}_pkey', true)"));
                Ok(problem.or(index.err().map(|error| error.to_string())))
            }
        }
    }
}
