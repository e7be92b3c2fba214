//! How long an experiment will take.

use std::time::Duration;

use truetps_record::{DatadirState, Plan, ScheduledTrial};

/// What each step takes on an ordinary machine. Only the estimate before the first trial rests on these; from then on
/// the trials' own times count.
const RESET_S_PER_MILLION_ROWS: f64 = 3.5;
const RESET_S: f64 = 0.1;
const CONNECT_S_PER_SESSION: f64 = 0.0003;
const FRESH_COPY_S: f64 = 2.5;
const PREPARE_S: f64 = 4.0;
const LOAD_S_PER_MILLION_ROWS: f64 = 10.0;

/// The whole experiment, preparation included.
pub fn estimate(plan: &Plan, schedule: &[ScheduledTrial]) -> Duration {
    let million_rows = plan.workload.table_rows as f64 * f64::from(plan.workload.tables) / 1e6;
    let trials: Duration = schedule.iter().map(|trial| estimate_trial(plan, trial)).sum();
    trials + Duration::from_secs_f64(PREPARE_S + LOAD_S_PER_MILLION_ROWS * million_rows)
}

/// One trial with its reset. A measured count may end it sooner.
pub(crate) fn estimate_trial(plan: &Plan, trial: &ScheduledTrial) -> Duration {
    let million_rows = plan.workload.table_rows as f64 * f64::from(plan.workload.tables) / 1e6;
    let reset_s = match plan.design.datadir {
        DatadirState::Refill => RESET_S + RESET_S_PER_MILLION_ROWS * million_rows,
        DatadirState::FreshCopy => FRESH_COPY_S + million_rows,
    };
    let connect_s = CONNECT_S_PER_SESSION * f64::from(trial.configuration.connections());
    Duration::from_secs_f64(plan.load.warm_up_s + plan.load.measure_s + reset_s + connect_s)
}

/// Corrects the estimate of what is left by what the trials so far have taken.
#[derive(Debug)]
pub(crate) struct Remaining {
    estimates: Vec<Duration>,
    taken: Duration,
    done: usize,
}

impl Remaining {
    pub(crate) fn new(plan: &Plan, schedule: &[&ScheduledTrial]) -> Self {
        let estimates = schedule.iter().map(|trial| estimate_trial(plan, trial)).collect();
        Self { estimates, taken: Duration::ZERO, done: 0 }
    }

    pub(crate) fn trial_took(&mut self, taken: Duration) {
        self.taken += taken;
        self.done += 1;
    }

    /// What is left, the running trial included.
    pub(crate) fn left(&self) -> Duration {
        let (done, left) = self.estimates.split_at(self.done.min(self.estimates.len()));
        let expected: Duration = done.iter().sum();
        let pace = if expected.is_zero() { 1.0 } else { self.taken.as_secs_f64() / expected.as_secs_f64() };
        left.iter().sum::<Duration>().mul_f64(pace.clamp(0.1, 20.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule;

    #[test]
    fn the_estimate_follows_the_pace() {
        let text = "name = \"p\"\nabout = \"a\"\n[workload]\nname = \"insert\"\n[factors]\nconnections = [1, 8]\n\
                    [design]\nblocks = 2\naa_pair = false\n";
        let plan = Plan::parse(text).unwrap();
        let trials = schedule(&plan);
        assert!((44.0..60.0).contains(&estimate(&plan, &trials).as_secs_f64()));
        let mut remaining = Remaining::new(&plan, &trials.iter().collect::<Vec<_>>());
        let before = remaining.left();
        remaining.trial_took(estimate_trial(&plan, &trials[0]) * 2);
        let ratio = remaining.left().as_secs_f64() / before.as_secs_f64();
        assert!((1.4..1.6).contains(&ratio), "three of four trials at twice the time: {ratio}");
    }
}
