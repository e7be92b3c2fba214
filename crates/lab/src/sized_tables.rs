//! The tables of a plan in each of their sizes.

use truetps_plan::Plan;
use truetps_record::{SettingValue, SqlDialect, TABLE_ROWS};

use crate::error::LabError;
use crate::tables::{Ownership, Tables};

/// One set of tables for each level of `table_rows`, or one.
pub(crate) struct SizedTables(Vec<(Option<SettingValue>, Tables)>);

impl SizedTables {
    /// The tables of a private server. `keep_pristine`: see [`Tables::new`].
    pub(crate) fn build(
        plan: &Plan,
        dialect: SqlDialect,
        keep_pristine: bool,
    ) -> Result<Self, LabError> {
        let mut sizes: Vec<_> =
            plan.factors.get(TABLE_ROWS).into_iter().flatten().cloned().map(Some).collect();
        if sizes.is_empty() {
            sizes.push(None);
        }
        let tables = sizes.into_iter().map(|rows| {
            let mut spec = plan.largest_workload();
            spec.table_rows = rows
                .as_ref()
                .and_then(SettingValue::as_int)
                .map_or(spec.table_rows, i64::cast_unsigned);
            let workload = truetps_workload::build(&spec, dialect, plan.design.seed)?;
            Ok((rows, Tables::new(&*workload, keep_pristine, Ownership::Private(dialect))))
        });
        tables.collect::<Result<_, _>>().map(Self)
    }

    /// The tables of a level; without one, those of the first.
    pub(crate) fn of_size(&self, level: Option<&SettingValue>) -> &Tables {
        let found = self.0.iter().find(|(rows, _)| rows.as_ref() == level);
        &found.unwrap_or(&self.0[0]).1
    }
}
