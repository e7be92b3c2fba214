//! `read-write`: a transaction of reads and writes, in the mix that sysbench made common. Every statement goes to one
//! of the tables at random and draws its own key.

use std::sync::Arc;

use truetps_driver::{Params, Statement};
use truetps_plan::{KeyDistribution, ReadWriteMix};

use crate::client_random::ClientRandom;
use crate::keys::Keys;
use crate::sysbench::{SysbenchTables, push_c};
use crate::write::{Write, WriteKind, for_each_table};
use crate::{ClientStream, NextStatement, Table, Workload, WorkloadError};

/// What the values of a statement are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StatementValues {
    None,
    /// Of a row that is read.
    Id,
    /// Of a row that counts up.
    CountedId,
    /// Both ends of a range.
    Range,
    /// A new text and the row's id.
    Text,
    /// An id that the next statement inserts again, into the same table.
    Deleted,
    Inserted,
}

/// A step of every transaction: one of the statements from `first` on, which differ only in the table.
#[derive(Debug, Clone, Copy)]
struct TransactionStep {
    first: usize,
    values: StatementValues,
}

pub(crate) struct ReadWrite {
    tables: SysbenchTables,
    keys: Keys,
    range_size: u32,
    script: Arc<[TransactionStep]>,
    statements: Arc<[Statement]>,
}

impl ReadWrite {
    pub(crate) fn new(
        tables: SysbenchTables,
        mix: &ReadWriteMix,
        distribution: KeyDistribution,
    ) -> Result<Self, WorkloadError> {
        let mut statements = vec![Statement::text_only("BEGIN"), Statement::text_only("COMMIT")];
        let mut script = vec![TransactionStep { first: 0, values: StatementValues::None }];
        for (count, sqls) in actions(mix) {
            if count == 0 {
                continue;
            }
            let mut once = Vec::new();
            for (sql, values) in sqls {
                once.push(TransactionStep { first: statements.len(), values: *values });
                statements.extend(tables.statements(|table| sql.replace("TABLE", table))?);
            }
            (0..count).for_each(|_| script.extend_from_slice(&once));
        }
        script.push(TransactionStep { first: 1, values: StatementValues::None });
        let keys = Keys::new(distribution, tables.rows);
        Ok(Self { tables, keys, range_size: mix.range_size, script: script.into(), statements: statements.into() })
    }
}

type Sqls = &'static [(&'static str, StatementValues)];

/// Each kind of action in the order of a transaction: how often it occurs, and its statements.
fn actions(mix: &ReadWriteMix) -> [(u32, Sqls); 8] {
    [
        (mix.point_selects, &[("SELECT c FROM TABLE WHERE id = ?", StatementValues::Id)]),
        (mix.simple_ranges, &[("SELECT c FROM TABLE WHERE id BETWEEN ? AND ?", StatementValues::Range)]),
        (mix.sum_ranges, &[("SELECT SUM(k) FROM TABLE WHERE id BETWEEN ? AND ?", StatementValues::Range)]),
        (mix.order_ranges, &[("SELECT c FROM TABLE WHERE id BETWEEN ? AND ? ORDER BY c", StatementValues::Range)]),
        (
            mix.distinct_ranges,
            &[("SELECT DISTINCT c FROM TABLE WHERE id BETWEEN ? AND ? ORDER BY c", StatementValues::Range)],
        ),
        (mix.index_updates, &[("UPDATE TABLE SET k = k + 1 WHERE id = ?", StatementValues::CountedId)]),
        (mix.non_index_updates, &[("UPDATE TABLE SET c = ? WHERE id = ?", StatementValues::Text)]),
        (
            mix.delete_inserts,
            &[
                ("DELETE FROM TABLE WHERE id = ?", StatementValues::Deleted),
                ("INSERT INTO TABLE (id, k, c, pad) VALUES (?, ?, ?, ?)", StatementValues::Inserted),
            ],
        ),
    ]
}

impl Workload for ReadWrite {
    fn name(&self) -> &'static str {
        "read-write"
    }

    fn statements(&self) -> Arc<[Statement]> {
        Arc::clone(&self.statements)
    }

    fn client(&self, client: u32) -> Box<dyn ClientStream> {
        Box::new(ReadWriteClient {
            random: ClientRandom::new(self.tables.seed, client),
            tables: self.tables,
            keys: self.keys,
            range_size: self.range_size,
            script: Arc::clone(&self.script),
            at: 0,
            deleted: (0, 0),
        })
    }

    fn tables(&self) -> Vec<Table> {
        self.tables.tables()
    }

    fn writes(&self) -> Option<Vec<Option<Write>>> {
        let mut writes = vec![None; self.statements.len()];
        for action in &*self.script {
            let kind = match action.values {
                StatementValues::None | StatementValues::Id | StatementValues::Range => continue,
                StatementValues::CountedId => WriteKind::Update { key: 0 },
                StatementValues::Text => WriteKind::Update { key: 1 },
                StatementValues::Deleted => WriteKind::Delete { key: 0 },
                StatementValues::Inserted => WriteKind::Insert { key: 0 },
            };
            let of_tables = for_each_table(self.tables.count, kind);
            writes[action.first..].iter_mut().zip(of_tables).for_each(|(write, of_table)| *write = of_table);
        }
        Some(writes)
    }
}

struct ReadWriteClient {
    random: ClientRandom,
    tables: SysbenchTables,
    keys: Keys,
    range_size: u32,
    script: Arc<[TransactionStep]>,
    /// Place of the next action in the script.
    at: usize,
    /// Table and key of the row that was deleted last.
    deleted: (usize, i64),
}

impl ClientStream for ReadWriteClient {
    fn next_transaction(&mut self) {
        self.random.next_transaction();
        self.at = 0;
    }

    fn next_statement(&mut self, params: &mut Params) -> NextStatement {
        let TransactionStep { first, values } = self.script[self.at];
        self.at += 1;
        let is_last = self.at == self.script.len();
        let stream = &mut self.random.stream;
        let (table, id) = match values {
            StatementValues::None => (0, 0),
            StatementValues::Inserted => self.deleted,
            _ => (self.tables.pick(stream), self.keys.draw(stream) as i64),
        };
        match values {
            StatementValues::None => {}
            StatementValues::Id | StatementValues::CountedId => params.push_int(id),
            StatementValues::Range => {
                params.push_int(id);
                params.push_int(id + i64::from(self.range_size) - 1);
            }
            StatementValues::Text => {
                push_c(stream, params);
                params.push_int(id);
            }
            StatementValues::Deleted => {
                self.deleted = (table, id);
                params.push_int(id);
            }
            StatementValues::Inserted => {
                params.push_int(id);
                self.tables.push_values(stream, params);
            }
        }
        NextStatement { statement: first + table, is_last }
    }

    fn rewind(&mut self) {
        self.random.rewind();
        self.at = 0;
    }
}
