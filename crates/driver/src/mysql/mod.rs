//! The protocol of MySQL, MariaDB and Percona Server.

mod auth;
mod command;
mod encryption;
mod handshake;
mod login;
mod packets;
mod reply;
mod session;
mod wire;

pub use session::MysqlSession;
