//! A table as rows are read for it, and rows as SQL.
//!
//! A value never becomes SQL that a server could read as anything but one literal: numbers have the grammar of JSON; text
//! stands in quotes only if it needs no escapes, and else as hexadecimal digits, or, for PostgreSQL, with doubled quotes
//! and `standard_conforming_strings` verified on each connection.

mod columns;
mod json_row;
mod literal;

pub use columns::{ColumnClass, ColumnFacts, TableColumns};
pub use json_row::RowError;
pub(crate) use literal::quoted_name;
