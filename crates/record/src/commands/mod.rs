//! What other commands than `run` and `sweep` record.

pub(crate) mod asked;
pub(crate) mod crash;
pub(crate) mod explanation;
pub(crate) mod pool;
pub(crate) mod row_answer;
pub(crate) mod script_record;
pub(crate) mod verification;
