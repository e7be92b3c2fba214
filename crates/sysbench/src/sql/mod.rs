//! Connections, statements and results of scripts, over the sessions of `truetps_driver`.

mod bound;
mod bulk;
mod commands;
mod connection;
mod driver;
mod drivers;
mod libpq;
mod result_buffers;
mod statement;
mod store;

pub(crate) use bound::Binds;
pub(crate) use driver::files_advice;
pub(crate) use drivers::Drivers;
pub(crate) use store::{Answer, LOOK, RequestProgress, Store};
