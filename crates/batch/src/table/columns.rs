//! The columns that rows may have.

use std::collections::HashMap;

use truetps_record::SqlDialect;

use super::literal::quoted_name;

/// What decides about a value's literal, and about its place in the order of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnClass {
    Integer,
    /// Text and everything else that is written as text: dates, decimals, JSON.
    Text,
    /// Bytes: of a JSON string, its UTF-8.
    Binary,
    /// `BINARY(16)`: of a JSON string that is a UUID, its 16 bytes.
    Uuid,
}

/// One column that a client may set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnFacts {
    pub name: String,
    pub kind: ColumnClass,
    /// The column has a character set: values are compared by their bytes.
    pub is_text: bool,
    pub is_nullable: bool,
    /// A row may leave it out.
    pub has_default: bool,
}

/// A table at one moment: what rows are read for, and the text around their values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableColumns {
    pub dialect: SqlDialect,
    /// Quoted.
    pub table: String,
    /// A number for the table's definition: another one after ALTER TABLE.
    pub version: u64,
    columns: Vec<ColumnFacts>,
    by_name: HashMap<String, usize>,
    /// The idempotency key: numbers of columns.
    key: Vec<usize>,
}

impl TableColumns {
    /// `key`: names of `columns`, in the order of the index. `None` if one of them is no column.
    pub fn new(
        dialect: SqlDialect,
        table: &str,
        version: u64,
        columns: Vec<ColumnFacts>,
        key: &[String],
    ) -> Option<Self> {
        let by_name: HashMap<_, _> = columns.iter().enumerate().map(|(n, column)| (column.name.clone(), n)).collect();
        let key = key.iter().map(|name| by_name.get(name).copied()).collect::<Option<Vec<_>>>()?;
        Some(Self { dialect, table: quoted_name(dialect, table), version, columns, by_name, key })
    }

    pub fn columns(&self) -> &[ColumnFacts] {
        &self.columns
    }

    /// Numbers of the columns of the idempotency key.
    pub fn key(&self) -> &[usize] {
        &self.key
    }

    pub fn key_names(&self) -> impl Iterator<Item = &str> {
        self.key.iter().map(|n| self.columns[*n].name.as_str())
    }

    pub(super) fn find(&self, name: &str, expected: usize) -> Option<usize> {
        // Rows of one client have their columns in the same order.
        match self.columns.get(expected) {
            Some(column) if column.name == name => Some(expected),
            _ => self.by_name.get(name).copied(),
        }
    }

    pub(crate) fn quoted(&self, column: usize) -> String {
        quoted_name(self.dialect, &self.columns[column].name)
    }

    fn quoted_list(&self, columns: impl Iterator<Item = usize>) -> String {
        columns.map(|column| self.quoted(column)).collect::<Vec<_>>().join(",")
    }

    /// `INSERT INTO t (a,b) VALUES `
    pub fn insert_head(&self) -> String {
        format!("INSERT INTO {} ({}) VALUES ", self.table, self.quoted_list(0..self.columns.len()))
    }

    /// The end of the insert: a row whose key is in the table leaves that row unchanged. `INSERT IGNORE` would do so,
    /// too, and would change wrong values into other ones.
    pub fn insert_tail(&self) -> String {
        let key = self.quoted_list(self.key.iter().copied());
        match self.dialect {
            SqlDialect::Mysql => {
                let first = self.quoted(self.key[0]);
                format!(" ON DUPLICATE KEY UPDATE {first}={first}")
            }
            SqlDialect::Postgres => format!(" ON CONFLICT ({key}) DO NOTHING"),
        }
    }
}
