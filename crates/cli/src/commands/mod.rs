//! One file a command.

pub(crate) mod again;
pub(crate) mod capture;
pub(crate) mod compare;
pub(crate) mod config;
pub(crate) mod crash;
pub(crate) mod diff;
pub(crate) mod disk;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod gateway;
pub(crate) mod instance;
pub(crate) mod merge;
pub(crate) mod plan;
pub(crate) mod pool;
pub(crate) mod prealloc;
pub(crate) mod probe;
pub(crate) mod report;
pub(crate) mod restore;
pub(crate) mod run;
pub(crate) mod server;
pub(crate) mod sql;
mod sql_text;
pub(crate) mod stalls;
pub(crate) mod sweep;
pub(crate) mod until_decided;
pub(crate) mod verify;
