//! The workload section of a plan: which statements are sent, and to which tables.

use std::str::FromStr;

use indexmap::IndexMap;
use serde::de::value::Error as ValueError;
use serde::de::{DeserializeOwned, Error, IntoDeserializer};
use serde::{Deserialize, Serialize};

use crate::plan_error::unknown_word;
use crate::{GeneratedTable, Generator, KeyDistribution, SqlSpec};
use truetps_record::Protocol;

/// The section `[workload]`. Only its text tells which keys it may have, so
/// [`Plan::parse`](crate::Plan::parse) reads it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkloadSpec {
    #[serde(flatten)]
    pub kind: WorkloadKind,
    /// Number of tables. If the workload defines its own tables: their number.
    pub tables: u32,
    /// Rows in each table before a trial starts. If the workload defines its own tables: their
    /// mean, rounded up.
    #[serde(with = "crate::whole_number")]
    pub table_rows: u64,
    pub protocol: Protocol,
}

/// Which statements are sent, with the keys that this workload has besides the common ones.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum WorkloadKind {
    Insert,
    BulkInsert(BulkInsertSpec),
    UpdateIndex(UpdateSpec),
    UpdateNonIndex(UpdateSpec),
    DeleteInsert(DeleteInsertSpec),
    HotRow(HotRowSpec),
    ReadWrite(ReadWriteSpec),
    Custom(CustomSpec),
    Sql(SqlSpec),
    Table(TableInsertSpec),
    /// A script's run. No plan may request it: it is in no list of workloads.
    Sysbench(ScriptSpec),
    /// A run of `truetps verify`. No plan may request it.
    Verify(VerifySpec),
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BulkInsertSpec {
    /// Rows in each statement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_per_insert: Option<u32>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct UpdateSpec {
    /// How keys are drawn. Default: uniform.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distribution: Option<KeyDistribution>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DeleteInsertSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distribution: Option<KeyDistribution>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyMode>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HotRowSpec {
    /// Rows that all clients update.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hot_rows: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distribution: Option<KeyDistribution>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReadWriteSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distribution: Option<KeyDistribution>,
    /// How many statements of each kind a transaction has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mix: Option<ReadWriteMix>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CustomSpec {
    /// BEGIN before the statements and COMMIT after them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transaction: Option<bool>,
    /// The statements of a transaction, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub statements: Vec<CustomStatement>,
    /// The tables that it works on.
    #[serde(rename = "table", skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<CustomTable>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TableInsertSpec {
    pub table: GeneratedTable,
    /// Rows in each statement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_per_insert: Option<u32>,
    /// BEGIN, INSERT and COMMIT as three statements, instead of one INSERT in autocommit mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explicit_commit: Option<bool>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScriptSpec {
    /// The script's name as given.
    pub script: String,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VerifySpec {
    /// Where rows were sent: the address of a service, or the INSERT statement.
    pub target: String,
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
        let read = Self::deserialize(text.into_deserializer());
        read.map_err(|_: ValueError| {
            format!("unknown key `{text}` (known: `deleted`, `random`, `auto`)")
        })
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
    /// The mix that sysbench made common: 18 statements between BEGIN and COMMIT, four of which
    /// write.
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
        let mut numbers = toml::Table::try_from(&*self).expect("numbers have a TOML form");
        let Some(written) = numbers.get_mut(name) else {
            return Err(unknown_word("statement", name, &self.counts().map(|(name, _)| name)));
        };
        *written = number.into();
        *self = numbers.try_into().expect("the names match the fields");
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
    /// As the statements write it. Before each trial the table of this name is emptied and
    /// refilled.
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

/// The workload of a script's run.
pub const SCRIPT_WORKLOAD: &str = "sysbench";
const SCRIPT_KEYS: (&str, &[&str]) = (SCRIPT_WORKLOAD, &["script"]);
/// The workload of a run of `truetps verify`.
pub const VERIFY_WORKLOAD: &str = "verify";
const VERIFY_KEYS: (&str, &[&str]) = (VERIFY_WORKLOAD, &["target"]);

/// Each workload that a plan may have, with its keys.
pub(crate) fn all_workload_keys() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    WORKLOAD_KEYS.into_iter().chain([SCRIPT_KEYS, VERIFY_KEYS])
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

/// Those whose statements and tables no flag has.
pub const WORKLOADS_OF_PLANS: [&str; 3] = ["custom", SQL_WORKLOAD, TABLE_WORKLOAD];

/// The part of a plan that is read apart from the rest.
#[derive(Deserialize)]
struct WorkloadSection<S> {
    workload: S,
}

#[derive(Deserialize)]
struct CommonKeys {
    name: Option<String>,
    tables: Option<u32>,
    #[serde(default, with = "crate::whole_number::optional")]
    table_rows: Option<u64>,
    protocol: Option<Protocol>,
}

fn read_section<S: DeserializeOwned>(plan: &str) -> Result<S, toml::de::Error> {
    toml::from_str::<WorkloadSection<S>>(plan).map(|plan| plan.workload)
}

impl WorkloadKind {
    /// The workload with all keys at their defaults.
    pub fn named(name: &str) -> Option<Self> {
        Self::read(name, "[workload]").ok()
    }

    /// The keys of this workload in the text of a plan. Keys of other workloads are ignored.
    fn read(name: &str, plan: &str) -> Result<Self, toml::de::Error> {
        Ok(match name {
            "insert" => Self::Insert,
            "bulk-insert" => Self::BulkInsert(read_section(plan)?),
            "update-index" => Self::UpdateIndex(read_section(plan)?),
            "update-non-index" => Self::UpdateNonIndex(read_section(plan)?),
            "delete-insert" => Self::DeleteInsert(read_section(plan)?),
            "hot-row" => Self::HotRow(read_section(plan)?),
            "read-write" => Self::ReadWrite(read_section(plan)?),
            "custom" => Self::Custom(read_section(plan)?),
            SQL_WORKLOAD => Self::Sql(read_section(plan)?),
            TABLE_WORKLOAD => Self::Table(read_section(plan)?),
            SCRIPT_WORKLOAD => Self::Sysbench(read_section(plan)?),
            VERIFY_WORKLOAD => Self::Verify(read_section(plan)?),
            _ => return Err(toml::de::Error::unknown_variant(name, &WORKLOADS)),
        })
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::BulkInsert(_) => "bulk-insert",
            Self::UpdateIndex(_) => "update-index",
            Self::UpdateNonIndex(_) => "update-non-index",
            Self::DeleteInsert(_) => "delete-insert",
            Self::HotRow(_) => "hot-row",
            Self::ReadWrite(_) => "read-write",
            Self::Custom(_) => "custom",
            Self::Sql(_) => SQL_WORKLOAD,
            Self::Table(_) => TABLE_WORKLOAD,
            Self::Sysbench(_) => SCRIPT_WORKLOAD,
            Self::Verify(_) => VERIFY_WORKLOAD,
        }
    }

    /// Whether the workload reads this key.
    pub(crate) fn uses(&self, key: &str) -> bool {
        all_workload_keys().any(|(name, keys)| name == self.name() && keys.contains(&key))
    }
}

impl WorkloadSpec {
    /// The workload with the common keys at their defaults.
    pub fn new(kind: WorkloadKind) -> Self {
        // The user's own statements without parameters are sent as text: not every server can
        // prepare each of them.
        let protocol =
            if matches!(kind, WorkloadKind::Sql(_)) { Protocol::Text } else { Protocol::Prepared };
        Self { kind, tables: 1, table_rows: 200_000, protocol }
    }

    /// Reads the section of a plan, whose keys have been checked.
    pub(crate) fn read(section: &toml::Table, plan: &str) -> Result<Self, toml::de::Error> {
        let common: CommonKeys = read_section(plan)?;
        let name = common.name.as_deref().or_else(|| implied_name(section)).unwrap_or_default();
        let spec = Self::new(WorkloadKind::read(name, plan)?);
        Ok(Self {
            tables: common.tables.unwrap_or(spec.tables),
            table_rows: common.table_rows.unwrap_or(spec.table_rows),
            protocol: common.protocol.unwrap_or(spec.protocol),
            kind: spec.kind,
        })
    }

    /// The script whose run this records.
    pub fn script(&self) -> Option<&str> {
        if let WorkloadKind::Sysbench(spec) = &self.kind { Some(&spec.script) } else { None }
    }

    /// Number and size of the tables that a workload defines itself: (tables, rows in each). (0, 0)
    /// for a script, whose tables are unknown.
    pub(crate) fn own_tables(&self) -> Option<(u32, u64)> {
        match &self.kind {
            WorkloadKind::HotRow(spec) => Some((1, spec.hot_rows.unwrap_or(1).into())),
            WorkloadKind::Sysbench(_) | WorkloadKind::Verify(_) => Some((0, 0)),
            WorkloadKind::Custom(CustomSpec { tables, .. }) => {
                let rows: u64 = tables.iter().map(|table| table.rows).fold(0, u64::saturating_add);
                Some((tables.len() as u32, rows.div_ceil(tables.len().max(1) as u64)))
            }
            // Only the server knows how many rows the statements leave.
            WorkloadKind::Sql(spec) => Some((spec.tables_of_any(), 0)),
            WorkloadKind::Table(spec) => Some((1, spec.table.rows)),
            _ => None,
        }
    }

    /// Sets `tables` and `table_rows` from the workload's own tables, if it has any.
    pub(crate) fn with_own_tables(mut self) -> Self {
        if let Some((tables, rows)) = self.own_tables() {
            (self.tables, self.table_rows) = (tables, rows);
        }
        self
    }
}
