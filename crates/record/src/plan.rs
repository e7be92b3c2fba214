//! A plan: the TOML file that says what an experiment does.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Configuration, Flavour, Load, SettingValue, WorkloadSpec, is_load_factor};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Short name; the experiment's folder starts with it.
    pub name: String,
    /// One sentence: the question that it answers.
    pub about: String,
    #[serde(default)]
    pub server: ServerSpec,
    pub workload: WorkloadSpec,
    #[serde(default)]
    pub load: Load,
    /// Factor → levels: `connections`, `rate`, or any setting of the server. Trials run over the product of all levels.
    pub factors: IndexMap<String, Vec<SettingValue>>,
    #[serde(default)]
    pub design: Design,
    /// What `--quick` changes.
    #[serde(default)]
    pub quick: QuickOverrides,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerSpec {
    /// The plan wants this family; the first server found is taken where it is silent.
    pub flavour: Option<Flavour>,
    /// Settings that every trial has, over those that the sandbox chooses.
    pub settings: IndexMap<String, SettingValue>,
}

/// How a statement travels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// Prepared once a session, executed with binary parameters.
    #[default]
    Prepared,
    /// Whole SQL text each time.
    Text,
}

/// How the data folder comes to the same state at the start of each trial.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DatadirState {
    /// The tables are truncated and refilled from a pristine copy inside the server, and flushed; the server goes on, or
    /// restarts before each trial where a factor needs it.
    #[default]
    Refill,
    /// The server is stopped and starts again on a fresh copy of a prepared data folder.
    FreshCopy,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Design {
    /// Replicates: randomised passes over all configurations.
    pub blocks: u32,
    pub seed: u64,
    /// Levels that the others are compared with; a factor that is not named keeps its own level in each comparison.
    /// Default: the first level of the first factor that is a setting.
    pub baseline: IndexMap<String, SettingValue>,
    /// Run one configuration twice in each block, to measure the noise.
    pub aa_pair: bool,
    pub datadir: DatadirState,
    /// Smallest relative difference in tps that matters, in percent.
    pub smallest_effect_percent: f64,
}

impl Default for Design {
    fn default() -> Self {
        Self {
            blocks: 5,
            seed: 42,
            baseline: IndexMap::new(),
            aa_pair: true,
            datadir: DatadirState::default(),
            smallest_effect_percent: 3.0,
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct QuickOverrides {
    pub blocks: Option<u32>,
    pub warm_up_s: Option<f64>,
    pub measure_s: Option<f64>,
    pub table_rows: Option<u64>,
    pub factors: IndexMap<String, Vec<SettingValue>>,
}

#[derive(Debug, Error)]
pub enum PlanError {
    /// The TOML parser's own message: it names line and column.
    #[error("{0}")]
    Syntax(String),
    #[error("unknown key `{key}` in `{section}`{}", crate::plan_check::suggestion(.near, .known))]
    UnknownKey { section: String, key: String, near: Vec<String>, known: Vec<String> },
    #[error("unknown workload `{name}`{}", crate::plan_check::suggestion(.near, .known))]
    UnknownWorkload { name: String, near: Vec<String>, known: Vec<String> },
    #[error("`{key}` means nothing to `{workload}`: it is for `{}`", used_by.join("`, `"))]
    UnusedKey { key: String, workload: String, used_by: Vec<String> },
    #[error("`{key}`: {problem}")]
    Value { key: String, problem: String },
}

impl Plan {
    /// Parses and checks a plan. Nothing outside the text is asked: whether the server knows a setting is the
    /// sandbox's business.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        let table: toml::Table = toml::from_str(text).map_err(|error| PlanError::Syntax(error.to_string()))?;
        crate::plan_check::check_keys(&table)?;
        let mut plan: Self = toml::from_str(text).map_err(|error| PlanError::Syntax(error.to_string()))?;
        let empty = toml::Table::new();
        let section = table.get("workload").and_then(toml::Value::as_table);
        plan.workload.resolve(section.unwrap_or(&empty));
        crate::plan_check::check_values(&plan)?;
        Ok(plan)
    }

    pub fn to_toml(&self) -> String {
        let mut table = toml::Table::try_from(self).expect("every field of a plan has a TOML form");
        if let Some(workload) = table.get_mut("workload").and_then(toml::Value::as_table_mut) {
            self.workload.omit_unused(workload);
        }
        toml::to_string(&table).expect("a table has a TOML form")
    }

    /// The plan that `--quick` runs.
    #[must_use]
    pub fn into_quick(mut self) -> Self {
        let quick = std::mem::take(&mut self.quick);
        self.design.blocks = quick.blocks.unwrap_or(self.design.blocks);
        self.load.warm_up_s = quick.warm_up_s.unwrap_or(self.load.warm_up_s);
        self.load.measure_s = quick.measure_s.unwrap_or(self.load.measure_s);
        self.workload.table_rows = quick.table_rows.unwrap_or(self.workload.table_rows);
        for (name, levels) in quick.factors {
            self.factors.insert(name, levels);
        }
        self
    }

    /// The product of all levels, the last factor changing fastest.
    pub fn configurations(&self) -> Vec<Configuration> {
        let mut list = vec![Configuration { levels: IndexMap::new() }];
        for (name, levels) in &self.factors {
            list = list
                .iter()
                .flat_map(|partial| {
                    levels.iter().map(|level| {
                        let mut next = partial.clone();
                        next.levels.insert(name.clone(), level.clone());
                        next
                    })
                })
                .collect();
        }
        list
    }

    /// Levels that comparisons are made with; see [`Design::baseline`]. Empty where no setting is a factor.
    pub fn baseline(&self) -> IndexMap<String, SettingValue> {
        if !self.design.baseline.is_empty() {
            return self.design.baseline.clone();
        }
        let first = self.factors.iter().find(|(name, _)| !is_load_factor(name));
        first.map(|(name, levels)| (name.clone(), levels[0].clone())).into_iter().collect()
    }

    pub fn connections_max(&self) -> u32 {
        self.configurations().iter().map(Configuration::connections).max().unwrap_or(0)
    }

    /// Names and levels of the factors that are server settings.
    pub fn setting_factors(&self) -> BTreeMap<&str, &[SettingValue]> {
        let settings = self.factors.iter().filter(|(name, _)| !is_load_factor(name));
        settings.map(|(name, levels)| (name.as_str(), levels.as_slice())).collect()
    }
}
