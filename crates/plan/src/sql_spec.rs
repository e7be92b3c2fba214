//! The workload `sql`: the user's own statements.

use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeSet;

use crate::PlanError;
use crate::plan_error::wrong_value;
use crate::ranges::check_range;
use crate::table_spec::{TABLES_MAX, check_table_name};
use truetps_files::{SqlScriptError, created_table, first_word, split_sql};
use truetps_record::SqlDialect;

/// Statements that `sql` goes through: each client keeps all of them at the server, where they are
/// prepared.
const SQL_STATEMENTS_MAX: usize = 10_000;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SqlSpec {
    /// Texts of one or more statements, sent in order, repeatedly.
    #[serde(deserialize_with = "one_or_more", skip_serializing_if = "Vec::is_empty")]
    pub sql: Vec<String>,
    /// Texts that create and fill the tables, once.
    #[serde(deserialize_with = "one_or_more", skip_serializing_if = "Vec::is_empty")]
    pub create: Vec<String>,
    /// Statements between BEGIN and COMMIT. Default: each statement is its own transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit_every: Option<u32>,
}

/// A text, or a list of texts.
fn one_or_more<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a text of SQL, or a list of such texts")]
    enum SqlTexts {
        One(String),
        More(Vec<String>),
    }

    SqlTexts::deserialize(deserializer).map(|texts| match texts {
        SqlTexts::One(text) => vec![text],
        SqlTexts::More(texts) => texts,
    })
}

/// The parts of the workload `sql`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlParts {
    /// Statements that clients send.
    pub statements: Vec<String>,
    /// Statements that create and fill the tables.
    pub create: Vec<String>,
    /// Names of the tables that `create` makes, in order.
    pub tables: Vec<String>,
}

impl SqlSpec {
    /// The statements for servers of this dialect, checked.
    pub fn parts(&self, dialect: SqlDialect) -> Result<SqlParts, PlanError> {
        let parts = self.split(dialect)?;
        check_sql(&parts, self.commit_every, dialect)?;
        Ok(parts)
    }

    fn split(&self, dialect: SqlDialect) -> Result<SqlParts, PlanError> {
        let statements = split_texts("sql", &self.sql, dialect)?;
        let create = split_texts("create", &self.create, dialect)?;
        let names = create.iter().filter_map(|sql| created_table(sql, dialect).transpose());
        let tables =
            names.collect::<Result<_, _>>().map_err(|error| wrong_sql("create", &error))?;
        Ok(SqlParts { statements, create, tables })
    }

    /// The plan does not name the dialect: any dialect in which the text can be parsed.
    pub(crate) fn tables_of_any(&self) -> u32 {
        let parts = self.split(SqlDialect::Mysql).or_else(|_| self.split(SqlDialect::Postgres));
        parts.map_or(0, |parts| parts.tables.len() as u32)
    }
}

fn split_texts(key: &str, texts: &[String], dialect: SqlDialect) -> Result<Vec<String>, PlanError> {
    let each = texts.iter().map(|text| split_sql(text, ";", dialect));
    let lists: Result<Vec<_>, _> = each.collect();
    lists.map(|lists| lists.concat()).map_err(|error| wrong_sql(key, &error))
}

fn wrong_sql(key: &str, error: &SqlScriptError) -> PlanError {
    wrong_value(format!("workload.{key}"), error.to_string())
}

fn check_sql(
    parts: &SqlParts,
    commit_every: Option<u32>,
    dialect: SqlDialect,
) -> Result<(), PlanError> {
    let SqlParts { statements, tables, .. } = parts;
    if !(1..=SQL_STATEMENTS_MAX).contains(&statements.len()) {
        let problem = format!(
            "has {} statements; a plan with 1 to {SQL_STATEMENTS_MAX} is needed: `sql = \"UPDATE \
             …\"`",
            statements.len()
        );
        return Err(wrong_value("workload.sql", problem));
    }
    if let Some(sql) = statements.iter().find(|sql| {
        matches!(&*first_word(sql, dialect), "BEGIN" | "START" | "COMMIT" | "END" | "ROLLBACK")
    }) {
        let problem = format!(
            "`{sql}` is not for a statement: each is a transaction by itself, or, with \
             `commit_every = N`, each N of them"
        );
        return Err(wrong_value("workload.sql", problem));
    }
    check_range("workload.commit_every", commit_every.unwrap_or(1), 1..=SQL_STATEMENTS_MAX as u32)?;
    if !(1..=TABLES_MAX).contains(&tables.len()) {
        let problem = format!(
            "makes {} tables; 1 to {TABLES_MAX} are needed: `create = \"CREATE TABLE …\"` for each \
             that `sql` works on",
            tables.len()
        );
        return Err(wrong_value("workload.create", problem));
    }
    let mut names = BTreeSet::new();
    for table in tables {
        check_table_name(&format!("workload.create: table `{table}`"), table)?;
        if !names.insert(table.to_lowercase()) {
            return Err(wrong_value("workload.create", format!("makes the table `{table}` twice")));
        }
    }
    Ok(())
}
