//! TLS without I/O: a layer between the socket's bytes and the session's.
//!
//! Three steps, for any protocol that starts TLS within a plain connection:
//!
//! 1. [`TlsClient::new`] reads the authorities once, for all sessions of a target.
//! 2. [`TlsLayer::client`] begins the handshake when the server has agreed to it.
//! 3. From then on all received bytes go through [`TlsLayer::on_bytes`], and all sent bytes through
//!    that or [`TlsLayer::append_encrypted`]. Bytes to send wait until the handshake is complete.
//!
//! A session without TLS has no layer, and copies nothing.

mod config;
mod error;
mod layer;
#[cfg(test)]
mod sealing_tests;
#[cfg(test)]
pub(crate) mod test_server;
mod verifier;

pub use config::TlsClient;
pub use error::TlsError;
pub use layer::TlsLayer;
pub(crate) use layer::say_plain;
