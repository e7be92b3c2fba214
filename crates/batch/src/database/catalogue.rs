//! What the catalogues of both families say of a table, in the same words.

use truetps_driver::{Client, DriverError};

use crate::ColumnFacts;

/// A unique key: its name and columns.
pub(super) type UniqueKey = (String, Vec<String>);

/// A table as its catalogue describes it.
#[derive(Debug, Default)]
pub(super) struct CatalogueTable {
    /// Quoted, as statements name it.
    pub(super) name: String,
    /// The columns that clients can set.
    pub(super) columns: Vec<ColumnFacts>,
    /// Unique keys over whole columns that clients can set, which the server enforces with each
    /// statement.
    pub(super) keys: Vec<UniqueKey>,
    /// Other unique keys, with the reason why they identify no row.
    pub(super) other_keys: Vec<String>,
    pub(super) is_partitioned: bool,
    /// Triggers, or a right that is missing to see them: what is stored shows only when it is read
    /// again.
    pub(super) may_change_rows: Option<String>,
    pub(super) warnings: Vec<String>,
}

/// All rows of a query, with empty texts for NULL.
pub(super) fn catalogue_rows(
    client: &mut Client,
    sql: &str,
) -> Result<Vec<Vec<String>>, DriverError> {
    let rows = client.query(sql)?.rows;
    Ok(rows
        .into_iter()
        .map(|row| row.into_iter().map(Option::unwrap_or_default).collect())
        .collect())
}

/// Rows of the name of a key and one of its columns, as keys.
pub(super) fn keys_of(rows: &[Vec<String>]) -> Vec<UniqueKey> {
    let mut keys = Vec::<UniqueKey>::new();
    for row in rows {
        let (name, column) = (&row[0], row[1].clone());
        match keys.last_mut().filter(|(of, _)| of == name) {
            Some((_, columns)) => columns.push(column),
            None => keys.push((name.clone(), vec![column])),
        }
    }
    keys
}
