//! The generated table of the workload `table`.

use serde::{Deserialize, Serialize};

use crate::PlanError;
use crate::plan_error::wrong_value;
use crate::ranges::check_range;

pub(crate) const ROWS_PER_INSERT_MAX: u32 = 10_000;
pub(crate) const TABLE_ROWS_MAX: u64 = 1_000_000_000;
pub(crate) const TABLES_MAX: usize = 1_000;
/// PostgreSQL cuts names at 63 characters, and pristine copies need nine more than the table's own.
const TABLE_NAME_MAX: usize = 54;

/// A table by the number of its columns of each type: the table of mtls-perf-bench, and a few types
/// more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GeneratedTable {
    pub name: String,
    /// Rows before each trial.
    #[serde(with = "crate::whole_number")]
    pub rows: u64,
    /// A column `id` that counts up, as the primary key.
    pub auto_primary_key: bool,
    pub ints: u32,
    pub varchars: u32,
    pub floats: u32,
    pub doubles: u32,
    pub decimals: u32,
    pub texts: u32,
    pub bigints: u32,
    pub datetimes: u32,
    pub blobs: u32,
    pub varchar_length: u32,
    /// Characters of a text and bytes of a blob. Where the plan is silent: [`VALUE_LENGTH`], as far
    /// as that fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_length: Option<u32>,
    pub decimal_precision: u32,
    pub decimal_scale: u32,
}

/// Its keys, for near matches.
pub(crate) const GENERATED_TABLE_KEYS: [&str; 16] = [
    "name",
    "rows",
    "auto_primary_key",
    "ints",
    "varchars",
    "floats",
    "doubles",
    "decimals",
    "texts",
    "bigints",
    "datetimes",
    "blobs",
    "varchar_length",
    "value_length",
    "decimal_precision",
    "decimal_scale",
];

/// Default length of texts, the same as in mtls-perf-bench.
pub const VALUE_LENGTH: u32 = 64;
/// InnoDB takes 1,017 columns, and the key is one of them.
const COLUMNS_MAX: u64 = 1_000;
/// What a statement of every server takes.
const PARAMS_MAX: u64 = 65_535;
/// A row of MySQL has at most 65,535 bytes, and a character up to four.
const VARCHAR_LENGTH_MAX: u32 = 16_383;
/// What a TEXT or BLOB column of MySQL holds.
const VALUE_LENGTH_MAX: u32 = 65_535;
const PRECISION_MAX: u32 = 65;
const SCALE_MAX: u32 = 30;

impl Default for GeneratedTable {
    fn default() -> Self {
        Self {
            name: "t".to_owned(),
            rows: 0,
            auto_primary_key: true,
            ints: 0,
            varchars: 0,
            floats: 0,
            doubles: 0,
            decimals: 0,
            texts: 0,
            bigints: 0,
            datetimes: 0,
            blobs: 0,
            varchar_length: 128,
            value_length: None,
            decimal_precision: 12,
            decimal_scale: 2,
        }
    }
}

impl GeneratedTable {
    /// Columns that an INSERT fills: all but `id`.
    pub fn value_columns(&self) -> u64 {
        [
            self.ints,
            self.varchars,
            self.floats,
            self.doubles,
            self.decimals,
            self.texts,
            self.bigints,
            self.datetimes,
            self.blobs,
        ]
        .into_iter()
        .map(u64::from)
        .sum()
    }

    /// Whether such a table is possible, with INSERTs of so many rows. The last word of an error's
    /// key is the name of the field.
    pub fn check(&self, rows_per_insert: u32) -> Result<(), PlanError> {
        check_range("workload.rows_per_insert", rows_per_insert, 1..=ROWS_PER_INSERT_MAX)?;
        check_table_name("workload.table.name", &self.name)?;
        let columns = self.value_columns();
        if columns == 0 {
            let problem = "has no column: say how many of each type, as in `table = { ints = 4, \
                           varchars = 2 }`";
            return Err(wrong_value("workload.table", problem));
        }
        if columns > COLUMNS_MAX {
            return Err(wrong_value(
                "workload.table",
                format!("{columns} columns are more than {COLUMNS_MAX}"),
            ));
        }
        check_range("workload.table.rows", self.rows, 0..=TABLE_ROWS_MAX)?;
        check_range("workload.table.varchar_length", self.varchar_length, 1..=VARCHAR_LENGTH_MAX)?;
        check_range("workload.table.decimal_precision", self.decimal_precision, 1..=PRECISION_MAX)?;
        let scale_max = SCALE_MAX.min(self.decimal_precision);
        check_range("workload.table.decimal_scale", self.decimal_scale, 0..=scale_max)?;
        let length_max = if self.varchars > 0 { self.varchar_length } else { VALUE_LENGTH_MAX };
        check_range("workload.table.value_length", self.value_length.unwrap_or(1), 1..=length_max)?;
        self.check_values("workload.rows_per_insert", rows_per_insert)
    }

    /// Whether one statement takes the values of so many rows; `key` has their number.
    pub(crate) fn check_values(&self, key: &str, rows_per_insert: u32) -> Result<(), PlanError> {
        let columns = self.value_columns();
        if columns * u64::from(rows_per_insert) > PARAMS_MAX {
            let problem = format!(
                "{rows_per_insert} rows of {columns} values are more than {PARAMS_MAX} values"
            );
            return Err(wrong_value(key, problem));
        }
        Ok(())
    }
}

/// Tables are emptied and copied by their name as it stands, without quotes.
pub(crate) fn check_table_name(key: &str, name: &str) -> Result<(), PlanError> {
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !starts_well || name.len() > TABLE_NAME_MAX || !is_plain {
        return Err(wrong_value(
            key,
            format!("a table's name is 1 to {TABLE_NAME_MAX} letters, digits and `_`"),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_ends_can_ask_whether_a_table_can_be() {
        let ints = GeneratedTable { ints: 1, ..GeneratedTable::default() };
        assert!(ints.check(1).is_ok() && ints.check(10_000).is_ok());
        let check = |table: GeneratedTable, rows, key: &str| match table.check(rows) {
            Err(PlanError::Value { key: found, .. }) => {
                assert_eq!(found.path().rsplit('.').next(), Some(key));
            }
            other => panic!("{key}: {other:?}"),
        };
        check(ints.clone(), 0, "rows_per_insert");
        check(ints.clone(), 10_001, "rows_per_insert");
        check(GeneratedTable { ints: u32::MAX, blobs: u32::MAX, ..ints.clone() }, 1, "table");
        check(GeneratedTable { ints: 0, ..ints.clone() }, 1, "table");
        check(GeneratedTable { name: "a b".to_owned(), ..ints.clone() }, 1, "name");
        check(GeneratedTable { varchar_length: 0, ..ints.clone() }, 1, "varchar_length");
        check(GeneratedTable { value_length: Some(u32::MAX), ..ints.clone() }, 1, "value_length");
        check(
            GeneratedTable { decimal_precision: 2, decimal_scale: 3, ..ints.clone() },
            1,
            "decimal_scale",
        );
        check(GeneratedTable { rows: u64::MAX, ..ints }, 1, "rows");
    }

    #[test]
    fn the_keys_match_the_structure() {
        let whole = GeneratedTable { value_length: Some(1), ..GeneratedTable::default() };
        let table = toml::Table::try_from(whole).unwrap();
        let mut known = GENERATED_TABLE_KEYS;
        known.sort_unstable();
        let mut keys: Vec<_> = table.keys().map(String::as_str).collect();
        keys.sort_unstable();
        assert_eq!(keys, known);
    }
}
