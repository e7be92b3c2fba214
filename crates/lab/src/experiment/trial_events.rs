//! The events of one trial, on their way to the listener.

use std::time::Instant;

use truetps_recording::{TrialEvent, TrialPlace};

use crate::event::{ExperimentEvent, Listener};

pub(super) struct TrialEvents<'l, 't> {
    /// As it was when the trial began.
    place: TrialPlace<'t>,
    began: Instant,
    pub(super) listener: &'l mut dyn Listener,
}

impl<'l, 't> TrialEvents<'l, 't> {
    /// The trial begins.
    pub(super) fn new(place: TrialPlace<'t>, listener: &'l mut dyn Listener) -> Self {
        Self { place, began: Instant::now(), listener }
    }

    pub(super) fn send(&mut self, event: TrialEvent<'_>) {
        let left = self.place.left.and_then(|left| left.checked_sub(self.began.elapsed()));
        self.listener.event(&ExperimentEvent::Trial(TrialPlace { left, ..self.place }, event));
    }

    pub(super) fn warn(&mut self, text: Option<String>) {
        if let Some(text) = text {
            self.listener.warn(text);
        }
    }
}
