//! `sql`: the user's own statements, in order and repeatedly.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use truetps_driver::{Params, Statement};
use truetps_plan::{SqlParts, SqlSpec};
use truetps_record::SqlDialect;

use crate::client_random::ClientRandom;
use crate::scripted::{ClientScript, ScriptedWorkload};
use crate::table::{RowSource, Table};
use crate::{Commit, NextStatement, WorkloadError};

/// One statement of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SqlStatement {
    /// Sent unchanged: a `?` in it is text.
    Fixed(String),
    /// With one `?` outside of quotes, for a key.
    Keyed(String),
}

/// Each client sends the list from its first statement on, repeatedly. The statements that begin
/// and end a transaction follow the list's.
#[derive(Debug, Clone)]
pub struct SqlList {
    /// Whether each statement of the list takes a key.
    keyed: Arc<[bool]>,
    keys: Arc<[String]>,
    commit: Commit,
    total: Total,
    /// Number of statements in the transaction, without BEGIN and COMMIT.
    length: u32,
}

/// Total statements of all clients.
#[derive(Debug, Clone)]
enum Total {
    /// Unlimited.
    Endless,
    /// Split evenly between this number of clients; the first ones have one more if it does not
    /// divide evenly.
    Split { total: u64, clients: u32 },
    /// The rest, from which each client takes its next statements.
    Shared(Arc<AtomicU64>),
}

impl SqlList {
    /// `keys`: replacements for the `?` of a keyed statement, drawn uniformly each time.
    pub fn workload(
        list: Vec<SqlStatement>,
        keys: Arc<[String]>,
        commit: Commit,
        seed: u64,
    ) -> Result<ScriptedWorkload<Self>, WorkloadError> {
        if list.is_empty() {
            return Err(WorkloadError::NoStatement);
        }
        let keyed = list.iter().map(|one| matches!(one, SqlStatement::Keyed(_))).collect();
        let statements = list.into_iter().map(|one| statement(one, keys.is_empty()));
        let mut statements = statements.collect::<Result<Vec<_>, _>>()?;
        if commit != Commit::Each {
            statements.push(Statement::text_only("COMMIT"));
        }
        if matches!(commit, Commit::Every(_)) {
            statements.push(Statement::text_only("BEGIN"));
        }
        let script = Self { keyed, keys, commit, total: Total::Endless, length: 0 };
        let (statements, tables) = (statements.into(), Vec::new());
        // The statements are the user's own: what they write is unknown.
        Ok(ScriptedWorkload { name: "sql", statements, tables, writes: None, seed, script })
    }

    pub(crate) fn of_plan(
        spec: &SqlSpec,
        dialect: SqlDialect,
        seed: u64,
    ) -> Result<ScriptedWorkload<Self>, WorkloadError> {
        let SqlParts { statements, create, tables } = spec.parts(dialect)?;
        let commit =
            spec.commit_every.and_then(NonZeroU32::new).map_or(Commit::Each, Commit::Every);
        let list = statements.into_iter().map(SqlStatement::Fixed).collect();
        Ok(Self::workload(list, Arc::new([]), commit, seed)?.with_tables(tables, create, dialect))
    }
}

impl ScriptedWorkload<SqlList> {
    /// Sets the tables of these names, which these statements create, all of them before the first
    /// is filled. Each trial starts with the content that these statements gave each table.
    fn with_tables(mut self, names: Vec<String>, create: Vec<String>, dialect: SqlDialect) -> Self {
        let mut create = Some(create);
        for name in names {
            let table = Table::new(dialect, name, 0, RowSource::Zeros, self.seed);
            self.tables.push(table.with_sql(create.take().unwrap_or_default(), Vec::new()));
        }
        self
    }

    /// Each client's last transaction is shortened to end at its share of this total.
    #[must_use]
    pub fn with_total(mut self, total: u64, clients: u32) -> Self {
        self.script.total = Total::Split { total, clients };
        self
    }

    /// The last transaction that any client starts is shortened to end at this total of all
    /// clients: for one run in which clients have different numbers of transactions. Transactions
    /// after it would be whole ones.
    #[must_use]
    pub fn with_shared_total(mut self, total: u64) -> Self {
        self.script.total = Total::Shared(Arc::new(total.into()));
        self
    }
}

fn statement(one: SqlStatement, no_keys: bool) -> Result<Statement, WorkloadError> {
    let sql = match one {
        SqlStatement::Fixed(sql) => return Ok(Statement::constant(sql)),
        SqlStatement::Keyed(sql) => sql,
    };
    let statement = Statement::new(sql)?;
    let sql = statement.sql().to_owned();
    match statement.param_count() {
        1 if no_keys => Err(WorkloadError::NoKey { sql }),
        1 => Ok(statement),
        count => Err(WorkloadError::NotOneKey { count, sql }),
    }
}

impl Total {
    /// Number of statements in the next transaction of `client`, after `sent` statements of it.
    fn next(&self, client: u32, sent: u64, batch: u32) -> u32 {
        let left = match self {
            Self::Endless => return batch,
            Self::Split { total, clients } => {
                let clients = u64::from((*clients).max(1));
                let share = total / clients + u64::from(u64::from(client) < total % clients);
                share.saturating_sub(sent)
            }
            Self::Shared(left) => {
                let before = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                    Some(left.saturating_sub(batch.into()))
                });
                before.unwrap_or_default()
            }
        };
        // Without statements left, a transaction is requested only if there is no limit.
        if left == 0 { batch } else { u32::try_from(left).unwrap_or(u32::MAX).min(batch) }
    }
}

impl SqlList {
    /// Statements of the list that a client has sent before its current transaction.
    fn sent_before(&self, client: &ClientRandom) -> u64 {
        client.number().wrapping_mul(self.commit.batch().into())
    }
}

impl ClientScript for SqlList {
    fn begin(&mut self, client: &ClientRandom) {
        self.length = self.total.next(client.client, self.sent_before(client), self.commit.batch());
    }

    fn next(&mut self, at: usize, client: &mut ClientRandom, params: &mut Params) -> NextStatement {
        let length = self.keyed.len();
        let begins = usize::from(matches!(self.commit, Commit::Every(_)));
        let Some(at) = at.checked_sub(begins) else {
            return NextStatement { statement: length + 1, is_last: false };
        };
        if at == self.length as usize {
            return NextStatement { statement: length, is_last: true };
        }
        // A transaction's position in the list depends only on its number.
        let sent = self.sent_before(client).wrapping_add(at as u64);
        let statement = (sent % length as u64) as usize;
        if self.keyed[statement] {
            let key = &self.keys[client.stream.below(self.keys.len() as u64) as usize];
            params.push_text(|out| out.extend_from_slice(key.as_bytes()));
        }
        NextStatement { statement, is_last: self.commit == Commit::Each }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{ClientStream, Workload};

    fn fixed(list: &[&str]) -> Vec<SqlStatement> {
        list.iter().map(|sql| SqlStatement::Fixed((*sql).to_owned())).collect()
    }

    fn keys(list: &[&str]) -> Arc<[String]> {
        list.iter().map(|key| (*key).to_owned()).collect()
    }

    /// What a client sends: statements, a key after the colon, `|` after the last one of a
    /// transaction.
    fn sent(list: &ScriptedWorkload<SqlList>, client: u32, transactions: usize) -> Vec<String> {
        let (statements, mut stream, mut params) =
            (list.statements(), list.client(client), Params::default());
        let mut texts = Vec::new();
        for _ in 0..transactions {
            stream.next_transaction();
            loop {
                params.clear();
                let step = stream.next_statement(&mut params);
                let mut text = statements[step.statement].sql().to_owned();
                for value in params.values() {
                    let truetps_driver::Value::Text { start, end } = *value else {
                        panic!("{value:?} is no text")
                    };
                    text += ":";
                    text += std::str::from_utf8(params.text(start, end)).unwrap();
                }
                texts.push(text + if step.is_last { "|" } else { "" });
                if step.is_last {
                    break;
                }
            }
        }
        texts
    }

    fn every(count: u32) -> NonZeroU32 {
        NonZeroU32::new(count).unwrap()
    }

    #[test]
    fn statements_go_round_whatever_the_transactions() {
        let list = |commit| SqlList::workload(fixed(&["a ?", "b"]), keys(&[]), commit, 1).unwrap();
        assert_eq!(sent(&list(Commit::Each), 0, 3), ["a ?|", "b|", "a ?|"]);
        let with_begin = sent(&list(Commit::Every(every(3))), 7, 2);
        assert_eq!(
            with_begin,
            ["BEGIN", "a ?", "b", "a ?", "COMMIT|", "BEGIN", "b", "a ?", "b", "COMMIT|"]
        );
        let without = sent(&list(Commit::EveryWithoutBegin(every(1))), 0, 2);
        assert_eq!(without, ["a ?", "COMMIT|", "b", "COMMIT|"]);
        assert!(
            list(Commit::Each)
                .statements()
                .iter()
                .all(|one| one.param_count() == 0 && !one.is_text_only())
        );
    }

    #[test]
    fn the_last_transaction_is_as_short_as_it_comes_out() {
        let list = || {
            SqlList::workload(fixed(&["a", "b"]), keys(&[]), Commit::EveryWithoutBegin(every(3)), 1)
                .unwrap()
        };
        let split = list().with_total(9, 2);
        assert_eq!(sent(&split, 0, 2), ["a", "b", "a", "COMMIT|", "b", "a", "COMMIT|"]);
        assert_eq!(sent(&split, 1, 2), ["a", "b", "a", "COMMIT|", "b", "COMMIT|"]);
        let shared = list().with_shared_total(7);
        assert_eq!(sent(&shared, 0, 1), ["a", "b", "a", "COMMIT|"]);
        assert_eq!(
            sent(&shared, 1, 2),
            ["a", "b", "a", "COMMIT|", "b", "COMMIT|"],
            "7 statements of both"
        );
        assert_eq!(
            sent(&shared, 0, 1),
            ["a", "b", "a", "COMMIT|"],
            "nothing is started beyond the total"
        );
        let mut again = list().with_shared_total(4).client(0);
        let mut params = Params::default();
        let mut statements = |client: &mut Box<dyn ClientStream>| {
            (1..9).find(|_| client.next_statement(&mut params).is_last).unwrap() - 1
        };
        again.next_transaction();
        assert_eq!(statements(&mut again), 3);
        again.next_transaction();
        assert_eq!(statements(&mut again), 1);
        again.rewind();
        assert_eq!(statements(&mut again), 1, "sent again, it is the same one");
    }

    #[test]
    fn keys_are_drawn_uniformly_and_each_time_anew() {
        let keyed = SqlStatement::Keyed("SELECT '?' WHERE id = ?".to_owned());
        let list =
            SqlList::workload(vec![keyed], keys(&["k1", "it's", "k3"]), Commit::Each, 5).unwrap();
        let texts = sent(&list, 0, 3_000);
        assert_eq!(texts.iter().collect::<BTreeSet<_>>().len(), 3);
        let first = texts.iter().filter(|text| text.ends_with(":k1|")).count();
        assert!((800..1_200).contains(&first), "the standard deviation is 26: {first}");
        assert_ne!(texts, sent(&list, 1, 3_000));
    }

    #[test]
    fn texts_of_a_plan_match_its_server() {
        let spec = SqlSpec {
            sql: vec!["/* group=1 */ UPDATE t SET v = v # 5; x".to_owned()],
            create: vec!["CREATE TABLE t (v INT); DO $$ BEGIN; END $$".to_owned()],
            ..SqlSpec::default()
        };
        let postgres = SqlList::of_plan(&spec, SqlDialect::Postgres, 1).unwrap();
        assert_eq!(sent(&postgres, 0, 2), ["/* group=1 */ UPDATE t SET v = v # 5|", "x|"]);
        assert_eq!(
            postgres.tables()[0].create_sql(),
            ["CREATE TABLE t (v INT)", "DO $$ BEGIN; END $$"]
        );
        let mysql = SqlList::of_plan(&spec, SqlDialect::Mysql, 1).unwrap();
        assert_eq!(sent(&mysql, 0, 1), ["/* group=1 */ UPDATE t SET v = v # 5; x|"]);
        let quote = SqlSpec { sql: vec![r"SELECT '\'".to_owned()], ..spec };
        let error = SqlList::of_plan(&quote, SqlDialect::Mysql, 1).err().unwrap().to_string();
        assert!(error.contains("`workload.sql`: the quote ' is not closed"), "{error}");
    }

    #[test]
    fn wrong_lists_are_named() {
        let error =
            |list, keys| SqlList::workload(list, keys, Commit::Each, 1).err().unwrap().to_string();
        let keyed = |sql: &str| vec![SqlStatement::Keyed(sql.to_owned())];
        assert!(error(Vec::new(), keys(&[])).contains("no statement"));
        assert!(error(keyed("a = ?"), keys(&[])).contains("no key for: a = ?"));
        assert!(error(keyed("a = '?'"), keys(&["k"])).contains("this one has 0"));
        assert!(error(keyed("a = ? AND b = ?"), keys(&["k"])).contains("this one has 2"));
        assert!(error(keyed("a = '"), keys(&["k"])).contains("a quote is not closed"));
    }

    #[test]
    fn all_tables_are_made_before_the_first_is_copied() {
        let list = SqlList::workload(fixed(&["a"]), keys(&[]), Commit::Each, 1).unwrap();
        let create: Vec<_> =
            ["CREATE TABLE a (i INT)", "CREATE TABLE b (i INT)", "INSERT INTO b SELECT 1"]
                .map(str::to_owned)
                .to_vec();
        let names = ["a", "b"].map(str::to_owned).to_vec();
        let tables = list.with_tables(names, create.clone(), SqlDialect::Mysql).tables();
        assert_eq!(tables.iter().map(|table| &*table.name).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((tables[0].create_sql(), tables[1].create_sql()), (&create[..], &[][..]));
    }
}
