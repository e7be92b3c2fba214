//! Text printed on the first and second Ctrl-C, by the thread that receives the signal while the
//! program works.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Texts that the program changes while it runs.
#[derive(Debug, Default)]
pub struct InterruptMessages(Mutex<InterruptTexts>);

#[derive(Debug, Default)]
struct InterruptTexts {
    first: String,
    second: String,
}

impl InterruptMessages {
    /// What happens now: empty, or lines. Printed on the first signal.
    pub fn first(&self) -> String {
        self.texts().first.clone()
    }

    /// What is left behind: empty, or lines. Printed on the second signal, which ends the program.
    pub fn second(&self) -> String {
        self.texts().second.clone()
    }

    /// Both texts from here on.
    pub fn set(&self, first: String, second: String) {
        *self.texts() = InterruptTexts { first, second };
    }

    fn texts(&self) -> MutexGuard<'_, InterruptTexts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
