//! `delete-insert`: a transaction that deletes a row and inserts one. Only the new key differs between its variants:
//! the key just deleted, a random one, or the next of auto-increment.
//!
//! The variants use the table's pages differently: the new row goes into the page that the deleted one was just read
//! from, into any page, or into new pages at the table's end. So that only the key differs, they share one table whose
//! loaded keys are far apart: a random key between them is practically never taken.

use std::sync::Arc;

use truetps_driver::{Params, Statement};
use truetps_plan::{KeyDistribution, KeyMode};

use crate::client_random::ClientRandom;
use crate::keys::Keys;
use crate::sysbench::SysbenchTables;
use crate::write::{Write, WriteKind, for_each_table};
use crate::{ClientStream, NextStatement, Table, Workload, WorkloadError};

/// Distance between the loaded keys: one in this many random keys is taken, and fails with a duplicate-key error.
pub(crate) const SPACING: u64 = 1 << 20;

const BEGIN: usize = 0;
const COMMIT: usize = 1;
/// The first of one DELETE for each table; the INSERTs follow.
const DELETES: usize = 2;

pub(crate) struct DeleteInsert {
    mode: KeyMode,
    tables: SysbenchTables,
    keys: Keys,
    statements: Arc<[Statement]>,
}

impl DeleteInsert {
    /// `tables` must have [`SPACING`].
    pub(crate) fn new(
        mode: KeyMode,
        tables: SysbenchTables,
        distribution: KeyDistribution,
    ) -> Result<Self, WorkloadError> {
        debug_assert_eq!(tables.spacing, SPACING);
        let id = if mode == KeyMode::Auto { "DEFAULT" } else { "?" };
        let mut statements = vec![Statement::text_only("BEGIN"), Statement::text_only("COMMIT")];
        statements.extend(tables.statements(|table| format!("DELETE FROM {table} WHERE id = ?"))?);
        statements
            .extend(tables.statements(|table| format!("INSERT INTO {table} (id, k, c, pad) VALUES ({id}, ?, ?, ?)"))?);
        Ok(Self { mode, tables, keys: Keys::new(distribution, tables.rows), statements: statements.into() })
    }
}

impl Workload for DeleteInsert {
    fn name(&self) -> &'static str {
        "delete-insert"
    }

    fn statements(&self) -> Arc<[Statement]> {
        Arc::clone(&self.statements)
    }

    fn client(&self, client: u32) -> Box<dyn ClientStream> {
        let random = ClientRandom::new(self.tables.seed, client);
        let (mode, tables, keys) = (self.mode, self.tables, self.keys);
        Box::new(DeleteInsertClient { random, mode, tables, keys, at: 0, table: 0, deleted: 0 })
    }

    fn tables(&self) -> Vec<Table> {
        self.tables.tables()
    }

    fn writes(&self) -> Option<Vec<Option<Write>>> {
        let insert = match self.mode {
            KeyMode::Deleted | KeyMode::Random => WriteKind::Insert { key: 0 },
            KeyMode::Auto => WriteKind::InsertAuto { rows: 1 },
        };
        let of_tables = |kind| for_each_table(self.tables.count, kind);
        let (deletes, inserts) = (of_tables(WriteKind::Delete { key: 0 }), of_tables(insert));
        Some([None, None].into_iter().chain(deletes).chain(inserts).collect())
    }
}

struct DeleteInsertClient {
    random: ClientRandom,
    mode: KeyMode,
    tables: SysbenchTables,
    keys: Keys,
    /// Number of the transaction's statements so far.
    at: u32,
    table: usize,
    deleted: u64,
}

impl DeleteInsertClient {
    /// A loaded key or, if keys come from auto-increment and the newest are the popular ones, a key assigned since
    /// then: counting only this client's own inserts, spread over the tables.
    fn draw_deleted(&mut self) -> u64 {
        let rows = self.tables.rows;
        let own = match self.mode {
            KeyMode::Auto => self.random.number() / u64::from(self.tables.count),
            KeyMode::Deleted | KeyMode::Random => 0,
        };
        let rank = self.keys.draw_with_newest(&mut self.random.stream, rows + own);
        if rank <= rows { rank * SPACING } else { rows * SPACING + (rank - rows) }
    }
}

impl ClientStream for DeleteInsertClient {
    fn next_transaction(&mut self) {
        self.random.next_transaction();
        self.at = 0;
    }

    fn next_statement(&mut self, params: &mut Params) -> NextStatement {
        self.at += 1;
        let statement = match self.at {
            1 => BEGIN,
            2 => {
                self.table = self.tables.pick(&mut self.random.stream);
                self.deleted = self.draw_deleted();
                params.push_int(self.deleted as i64);
                DELETES + self.table
            }
            3 => {
                match self.mode {
                    KeyMode::Deleted => params.push_int(self.deleted as i64),
                    KeyMode::Random => {
                        let key = self.random.stream.below(self.tables.rows * SPACING) + 1;
                        params.push_int(key as i64);
                    }
                    KeyMode::Auto => {}
                }
                self.tables.push_values(&mut self.random.stream, params);
                DELETES + self.tables.count as usize + self.table
            }
            _ => COMMIT,
        };
        NextStatement { statement, is_last: statement == COMMIT }
    }

    fn rewind(&mut self) {
        self.random.rewind();
        self.at = 0;
    }
}
