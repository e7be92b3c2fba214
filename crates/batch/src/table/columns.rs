//! The columns that rows may have.

use std::collections::HashMap;

use truetps_record::SqlDialect;

use super::ColumnType;
use super::literal::quoted_name;

/// One column that a client may set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnFacts {
    pub name: String,
    pub kind: ColumnType,
    /// PostgreSQL's name of the type, without limits of length or precision; for a domain, of the
    /// type below it.
    pub server_type: String,
    /// Whether a value is kept shows only after it was stored.
    pub reads_back: bool,
    pub is_nullable: bool,
    /// A row may leave it out.
    pub has_default: bool,
}

/// A table at one moment: what rows are read for, and the text around their values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableColumns {
    pub dialect: SqlDialect,
    /// Quoted, on PostgreSQL with its schema.
    pub table: String,
    /// A number for the table's definition: another one after ALTER TABLE.
    pub version: u64,
    columns: Vec<ColumnFacts>,
    by_name: HashMap<String, usize>,
    /// The idempotency key: numbers of columns.
    key: Vec<usize>,
    /// Rows are in its partitions. Else, only rows of the table itself count: PostgreSQL also reads
    /// tables that inherit it.
    pub is_partitioned: bool,
    /// Rows are read again before their commit: triggers, or types, may change what was sent.
    pub reads_back: bool,
    /// A row of which a column would keep something else is refused; else its answer has what is
    /// stored.
    pub refuses_changes: bool,
}

impl TableColumns {
    /// `table`: quoted. `key`: names of `columns`, in the order of the index. `None` if one of them
    /// is no column.
    pub fn new(
        dialect: SqlDialect,
        table: String,
        version: u64,
        columns: Vec<ColumnFacts>,
        key: &[String],
    ) -> Option<Self> {
        let by_name: HashMap<_, _> =
            columns.iter().enumerate().map(|(n, column)| (column.name.clone(), n)).collect();
        let key = key.iter().map(|name| by_name.get(name).copied()).collect::<Option<Vec<_>>>()?;
        let reads_back = columns.iter().any(|column| column.reads_back);
        let (is_partitioned, refuses_changes) = (false, true);
        Some(Self {
            dialect,
            table,
            version,
            columns,
            by_name,
            key,
            is_partitioned,
            reads_back,
            refuses_changes,
        })
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

    /// `INSERT INTO t (a,b) VALUES `. A key that is stored is an error of the server: no row is
    /// skipped or changed.
    pub fn insert_head(&self) -> String {
        format!("INSERT INTO {} ({}) VALUES ", self.table, self.quoted_list(0..self.columns.len()))
    }

    /// The rights that a batch needs, without a row: INSERT and SELECT of the columns.
    pub(crate) fn insert_nothing(&self) -> String {
        let list = self.quoted_list(0..self.columns.len());
        format!("INSERT INTO {0} ({list}) SELECT {list} FROM {0} WHERE 1 = 0", self.table)
    }
}
