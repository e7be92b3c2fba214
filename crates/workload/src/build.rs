//! From a plan to its workload.

use std::num::NonZeroU32;
use std::sync::Arc;

use truetps_plan::{
    DeleteInsertSpec, HotRowSpec, ReadWriteSpec, UpdateSpec, WorkloadKind, WorkloadSpec,
};
use truetps_record::SqlDialect;

use crate::custom::Custom;
use crate::delete_insert::DeleteInsert;
use crate::insert::Insert;
use crate::read_write::ReadWrite;
use crate::sysbench::SysbenchTables;
use crate::update::{Column, HotRow, Update};
use crate::{Commit, SqlList, TableInsert, Workload, WorkloadError, delete_insert};

/// Default rows in one statement of `bulk-insert`.
const ROWS_PER_INSERT: u32 = 100;

/// The workload of a checked plan, for servers of this dialect. `seed` starts all its random
/// streams.
pub fn build(
    spec: &WorkloadSpec,
    dialect: SqlDialect,
    seed: u64,
) -> Result<Arc<dyn Workload>, WorkloadError> {
    let tables =
        SysbenchTables { dialect, count: spec.tables, rows: spec.table_rows, spacing: 1, seed };
    Ok(match &spec.kind {
        WorkloadKind::Insert => Arc::new(Insert::workload("insert", tables, 1)),
        WorkloadKind::BulkInsert(spec) => Arc::new(Insert::workload(
            "bulk-insert",
            tables,
            spec.rows_per_insert.unwrap_or(ROWS_PER_INSERT),
        )),
        WorkloadKind::UpdateIndex(UpdateSpec { distribution }) => {
            Arc::new(Update::workload(Column::Indexed, tables, distribution.unwrap_or_default())?)
        }
        WorkloadKind::UpdateNonIndex(UpdateSpec { distribution }) => {
            Arc::new(Update::workload(Column::Plain, tables, distribution.unwrap_or_default())?)
        }
        WorkloadKind::DeleteInsert(DeleteInsertSpec { distribution, key }) => {
            let tables = SysbenchTables { spacing: delete_insert::SPACING, ..tables };
            Arc::new(DeleteInsert::workload(
                key.unwrap_or_default(),
                tables,
                distribution.unwrap_or_default(),
            )?)
        }
        WorkloadKind::HotRow(HotRowSpec { hot_rows, distribution }) => Arc::new(HotRow::workload(
            dialect,
            hot_rows.unwrap_or(1),
            distribution.unwrap_or_default(),
            seed,
        )?),
        WorkloadKind::ReadWrite(ReadWriteSpec { distribution, mix }) => {
            let mix = mix.clone().unwrap_or_default();
            Arc::new(ReadWrite::workload(tables, &mix, distribution.unwrap_or_default())?)
        }
        WorkloadKind::Custom(spec) => Arc::new(Custom::workload(spec, dialect, seed)?),
        WorkloadKind::Sql(spec) => Arc::new(SqlList::of_plan(spec, dialect, seed)?),
        WorkloadKind::Table(spec) => {
            let commit = if spec.explicit_commit == Some(true) {
                Commit::Every(NonZeroU32::MIN)
            } else {
                Commit::Each
            };
            TableInsert::new(&spec.table, spec.rows_per_insert.unwrap_or(1), dialect)
                .workload(commit, seed)?
        }
        WorkloadKind::Sysbench(_) => return Err(WorkloadError::Script),
        WorkloadKind::Verify(_) => return Err(WorkloadError::Verify),
    })
}
