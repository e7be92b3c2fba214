//! The durability of an experiment's servers: one line for each distinct judgement of their
//! settings.

use serde::Serialize;
use truetps_analysis::{Curve, LoadedTrial};
use truetps_knowledge::{Durability, DurabilityPair, Survival, judge_text};
use truetps_record::Experiment;

use crate::{ReportInput, format, names};

/// A verdict lists at most this number of configurations.
const LABELS_SHOWN_MAX: usize = 6;

/// One verdict on durability, and the configurations that it holds for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct DurabilityPart {
    configurations: Vec<String>,
    #[serde(flatten)]
    durability: Durability,
    /// Compared with the baseline; `null` where there is none.
    survives: Option<Survival>,
}

/// What commits survive on the server of these trials of an experiment, each with its settings
/// where they are recorded. `None` where no trial has them, or where trials of one side do not
/// agree.
pub(crate) fn durability_of<'a>(
    experiment: &Experiment,
    trials: impl IntoIterator<Item = &'a LoadedTrial>,
) -> Option<Durability> {
    let file_system = datadir_file_system(experiment);
    let mut judged = trials.into_iter().filter_map(|one| {
        let server = one.trial.server.as_ref()?;
        let settings = one
            .variables
            .as_ref()?
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str(), None));
        Some(judge_text(server.flavour, &server.version, settings)?.on_file_system(file_system))
    });
    let first = judged.next()?;
    let losses = (first.process_crash, first.power_cut, first.replica);
    judged
        .all(|other| (other.process_crash, other.power_cut, other.replica) == losses)
        .then_some(first)
}

/// The file system of the datadir: known of a private server only, of an external one the folder of
/// the runs is recorded. An emulated disk is a file system of its own.
pub(crate) fn datadir_file_system(experiment: &Experiment) -> Option<&str> {
    let is_known = experiment.sandbox_dir.is_some() && experiment.disks.is_empty();
    experiment.host.file_system.as_deref().filter(|_| is_known)
}

/// In the order in which the trials were to be run first. Trials whose server could not be asked
/// are left out.
pub(crate) fn parts(input: &ReportInput<'_>) -> Vec<DurabilityPart> {
    let mut parts: Vec<DurabilityPart> = Vec::new();
    let baseline = input.analysis.baseline().filter(|_| input.analysis.curves.len() > 1);
    let baseline = baseline.and_then(|curve| curve_durability(input, curve));
    for one in &input.run.trials {
        let Some(durability) = durability_of(&input.run.experiment, [one]) else { continue };
        let label = one.trial.configuration.settings_label();
        match parts.iter_mut().find(|part| part.durability.sentence == durability.sentence) {
            Some(part) if part.configurations.contains(&label) => {}
            Some(part) => part.configurations.push(label),
            None => {
                let survives = baseline.clone().map(|baseline| {
                    DurabilityPair::of(Some(baseline), Some(durability.clone())).b_survives
                });
                parts.push(DurabilityPart { configurations: vec![label], durability, survives });
            }
        }
    }
    parts
}

/// Each durability that the servers of an experiment had.
pub(crate) fn distinct(input: &ReportInput<'_>) -> Vec<Durability> {
    parts(input).into_iter().map(|part| part.durability).collect()
}

/// What commits survive with one combination of settings.
pub(crate) fn curve_durability(input: &ReportInput<'_>, curve: &Curve) -> Option<Durability> {
    let cells = names::cells(input.analysis, curve);
    let trials = input
        .run
        .trials
        .iter()
        .filter(|one| cells.iter().any(|cell| cell.configuration == one.trial.configuration));
    durability_of(&input.run.experiment, trials)
}

/// How the durability of a combination of settings differs from the baseline's, shown beside the
/// verdict on speed.
pub(crate) fn risk(input: &ReportInput<'_>, curve: &Curve) -> Option<String> {
    let baseline = input.analysis.baseline()?;
    let name = names::short(&input.run.plan, input.analysis.baseline_label.as_ref()?);
    DurabilityPair::of(curve_durability(input, baseline), curve_durability(input, curve))
        .risk(name, "it")
}

pub(crate) fn sentences(input: &ReportInput<'_>) -> Vec<String> {
    let parts = parts(input);
    let is_one = parts.len() == 1;
    parts.iter().map(|part| line(&part.durability.sentence, &part.configurations, is_one)).collect()
}

fn line(sentence: &str, labels: &[String], is_one: bool) -> String {
    if is_one {
        return format!("Durability: {sentence}.");
    }
    let labels = if labels.len() > LABELS_SHOWN_MAX {
        format!("{} configurations", labels.len())
    } else {
        format::list(labels)
    };
    format!("Durability with {labels}: {sentence}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn a_verdict_on_speed_says_what_it_costs() {
        let fixture = Fixture::durability().with_settings();
        let said = crate::verdicts(&fixture.input());
        assert!(
            said[0].ends_with(
                "(×2.26 to ×28.8); a power failure can cost it up to about 1 s \
                                   of acknowledged transactions (=1: nothing)."
            ),
            "{said:#?}"
        );
        let crash =
            "; a crash of the server process or a power failure can cost it up to about 1 s";
        assert!(said[1].contains(crash), "{said:#?}");
        let survives: Vec<_> = parts(&fixture.input()).iter().map(|part| part.survives).collect();
        assert_eq!(
            survives.iter().filter(|one| **one == Some(Survival::Less)).count(),
            2,
            "{survives:?}"
        );
        // Nothing is known of the baseline: nothing is claimed.
        let mut fixture = fixture;
        for one in &mut fixture.run.trials {
            one.variables.take_if(|_| one.trial.configuration.settings_label().ends_with("=1"));
        }
        assert!(!crate::verdicts(&fixture.input()).concat().contains("cost it"));
    }

    #[test]
    fn a_datadir_in_memory_survives_no_power_cut() {
        let mut fixture = Fixture::durability().with_settings();
        fixture.run.experiment.host.file_system = Some("tmpfs".to_owned());
        let said = sentences(&fixture.input());
        assert!(
            said.iter().all(|line| line.contains("the datadir is in memory (tmpfs)")),
            "{said:#?}"
        );
        // Of a server that truetps did not start, the folder of the runs is known, and not the
        // datadir.
        fixture.run.experiment.sandbox_dir = None;
        let said =
            [sentences(&fixture.input()), crate::meaning::caveats(&fixture.input())].concat();
        assert!(!said.iter().any(|line| line.contains("in memory")), "{said:#?}");
    }

    #[test]
    fn one_line_for_each_verdict() {
        let mut fixture = Fixture::durability();
        assert!(sentences(&fixture.input()).is_empty(), "nothing is known");
        let name = "innodb_flush_log_at_trx_commit";
        fixture = fixture.with_settings();
        let said = sentences(&fixture.input());
        assert_eq!(said.len(), 3, "{said:#?}");
        assert!(
            said.iter().all(|line| line.starts_with(&format!("Durability with {name}="))),
            "{said:#?}"
        );
        assert!(
            said.iter().any(|line| line
                .contains("a commit of InnoDB tables survives a process crash and a power cut")),
            "{said:#?}"
        );
    }
}
