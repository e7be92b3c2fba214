//! The periods that a run reports on.

use super::counters::{Counters, LatencyShard};
use super::latency_windows::LatencyWindow;
use super::sent::SentCounts;
use super::statements::StatementTimes;
use crate::output::Figures;

pub(crate) struct Count {
    /// Since the last intermediate report.
    pub(crate) interval: LatencyWindow,
    /// Since the last checkpoint, or the start: the final report.
    pub(crate) total: LatencyWindow,
    /// Since the last interval of the run folder.
    pub(crate) second: LatencyWindow,
    /// Since the start; with checkpoints, more than the final report.
    pub(crate) whole: LatencyWindow,
    /// Of `total`.
    pub(crate) statements: StatementTimes,
    /// Of the measured time, without the statements of `thread_init`.
    pub(crate) sent: SentCounts,
    fresh: LatencyShard,
    pub(crate) intervals: Vec<Figures>,
    pub(crate) checkpoints: Vec<Figures>,
    /// When the measured time began.
    pub(crate) zero_ns: u64,
}

impl Count {
    pub(crate) fn begin(board: &Counters, now_ns: u64, zero_ns: u64) -> Self {
        board.forget_sent();
        let stretch = |by_client| LatencyWindow::begin(board, now_ns, by_client).since_the_start();
        Self {
            interval: stretch(false),
            total: stretch(true),
            second: stretch(false),
            whole: stretch(true),
            statements: StatementTimes::default(),
            sent: SentCounts::default(),
            fresh: LatencyShard::new(),
            intervals: Vec::new(),
            checkpoints: Vec::new(),
            zero_ns,
        }
    }

    /// Takes the clients' records since the last call.
    pub(crate) fn collect(&mut self, board: &Counters) {
        board.drain(&mut self.fresh, &mut self.statements, &mut self.sent);
        for stretch in [&mut self.interval, &mut self.total, &mut self.second, &mut self.whole] {
            stretch.share.add(&self.fresh);
        }
        self.fresh.clear();
    }

    /// The final report starts here.
    pub(crate) fn begin_total(&mut self, board: &Counters, now_ns: u64) {
        self.total.restart(board, now_ns);
        self.statements.clear();
        board.forget_ranges();
    }

    /// The counts so far were the warm-up. `begin` informs the clients that it is over: nothing slow happens between
    /// that and the new counts. Returns the counts of its last second.
    pub(crate) fn end_warm_up(&mut self, board: &Counters, now_ns: u64, begin: impl FnOnce()) -> LatencyShard {
        board.forget_ranges();
        let mut last = std::mem::replace(&mut self.second.share, LatencyShard::new());
        board.drain(&mut self.fresh, &mut self.statements, &mut self.sent);
        for stretch in [&mut self.interval, &mut self.total, &mut self.second, &mut self.whole] {
            stretch.restart(board, now_ns);
        }
        self.statements.clear();
        self.sent.clear();
        // Last, so that no event that counts against a limit is lost: events running now may be counted beyond it.
        begin();
        self.zero_ns = now_ns;
        last.add(&self.fresh);
        self.fresh.clear();
        last
    }
}
