//! `custom`: statements and tables from the plan.

use std::num::NonZeroU32;
use std::sync::Arc;

use truetps_driver::{Params, Statement};
use truetps_plan::{CustomSpec, CustomStatement, CustomTable};
use truetps_record::SqlDialect;

use crate::client_random::ClientRandom;
use crate::generate::{Generators, RepeatedValue, RowPosition};
use crate::scripted::{ClientScript, ScriptedWorkload};
use crate::table::{RowSource, Table};
use crate::{Commit, NextStatement, WorkloadError};

#[derive(Clone)]
pub(crate) struct Custom {
    /// Values of each statement, in the order in which a transaction sends them.
    values: Arc<[Generators]>,
    /// Values that later statements of the transaction use again.
    kept: Vec<RepeatedValue>,
}

impl Custom {
    pub(crate) fn workload(
        spec: &CustomSpec,
        dialect: SqlDialect,
        seed: u64,
    ) -> Result<ScriptedWorkload<Self>, WorkloadError> {
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
    ) -> Result<ScriptedWorkload<Self>, WorkloadError> {
        let (mut statements, mut values, mut names) = (Vec::new(), Vec::new(), Vec::new());
        for (n, custom) in sent.iter().enumerate() {
            statements.push(parse(n, custom)?);
            values.push(Generators::new(custom.params.iter(), &mut names));
        }
        if matches!(commit, Commit::Every(_)) {
            statements.insert(0, Statement::text_only("BEGIN"));
            values.insert(0, Generators::default());
        }
        if commit != Commit::Each {
            statements.push(Statement::text_only("COMMIT"));
            values.push(Generators::default());
        }
        let tables = (1..)
            .zip(tables)
            .map(|(number, custom)| table(number, custom, dialect, seed))
            .collect();
        let script = Self { values: values.into(), kept: Vec::new() };
        // The statements are the user's own: what they write is unknown.
        Ok(ScriptedWorkload {
            name,
            statements: statements.into(),
            tables,
            writes: None,
            seed,
            script,
        })
    }
}

/// A statement, with as many generators as it has parameters.
fn parse(n: usize, custom: &CustomStatement) -> Result<Statement, WorkloadError> {
    let statement =
        Statement::new(custom.sql.trim()).map_err(|error| refused(n, error.to_string()))?;
    let (needed, given) = (statement.param_count(), custom.params.len());
    if needed != given {
        let problem = format!("{needed} `?` and {given} `params` in: {}", statement.sql());
        return Err(refused(n, problem));
    }
    let first =
        statement.sql().split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    let problem = match first.to_ascii_uppercase().as_str() {
        "" => Some("a statement begins with a word".to_owned()),
        "BEGIN" | "START" | "COMMIT" | "END" | "ROLLBACK" => Some(format!(
            "`{first}` is not for a statement: with `transaction = true` each transaction has \
             BEGIN and COMMIT"
        )),
        _ => None,
    };
    problem.map_or(Ok(statement), |problem| Err(refused(n, problem)))
}

fn refused(n: usize, problem: String) -> WorkloadError {
    WorkloadError::Sql { key: format!("workload.statements[{n}]"), problem }
}

fn table(number: u64, custom: &CustomTable, dialect: SqlDialect, seed: u64) -> Table {
    let generators = Generators::new(custom.columns.values(), &mut Vec::new())
        .with_columns(custom.columns.keys());
    let source = RowSource::Generated(Arc::new(generators));
    let table = Table::new(dialect, custom.name.clone(), custom.rows, source, seed ^ number << 32);
    table.with_sql(custom.create.clone(), custom.after_load.clone())
}

impl ClientScript for Custom {
    fn next(&mut self, at: usize, client: &mut ClientRandom, params: &mut Params) -> NextStatement {
        let place = RowPosition::of_transaction(client.client, client.number());
        self.values[at].put(place, &mut client.stream, params, &mut self.kept);
        NextStatement { statement: at, is_last: at + 1 == self.values.len() }
    }
}
