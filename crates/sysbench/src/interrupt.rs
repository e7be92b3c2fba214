//! The request to end the program: by the user, or by a reader of the output that has left.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A request made by a signal, and whether the program still handles it: a script that never yields
/// does not.
#[derive(Debug, Clone)]
pub struct Interrupt {
    asked: Arc<AtomicBool>,
    heard: Arc<AtomicU64>,
    is_unread: Arc<AtomicBool>,
}

impl Interrupt {
    /// `asked` is set when the user requests the end.
    pub fn new(asked: Arc<AtomicBool>) -> Self {
        Self { asked, heard: Arc::default(), is_unread: Arc::default() }
    }

    /// The reader of the standard output has left: the program ends as it does for the user, where
    /// SIGPIPE ends sysbench.
    pub(crate) fn reader_has_left(&self) {
        self.is_unread.store(true, Ordering::Relaxed);
        self.asked.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_unread(&self) -> bool {
        self.is_unread.load(Ordering::Relaxed)
    }

    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.asked
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Asks in the loop that handles the request.
    pub(crate) fn hear(&self) -> bool {
        let is_asked = self.is_asked();
        if is_asked {
            self.heard.fetch_add(1, Ordering::Relaxed);
        }
        is_asked
    }

    /// For observers: how often the request was read so far; `None` if there is none.
    pub fn heard(&self) -> Option<u64> {
        self.asked.load(Ordering::Relaxed).then(|| self.heard.load(Ordering::Relaxed))
    }
}
