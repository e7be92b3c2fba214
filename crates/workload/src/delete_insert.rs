//! `delete-insert`: a transaction that deletes a row and inserts one. Only the new key differs
//! between its variants: the key just deleted, a random one, or the next of auto-increment.
//!
//! The variants use the table's pages differently: the new row goes into the page that the deleted
//! one was just read from, into any page, or into new pages at the table's end. So that only the
//! key differs, they share one table whose loaded keys are far apart: a random key between them is
//! practically never taken.

use truetps_driver::{Params, Statement};
use truetps_plan::{KeyDistribution, KeyMode};

use crate::client_random::ClientRandom;
use crate::keys::Keys;
use crate::scripted::{ClientScript, ScriptedWorkload};
use crate::sysbench::SysbenchTables;
use crate::write::{WriteKind, for_each_table};
use crate::{NextStatement, WorkloadError};

/// Distance between the loaded keys: one in this many random keys is taken, and fails with a
/// duplicate-key error.
pub(crate) const SPACING: u64 = 1 << 20;

const BEGIN: usize = 0;
const COMMIT: usize = 1;
/// The first of one DELETE for each table; the INSERTs follow.
const DELETES: usize = 2;

#[derive(Debug, Clone)]
pub(crate) struct DeleteInsert {
    mode: KeyMode,
    tables: SysbenchTables,
    keys: Keys,
    /// Table and key of the row that the transaction has deleted.
    table: usize,
    deleted: u64,
}

impl DeleteInsert {
    /// `tables` must have [`SPACING`].
    pub(crate) fn workload(
        mode: KeyMode,
        tables: SysbenchTables,
        distribution: KeyDistribution,
    ) -> Result<ScriptedWorkload<Self>, WorkloadError> {
        debug_assert_eq!(tables.spacing, SPACING);
        let (id, insert) = match mode {
            KeyMode::Deleted | KeyMode::Random => ("?", WriteKind::Insert { key: 0 }),
            KeyMode::Auto => ("DEFAULT", WriteKind::InsertAuto { rows: 1 }),
        };
        let mut statements = vec![Statement::text_only("BEGIN"), Statement::text_only("COMMIT")];
        statements.extend(tables.statements(|table| format!("DELETE FROM {table} WHERE id = ?"))?);
        statements.extend(tables.statements(|table| {
            format!("INSERT INTO {table} (id, k, c, pad) VALUES ({id}, ?, ?, ?)")
        })?);
        let mut writes = vec![None, None];
        writes.extend(for_each_table(tables.count, WriteKind::Delete { key: 0 }));
        writes.extend(for_each_table(tables.count, insert));
        let script =
            Self { mode, tables, keys: Keys::new(distribution, tables.rows), table: 0, deleted: 0 };
        Ok(tables.workload("delete-insert", statements, writes, script))
    }

    /// A loaded key or, if keys come from auto-increment and the newest are the popular ones, a key
    /// assigned since then: counting only this client's own inserts, spread over the tables.
    fn draw_deleted(&self, client: &mut ClientRandom) -> u64 {
        let rows = self.tables.rows;
        let own = match self.mode {
            KeyMode::Auto => client.number() / u64::from(self.tables.count),
            KeyMode::Deleted | KeyMode::Random => 0,
        };
        let rank = self.keys.draw_with_newest(&mut client.stream, rows + own);
        if rank <= rows { rank * SPACING } else { rows * SPACING + (rank - rows) }
    }
}

impl ClientScript for DeleteInsert {
    fn next(&mut self, at: usize, client: &mut ClientRandom, params: &mut Params) -> NextStatement {
        let statement = match at {
            0 => BEGIN,
            1 => {
                self.table = self.tables.pick(&mut client.stream);
                self.deleted = self.draw_deleted(client);
                params.push_int(self.deleted as i64);
                DELETES + self.table
            }
            2 => {
                match self.mode {
                    KeyMode::Deleted => params.push_int(self.deleted as i64),
                    KeyMode::Random => {
                        let key = client.stream.below(self.tables.rows * SPACING) + 1;
                        params.push_int(key as i64);
                    }
                    KeyMode::Auto => {}
                }
                self.tables.push_values(&mut client.stream, params);
                DELETES + self.tables.count as usize + self.table
            }
            _ => COMMIT,
        };
        NextStatement { statement, is_last: statement == COMMIT }
    }
}
