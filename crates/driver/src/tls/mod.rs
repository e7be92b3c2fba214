//! TLS without I/O: a layer that a session puts between the socket's bytes and its own.
//!
//! Three steps, for any protocol that turns TLS on in the middle of a plain connection:
//!
//! 1. [`TlsClient::new`] reads the authorities once, for all sessions of a target.
//! 2. [`TlsLayer::client`] begins the handshake when the server has agreed to it.
//! 3. From then on all that comes from the socket goes through [`TlsLayer::on_bytes`], and all that is sent through
//!    [`TlsLayer::seal`] (or [`TlsLayer::write`]). What is sent before the handshake is over waits for it.
//!
//! A session without TLS has no layer at all, and copies nothing.

mod config;
mod error;
mod layer;
mod verifier;

pub use config::TlsClient;
pub use error::TlsError;
pub use layer::TlsLayer;
