//! The protocol of MySQL, MariaDB and Percona Server.

mod command;
mod handshake;
mod reply;
mod session;
mod wire;

pub use session::MysqlSession;
