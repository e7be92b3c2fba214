//! The command line, and the options that scripts declare.
//!
//! A command line is read twice, as in sysbench. [`first_pass()`] knows sysbench's own options and
//! checks the general ones; a script is then loaded and declares its options
//! ([`FirstPass::declare`]); [`FirstPass::finish`] reads the rest of the command line and makes
//! [`SysbenchOptions`]. Nothing here prints or exits: texts are returned with the stream they
//! belong to ([`Notice`], [`OptionRefusal`]), and the only file, `--config-file`, is read by a
//! function of the caller.

mod builtin;
mod compat;
mod config_file;
mod database;
mod finished;
mod first_pass;
mod given;
mod help;
mod kind;
mod limits;
mod lookup;
mod number;
mod ours;
mod random;
mod refusal;
mod registry;
mod secrets;
mod settings;
#[cfg(test)]
mod tests;
mod value;

pub(crate) use compat::SysbenchRelease;
#[cfg(test)]
pub(crate) use database::SslFiles;
pub(crate) use database::{IgnoredErrors, MysqlSettings, PgsqlSettings};
pub(crate) use finished::SysbenchOptions;
pub(crate) use first_pass::{FirstPass, FirstRequest, Surroundings, first_pass};
pub(crate) use given::CommandLine;
#[cfg(test)]
pub(crate) use given::Origin;
pub(crate) use help::{help_page, print_test_options, test_help, version_line};
#[cfg(test)]
pub(crate) use kind::KIND_MAX;
pub(crate) use kind::{OptionGroup, OptionSpec, OptionType, key};
pub(crate) use ours::{LuaIsolation, Ours, SysbenchFormat};
pub(crate) use random::RandSettings;
pub(crate) use refusal::{Notice, OptionRefusal, OutputStream};
pub(crate) use registry::Registry;
pub use secrets::masked;
pub(crate) use secrets::{has_typed_password, recorded_value, words_without_secrets};
pub(crate) use settings::RunSettings;
#[cfg(test)]
pub(crate) use tests::{options as options_of, settings_of};
pub(crate) use value::OptionValue;
