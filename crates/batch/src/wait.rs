//! How long the next row will wait for its commit.

use std::time::Duration;

/// The times of recent commits, and of those that are running. All times are since any common
/// start.
#[derive(Debug, Clone, Default)]
pub struct CommitTimes {
    /// Mean of recent commits; the last one has half of the weight, so that an outage is soon
    /// forgotten.
    recent: Duration,
    /// When the running commits began.
    running: Vec<Duration>,
}

impl CommitTimes {
    pub fn begin(&mut self, now: Duration) {
        self.running.push(now);
    }

    /// `began`: as it was passed to [`CommitTimes::begin`].
    pub fn end(&mut self, began: Duration, now: Duration) {
        if !self.forget(began) {
            return;
        }
        let took = now.saturating_sub(began);
        self.recent = if self.recent.is_zero() { took } else { (self.recent + took) / 2 };
    }

    pub fn forget_all(&mut self) {
        self.running.clear();
    }

    /// It ended without a commit, or waits for the server. Returns whether it was running.
    pub fn forget(&mut self, began: Duration) -> bool {
        let Some(at) = self.running.iter().position(|running| *running == began) else {
            return false;
        };
        self.running.swap_remove(at);
        true
    }

    /// The time of one commit: of recent ones, or so far of the oldest one that is running. So a
    /// server that hangs is noticed before any commit has ended.
    pub fn commit_time(&self, now: Duration) -> Duration {
        let oldest =
            self.running.iter().min().map_or(Duration::ZERO, |began| now.saturating_sub(*began));
        self.recent.max(oldest)
    }

    pub fn recent(&self) -> Duration {
        self.recent
    }

    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// The wait of a row behind `batches_ahead` full batches: those, the commit that is running,
    /// and its own. It is zero if nothing is running or ahead: after slow commits, a row must be
    /// taken to measure a new one.
    pub fn expected_wait(&self, batches_ahead: usize, now: Duration) -> Duration {
        if self.running.is_empty() && batches_ahead == 0 {
            return Duration::ZERO;
        }
        let commit = self.commit_time(now);
        let connections = self.running.len().max(1);
        let ahead = batches_ahead.div_ceil(connections) + usize::from(!self.running.is_empty());
        commit.saturating_mul(u32::try_from(ahead + 1).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn the_wait_is_the_batches_ahead_the_running_commit_and_the_own() {
        let mut times = CommitTimes::default();
        assert_eq!(times.expected_wait(3, MS), Duration::ZERO, "nothing is known yet");
        times.begin(MS);
        times.end(MS, 11 * MS);
        assert_eq!(times.expected_wait(0, 11 * MS), Duration::ZERO);
        assert_eq!(times.expected_wait(1, 11 * MS), 20 * MS);
        times.begin(20 * MS);
        assert_eq!(times.expected_wait(0, 21 * MS), 20 * MS);
        assert_eq!(times.expected_wait(2, 21 * MS), 40 * MS);
        // The server hangs.
        assert_eq!(times.expected_wait(0, 1020 * MS), 2000 * MS);
        times.begin(1020 * MS);
        assert_eq!(
            times.expected_wait(4, 1020 * MS),
            4000 * MS,
            "two connections share what is ahead"
        );
    }
}
