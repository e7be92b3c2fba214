//! What a trial needs of a server, whether truetps started it or not: see the crate's page. The
//! load itself is the crate `trial`.

pub(crate) mod evidence;
pub(crate) mod log_reader;
pub(crate) mod planned_disks;
mod portions;
pub(crate) mod ready_server;
pub(crate) mod server_provider;
pub(crate) mod server_status;
pub(crate) mod setting;
pub(crate) mod sql_names;
pub(crate) mod tables;
mod write_transactions;
