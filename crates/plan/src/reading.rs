//! Reading and checking a plan.

use truetps_record::Personality;

use crate::key_check::check_keys;
use crate::plan_check::{check_recorded, check_size, check_values};
use crate::plan_error::is_of_workload;
use crate::plan_text::PlanText;
use crate::{Plan, PlanError, WorkloadKind, WorkloadSpec};

impl Plan {
    /// Parses and checks a plan. Nothing outside the text is consulted: whether the server knows a
    /// setting is checked by the sandbox. Limits apply to plans that users write, not to the record
    /// of a run.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        let table: toml::Table = toml::from_str(text).map_err(PlanError::syntax)?;
        let mut text = PlanText::parse(text).map_err(PlanError::syntax)?;
        let mut errors = check_keys(&table).err().map(PlanError::into_single).unwrap_or_default();
        for path in errors.iter().filter_map(PlanError::path) {
            text.remove(path);
        }
        let plan = Self::read(&table, &mut text, &mut errors);
        let checked = plan.map(|plan| plan.checked_after(&errors));
        match checked {
            Some(Ok(plan)) if errors.is_empty() => Ok(plan),
            Some(Err(more)) => {
                errors.extend(more);
                Err(text.located(errors))
            }
            Some(Ok(_)) | None => Err(text.located(errors)),
        }
    }

    /// The plan without the keys that are wrong. `None`: too much is wrong.
    fn read(table: &toml::Table, text: &mut PlanText, errors: &mut Vec<PlanError>) -> Option<Self> {
        let mut plan: Self = text.read(errors, |text| toml::from_str(text))?;
        let no_section = toml::Table::new();
        let section = table.get("workload").and_then(toml::Value::as_table).unwrap_or(&no_section);
        if !errors.iter().any(is_of_workload) {
            plan.workload = text.read(errors, |text| WorkloadSpec::read(section, text))?;
        }
        // Old records of scripts' runs lack this field.
        if plan.workload.script().is_some() {
            plan.recorded_from.get_or_insert(Personality::Sysbench);
        }
        if matches!(plan.workload.kind, WorkloadKind::Verify(_)) {
            plan.recorded_from.get_or_insert(Personality::Verify);
        }
        Some(plan)
    }

    /// What else is wrong, apart from consequences of errors that are known.
    fn checked_after(self, known: &[PlanError]) -> Result<Self, Vec<PlanError>> {
        let more = match self.checked() {
            Ok(plan) => return Ok(plan),
            Err(error) => error.into_single(),
        };
        let more: Vec<_> = more
            .into_iter()
            .filter(|error| !known.iter().any(|known| error.follows(known)))
            .collect();
        // Nothing is left to report only where something was known.
        Err(more)
    }

    /// The plan with the numbers of its tables, checked like one that was parsed.
    pub fn checked(mut self) -> Result<Self, PlanError> {
        self.resolve_largest();
        if self.recorded_from.is_some() { check_recorded(&self) } else { check_values(&self) }?;
        Ok(self)
    }

    /// Whether the plan has no more trials than an experiment may have, for callers that change a
    /// parsed plan.
    pub fn check_size(&self) -> Result<(), PlanError> {
        check_size(self)
    }
}
