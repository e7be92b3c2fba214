//! Factors of the workload: neither load factors nor settings of the server. Each is also a key of
//! `[workload]`.

use crate::plan_error::wrong_value;
use crate::ranges::check_whole;
use crate::table_spec::{ROWS_PER_INSERT_MAX, TABLE_ROWS_MAX};
use crate::workload_check::{HOT_ROWS_MAX, unused_key};
use crate::{KeyMode, PlanError, WorkloadKind, WorkloadSpec};
use truetps_record::{HOT_ROWS, KEY, ROWS_PER_INSERT, SettingValue, TABLE_ROWS};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkloadFactor {
    /// How many rows all clients of `hot-row` update.
    HotRows,
    /// The key of the row that `delete-insert` inserts.
    Key,
    /// The size of each table.
    TableRows,
    /// The rows of each INSERT of `bulk-insert` and `table`.
    RowsPerInsert,
}

impl WorkloadFactor {
    pub(crate) const ALL: [Self; 4] =
        [Self::HotRows, Self::Key, Self::TableRows, Self::RowsPerInsert];

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|factor| factor.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::HotRows => HOT_ROWS,
            Self::Key => KEY,
            Self::TableRows => TABLE_ROWS,
            Self::RowsPerInsert => ROWS_PER_INSERT,
        }
    }

    /// Whether `[workload]` sets it as well. A plan always has a number of rows, which the factor
    /// replaces.
    fn is_fixed(self, spec: &WorkloadSpec) -> bool {
        match (self, &spec.kind) {
            (Self::HotRows, WorkloadKind::HotRow(spec)) => spec.hot_rows.is_some(),
            (Self::Key, WorkloadKind::DeleteInsert(spec)) => spec.key.is_some(),
            (Self::RowsPerInsert, WorkloadKind::BulkInsert(spec)) => spec.rows_per_insert.is_some(),
            (Self::RowsPerInsert, WorkloadKind::Table(spec)) => spec.rows_per_insert.is_some(),
            _ => false,
        }
    }

    /// Sets the workload to this level. An invalid level changes nothing.
    pub(crate) fn put(self, level: &SettingValue, spec: &mut WorkloadSpec) {
        match (self, &mut spec.kind) {
            (Self::TableRows, _) => spec.table_rows = table_rows(level).unwrap_or(spec.table_rows),
            (Self::HotRows, WorkloadKind::HotRow(spec)) => {
                spec.hot_rows = rows(level).or(spec.hot_rows);
            }
            (Self::RowsPerInsert, WorkloadKind::BulkInsert(spec)) => {
                spec.rows_per_insert = rows(level).or(spec.rows_per_insert);
            }
            (Self::RowsPerInsert, WorkloadKind::Table(spec)) => {
                spec.rows_per_insert = rows(level).or(spec.rows_per_insert);
            }
            (Self::Key, WorkloadKind::DeleteInsert(spec)) => {
                spec.key = key_mode(level).ok().or(spec.key);
            }
            _ => {}
        }
    }

    /// The level whose tables suffice for all others.
    pub(crate) fn largest(self, levels: &[SettingValue]) -> Option<&SettingValue> {
        match self {
            Self::HotRows | Self::RowsPerInsert => levels.iter().max_by_key(|level| rows(level)),
            Self::Key => levels.first(),
            Self::TableRows => levels.iter().max_by_key(|level| table_rows(level)),
        }
    }

    pub(crate) fn check_levels(self, path: &str, levels: &[SettingValue]) -> Result<(), PlanError> {
        match self {
            Self::HotRows => check_whole(path, levels, HOT_ROWS_MAX.into()),
            Self::TableRows => check_whole(path, levels, TABLE_ROWS_MAX as i64),
            Self::RowsPerInsert => check_whole(path, levels, ROWS_PER_INSERT_MAX.into()),
            Self::Key => levels.iter().try_for_each(|level| match key_mode(level) {
                Ok(_) => Ok(()),
                Err(problem) => Err(wrong_value(path, problem)),
            }),
        }
    }

    /// The workload must use the factor and must not fix it. `levels`: all that it has.
    pub(crate) fn check<'l>(
        self,
        workload: &WorkloadSpec,
        levels: impl Iterator<Item = &'l SettingValue>,
    ) -> Result<(), PlanError> {
        let name = self.name();
        if !workload.kind.uses(name) {
            return Err(unused_key(&format!("factors.{name}"), name, workload.kind.name()));
        }
        if self.is_fixed(workload) {
            return Err(wrong_value(
                format!("workload.{name}"),
                "is a factor too: remove one of the two",
            ));
        }
        match &workload.kind {
            WorkloadKind::Table(spec) if self == Self::RowsPerInsert => {
                let most = levels.filter_map(rows).max().unwrap_or(1);
                spec.table.check_values(&format!("factors.{name}"), most)
            }
            _ => Ok(()),
        }
    }
}

fn rows(level: &SettingValue) -> Option<u32> {
    level.as_int().and_then(|rows| u32::try_from(rows).ok()).filter(|rows| *rows > 0)
}

fn table_rows(level: &SettingValue) -> Option<u64> {
    level.as_int().and_then(|rows| u64::try_from(rows).ok()).filter(|rows| *rows > 0)
}

fn key_mode(level: &SettingValue) -> Result<KeyMode, String> {
    level.to_string().parse()
}
