//! `insert` and `bulk-insert`: one INSERT a transaction, of one row or many, keys from auto-increment.

use std::sync::Arc;

use truetps_driver::{Params, Statement};
use truetps_record::SqlDialect;

use crate::client_random::ClientRandom;
use crate::sysbench::SysbenchTables;
use crate::write::{Write, WriteKind, for_each_table};
use crate::{ClientStream, NextStatement, Table, Workload};

pub struct Insert {
    name: &'static str,
    tables: SysbenchTables,
    row_count: u32,
    statements: Arc<[Statement]>,
}

impl Insert {
    /// Each client inserts a row into one of the tables at random; `k` is uniform over `1..=table_rows`.
    pub fn new(dialect: SqlDialect, tables: u32, table_rows: u64, seed: u64) -> Self {
        Self::with_name("insert", SysbenchTables { dialect, count: tables, rows: table_rows, spacing: 1, seed }, 1)
    }

    /// Like [`Self::new`], with many rows in one statement, which go into one of the tables. 10,000 of them are 2 MB of
    /// text or values and 30,000 parameters: within every server's limits of 16 MB and 65,535.
    pub(crate) fn bulk(tables: SysbenchTables, row_count: u32) -> Self {
        Self::with_name("bulk-insert", tables, row_count)
    }

    fn with_name(name: &'static str, tables: SysbenchTables, row_count: u32) -> Self {
        let row = "(DEFAULT, ?, ?, ?)";
        let rows = [row].repeat(row_count as usize).join(", ");
        let statements = tables
            .only_statements(|table| format!("INSERT INTO {table} (id, k, c, pad) VALUES {rows}"))
            .expect("a constant text without quotes");
        Self { name, tables, row_count, statements }
    }
}

impl Workload for Insert {
    fn name(&self) -> &'static str {
        self.name
    }

    fn statements(&self) -> Arc<[Statement]> {
        Arc::clone(&self.statements)
    }

    fn client(&self, client: u32) -> Box<dyn ClientStream> {
        let random = ClientRandom::new(self.tables.seed, client);
        Box::new(InsertClient { random, tables: self.tables, rows: self.row_count })
    }

    fn tables(&self) -> Vec<Table> {
        self.tables.tables()
    }

    fn writes(&self) -> Option<Vec<Option<Write>>> {
        Some(for_each_table(self.tables.count, WriteKind::InsertAuto { rows: self.row_count }).collect())
    }
}

struct InsertClient {
    random: ClientRandom,
    tables: SysbenchTables,
    rows: u32,
}

impl ClientStream for InsertClient {
    fn next_transaction(&mut self) {
        self.random.next_transaction();
    }

    fn next_statement(&mut self, params: &mut Params) -> NextStatement {
        let stream = &mut self.random.stream;
        let statement = self.tables.pick(stream);
        for _ in 0..self.rows {
            self.tables.push_values(stream, params);
        }
        NextStatement { statement, is_last: true }
    }

    fn rewind(&mut self) {
        self.random.rewind();
    }
}
