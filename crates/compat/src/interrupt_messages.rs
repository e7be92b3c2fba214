//! What the user is told who asks for the end. Whoever hears the signal says it, while the program is at work.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Texts that the program changes as it goes on.
#[derive(Debug, Default)]
pub struct InterruptMessages(Mutex<InterruptTexts>);

#[derive(Debug, Default)]
struct InterruptTexts {
    first: String,
    second: String,
}

impl InterruptMessages {
    /// What is done now: empty, or lines. For the first signal.
    pub fn first(&self) -> String {
        self.texts().first.clone()
    }

    /// What is left behind: empty, or lines. For the second signal, which ends the program.
    pub fn second(&self) -> String {
        self.texts().second.clone()
    }

    /// Both, from here on.
    pub fn set(&self, first: String, second: String) {
        *self.texts() = InterruptTexts { first, second };
    }

    fn texts(&self) -> MutexGuard<'_, InterruptTexts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
