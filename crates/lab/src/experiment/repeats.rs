//! When a disturbed trial is measured again: `docs/method/disturbances.md`.

use truetps_folder::{ExperimentFolder, FolderError};
use truetps_record::{Disturbance, Trial};

/// Trials before it that show how the host usually is.
const KNOWN_MIN: usize = 3;
/// What disturbs more than this share of the trials is how the host is: repeating would not help.
const USUAL_SHARE: f64 = 0.25;
/// One more repeat for so many trials.
const TRIALS_PER_REPEAT: usize = 10;

/// The trials of an experiment so far, and what disturbed them.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    /// The grave disturbances of each.
    known: Vec<Vec<Disturbance>>,
    repeated: usize,
}

impl Repeats {
    /// What disturbed this trial so much, and so unlike the others, that it is measured again.
    pub(crate) fn reason_for_another(&mut self, trial: &Trial) -> Option<String> {
        self.reason(trial.validity.is_valid(), trial.disturbances())
    }

    fn reason(&mut self, is_valid: bool, mut found: Vec<Disturbance>) -> Option<String> {
        found.retain(Disturbance::is_grave);
        let unusual = found.iter().find(|one| self.is_unusual(one)).map(ToString::to_string);
        let reason = unusual.filter(|_| is_valid && self.is_affordable());
        self.add(found, reason.is_some());
        reason
    }

    /// Learns of a trial of an earlier command, so that a resumed experiment repeats as one that
    /// was never stopped.
    pub(crate) fn learn(
        &mut self,
        folder: &ExperimentFolder,
        trial: &Trial,
    ) -> Result<(), FolderError> {
        let is_repeated = trial.repeated_after.is_some();
        let attempts = if is_repeated { folder.attempts(&trial.name)? } else { Vec::new() };
        let mut found = attempts.last().unwrap_or(trial).disturbances();
        found.retain(Disturbance::is_grave);
        self.add(found, is_repeated);
        Ok(())
    }

    fn add(&mut self, found: Vec<Disturbance>, is_repeated: bool) {
        self.known.push(found);
        self.repeated += usize::from(is_repeated);
    }

    fn is_unusual(&self, disturbance: &Disturbance) -> bool {
        let all = self.known.len();
        let alike = self.known.iter().flatten().filter(|one| one.is_like(disturbance)).count();
        all >= KNOWN_MIN && alike as f64 <= USUAL_SHARE * all as f64
    }

    fn is_affordable(&self) -> bool {
        self.repeated <= self.known.len() / TRIALS_PER_REPEAT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a trial beside programs that use so many of two cores is measured again.
    fn is_repeated(repeats: &mut Repeats, cores: f64) -> bool {
        repeats.reason(true, others(cores)).is_some()
    }

    fn others(cores: f64) -> Vec<Disturbance> {
        let largest = Vec::new();
        vec![Disturbance::OtherPrograms { cores, of_cores: 2.0, idle_cores: 0.0, largest }]
    }

    fn after_quiet_trials() -> Repeats {
        let mut repeats = Repeats::default();
        (0..4).for_each(|_| assert!(!is_repeated(&mut repeats, 0.1)));
        repeats
    }

    #[test]
    fn only_an_unusual_disturbance_asks_for_another_trial() {
        assert!(!is_repeated(&mut Repeats::default(), 1.0), "nothing is known of the host");
        let mut repeats = after_quiet_trials();
        assert!(is_repeated(&mut repeats, 1.0), "one of five");
        assert!(!is_repeated(&mut repeats, 1.0), "one repeat in ten trials");
        let mut busy = Repeats::default();
        (0..20).for_each(|_| assert!(!is_repeated(&mut busy, 1.0), "the host is always so"));
        assert_eq!(after_quiet_trials().reason(false, others(1.0)), None, "it is no evidence");
        let idle = vec![Disturbance::OtherPrograms {
            cores: 1.0,
            of_cores: 8.0,
            idle_cores: 5.0,
            largest: Vec::new(),
        }];
        assert_eq!(after_quiet_trials().reason(true, idle), None, "no program waited for a core");
    }

    /// As a resumed experiment finds them: kept attempts count as what was measured first.
    #[test]
    fn trials_of_an_earlier_command_count() {
        let mut repeats = Repeats::default();
        (0..4).for_each(|_| repeats.add(others(1.0), false));
        assert!(!is_repeated(&mut repeats, 1.0), "four of four were so");
        let mut repeats = Repeats::default();
        (0..4).for_each(|_| repeats.add(Vec::new(), false));
        repeats.add(others(1.0), true);
        assert!(!is_repeated(&mut repeats, 1.0), "the one repeat in ten trials is used up");
    }
}
