//! What a commit on the servers of an experiment survives: one line for each distinct verdict on what they were set to.

use truetps_knowledge::judge_text;

use crate::{ReportInput, format};

/// More configurations than this are not named with a verdict.
const LABELS_TOLD_MAX: usize = 6;

/// In the order in which the trials were to be run first. Nothing is said of trials whose server could not be asked.
pub(crate) fn sentences(input: &ReportInput<'_>) -> Vec<String> {
    let mut verdicts: Vec<(String, Vec<String>)> = Vec::new();
    for trial in input.trials {
        let Some(variables) = input.variables.get(&trial.name) else { continue };
        let Some(server) = &trial.server else { continue };
        let settings = variables.iter().map(|(name, value)| (name.as_str(), value.as_str(), None));
        let Some(judged) = judge_text(server.flavour, &server.version, settings) else { continue };
        let sentence = judged.sentence;
        let label = trial.configuration.settings_label();
        match verdicts.iter_mut().find(|(told, _)| *told == sentence) {
            Some((_, labels)) if labels.contains(&label) => {}
            Some((_, labels)) => labels.push(label),
            None => verdicts.push((sentence, vec![label])),
        }
    }
    let is_one = verdicts.len() == 1;
    verdicts.into_iter().map(|(sentence, labels)| line(&sentence, &labels, is_one)).collect()
}

fn line(sentence: &str, labels: &[String], is_one: bool) -> String {
    if is_one {
        return format!("Durability: {sentence}.");
    }
    let labels =
        if labels.len() > LABELS_TOLD_MAX { format!("{} configurations", labels.len()) } else { format::list(labels) };
    format!("Durability with {labels}: {sentence}.")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn one_line_for_each_verdict() {
        let mut fixture = Fixture::durability();
        assert!(sentences(&fixture.input()).is_empty(), "nothing is known");
        let name = "innodb_flush_log_at_trx_commit";
        for trial in &fixture.trials {
            let level = trial.configuration.settings().find(|(setting, _)| *setting == name).unwrap().1.option_text();
            let had = [(name, level.as_str()), ("log_bin", "OFF")];
            let had: BTreeMap<_, _> =
                had.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            fixture.variables.insert(trial.name.clone(), had);
        }
        let said = sentences(&fixture.input());
        assert_eq!(said.len(), 3, "{said:#?}");
        assert!(said.iter().all(|line| line.starts_with(&format!("Durability with {name}="))), "{said:#?}");
        assert!(
            said.iter().any(|line| line.contains("a commit of InnoDB tables survives a process crash and a power cut")),
            "{said:#?}"
        );
    }
}
