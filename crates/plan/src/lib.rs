//! Plans: what is run, as a user writes it, and every check that needs no server.

mod clean_toml;
mod distribution;
mod generator;
mod load;
mod plan;
mod plan_check;
#[cfg(test)]
mod plan_check_tests;
mod plan_key;
mod plan_text;
mod probe_spec;
mod rate;
mod table_spec;
mod vary;
mod whole_number;
mod workload_check;
mod workload_factor;
mod workload_spec;

pub use distribution::KeyDistribution;
pub use generator::{Alphabet, Generator, GeneratorKind, Scalar, TimeRange, UuidForm, UuidVersion};
pub use load::{ErrorPolicy, Load};
pub use plan::{DatadirState, Design, Plan, PlanError, QuickOverrides, ServerSpec};
pub use plan_check::TRIALS_MAX;
pub use plan_key::{PlanKey, RUN_FLAGS};
pub use probe_spec::ProbeSpec;
pub use rate::{RATE_MAX, RATE_MIN, parse_rate};
pub use table_spec::{GeneratedTable, VALUE_LENGTH};
pub use vary::{level_of, parse_factor};
pub use workload_spec::{
    BulkInsertSpec, CustomSpec, CustomStatement, CustomTable, DeleteInsertSpec, HotRowSpec, KeyMode, ReadWriteMix,
    ReadWriteSpec, SCRIPT_WORKLOAD, ScriptSpec, SqlParts, SqlSpec, TableInsertSpec, UpdateSpec, VERIFY_WORKLOAD,
    VerifySpec, WORKLOADS, WorkloadKind, WorkloadSpec,
};
