//! Figures of periods, from the counters.

use crate::command::{ClientCounters, Counters, EventTally, SlotCounts, StatementTimes};
use crate::output::{ClientFigures, Figures, LogHistogram, Percentile, StatementLatency};

/// The clients' counters at a moment.
pub(crate) struct CountersThen {
    all: SlotCounts,
    clients: Vec<SlotCounts>,
}

impl CountersThen {
    /// Without figures of each client.
    pub(crate) fn of_all(all: SlotCounts) -> Self {
        Self { all, clients: Vec::new() }
    }

    pub(crate) fn by_client(all: SlotCounts, counters: &Counters) -> Self {
        Self { all, clients: counters.clients().iter().map(ClientCounters::read).collect() }
    }

    /// Before the threads started: figures since then include statements of `thread_init`, as in
    /// sysbench.
    pub(crate) fn zero(counters: &Counters) -> Self {
        Self {
            all: SlotCounts::default(),
            clients: vec![SlotCounts::default(); counters.clients().len()],
        }
    }

    /// Figures of each client since then.
    pub(crate) fn clients(&self, counters: &Counters) -> Vec<ClientFigures> {
        let pairs = counters.clients().iter().zip(&self.clients);
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

/// The events since a moment.
pub(crate) struct LatencyWindow {
    began_ns: u64,
    pub(crate) then: CountersThen,
    pub(crate) events: EventTally,
}

impl LatencyWindow {
    pub(crate) fn begin(now_ns: u64, then: CountersThen) -> Self {
        Self { began_ns: now_ns, then, events: EventTally::new(false) }
    }

    /// Begins again, now.
    pub(crate) fn restart(&mut self, now_ns: u64, then: CountersThen) {
        self.events.clear(now_ns);
        (self.began_ns, self.then) = (now_ns, then);
    }

    /// The figures so far. `zero_ns`: when the run began. Times in the figures are seconds.
    pub(crate) fn figures(
        &self,
        counters: &Counters,
        zero_ns: u64,
        now_ns: u64,
        percentile: u8,
    ) -> Figures {
        let counts = counters.totals().since(self.then.all);
        let tally = &self.events;
        let events = tally.lengths().len();
        Figures {
            time_interval_s: seconds_of(now_ns.saturating_sub(self.began_ns)),
            time_total_s: seconds_of(now_ns.saturating_sub(zero_ns)),
            latency_pct_s: percentile_s(tally, f64::from(percentile)),
            latency_min_s: if events == 0 { 0.0 } else { seconds_of(tally.min_ns) },
            latency_max_s: seconds_of(tally.max_ns),
            latency_avg_s: if events == 0 { 0.0 } else { seconds_of(tally.sum_ns) / events as f64 },
            latency_sum_s: seconds_of(tally.sum_ns),
            events: counts.events,
            reads: counts.reads,
            writes: counts.writes,
            other: counts.other,
            errors: counts.errors,
            reconnects: counts.reconnects,
            ..Figures::default()
        }
    }
}

fn seconds_of(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// A percentile of the lengths of events, in seconds. Never outside of the observed range.
fn percentile_s(events: &EventTally, percentile: f64) -> f64 {
    if events.lengths().is_empty() || percentile <= 0.0 {
        return 0.0;
    }
    let value_ns = events
        .lengths()
        .value_at_quantile(percentile / 100.0)
        .clamp(events.min_ns, events.max_ns.max(events.min_ns));
    seconds_of(value_ns)
}

pub(crate) fn percentiles(events: &EventTally, wanted: &[f64]) -> Vec<Percentile> {
    wanted
        .iter()
        .map(|percent| Percentile { percent: *percent, latency_s: percentile_s(events, *percent) })
        .collect()
}

pub(crate) fn statement_latencies(
    statements: &StatementTimes,
    wanted: &[f64],
) -> Vec<StatementLatency> {
    let kinds = statements.iter();
    kinds
        .map(|(kind, times)| StatementLatency {
            kind: kind.to_owned(),
            count: times.len(),
            avg_s: times.mean() / 1e9,
            max_s: seconds_of(times.max()),
            percentiles: wanted
                .iter()
                .map(|&percent| Percentile {
                    percent,
                    latency_s: seconds_of(times.value_at_quantile(percent / 100.0)),
                })
                .collect(),
        })
        .collect()
}

/// The lengths of events in sysbench's buckets.
pub(crate) fn log_histogram(events: &EventTally) -> LogHistogram {
    let mut histogram = LogHistogram::of_latency();
    for value in events.lengths().iter_recorded() {
        let middle_ns = events.lengths().median_equivalent(value.value_iterated_to());
        histogram.add(middle_ns as f64 / 1e6, value.count_at_value());
    }
    histogram
}
