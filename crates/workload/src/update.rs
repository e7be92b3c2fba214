//! `update-index`, `update-non-index` and `hot-row`: one UPDATE of one row by its key, in
//! autocommit mode.

use std::sync::Arc;

use truetps_driver::{Params, Statement};
use truetps_plan::KeyDistribution;
use truetps_record::SqlDialect;

use crate::client_random::ClientRandom;
use crate::digits::push_c;
use crate::keys::Keys;
use crate::scripted::{ClientScript, ScriptedWorkload};
use crate::sysbench::SysbenchTables;
use crate::table::RowSource;
use crate::write::{Write, WriteKind, for_each_table};
use crate::{NextStatement, Table, WorkloadError};

/// The column that an UPDATE changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// `k`, which has an index: the row and its index entry.
    Indexed,
    /// `c`, which has none.
    Plain,
}

#[derive(Debug, Clone)]
pub(crate) struct Update {
    column: Column,
    tables: SysbenchTables,
    keys: Keys,
}

impl Update {
    pub(crate) fn workload(
        column: Column,
        tables: SysbenchTables,
        distribution: KeyDistribution,
    ) -> Result<ScriptedWorkload<Self>, WorkloadError> {
        // `key`: the new text is the first parameter.
        let (name, set, key) = match column {
            Column::Indexed => ("update-index", "k = k + 1", 0),
            Column::Plain => ("update-non-index", "c = ?", 1),
        };
        let statements =
            tables.statements(|table| format!("UPDATE {table} SET {set} WHERE id = ?"))?;
        let writes = for_each_table(tables.count, WriteKind::Update { key }).collect();
        let script = Self { column, tables, keys: Keys::new(distribution, tables.rows) };
        Ok(tables.workload(name, statements, writes, script))
    }
}

impl ClientScript for Update {
    fn next(
        &mut self,
        _at: usize,
        client: &mut ClientRandom,
        params: &mut Params,
    ) -> NextStatement {
        let stream = &mut client.stream;
        let statement = self.tables.pick(stream);
        let id = self.keys.draw(stream);
        if self.column == Column::Plain {
            push_c(stream, params);
        }
        params.push_int(id as i64);
        NextStatement { statement, is_last: true }
    }
}

/// A small table of counters that all clients increment: they wait for the locks of its rows. The
/// sum of the counters is the number of committed transactions.
#[derive(Debug, Clone)]
pub(crate) struct HotRow {
    keys: Keys,
}

impl HotRow {
    pub(crate) fn workload(
        dialect: SqlDialect,
        rows: u32,
        distribution: KeyDistribution,
        seed: u64,
    ) -> Result<ScriptedWorkload<Self>, WorkloadError> {
        let statement = Statement::new("UPDATE hot_counter SET cnt = cnt + 1 WHERE id = ?")?;
        let engine = if dialect == SqlDialect::Mysql { " ENGINE=InnoDB" } else { "" };
        let create = format!(
            "CREATE TABLE hot_counter (id INT NOT NULL PRIMARY KEY, cnt BIGINT NOT NULL){engine}"
        );
        let table =
            Table::new(dialect, "hot_counter".to_owned(), rows.into(), RowSource::Zeros, seed);
        Ok(ScriptedWorkload {
            name: "hot-row",
            statements: Arc::new([statement]),
            // 4 of `id` and 8 of `cnt`.
            tables: vec![table.with_sql(vec![create], Vec::new()).with_column_bytes(12)],
            writes: Some(vec![Some(Write { table: 0, kind: WriteKind::Update { key: 0 } })]),
            seed,
            script: Self { keys: Keys::new(distribution, rows.into()) },
        })
    }
}

impl ClientScript for HotRow {
    fn next(
        &mut self,
        _at: usize,
        client: &mut ClientRandom,
        params: &mut Params,
    ) -> NextStatement {
        params.push_int(self.keys.draw(&mut client.stream) as i64);
        NextStatement { statement: 0, is_last: true }
    }
}
