//! The configuration of a gateway, as a user writes it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use thiserror::Error;
use truetps_batch::{BatchLimits, QueueLimits};

use crate::http::{AccessTokens, LINE_BYTES, RoomSizes};
use crate::limits::HttpLimits;

/// More commit connections only wait for each other.
const CONNECTIONS_MAX: usize = 4;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GatewayConfig {
    /// Address and port of HTTP; port 0 takes a free port.
    pub listen: SocketAddr,
    /// Allow an address that other hosts can reach.
    pub listen_remote: bool,
    /// Allow requests without a token at such an address.
    pub anonymous: bool,
    /// The page for browsers at `/`; it needs no token.
    pub page: bool,
    pub tls: Option<TlsFilesConfig>,
    /// Threads of HTTP; default: the host's cores but one, which is for the commit connections, and
    /// at least one.
    pub threads: Option<usize>,
    /// Longest time for rows that were taken when the gateway is stopped.
    pub drain_s: f64,
    pub queue: QueueConfig,
    pub limits: HttpLimits,
    pub metrics: MetricsConfig,
    #[serde(rename = "table")]
    pub tables: Vec<TableConfig>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsFilesConfig {
    /// PEM file with the certificate and its intermediate certificates.
    pub cert: PathBuf,
    /// PEM file with its private key, unencrypted.
    pub key: PathBuf,
}

/// Another address for figures only: `/metrics`, `/healthz` and `/readyz`, without encryption.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MetricsConfig {
    pub listen: Option<SocketAddr>,
    pub listen_remote: bool,
    /// Figures need no token at this address, also if there are tokens.
    pub anonymous: bool,
}

/// A table that takes rows, at `/v1/NAME`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableConfig {
    pub name: String,
    /// Columns of the idempotency key; default: the columns of the table's only unique key.
    #[serde(default)]
    pub key: Vec<String>,
    /// Column for the value of the header Idempotency-Key.
    #[serde(default)]
    pub idempotency_column: Option<String>,
    /// Whether a row whose key is stored is compared with what is stored.
    #[serde(default = "yes")]
    pub compare: bool,
    /// What is done with a row of which the table would keep something else than was sent.
    #[serde(default)]
    pub changed: ChangedRows,
    /// Commit connections: more than one work only while commits are faster than 2 ms.
    #[serde(default = "one")]
    pub connections: usize,
}

impl TableConfig {
    /// A table whose keys all have their defaults.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            key: Vec::new(),
            idempotency_column: None,
            compare: yes(),
            changed: ChangedRows::Refuse,
            connections: one(),
        }
    }
}

/// Rows that a type or a trigger changes on their way into the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangedRows {
    /// 422: they are not stored.
    #[default]
    Refuse,
    /// 200, and the answer has what is stored.
    Answer,
}

fn yes() -> bool {
    true
}

fn one() -> usize {
    1
}

/// Limits of the queue of each table, and times of its rows.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct QueueConfig {
    pub rows: usize,
    pub mb: usize,
    /// A row that would wait longer is refused at once.
    pub wait_ms: u64,
    /// A row is answered after this time at the latest.
    pub answer_ms: u64,
    /// A statement without a reply after this time has an unknown outcome.
    pub statement_ms: u64,
    pub batch_rows: usize,
    pub batch_kb: usize,
}

impl Default for QueueConfig {
    fn default() -> Self {
        Self {
            rows: 20_000,
            mb: 64,
            wait_ms: 2_000,
            answer_ms: 10_000,
            statement_ms: 5_000,
            batch_rows: 1_000,
            batch_kb: 1_024,
        }
    }
}

impl QueueConfig {
    /// `peer_share`: the part of the rows that one address may have.
    pub(crate) fn limits(&self, peer_share: f64) -> QueueLimits {
        QueueLimits {
            rows: self.rows,
            peer_rows: ((self.rows as f64 * peer_share) as usize).max(1),
            bytes: self.mb << 20,
            wait: Duration::from_millis(self.wait_ms),
            batch: BatchLimits { rows: self.batch_rows, bytes: self.batch_kb << 10 },
        }
    }
}

impl Default for GatewayConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            listen_remote: false,
            anonymous: false,
            page: false,
            tls: None,
            threads: None,
            drain_s: 20.0,
            queue: QueueConfig::default(),
            limits: HttpLimits::default(),
            metrics: MetricsConfig::default(),
            tables: Vec::new(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ConfigError {
    message: String,
    pub hint: Option<&'static str>,
}

fn wrong(message: impl Into<String>, hint: Option<&'static str>) -> ConfigError {
    ConfigError { message: message.into(), hint }
}

impl GatewayConfig {
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        toml::from_str(text).map_err(|error| {
            wrong(
                error.to_string().trim_end(),
                Some("`truetps help reference/gateway` lists the keys"),
            )
        })
    }

    /// Checks what needs neither server nor network.
    pub fn check(&self, tokens: &AccessTokens) -> Result<(), ConfigError> {
        if self.tables.is_empty() {
            return Err(wrong(
                "no table is named",
                Some("name a table with --table, or in the file: [[table]] name = …"),
            ));
        }
        for (n, table) in self.tables.iter().enumerate() {
            check_table(table)?;
            if self.tables[..n].iter().any(|other| other.name == table.name) {
                return Err(wrong(format!("table `{}` is named twice", table.name), None));
            }
        }
        if !self.listen.ip().is_loopback() {
            if !self.listen_remote {
                let hint =
                    "set listen_remote = true (--listen-remote) if other hosts shall reach it";
                return Err(wrong(
                    format!("listen: {} is not only for this host", self.listen),
                    Some(hint),
                ));
            }
            if tokens.is_empty() && !self.anonymous {
                let hint =
                    "put tokens into TRUETPS_GATEWAY_TOKENS, or set anonymous = true (--anonymous)";
                return Err(wrong("other hosts could store rows without a token", Some(hint)));
            }
            if self.page {
                return Err(wrong(
                    "page: it has no login, and other hosts could see it",
                    Some("listen on 127.0.0.1"),
                ));
            }
        }
        self.metrics.check(tokens.guard_metrics())?;
        self.check_numbers()
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads.unwrap_or_else(|| {
            std::thread::available_parallelism()
                .map_or(1, |cores| cores.get().saturating_sub(1).max(1))
        })
    }

    fn check_numbers(&self) -> Result<(), ConfigError> {
        let QueueConfig { rows, mb, wait_ms, answer_ms, statement_ms, batch_rows, batch_kb } =
            self.queue;
        let HttpLimits { connections, requests, peer_share, .. } = self.limits;
        let HttpLimits { row_kb, batch_kb: body_kb, batch_lines, bodies_mb, header_kb, .. } =
            self.limits;
        let HttpLimits { header_s, body_s, write_s, .. } = self.limits;
        let in_range = [
            ("queue.rows", rows as f64, 1.0, 10e6),
            ("queue.mb", mb as f64, 1.0, 65_536.0),
            ("queue.wait_ms", wait_ms as f64, 1.0, 600_000.0),
            ("queue.answer_ms", answer_ms as f64, 10.0, 600_000.0),
            ("queue.statement_ms", statement_ms as f64, 10.0, 600_000.0),
            ("queue.batch_rows", batch_rows as f64, 1.0, 10_000.0),
            ("queue.batch_kb", batch_kb as f64, 1.0, 16_384.0),
            ("limits.connections", connections as f64, 1.0, 1e6),
            ("limits.requests", requests as f64, 1.0, 1e6),
            ("limits.peer_share", peer_share, 0.01, 1.0),
            ("limits.row_kb", row_kb as f64, 1.0, 16_384.0),
            ("limits.batch_kb", body_kb as f64, 1.0, 1e6),
            ("limits.batch_lines", batch_lines as f64, 1.0, 1e6),
            ("limits.bodies_mb", bodies_mb as f64, 1.0, 65_536.0),
            ("limits.header_kb", header_kb as f64, 8.0, 1_024.0),
            ("limits.header_s", header_s, 0.1, 3_600.0),
            ("limits.body_s", body_s, 0.1, 3_600.0),
            ("limits.write_s", write_s, 0.1, 3_600.0),
            ("drain_s", self.drain_s, 0.0, 3_600.0),
            ("threads", self.threads() as f64, 1.0, 1_024.0),
        ];
        for (key, value, least, most) in in_range {
            if !(least..=most).contains(&value) {
                return Err(wrong(format!("{key}: {value} is not from {least} to {most}"), None));
            }
        }
        self.check_room()
    }

    /// A body and what its lines cost must fit into the room of one peer, and into the queue.
    fn check_room(&self) -> Result<(), ConfigError> {
        let (limits, queue_bytes) = (&self.limits, self.queue.mb << 20);
        let room = RoomSizes::of(limits);
        let longest = [
            ("row_kb", limits.row_kb << 10, limits.row_kb << 10, room.row_bytes_max()),
            (
                "batch_kb and limits.batch_lines",
                limits.batch_kb << 10,
                (limits.batch_kb << 10) + limits.batch_lines * LINE_BYTES,
                room.batch_bytes_max(),
            ),
        ];
        for (name, body, needed, room) in longest {
            if body > queue_bytes || needed > room {
                let text = format!(
                    "limits.{name}: a body takes up to {} KB; one client has {} KB of \
                     limits.bodies_mb, and queue.mb is {} KB",
                    needed.div_ceil(1 << 10),
                    room >> 10,
                    queue_bytes >> 10
                );
                return Err(wrong(text, Some("raise bodies_mb, or lower the limit of a body")));
            }
        }
        Ok(())
    }
}

impl MetricsConfig {
    fn check(&self, has_tokens: bool) -> Result<(), ConfigError> {
        let Some(listen) = self.listen else { return Ok(()) };
        if listen.ip().is_loopback() {
            return Ok(());
        }
        if !self.listen_remote {
            let hint = "set listen_remote = true in [metrics] if other hosts shall reach it";
            return Err(wrong(
                format!("metrics.listen: {listen} is not only for this host"),
                Some(hint),
            ));
        }
        if !has_tokens && !self.anonymous {
            let hint = "put tokens into TRUETPS_GATEWAY_METRICS_TOKENS, or set anonymous = true in \
                        [metrics]";
            return Err(wrong(
                "metrics.listen: other hosts could read figures without a token",
                Some(hint),
            ));
        }
        Ok(())
    }
}

fn check_table(table: &TableConfig) -> Result<(), ConfigError> {
    let TableConfig { name, connections, .. } = table;
    if name.is_empty()
        || name == "batch"
        || name.chars().any(|c| matches!(c, '/' | '?' | '#' | '%') || c.is_control())
    {
        return Err(wrong(format!("table: `{name}` cannot be a part of a path"), None));
    }
    if !(1..=CONNECTIONS_MAX).contains(connections) {
        let hint = "one is enough: rows that arrive during a commit are the next one";
        return Err(wrong(
            format!("table `{name}`: connections is from 1 to {CONNECTIONS_MAX}"),
            Some(hint),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(text: &str, has_tokens: bool) -> Result<(), String> {
        let tokens = if has_tokens {
            AccessTokens::parse("0123456789abcdef").unwrap()
        } else {
            AccessTokens::default()
        };
        GatewayConfig::parse(text)
            .and_then(|config| config.check(&tokens))
            .map_err(|error| error.to_string().lines().last().unwrap_or_default().to_owned())
    }

    #[test]
    fn wrong_configurations_are_found_before_anything_starts() {
        let table = "[[table]]\nname = 't'\n";
        assert_eq!(checked(table, false), Ok(()));
        let check = |text: &str, part: &str| {
            let error = checked(text, false).unwrap_err();
            assert!(error.contains(part), "{error}");
        };
        check("", "no table");
        check(&format!("{table}{table}"), "twice");
        check("[[table]]\nname = 'a/b'", "path");
        check("[[table]]\nname = 't'\nconnections = 5", "from 1 to 4");
        check(&format!("listen = '0.0.0.0:1'\n{table}"), "only for this host");
        check(&format!("listen = '0.0.0.0:1'\nlisten_remote = true\n{table}"), "without a token");
        check(
            &format!(
                "listen = '0.0.0.0:1'\nlisten_remote = true\nanonymous = true\npage = true\n{table}"
            ),
            "page",
        );
        check(&format!("[queue]\nrows = 0\n{table}"), "queue.rows");
        check(&format!("[limits]\nbatch_kb = 100000\n{table}"), "bodies_mb");
        check(&format!("[limits]\nbatch_lines = 1000000\n{table}"), "batch_lines");
        check(&format!("[limits]\npeer_share = 0.02\n{table}"), "bodies_mb");
        check(&format!("[metrics]\nlisten = '0.0.0.0:1'\n{table}"), "only for this host");
        let metrics = "[metrics]\nlisten = '0.0.0.0:1'\nlisten_remote = true";
        check(&format!("{metrics}\n{table}"), "without a token");
        assert_eq!(checked(&format!("{metrics}\nanonymous = true\n{table}"), false), Ok(()));
        check(&format!("[queue]\nrow = 1\n{table}"), "unknown field `row`");
        let remote = format!("listen = '0.0.0.0:1'\nlisten_remote = true\n{table}");
        assert_eq!(checked(&remote, true), Ok(()));
    }
}
