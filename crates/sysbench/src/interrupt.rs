//! The user's wish that the program ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A wish that a signal makes, and whether the program still listens for it: a script that never gives way does not.
#[derive(Debug, Clone)]
pub struct Interrupt {
    asked: Arc<AtomicBool>,
    heard: Arc<AtomicU64>,
}

impl Interrupt {
    /// `asked` is raised when the user asks for the end.
    pub fn new(asked: Arc<AtomicBool>) -> Self {
        Self { asked, heard: Arc::default() }
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// The same, of whoever sees to it that the program ends.
    pub(crate) fn hear(&self) -> bool {
        let is_asked = self.is_asked();
        if is_asked {
            self.heard.fetch_add(1, Ordering::Relaxed);
        }
        is_asked
    }

    /// For whoever watches it: how often the wish was heard so far; `None` where there is none.
    pub fn heard(&self) -> Option<u64> {
        self.asked.load(Ordering::Relaxed).then(|| self.heard.load(Ordering::Relaxed))
    }
}
