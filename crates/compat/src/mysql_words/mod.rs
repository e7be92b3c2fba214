//! Command lines and option files of MySQL's programs: `--name=value`, names cut short, `-c5`,
//! `--skip-name`, my.cnf.
//!
//! Rules, texts and exit statuses follow the MySQL family's own client programs, as observed.

mod files;
mod number;
mod spec;
mod words;

pub(crate) use files::OptionFiles;
pub(crate) use spec::{Spec, WordKind, WordRefusal};
pub(crate) use words::{GivenValue, HIDDEN, MysqlWords, parse};
