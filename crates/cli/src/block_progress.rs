//! Progress where stderr is not a terminal: one line for each block of trials, or for each rate of
//! a search.

use std::time::Duration;

use truetps_record::Trial;
use truetps_recording::TrialPlace;
use truetps_report::format;

/// What the trials of the present block have shown so far.
#[derive(Debug, Default)]
pub(crate) struct BlockProgress {
    block: u32,
    trials: usize,
    /// Trials that are evidence; the others have lines of their own.
    valid: usize,
    slowest_tps: f64,
    fastest_tps: f64,
    failed: u64,
    not_sustained: usize,
    generator_limited: usize,
    stalls: u32,
    left: Option<Duration>,
    /// Number of the last trial, and of all of them.
    at: (usize, usize),
}

impl BlockProgress {
    /// Whether its trials share a line: a search and a single trial have a line for each.
    pub(crate) fn is_for(place: TrialPlace<'_>) -> bool {
        place.of.is_some_and(|of| of > 1)
    }

    /// Call before each trial: the line of the block that has ended with the trial before.
    pub(crate) fn begins(&mut self, place: TrialPlace<'_>) -> Option<String> {
        (self.block != place.trial.block).then(|| self.take()).flatten()
    }

    /// Counts a trial. The line of a block whose last trial is the last of all.
    pub(crate) fn ends(
        &mut self,
        place: TrialPlace<'_>,
        trial: &Trial,
        stalls: u32,
    ) -> Option<String> {
        let of = place.of.unwrap_or_default();
        (self.block, self.left, self.at) = (place.trial.block, place.left, (place.index + 1, of));
        self.trials += 1;
        self.stalls += stalls;
        if let Some(measured) = trial.measured.as_ref().filter(|_| trial.validity.is_valid()) {
            self.slowest_tps =
                if self.valid == 0 { measured.tps } else { self.slowest_tps.min(measured.tps) };
            self.fastest_tps = self.fastest_tps.max(measured.tps);
            self.valid += 1;
            self.failed += measured.counts.failed;
            self.not_sustained += usize::from(measured.sustained == Some(false));
            self.generator_limited += usize::from(measured.generator_limited.is_some());
        }
        (place.index + 1 == of).then(|| self.take()).flatten()
    }

    /// `block 2 [32/64] 16 of 16 trials valid 2 815 to 41 890 tps 1 stall left 1 min 10 s`; `None`
    /// where no trial has ended since the line before.
    pub(crate) fn take(&mut self) -> Option<String> {
        let Self {
            block,
            trials,
            valid,
            slowest_tps,
            fastest_tps,
            failed,
            not_sustained,
            generator_limited,
            ..
        } = *self;
        let (stalls, left, (at, of)) = (self.stalls, self.left, self.at);
        *self = Self::default();
        if trials == 0 {
            return None;
        }
        let tps = match valid {
            0 => None,
            1 => Some(format!("{} tps", format::tps(slowest_tps))),
            _ => Some(format!("{} to {} tps", format::tps(slowest_tps), format::tps(fastest_tps))),
        };
        let parts = [
            Some(format!("block {}", block + 1)),
            Some(format!("[{at}/{of}]")),
            Some(format!("{valid} of {} valid", format::trials(trials))),
            tps,
            (stalls > 0).then(|| format::plural(stalls.into(), "stall")),
            counted("NOT SUSTAINED", not_sustained as u64),
            counted("generator-limited", generator_limited as u64),
            counted("failed", failed),
            left.map(|left| format!("left {}", format::duration(left))),
        ];
        Some(parts.into_iter().flatten().collect::<Vec<_>>().join("  "))
    }
}

/// `failed 3`; nothing where there is none.
fn counted(what: &str, n: u64) -> Option<String> {
    (n > 0).then(|| format!("{what} {}", format::count(n)))
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;
    use truetps_plan::Plan;
    use truetps_record::{
        Configuration, Measured, NoEvidence, ScheduledTrial, TrialRole, Validity,
    };

    use super::*;

    const PLAN: &str = "name = \"p\"\nabout = \"?\"\n[workload]\nname = \
                        \"insert\"\n[design]\nblocks = 1\n[factors]\nconnections = [1]\n";

    fn scheduled(block: u32) -> ScheduledTrial {
        ScheduledTrial {
            name: "trial-0003".to_owned(),
            block,
            position: 0,
            role: TrialRole::Cell,
            configuration: Configuration { levels: IndexMap::new() },
            mixture: None,
        }
    }

    fn trial(scheduled: &ScheduledTrial, tps: f64) -> Trial {
        let plan = Plan::parse(PLAN).unwrap();
        let mut trial = truetps_recording::new_trial(&plan, scheduled, None, "1");
        trial.validity = Validity::Valid;
        trial.measured = Some(Measured { tps, length_ms: 1e3, ..Measured::default() });
        trial
    }

    #[test]
    fn one_line_a_block() {
        let mut progress = BlockProgress::default();
        let mut lines = Vec::new();
        for index in 0..6 {
            let trial_of = scheduled(index as u32 / 3);
            let left = Some(Duration::from_secs(60 - 10 * index as u64));
            let place = TrialPlace { trial: &trial_of, index, of: Some(6), left };
            assert!(BlockProgress::is_for(place));
            lines.extend(progress.begins(place));
            let mut trial = trial(&trial_of, 1000.0 * (index + 1) as f64);
            if index == 4 {
                trial.validity = Validity::partial(NoEvidence::Interrupted);
            }
            lines.extend(progress.ends(place, &trial, u32::from(index == 1)));
        }
        let expect = [
            "block 1  [3/6]  3 of 3 trials valid  1 000 to 3 000 tps  1 stall  left 40 s",
            "block 2  [6/6]  2 of 3 trials valid  4 000 to 6 000 tps  left 10 s",
        ];
        assert_eq!(lines, expect);
        assert_eq!(progress.take(), None);
    }

    #[test]
    fn an_interrupted_block_has_its_line() {
        let mut progress = BlockProgress::default();
        let trial_of = scheduled(0);
        let place = TrialPlace { trial: &trial_of, index: 0, of: Some(6), left: None };
        assert_eq!(progress.ends(place, &trial(&trial_of, 10.0), 0), None);
        assert_eq!(
            progress.take().as_deref(),
            Some("block 1  [1/6]  1 of 1 trial valid  10.00 tps")
        );
    }

    #[test]
    fn a_search_and_a_single_trial_have_lines_of_their_own() {
        let trial = scheduled(0);
        for of in [None, Some(1)] {
            assert!(!BlockProgress::is_for(TrialPlace { trial: &trial, index: 0, of, left: None }));
        }
    }
}
