//! The protocol of MySQL, MariaDB and Percona Server.

mod ad_hoc;
mod auth;
mod binary;
mod collect;
mod command;
mod error_packet;
mod handshake;
mod local_file;
mod login;
mod packets;
mod reply;
mod session;
mod wire;

pub use session::MysqlSession;
