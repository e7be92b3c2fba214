//! `update-index`, `update-non-index` and `hot-row`: one UPDATE of one row by its key, in autocommit mode.

use std::sync::Arc;

use truetps_driver::{Params, Statement};
use truetps_plan::KeyDistribution;
use truetps_record::SqlDialect;

use crate::client_random::ClientRandom;
use crate::keys::Keys;
use crate::sysbench::{SysbenchTables, push_c};
use crate::table::RowSource;
use crate::write::{Write, WriteKind, for_each_table};
use crate::{ClientStream, NextStatement, Table, Workload, WorkloadError};

/// The column that an UPDATE changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// `k`, which has an index: the row and its index entry.
    Indexed,
    /// `c`, which has none.
    Plain,
}

pub(crate) struct Update {
    column: Column,
    tables: SysbenchTables,
    keys: Keys,
    statements: Arc<[Statement]>,
}

impl Update {
    pub(crate) fn new(
        column: Column,
        tables: SysbenchTables,
        distribution: KeyDistribution,
    ) -> Result<Self, WorkloadError> {
        let set = if column == Column::Indexed { "k = k + 1" } else { "c = ?" };
        let statements = tables.only_statements(|table| format!("UPDATE {table} SET {set} WHERE id = ?"))?;
        Ok(Self { column, tables, keys: Keys::new(distribution, tables.rows), statements })
    }
}

impl Workload for Update {
    fn name(&self) -> &'static str {
        if self.column == Column::Indexed { "update-index" } else { "update-non-index" }
    }

    fn statements(&self) -> Arc<[Statement]> {
        Arc::clone(&self.statements)
    }

    fn client(&self, client: u32) -> Box<dyn ClientStream> {
        let random = ClientRandom::new(self.tables.seed, client);
        Box::new(UpdateClient { random, column: self.column, tables: self.tables, keys: self.keys })
    }

    fn tables(&self) -> Vec<Table> {
        self.tables.tables()
    }

    fn writes(&self) -> Option<Vec<Option<Write>>> {
        // The new text is the first parameter.
        let key = usize::from(self.column == Column::Plain);
        Some(for_each_table(self.tables.count, WriteKind::Update { key }).collect())
    }
}

struct UpdateClient {
    random: ClientRandom,
    column: Column,
    tables: SysbenchTables,
    keys: Keys,
}

impl ClientStream for UpdateClient {
    fn next_transaction(&mut self) {
        self.random.next_transaction();
    }

    fn next_statement(&mut self, params: &mut Params) -> NextStatement {
        let stream = &mut self.random.stream;
        let statement = self.tables.pick(stream);
        let id = self.keys.draw(stream);
        if self.column == Column::Plain {
            push_c(stream, params);
        }
        params.push_int(id as i64);
        NextStatement { statement, is_last: true }
    }

    fn rewind(&mut self) {
        self.random.rewind();
    }
}

/// A small table of counters that all clients increment: they wait for the locks of its rows. The sum of the counters
/// is the number of committed transactions.
pub(crate) struct HotRow {
    dialect: SqlDialect,
    rows: u32,
    keys: Keys,
    seed: u64,
    statements: Arc<[Statement]>,
}

impl HotRow {
    pub(crate) fn new(
        dialect: SqlDialect,
        rows: u32,
        distribution: KeyDistribution,
        seed: u64,
    ) -> Result<Self, WorkloadError> {
        let statement = Statement::new("UPDATE hot_counter SET cnt = cnt + 1 WHERE id = ?")?;
        let keys = Keys::new(distribution, rows.into());
        Ok(Self { dialect, rows, keys, seed, statements: Arc::new([statement]) })
    }
}

impl Workload for HotRow {
    fn name(&self) -> &'static str {
        "hot-row"
    }

    fn statements(&self) -> Arc<[Statement]> {
        Arc::clone(&self.statements)
    }

    fn client(&self, client: u32) -> Box<dyn ClientStream> {
        Box::new(HotRowClient { random: ClientRandom::new(self.seed, client), keys: self.keys })
    }

    fn tables(&self) -> Vec<Table> {
        let engine = if self.dialect == SqlDialect::Mysql { " ENGINE=InnoDB" } else { "" };
        let create = format!("CREATE TABLE hot_counter (id INT NOT NULL PRIMARY KEY, cnt BIGINT NOT NULL){engine}");
        let table = Table::new(self.dialect, "hot_counter".to_owned(), self.rows.into(), RowSource::Zeros, self.seed);
        // 4 of `id` and 8 of `cnt`.
        vec![table.with_sql(vec![create], Vec::new()).with_column_bytes(12)]
    }

    fn writes(&self) -> Option<Vec<Option<Write>>> {
        Some(vec![Some(Write { table: 0, kind: WriteKind::Update { key: 0 } })])
    }
}

struct HotRowClient {
    random: ClientRandom,
    keys: Keys,
}

impl ClientStream for HotRowClient {
    fn next_transaction(&mut self) {
        self.random.next_transaction();
    }

    fn next_statement(&mut self, params: &mut Params) -> NextStatement {
        params.push_int(self.keys.draw(&mut self.random.stream) as i64);
        NextStatement { statement: 0, is_last: true }
    }

    fn rewind(&mut self) {
        self.random.rewind();
    }
}
