//! The program of a PostgreSQL: its version, its settings and their values.

pub(crate) mod catalogue;
pub(crate) mod program;
pub(crate) mod values;
