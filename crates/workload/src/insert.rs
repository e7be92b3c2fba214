//! `insert`: one INSERT of one row a transaction, the key from auto-increment, into a sysbench-shaped table.

use std::sync::Arc;

use truetps_driver::{Dialect, Params, Statement};

use crate::table::{C_GROUPS, PAD_GROUPS};
use crate::{ClientStream, Step, Stream, Table, Workload};

pub struct Insert {
    dialect: Dialect,
    tables: u32,
    table_rows: u64,
    seed: u64,
    statements: Arc<[Statement]>,
}

impl Insert {
    /// Each client inserts into one of the tables at random; `k` is uniform over `1..=table_rows`.
    pub fn new(dialect: Dialect, tables: u32, table_rows: u64, seed: u64) -> Self {
        let id = match dialect {
            Dialect::Mysql => "0",
            Dialect::Postgres => "DEFAULT",
        };
        let statement = |number| {
            Statement::new(format!("INSERT INTO sbtest{number} (id, k, c, pad) VALUES ({id}, ?, ?, ?)"))
                .expect("a constant text without quotes")
        };
        Self { dialect, tables, table_rows, seed, statements: (1..=tables).map(statement).collect() }
    }
}

impl Workload for Insert {
    fn name(&self) -> &'static str {
        "insert"
    }

    fn statements(&self) -> Arc<[Statement]> {
        Arc::clone(&self.statements)
    }

    fn client(&self, client: u32) -> Box<dyn ClientStream> {
        let stream = Stream::new(self.seed, u64::from(client));
        Box::new(InsertClient { start: stream.clone(), stream, tables: self.tables, table_rows: self.table_rows })
    }

    fn tables(&self) -> Vec<Table> {
        (1..=self.tables)
            .map(|number| Table::sysbench_shaped(self.dialect, number, self.table_rows, self.seed))
            .collect()
    }
}

struct InsertClient {
    /// The stream as it was when the transaction began.
    start: Stream,
    stream: Stream,
    tables: u32,
    table_rows: u64,
}

impl ClientStream for InsertClient {
    fn next_transaction(&mut self) {
        self.start = self.stream.clone();
    }

    fn next_statement(&mut self, params: &mut Params) -> Step {
        let statement = if self.tables == 1 { 0 } else { self.stream.below(self.tables.into()) as usize };
        params.push_int(self.stream.below(self.table_rows) as i64 + 1);
        params.push_text(|out| self.stream.put_digit_groups(C_GROUPS, out));
        params.push_text(|out| self.stream.put_digit_groups(PAD_GROUPS, out));
        Step { statement, is_last: true }
    }

    fn rewind(&mut self) {
        self.stream = self.start.clone();
    }
}

#[cfg(test)]
mod tests {
    use truetps_driver::Value;

    use super::*;

    #[test]
    fn a_client_sends_the_same_whatever_the_other_clients_do() {
        let workload = Insert::new(Dialect::Mysql, 3, 1000, 9);
        let take = |client| {
            let mut stream = workload.client(client);
            let mut params = Params::default();
            (0..50)
                .map(|_| {
                    params.clear();
                    stream.next_transaction();
                    let first = stream.next_statement(&mut params);
                    let values = params.values().to_vec();
                    stream.rewind();
                    params.clear();
                    let Step { statement, is_last } = stream.next_statement(&mut params);
                    assert!(is_last && first.statement == statement && params.values() == values);
                    let Value::Int(k) = params.values()[0] else { panic!("k is a number") };
                    assert!((1..=1000).contains(&k));
                    (statement, k)
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(take(5), take(5));
        assert_ne!(take(5), take(6));
        assert_eq!(workload.statements().len(), 3);
        assert_eq!(workload.statements()[2].param_count(), 3);
    }
}
