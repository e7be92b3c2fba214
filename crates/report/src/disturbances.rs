//! What disturbed the trials or the crashes of an answer: a line for each kind.

use truetps_record::{CrashRecord, Disturbance, Trial};

use crate::format;

/// One kind of disturbance, of one or more trials.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DisturbedTrials {
    pub(crate) is_grave: bool,
    pub(crate) text: String,
}

/// The gravest first.
pub(crate) fn disturbed<'a>(trials: impl IntoIterator<Item = &'a Trial>) -> Vec<DisturbedTrials> {
    let (mut all, mut again) = (KindsOfDisturbance::of("trials"), Vec::new());
    for trial in trials {
        again.extend(trial.repeated_after.as_deref().map(|why| (trial.name.clone(), why)));
        all.add(&trial.name, trial.disturbances());
    }
    let mut lines = all.lines();
    if let Some((_, why)) = again.first() {
        let names: Vec<_> = again.iter().map(|(name, _)| name.clone()).collect();
        let text = format!("{}: measured again, as {why}", all.which(&names));
        lines.push(DisturbedTrials { is_grave: false, text });
    }
    lines
}

/// As [`disturbed`], of the loads before crashes.
pub(crate) fn disturbed_crashes(crashes: &[CrashRecord]) -> Vec<DisturbedTrials> {
    let mut all = KindsOfDisturbance::of("crashes");
    for crash in crashes {
        all.add(&format!("crash {}", crash.number), crash.disturbances());
    }
    all.lines()
}

/// The disturbances of all loads, by their kinds.
struct KindsOfDisturbance {
    /// Several of what they belong to: `trials`.
    several: &'static str,
    loads: u64,
    /// With the names of the loads.
    kinds: Vec<(Disturbance, Vec<String>)>,
}

impl KindsOfDisturbance {
    fn of(several: &'static str) -> Self {
        Self { several, loads: 0, kinds: Vec::new() }
    }

    fn add(&mut self, name: &str, disturbances: Vec<Disturbance>) {
        self.loads += 1;
        for found in disturbances {
            match self.kinds.iter_mut().find(|(kind, _)| kind.is_like(&found)) {
                Some((kind, names)) => {
                    *kind = kind.clone().and(found);
                    names.push(name.to_owned());
                }
                None => self.kinds.push((found, vec![name.to_owned()])),
            }
        }
    }

    fn lines(&self) -> Vec<DisturbedTrials> {
        let lines = self.kinds.iter().map(|(kind, names)| DisturbedTrials {
            is_grave: kind.is_grave(),
            text: match &names[..] {
                [one] => format!("{one}: {kind}"),
                _ => format!("{}: {}", self.which(names), kind.at_most()),
            },
        });
        let mut lines: Vec<_> = lines.collect();
        lines.sort_by_key(|line| !line.is_grave);
        lines
    }

    fn which(&self, names: &[String]) -> String {
        match names {
            [one] => one.clone(),
            names => {
                format!("{} of {} {}", names.len(), format::count(self.loads), self.several)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use truetps_record::{OtherPrograms, OtherRun, ProgramUse, TrialSurroundings};

    use super::*;

    fn trials() -> Vec<Trial> {
        crate::fixture::Fixture::durability().input().trials().take(3).cloned().collect()
    }

    fn beside(cores: f64, idle_cores: f64, name: &str) -> TrialSurroundings {
        let largest = vec![ProgramUse { name: name.to_owned(), cores }];
        let other_programs = OtherPrograms { cores, of_cores: 2.0, idle_cores, largest };
        TrialSurroundings { other_programs: Some(other_programs), ..TrialSurroundings::default() }
    }

    #[test]
    fn a_line_for_each_kind_names_who_and_how_much() {
        let mut trials = trials();
        assert_eq!(disturbed(&trials), []);
        trials[0].surroundings = Some(beside(0.19, 1.0, "sh"));
        assert_eq!(disturbed(&trials), [], "less than a tenth of the host");
        trials[0].surroundings = Some(beside(0.5, 1.0, "sh"));
        let text = format!("{}: other programs used 0.5 of 2 cores: sh 0.5", trials[0].name);
        assert_eq!(disturbed(&trials), [DisturbedTrials { is_grave: false, text }]);
        trials[2].surroundings = Some(beside(1.76, 0.0, "python3"));
        trials[1].beside = vec![OtherRun { pid: 7, command: "sweep".to_owned() }];
        trials[1].repeated_after = Some("strace traced the server".to_owned());
        let said: Vec<_> = disturbed(&trials).into_iter().map(|one| one.text).collect();
        assert_eq!(
            said.iter().map(|text| text.replace('\u{a0}', " ")).collect::<Vec<_>>(),
            [
                "2 of 3 trials: other programs used up to 1.8 of 2 cores: python3 1.8".to_owned(),
                format!(
                    "{}: truetps sweep also put load on this host: the figures may be too low",
                    trials[1].name
                ),
                format!("{}: measured again, as strace traced the server", trials[1].name),
            ]
        );
        assert!(disturbed(&trials)[0].is_grave);
    }

    #[test]
    fn other_runs_are_one_remark_by_their_commands() {
        let said = |runs: &[(u32, &str)]| {
            let beside = runs
                .iter()
                .map(|(pid, command)| OtherRun { pid: *pid, command: (*command).to_owned() });
            let trial = Trial { beside: beside.collect(), ..trials().remove(0) };
            trial.disturbances().iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(said(&[]), Vec::<String>::new());
        let one = "truetps load also put load on this host: the figures may be too low";
        assert_eq!(said(&[(7, "load")]), [one]);
        assert_eq!(
            said(&[(7, "load"), (8, "load")]),
            [one],
            "36 of them were 36 lines of one answer"
        );
        let two =
            "truetps load, truetps sweep also put load on this host: the figures may be too low";
        assert_eq!(said(&[(9, "sweep"), (7, "load"), (8, "load")]), [two]);
    }
}
