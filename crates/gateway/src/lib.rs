//! Rows over HTTP into tables: `truetps gateway`, which is `batch` behind HTTP.
//!
//! - `config` ([`GatewayConfig`]): what a user writes, and its checks; `limits`: its part about
//!   requests.
//! - `http`: requests, their limits, answers and connections (hyper on tokio); it bounds what each
//!   address holds.
//! - `served_table`: one table with its queue, commit connections and figures (`row_counts`).
//!   `durability`: what a commit survives, in the header `X-Durability`.
//! - `gateway` ([`RunningGateway`]): the start, and the drain that leaves no row without an answer.
//! - `metrics` and `page`: figures for Prometheus, and for a browser.
//!
//! Which rows are sent and how they are answered is decided by `truetps-batch`.
//!
//! *Invariant:* this crate keeps no state that a client depends on: a gateway that was killed has
//! lost no acknowledged row, and any other gateway may take a retry.

mod config;
mod durability;
mod gateway;
mod http;
mod limits;
mod metrics;
mod page;
mod row_counts;
mod served_table;

pub use config::{
    ChangedRows, ConfigError, GatewayConfig, MetricsConfig, QueueConfig, TableConfig,
    TlsFilesConfig,
};
pub use gateway::{GatewayError, GatewayStop, RunningGateway, TableNote};
pub use http::AccessTokens;
pub use limits::HttpLimits;
