//! The protocol of PostgreSQL, version 3.0 (PostgreSQL 7.4 and later).
//!
//! Not supported: COPY, cancelling, channel binding, replication, binary values.

mod ad_hoc;
mod authentication;
mod command;
mod framer;
mod libpq;
mod machine;
mod reply;
mod report;
mod session;
pub(crate) mod sqlstate;
mod startup;
mod value;
mod wire;

pub use command::{count_parameters, with_numbered_parameters};
pub use libpq::{LibpqError, LibpqGiven, LibpqTarget, libpq_variables};
pub use session::PgSession;
pub(crate) use startup::put_ssl_request;
