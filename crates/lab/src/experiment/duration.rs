//! How long an experiment will take.

use std::time::Duration;

use truetps_knowledge::{Changeability, find_setting};
use truetps_plan::{DatadirState, Plan};
use truetps_record::{DISK, SERVER, ScheduledTrial, TABLE_ROWS};

/// Times of each step on an ordinary machine. Used only for the estimate before the first trial;
/// later estimates use the measured times.
const RESET_S_PER_MILLION_ROWS: f64 = 3.5;
const RESET_S: f64 = 0.1;
const CONNECT_S_PER_SESSION: f64 = 0.0003;
const FRESH_COPY_S: f64 = 2.5;
/// The server writes its changed pages when it stops; the next start fills the redo log once.
const RESTART_S: f64 = 3.5;
const PREPARE_S: f64 = 6.0;
/// Before the first trial the server is started once with each level, to find derived settings.
const LEVEL_START_S: f64 = 1.5;
/// Overhead of a trial besides load and refill: writing pages, draining and disconnecting clients,
/// reading the server's variables, writing records.
const AROUND_A_TRIAL_S: f64 = 0.4;
const LOAD_S_PER_MILLION_ROWS: f64 = 10.0;

/// The whole experiment, preparation included.
pub fn estimate(plan: &Plan, schedule: &[ScheduledTrial]) -> Duration {
    let million_rows = plan.workload.table_rows as f64 * f64::from(plan.workload.tables) / 1e6;
    let trials: Duration = schedule.iter().map(|trial| estimate_trial(plan, trial)).sum();
    let prepare_s =
        (PREPARE_S + LOAD_S_PER_MILLION_ROWS * million_rows) * servers_made(plan) as f64;
    let levels: usize = plan.setting_factors().values().map(|levels| levels.len()).sum();
    trials + Duration::from_secs_f64(prepare_s + LEVEL_START_S * levels as f64)
}

/// Number of datadirs to fill: one for each server and each combination of start-only levels, as
/// far as that is known without a server.
fn servers_made(plan: &Plan) -> usize {
    plan.factors
        .iter()
        .filter(|(name, _)| needs_start(name))
        .map(|(_, levels)| levels.len())
        .product()
}

fn needs_start(factor: &str) -> bool {
    [SERVER, DISK, TABLE_ROWS].contains(&factor)
        || find_setting(&factor.to_lowercase()).is_some_and(|setting| {
            setting
                .spans()
                .iter()
                .all(|span| !matches!(span.change, Changeability::Dynamic | Changeability::Reload))
        })
}

/// One trial with its reset. A measured count may end it sooner.
pub(crate) fn estimate_trial(plan: &Plan, trial: &ScheduledTrial) -> Duration {
    let million_rows = plan.workload.table_rows as f64 * f64::from(plan.workload.tables) / 1e6;
    let reset_s = match plan.design.datadir {
        DatadirState::Refill => {
            // If some trials need a restart, all get one.
            let start_s = if servers_made(plan) > 1 { RESTART_S } else { 0.0 };
            RESET_S + start_s + RESET_S_PER_MILLION_ROWS * million_rows
        }
        DatadirState::FreshCopy => FRESH_COPY_S + million_rows,
    };
    let connect_s = CONNECT_S_PER_SESSION * f64::from(trial.configuration.connections());
    Duration::from_secs_f64(
        plan.load.warm_up_s + plan.load.measure_s + reset_s + connect_s + AROUND_A_TRIAL_S,
    )
}

/// Corrects the remaining time by the duration of the finished trials.
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

    /// Remaining time, including the running trial.
    pub(crate) fn remaining_time(&self) -> Duration {
        let (done, left) = self.estimates.split_at(self.done.min(self.estimates.len()));
        let expected: Duration = done.iter().sum();
        // A trial's overhead besides its load is nearly constant, however long it measures.
        let more_s = (self.taken.as_secs_f64() - expected.as_secs_f64()) / done.len().max(1) as f64;
        let left_s = left.iter().sum::<Duration>().as_secs_f64();
        Duration::from_secs_f64((left_s + more_s * left.len() as f64).max(0.1 * left_s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule;

    #[test]
    fn starts_of_servers_take_their_time() {
        let of = |factor: &str| {
            let text = format!(
                "name = \"p\"\nabout = \"a\"\n[workload]\nname = \
                 \"insert\"\n[factors]\n{factor}\nconnections = [1, 8]\n"
            );
            let plan = Plan::parse(&text).unwrap();
            let trials = schedule(&plan);
            (servers_made(&plan), estimate(&plan, &trials).as_secs_f64() / trials.len() as f64)
        };
        let ((one, without), (two, with)) =
            (of("sync_binlog = [1, 0]"), of("log_bin = [true, false]"));
        assert_eq!((one, two, of("server = [\"a\", \"b\", \"c\"]").0), (1, 2, 3));
        assert!((3.5..4.5).contains(&(with - without)), "{without} {with}");
    }

    /// Two trials took a second more than expected: each remaining trial will.
    #[test]
    fn what_was_left_out_is_counted_once_a_trial() {
        let seconds = Duration::from_secs_f64;
        let mut remaining = Remaining {
            estimates: [1.0, 1.0, 10.0, 1.0].map(seconds).to_vec(),
            taken: Duration::ZERO,
            done: 0,
        };
        assert_eq!(remaining.remaining_time(), seconds(13.0));
        remaining.trial_took(seconds(2.0));
        remaining.trial_took(seconds(2.0));
        assert_eq!(remaining.remaining_time(), seconds(13.0));
    }

    #[test]
    fn the_estimate_follows_the_pace() {
        let text = "name = \"p\"\nabout = \"a\"\n[workload]\nname = \
                    \"insert\"\n[factors]\nconnections = [1, 8]\n\
                    [design]\nblocks = 2\naa_pair = false\n";
        let plan = Plan::parse(text).unwrap();
        let trials = schedule(&plan);
        assert!((44.0..60.0).contains(&estimate(&plan, &trials).as_secs_f64()));
        let mut remaining = Remaining::new(&plan, &trials.iter().collect::<Vec<_>>());
        let before = remaining.remaining_time();
        remaining.trial_took(estimate_trial(&plan, &trials[0]) * 2);
        let ratio = remaining.remaining_time().as_secs_f64() / before.as_secs_f64();
        assert!((1.4..1.6).contains(&ratio), "three of four trials at twice the time: {ratio}");
    }
}
