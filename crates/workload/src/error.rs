use thiserror::Error;
use truetps_driver::StatementError;
use truetps_plan::PlanError;

#[derive(Debug, Error)]
pub enum WorkloadError {
    /// The record of a run, used as a plan.
    #[error(
        "`{}` only records scripts: run them with `truetps sysbench`, not with a plan",
        truetps_plan::SCRIPT_WORKLOAD
    )]
    Script,
    #[error(
        "`{}` only records rows: send them with `truetps verify`, not with a plan",
        truetps_plan::VERIFY_WORKLOAD
    )]
    Verify,
    /// A statement of the plan.
    #[error("`{key}`: {problem}")]
    Sql { key: String, problem: String },
    #[error("there is no statement to send")]
    NoStatement,
    #[error("a statement with a key has one `?` for it, this one has {count}: {sql}")]
    NotOneKey { count: usize, sql: String },
    #[error("there is no key for: {sql}")]
    NoKey { sql: String },
    #[error(transparent)]
    Statement(#[from] StatementError),
    /// SQL of the plan, parsed in this server's dialect.
    #[error(transparent)]
    Plan(#[from] PlanError),
}
