//! Figures of periods, from the counters.

use super::counters::{Counters, LatencyShard, SlotCounts};
use super::statements::StatementTimes;
use crate::output::{ClientFigures, Fairness, Figures, LogHistogram, Percentile, StatementLatency};

/// The events since a moment.
pub(crate) struct LatencyWindow {
    began_ns: u64,
    counts: SlotCounts,
    clients: Vec<SlotCounts>,
    pub(crate) share: LatencyShard,
}

impl LatencyWindow {
    /// Begins now. `by_client`: figures of each client are needed, too.
    pub(crate) fn begin(board: &Counters, now_ns: u64, by_client: bool) -> Self {
        Self {
            began_ns: now_ns,
            counts: board.totals(),
            clients: if by_client {
                board.clients().iter().map(super::ClientCounters::read).collect()
            } else {
                Vec::new()
            },
            share: LatencyShard::new(),
        }
    }

    /// The counts at its beginning.
    pub(crate) fn began_with(&self) -> SlotCounts {
        self.counts
    }

    /// Counts everything since the threads started: this includes statements of `thread_init`, as in sysbench.
    #[must_use]
    pub(crate) fn since_the_start(mut self) -> Self {
        self.counts = SlotCounts::default();
        self.clients.iter_mut().for_each(|client| *client = SlotCounts::default());
        self
    }

    /// Begins again, now.
    pub(crate) fn restart(&mut self, board: &Counters, now_ns: u64) {
        let by_client = !self.clients.is_empty();
        self.share.clear();
        self.began_ns = now_ns;
        self.counts = board.totals();
        if by_client {
            self.clients = board.clients().iter().map(super::ClientCounters::read).collect();
        }
    }

    /// Counts so far.
    pub(crate) fn counts(&self, board: &Counters) -> SlotCounts {
        board.totals().since(self.counts)
    }

    /// The figures so far. `zero_ns`: when the run began. Times in the figures are seconds.
    pub(crate) fn figures(&self, board: &Counters, zero_ns: u64, now_ns: u64, percentile: u8) -> Figures {
        let counts = self.counts(board);
        let share = &self.share;
        let events = share.events.len();
        let seconds = |ns: u64| ns as f64 / 1e9;
        Figures {
            threads_running: 0,
            time_interval_s: seconds(now_ns.saturating_sub(self.began_ns)),
            time_total_s: seconds(now_ns.saturating_sub(zero_ns)),
            latency_pct_s: percentile_s(share, f64::from(percentile)),
            latency_min_s: if events == 0 { 0.0 } else { seconds(share.min_ns) },
            latency_max_s: seconds(share.max_ns),
            latency_avg_s: if events == 0 { 0.0 } else { seconds(share.sum_ns) / events as f64 },
            latency_sum_s: seconds(share.sum_ns),
            events: counts.events,
            reads: counts.reads,
            writes: counts.writes,
            other: counts.other,
            errors: counts.errors,
            reconnects: counts.reconnects,
            queue_length: 0,
            concurrency: 0,
        }
    }

    /// Figures of each client in the period, which was begun with `by_client`.
    pub(crate) fn clients(&self, board: &Counters) -> Vec<ClientFigures> {
        let pairs = board.clients().iter().zip(&self.clients);
        pairs
            .map(|(slot, then)| {
                let counts = slot.read().since(*then);
                let (min_ns, max_ns) = slot.range_ns();
                ClientFigures {
                    events: counts.events,
                    busy_s: counts.busy_ns as f64 / 1e9,
                    latency_min_s: min_ns as f64 / 1e9,
                    latency_max_s: max_ns as f64 / 1e9,
                }
            })
            .collect()
    }
}

pub(crate) fn fairness(clients: &[ClientFigures]) -> Fairness {
    let events: Vec<u64> = clients.iter().map(|client| client.events).collect();
    let seconds: Vec<f64> = clients.iter().map(|client| client.busy_s).collect();
    Fairness::of(&events, &seconds)
}

/// A percentile of the lengths of events, in seconds. Never outside of the observed range.
fn percentile_s(share: &LatencyShard, percentile: f64) -> f64 {
    if share.events.is_empty() || percentile <= 0.0 {
        return 0.0;
    }
    let value_ns =
        share.events.value_at_quantile(percentile / 100.0).clamp(share.min_ns, share.max_ns.max(share.min_ns));
    value_ns as f64 / 1e9
}

pub(crate) fn percentiles(share: &LatencyShard, wanted: &[f64]) -> Vec<Percentile> {
    wanted.iter().map(|percent| Percentile { percent: *percent, latency_s: percentile_s(share, *percent) }).collect()
}

pub(crate) fn statement_latencies(statements: &StatementTimes, wanted: &[f64]) -> Vec<StatementLatency> {
    let seconds = |ns: f64| ns / 1e9;
    statements
        .iter()
        .map(|(kind, times)| StatementLatency {
            kind: kind.to_owned(),
            count: times.len(),
            avg_s: seconds(times.mean()),
            max_s: seconds(times.max() as f64),
            percentiles: wanted
                .iter()
                .map(|percent| Percentile {
                    percent: *percent,
                    latency_s: seconds(times.value_at_quantile(percent / 100.0) as f64),
                })
                .collect(),
        })
        .collect()
}

/// The lengths of events in sysbench's buckets.
pub(crate) fn log_histogram(share: &LatencyShard) -> LogHistogram {
    let mut histogram = LogHistogram::of_latency();
    for value in share.events.iter_recorded() {
        let middle_ns = share.events.median_equivalent(value.value_iterated_to());
        histogram.add(middle_ns as f64 / 1e6, value.count_at_value());
    }
    histogram
}
