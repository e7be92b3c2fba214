//! `custom`: statements and tables from the plan.

use std::num::NonZeroU32;
use std::sync::Arc;

use truetps_driver::{Params, Statement};
use truetps_plan::{CustomSpec, CustomStatement, CustomTable};
use truetps_record::SqlDialect;

use crate::client_random::ClientRandom;
use crate::generate::{Generators, RepeatedValue, RowPosition};
use crate::table::{RowSource, Table};
use crate::write::Write;
use crate::{ClientStream, Commit, NextStatement, Workload, WorkloadError};

pub(crate) struct Custom {
    name: &'static str,
    /// Values of each statement, in the order in which a transaction sends them.
    script: Arc<[Generators]>,
    statements: Arc<[Statement]>,
    tables: Vec<Table>,
    /// What all statements except BEGIN and COMMIT write. `None`: they are the user's own.
    write: Option<Write>,
    seed: u64,
}

impl Custom {
    pub(crate) fn new(spec: &CustomSpec, dialect: SqlDialect, seed: u64) -> Result<Self, WorkloadError> {
        let is_transaction = spec.transaction.unwrap_or(spec.statements.len() > 1);
        let commit = if is_transaction { Commit::Every(NonZeroU32::MIN) } else { Commit::Each };
        Self::of_parts("custom", &spec.statements, &spec.tables, commit, dialect, seed)
    }

    /// `commit`: all statements together are one transaction.
    pub(crate) fn of_parts(
        name: &'static str,
        sent: &[CustomStatement],
        tables: &[CustomTable],
        commit: Commit,
        dialect: SqlDialect,
        seed: u64,
    ) -> Result<Self, WorkloadError> {
        let (mut statements, mut script, mut names) = (Vec::new(), Vec::new(), Vec::new());
        for (n, custom) in sent.iter().enumerate() {
            statements.push(parse(n, custom)?);
            script.push(Generators::new(custom.params.iter(), &mut names));
        }
        if matches!(commit, Commit::Every(_)) {
            statements.insert(0, Statement::text_only("BEGIN"));
            script.insert(0, Generators::default());
        }
        if commit != Commit::Each {
            statements.push(Statement::text_only("COMMIT"));
            script.push(Generators::default());
        }
        let tables = (1..).zip(tables).map(|(number, custom)| table(number, custom, dialect, seed)).collect();
        Ok(Self { name, script: script.into(), statements: statements.into(), tables, write: None, seed })
    }
}

impl Custom {
    /// Sets the known write of its statements, and the bytes of a row's columns.
    pub(crate) fn with_write(mut self, write: Write, column_bytes: u64) -> Self {
        self.write = Some(write);
        self.tables = self.tables.into_iter().map(|table| table.with_column_bytes(column_bytes)).collect();
        self
    }
}

/// A statement, with as many generators as it has parameters.
fn parse(n: usize, custom: &CustomStatement) -> Result<Statement, WorkloadError> {
    let key = || format!("workload.statements[{n}]");
    let statement = Statement::new(custom.sql.trim())
        .map_err(|error| WorkloadError::Sql { key: key(), problem: error.to_string() })?;
    let (needed, given) = (statement.param_count(), custom.params.len());
    if needed != given {
        let problem = format!("{needed} `?` and {given} `params` in: {}", statement.sql());
        return Err(WorkloadError::Sql { key: key(), problem });
    }
    let first = statement.sql().split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    let problem = match first.to_ascii_uppercase().as_str() {
        "" => Some("a statement begins with a word".to_owned()),
        "BEGIN" | "START" | "COMMIT" | "END" | "ROLLBACK" => Some(format!(
            "`{first}` is not for a statement: with `transaction = true` each transaction has BEGIN and COMMIT"
        )),
        _ => None,
    };
    problem.map_or(Ok(statement), |problem| Err(WorkloadError::Sql { key: key(), problem }))
}

fn table(number: u64, custom: &CustomTable, dialect: SqlDialect, seed: u64) -> Table {
    let generators = Generators::new(custom.columns.values(), &mut Vec::new()).with_columns(custom.columns.keys());
    let source = RowSource::Generated(Arc::new(generators));
    let table = Table::new(dialect, custom.name.clone(), custom.rows, source, seed ^ number << 32);
    table.with_sql(custom.create.clone(), custom.after_load.clone())
}

impl Workload for Custom {
    fn name(&self) -> &'static str {
        self.name
    }

    fn statements(&self) -> Arc<[Statement]> {
        Arc::clone(&self.statements)
    }

    fn client(&self, client: u32) -> Box<dyn ClientStream> {
        Box::new(CustomClient {
            random: ClientRandom::new(self.seed, client),
            client,
            script: Arc::clone(&self.script),
            at: 0,
            kept: Vec::new(),
        })
    }

    fn tables(&self) -> Vec<Table> {
        self.tables.clone()
    }

    fn writes(&self) -> Option<Vec<Option<Write>>> {
        let write = self.write?;
        Some(self.statements.iter().map(|statement| (!statement.is_text_only()).then_some(write)).collect())
    }
}

struct CustomClient {
    random: ClientRandom,
    client: u32,
    script: Arc<[Generators]>,
    at: usize,
    /// Values that later statements of the transaction use again.
    kept: Vec<RepeatedValue>,
}

impl ClientStream for CustomClient {
    fn next_transaction(&mut self) {
        self.random.next_transaction();
        self.at = 0;
    }

    fn next_statement(&mut self, params: &mut Params) -> NextStatement {
        let statement = self.at;
        self.at += 1;
        let place = RowPosition::of_transaction(self.client, self.random.number());
        self.script[statement].put(place, &mut self.random.stream, params, &mut self.kept);
        NextStatement { statement, is_last: self.at == self.script.len() }
    }

    fn rewind(&mut self) {
        self.random.rewind();
        self.at = 0;
    }
}
