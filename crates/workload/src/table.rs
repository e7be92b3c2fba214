//! Tables that a workload needs, and the SQL that makes and fills them.

use std::sync::Arc;

use truetps_driver::{Dialect, Params};

use crate::RandomStream;
use crate::generate::{Generators, RowPosition};
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
    /// What a row takes in the columns of InnoDB's clustered index. `None`: its columns are the user's own.
    column_bytes: Option<u64>,
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

/// A page of InnoDB; of it what is kept free for longer rows where rows come in the order of their keys, and what headers,
/// both ends of the list of rows and the trailer take.
const PAGE_BYTES: u64 = 16 << 10;
const PAGE_FREE_BYTES: u64 = PAGE_BYTES / 16;
const PAGE_FRAME_BYTES: u64 = 128;
/// A row's header (5), transaction (6) and roll pointer (7).
const ROW_HEADER_BYTES: u64 = 18;
/// Longer rows keep their longest columns on other pages.
const ROW_BYTES_MAX: u64 = PAGE_BYTES / 2;

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
        let column_bytes = None;
        Self { name, rows, create, after_load, columns, source, row_bytes, column_bytes, dialect, seed }
    }

    /// With what a row's columns take in InnoDB's clustered index, the key and the lengths of texts included.
    #[must_use]
    pub(crate) fn with_column_bytes(mut self, bytes: u64) -> Self {
        self.column_bytes = Some(bytes);
        self
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

    /// Rows on a page of the primary key's index, where they came in the order of their keys. `None` where that is not known,
    /// or tables are not ordered by their key.
    pub fn rows_per_page(&self) -> Option<u64> {
        let row = self.column_bytes? + ROW_HEADER_BYTES;
        let is_clustered = self.dialect == Dialect::Mysql && row <= ROW_BYTES_MAX;
        is_clustered.then(|| (PAGE_BYTES - PAGE_FREE_BYTES - PAGE_FRAME_BYTES) / row)
    }

    /// Distance from one loaded key to the next.
    pub(crate) fn key_spacing(&self) -> u64 {
        match self.source {
            RowSource::Digits { spacing } => spacing,
            RowSource::Zeros | RowSource::Generated(_) => 1,
        }
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
        let mut stream = RandomStream::new(self.seed, row);
        match &self.source {
            RowSource::Digits { spacing } => put_digits_row((row + 1) * spacing, self.rows, &mut stream, text),
            RowSource::Zeros => text.extend_from_slice(format!("({},0)", row + 1).as_bytes()),
            RowSource::Generated(generators) => {
                let mut params = Params::default();
                generators.put(RowPosition::of_row(row), &mut stream, &mut params, &mut Vec::new());
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
    fn rows_per_page_are_those_of_innodb() {
        let rows_per_page = |dialect, spacing| {
            SysbenchTables { dialect, count: 1, rows: 1, spacing, seed: 1 }.tables()[0].rows_per_page()
        };
        // 15,232 bytes for rows of 4 + 4 + 121 + 61 + 18, and with an id of 8 bytes.
        assert_eq!(rows_per_page(Dialect::Mysql, 1), Some(15_232 / 208));
        assert_eq!(rows_per_page(Dialect::Mysql, 1 << 20), Some(15_232 / 212));
        assert_eq!(rows_per_page(Dialect::Postgres, 1), None);
    }

    #[test]
    fn an_empty_table_has_no_rows_to_load() {
        let table = Table::new(Dialect::Mysql, "t".to_owned(), 0, RowSource::Zeros, 1);
        assert_eq!(table.load_sql().count(), 0);
        assert!(table.data_bytes() > 0);
    }
}
