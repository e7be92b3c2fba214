//! A table as rows are read for it, and rows as SQL.
//!
//! A value never becomes SQL that a server could read as anything but one literal: numbers have the
//! grammar of JSON; text stands in quotes only if it needs no escapes, and else as hexadecimal
//! digits, or, for PostgreSQL, with doubled quotes and `standard_conforming_strings` verified on
//! each connection.

mod column_type;
mod columns;
mod decimal;
mod json_form;
mod json_row;
mod literal;
mod lookup;
mod moment;

pub use column_type::ColumnType;
pub use columns::{ColumnFacts, TableColumns};
pub use json_row::RowError;
pub(crate) use literal::quoted_name;
pub(crate) use lookup::{RowLookup, StoredRow};
