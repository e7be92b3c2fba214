//! TLS without I/O: a layer that a session puts between the socket's bytes and its own.
//!
//! Three steps, for any protocol that turns TLS on in the middle of a plain connection:
//!
//! 1. [`TlsClient::new`] reads the authorities once, for all sessions of a target.
//! 2. [`TlsLayer::client`] begins the handshake when the server has agreed to it.
//! 3. From then on all that comes from the socket goes through [`TlsLayer::on_bytes`], and all that is sent through
//!    that or [`TlsLayer::say`]. What is said before the handshake is over waits for it.
//!
//! A session without TLS has no layer at all, and copies nothing.

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
