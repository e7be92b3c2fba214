//! The parameters of a pool, from the advice and the server's limits.

use serde::Serialize;

/// A pool is renewed at least this often, so that a server behind the same name gets its share of
/// new connections.
const LIFETIME_MAX_S: u64 = 1_800;
/// A connection ends before the server or a firewall ends it.
const LIFETIME_MARGIN_S: u64 = 30;
const LIFETIME_MIN_S: u64 = 30;
/// Without a limit of p99: a user does not wait longer for a page.
const ACQUIRE_DEFAULT_MS: u64 = 2_000;
/// HikariCP accepts no shorter one.
const ACQUIRE_MIN_MS: u64 = 250;
const STATEMENT_MIN_MS: u64 = 5_000;
/// A statement that takes so many times p99 has met a fault, not a queue.
const STATEMENT_P99S: f64 = 20.0;
const IDLE_MAX_S: u64 = 600;

/// What limits a pool from outside.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PoolLimits {
    /// Processes of the application that share the connections.
    pub instances: u32,
    pub p99_limit_us: Option<f64>,
    /// The server ends connections that are idle for so long.
    pub wait_timeout_s: Option<u64>,
}

/// Values for the configuration of a pool in one process.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PoolParameters {
    /// In all processes together.
    pub connections: u32,
    pub instances: u32,
    /// Initial, least and most connections of one pool: one number.
    pub size: u32,
    pub idle_timeout_s: u64,
    pub max_lifetime_s: u64,
    /// Time that a request waits for a free connection.
    pub acquire_timeout_ms: u64,
    pub statement_timeout_ms: u64,
    pub wait_timeout_s: Option<u64>,
}

impl PoolParameters {
    /// `response_us_p99` is what was measured with this number of connections.
    pub fn new(connections: u32, response_us_p99: Option<f64>, limits: &PoolLimits) -> Self {
        let instances = limits.instances.max(1);
        let wait_s = limits.wait_timeout_s.unwrap_or(LIFETIME_MAX_S);
        let max_lifetime_s =
            wait_s.min(LIFETIME_MAX_S).saturating_sub(LIFETIME_MARGIN_S).max(LIFETIME_MIN_S);
        let p99_us = response_us_p99.unwrap_or_default();
        let acquire_timeout_ms = match limits.p99_limit_us {
            // What the limit leaves for waiting.
            Some(limit) => ((limit - p99_us) / 1e3).max(0.0) as u64,
            None => ACQUIRE_DEFAULT_MS,
        };
        Self {
            connections,
            instances,
            size: (connections / instances).max(1),
            idle_timeout_s: IDLE_MAX_S.min(max_lifetime_s),
            max_lifetime_s,
            acquire_timeout_ms: acquire_timeout_ms.max(ACQUIRE_MIN_MS),
            statement_timeout_ms: ((STATEMENT_P99S * p99_us / 1e3) as u64).max(STATEMENT_MIN_MS),
            wait_timeout_s: limits.wait_timeout_s,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_ends_before_the_server_ends_it() {
        let limits = PoolLimits { wait_timeout_s: Some(28_800), ..PoolLimits::default() };
        let usual = PoolParameters::new(20, Some(30_000.0), &limits);
        assert_eq!((usual.size, usual.max_lifetime_s, usual.idle_timeout_s), (20, 1_770, 600));
        assert_eq!((usual.acquire_timeout_ms, usual.statement_timeout_ms), (2_000, 5_000));
        let short =
            PoolParameters::new(20, None, &PoolLimits { wait_timeout_s: Some(120), ..limits });
        assert_eq!((short.max_lifetime_s, short.idle_timeout_s), (90, 90));
    }

    #[test]
    fn a_limit_leaves_the_rest_for_waiting() {
        let limits =
            PoolLimits { instances: 3, p99_limit_us: Some(1_000_000.0), ..PoolLimits::default() };
        let slow = PoolParameters::new(64, Some(400_000.0), &limits);
        assert_eq!(
            (slow.size, slow.acquire_timeout_ms, slow.statement_timeout_ms),
            (21, 600, 8_000)
        );
        assert_eq!(PoolParameters::new(2, None, &limits).size, 1);
    }
}
