//! `insert` and `bulk-insert`: one INSERT a transaction, of one row or many, keys from
//! auto-increment.

use truetps_driver::Params;
use truetps_record::SqlDialect;

use crate::client_random::ClientRandom;
use crate::scripted::{ClientScript, ScriptedWorkload};
use crate::sysbench::SysbenchTables;
use crate::write::{WriteKind, for_each_table};
use crate::{NextStatement, Workload};

#[derive(Debug, Clone)]
pub(crate) struct Insert {
    tables: SysbenchTables,
    rows: u32,
}

/// Each client inserts a row into one of the tables at random; `k` is uniform over
/// `1..=table_rows`.
pub fn insert(dialect: SqlDialect, tables: u32, table_rows: u64, seed: u64) -> impl Workload {
    let tables = SysbenchTables { dialect, count: tables, rows: table_rows, spacing: 1, seed };
    Insert::workload("insert", tables, 1)
}

impl Insert {
    /// With many rows in one statement, they go into one of the tables. 10,000 of them are 2 MB of
    /// text or values and 30,000 parameters: within every server's limits of 16 MB and 65,535.
    pub(crate) fn workload(
        name: &'static str,
        tables: SysbenchTables,
        rows: u32,
    ) -> ScriptedWorkload<Self> {
        let values = ["(DEFAULT, ?, ?, ?)"].repeat(rows as usize).join(", ");
        let statements = tables
            .statements(|table| format!("INSERT INTO {table} (id, k, c, pad) VALUES {values}"))
            .expect("a constant text without quotes");
        let writes = for_each_table(tables.count, WriteKind::InsertAuto { rows }).collect();
        tables.workload(name, statements, writes, Self { tables, rows })
    }
}

impl ClientScript for Insert {
    fn next(
        &mut self,
        _at: usize,
        client: &mut ClientRandom,
        params: &mut Params,
    ) -> NextStatement {
        let stream = &mut client.stream;
        let statement = self.tables.pick(stream);
        for _ in 0..self.rows {
            self.tables.push_values(stream, params);
        }
        NextStatement { statement, is_last: true }
    }
}
