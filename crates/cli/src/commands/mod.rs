//! One file a command.

pub(crate) mod plan;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod server;
pub(crate) mod sweep;
