//! The counts, and how to show them.

use crate::options::SysbenchRelease;

/// Input of the reports: the time since the last report (intermediate), or since the last
/// checkpoint or the start (cumulative). The fields are the same as in the tables that scripts get.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Figures {
    pub(crate) threads_running: u32,
    /// Divisor of the rates.
    pub(crate) time_interval_s: f64,
    /// Since the start of the run; warm-up does not count.
    pub(crate) time_total_s: f64,
    pub(crate) latency_pct_s: f64,
    pub(crate) latency_min_s: f64,
    pub(crate) latency_max_s: f64,
    pub(crate) latency_avg_s: f64,
    pub(crate) latency_sum_s: f64,
    pub(crate) events: u64,
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    pub(crate) other: u64,
    pub(crate) errors: u64,
    pub(crate) reconnects: u64,
    /// Events that no client has taken yet; with a rate only.
    pub(crate) queue_length: u64,
    /// Running events; with a rate only.
    pub(crate) concurrency: u64,
}

impl Figures {
    /// Statements: reads, writes and others.
    pub(crate) fn queries(&self) -> u64 {
        self.reads + self.writes + self.other
    }

    /// A count by the second; 0 where no time has passed.
    pub(crate) fn per_second(&self, count: u64) -> f64 {
        if self.time_interval_s > 0.0 { count as f64 / self.time_interval_s } else { 0.0 }
    }
}

/// How figures are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FigureStyle {
    /// Whether a database driver was used: reports show statements and transactions, not just
    /// events.
    pub(crate) is_sql: bool,
    /// Whether it is the built-in test of the processor.
    pub(crate) is_cpu: bool,
    /// Whose format the final report has.
    pub(crate) compat: SysbenchRelease,
    /// Which percentile `latency_pct_s` is; 0 for none.
    pub(crate) percentile: u32,
    /// Whether events come at a rate, so that there is a queue to show.
    pub(crate) has_rate: bool,
    /// Decimals of the time stamps: 0, as in sysbench, unless the report interval has a fraction.
    pub(crate) stamp_decimals: usize,
}

impl FigureStyle {
    /// As many decimals as it takes to write the interval, at most three.
    pub(crate) fn stamp_decimals_of(interval_s: f64) -> usize {
        (0..3)
            .find(|&decimals| (interval_s * 10_f64.powi(decimals as i32)).fract() == 0.0)
            .unwrap_or(3)
    }
}

/// How evenly work is spread over clients, including idle ones.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Fairness {
    pub(crate) events_avg: f64,
    pub(crate) events_stddev: f64,
    pub(crate) seconds_avg: f64,
    pub(crate) seconds_stddev: f64,
}

impl Fairness {
    /// Zeros without clients.
    pub(crate) fn of(clients: &[ClientFigures]) -> Self {
        let events: Vec<_> = clients.iter().map(|client| client.events as f64).collect();
        let seconds: Vec<_> = clients.iter().map(|client| client.busy_s).collect();
        let (events_avg, events_stddev) = mean_and_deviation(&events);
        let (seconds_avg, seconds_stddev) = mean_and_deviation(&seconds);
        Self { events_avg, events_stddev, seconds_avg, seconds_stddev }
    }
}

/// The population's standard deviation: these are all clients, not a sample of them.
fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    if values.is_empty() {
        return (0.0, 0.0);
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / count).sqrt())
}

/// One client's share (sysbench's thread): `--debug` prints it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct ClientFigures {
    pub(crate) events: u64,
    pub(crate) busy_s: f64,
    pub(crate) latency_min_s: f64,
    pub(crate) latency_max_s: f64,
}

impl ClientFigures {
    /// Seconds; 0 without events.
    pub(crate) fn latency_avg_s(&self) -> f64 {
        if self.events == 0 { 0.0 } else { self.busy_s / self.events as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fairness_is_of_the_population() {
        let client = |events, busy_s| ClientFigures { events, busy_s, ..ClientFigures::default() };
        let fairness = Fairness::of(&[client(20, 0.5), client(21, 1.5)]);
        let expected = Fairness {
            events_avg: 20.5,
            events_stddev: 0.5,
            seconds_avg: 1.0,
            seconds_stddev: 0.5,
        };
        assert_eq!(fairness, expected);
        assert_eq!(Fairness::of(&[]), Fairness::default());
        assert_eq!(Fairness::of(&[client(7, 2.0)]).events_stddev.to_bits(), 0);
    }

    #[test]
    fn stamps_have_the_decimals_of_the_interval() {
        let decimals =
            [1.0, 10.0, 0.5, 0.25, 2.5, 0.125, 0.1, 1.0 / 3.0].map(FigureStyle::stamp_decimals_of);
        assert_eq!(decimals, [0, 0, 1, 2, 1, 3, 1, 3]);
    }

    #[test]
    fn no_time_is_no_rate() {
        assert_eq!(Figures { events: 5, ..Figures::default() }.per_second(5).to_bits(), 0);
    }
}
