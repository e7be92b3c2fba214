//! What all threads of a run know.

use std::sync::{Arc, Mutex};

use crate::output::Log;
use crate::rand::{Distribution, Unique};
use crate::settings::Settings;

use super::board::Board;
use super::control::Control;

/// One command at work: `run`, or any other one.
pub(crate) struct Run {
    pub(crate) settings: Arc<Settings>,
    pub(crate) log: Arc<Log>,
    pub(crate) board: Board,
    pub(crate) control: Control,
    pub(crate) distribution: Distribution,
    pub(crate) unique: Arc<Unique>,
    /// What is worth a line in the run folder.
    pub(crate) notes: Mutex<Vec<String>>,
}

impl Run {
    pub(crate) fn note(&self, text: String) {
        const NOTES_MAX: usize = 100;
        let mut notes = self.notes.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if notes.len() < NOTES_MAX && !notes.contains(&text) {
            notes.push(text);
        }
    }
}
