//! Remarks beside a trial's figures in every format.

use truetps_record::Trial;

/// Notes, and other programs that put load on the host.
pub(crate) fn remarks(trial: &Trial) -> Vec<String> {
    let beside =
        trial.beside.iter().map(|other| format!("{other} also put load on this host: the figures may be too low"));
    trial.notes.iter().cloned().chain(beside).collect()
}
