//! A plan: the TOML file that describes an experiment.

use std::collections::BTreeMap;
use std::fmt;

use indexmap::IndexMap;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::workload_factor::WorkloadFactor;
use crate::{Load, ProbeSpec, WorkloadKind, WorkloadSpec};
use truetps_record::{
    Configuration, DISK, Flavour, Personality, SERVER, SettingValue, is_load_factor,
    is_setting_factor,
};

/// [`Plan::parse`] reads one; the derived form lacks the workload, and ignores unknown keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Short name; the experiment's folder starts with it.
    #[serde(default)]
    pub name: String,
    /// One sentence: the question that the experiment answers.
    #[serde(default)]
    pub about: String,
    /// Not a plan that a user wrote: the record of a run of this program, kept in the run folder
    /// for reading. It cannot be run, since plans cannot express everything that the program did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_from: Option<Personality>,
    /// A table, or the name of a server alone.
    #[serde(default, deserialize_with = "name_or_table")]
    pub server: ServerSpec,
    /// The profile of the emulated disk that private servers are on: a name, or the path of a TOML
    /// file. `None`: the host's own disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<String>,
    #[serde(skip_deserializing, default = "unread_workload")]
    pub workload: WorkloadSpec,
    #[serde(default)]
    pub load: Load,
    /// Factor → levels: `connections`, `rate`, one of the workload (`hot_rows`, `key`), or any
    /// setting of the server. Trials run over the product of all levels.
    #[serde(default)]
    pub factors: IndexMap<String, Vec<SettingValue>>,
    #[serde(default)]
    pub design: Design,
    /// What the probe reads during a trial.
    #[serde(default)]
    pub probe: ProbeSpec,
    /// What `--quick` changes.
    #[serde(default)]
    pub quick: QuickOverrides,
}

/// In place until [`WorkloadSpec::read`].
fn unread_workload() -> WorkloadSpec {
    WorkloadSpec::new(WorkloadKind::Insert)
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerSpec {
    /// A server with this name (`truetps server add`). `None`: truetps looks for an installed one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The family that the plan requires. If absent, the first server found is used.
    pub flavour: Option<Flavour>,
    /// Settings of every trial. They override the sandbox's own settings.
    pub settings: IndexMap<String, SettingValue>,
}

/// `server = "mysql-8.0"` is short for a table with only that name.
fn name_or_table<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ServerSpec, D::Error> {
    struct NameOrTable;

    impl<'de> Visitor<'de> for NameOrTable {
        type Value = ServerSpec;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the name of a server, or a table of what it has")
        }

        fn visit_str<E>(self, name: &str) -> Result<ServerSpec, E> {
            Ok(ServerSpec { name: Some(name.to_owned()), ..ServerSpec::default() })
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ServerSpec, A::Error> {
            ServerSpec::deserialize(MapAccessDeserializer::new(map))
        }
    }

    deserializer.deserialize_any(NameOrTable)
}

/// How the datadir gets into the same state at the start of each trial.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DatadirState {
    /// The tables are truncated, refilled from a pristine copy inside the server, and flushed. The
    /// server keeps running, or restarts before each trial if a factor needs it.
    #[default]
    Refill,
    /// The server is stopped and started again on a fresh copy of a prepared datadir.
    FreshCopy,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Design {
    /// Replicates: randomised passes over all configurations.
    pub blocks: u32,
    #[serde(with = "crate::whole_number")]
    pub seed: u64,
    /// Levels that the others are compared with; a factor that is not named keeps its own level in
    /// each comparison. Default: the first level of the first factor that is not a load factor.
    pub baseline: IndexMap<String, SettingValue>,
    /// Combinations of levels without meaning: configurations that have all levels of one of these
    /// are skipped.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub leave_out: Vec<IndexMap<String, SettingValue>>,
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
            leave_out: Vec::new(),
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
    #[serde(with = "crate::whole_number::optional")]
    pub table_rows: Option<u64>,
    pub factors: IndexMap<String, Vec<SettingValue>>,
}

impl Plan {
    pub fn to_toml(&self) -> String {
        toml::to_string(&self.to_table()).expect("a table has a TOML form")
    }

    pub(crate) fn to_table(&self) -> toml::Table {
        let mut table = toml::Table::try_from(self).expect("every field of a plan has a TOML form");
        // A plan that names the numbers of a workload's own tables is refused.
        if let Some(workload) = table.get_mut("workload").and_then(toml::Value::as_table_mut)
            && self.workload.own_tables().is_some()
        {
            workload.retain(|key, _| !["tables", "table_rows"].contains(&key));
        }
        table
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
        self.resolve_largest();
        self
    }

    /// Fills in the plan's tables from the largest workload.
    pub(crate) fn resolve_largest(&mut self) {
        let WorkloadSpec { tables, table_rows, .. } = self.largest_workload().with_own_tables();
        (self.workload.tables, self.workload.table_rows) = (tables, table_rows);
    }

    /// The workload whose tables suffice for every configuration.
    pub fn largest_workload(&self) -> WorkloadSpec {
        self.workload_with(|factor| factor.largest(self.factors.get(factor.name())?))
    }

    /// The workload of a configuration, on the tables of [`Self::largest_workload`].
    pub fn workload_of(&self, configuration: &Configuration) -> WorkloadSpec {
        self.workload_with(|factor| configuration.levels.get(factor.name()))
    }

    fn workload_with<'a>(
        &self,
        level: impl Fn(WorkloadFactor) -> Option<&'a SettingValue>,
    ) -> WorkloadSpec {
        let mut spec = self.workload.clone();
        for factor in WorkloadFactor::ALL {
            if let Some(level) = level(factor) {
                factor.put(level, &mut spec);
            }
        }
        spec
    }

    /// The product of all levels, the last factor changing fastest, without the combinations that
    /// the design excludes.
    pub fn configurations(&self) -> Vec<Configuration> {
        let mut list = vec![Configuration { levels: IndexMap::new() }];
        for (name, levels) in &self.factors {
            let mut longer = Vec::with_capacity(list.len() * levels.len());
            for partial in &list {
                for level in levels {
                    let mut next = partial.clone();
                    next.levels.insert(name.clone(), level.clone());
                    longer.push(next);
                }
            }
            list = longer;
        }
        list.retain(|one| !self.design.leave_out.iter().any(|levels| has_levels(one, levels)));
        list
    }

    /// Levels that comparisons are made with; see [`Design::baseline`]. Empty if only the load is
    /// varied.
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

    /// Names of the servers that are measured, in the plan's order; empty where the plan names
    /// none.
    pub fn server_names(&self) -> Vec<&str> {
        self.names_of(SERVER, self.server.name.as_deref())
    }

    /// Profiles of the emulated disks that are measured, in the plan's order; empty where the plan
    /// names none.
    pub fn disk_names(&self) -> Vec<&str> {
        self.names_of(DISK, self.disk.as_deref())
    }

    /// Profile of the emulated disk of a configuration. `None`: the host's own disk.
    pub fn disk_of<'a>(&'a self, configuration: &'a Configuration) -> Option<&'a str> {
        configuration.disk().or(self.disk.as_deref())
    }

    /// The levels of a factor of names, or the one name where it is none.
    fn names_of<'a>(&'a self, factor: &str, single: Option<&'a str>) -> Vec<&'a str> {
        match self.factors.get(factor) {
            Some(levels) => levels
                .iter()
                .filter_map(|level| {
                    if let SettingValue::Text(name) = level { Some(name.as_str()) } else { None }
                })
                .collect(),
            None => single.into_iter().collect(),
        }
    }

    /// Names and levels of the factors that are server settings.
    pub fn setting_factors(&self) -> BTreeMap<&str, &[SettingValue]> {
        let settings = self.factors.iter().filter(|(name, _)| is_setting_factor(name));
        settings.map(|(name, levels)| (name.as_str(), levels.as_slice())).collect()
    }
}

pub(crate) fn has_levels(
    configuration: &Configuration,
    levels: &IndexMap<String, SettingValue>,
) -> bool {
    levels.iter().all(|(name, level)| configuration.levels.get(name) == Some(level))
}
