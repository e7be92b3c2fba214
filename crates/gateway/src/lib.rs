//! Rows over HTTP into tables: each is answered after the commit of its own row.
//!
//! - `config` ([`GatewayConfig`]): what a user writes, and its checks.
//! - `http`: requests, their limits, and answers.
//! - `served_table`: one table with its queue, commit connections and figures; `durability` says what a commit survives.
//! - `gateway` ([`RunningGateway`]): the start, and the end that leaves no row without an answer.
//! - `metrics` and `page`: figures for Prometheus, and for a browser.
//!
//! Batches and their answers are decided by `truetps-batch`, which knows nothing of HTTP. This crate stores nothing
//! itself: a gateway that was killed has lost no acknowledged row, and any other gateway may take a retry.

mod config;
mod durability;
mod gateway;
mod http;
mod metrics;
mod page;
mod row_counts;
mod served_table;

pub use config::{
    ChangedRows, ConfigError, GatewayConfig, HttpLimits, MetricsConfig, QueueConfig, TableConfig, TlsFilesConfig,
};
pub use gateway::{GatewayError, GatewayStop, RunningGateway, TableNote};
pub use http::AccessTokens;
