//! The trials with links to their files.

use truetps_record::{Trial, TrialRole, Validity};

use super::labels;
use crate::generator::limited_trial;
use crate::{ReportInput, format};

pub(super) struct TrialFiles<'a> {
    pub(super) name: &'a str,
    /// The number of the block, from 1.
    pub(super) block: u32,
    pub(super) configuration: String,
    pub(super) tps: String,
    pub(super) p99: String,
    pub(super) max: String,
    pub(super) valid: bool,
    /// Whether the generator limited the figures.
    pub(super) limited: bool,
    pub(super) state: &'static str,
    /// Name and path below the experiment's folder.
    pub(super) links: Vec<(&'static str, &'static str)>,
}

/// In order of blocks and positions, which is the order in which they ran.
pub(super) fn trial_files<'a>(input: &ReportInput<'a>) -> Vec<TrialFiles<'a>> {
    let mut trials: Vec<_> = input.run.trials.iter().collect();
    trials.sort_by_key(|one| (one.trial.block, one.trial.position));
    trials.into_iter().map(|one| describe(&one.trial, &one.files)).collect()
}

fn describe<'a>(trial: &'a Trial, files: &[&'static str]) -> TrialFiles<'a> {
    let measured = trial.measured.as_ref();
    let response = measured.map(|measured| measured.response).unwrap_or_default();
    TrialFiles {
        name: &trial.name,
        block: trial.block.saturating_add(1),
        configuration: labels::configuration(&trial.configuration),
        tps: format::or_nothing(measured.map(|measured| measured.tps), format::tps),
        p99: format::or_nothing(response.response_us_p99, format::duration_us),
        max: format::or_nothing(response.response_us_max, format::duration_us),
        valid: trial.validity.is_valid(),
        limited: limited_trial(trial),
        state: state(trial),
        links: files.iter().map(|file| (short(file), *file)).collect(),
    }
}

/// `server/my.cnf` is `my.cnf`; a file with a clear name needs no ending.
fn short(file: &'static str) -> &'static str {
    let name = file.rsplit('/').next().unwrap_or(file);
    match name {
        "run.json" | "intervals.jsonl" | "latency.hdr" | "probe.jsonl" | "variables.json" => {
            name.split('.').next().unwrap_or(name)
        }
        _ => name,
    }
}

/// A short state for the table; reasons are listed with the invalid trials.
pub(super) fn state(trial: &Trial) -> &'static str {
    match (&trial.validity, trial.role) {
        (Validity::Valid, TrialRole::Cell) => "valid",
        (Validity::Valid, TrialRole::AaTwin) => "valid, A/A twin",
        (Validity::Valid, TrialRole::Pilot) => "pilot: no evidence",
        (Validity::Invalid(_), _) => "invalid",
        (Validity::Partial(_), _) => "partial",
    }
}
