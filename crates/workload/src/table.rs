//! Tables that a workload needs, and the SQL that makes and fills them.

use std::sync::Arc;

use truetps_driver::{Dialect, Params};

use crate::Stream;
use crate::generate::{Generators, Place};
use crate::sql_text::put_value;
use crate::sysbench::put_digits_row;

/// A table and how its rows come about.
#[derive(Debug, Clone)]
pub struct Table {
    pub name: String,
    /// Rows after loading.
    pub rows: u64,
    create: Vec<String>,
    after_load: Vec<String>,
    /// Names of the columns that rows are loaded with, joined by commas.
    columns: String,
    source: RowSource,
    /// What a row and its index entries take on the disk, about.
    row_bytes: u64,
    dialect: Dialect,
    seed: u64,
}

/// What is in the loaded rows.
#[derive(Debug, Clone)]
pub(crate) enum RowSource {
    /// Digits in the columns of a sysbench-shaped table; row `n` has the id `n × spacing`, from 1.
    Digits { spacing: u64 },
    /// Ids from 1, and counters that stand at 0.
    Zeros,
    /// What the plan says.
    Generated(Arc<Generators>),
}

/// Limits of one INSERT while loading: about 200 KB of text, well under any `max_allowed_packet`.
const ROWS_PER_INSERT: u64 = 1_000;
const BYTES_PER_INSERT: usize = 200_000;

/// An empty table and its indexes.
const EMPTY_TABLE_BYTES: u64 = 128 << 10;

impl Table {
    pub(crate) fn new(dialect: Dialect, name: String, rows: u64, source: RowSource, seed: u64) -> Self {
        let (columns, row_bytes) = match &source {
            // With a primary and a secondary index.
            RowSource::Digits { .. } => ("id, k, c, pad".to_owned(), 240),
            RowSource::Zeros => ("id, cnt".to_owned(), 64),
            // What the row has beside its values, and as much again for indexes.
            RowSource::Generated(generators) => (generators.columns(), 2 * (generators.bytes_mean() + 32)),
        };
        let (create, after_load) = (Vec::new(), Vec::new());
        Self { name, rows, create, after_load, columns, source, row_bytes, dialect, seed }
    }

    #[must_use]
    pub(crate) fn with_sql(mut self, create: Vec<String>, after_load: Vec<String>) -> Self {
        (self.create, self.after_load) = (create, after_load);
        self
    }

    /// Statements that make the table and its indexes, in order.
    pub fn create_sql(&self) -> &[String] {
        &self.create
    }

    /// Statements to run each time after the table was filled, by [`Self::load_sql`] or from a copy: where a counter of
    /// keys does not follow keys that came from elsewhere, they set it.
    pub fn after_load_sql(&self) -> &[String] {
        &self.after_load
    }

    /// About how many bytes the loaded table takes on the disk, its indexes included.
    pub fn data_bytes(&self) -> u64 {
        EMPTY_TABLE_BYTES + self.rows.saturating_mul(self.row_bytes)
    }

    /// INSERT statements that fill the table, in order. The rows depend on the seed and on nothing else.
    pub fn load_sql(&self) -> impl Iterator<Item = String> + '_ {
        let mut next = 0;
        std::iter::from_fn(move || {
            let first = next;
            let mut text = format!("INSERT INTO {} ({}) VALUES ", self.name, self.columns).into_bytes();
            while next < self.rows && next - first < ROWS_PER_INSERT && text.len() < BYTES_PER_INSERT {
                if next > first {
                    text.push(b',');
                }
                self.put_row(next, &mut text);
                next += 1;
            }
            (next > first).then(|| String::from_utf8_lossy(&text).into_owned())
        })
    }

    fn put_row(&self, row: u64, text: &mut Vec<u8>) {
        let mut stream = Stream::new(self.seed, row);
        match &self.source {
            RowSource::Digits { spacing } => put_digits_row((row + 1) * spacing, self.rows, &mut stream, text),
            RowSource::Zeros => text.extend_from_slice(format!("({},0)", row + 1).as_bytes()),
            RowSource::Generated(generators) => {
                let mut params = Params::default();
                generators.put(Place::of_row(row), &mut stream, &mut params, &mut Vec::new());
                for (n, value) in params.values().iter().enumerate() {
                    text.push(if n == 0 { b'(' } else { b',' });
                    put_value(self.dialect, &params, *value, text);
                }
                text.push(b')');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::sysbench::SysbenchTables;

    use super::*;

    #[test]
    fn load_covers_every_row_once() {
        for spacing in [1, 1 << 20] {
            let table =
                &SysbenchTables { dialect: Dialect::Mysql, count: 1, rows: 2_500, spacing, seed: 42 }.tables()[0];
            let inserts: Vec<_> = table.load_sql().collect();
            assert_eq!(inserts.len(), 3);
            let rows: usize = inserts.iter().map(|sql| sql.matches("')").count()).sum();
            assert_eq!(rows, 2_500);
            let (last, beyond) = (2_500 * spacing, 2_501 * spacing);
            assert!(inserts[2].contains(&format!("({last},")) && !inserts[2].contains(&format!("({beyond},")));
            assert_eq!(inserts, table.load_sql().collect::<Vec<_>>());
        }
    }

    #[test]
    fn an_empty_table_has_no_rows_to_load() {
        let table = Table::new(Dialect::Mysql, "t".to_owned(), 0, RowSource::Zeros, 1);
        assert_eq!(table.load_sql().count(), 0);
        assert!(table.data_bytes() > 0);
    }
}
