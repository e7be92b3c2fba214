//! Connections, statements and results of scripts, over the sessions of `truetps_driver`.

mod bound;
mod bulk;
mod commands;
mod connection;
mod driver;
mod slab;
mod statement;
mod store;

pub(crate) use bound::Binds;
pub(crate) use driver::{Driver, Ignored, mysql_target, pgsql_target, tls_mode};
pub(crate) use store::{Answer, Drivers, Step, Store};
