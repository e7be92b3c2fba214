//! Plans: what is run, as a user writes it, and every check that needs no server.
//!
//! - `plan` ([`Plan`]): the whole of it. Its sections: `workload_spec`, `load`, `probe_spec`;
//!   within them `generator`, `distribution`, `table_spec`, `sql_spec` and `rate`. `sections` lists
//!   the keys of each.
//! - `reading` ([`Plan::parse`]): from a text to a checked plan. `key_check`, `plan_check` and
//!   `workload_check`: what makes it wrong ([`PlanError`]). `plan_text` reports all errors at once,
//!   each with its line; `plan_key` has the flags that set the keys.
//! - `vary`: factors that a command line adds. `workload_factor`: factors that change what clients
//!   send, not the server.
//! - `clean_toml`: a plan as a user would write it.
//!
//! A plan with `recorded_from` describes a run of `truetps sysbench`, `slap`, `mtls` or `verify`
//! and is no request: [`Plan::parse`] checks only what readers rely on, and the plan is incomplete,
//! because plans cannot express everything that these programs do.
//!
//! *Invariant:* no clock, no file, no network, no terminal.

mod clean_toml;
mod distribution;
mod generator;
mod key_check;
mod load;
mod plan;
mod plan_check;
#[cfg(test)]
mod plan_check_tests;
mod plan_error;
mod plan_key;
mod plan_text;
mod probe_spec;
mod ranges;
mod rate;
mod reading;
mod sections;
mod sql_spec;
mod table_spec;
mod vary;
mod whole_number;
mod workload_check;
mod workload_factor;
mod workload_spec;

pub use distribution::KeyDistribution;
pub use generator::{Alphabet, Generator, GeneratorKind, Scalar, TimeRange, UuidForm, UuidVersion};
pub use load::{ErrorPolicy, Load};
pub use plan::{DatadirState, Design, Plan, QuickOverrides, ServerSpec};
pub use plan_check::TRIALS_MAX;
pub use plan_error::PlanError;
pub use plan_key::{PlanKey, RUN_FLAGS};
pub use probe_spec::ProbeSpec;
pub use rate::{RATE_MAX, RATE_MIN, parse_rate};
pub use sql_spec::{SqlParts, SqlSpec};
pub use table_spec::{GeneratedTable, VALUE_LENGTH};
pub use vary::{level_of, parse_factor};
pub use workload_spec::{
    BulkInsertSpec, CustomSpec, CustomStatement, CustomTable, DeleteInsertSpec, HotRowSpec,
    KeyMode, ReadWriteMix, ReadWriteSpec, SCRIPT_WORKLOAD, ScriptSpec, TableInsertSpec, UpdateSpec,
    VERIFY_WORKLOAD, VerifySpec, WORKLOADS, WORKLOADS_OF_PLANS, WorkloadKind, WorkloadSpec,
};
