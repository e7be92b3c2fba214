//! `read-write`: a transaction of reads and writes, in the mix that sysbench made common. Every
//! statement goes to one of the tables at random and draws its own key.

use std::sync::Arc;

use truetps_driver::{Params, Statement};
use truetps_plan::{KeyDistribution, ReadWriteMix};

use crate::client_random::ClientRandom;
use crate::digits::push_c;
use crate::keys::Keys;
use crate::scripted::{ClientScript, ScriptedWorkload};
use crate::sysbench::SysbenchTables;
use crate::write::{Write, WriteKind, for_each_table};
use crate::{NextStatement, WorkloadError};

/// What the values of a statement are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StatementValues {
    None,
    /// The key of a row that is read.
    Id,
    /// The key of a row that counts up.
    CountedId,
    /// Both ends of a range.
    Range,
    /// A new text and the row's id.
    Text,
    /// An id that the next statement inserts again, into the same table.
    Deleted,
    Inserted,
}

/// A step of every transaction: one of the statements from `first` on, which differ only in the
/// table.
#[derive(Debug, Clone, Copy)]
struct TransactionStep {
    first: usize,
    values: StatementValues,
}

#[derive(Debug, Clone)]
pub(crate) struct ReadWrite {
    tables: SysbenchTables,
    keys: Keys,
    range_size: u32,
    steps: Arc<[TransactionStep]>,
    /// Table and key of the row that was deleted last.
    deleted: (usize, i64),
}

impl ReadWrite {
    pub(crate) fn workload(
        tables: SysbenchTables,
        mix: &ReadWriteMix,
        distribution: KeyDistribution,
    ) -> Result<ScriptedWorkload<Self>, WorkloadError> {
        let mut statements = vec![Statement::text_only("BEGIN"), Statement::text_only("COMMIT")];
        let mut steps = vec![TransactionStep { first: 0, values: StatementValues::None }];
        for (count, sqls) in actions(mix) {
            if count == 0 {
                continue;
            }
            let mut once = Vec::new();
            for (sql, values) in sqls {
                once.push(TransactionStep { first: statements.len(), values: *values });
                statements.extend(tables.statements(|table| sql.replace("TABLE", table))?);
            }
            (0..count).for_each(|_| steps.extend_from_slice(&once));
        }
        steps.push(TransactionStep { first: 1, values: StatementValues::None });
        let writes = writes(&steps, tables.count, statements.len());
        let (keys, range_size) = (Keys::new(distribution, tables.rows), mix.range_size);
        let script = Self { tables, keys, range_size, steps: steps.into(), deleted: (0, 0) };
        Ok(tables.workload("read-write", statements, writes, script))
    }
}

type Sqls = &'static [(&'static str, StatementValues)];

/// Each kind of action in the order of a transaction: how often it occurs, and its statements.
fn actions(mix: &ReadWriteMix) -> [(u32, Sqls); 8] {
    [
        (mix.point_selects, &[("SELECT c FROM TABLE WHERE id = ?", StatementValues::Id)]),
        (
            mix.simple_ranges,
            &[("SELECT c FROM TABLE WHERE id BETWEEN ? AND ?", StatementValues::Range)],
        ),
        (
            mix.sum_ranges,
            &[("SELECT SUM(k) FROM TABLE WHERE id BETWEEN ? AND ?", StatementValues::Range)],
        ),
        (
            mix.order_ranges,
            &[("SELECT c FROM TABLE WHERE id BETWEEN ? AND ? ORDER BY c", StatementValues::Range)],
        ),
        (
            mix.distinct_ranges,
            &[(
                "SELECT DISTINCT c FROM TABLE WHERE id BETWEEN ? AND ? ORDER BY c",
                StatementValues::Range,
            )],
        ),
        (
            mix.index_updates,
            &[("UPDATE TABLE SET k = k + 1 WHERE id = ?", StatementValues::CountedId)],
        ),
        (mix.non_index_updates, &[("UPDATE TABLE SET c = ? WHERE id = ?", StatementValues::Text)]),
        (
            mix.delete_inserts,
            &[
                ("DELETE FROM TABLE WHERE id = ?", StatementValues::Deleted),
                (
                    "INSERT INTO TABLE (id, k, c, pad) VALUES (?, ?, ?, ?)",
                    StatementValues::Inserted,
                ),
            ],
        ),
    ]
}

/// What each of so many statements writes.
fn writes(steps: &[TransactionStep], tables: u32, statements: usize) -> Vec<Option<Write>> {
    let mut writes = vec![None; statements];
    for step in steps {
        let kind = match step.values {
            StatementValues::None | StatementValues::Id | StatementValues::Range => continue,
            StatementValues::CountedId => WriteKind::Update { key: 0 },
            StatementValues::Text => WriteKind::Update { key: 1 },
            StatementValues::Deleted => WriteKind::Delete { key: 0 },
            StatementValues::Inserted => WriteKind::Insert { key: 0 },
        };
        let of_tables = for_each_table(tables, kind);
        writes[step.first..]
            .iter_mut()
            .zip(of_tables)
            .for_each(|(write, of_table)| *write = of_table);
    }
    writes
}

impl ClientScript for ReadWrite {
    fn next(&mut self, at: usize, client: &mut ClientRandom, params: &mut Params) -> NextStatement {
        let TransactionStep { first, values } = self.steps[at];
        let is_last = at + 1 == self.steps.len();
        let stream = &mut client.stream;
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
}
