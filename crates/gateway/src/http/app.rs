//! What all requests share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use super::access::AccessTokens;
use super::body::SharedTexts;
use super::peers::Peers;
use crate::config::GatewayConfig;
use crate::limits::HttpLimits;
use crate::served_table::ServedTable;

/// What all requests share.
pub(crate) struct GatewayApp {
    pub(super) tables: Vec<ServedTable>,
    pub(super) tokens: AccessTokens,
    pub(super) has_page: bool,
    pub(super) limits: HttpLimits,
    /// From the head of a request to the last byte of its answer.
    pub(super) request_time: Duration,
    pub(super) is_stopping: AtomicBool,
    /// Rows without an answer are not waited for any more.
    pub(super) gives_up: watch::Sender<bool>,
    pub(super) peers: Arc<Peers>,
    pub(super) metrics_texts: SharedTexts,
    pub(super) state_texts: SharedTexts,
}

impl GatewayApp {
    pub(crate) fn new(
        config: &GatewayConfig,
        tables: Vec<ServedTable>,
        tokens: AccessTokens,
        connections_most: usize,
    ) -> Self {
        let limits = config.limits.clone();
        let answer_time = tables.iter().map(|table| table.answer_time).max().unwrap_or_default();
        Self {
            tables,
            tokens,
            has_page: config.page,
            request_time: Duration::from_secs_f64(limits.body_s + limits.write_s) + answer_time,
            is_stopping: AtomicBool::new(false),
            gives_up: watch::Sender::new(false),
            peers: Arc::new(Peers::new(&limits, connections_most)),
            metrics_texts: SharedTexts::new(),
            state_texts: SharedTexts::new(),
            limits,
        }
    }

    pub(crate) fn tables(&self) -> &[ServedTable] {
        &self.tables
    }

    pub(crate) fn begin_stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    /// Requests that wait for an answer are answered now: their rows may be stored.
    pub(crate) fn give_up(&self) {
        self.gives_up.send_replace(true);
    }

    /// The longest time in which a body must have arrived.
    pub(super) fn body_time(&self) -> Duration {
        Duration::from_secs_f64(self.limits.body_s)
    }
}
