//! The limits of requests and connections, as a user writes them.

use serde::Deserialize;

/// Limits of requests and connections.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HttpLimits {
    pub connections: usize,
    /// Requests whose answers have not been written.
    pub requests: usize,
    /// The part of connections, requests and bodies that one address may have.
    pub peer_share: f64,
    pub row_kb: usize,
    pub batch_kb: usize,
    pub batch_lines: usize,
    /// Bodies of requests that are not answered, together: a quarter for rows, the rest for
    /// batches.
    pub bodies_mb: usize,
    pub header_kb: usize,
    /// Longest time for the head of a request, also on an idle connection.
    pub header_s: f64,
    pub body_s: f64,
    /// Longest time in which a client takes no byte of its answer.
    pub write_s: f64,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            connections: 10_000,
            requests: 20_000,
            peer_share: 0.5,
            row_kb: 64,
            batch_kb: 4_096,
            batch_lines: 10_000,
            bodies_mb: 256,
            header_kb: 16,
            header_s: 60.0,
            body_s: 10.0,
            write_s: 20.0,
        }
    }
}
