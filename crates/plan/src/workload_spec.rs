//! The workload section of a plan: which statements are sent, and to which tables.

use std::fmt;
use std::str::FromStr;

use indexmap::IndexMap;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::workload_check::check_sql;
use crate::{Generator, KeyDistribution, PlanError, TableSection};
use truetps_files::{SqlScriptError, created_table, split_sql};
use truetps_record::{Protocol, SqlDialect, near_matches};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadSpec {
    /// One of [`WORKLOADS`], or [`SCRIPT_WORKLOAD`]. Optional if another key implies it.
    #[serde(default)]
    pub name: String,
    /// Number of tables. If the workload defines its own tables: their number.
    #[serde(default = "one")]
    pub tables: u32,
    /// Rows in each table before a trial starts. If the workload defines its own tables: their mean, rounded up.
    #[serde(default = "default_table_rows", with = "crate::whole_number")]
    pub table_rows: u64,
    #[serde(default)]
    pub protocol: Protocol,
    /// How keys are drawn. Default: uniform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distribution: Option<KeyDistribution>,
    /// Rows in each statement of `bulk-insert` and `table`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_per_insert: Option<u32>,
    /// The key that `delete-insert` inserts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyMode>,
    /// Rows that `hot-row` updates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hot_rows: Option<u32>,
    /// How many statements of each kind a transaction of `read-write` has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mix: Option<ReadWriteMix>,
    /// `custom`: BEGIN before the statements and COMMIT after them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction: Option<bool>,
    /// `custom`: the statements of a transaction, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statements: Vec<CustomStatement>,
    /// `custom`: the tables that it works on. `table`: the generated one.
    #[serde(default, skip_serializing_if = "TableSection::is_empty")]
    pub table: TableSection,
    /// `table`: BEGIN, INSERT and COMMIT as three statements, instead of one INSERT in autocommit mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explicit_commit: Option<bool>,
    /// `sql`: texts of one or more statements, sent in order, repeatedly.
    #[serde(default, deserialize_with = "one_or_more", skip_serializing_if = "Vec::is_empty")]
    pub sql: Vec<String>,
    /// `sql`: texts that create and fill the tables, once.
    #[serde(default, deserialize_with = "one_or_more", skip_serializing_if = "Vec::is_empty")]
    pub create: Vec<String>,
    /// `sql`: statements between BEGIN and COMMIT. Default: each statement is its own transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_every: Option<u32>,
    /// Of [`SCRIPT_WORKLOAD`]: the script's name as given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
}

/// The key of the row that `delete-insert` inserts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyMode {
    /// The key that was just deleted: the new row goes where the old one was.
    #[default]
    Deleted,
    /// A random key within the table's range: the new row goes to any page.
    Random,
    /// From auto-increment: new rows go to the table's end.
    Auto,
}

impl FromStr for KeyMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "deleted" => Ok(Self::Deleted),
            "random" => Ok(Self::Random),
            "auto" => Ok(Self::Auto),
            _ => Err(format!("unknown key `{text}` (known: `deleted`, `random`, `auto`)")),
        }
    }
}

/// Counts of statements in one transaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReadWriteMix {
    pub point_selects: u32,
    pub simple_ranges: u32,
    pub sum_ranges: u32,
    pub order_ranges: u32,
    pub distinct_ranges: u32,
    /// Keys that each range spans.
    pub range_size: u32,
    pub index_updates: u32,
    pub non_index_updates: u32,
    /// Each is a DELETE and an INSERT of the same key.
    pub delete_inserts: u32,
}

impl Default for ReadWriteMix {
    /// The mix that sysbench made common: 18 statements between BEGIN and COMMIT, four of which write.
    fn default() -> Self {
        Self {
            point_selects: 10,
            simple_ranges: 1,
            sum_ranges: 1,
            order_ranges: 1,
            distinct_ranges: 1,
            range_size: 100,
            index_updates: 1,
            non_index_updates: 1,
            delete_inserts: 1,
        }
    }
}

impl ReadWriteMix {
    /// Changes one number, by its name in a plan.
    pub fn set(&mut self, name: &str, number: u32) -> Result<(), String> {
        let field = match name {
            "point_selects" => &mut self.point_selects,
            "simple_ranges" => &mut self.simple_ranges,
            "sum_ranges" => &mut self.sum_ranges,
            "order_ranges" => &mut self.order_ranges,
            "distinct_ranges" => &mut self.distinct_ranges,
            "range_size" => &mut self.range_size,
            "index_updates" => &mut self.index_updates,
            "non_index_updates" => &mut self.non_index_updates,
            "delete_inserts" => &mut self.delete_inserts,
            _ => {
                let known: Vec<_> = self.counts().iter().map(|(name, _)| (*name).to_owned()).collect();
                let near = near_matches(name, known.iter().map(String::as_str));
                return Err(format!(
                    "unknown statement `{name}`{}",
                    truetps_record::did_you_mean_or(&near, "known", &known)
                ));
            }
        };
        *field = number;
        Ok(())
    }

    /// Each count with its name in a plan, without `range_size`.
    pub fn counts(&self) -> [(&'static str, u32); 8] {
        [
            ("point_selects", self.point_selects),
            ("simple_ranges", self.simple_ranges),
            ("sum_ranges", self.sum_ranges),
            ("order_ranges", self.order_ranges),
            ("distinct_ranges", self.distinct_ranges),
            ("index_updates", self.index_updates),
            ("non_index_updates", self.non_index_updates),
            ("delete_inserts", self.delete_inserts),
        ]
    }
}

/// One statement of `custom`: SQL with `?` for each parameter, and a generator for each `?`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CustomStatement {
    pub sql: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub params: Vec<Generator>,
}

/// One table of `custom`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CustomTable {
    /// As the statements write it. Before each trial the table of this name is emptied and refilled.
    pub name: String,
    /// SQL that creates the table, its indexes and anything else that it needs.
    pub create: Vec<String>,
    /// Number of rows to fill it with.
    #[serde(default, with = "crate::whole_number")]
    pub rows: u64,
    /// The columns of these rows.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub columns: IndexMap<String, Generator>,
    /// SQL that is run after each fill of the table.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after_load: Vec<String>,
}

/// A text, or a list of texts.
fn one_or_more<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    struct SqlTexts;

    impl<'de> Visitor<'de> for SqlTexts {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text of SQL, or a list of such texts")
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Vec<String>, E> {
            Ok(vec![text.to_owned()])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Vec<String>, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(list))
        }
    }

    deserializer.deserialize_any(SqlTexts)
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

/// The workloads, and the section's keys that each has besides `name` and `protocol`.
pub(crate) const WORKLOAD_KEYS: [(&str, &[&str]); 10] = [
    ("insert", &["tables", "table_rows"]),
    ("bulk-insert", &["tables", "table_rows", "rows_per_insert"]),
    ("update-index", &["tables", "table_rows", "distribution"]),
    ("update-non-index", &["tables", "table_rows", "distribution"]),
    ("delete-insert", &["tables", "table_rows", "distribution", "key"]),
    ("hot-row", &["hot_rows", "distribution"]),
    ("read-write", &["tables", "table_rows", "distribution", "mix"]),
    ("custom", &["transaction", "statements", "table"]),
    (SQL_WORKLOAD, &["sql", "create", "commit_every"]),
    (TABLE_WORKLOAD, &["table", "rows_per_insert", "explicit_commit"]),
];

pub(crate) const SQL_WORKLOAD: &str = "sql";
pub(crate) const TABLE_WORKLOAD: &str = "table";

/// The workload of a section without a `name`.
pub(crate) fn implied_name(section: &toml::Table) -> Option<&'static str> {
    if section.contains_key("sql") {
        return Some(SQL_WORKLOAD);
    }
    section.get("table").is_some_and(toml::Value::is_table).then_some(TABLE_WORKLOAD)
}

/// Default protocol. The user's own statements without parameters are sent as text: not every server can prepare each
/// of them.
fn default_protocol(name: &str) -> Protocol {
    if name == SQL_WORKLOAD { Protocol::Text } else { Protocol::Prepared }
}

/// The workload of a script's run. No plan may name it: it is in no list of workloads.
pub const SCRIPT_WORKLOAD: &str = "sysbench";
const SCRIPT_KEYS: (&str, &[&str]) = (SCRIPT_WORKLOAD, &["script"]);

/// Each workload that a plan may have, with its keys.
pub(crate) fn all_workload_keys() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    WORKLOAD_KEYS.into_iter().chain([SCRIPT_KEYS])
}

/// Names of the workloads.
pub const WORKLOADS: [&str; WORKLOAD_KEYS.len()] = {
    let mut names = [""; WORKLOAD_KEYS.len()];
    let mut n = 0;
    while n < names.len() {
        names[n] = WORKLOAD_KEYS[n].0;
        n += 1;
    }
    names
};

impl WorkloadSpec {
    /// A workload with all keys at their defaults.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            tables: one(),
            table_rows: default_table_rows(),
            protocol: default_protocol(name),
            distribution: None,
            rows_per_insert: None,
            key: None,
            hot_rows: None,
            mix: None,
            transaction: None,
            statements: Vec::new(),
            table: TableSection::default(),
            explicit_commit: None,
            sql: Vec::new(),
            create: Vec::new(),
            commit_every: None,
            script: None,
        }
    }

    pub(crate) fn is_script(&self) -> bool {
        self.name == SCRIPT_WORKLOAD
    }

    /// Whether the workload reads this key.
    pub(crate) fn uses(&self, key: &str) -> bool {
        all_workload_keys().any(|(name, keys)| name == self.name && keys.contains(&key))
    }

    /// Number and size of the tables that a workload defines itself: (tables, rows in each). (0, 0) for a script, whose
    /// tables are unknown.
    fn own_tables(&self) -> Option<(u32, u64)> {
        match self.name.as_str() {
            "hot-row" => Some((1, self.hot_rows.unwrap_or(1).into())),
            SCRIPT_WORKLOAD => Some((0, 0)),
            "custom" => {
                let tables = self.table.custom();
                let rows: u64 = tables.iter().map(|table| table.rows).fold(0, u64::saturating_add);
                Some((tables.len() as u32, rows.div_ceil(tables.len().max(1) as u64)))
            }
            // Only the server knows how many rows the statements leave.
            SQL_WORKLOAD => Some((self.tables_of_sql(), 0)),
            TABLE_WORKLOAD => Some((1, self.table.generated().map_or(0, |table| table.rows))),
            _ => None,
        }
    }

    /// The statements of `sql` for servers of this dialect, checked.
    pub fn sql_parts(&self, dialect: SqlDialect) -> Result<SqlParts, PlanError> {
        let parts = self.split(dialect)?;
        check_sql(&parts, self.commit_every, dialect)?;
        Ok(parts)
    }

    fn split(&self, dialect: SqlDialect) -> Result<SqlParts, PlanError> {
        let split = |key: &str, texts: &[String]| {
            let each = texts.iter().map(|text| split_sql(text, ";", dialect));
            each.collect::<Result<Vec<_>, _>>().map(|lists| lists.concat()).map_err(|error| wrong(key, &error))
        };
        let (statements, create) = (split("sql", &self.sql)?, split("create", &self.create)?);
        let names = create.iter().filter_map(|sql| created_table(sql, dialect).transpose());
        let tables = names.collect::<Result<_, _>>().map_err(|error| wrong("create", &error))?;
        Ok(SqlParts { statements, create, tables })
    }

    /// The plan does not name the dialect: any dialect in which the text can be parsed.
    fn tables_of_sql(&self) -> u32 {
        let parts = self.split(SqlDialect::Mysql).or_else(|_| self.split(SqlDialect::Postgres));
        parts.map_or(0, |parts| parts.tables.len() as u32)
    }

    /// Fills in keys that the section omits: the name and the protocol.
    pub(crate) fn resolve(&mut self, section: &toml::Table) {
        if self.name.is_empty() {
            implied_name(section).unwrap_or_default().clone_into(&mut self.name);
        }
        if !section.contains_key("protocol") {
            self.protocol = default_protocol(&self.name);
        }
    }

    /// Sets `tables` and `table_rows` from the workload's own tables, if it has any.
    pub(crate) fn with_own_tables(mut self) -> Self {
        if let Some((tables, rows)) = self.own_tables() {
            (self.tables, self.table_rows) = (tables, rows);
        }
        self
    }

    /// Removes `tables` and `table_rows` from the section's TOML form if they only repeat the workload's own tables, or
    /// have no meaning: a plan that names them for such a workload is refused.
    pub(crate) fn omit_unused(&self, section: &mut toml::Table) {
        let Some((tables, rows)) = self.own_tables() else { return };
        if self.tables == tables || self.tables == one() {
            section.remove("tables");
        }
        if self.table_rows == rows || self.table_rows == default_table_rows() {
            section.remove("table_rows");
        }
    }
}

fn wrong(key: &str, error: &SqlScriptError) -> PlanError {
    PlanError::Value { key: format!("workload.{key}"), problem: error.to_string() }
}

fn one() -> u32 {
    1
}

fn default_table_rows() -> u64 {
    200_000
}
