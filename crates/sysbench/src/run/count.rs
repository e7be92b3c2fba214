//! The periods that a run reports on.

use truetps_record::{Histogram, Interval, Phase};

use super::latency_windows::{CountersThen, LatencyWindow};
use super::recorded_series::{RecordedSeries, RunReading};
use crate::command::{CommandRun, Counters, EventTally, SentCounts, StatementTimes};
use crate::output::{ClientFigures, Figures};

pub(crate) struct Count {
    /// Since the last intermediate report.
    pub(crate) interval: LatencyWindow,
    /// Since the last checkpoint, or the start: the final report.
    pub(crate) total: LatencyWindow,
    /// The seconds of the run folder, and their sum.
    pub(crate) recorded: RecordedSeries,
    /// At the start of the measured time; with checkpoints, before the final report.
    measured_since: CountersThen,
    /// Times of the statements of `total`.
    pub(crate) statements: StatementTimes,
    /// Statements of the measured time; `thread_init` sends its own before.
    pub(crate) sent: SentCounts,
    fresh: EventTally,
    pub(crate) intervals: Vec<Figures>,
    pub(crate) checkpoints: Vec<Figures>,
    /// When the measured time began.
    pub(crate) zero_ns: u64,
}

impl RunReading {
    pub(crate) fn take(run: &CommandRun, now_ns: u64) -> Self {
        Self { now_ns, counts: run.counters.totals(), queued: run.control.queued_at(now_ns) }
    }
}

impl Count {
    pub(crate) fn begin(run: &CommandRun, now_ns: u64, zero_ns: u64) -> Self {
        let counters = &run.counters;
        let (mut statements, mut sent) = (StatementTimes::default(), SentCounts::default());
        let mut fresh = EventTally::new(run.control.has_pace());
        counters.drain_events(now_ns, &mut fresh);
        counters.drain_statements(&mut statements, &mut sent);
        sent.clear();
        let phase = if zero_ns > now_ns { Phase::WarmUp } else { Phase::Measure };
        let mut count = Self {
            interval: LatencyWindow::begin(now_ns, CountersThen::zero(counters)),
            total: LatencyWindow::begin(now_ns, CountersThen::zero(counters)),
            recorded: RecordedSeries::begin(RunReading::take(run, now_ns), phase, &fresh.tally),
            measured_since: CountersThen::zero(counters),
            statements,
            sent,
            fresh,
            intervals: Vec::new(),
            checkpoints: Vec::new(),
            zero_ns,
        };
        count.append_to_windows();
        count.fresh.clear(now_ns);
        count
    }

    fn append_to_windows(&mut self) {
        self.interval.events.append(&self.fresh);
        self.total.events.append(&self.fresh);
    }

    /// Takes the clients' records since the last call.
    pub(crate) fn collect(&mut self, counters: &Counters) {
        self.collect_before(counters, self.recorded.began_ns());
    }

    /// … and what follows belongs to the interval that began at `start_ns`.
    fn collect_before(&mut self, counters: &Counters, start_ns: u64) {
        counters.drain_events(start_ns, &mut self.fresh);
        counters.drain_statements(&mut self.statements, &mut self.sent);
        self.append_to_windows();
        self.recorded.add(&self.fresh.tally);
        self.fresh.clear(start_ns);
    }

    /// The next intermediate report starts here.
    pub(crate) fn begin_interval(&mut self, counters: &Counters, now_ns: u64) {
        self.interval.restart(now_ns, CountersThen::of_all(counters.totals()));
    }

    /// An interval of the run folder ends. `None`: it was empty.
    pub(crate) fn end_second(
        &mut self,
        run: &CommandRun,
        now_ns: u64,
    ) -> Option<(Interval, Histogram)> {
        self.collect_before(&run.counters, now_ns);
        self.recorded.end_interval(RunReading::take(run, now_ns))
    }

    /// The final report starts here.
    pub(crate) fn begin_total(&mut self, counters: &Counters, now_ns: u64) {
        self.total.restart(now_ns, CountersThen::by_client(counters.totals(), counters));
        self.statements.clear();
        counters.forget_ranges();
    }

    /// The counts so far were the warm-up; returns its last interval. Nothing slow happens between
    /// the new counts and the message to the clients that it is over.
    pub(crate) fn end_warm_up(
        &mut self,
        run: &CommandRun,
        now_ns: u64,
    ) -> Option<(Interval, Histogram)> {
        let (counters, queued) = (&run.counters, run.control.queued());
        counters.forget_ranges();
        let counts = counters.drain_events_and_read(now_ns, &mut self.fresh);
        counters.drain_statements(&mut self.statements, &mut self.sent);
        self.recorded.add(&self.fresh.tally);
        self.fresh.clear(now_ns);
        self.interval.restart(now_ns, CountersThen::of_all(counts));
        self.total.restart(now_ns, CountersThen::by_client(counts, counters));
        self.measured_since = CountersThen::by_client(counts, counters);
        self.statements.clear();
        self.sent.clear();
        // Last, so that no event that counts against a limit is lost: events running now may be
        // counted beyond it.
        run.control.end_warm_up(self.zero_ns);
        self.zero_ns = now_ns;
        self.recorded.end_warm_up(RunReading { now_ns, counts, queued })
    }

    /// Figures of each client in the measured time.
    pub(crate) fn measured_clients(&self, counters: &Counters) -> Vec<ClientFigures> {
        self.measured_since.clients(counters)
    }
}
