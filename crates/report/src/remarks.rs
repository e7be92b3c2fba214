//! Remarks that stand beside a trial's figures in every format.

use truetps_record::Trial;

/// What was odd, and who else put load on the host.
pub fn remarks(trial: &Trial) -> Vec<String> {
    let beside = trial
        .beside
        .iter()
        .map(|other| format!("{other} put load on the same host meanwhile: the figures may be lower than alone"));
    trial.notes.iter().cloned().chain(beside).collect()
}
